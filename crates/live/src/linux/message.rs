//! The channel to the process that asked for the link: frames of a length, a type and a payload.
//!
//! Towards the driver there is JSON only: the configuration first, requests later. Back go statuses,
//! trace, capture, results and obstacles (see `writer`).

use crate::rebinding::Rebind;
use airpath_core::packet::Dir;
use airpath_core::scenario::Change;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// What a link is to be. A doctor needs its mode only.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Configuration {
    /// Run a link, or say what works.
    pub mode: Mode,
    /// A resolved scenario.
    pub scenario: String,
    pub seed: u64,
    /// Names of the kinds of event to record.
    pub probes: Vec<String>,
    pub capture: bool,
    pub capture_rlc: bool,
    pub capture_iu: bool,
    /// Bytes of each packet in the capture.
    pub snaplen: usize,
    /// Process or network namespace whose packets are the UE's, instead of a separate namespace of the link: a
    /// process ID, a name as listed by `ip netns`, or a path.
    pub attach: Option<String>,
    /// Instead of a link of its own: two interfaces of the present namespace, that at the UE's side first.
    #[serde(default)]
    pub between: Option<[String; 2]>,
    /// With `between`: whether packets keep their source addresses.
    #[serde(default)]
    pub keep_addresses: bool,
    /// Name or number of the UE whose packets are real; the first if absent.
    pub ue: Option<String>,
    /// The program to run on the UE's side, with its arguments.
    pub command: Vec<String>,
    /// A shell command to run on the server's side.
    pub server: Option<String>,
    /// Added to the environment of both.
    pub environment: BTreeMap<String, String>,
    /// Whether they have nothing else in their environment.
    pub clean_environment: bool,
    /// Who they are, if they are not to be who the driver is.
    pub user: Option<User>,
    /// Time from the program's start until it is terminated, seconds.
    pub duration_s: Option<f64>,
    /// Kernel parameters of both namespaces.
    pub sysctl: BTreeMap<String, String>,
    /// Congestion control of the kernel's TCP at both ends; the machine's default if absent.
    pub congestion_control: Option<String>,
    /// The one that the scenario names, where it is a file that says something of TCP.
    pub expected_congestion_control: Option<String>,
    /// Seconds between statuses.
    pub status_interval_s: f64,
    /// Seconds between looks at the kernel's sockets.
    pub tcp_info_interval_s: f64,
    /// The largest 99th percentile of lateness of a valid run, microseconds.
    pub lateness_bound_us: f64,
    /// airpath's TCP at one end or both, replacing the kernel's.
    pub endpoint: Option<EndpointConfiguration>,
    /// Whether requests may change the link while it runs.
    pub control: bool,
    /// Whether the program gets the terminal on standard input to itself.
    pub terminal: bool,
}

/// A user by numbers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    /// The other groups.
    pub groups: Vec<u32>,
}

/// Settings of airpath's endpoint.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfiguration {
    pub end: Side,
    /// It opens connections to this port of the other end; of no meaning with both.
    pub connect: Option<u16>,
    /// This many, one after the other.
    pub connections: u16,
    /// Its applications read nothing for so long after a connection has begun, seconds.
    pub pause_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Server,
    Ue,
    Both,
}

impl Side {
    /// Whether airpath's endpoint is the sender in this direction.
    pub fn sends(self, dir: Dir) -> bool {
        match self {
            Self::Server => dir == Dir::Downlink,
            Self::Ue => dir == Dir::Uplink,
            Self::Both => true,
        }
    }
}

/// What a driver is started for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Run,
    Doctor,
}

/// A change of a running link.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeRequest {
    /// Number that the answer has.
    pub id: u64,
    /// What changes, without a time: at once.
    #[serde(default)]
    pub change: Change,
    /// What the address translator in front of the server loses; alone.
    #[serde(default)]
    pub rebind: Option<Rebind>,
}

/// A request to a running link.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// Pass this signal on to the program.
    Signal(i32),
    /// The user has seen that the link is up: the program may start.
    Start(bool),
    /// The program was stopped and may continue.
    Continue(bool),
    /// The link changes.
    Change(ChangeRequest),
}

/// Types of frames.
pub mod kind {
    pub const CONFIGURATION: u8 = b'C';
    pub const REQUEST: u8 = b'K';
    pub const STATUS: u8 = b'S';
    pub const TRACE: u8 = b'T';
    pub const CAPTURE: u8 = b'P';
    pub const RESULTS: u8 = b'R';
    /// Why there is no link.
    pub const OBSTACLE: u8 = b'E';
    pub const CHECK: u8 = b'D';
}

/// No frame that a driver is sent is longer: a scenario may hold traces of some megabytes.
const LONGEST: u32 = 1 << 30;

/// Reads one frame: its type and payload. `None` at the end of the stream.
pub fn read(stream: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = u32::from_le_bytes(length);
    if length == 0 || length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    let mut frame = vec![0; length as usize];
    stream.read_exact(&mut frame)?;
    let payload = frame.split_off(1);
    Ok(Some((frame[0], payload)))
}

pub fn write(stream: &mut impl Write, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
    let length: usize = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut head = (length as u32).to_le_bytes().to_vec();
    head.push(kind);
    stream.write_all(&head)?;
    parts.iter().try_for_each(|part| stream.write_all(part))
}

/// Writes one frame with a JSON payload.
pub fn write_json(stream: &mut impl Write, kind: u8, value: &impl serde::Serialize) -> io::Result<()> {
    write(stream, kind, &[&serde_json::to_vec(value)?])
}

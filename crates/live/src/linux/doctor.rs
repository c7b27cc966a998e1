//! Whether a live link works on this machine: by making one.

use super::init::{Init, Order, Programs, Report, end_with_parent};
use super::message::{self, kind};
use super::namespaces::{self, DISCARD_PORT, Settings, device_name, server};
use super::sys;
use super::tuns::Clock;
use crate::lateness::Lateness;
use airpath_core::time::Duration;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrIn, sockopt};
use nix::sys::time::{TimeSpec, TimeValLike};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;

/// Everything needed, in the order in which it is tried.
const NEEDED: &[&str] = &["TUN device", "namespaces", "TUN in a namespace", "link", "processes"];

const SCHEDULER_REMEDY: &str = "run as root, or allow real-time priorities: rtprio in \
    /etc/security/limits.conf, or setcap; without them packets leave up to some milliseconds late while the machine \
    is busy";

const SOCKETS_REMEDY: &str = "load the kernel's module tcp_diag; without it there are no tcpi_* columns";
const TIMER_REMEDY: &str = "leave the machine a core to spare; on a laptop, switch power saving off";
/// What a machine with a core to spare reaches under SCHED_FIFO.
const GOOD_LATENESS_US: f64 = 200.0;
const MORE_CONGESTION_CONTROLS: &str = "others are modules of the kernel: modprobe tcp_bbr, for example";

/// Tries everything and says what was found, check by check.
pub fn examine(stream: &mut UnixStream) -> io::Result<()> {
    let mut passed = Vec::new();
    let nothing =
        Settings { sysctls: &BTreeMap::new(), congestion_control: None, group: None, interfaces: 1 };
    let made = namespaces::create(nothing, &mut passed);
    end_with_parent();
    let processes = made.and_then(|mut link| {
        let [server, ue] = &link.ends;
        let command = ["true".to_owned()];
        let environment = BTreeMap::new();
        let init = Init::start(&Programs {
            namespaces: [&server.namespace, &ue.namespace],
            command_at: airpath_core::packet::Dir::Uplink,
            command: &command,
            server: None,
            environment: &environment,
            clean_environment: false,
            user: None,
            terminal: false,
            not_inherited: stream.as_fd(),
            keep_capabilities: link.user_namespace,
        })?;
        init.order(Order::StartCommand);
        let ended = loop {
            match init.wait() {
                Some(Report::Ended(status)) => {
                    break format!("a program ran in the link and ended with {status}");
                }
                Some(_) => {}
                None => break "no program could be run in the link".to_owned(),
            }
        };
        init.end();
        passed.push(("processes", ended));
        let sockets = link.ends[0].kernel.sockets.somebody_listens();
        Ok((link, sockets.map(|_| "state of TCP connections by sock_diag".to_owned())))
    });
    for (check, found) in &passed {
        tell(stream, check, Some(true), found, "", true)?;
    }
    // The link is kept until the end: its devices go with it.
    let (_link, sockets) = match processes {
        Ok(kept) => kept,
        Err(obstacle) => {
            tell(stream, &obstacle.stage, Some(false), &obstacle.message, &obstacle.hint, true)?;
            for check in NEEDED.iter().skip(passed.len() + 1) {
                tell(stream, check, None, "not tried", "", true)?;
            }
            return Ok(());
        }
    };
    tell_result(stream, "kernel's TCP state", sockets.map_err(|error| error.to_string()), SOCKETS_REMEDY)?;
    let fifo = sys::set_fifo(1).map(|()| "SCHED_FIFO is allowed".to_owned());
    let fifo = fifo.map_err(|error| format!("SCHED_FIFO: {error}"));
    tell_result(stream, "real-time scheduling", fifo, SCHEDULER_REMEDY)?;
    examine_timers(stream)?;
    examine_congestion_controls(stream)
}

/// Has the kernel open a connection with each congestion control that it lists. This process is at the UE's end.
fn examine_congestion_controls(stream: &mut UnixStream) -> io::Result<()> {
    let listed = namespaces::congestion_controls();
    let tried = listed.split(' ').map(|name| (name, congestion_control_in_use(name)));
    let (used, refused): (Vec<_>, Vec<_>) =
        tried.partition(|(name, used)| used.as_ref().is_ok_and(|used| used == name));
    let used: Vec<_> = used.into_iter().map(|(name, _)| name).collect();
    let mut found = format!("--cc may be {}", used.join(", "));
    for (name, why) in &refused {
        let why =
            why.as_ref().map_or_else(|error| error.to_string(), |other| format!("{other} runs instead"));
        found += &format!("; {name} is listed and does not run: {why}");
    }
    tell(stream, "congestion control", Some(refused.is_empty()), &found, MORE_CONGESTION_CONTROLS, false)
}

/// What a connection to the server's end runs that is to run `name`. No answer is needed: it must only begin.
fn congestion_control_in_use(name: &str) -> io::Result<String> {
    namespaces::set_congestion_control(&device_name(0), server(0), name)?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let tcp = socket::socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    match socket::connect(tcp.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(server(0).0, DISCARD_PORT))) {
        Ok(()) | Err(Errno::EINPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let used = socket::getsockopt(&tcp, sockopt::TcpCongestion)?;
    Ok(used.to_string_lossy().trim_end_matches('\0').to_owned())
}

fn examine_timers(stream: &mut UnixStream) -> io::Result<()> {
    let lateness = sleep_a_while();
    let (median, p99) = (lateness.quantile_us(0.5), lateness.quantile_us(0.99));
    let found = format!("sleeps of 1 ms ended late by {median:.0} us (median), {p99:.0} us (p99)");
    tell_result(stream, "timers", if p99 < GOOD_LATENESS_US { Ok(found) } else { Err(found) }, TIMER_REMEDY)
}

/// How late a sleeping process wakes up here.
fn sleep_a_while() -> Lateness {
    let _ = prctl::set_timerslack(1);
    let (clock, mut lateness) = (Clock::start(), Lateness::default());
    for _ in 0..300 {
        let due = clock.now() + Duration::from_millis(1);
        let _ = nix::poll::ppoll(&mut [], Some(TimeSpec::milliseconds(1)), None);
        lateness.record(due, clock.now());
    }
    lateness
}

/// What was found of something that a live link would be better with.
fn tell_result(
    stream: &mut UnixStream,
    check: &str,
    found: Result<String, String>,
    remedy: &str,
) -> io::Result<()> {
    match found {
        Ok(found) => tell(stream, check, Some(true), &found, "", false),
        Err(found) => tell(stream, check, Some(false), &found, remedy, false),
    }
}

/// What was found of one thing that a live link needs, or would be better with; `ok` is absent if it was not tried.
fn tell(
    stream: &mut UnixStream,
    check: &str,
    ok: Option<bool>,
    found: &str,
    remedy: &str,
    needed: bool,
) -> io::Result<()> {
    let check = json!({ "check": check, "ok": ok, "found": found, "remedy": remedy, "needed": needed });
    message::write_json(stream, kind::CHECK, &check)
}

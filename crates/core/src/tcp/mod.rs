//! TCP endpoints without I/O: segments and times are inputs, and segments are returned on request.
//!
//! A flow carries data in one direction, from a [`Sender`] to a [`Receiver`]. They are separate objects that share only
//! the [`Config`], and a host carries packets between them:
//!
//! ```
//! use airpath_core::packet::Packet;
//! use airpath_core::tcp::{Config, Handshake, Receiver, Sender, handshake::Role};
//! use airpath_core::time::{Duration, Instant};
//!
//! let config = Config { handshake: Handshake::None, ack_every: 1, ..Config::default() };
//! let mut sender = Sender::new(&config, Role::Passive);
//! let mut receiver = Receiver::new(&config, Role::Active);
//! sender.open();
//! receiver.open();
//! sender.supply(1000);
//!
//! let (mut data, mut ack) = (Packet::default(), Packet::default());
//! let sent = Instant::ZERO;
//! let transmit = sender.poll_transmit(sent).expect("the window is open");
//! sender.write(sent, &transmit, &mut data);
//! assert_eq!((transmit.seq, transmit.len), (0, 1000));
//!
//! let arrived = sent + Duration::from_millis(50);
//! receiver.handle_segment(arrived, &data);
//! let cause = receiver.poll_transmit(arrived).expect("every segment is acknowledged");
//! receiver.write(arrived, cause, &mut ack);
//!
//! sender.handle_segment(arrived + Duration::from_millis(50), &ack);
//! assert!(sender.is_done());
//! assert_eq!(sender.rto().srtt(), Duration::from_millis(100));
//! ```
//!
//! **The contract.** After every call on an endpoint its owner drains `poll_transmit`, lets `write` fill in each packet,
//! and calls `handle_deadline` when the time of `deadline` has come. Offsets count bytes of a stream from zero and never
//! wrap; sequence numbers exist in packets only. RFC behaviour is the default; where ns-2's agents depart from it in
//! ways that matter for published results, the departure is an option.
//!
//! **How an ACK travels.** Three calls deep:
//!
//! ```text
//! Sender::handle_segment     headers to offsets; handshake, receiver's window, closed window
//!   |  nothing suspected, nothing looks closely: the short way ends here
//!   +-> Loss::on_ack         Classic or Rack; undo is asked, and an AckOutcome computed once
//!         +-> Transmission   advance, begin_recovery, take_back, the timer
//! ```
//!
//! [`window`] holds windows, sequence space and scoreboard; [`cc`] decides how the window grows and shrinks,
//! [`recovery`] interprets duplicate ACKs and schedules retransmissions, [`undo`] detects spurious recoveries, and
//! [`rto`] computes the timeout. If data flows in both directions, each endpoint is a [`Duplex`], a sender and a
//! receiver in one. A [`Connection`] is a whole endpoint around that, with octets, for peers other than airpath's TCP.
//!
//! Left out: closing (FIN), except by [`Connection`]; urgent data, path MTU discovery, Nagle's algorithm.

pub mod cc;
pub mod connection;
pub mod duplex;
pub mod ecn;
pub mod handshake;
pub mod multipath;
pub mod profile;
pub mod receiver;
pub mod recovery;
pub mod rto;
pub mod sender;
mod transmission;
pub mod undo;
pub mod window;

pub use connection::Connection;
pub use duplex::Duplex;
pub use receiver::Receiver;
pub use sender::Sender;
pub(crate) use transmission::delivery::{AtSender, Meter};
pub(crate) use transmission::pacer::Pacer;

use crate::error::ScenarioError;
use crate::packet::{IpVersion, Packet};
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use crate::trace::SendCause;
use crate::units::{Bitrate, Bytes};
use recovery::rnf;

/// Bytes of a TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;
/// Bytes of the timestamps option with padding, RFC 7323 appendix A.
pub const TIMESTAMPS_BYTES: u32 = 12;
/// Largest window without scaling, RFC 9293 (3.1).
const UNSCALED_WINDOW: u64 = 65_535;
/// Largest initial window in segments. ASSUMED: no server uses more.
const MAX_INITIAL_WINDOW: u32 = 100;

/// Largest number of segments that one ACK may wait for.
const MOST_ACK_EVERY: u32 = 8;
/// Largest window scale shift, RFC 7323 (2.3).
const MAX_WINDOW_SCALE: u8 = 14;

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Offset of its first byte in the stream.
    pub seq: u64,
    /// Payload in bytes; 0 for a segment of the handshake, and for a window probe without data.
    pub len: u32,
    /// Why it is sent.
    pub cause: SendCause,
}

/// Fields that all segments of an endpoint share, computed once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentTemplate {
    /// IP version.
    pub ip: IpVersion,
    /// Whether the timestamps option is present.
    pub has_timestamps: bool,
    /// IP and TCP header, bytes.
    pub header_bytes: u32,
    /// Receive window, bytes.
    pub window: u64,
    /// The window field, scaled.
    pub window_field: u16,
}

impl SegmentTemplate {
    /// Fills in the fields that do not depend on the kind of segment.
    #[inline]
    pub fn stamp(&self, now: Instant, ts_ecr: u32, packet: &mut Packet) {
        packet.set_ip(self.ip);
        if self.has_timestamps {
            write_timestamps(now, ts_ecr, packet);
        }
    }
}

/// Not inlined, so segments without timestamps do not pay for the division.
#[inline(never)]
fn write_timestamps(now: Instant, ts_ecr: u32, packet: &mut Packet) {
    packet.has_timestamps = true;
    packet.ts_val = timestamp(now);
    packet.ts_ecr = ts_ecr;
}

/// The timestamp clock: one tick a millisecond, RFC 7323 (5.4).
pub(crate) fn timestamp(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

parameters! {
    /// Both endpoints of a flow.
    pub struct Config {
        /// Profile whose defaults the other keys have; keys written next to it take precedence.
        pub profile: profile::Profile = profile::Profile::Rfc,
        /// IP version.
        pub ip: IpVersion = IpVersion::Ipv4,
        /// Maximum segment size, without options: RFC 6691. A full packet is this plus 40 bytes over IPv4.
        pub mss: Bytes = Bytes::from_bytes(1460),
        /// How a connection is opened.
        pub handshake: Handshake = Handshake::ThreeWay,
        /// Timestamps option, RFC 7323: 12 bytes of every segment, and a round-trip time sample with every ACK.
        pub timestamps: bool,
        /// Selective acknowledgments, RFC 2018: the receiver reports data above a gap. `recovery` decides how the
        /// sender uses this.
        pub sack: bool,
        /// With `sack`: the receiver also reports duplicate data, RFC 2883.
        pub dsack: bool = true,
        /// Explicit congestion notification, RFC 3168: a mark on a packet halves the window without a loss. Or accurate
        /// ECN, which counts marks, RFC 9768.
        pub ecn: ecn::Ecn,
        /// Whether the sender acts on radio network feedback, as `middlebox.rnc_feedback` gives it.
        pub rnf: rnf::Rnf = rnf::Rnf::Off,
        /// Window scale option, RFC 7323; without it the window is at most 65535 B.
        pub window_scaling: bool = true,
        /// Sequence number of the SYN on the wire.
        pub initial_sequence: u32,
        /// Response of the sender to a window that shrinks to zero over data in flight.
        pub shrunk_window: ShrunkWindow = ShrunkWindow::Persist,
        /// Content of a probe of a closed window.
        pub window_probe: WindowProbe = WindowProbe::Byte,
        /// Initial window in segments, 1 to 100; RFC 6928 has 10, RFC 5681 (3.1) at most 4.
        pub initial_window: u32 = 10,
        /// Initial slow start threshold; unlimited if absent.
        pub initial_ssthresh: Option<Bytes>,
        /// Upper limit of the send window in segments, in addition to the receiver's window; none if absent.
        pub max_window: Option<u32>,
        /// Congestion window after a timeout in segments: RFC 5681 (3.1).
        pub loss_window: u32 = 1,
        /// Duplicate ACKs that signal a loss, RFC 5681 (3.2).
        pub dupack_threshold: u32 = 3,
        /// Whether a fast retransmit that `undo` finds spurious raises the threshold: to one more than the
        /// duplicate ACKs it has seen, and no further than the window can bring. A timeout after duplicate ACKs
        /// takes it back.
        pub adaptive_dupack_threshold: bool,
        /// New data on the first duplicate ACKs, RFC 3042.
        pub limited_transmit: bool = true,
        /// Whether a second fast retransmit may follow within one window of data. RFC 6582 (3.2) forbids
        /// it; ns-2 allows it with `bugFix_ false`.
        pub multiple_fast_retransmits: bool,
        /// How window sizes are computed.
        pub window_arithmetic: WindowArithmetic = WindowArithmetic::Rfc5681,
        /// Segments that are timed without timestamps.
        pub rtt_sampling: RttSampling = RttSampling::EverySegment,
        /// Retransmission timer.
        pub rto: rto::Config,
        /// Congestion control.
        pub cc: cc::Config,
        /// Whether segments are spaced by the window over the round-trip time, as in Linux with the queue discipline fq:
        /// twice that in slow start, 1.2 times it later. A congestion control that models the path paces always.
        pub pacing: bool,
        /// Largest rate of sending, in payload: Linux's `SO_MAX_PACING_RATE`. Turns pacing on.
        pub max_pacing_rate: Option<Bitrate>,
        /// Loss recovery.
        pub recovery: recovery::Config,
        /// Proportional rate reduction, RFC 9937: a fast recovery sends in proportion to the data delivered. With
        /// `recovery.sack` or `recovery.rack`, or `recovery.newreno`, which counts each duplicate ACK as one segment.
        pub prr: bool,
        /// Whether a spurious timeout or fast retransmit is noticed and taken back.
        pub undo: undo::Config,
        /// Receive buffer: the window that the receiver advertises.
        pub receive_buffer: Bytes = Bytes::from_bytes(UNSCALED_WINDOW),
        /// The window grows from `receive_buffer` up to this limit with the data read per round trip; it is constant if
        /// absent.
        pub receive_buffer_max: Option<Bytes>,
        /// The receiver acknowledges every n-th full segment, up to 8: RFC 5681 (4.2) allows 1 and 2; hosts that merge
        /// segments, and papers, have more.
        pub ack_every: u32 = 2,
        /// Longest time an ACK is delayed, RFC 1122 (4.2.3.2).
        pub delayed_ack_timeout: Duration = Duration::from_millis(200),
        /// Whether that is how long ACKs wait, or they wait as in Linux.
        pub delayed_ack: Delay = Delay::Fixed,
        /// Number of segments ACKed without delay at the beginning of a connection, and again after a duplicate.
        pub quickack: u32,
        /// Effect of a pause on the window of a connection with data in both directions.
        pub idle_restart: IdleRestart = IdleRestart::Rfc5681,
    }

    /// How a connection is opened.
    pub enum Handshake {
        /// SYN, SYN-ACK, ACK; the UE opens.
        #[default]
        ThreeWay,
        /// None: data flows at once, like ns-2's one-way agents.
        None,
        /// Like T/TCP with a cached connection count: data travels in the SYN or in the SYN-ACK, without waiting for
        /// the third segment. The UE opens.
        Ttcp,
    }

    /// How window sizes are computed.
    pub enum WindowArithmetic {
        /// In bytes; half of the flight size, at least two segments: RFC 5681 (3.1, 3.2).
        #[default]
        Rfc5681,
        /// In segments, like ns-2's agents with `precisionReduce_ false`: half of the window truncated to a whole
        /// number, the threshold at least two; slow start counts ACKs; the ACK that ends a recovery also opens the
        /// window. Congestion controls with their own threshold (Westwood, CUBIC) reduce a larger window to it.
        Ns2,
    }

    /// Response of a sender whose receiver shrinks the window to zero over data in flight: a receiver "SHOULD NOT" do
    /// so, a sender must be robust against it (RFC 9293 (3.8.6), RFC 1122 (4.2.2.16)); boxes and hosts that freeze a
    /// sender do it on purpose (`middlebox.freeze`). See `tcp/transmission/timer.rs`.
    pub enum ShrunkWindow {
        /// The sender probes it like any closed window: RFC 9293 (3.8.6), MUST-35. The persist timer runs instead of
        /// the retransmission timer, no timeout is counted, and the congestion window stays. When the window opens,
        /// outstanding data still counts as in flight, and the retransmission timer restarts.
        #[default]
        Persist,
        /// Like `persist`, but when the window opens, all unacknowledged data is retransmitted, as in BSD.
        PersistAndGoBack,
        /// The retransmission timer runs on: a timeout is a loss, as in Linux.
        Retransmit,
    }

    /// Content of a probe of a closed window, sent while nothing is in flight.
    pub enum WindowProbe {
        /// The byte beyond the window: RFC 9293 (3.8.6.1).
        #[default]
        Byte,
        /// No data, with the sequence number of the last byte acknowledged, as in Linux.
        Empty,
    }

    /// How long an ACK is delayed.
    pub enum Delay {
        /// Always `delayed_ack_timeout`.
        #[default]
        Fixed,
        /// 40 ms up to that, by the time between segments: see `delayed_ack`.
        Linux,
        /// Always `delayed_ack_timeout`, regardless of further segments: in-order data is acknowledged only by the
        /// timer.
        Timer,
    }

    /// Effect on the congestion window of a pause longer than the retransmission timeout.
    pub enum IdleRestart {
        /// It is reduced to the initial window: RFC 5681 (4.1).
        #[default]
        Rfc5681,
        /// It is halved for each timeout that has passed, down to the initial window, and slow start continues up to
        /// three quarters of the previous window: RFC 2861 (3.2), Linux's `tcp_slow_start_after_idle`.
        Linux,
        /// No effect.
        Off,
    }

    /// Segments that are timed without timestamps.
    pub enum RttSampling {
        /// Every segment that was sent once (Karn's algorithm).
        #[default]
        EverySegment,
        /// One segment at a time, RFC 6298 (3).
        OnePerWindow,
    }
}

impl Config {
    /// Payload of a full segment in bytes: the MSS minus the options that every segment carries.
    pub fn payload_bytes(&self) -> u64 {
        let options = if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
        self.mss.as_u64().saturating_sub(u64::from(options))
    }

    /// IP and TCP header of a segment with data, bytes.
    pub fn header_bytes(&self) -> u32 {
        let options = if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
        self.ip.header_bytes() + TCP_HEADER_BYTES + options
    }

    /// Shift that lets the receive buffer be advertised: RFC 7323 (2.3).
    pub fn window_shift(&self) -> u8 {
        let largest = self.receive_buffer.as_u64().max(self.receive_buffer_max.map_or(0, Bytes::as_u64));
        let fits = |shift: &u8| largest >> shift <= UNSCALED_WINDOW;
        if self.window_scaling { (0..MAX_WINDOW_SCALE).find(fits).unwrap_or(MAX_WINDOW_SCALE) } else { 0 }
    }

    /// The window that the receiver advertises, in bytes.
    pub fn advertised_window(&self) -> u64 {
        let shift = self.window_shift();
        (self.receive_buffer.as_u64() >> shift).min(UNSCALED_WINDOW) << shift
    }

    /// The largest window that the receiver ever advertises, in bytes.
    pub fn largest_window(&self) -> u64 {
        let most = self.receive_buffer_max.map_or(0, Bytes::as_u64);
        self.advertised_window().max(most).min(UNSCALED_WINDOW << self.window_shift())
    }

    /// How segments are paced; `None` if they are not.
    pub(crate) fn pace(&self) -> Option<cc::Pace> {
        let by_key = self.pacing || self.max_pacing_rate.is_some();
        self.cc.pace().or(by_key.then(cc::Pace::default))
    }

    /// The fields that all segments of an endpoint share.
    pub(crate) fn segment_template(&self) -> SegmentTemplate {
        let window = self.advertised_window();
        SegmentTemplate {
            ip: self.ip,
            has_timestamps: self.timestamps,
            header_bytes: self.header_bytes(),
            window,
            window_field: (window >> self.window_shift()) as u16,
        }
    }

    /// A receive buffer below Linux's that grows to Linux's limit: it bounds the window at first only.
    pub fn remark(&self) -> Option<ScenarioError> {
        let grows = self.receive_buffer_max == Some(profile::RECEIVE_BUFFER_MAX);
        (grows && self.receive_buffer.as_u64() < UNSCALED_WINDOW).then(|| {
            let message = format!(
                "{} is the window at the start, which grows to {} as Linux's",
                self.receive_buffer,
                profile::RECEIVE_BUFFER_MAX
            );
            let hint = "write receive_buffer_max, too: the same, or \"absent\", to bound it";
            ScenarioError::new("receive_buffer", message, hint)
        })
    }

    /// Refuses values that cannot work.
    ///
    /// # Errors
    /// The error names the key below `tcp`, the problem, and a valid value.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        let error = |key: &str, message: String, hint: &str| Err(ScenarioError::new(key, message, hint));
        let payload = self.payload_bytes();
        if payload == 0 || self.mss.as_u64() > 65_495 {
            let message = format!("segments of {} cannot be sent", self.mss);
            return error("mss", message, "write a size from 1 B (13 B with timestamps) to 65495 B");
        }
        if !(1..=MAX_INITIAL_WINDOW).contains(&self.initial_window) {
            let message = format!("an initial window of {} segments", self.initial_window);
            let hint = format!("write 1 to {MAX_INITIAL_WINDOW} (10 in RFC 6928)");
            return error("initial_window", message, &hint);
        }
        if self.advertised_window() < payload {
            let window = self.advertised_window();
            let message = format!("its window of {window} B is below one segment of {payload} B");
            return error("receive_buffer", message, "write a buffer of several segments, such as \"64 kB\"");
        }
        if self.receive_buffer_max.is_some_and(|most| most < self.receive_buffer) {
            let message = "the window would begin above its limit".to_owned();
            let hint = "write at least receive_buffer, or remove the key";
            return error("receive_buffer_max", message, hint);
        }
        if self.max_window == Some(0) {
            return error(
                "max_window",
                "a window of no segments".into(),
                "write at least 1, or remove the key",
            );
        }
        if self.initial_ssthresh.is_some_and(|ssthresh| ssthresh.as_u64() < 2 * payload) {
            return error("initial_ssthresh", "below two segments".into(), "write at least twice the MSS");
        }
        if self.dupack_threshold == 0 {
            return error("dupack_threshold", "every ACK would be a loss".into(), "write 3 (RFC 5681)");
        }
        // The box never flags the first duplicate.
        if let Some(first) = self.rnf.needed().map(|needed| needed + 1).filter(|n| *n > self.dupack_threshold)
        {
            let message =
                format!("{} duplicate ACKs bring a fast retransmit before a flag can", self.dupack_threshold);
            return error("rnf", message, &format!("write off, or a dupack_threshold of at least {first}"));
        }
        if self.rnf != rnf::Rnf::Off && self.ecn.is_accurate() {
            let message = "accurate ECN counts marks in the bit of the feedback".to_owned();
            return error("rnf", message, "write off, or tcp.ecn = true");
        }
        if self.loss_window == 0 {
            return error("loss_window", "a window of no segments".into(), "write 1 (RFC 5681)");
        }
        if self.adaptive_dupack_threshold && matches!(self.undo, undo::Config::None(_)) {
            let hint = "choose tcp.undo.eifel or tcp.undo.dsack";
            return error("adaptive_dupack_threshold", "nothing tells a spurious one".into(), hint);
        }
        if !(1..=MOST_ACK_EVERY).contains(&self.ack_every) {
            let message = format!("an ACK every {} segments", self.ack_every);
            return error("ack_every", message, "write 1 or 2 (RFC 5681), or up to 8");
        }
        let by_scoreboard = matches!(self.recovery, recovery::Config::Sack(_) | recovery::Config::Rack(_));
        if by_scoreboard && !self.sack {
            let message = format!("{} requires the SACK option", self.recovery.name());
            return error("recovery", message, "set tcp.sack = true");
        }
        if self.cc.models_path() && !matches!(self.recovery, recovery::Config::Rack(_)) {
            let message = format!("{} requires RACK loss recovery with SACK", self.cc.name());
            let hint = "set tcp.recovery = \"rack\" and tcp.sack = true, or tcp.profile = \"linux\"";
            return error("cc", message, hint);
        }
        if self.cc.counts_marks() && !self.ecn.is_accurate() {
            let message = format!("{} needs the number of ECN marks per ACK", self.cc.name());
            return error(
                "cc",
                message,
                "set tcp.ecn = \"accurate\", or choose tcp.profile = \"linux-prague\"",
            );
        }
        if self.max_pacing_rate.is_some_and(|rate| rate.as_bps() < 8) {
            return error(
                "max_pacing_rate",
                "less than one byte per second".into(),
                "write at least 8 bit/s",
            );
        }
        if self.prr && !by_scoreboard && !matches!(self.recovery, recovery::Config::Newreno(_)) {
            let message =
                format!("recovery.{} does not track the bytes in the network", self.recovery.name());
            return error("prr", message, "choose tcp.recovery.newreno, sack or rack");
        }
        if let recovery::Config::Newreno(newreno) = &self.recovery {
            newreno.validate().map_err(|inner| inner.under("recovery.newreno"))?;
            if newreno.counts_duplicates(self.prr) && self.rnf != rnf::Rnf::Off {
                let message = "each duplicate ACK counts as a segment delivered".to_owned();
                let hint =
                    "write off, or prr = false without variant = \"linux\", or choose tcp.recovery.sack";
                return error("rnf", message, hint);
            }
        }
        if matches!(self.recovery, recovery::Config::Rack(_)) {
            if self.rnf != rnf::Rnf::Off {
                let hint = "write off, or choose another tcp.recovery";
                return error("rnf", "RACK detects losses by time, not by feedback".into(), hint);
            }
            if self.shrunk_window == ShrunkWindow::PersistAndGoBack {
                let hint = "write persist or retransmit, or choose another tcp.recovery";
                return error("shrunk_window", "RACK never goes back".into(), hint);
            }
        }
        if matches!(self.undo, undo::Config::Eifel(_)) && !self.timestamps {
            return error("undo", "eifel compares timestamps".into(), "set tcp.timestamps = true");
        }
        if matches!(self.undo, undo::Config::Dsack(_)) && !(self.sack && self.dsack) {
            return error("undo", "dsack reads reports of duplicates".into(), "set tcp.sack and tcp.dsack");
        }
        self.cc.validate().map_err(|inner| inner.under("cc"))?;
        self.rto.validate().map_err(|inner| inner.under("rto"))
    }
}

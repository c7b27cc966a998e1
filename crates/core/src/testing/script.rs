//! Scripts in packetdrill's manner: one TCP endpoint, virtual time, exact instants.
//!
//! A script is a list of lines; `#` begins a comment. The first line names the endpoint and, as TOML
//! assignments over the defaults, its [`Config`]; lines of `config` may add more:
//!
//! ```text
//! # Slow start: each ACK of a full segment sends two. RFC 5681 (3.1)
//! sender mss="1000 B" initial_window=2 handshake="none"
//! config recovery.reno={}
//! bulk                           # or file "20 kB": what the application supplies at the start
//! 0       > 0:1000 new           # the endpoint sends this, at this instant
//! 0       > 1000:2000
//! 0.1     < ack 1000             # this arrives
//!         > 2000:3000
//!         > 3000:4000
//!         ? cwnd == 3000, phase == open
//! +0.2    < ack 2000 x3          # three of them, 0.2 s after the line before
//! 1       supply "5 kB"          # the application has more; of a receiver with `hold "8 kB"` among its first
//!                                # lines: `take 3000`, its owner takes all bytes before that one
//!         nothing until 1.5      # no segment before that instant
//! ```
//!
//! With `profile="linux"` the keys written next to it replace the keys of the profile whole.
//!
//! A sender is `passive` and a receiver `active` unless the first line says otherwise: the receiver
//! opens the connection. Both sides know the same configuration, like a flow of a scenario.
//!
//! **Time** is in seconds from the start, or after a `+` from the line before; a line without a time has the time of
//! the line before. Deadlines of the endpoint come at their own instants; a deadline at the instant of an arrival comes
//! before it.
//!
//! **Segments** are `START:END` (data), `ack N`, `syn` or `synack`, numbers relative to the first byte of the stream.
//! Then, in any order: fields as `name number` and, for sent segments, the cause (`new`, `timeout`, ...; the words of
//! [`SendCause`]). Fields are `win` (as on the wire), `tsval`, `tsecr` (milliseconds), `mss`, `wscale`, `sackok` (1 or
//! `none`), `sacks` (blocks such as `2000:3000,5000:6000`, first first), `ecn` (of the IP header), `ece`, `cwr`, `psh`
//! and `rnf` (1 or `none`), `ace` (the three bits of accurate ECN) and `e0b`, `ceb`, `e1b` (the counters of its
//! option), `syn 1` (data that arrives in a SYN-ACK), `seq` (the number on the wire), and, only for sent segments,
//! `acks` (also the number on the wire) and `len` (of the IP packet). An arriving segment has, by default, the window,
//! the options and the `tsval` that the other endpoint would send; `none` removes an option. Where timestamps are on,
//! `tsecr` is required of an ACK that arrives. `xN` repeats an arrival.
//!
//! **Every segment that is sent must be expected**, in order, before time moves on or something else
//! arrives.
//!
//! **State** is asserted with `==`; lengths in bytes, times in seconds. A fraction such as `10000/3`
//! is compared with a tolerance of 1e-9, everything else exactly; `none` is an unlimited threshold,
//! `off` a timer that does not run.
//!
//! * sender: `cwnd`, `ssthresh`, `inflation`, `send_window`, `rwnd`, `flight`, `una`, `nxt`, `max`,
//!   `dupacks`, `dupack_threshold`, `phase` (`open`, `disorder`, `recovery`, `loss`), `srtt`, `rttvar`,
//!   `rto`, `timer`,
//!   `done` (`yes`, `no`), and the counters `samples`, `timeouts`, `fast_retransmits`,
//!   `spurious_timeouts`, `spurious_fast_retransmits`, `retransmissions`, `dupacks_total`,
//!   `window_probes`, the loss episodes `single_losses`, `double_losses`, `timeout_losses`,
//!   `undone_losses`, with ECN `echoes` and `ecn_reductions`, with accurate ECN `ce_packets`, `ce_bytes`, `ect0_bytes` and
//!   `ect1_bytes`, and with radio network feedback `flagged_acks`, `nacks`
//!   and `wireless_fast_retransmits`;
//! * receiver: `rcv_nxt`, `timer`, and the counters `segments`, `duplicates`, `out_of_order`,
//!   `beyond_window`, `acks_sent`, with ECN `marks`, and with accurate ECN the same counters.

use super::line::{Described, Shape, parse_bytes, parse_number, parse_seconds, split_words};
use super::state::{receiver_value, sender_value};
use crate::packet::{EcnBytes, EcnOrder, Flags, Form, Packet};
use crate::tcp::ecn::Ecn;
use crate::tcp::handshake::Role;
use crate::tcp::{Config, Receiver, Sender, profile};
use crate::time::Instant;
use crate::trace::SendCause;
use crate::wire::tcp_header_bytes;
use std::collections::VecDeque;
use std::fmt;

/// Deadlines in a row that may pass without time moving on.
const MAX_DEADLINES_AT_ONCE: u32 = 100;
/// Segments that may wait to be expected.
const MAX_SENT: usize = 10_000;

/// Runs a script.
///
/// # Errors
/// The first line that did not come true, or cannot be read, as `name:line: what`.
pub fn run(name: &str, text: &str) -> Result<(), String> {
    let mut setup = Setup::default();
    let mut runner: Option<Runner> = None;
    let mut last = 0;
    for (index, line) in text.lines().enumerate() {
        let words = split_words(line);
        if words.is_empty() {
            continue;
        }
        last = index + 1;
        let result = match &mut runner {
            Some(runner) => runner.line(&words),
            None => match setup.line(&words) {
                Ok(true) => Ok(()),
                Ok(false) => setup.build().and_then(|built| runner.insert(built).line(&words)),
                Err(message) => Err(message),
            },
        };
        result.map_err(|message| format!("{name}:{last}: {message}"))?;
    }
    let Some(runner) = runner else { return Err(format!("{name}: there is no event")) };
    runner.nothing_left().map_err(|message| format!("{name}:{last}: after the last line, {message}"))
}

/// The lines before the first event.
#[derive(Default)]
struct Setup {
    /// Whether it sends, and its role.
    endpoint: Option<(bool, Role)>,
    toml: String,
    supplied: u64,
    /// Size of a receive buffer that its owner empties.
    held: Option<u64>,
}

impl Setup {
    /// Takes a line in, or returns false if the events begin with it.
    fn line(&mut self, words: &[String]) -> Result<bool, String> {
        let sends = words[0] == "sender";
        match words[0].as_str() {
            "sender" | "receiver" if self.endpoint.is_none() => {
                let named = match words.get(1).map(String::as_str) {
                    Some("active") => Some(Role::Active),
                    Some("passive") => Some(Role::Passive),
                    _ => None,
                };
                let usual = if sends { Role::Passive } else { Role::Active };
                self.endpoint = Some((sends, named.unwrap_or(usual)));
                self.assign(&words[1 + usize::from(named.is_some())..]);
            }
            "config" => self.assign(&words[1..]),
            "bulk" if words.len() == 1 => self.supplied = u64::MAX,
            "hold" if words.len() == 2 => self.held = Some(parse_bytes(&words[1])?),
            "file" if words.len() == 2 => self.supplied = parse_bytes(&words[1])?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn assign(&mut self, assignments: &[String]) {
        for assignment in assignments {
            self.toml.push_str(assignment);
            self.toml.push('\n');
        }
    }

    fn build(&self) -> Result<Runner, String> {
        let Some((sends, role)) = self.endpoint else {
            return Err("a script begins with `sender` or `receiver`".into());
        };
        let written: toml::Table =
            self.toml.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let table = profile::apply(&written, |below, above| {
            below.iter().chain(above).map(|(key, value)| (key.clone(), value.clone())).collect()
        });
        let config: Config = toml::Value::Table(table)
            .try_into()
            .map_err(|error: toml::de::Error| error.message().to_owned())?;
        config.validate().map_err(|error| error.to_string())?;
        let endpoint = if sends {
            let mut sender = Sender::new(&config, role);
            sender.open();
            sender.supply(self.supplied);
            Endpoint::Sends(Box::new(sender))
        } else {
            let mut receiver = Receiver::new(&config, role);
            self.held.into_iter().for_each(|capacity| receiver.hold(capacity));
            receiver.open();
            Endpoint::Receives(Box::new(receiver))
        };
        let (now, sent) = (Instant::ZERO, VecDeque::new());
        let mut runner = Runner { config, endpoint, now, passed_at_once: 0, line_at: 0, sent };
        runner.drain()?;
        Ok(runner)
    }
}

enum Endpoint {
    Sends(Box<Sender>),
    Receives(Box<Receiver>),
}

impl Endpoint {
    fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Sends(sender) => sender.deadline(),
            Self::Receives(receiver) => receiver.deadline(),
        }
    }

    fn handle_deadline(&mut self, now: Instant) {
        match self {
            Self::Sends(sender) => sender.handle_deadline(now),
            Self::Receives(receiver) => receiver.handle_deadline(now),
        }
    }
}

/// A segment that the endpoint has sent.
struct Sent {
    at: Instant,
    shape: Shape,
    cause: SendCause,
    packet: Packet,
}

impl Sent {
    fn field(&self, name: &str) -> Option<u64> {
        let packet = &self.packet;
        match name {
            "win" => Some(packet.window.into()),
            "tsval" => packet.has_timestamps.then_some(packet.ts_val.into()),
            "tsecr" => packet.has_timestamps.then_some(packet.ts_ecr.into()),
            "mss" => Some(packet.options().mss.into()).filter(|mss| *mss > 0),
            "wscale" => packet.options().window_scale_plus_1.checked_sub(1).map(u64::from),
            "sackok" => packet.options().sack_permitted.then_some(1),
            "seq" => Some(packet.seq.into()),
            "acks" => packet.flags.has(Flags::ACK).then_some(packet.ack.into()),
            "ecn" => Some(packet.ecn().into()),
            "ace" => Some(packet.ace().into()),
            "e0b" | "ceb" | "e1b" => packet.options().ecn.by_mark()[counter(name)].map(u64::from),
            _ => match flag(name) {
                Some(flag) => packet.flags.has(flag).then_some(1),
                None => Some(packet.len.into()),
            },
        }
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {:?}", self.shape, self.cause.name(), self.at)
    }
}

struct Runner {
    config: Config,
    endpoint: Endpoint,
    now: Instant,
    /// Deadlines in a row that have passed at `now`.
    passed_at_once: u32,
    /// Time of the last line, nanoseconds.
    line_at: u64,
    /// Sent and not yet expected.
    sent: VecDeque<Sent>,
}

impl Runner {
    fn line(&mut self, words: &[String]) -> Result<(), String> {
        let time = &words[0];
        let words = match time.strip_prefix('+') {
            Some(span) => {
                self.line_at += parse_seconds(span)?;
                &words[1..]
            }
            None if time.starts_with(|c: char| c.is_ascii_digit()) => {
                let at = parse_seconds(time)?;
                if at < self.line_at {
                    return Err(format!("{time} s is before the line above"));
                }
                self.line_at = at;
                &words[1..]
            }
            None => words,
        };
        let at = Instant::from_nanos(self.line_at);
        match words.first().map(String::as_str) {
            Some(">") => self.expect(at, &Described::parse(&words[1..])?),
            Some("<") => self.inject(at, &Described::parse(&words[1..])?),
            Some("?") => self.check(at, &words[1..].join(" ")),
            Some("supply") if words.len() == 2 => self.apply(at, true, parse_bytes(&words[1])?),
            Some("take") if words.len() == 2 => self.apply(at, false, parse_number(&words[1])?),
            Some("nothing") if words.len() == 3 && words[1] == "until" => {
                self.line_at = parse_seconds(&words[2])?;
                self.advance_before(Instant::from_nanos(self.line_at))?;
                self.nothing_left()
            }
            Some(word) => Err(format!("unknown word \"{word}\"")),
            None => Err("there is a time and nothing else".into()),
        }
    }

    /// Lets everything happen that is due before `at`.
    fn advance_before(&mut self, at: Instant) -> Result<(), String> {
        while let Some(due) = self.endpoint.deadline().filter(|due| *due < at) {
            self.pass(due)?;
        }
        Ok(())
    }

    /// Lets everything happen that is due up to `at`, and moves time there.
    fn advance_to(&mut self, at: Instant) -> Result<(), String> {
        while let Some(due) = self.endpoint.deadline().filter(|due| *due <= at) {
            self.pass(due)?;
        }
        self.now = at;
        Ok(())
    }

    fn pass(&mut self, due: Instant) -> Result<(), String> {
        if due < self.now {
            return Err(format!("a deadline at {due:?}, which is past at {:?}", self.now));
        }
        self.passed_at_once = if due == self.now { self.passed_at_once + 1 } else { 1 };
        if self.passed_at_once > MAX_DEADLINES_AT_ONCE {
            return Err(format!("the deadline at {due:?} does not go away"));
        }
        self.now = due;
        self.endpoint.handle_deadline(due);
        self.drain()
    }

    /// Takes what the endpoint has to send.
    fn drain(&mut self) -> Result<(), String> {
        while self.sent.len() < MAX_SENT {
            let mut packet = Packet::default();
            let cause = match &mut self.endpoint {
                Endpoint::Sends(sender) => match sender.poll_transmit(self.now) {
                    Some(transmit) => {
                        sender.write(self.now, &transmit, &mut packet);
                        transmit.cause
                    }
                    None => return Ok(()),
                },
                Endpoint::Receives(receiver) => match receiver.poll_transmit(self.now) {
                    Some(cause) => {
                        receiver.write(self.now, cause, &mut packet);
                        cause
                    }
                    None => return Ok(()),
                },
            };
            let headers = packet.ip().header_bytes() + tcp_header_bytes(&packet);
            if packet.len != headers + packet.payload {
                return Err(format!("{packet:?} is {} B long", headers + packet.payload));
            }
            let shape = self.shape(&packet);
            self.sent.push_back(Sent { at: self.now, shape, cause, packet });
        }
        Err(format!("{MAX_SENT} segments wait to be expected"))
    }

    fn shape(&self, packet: &Packet) -> Shape {
        let relative = |wire: u32| u64::from(wire.wrapping_sub(self.config.initial_sequence).wrapping_sub(1));
        match (packet.flags.has(Flags::SYN), packet.flags.has(Flags::ACK)) {
            (true, false) => Shape::Syn,
            (true, true) => Shape::SynAck,
            (false, _) if packet.payload > 0 => {
                let start = relative(packet.seq);
                Shape::Data(start, start + u64::from(packet.payload))
            }
            (false, _) => Shape::Ack(relative(packet.ack)),
        }
    }

    /// SACK blocks relative to the first byte of the stream.
    fn blocks(&self, packet: &Packet) -> Vec<(u64, u64)> {
        let first = self.config.initial_sequence.wrapping_add(1);
        let relative = |wire: u32| u64::from(wire.wrapping_sub(first));
        let blocks = packet.options().sack.as_slice().iter();
        blocks.map(|(left, right)| (relative(*left), relative(*right))).collect()
    }

    /// Fails if something was sent that no line expects.
    fn nothing_left(&self) -> Result<(), String> {
        match self.sent.front() {
            Some(sent) => Err(format!("unexpected segment {sent}")),
            None => Ok(()),
        }
    }

    fn expect(&mut self, at: Instant, expected: &Described) -> Result<(), String> {
        if self.sent.is_empty() {
            self.advance_to(at)?;
        }
        let shape = expected.shape;
        let Some(sent) = self.sent.pop_front() else {
            return Err(format!("expected {shape} at {at:?}, got nothing"));
        };
        if sent.shape != shape || sent.at != at || expected.cause.is_some_and(|cause| cause != sent.cause) {
            let cause = expected.cause.map_or(String::new(), |cause| format!(" {}", cause.name()));
            return Err(format!("expected {shape}{cause} at {at:?}, got {sent}"));
        }
        if let Some(expected) = &expected.sack {
            let got = self.blocks(&sent.packet);
            if got != *expected {
                return Err(format!("expected blocks {expected:?} in {shape}, got {got:?}"));
            }
        }
        for (name, value) in &expected.fields {
            let got = sent.field(name);
            if got != *value {
                return Err(format!("expected {name} {} in {shape}, got {}", show(*value), show(got)));
            }
        }
        Ok(())
    }

    fn inject(&mut self, at: Instant, described: &Described) -> Result<(), String> {
        self.advance_to(at)?;
        self.nothing_left()?;
        let packet = self.packet(described)?;
        for _ in 0..described.times {
            match &mut self.endpoint {
                Endpoint::Sends(sender) => sender.handle_segment(at, &packet),
                Endpoint::Receives(receiver) => {
                    receiver.handle_segment(at, &packet);
                }
            }
            self.drain()?;
        }
        Ok(())
    }

    /// The packet that the other endpoint would send.
    fn packet(&self, described: &Described) -> Result<Packet, String> {
        let config = &self.config;
        let first = config.initial_sequence.wrapping_add(1);
        let (seq, ack, flags) = match described.shape {
            Shape::Data(start, _) => (first.wrapping_add(start as u32), first, Flags::ACK),
            Shape::Ack(ack) => (first, first.wrapping_add(ack as u32), Flags::ACK),
            Shape::Syn => (config.initial_sequence, 0, Flags::SYN),
            Shape::SynAck => (config.initial_sequence, first, Flags::SYN | Flags::ACK),
        };
        let syn = flags.has(Flags::SYN);
        let window = config.advertised_window();
        let mut packet = Packet {
            seq,
            ack,
            flags,
            form: Form::TCP.with_ip(config.ip),
            window: if syn { window.min(65_535) as u16 } else { (window >> config.window_shift()) as u16 },
            has_timestamps: config.timestamps,
            ts_val: (self.now.as_nanos() / 1_000_000) as u32,
            ..Packet::default()
        };
        if syn {
            packet.options_mut().mss = config.mss.as_u64() as u16;
            packet.options_mut().window_scale_plus_1 =
                if config.window_scaling { config.window_shift() + 1 } else { 0 };
            packet.options_mut().sack_permitted = config.sack;
            packet.flags = packet.flags | config.ecn.offer();
            match config.ecn {
                Ecn::Classic if flags.has(Flags::ACK) => set(&mut packet.flags, Flags::CWR, false),
                // It came as not ECN-capable.
                Ecn::Accurate | Ecn::AccurateFlags if flags.has(Flags::ACK) => packet.set_ace(2),
                _ => {}
            }
        } else if config.ecn.is_accurate() {
            packet.set_ace(5);
        }
        for (left, right) in described.sack.iter().flatten() {
            let wire = |offset: u64| first.wrapping_add(offset as u32);
            packet.options_mut().sack.push(wire(*left), wire(*right));
        }
        if let Shape::Data(start, end) = described.shape {
            packet.payload = (end - start) as u32;
        }
        let echo_given = described.fields.iter().any(|(name, _)| name == "tsecr");
        let is_ack = matches!(described.shape, Shape::Ack(_) | Shape::SynAck);
        if config.timestamps && is_ack && !echo_given {
            return Err("an ACK with timestamps needs `tsecr`".into());
        }
        let mut counters = [None; EcnBytes::MAX];
        for (name, value) in &described.fields {
            let number = value.unwrap_or(0);
            match name.as_str() {
                "win" => packet.window = number as u16,
                "seq" => packet.seq = number as u32,
                "syn" => {
                    packet.flags = packet.flags | Flags::SYN;
                    packet.seq = packet.seq.wrapping_sub(1);
                }
                "ecn" => packet.set_ecn(number as u8),
                "ace" => packet.set_ace(number as u8),
                "e0b" | "ceb" | "e1b" => counters[counter(name)] = *value,
                "tsval" => packet.ts_val = number as u32,
                "tsecr" => packet.ts_ecr = number as u32,
                "mss" => packet.options_mut().mss = number as u16,
                "sackok" => packet.options_mut().sack_permitted = value.is_some(),
                "wscale" => {
                    packet.options_mut().window_scale_plus_1 = value.map_or(0, |shift| shift as u8 + 1)
                }
                other => match flag(other) {
                    Some(flag) => set(&mut packet.flags, flag, value.is_some()),
                    None => return Err(format!("`{other}` is only for what is sent")),
                },
            }
            if value.is_none() && name.starts_with("ts") {
                packet.has_timestamps = false;
            }
        }
        if described.cause.is_some() {
            return Err("a cause is only for what is sent".into());
        }
        let [ect0, ce, ect1] = counters;
        let (order, fields) = match ect0 {
            Some(_) => (EcnOrder::Ect0First, [ect0, ce, ect1]),
            None => (EcnOrder::Ect1First, [ect1, ce, ect0]),
        };
        if counters != [None; EcnBytes::MAX] {
            packet.options_mut().ecn = EcnBytes::new(order, fields.into_iter().map_while(|field| field));
        }
        packet.len = packet.ip().header_bytes() + tcp_header_bytes(&packet) + packet.payload;
        Ok(packet)
    }

    /// The application supplies bytes to a sender, or takes those of a receiver up to an offset.
    fn apply(&mut self, at: Instant, supplies: bool, number: u64) -> Result<(), String> {
        self.advance_to(at)?;
        self.nothing_left()?;
        match (&mut self.endpoint, supplies) {
            (Endpoint::Sends(sender), true) => sender.supply(number),
            (Endpoint::Receives(receiver), false) => receiver.take(number),
            (Endpoint::Receives(_), true) => return Err("a receiver has nothing to supply".into()),
            (Endpoint::Sends(_), false) => return Err("a sender has nothing to take".into()),
        }
        self.drain()
    }

    fn check(&mut self, at: Instant, assertions: &str) -> Result<(), String> {
        self.advance_to(at)?;
        if let Some(sent) = self.sent.iter().find(|sent| sent.at < at) {
            return Err(format!("unexpected segment {sent}"));
        }
        for assertion in assertions.split(',') {
            let (name, wanted) = assertion
                .split_once("==")
                .ok_or_else(|| format!("\"{}\" is no `name == value`", assertion.trim()))?;
            let (name, wanted) = (name.trim(), wanted.trim());
            let value = match &self.endpoint {
                Endpoint::Sends(sender) => sender_value(sender, name),
                Endpoint::Receives(receiver) => receiver_value(receiver, name),
            };
            let value = value.ok_or_else(|| format!("unknown word \"{name}\""))?;
            if !value.equals(wanted)? {
                return Err(format!("expected {name} == {wanted} at {at:?}, got {value}"));
            }
        }
        Ok(())
    }
}

/// A control bit by its field's name.
fn flag(name: &str) -> Option<Flags> {
    let flags = [("ece", Flags::ECE), ("cwr", Flags::CWR), ("rnf", Flags::RNF), ("psh", Flags::PSH)];
    flags.into_iter().find(|(known, _)| *known == name).map(|(_, flag)| flag)
}

/// A counter of accurate ECN by its field's name.
fn counter(name: &str) -> usize {
    ["e0b", "ceb", "e1b"].iter().position(|known| *known == name).unwrap_or_default()
}

/// Sets a control bit or takes it away.
fn set(flags: &mut Flags, flag: Flags, on: bool) {
    flags.0 = if on { flags.0 | flag.0 } else { flags.0 & !flag.0 };
}

fn show(value: Option<u64>) -> String {
    value.map_or("none".into(), |value| value.to_string())
}

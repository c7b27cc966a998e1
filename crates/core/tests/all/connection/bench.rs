//! One endpoint on a bench: segments go in as lines, and come out as lines.
//!
//! A line: flags, sequence number, "ack" and number if the ACK bit is set, "+" and octets, "win" and window. Numbers
//! are relative to the SYNs.

use airpath_core::packet::{Flags, Packet};
use airpath_core::tcp::connection::{Limits, Reset};
use airpath_core::tcp::{Config, Connection};
use airpath_core::time::{Duration, Instant};

pub const ISS: u32 = 0xffff_ff00;
pub const IRS: u32 = 5_000_000;

pub struct Bench {
    pub connection: Connection,
    pub now: Instant,
    /// Options of the other endpoint's SYN, and its timestamp clock.
    pub peer: Packet,
}

/// What the other endpoint says in its SYN.
pub fn plain_peer() -> Packet {
    let mut peer = Packet { window: 8000, ..Packet::default() };
    peer.options_mut().mss = 1000;
    peer
}

pub fn config() -> Config {
    Config { mss: "1000 B".parse().unwrap(), receive_buffer: "10 kB".parse().unwrap(), ..Config::default() }
}

pub fn limits() -> Limits {
    Limits::default()
}

/// Octets of the stream from `offset` on.
pub fn octets(offset: u64, len: usize) -> Vec<u8> {
    (offset..).take(len).map(|at| (at * 7 + at / 251) as u8).collect()
}

impl Bench {
    pub fn connect(config: &Config) -> Self {
        let now = Instant::ZERO;
        let connection = Connection::connect(config, limits(), ISS, now);
        Self { connection, now, peer: plain_peer() }
    }

    pub fn accept(config: &Config) -> Self {
        let mut bench = Self::connect(config);
        let syn = bench.read("S 0");
        bench.connection = Connection::accept(config, limits(), ISS, bench.now, &syn.0);
        bench
    }

    /// An open connection that has sent its last segment.
    pub fn established() -> Self {
        Self::established_with(&config())
    }

    pub fn established_with(config: &Config) -> Self {
        let mut bench = Self::accept(config);
        bench.sent();
        bench.arrives("A 1 ack 1");
        assert_eq!(bench.sent(), [""; 0]);
        bench
    }

    pub fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.connection.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.connection.handle_deadline(self.now);
        }
        self.now = end;
    }

    /// Waits; returns the segments sent meanwhile.
    pub fn sent_within(&mut self, time: Duration) -> Vec<String> {
        let (mut all, end) = (self.sent(), self.now + time);
        while let Some(at) = self.connection.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.connection.handle_deadline(self.now);
            all.extend(self.sent());
        }
        self.now = end;
        all
    }

    /// The packet that a line describes, and its octets.
    fn read(&self, line: &str) -> (Packet, Vec<u8>) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut packet = Packet { window: self.peer.window, ..Packet::default() };
        let letters = "FSRPAUEC";
        for letter in words[0].chars() {
            packet.flags = packet.flags | Flags(1 << letters.find(letter).unwrap());
        }
        let relative: i64 = words[1].parse().unwrap();
        packet.seq = IRS.wrapping_add(relative as u32);
        if packet.flags.has(Flags::SYN) {
            packet.options = self.peer.options.clone();
        }
        packet.has_timestamps = self.peer.has_timestamps;
        (packet.ts_val, packet.ts_ecr) = (self.peer.ts_val, self.peer.ts_ecr);
        let mut payload = Vec::new();
        let mut rest = words[2..].iter();
        while let Some(word) = rest.next() {
            match *word {
                "ack" => packet.ack = ISS.wrapping_add(rest.next().unwrap().parse::<i64>().unwrap() as u32),
                "win" => packet.window = rest.next().unwrap().parse().unwrap(),
                "ts" => packet.ts_val = rest.next().unwrap().parse().unwrap(),
                bytes => {
                    let count = bytes.strip_prefix('+').unwrap().parse().unwrap();
                    payload = octets(relative.max(1) as u64 - 1, count);
                }
            }
        }
        packet.payload = payload.len() as u32;
        (packet, payload)
    }

    pub fn packet(&self, line: &str) -> Packet {
        self.read(line).0
    }

    pub fn arrives(&mut self, line: &str) {
        let (packet, payload) = self.read(line);
        self.connection.handle_segment(self.now, &packet, &payload);
    }

    /// The segments sent now.
    pub fn sent(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let (mut packet, mut payload) = (Packet::default(), Vec::new());
        while self.connection.poll_transmit(self.now, &mut packet, &mut payload).is_some() {
            assert_eq!(packet.payload as usize, payload.len());
            let relative = packet.seq.wrapping_sub(ISS) as i32;
            let from = relative.max(1) as u64 - 1;
            assert_eq!(payload, octets(from, payload.len()), "octets at {from}");
            let headers = packet.ip().header_bytes() + airpath_core::wire::tcp_header_bytes(&packet);
            assert_eq!(packet.len, headers + packet.payload);
            lines.push(line_of(&packet));
            (packet, payload) = (Packet::default(), Vec::new());
        }
        lines
    }

    /// Expects exactly one segment to be sent now.
    pub fn sends(&mut self, line: &str) {
        assert_eq!(self.sent(), [line]);
    }

    pub fn silent(&mut self) {
        assert_eq!(self.sent(), [""; 0]);
    }

    pub fn write(&mut self, from: u64, len: usize) -> usize {
        self.connection.write(self.now, &octets(from, len))
    }

    pub fn read_all(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.connection.read(self.now, u64::MAX, &mut out);
        out
    }
}

pub fn line_of(packet: &Packet) -> String {
    let bits = [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'C'),
        (Flags::ACK, 'A'),
    ];
    let mut line: String = bits.iter().filter(|(bit, _)| packet.flags.has(*bit)).map(|(_, c)| *c).collect();
    line += &format!(" {}", packet.seq.wrapping_sub(ISS) as i32);
    if packet.flags.has(Flags::ACK) {
        line += &format!(" ack {}", packet.ack.wrapping_sub(IRS) as i32);
    }
    if packet.payload > 0 {
        line += &format!(" +{}", packet.payload);
    }
    line
}

pub fn reset_line(reset: Option<Reset>) -> Option<String> {
    let mut packet = Packet::default();
    reset?.write(airpath_core::packet::IpVersion::Ipv4, &mut packet);
    Some(line_of(&packet))
}

pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

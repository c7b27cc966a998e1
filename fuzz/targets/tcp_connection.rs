//! A TCP endpoint under arbitrary segments, clocks and calls: it reads what the stream holds, in its order, sends what
//! was written, and comes to rest.
#![no_main]

use airpath_core::packet::{Flags, Packet, SackBlocks};
use airpath_core::scenario::Scenario;
use airpath_core::tcp::connection::Limits;
use airpath_core::tcp::{Config, Connection};
use airpath_core::time::{Duration, Instant};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

const ISS: u32 = 0xffff_f000;
const IRS: u32 = 0xffff_ff00;
/// Segments that one call may let go, and expirations of a timer within one stretch of time.
const MOST: u32 = 20_000;

static CONFIGS: LazyLock<Vec<Config>> = LazyLock::new(|| {
    [
        "",
        "sack = true\ndsack = true\nrecovery.sack = {}\nundo.dsack = {}",
        "timestamps = true\nundo.frto = {}\nack_every = 2",
        "profile = \"linux\"",
        "profile = \"linux-reno\"\nsack = false\nrecovery.newreno = {}\nundo.eifel = {}\nprr = false",
        "recovery.tahoe = {}\ncc.westwood = {}\nwindow_scaling = false",
    ]
    .iter()
    .map(|tcp| {
        let text = format!("[tcp]\nreceive_buffer = \"10 kB\"\n{tcp}\n[[flow]]\n");
        Scenario::parse(&text, &[]).unwrap_or_else(|error| panic!("{tcp}: {error}")).tcp
    })
    .collect()
});

#[derive(Arbitrary, Debug)]
struct Input {
    config: u8,
    is_active: bool,
    mss: u16,
    window_scale: u8,
    permits_sack: bool,
    has_timestamps: bool,
    ops: Vec<Op>,
}

#[derive(Arbitrary, Debug)]
enum Op {
    /// The SYN, or the answer to ours.
    Open,
    /// Data in order, with an ACK of everything.
    Data {
        len: u16,
    },
    /// An ACK of everything, with a window.
    Ack {
        window: u16,
    },
    /// Anything, numbers relative to where the stream and the ACKs are.
    Segment(Segment),
    Write {
        len: u16,
    },
    Read {
        most: u16,
    },
    Shutdown,
    Close,
    Abort,
    Wait {
        ms: u16,
    },
    WaitLong {
        s: u8,
    },
}

#[derive(Arbitrary, Debug)]
struct Segment {
    seq: i16,
    ack: i16,
    flags: u16,
    len: u16,
    window: u16,
    ts_val: i16,
    ts_ecr: i16,
    blocks: [(i16, u8); 3],
    count: u8,
}

/// The octet at an offset, of either stream.
fn octet(at: u64) -> u8 {
    (at.wrapping_mul(7) ^ at / 251) as u8
}

struct Endpoint {
    connection: Connection,
    now: Instant,
    peer: Packet,
    /// Octets of the peer that came in order, written, read.
    came: u64,
    written: u64,
    read: u64,
    /// End of the data sent.
    sent: u64,
    has_opened: bool,
}

impl Endpoint {
    fn new(input: &Input) -> Self {
        let config = &CONFIGS[usize::from(input.config) % CONFIGS.len()];
        let mut peer = Packet { window: 8000, has_timestamps: input.has_timestamps, ..Packet::default() };
        let options = peer.options_mut();
        (options.mss, options.sack_permitted) = (input.mss, input.permits_sack);
        options.window_scale_plus_1 = input.window_scale % 16;
        let (limits, now) = (Limits::default(), Instant::ZERO);
        let connection = if input.is_active {
            Connection::connect(config, limits, ISS, now)
        } else {
            let syn = Packet { seq: IRS, flags: Flags::SYN, ts_val: 1, ..peer.clone() };
            Connection::accept(config, limits, ISS, now, &syn)
        };
        let (came, written, read, sent) = (0, 0, 0, 0);
        Self { connection, now, peer, came, written, read, sent, has_opened: !input.is_active }
    }

    /// A packet of the peer's, without options of a SYN: its offsets as they are on the wire.
    fn packet(&self, seq: u64, ack: u64, flags: Flags) -> Packet {
        let seq = IRS.wrapping_add(1).wrapping_add(seq as u32);
        let ack = ISS.wrapping_add(1).wrapping_add(ack as u32);
        let clock = (self.now.as_nanos() / 1_000_000) as u32;
        let has_timestamps = self.peer.has_timestamps;
        let (ts_val, ts_ecr) = (clock.wrapping_add(1), clock);
        Packet { seq, ack, flags, window: 8000, has_timestamps, ts_val, ts_ecr, ..Packet::default() }
    }

    fn arrives(&mut self, mut packet: Packet, seq: u64, len: u16) {
        packet.payload = u32::from(len);
        let payload: Vec<u8> = (0..u64::from(len)).map(|at| octet(seq.wrapping_add(at))).collect();
        self.connection.handle_segment(self.now, &packet, &payload);
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Open => {
                let flags = if self.has_opened { Flags::ACK } else { Flags::SYN | Flags::ACK };
                let mut packet = self.packet(0, 0, flags);
                if !self.has_opened {
                    packet.seq = IRS;
                    packet.options.clone_from(&self.peer.options);
                }
                self.has_opened = true;
                self.arrives(packet, 0, 0);
            }
            Op::Data { len } => {
                let (seq, len) = (self.came, len % 1500);
                self.arrives(self.packet(seq, self.sent, Flags::ACK), seq, len);
                self.came += u64::from(len);
            }
            Op::Ack { window } => {
                let packet = Packet { window: *window, ..self.packet(self.came, self.sent, Flags::ACK) };
                self.arrives(packet, self.came, 0);
            }
            Op::Segment(segment) => self.segment(segment),
            Op::Write { len } => {
                let octets: Vec<u8> = (self.written..).take((*len).into()).map(octet).collect();
                self.written += self.connection.write(self.now, &octets) as u64;
            }
            Op::Read { most } => {
                let mut out = Vec::new();
                self.connection.read(self.now, u64::from(*most), &mut out);
                assert!(out.len() <= usize::from(*most));
                for byte in out {
                    assert_eq!(byte, octet(self.read), "octet {} of what was read", self.read);
                    self.read += 1;
                }
            }
            Op::Shutdown => self.connection.shutdown(self.now),
            Op::Close => self.connection.close(self.now),
            Op::Abort => self.connection.abort(),
            Op::Wait { ms } => self.wait(Duration::from_millis((*ms).into())),
            Op::WaitLong { s } => self.wait(Duration::from_secs((*s).into())),
        }
        self.drain();
    }

    fn segment(&mut self, segment: &Segment) {
        let seq = self.came.wrapping_add_signed(segment.seq.into());
        let ack = self.sent.wrapping_add_signed(segment.ack.into());
        let bits =
            [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ACK, Flags::URG, Flags::ECE, Flags::CWR];
        let chosen = bits.iter().enumerate().filter(|(bit, _)| segment.flags >> bit & 1 == 1);
        let flags = chosen.fold(Flags::default(), |flags, (_, bit)| flags | *bit);
        let mut packet = self.packet(seq, ack, flags);
        packet.window = segment.window;
        packet.ts_val = packet.ts_val.wrapping_add_signed(segment.ts_val.into());
        packet.ts_ecr = packet.ts_ecr.wrapping_add_signed(segment.ts_ecr.into());
        if flags.has(Flags::SYN) {
            packet.options.clone_from(&self.peer.options);
        }
        let mut blocks = SackBlocks::default();
        for (start, len) in segment.blocks.iter().take(usize::from(segment.count % 4)) {
            let start = packet.ack.wrapping_add_signed(i32::from(*start));
            blocks.push(start, start.wrapping_add(u32::from(*len) * 100));
        }
        packet.options_mut().sack = blocks;
        self.arrives(packet, seq, segment.len % 1500);
    }

    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        let mut expired = 0;
        while let Some(at) = self.connection.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.connection.handle_deadline(self.now);
            self.drain();
            expired += 1;
            assert!(expired < MOST, "the timer expires for ever");
        }
        self.now = end;
    }

    fn drain(&mut self) {
        for _ in 0..MOST {
            let (mut packet, mut payload) = (Packet::default(), Vec::new());
            let Some(sent) = self.connection.poll_transmit(self.now, &mut packet, &mut payload) else {
                return;
            };
            assert_eq!(payload.len(), sent.len as usize);
            assert_eq!(packet.payload, sent.len);
            let end = sent.seq + u64::from(sent.len);
            assert!(end <= self.written, "{end} sent of {} written", self.written);
            assert!((sent.seq..end).zip(&payload).all(|(at, byte)| *byte == octet(at)));
            self.sent = self.sent.max(end);
        }
        panic!("it sends for ever");
    }
}

fuzz_target!(|input: Input| {
    let mut endpoint = Endpoint::new(&input);
    endpoint.drain();
    for op in input.ops.iter().take(200) {
        endpoint.apply(op);
    }
    endpoint.connection.abort();
    endpoint.drain();
    assert!(endpoint.connection.ended().is_some() && endpoint.connection.deadline().is_none());
});

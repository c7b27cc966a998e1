//! Two endpoints over any network that neither alters octets nor loses everything: all octets arrive both ways, both
//! ends close, nothing is left, in bounded time.

use super::bench::config;
use airpath_core::packet::{Flags, Packet};
use airpath_core::rng::{Stream, stream};
use airpath_core::tcp::connection::{Ended, Limits, State};
use airpath_core::tcp::ecn::{Counts, Ecn};
use airpath_core::tcp::{Config, Connection, recovery, undo};
use airpath_core::time::{Duration, Instant};
use proptest::prelude::*;

/// At 20 % of losses either way a segment and its ACK are lost seven times in a row, for 127 s, in one of a thousand
/// cases: R2 would end connections that are to be seen through, and TIME-WAIT would leave the other end without an
/// answer to its FIN. That limits hold is tested in `closing`.
fn limits() -> Limits {
    let patient = Duration::from_secs(3600);
    Limits { syn: patient, data: patient, time_wait: patient, ..Limits::default() }
}

/// A segment in flight.
struct InTransit {
    at: Instant,
    to: usize,
    packet: Packet,
    payload: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Network {
    loss: f64,
    duplicates: f64,
    reorders: f64,
    /// Marks of what can be marked.
    marks: f64,
}

/// One end's application.
#[derive(Clone, Copy, Debug)]
struct Application {
    writes: u64,
    /// Reads at most so much at a time, and only each so many milliseconds; 0 for at once.
    reads: u64,
    every_ms: u64,
    /// Closes as soon as everything is written, or when the other end has closed.
    waits: bool,
}

struct End {
    connection: Connection,
    application: Application,
    written: u64,
    read: u64,
    reads_at: Instant,
    seed: u64,
}

fn octet(seed: u64, at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed) >> 32) as u8
}

impl End {
    fn work(&mut self, now: Instant, other_seed: u64) {
        let left = self.application.writes - self.written;
        let count = left.min(self.connection.writable()).min(20_000);
        let octets: Vec<u8> = (self.written..self.written + count).map(|at| octet(self.seed, at)).collect();
        self.written += self.connection.write(now, &octets) as u64;
        if now >= self.reads_at {
            let mut out = Vec::new();
            let most = if self.application.every_ms == 0 { u64::MAX } else { self.application.reads };
            self.connection.read(now, most, &mut out);
            for byte in &out {
                assert_eq!(*byte, octet(other_seed, self.read), "octet {}", self.read);
                self.read += 1;
            }
            self.reads_at = now + Duration::from_millis(self.application.every_ms);
        }
        let all_written = self.written == self.application.writes;
        if all_written && (!self.application.waits || self.connection.is_read_out()) {
            self.connection.shutdown(now);
        }
    }

    fn wants_at(&self) -> Option<Instant> {
        let reads = (self.connection.readable() > 0).then_some(self.reads_at);
        self.connection.deadline().into_iter().chain(reads).min()
    }
}

struct World {
    now: Instant,
    ends: [End; 2],
    in_transit: Vec<InTransit>,
    network: Network,
    chance: Stream,
    /// The first SYN of the active end, for the passive one.
    listens: bool,
}

impl World {
    fn deliver(&mut self, segment: InTransit, config: &Config) {
        let end = &mut self.ends[segment.to];
        if segment.to == 1 && self.listens {
            if segment.packet.flags.has(Flags::SYN) {
                self.listens = false;
                end.connection = Connection::accept(config, limits(), 77, self.now, &segment.packet);
            }
            return;
        }
        end.connection.handle_segment(self.now, &segment.packet, &segment.payload);
    }

    fn transmit(&mut self) {
        for from in 0..2 {
            if from == 1 && self.listens {
                continue;
            }
            let other_seed = self.ends[1 - from].seed;
            self.ends[from].work(self.now, other_seed);
            let (mut packet, mut payload) = (Packet::default(), Vec::new());
            while self.ends[from].connection.poll_transmit(self.now, &mut packet, &mut payload).is_some() {
                self.carry(1 - from, std::mem::take(&mut packet), std::mem::take(&mut payload));
            }
        }
    }

    fn carry(&mut self, to: usize, packet: Packet, payload: Vec<u8>) {
        let copies = 1 + u32::from(self.chance.uniform() < self.network.duplicates);
        for _ in 0..copies {
            if self.chance.uniform() < self.network.loss {
                continue;
            }
            let is_late = self.chance.uniform() < self.network.reorders;
            let extra = if is_late { (self.chance.uniform() * 300.0) as u64 } else { 0 };
            let at = self.now + Duration::from_millis(40 + extra);
            let (mut packet, payload) = (packet.clone(), payload.clone());
            if packet.can_be_marked() && self.chance.uniform() < self.network.marks {
                packet.mark();
            }
            self.in_transit.push(InTransit { at, to, packet, payload });
        }
    }

    /// Runs until both have ended. Returns when the second of them left everything but TIME-WAIT.
    fn run(&mut self, config: &Config) -> Instant {
        let mut done = None;
        for _ in 0..2_000_000 {
            self.transmit();
            let is_over = |end: &End| matches!(end.connection.state(), State::TimeWait | State::Closed);
            if self.ends.iter().all(is_over) {
                done.get_or_insert(self.now);
            }
            let arrival = self.in_transit.iter().map(|segment| segment.at).min();
            let ends = self.ends.iter().filter_map(End::wants_at).min();
            let Some(next) = arrival.into_iter().chain(ends).min() else { return done.unwrap_or(self.now) };
            self.now = self.now.max(next);
            if let Some(index) = self.in_transit.iter().position(|segment| segment.at <= self.now) {
                // The first put in of the earliest.
                let earliest = (0..self.in_transit.len()).min_by_key(|at| self.in_transit[*at].at);
                let segment = self.in_transit.remove(earliest.unwrap_or(index));
                self.deliver(segment, config);
            } else {
                for end in &mut self.ends {
                    end.connection.handle_deadline(self.now);
                }
            }
        }
        panic!("no end: {:?}", self.ends.each_ref().map(|end| end.connection.state()));
    }
}

/// So many.
const VARIANTS: usize = 10;

/// Variants of TCP, which may differ from end to end.
fn variants() -> [Config; VARIANTS] {
    let (sack, ts) =
        (|config| Config { sack: true, ..config }, |config| Config { timestamps: true, ..config });
    let with = |recovery, undo| Config { recovery, undo, ..config() };
    let (reno, newreno) =
        (recovery::Config::Reno(Default::default()), recovery::Config::Newreno(Default::default()));
    let scoreboard = recovery::Config::Sack(Default::default());
    let none = || undo::Config::None(Default::default());
    [
        with(reno.clone(), none()),
        ts(with(newreno.clone(), undo::Config::Eifel(Default::default()))),
        sack(ts(with(scoreboard.clone(), undo::Config::Frto(Default::default())))),
        sack(with(scoreboard, undo::Config::Dsack(Default::default()))),
        Config {
            ecn: Ecn::Classic,
            window_scaling: false,
            ..with(recovery::Config::Tahoe(Default::default()), none())
        },
        Config { receive_buffer: "300 kB".parse().unwrap(), ..sack(ts(with(newreno, none()))) },
        // Without SACK at the other end it is Linux's NewReno.
        Config { prr: true, ..sack(with(recovery::Config::Rack(Default::default()), none())) },
        Config { ecn: Ecn::Accurate, ..sack(ts(with(recovery::Config::Sack(Default::default()), none()))) },
        Config { ecn: Ecn::Accurate, ..with(recovery::Config::Newreno(Default::default()), none()) },
        Config {
            ecn: Ecn::AccurateFlags,
            prr: true,
            ..sack(with(recovery::Config::Rack(Default::default()), none()))
        },
    ]
}

fn application() -> impl Strategy<Value = Application> {
    (0..60_000_u64, 500..5000_u64, prop_oneof![Just(0), 1..400_u64], any::<bool>())
        .prop_map(|(writes, reads, every_ms, waits)| Application { writes, reads, every_ms, waits })
}

fn world(seed: u64, network: Network, applications: [Application; 2], configs: [&Config; 2]) -> World {
    let end = |which: usize| End {
        connection: Connection::connect(configs[which], limits(), 0xffff_f000, Instant::ZERO),
        application: applications[which],
        written: 0,
        read: 0,
        reads_at: Instant::ZERO,
        seed: seed + which as u64,
    };
    World {
        now: Instant::ZERO,
        ends: [end(0), end(1)],
        in_transit: Vec::new(),
        network,
        chance: stream(seed, "network"),
        listens: true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_and_both_ends_close(
        seed: u64,
        (loss, duplicates, reorders) in (0.0..0.2, 0.0..0.2, 0.0..0.4),
        mut applications in (application(), application()),
        (one, other) in (0..VARIANTS, 0..VARIANTS),
        simultaneous in prop::bool::weighted(0.2),
    ) {
        // If both wait for the other to close, they wait for ever.
        applications.1.waits &= !applications.0.waits;
        let applications = [applications.0, applications.1];
        let variants = variants();
        let network = Network { loss, duplicates, reorders, marks: 0.2 };
        let mut world = world(seed >> 1, network, applications, [&variants[one], &variants[other]]);
        world.listens = !simultaneous;
        let done = world.run(&variants[other]);
        for (end, peer) in [(0, 1), (1, 0)] {
            prop_assert_eq!(world.ends[end].connection.ended(), Some(Ended::Closed));
            prop_assert_eq!(world.ends[end].read, applications[peer].writes);
            prop_assert_eq!(world.ends[end].connection.deadline(), None);
        }
        prop_assert!(done.as_secs_f64() < 3600.0, "{:?}", done);
    }

    /// With accurate ECN, of data one way: segments of data the other way may have no room for the option.
    #[test]
    fn the_sender_knows_in_the_end_what_has_arrived_with_which_mark(
        seed: u64,
        (loss, duplicates, reorders, marks) in (0.0..0.2, 0.0..0.2, 0.0..0.4, 0.0..1.0),
        sends in application(),
        (one, other) in (7..9_usize, 7..9_usize),
    ) {
        let sends = Application { waits: false, ..sends };
        let applications = [sends, Application { writes: 0, waits: true, ..sends }];
        let variants = variants();
        let network = Network { loss, duplicates, reorders, marks };
        let mut world = world(seed >> 1, network, applications, [&variants[one], &variants[other]]);
        world.run(&variants[other]);
        let [sender, receiver] = world.ends.each_ref().map(|end| end.connection.duplex().unwrap());
        let told = sender.sender().ecn().unwrap().accurate.unwrap().sender;
        let counted = receiver.receiver().ecn_counts().unwrap();
        prop_assert_eq!(Counts { ce_packets: 0, ..told }, Counts { ce_packets: 0, ..counted });
        // Three bits agree, whatever they have been taken for.
        prop_assert_eq!(told.ce_packets % 8, counted.ce_packets % 8);
    }

    #[test]
    fn no_segment_breaks_an_open_connection(
        seed: u64,
        segments in prop::collection::vec(
            (any::<u16>(), -3000..30_000_i64, -3000..30_000_i64, 0..1500_usize, any::<u16>(), any::<u32>()), 0..60),
    ) {
        let mut bench = super::bench::Bench::established();
        let mut chance = stream(seed, "calls");
        bench.write(0, 5000);
        for (flags, seq, ack, len, window, ts_val) in segments {
            let mut packet = bench.packet("A 1 ack 1");
            // Few with SYN or RST: they end it.
            let flags = if chance.uniform() < 0.9 { flags & !6 | 16 } else { flags };
            packet.flags = Flags(flags & 0x1ff);
            packet.seq = packet.seq.wrapping_add(seq as u32);
            packet.ack = packet.ack.wrapping_add(ack as u32);
            (packet.window, packet.ts_val, packet.payload) = (window, ts_val, len as u32);
            bench.connection.handle_segment(bench.now, &packet, &vec![0; len]);
            let mut out = (Packet::default(), Vec::new());
            let mut count = 0;
            while bench.connection.poll_transmit(bench.now, &mut out.0, &mut out.1).is_some() {
                count += 1;
                prop_assert!(count < 1000);
            }
            match chance.next_u64() % 6 {
                0 => { bench.read_all(); }
                1 => { bench.write(0, 100); }
                2 if chance.uniform() < 0.1 => bench.connection.shutdown(bench.now),
                3 if chance.uniform() < 0.05 => bench.connection.close(bench.now),
                4 => {
                    bench.now += Duration::from_millis(chance.next_u64() % 3000);
                    bench.connection.handle_deadline(bench.now);
                }
                _ => {}
            }
        }
    }
}

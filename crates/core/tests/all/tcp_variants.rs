//! Every loss recovery with every undo over paths that lose, delay and reorder at random: the data arrives complete,
//! and none is sent beyond the receiver's window.

use airpath_core::packet::Packet;
use airpath_core::tcp::handshake::Role;
use airpath_core::tcp::recovery::{self, newreno};
use airpath_core::tcp::{Config, Receiver, Sender};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A sender and a receiver, and the segments in flight between them.
struct Pair {
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    window: u64,
    /// By arrival, then in the order of sending; whether it goes to the receiver.
    in_transit: BTreeMap<(Instant, u64), (bool, Packet)>,
    count: u64,
    outcome: Outcome,
    /// Bytes that the receiver's application has got.
    delivered: u64,
}

/// What becomes of a packet sent now, to the receiver or not: copies of it, each with its delay.
type Outcome = Box<dyn FnMut(Instant, &Packet, bool) -> Vec<Duration>>;

impl Pair {
    fn new(config: &Config, size: u64, outcome: Outcome) -> Self {
        config.validate().unwrap();
        let mut pair = Self {
            now: Instant::ZERO,
            sender: Sender::new(config, Role::Passive),
            receiver: Receiver::new(config, Role::Active),
            window: config.largest_window(),
            in_transit: BTreeMap::new(),
            count: 0,
            outcome,
            delivered: 0,
        };
        pair.sender.open();
        pair.sender.supply(size);
        pair.receiver.open();
        pair.drain();
        pair
    }

    fn put(&mut self, to_receiver: bool, packet: &Packet) {
        for delay in (self.outcome)(self.now, packet, to_receiver) {
            self.count += 1;
            self.in_transit.insert((self.now + delay, self.count), (to_receiver, packet.clone()));
        }
        self.count += 1;
    }

    fn drain(&mut self) {
        let mut bound = 0;
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            let mut packet = Packet::default();
            self.sender.write(self.now, &transmit, &mut packet);
            let state = self.sender.state();
            assert!(transmit.seq + u64::from(transmit.len) <= state.una + self.window, "beyond the window");
            self.put(true, &packet);
            bound += 1;
            assert!(bound < 1000, "it sends without end");
        }
        while let Some(cause) = self.receiver.poll_transmit(self.now) {
            let mut packet = Packet::default();
            self.receiver.write(self.now, cause, &mut packet);
            self.put(false, &packet);
        }
    }

    /// Runs until all is acknowledged.
    fn run(&mut self) {
        for _ in 0..200_000 {
            if self.sender.is_done() {
                return;
            }
            let arrival = self.in_transit.keys().next().map(|key| key.0);
            let deadlines = [arrival, self.sender.deadline(), self.receiver.deadline()];
            let next = deadlines.into_iter().flatten().min().expect("nothing will ever happen");
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, (to_receiver, packet)) = self.in_transit.pop_first().unwrap();
                if to_receiver {
                    let before = self.receiver.rcv_nxt();
                    self.receiver.handle_segment(self.now, &packet);
                    self.delivered += self.receiver.rcv_nxt() - before;
                } else {
                    self.sender.handle_segment(self.now, &packet);
                }
            } else if self.sender.deadline() == Some(next) {
                self.sender.handle_deadline(self.now);
            } else {
                self.receiver.handle_deadline(self.now);
            }
            self.drain();
        }
        panic!("it does not end: {:?}", self.sender.state());
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A configuration from TOML over segments of 1000 B.
fn config(recovery: &str, undo: &str, more: &str) -> Config {
    let text = format!(
        "mss = \"1012 B\"\nhandshake = \"none\"\ntimestamps = true\nsack = true\n\
         recovery.{recovery} = {{}}\nundo.{undo} = {{}}\n{more}"
    );
    toml::from_str(&text).unwrap()
}

/// What always holds between loss episodes and what they are made of.
fn check_loss_episodes(sender: &Sender) {
    let (episodes, counters) = (sender.state().losses.report(), sender.counters());
    let case = format!("{episodes:?}, {counters:?}");
    assert_eq!(episodes.events, episodes.single + episodes.double + episodes.timeout, "{case}");
    // TD = N(p1 + 2 p2 + ...): more only by those of episodes of more than two, or with a timeout.
    assert!(counters.fast_retransmits >= episodes.single + 2 * episodes.double, "{case}");
    if episodes.double + episodes.timeout == 0 {
        assert_eq!(counters.fast_retransmits, episodes.single, "{case}");
    }
    // TO = N p3: further timeouts only by backing off or repeating.
    assert!(counters.timeouts >= episodes.timeout, "{case}");
    assert_eq!(counters.timeouts == 0, episodes.timeout == 0, "{case}");
    assert!(episodes.undone <= counters.spurious_timeouts + counters.spurious_fast_retransmits, "{case}");
    assert!(episodes.undone <= episodes.events, "{case}");
    assert_eq!(episodes.mean_timeout_s.is_some(), episodes.timeout > 0, "{case}");
    assert_eq!(episodes.mean_timeout_wait_s.is_some(), episodes.timeout > 0, "{case}");
    let window = episodes.max_window_rms_segments;
    assert!(window.map_or(episodes.events == 0, |window| window >= 1.0), "{case}");
}

const RECOVERIES: [&str; 5] = ["reno", "newreno", "sack", "tahoe", "rack"];
const UNDOS: [&str; 5] = ["none", "dsack", "eifel", "frto", "linux"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn everything_arrives_once_whatever_happens_to_packets(
        name in prop::sample::select(&RECOVERIES[..]),
        undo in prop::sample::select(&UNDOS[..]),
        sack: bool,
        multiple_fast_retransmits: bool,
        prr: bool,
        as_linux: bool,
        pacing: bool,
        model in prop::sample::select(&["none", "bbr", "bbr3"][..]),
        outcomes in prop::collection::vec((0..100_u32, 0..3000_u64), 1..400),
        often in 0..25_u32,
        buffer in prop::sample::select(&[4_000_u64, 20_000, 65_535][..]),
        segments in 1..120_u64,
    ) {
        let mut config = config(name, undo, "");
        let by_scoreboard = name == "sack" || name == "rack";
        config.sack = sack || by_scoreboard || undo == "dsack";
        config.prr = prr && (by_scoreboard || name == "newreno");
        if as_linux {
            if name == "newreno" {
                config.recovery = recovery::Config::Newreno(newreno::Config::linux());
            }
            config.cc = toml::from_str::<Config>("cc.cubic = { hystart = \"linux\", variant = \"linux\" }").unwrap().cc;
            config.rto.timer = airpath_core::tcp::rto::Timer::Linux;
            (config.quickack, config.delayed_ack) = (16, airpath_core::tcp::Delay::Linux);
            config.receive_buffer_max = Some(Bytes::from_bytes(2 * buffer));
        }
        config.pacing = pacing;
        if name == "rack" && model != "none" {
            config.cc = toml::from_str::<Config>(&format!("cc.{model} = {{}}")).unwrap().cc;
        }
        config.receive_buffer = Bytes::from_bytes(buffer);
        config.multiple_fast_retransmits = multiple_fast_retransmits;
        let size = segments * 1000 - 1;
        let mut nth = 0;
        let outcome = move |_: Instant, _: &Packet, _: bool| {
            nth += 1;
            // After a while the path behaves, so that the transfer ends.
            let Some((chance, extra)) = outcomes.get(nth) else { return vec![ms(50)] };
            match *chance {
                chance if chance < often => vec![],
                chance if chance < 2 * often => vec![ms(50 + extra)],
                chance if chance < 2 * often + 3 => vec![ms(50), ms(50 + extra)],
                _ => vec![ms(50)],
            }
        };
        let mut pair = Pair::new(&config, size, Box::new(outcome));
        pair.run();
        prop_assert_eq!((pair.delivered, pair.receiver.rcv_nxt()), (size, size));
        check_loss_episodes(&pair.sender);
    }

    #[test]
    fn with_sack_five_losses_in_a_window_need_no_timeout(
        lost in prop::collection::btree_set(80..120_u32, 1..6),
        recovery in prop::sample::select(vec!["sack", "rack"]),
        prr: bool,
    ) {
        let config = config(recovery, "none", &format!("max_window = 40\nprr = {prr}\n"));
        // The first transmission of these segments; two round trips in slow start make a window of 40.
        let mut lost: BTreeSet<u32> = lost.into_iter().map(|segment| 1 + segment * 1000).collect();
        let outcome = move |_: Instant, packet: &Packet, to_receiver: bool| {
            if to_receiver && lost.remove(&packet.seq) { vec![] } else { vec![ms(50)] }
        };
        let mut pair = Pair::new(&config, 200_000, Box::new(outcome));
        pair.run();
        prop_assert_eq!(pair.sender.counters().timeouts, 0);
        prop_assert!(pair.sender.counters().retransmissions() >= 1);
    }
}

/// The path stands still for three seconds: a timeout, but no loss. Each undo notices, whatever the recovery;
/// the ones that notice before going back send only the one segment again.
#[test]
fn a_sudden_delay_is_no_loss() {
    let (start, end) = (Instant::ZERO + ms(1000), Instant::ZERO + ms(4000));
    for recovery in RECOVERIES {
        let undos = [("none", 0, 20), ("dsack", 1, 20), ("eifel", 1, 2), ("frto", 1, 2), ("linux", 1, 2)];
        for (undo, spurious, most) in undos {
            let mut last = Instant::ZERO;
            let outcome = move |now: Instant, _: &Packet, to_receiver: bool| {
                if !to_receiver {
                    return vec![ms(50)];
                }
                let free = if now >= start && now < end { end } else { now };
                last = (free + ms(50)).max(last + ms(1));
                vec![last.since(now)]
            };
            let mut pair =
                Pair::new(&config(recovery, undo, "max_window = 15\n"), 300_000, Box::new(outcome));
            pair.run();
            let counters = pair.sender.counters();
            let case = format!("{recovery}, {undo}: {counters:?}");
            assert!(counters.timeouts >= 1 && counters.fast_retransmits <= 1, "{case}");
            assert_eq!(counters.spurious_timeouts, spurious, "{case}");
            assert!(counters.retransmissions() <= most, "{case}");
            let episodes = pair.sender.state().losses.report();
            assert_eq!((episodes.timeout >= 1, episodes.undone), (true, spurious), "{case}, {episodes:?}");
        }
    }
}

//! Timelines of `rlc.fixed_delay_arq`: transmissions and deliveries of SDUs.
//!
//! Every expected instant is derived by hand in the comment above it. A line of a timeline is one slot,
//! `start-end` in ms, with the PDUs sent and lost, the SDUs that start in it, those handed up at its end
//! (with their time in the buffer, in ms) and those given up.

use airpath_core::channel::Channel;
use airpath_core::packet::Packet;
use airpath_core::rlc::Errors;
use airpath_core::rlc::fixed_delay_arq::{Config, Delivery, Requeue, Slots, Tie};
use airpath_core::rlc::{self, Rlc, Slot, SlotReport};
use airpath_core::rng::{self, Threshold};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::{Bitrate, Bytes, Probability};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Loses the transmissions with these numbers, counted from 1 in the order in which they end.
struct Losses {
    lost: BTreeSet<u32>,
    asked: u32,
}

impl Losses {
    fn of(lost: &[u32]) -> Self {
        Self { lost: lost.iter().copied().collect(), asked: 0 }
    }
}

impl Channel for Losses {
    fn block_lost(&mut self, _now: Instant) -> bool {
        self.asked += 1;
        self.lost.contains(&self.asked)
    }
}

/// A slot as seen from outside. SDUs are named by number.
#[derive(Debug, Default)]
struct Seen {
    start: Instant,
    end: Instant,
    sent: u32,
    lost: u32,
    starts: Vec<u32>,
    up: Vec<(u32, Duration)>,
    given_up: Vec<u32>,
}

/// Sends SDUs of these (arrival, length) and runs until nothing is left to do. What a cell does: the
/// end of a slot comes before an SDU that arrives at the same instant.
fn drive(
    config: &Config,
    rate: Bitrate,
    sdus: &[(Instant, u32)],
    channel: &mut dyn Channel,
    seed: u64,
) -> Vec<Seen> {
    let built = rlc::Config::FixedDelayArq(config.clone()).build(rate, rng::stream(seed, "rlc"));
    let mut bearer = Bearer { rlc: built.unwrap(), on_air: None, wake: None, seen: Vec::new() };
    let mut arrivals = (0..).zip(sdus).peekable();
    loop {
        let arrival = arrivals.peek().map_or(Instant::NEVER, |(_, sdu)| sdu.0);
        match bearer.wake {
            Some(at) if at <= arrival => bearer.handle_timer(at, channel),
            _ => {
                let Some((number, &(at, len))) = arrivals.next() else { break };
                bearer.handle_sdu(at, number, len);
            }
        }
    }
    assert!(bearer.on_air.is_none());
    let end = bearer.seen.last().map_or(Instant::ZERO, |seen| seen.end) + Duration::from_secs(1);
    let idle = bearer.rlc.start_slot(end, false, &mut SlotReport::default());
    assert_eq!(idle, Slot::Idle, "something is left");
    bearer.seen
}

struct Bearer {
    rlc: Box<dyn Rlc>,
    on_air: Option<Seen>,
    wake: Option<Instant>,
    seen: Vec<Seen>,
}

impl Bearer {
    fn handle_sdu(&mut self, now: Instant, number: u32, len: u32) {
        self.rlc.handle_sdu(now, Box::new(Packet { seq: number, len, flow: 7, ..Packet::default() }));
        if self.on_air.is_none() {
            self.start_slot(now, false);
        }
    }

    fn handle_timer(&mut self, now: Instant, channel: &mut dyn Channel) {
        let ended = self.on_air.take();
        let boundary = ended.is_some();
        if let Some(mut seen) = ended {
            let mut report = SlotReport::default();
            self.rlc.end_slot(now, channel, &mut report);
            assert!(report.started.is_empty());
            (seen.sent, seen.lost) = (report.pdus_sent, report.pdus_lost);
            seen.up = report.delivered.iter().map(|(sdu, delay)| (sdu.seq, *delay)).collect();
            seen.given_up = report.discarded.iter().map(|sdu| sdu.seq).collect();
            self.seen.push(seen);
            assert!(self.seen.len() < 100_000, "it never ends");
        }
        self.start_slot(now, boundary);
    }

    fn start_slot(&mut self, now: Instant, boundary: bool) {
        let mut report = SlotReport::default();
        let slot = self.rlc.start_slot(now, boundary, &mut report);
        assert!(report.delivered.is_empty() && report.discarded.is_empty());
        let starts: Vec<u32> = report.started.iter().map(|&(_, seq, _)| seq).collect();
        self.wake = match slot {
            Slot::BusyUntil(end) => {
                self.on_air = Some(Seen { start: now, end, starts, ..Seen::default() });
                Some(end)
            }
            Slot::IdleUntil(at) => {
                assert!(starts.is_empty() && at > now, "asked to wait until {at:?} at {now:?}");
                Some(at)
            }
            Slot::Idle => None,
        };
    }
}

impl Seen {
    fn line(&self) -> String {
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let mut line =
            format!("{}-{}: {} sent", ms(self.start.as_nanos()), ms(self.end.as_nanos()), self.sent);
        if self.lost > 0 {
            line.push_str(&format!(", {} lost", self.lost));
        }
        let mut list = |what: &str, numbers: Vec<String>| {
            if !numbers.is_empty() {
                line.push_str(&format!("; {what} {}", numbers.join(" ")));
            }
        };
        list("starts", self.starts.iter().map(u32::to_string).collect());
        let up = self.up.iter().map(|(number, delay)| format!("{number} ({})", ms(delay.as_nanos())));
        list("up", up.collect());
        list("gives up", self.given_up.iter().map(u32::to_string).collect());
        line
    }
}

const KBIT_384: Bitrate = Bitrate::from_bps(384_000);
const KBIT_128: Bitrate = Bitrate::from_bps(128_000);
const KBIT_64: Bitrate = Bitrate::from_bps(64_000);

/// The timeline of SDUs (arrival in ms, length) when the transmissions numbered `lost` are lost.
fn timeline(config: &Config, rate: Bitrate, sdus: &[(u64, u32)], lost: &[u32]) -> Vec<String> {
    timeline_of_seed(config, rate, sdus, lost, 1)
}

fn timeline_of_seed(
    config: &Config,
    rate: Bitrate,
    sdus: &[(u64, u32)],
    lost: &[u32],
    seed: u64,
) -> Vec<String> {
    let sdus: Vec<_> = sdus.iter().map(|&(ms, len)| (Instant::from_nanos(ms * 1_000_000), len)).collect();
    drive(config, rate, &sdus, &mut Losses::of(lost), seed).iter().map(Seen::line).collect()
}

/// Slots of 20 ms, 60 ms until a lost block is back, SDUs handed up at once.
fn out_of_sequence() -> Config {
    Config { delivery: Delivery::OutOfSequence, ..Config::default() }
}

/// A configuration with PDUs of 40 bytes: four in a slot at 64 kbit/s.
fn small_pdus() -> Config {
    Config { pdu: Some(Bytes::from_bytes(40)), ..out_of_sequence() }
}

/// Six SDUs that fill one block each at 384 kbit/s, all there at once.
const SIX_BLOCKS: [(u64, u32); 6] = [(0, 960); 6];

// Segmentation.

/// 384, 128 and 64 kbit/s carry 960, 320 and 160 B in 20 ms. A block takes its TTI even if it holds one
/// byte.
#[test]
fn a_block_is_what_a_tti_carries_and_takes_a_whole_tti() {
    for (rate, block) in [(KBIT_384, 960), (KBIT_128, 320), (KBIT_64, 160)] {
        for (len, slots) in [(1, 1), (block, 1), (block + 1, 2), (3 * block, 3), (3 * block + 1, 4)] {
            let lines = timeline(&out_of_sequence(), rate, &[(0, len)], &[]);
            assert_eq!(lines.len(), slots, "{len} B at {rate}");
            assert!(lines[slots - 1].ends_with(&format!("up 0 ({})", 20 * slots)));
        }
    }
}

/// 24, 8 and 4 PDUs of 40 B in a TTI, all complete at its end.
#[test]
fn pdus_of_40_bytes_share_a_slot() {
    for (rate, pdus) in [(KBIT_384, 24), (KBIT_128, 8), (KBIT_64, 4)] {
        let full = timeline(&small_pdus(), rate, &[(0, 40 * pdus)], &[]);
        assert_eq!(full, [format!("0-20: {pdus} sent; starts 0; up 0 (20)")]);
        let one_more = timeline(&small_pdus(), rate, &[(0, 40 * pdus + 1)], &[]);
        assert_eq!(one_more, [format!("0-20: {pdus} sent; starts 0"), "20-40: 1 sent; up 0 (40)".to_owned()]);
    }
}

// Concatenation.

/// SDU 0 fills the slot 0-20. SDUs 1 and 2 come meanwhile and are half a block each: together they are
/// one block, or two without concatenation.
#[test]
fn a_new_sdu_fills_the_last_block_that_was_not_sent() {
    let sdus = [(0, 960), (5, 480), (6, 480)];
    assert_eq!(
        timeline(&out_of_sequence(), KBIT_384, &sdus, &[]),
        ["0-20: 1 sent; starts 0; up 0 (20)", "20-40: 1 sent; starts 1 2; up 1 (35) 2 (34)"]
    );
    let apart = Config { concatenation: false, ..out_of_sequence() };
    assert_eq!(
        timeline(&apart, KBIT_384, &sdus, &[]),
        [
            "0-20: 1 sent; starts 0; up 0 (20)",
            "20-40: 1 sent; starts 1; up 1 (35)",
            "40-60: 1 sent; starts 2; up 2 (54)",
        ]
    );
}

/// Two packets of 1500 B: 960 | 540 + 420 | 960 | 120 octets. The second begins in the second block.
#[test]
fn a_block_may_hold_the_end_of_one_sdu_and_the_start_of_the_next() {
    assert_eq!(
        timeline(&out_of_sequence(), KBIT_384, &[(0, 1500), (0, 1500)], &[]),
        [
            "0-20: 1 sent; starts 0",
            "20-40: 1 sent; starts 1; up 0 (40)",
            "40-60: 1 sent",
            "60-80: 1 sent; up 1 (80)",
        ]
    );
}

/// Half a block has been in transmission since 0: SDU 1 no longer fits into it.
#[test]
fn a_block_on_the_air_is_closed() {
    assert_eq!(
        timeline(&out_of_sequence(), KBIT_384, &[(0, 480), (5, 480)], &[]),
        ["0-20: 1 sent; starts 0; up 0 (20)", "20-40: 1 sent; starts 1; up 1 (35)"]
    );
}

/// A seed with which a PDU that ties with a slot first misses and then catches it.
fn seed_that_misses_then_catches(probability: Probability) -> u64 {
    let catches = Threshold::from(probability);
    let wanted = |seed: &u64| {
        let mut stream = rng::stream(*seed, "rlc");
        !stream.chance(catches) && stream.chance(catches)
    };
    (0..100).find(wanted).unwrap()
}

/// Half a block each, lost in 0-20 and 20-40: back at 80 and 100. SDUs 2 and 3 keep the bearer busy
/// until 100. At 80 SDU 0 misses the slot, at 100 SDU 1 catches it and comes in front of SDU 0, which
/// is then the only block in the queue until 120. SDU 4 comes at 110 and must not join it.
#[test]
fn a_block_that_came_back_is_closed() {
    let half = Probability::new(0.5).unwrap();
    let config = Config { tie: Tie::Probability(half), ..out_of_sequence() };
    let sdus = [(0, 480), (1, 480), (60, 960), (61, 960), (110, 480)];
    assert_eq!(
        timeline_of_seed(&config, KBIT_384, &sdus, &[1, 2], seed_that_misses_then_catches(half)),
        [
            "0-20: 1 sent, 1 lost; starts 0",
            "20-40: 1 sent, 1 lost; starts 1",
            "60-80: 1 sent; starts 2; up 2 (20)",
            "80-100: 1 sent; starts 3; up 3 (39)",
            "100-120: 1 sent; up 1 (119)",
            "120-140: 1 sent; up 0 (140)",
            "140-160: 1 sent; starts 4; up 4 (50)",
        ]
    );
}

// Slots.

/// SDU 0 finds the bearer idle at 7 and SDU 2 at 61; SDU 1 waits for the end of the slot, which on the
/// grid is at 40.
#[test]
fn slots_start_at_once_or_on_the_grid() {
    let sdus = [(7, 480), (25, 480), (61, 480)];
    assert_eq!(
        timeline(&out_of_sequence(), KBIT_384, &sdus, &[]),
        [
            "7-27: 1 sent; starts 0; up 0 (20)",
            "27-47: 1 sent; starts 1; up 1 (22)",
            "61-81: 1 sent; starts 2; up 2 (20)",
        ]
    );
    let grid = Config { slots: Slots::Grid, ..out_of_sequence() };
    assert_eq!(
        timeline(&grid, KBIT_384, &sdus, &[]),
        [
            "20-40: 1 sent; starts 0; up 0 (33)",
            "40-60: 1 sent; starts 1; up 1 (35)",
            "80-100: 1 sent; starts 2; up 2 (39)",
        ]
    );
}

/// Lost in 20-40, back at 99: on the grid the next slot is 100-120.
#[test]
fn a_block_that_comes_back_waits_for_the_grid() {
    let delay = Duration::from_millis(59);
    let config = Config { slots: Slots::Grid, retransmission_delay: delay, ..out_of_sequence() };
    assert_eq!(
        timeline(&config, KBIT_384, &[(7, 960)], &[1]),
        ["20-40: 1 sent, 1 lost; starts 0", "100-120: 1 sent; up 0 (113)"]
    );
}

// Retransmission.

/// SDU 0 is lost at 20 and back at 80, the very moment a slot begins. `before`: it catches 80-100, a
/// cycle of 80 ms. It goes in front of SDUs 4 and 5, which wait.
#[test]
fn tie_before_makes_a_cycle_of_80_ms() {
    let expected = [
        "0-20: 1 sent, 1 lost; starts 0",
        "20-40: 1 sent; starts 1; up 1 (40)",
        "40-60: 1 sent; starts 2; up 2 (60)",
        "60-80: 1 sent; starts 3; up 3 (80)",
        "80-100: 1 sent; up 0 (100)",
        "100-120: 1 sent; starts 4; up 4 (120)",
        "120-140: 1 sent; starts 5; up 5 (140)",
    ];
    for tie in [Tie::Before, Tie::Probability(Probability::ONE)] {
        let config = Config { tie, ..out_of_sequence() };
        assert_eq!(timeline(&config, KBIT_384, &SIX_BLOCKS, &[1]), expected);
    }
    // Back at 79 there is no tie: the slot at 80 is caught whatever `tie` says.
    let delay = Duration::from_millis(59);
    let config = Config { retransmission_delay: delay, tie: Tie::After, ..out_of_sequence() };
    assert_eq!(timeline(&config, KBIT_384, &SIX_BLOCKS, &[1]), expected);
}

/// `after`: the slot at 80 is filled with SDU 4 already, and SDU 0 goes at 100, a cycle of 100 ms. Back
/// at 81 it does the same without a tie.
#[test]
fn tie_after_makes_a_cycle_of_100_ms() {
    let expected = [
        "0-20: 1 sent, 1 lost; starts 0",
        "20-40: 1 sent; starts 1; up 1 (40)",
        "40-60: 1 sent; starts 2; up 2 (60)",
        "60-80: 1 sent; starts 3; up 3 (80)",
        "80-100: 1 sent; starts 4; up 4 (100)",
        "100-120: 1 sent; up 0 (120)",
        "120-140: 1 sent; starts 5; up 5 (140)",
    ];
    for tie in [Tie::After, Tie::Probability(Probability::ZERO)] {
        let config = Config { tie, ..out_of_sequence() };
        assert_eq!(timeline(&config, KBIT_384, &SIX_BLOCKS, &[1]), expected);
    }
    let config = Config { retransmission_delay: Duration::from_millis(61), ..out_of_sequence() };
    assert_eq!(timeline(&config, KBIT_384, &SIX_BLOCKS, &[1]), expected);
}

/// Lost in 0-20, 80-100 and 160-180: the cycle is 80 ms each time, for nothing else is waiting.
#[test]
fn an_idle_bearer_sends_at_once_what_comes_back() {
    for tie in [Tie::Before, Tie::After] {
        let config = Config { tie, ..out_of_sequence() };
        assert_eq!(
            timeline(&config, KBIT_384, &[(0, 960)], &[1, 2, 3]),
            [
                "0-20: 1 sent, 1 lost; starts 0",
                "80-100: 1 sent, 1 lost",
                "160-180: 1 sent, 1 lost",
                "240-260: 1 sent; up 0 (260)",
            ]
        );
    }
    let config = Config { retransmission_delay: Duration::from_millis(59), ..out_of_sequence() };
    assert_eq!(
        timeline(&config, KBIT_384, &[(0, 960)], &[1]),
        ["0-20: 1 sent, 1 lost; starts 0", "79-99: 1 sent; up 0 (99)"]
    );
}

/// SDU 0 is lost at 20 and back at 80. The slot of SDU 1 ends at 80 too, and nothing else waits.
#[test]
fn a_bearer_that_falls_idle_at_a_tie_sends_at_once_what_comes_back() {
    for tie in [Tie::Before, Tie::After] {
        let config = Config { tie, ..out_of_sequence() };
        assert_eq!(
            timeline(&config, KBIT_384, &[(0, 960), (60, 960)], &[1]),
            [
                "0-20: 1 sent, 1 lost; starts 0",
                "60-80: 1 sent; starts 1; up 1 (20)",
                "80-100: 1 sent; up 0 (100)",
            ]
        );
    }
}

/// As before, with two PDUs of SDU 0: both return at 80, and both are sent at once.
#[test]
fn a_bearer_that_falls_idle_at_a_tie_sends_everything_that_comes_back() {
    for (tie, requeue) in
        [(Tie::Before, Requeue::OneByOne), (Tie::After, Requeue::OneByOne), (Tie::After, Requeue::Together)]
    {
        let config = Config { tie, requeue, ..small_pdus() };
        assert_eq!(
            timeline(&config, KBIT_64, &[(0, 80), (60, 40)], &[1, 2]),
            [
                "0-20: 2 sent, 2 lost; starts 0",
                "60-80: 1 sent; starts 1; up 1 (20)",
                "80-100: 2 sent; up 0 (100)",
            ],
            "{tie:?} {requeue:?}"
        );
    }
}

/// On the grid: SDU 0 is lost at 20 and back at 80. SDU 1 came at 70 and waits for the slot at 80,
/// though none ends there.
#[test]
fn a_tie_on_the_grid_is_one_even_where_no_slot_ends() {
    let sdus = [(0, 960), (70, 960)];
    let before = Config { slots: Slots::Grid, ..out_of_sequence() };
    assert_eq!(
        timeline(&before, KBIT_384, &sdus, &[1]),
        [
            "0-20: 1 sent, 1 lost; starts 0",
            "80-100: 1 sent; up 0 (100)",
            "100-120: 1 sent; starts 1; up 1 (50)",
        ]
    );
    let after = Config { tie: Tie::After, ..before };
    assert_eq!(
        timeline(&after, KBIT_384, &sdus, &[1]),
        [
            "0-20: 1 sent, 1 lost; starts 0",
            "80-100: 1 sent; starts 1; up 1 (30)",
            "100-120: 1 sent; up 0 (120)",
        ]
    );
}

/// SDU 0 is sent alone at 0. SDUs 1 to 4 share 20-40, and 1, 2 and 4 are lost: back at 100 together.
/// One by one each is put in front of the one before.
#[test]
fn blocks_that_come_back_together_are_reversed_or_not() {
    let sdus = [(0, 40), (1, 40), (1, 40), (1, 40), (1, 40)];
    for (requeue, order) in
        [(Requeue::OneByOne, "up 4 (119) 2 (119) 1 (119)"), (Requeue::Together, "up 1 (119) 2 (119) 4 (119)")]
    {
        let config = Config { requeue, ..small_pdus() };
        assert_eq!(
            timeline(&config, KBIT_64, &sdus, &[2, 3, 5]),
            [
                "0-20: 1 sent; starts 0; up 0 (20)".to_owned(),
                "20-40: 4 sent, 3 lost; starts 1 2 3 4; up 3 (39)".to_owned(),
                format!("100-120: 3 sent; {order}"),
            ]
        );
    }
}

/// As `a_block_that_came_back_is_closed`, but `together`: SDU 0 came back at 80 and SDU 1 at 100, not
/// at the same instant. The later goes in front, as with `one_by_one`.
#[test]
fn together_says_nothing_of_blocks_that_come_back_one_after_the_other() {
    let half = Probability::new(0.5).unwrap();
    let config = Config { tie: Tie::Probability(half), requeue: Requeue::Together, ..out_of_sequence() };
    let sdus = [(0, 480), (1, 480), (60, 960), (61, 960)];
    assert_eq!(
        timeline_of_seed(&config, KBIT_384, &sdus, &[1, 2], seed_that_misses_then_catches(half))[4..],
        ["100-120: 1 sent; up 1 (119)", "120-140: 1 sent; up 0 (140)"]
    );
}

// Errors.

/// 160 B are four PDUs. Only the third is lost at 20; it is back at 80, alone in its slot.
#[test]
fn pdus_of_a_slot_are_lost_independently() {
    assert_eq!(
        timeline(&small_pdus(), KBIT_64, &[(0, 160)], &[3]),
        ["0-20: 4 sent, 1 lost; starts 0", "80-100: 1 sent; up 0 (100)"]
    );
}

/// With one outcome per slot, the first draw is for 0-20, the second for 80-100, the third for 160-180.
#[test]
fn pdus_of_a_slot_share_its_outcome() {
    let config = Config { errors: Errors::PerTti, ..small_pdus() };
    assert_eq!(
        timeline(&config, KBIT_64, &[(0, 160)], &[1, 2]),
        ["0-20: 4 sent, 4 lost; starts 0", "80-100: 4 sent, 4 lost", "160-180: 4 sent; up 0 (180)"]
    );
}

// Delivery.

/// As with `tie_before_makes_a_cycle_of_80_ms`, but SDUs 1 to 3 wait for SDU 0 until 100.
#[test]
fn in_sequence_complete_sdus_wait_for_those_before_them() {
    assert_eq!(
        timeline(&Config::default(), KBIT_384, &SIX_BLOCKS, &[1]),
        [
            "0-20: 1 sent, 1 lost; starts 0",
            "20-40: 1 sent; starts 1",
            "40-60: 1 sent; starts 2",
            "60-80: 1 sent; starts 3",
            "80-100: 1 sent; up 0 (100) 1 (100) 2 (100) 3 (100)",
            "100-120: 1 sent; starts 4; up 4 (120)",
            "120-140: 1 sent; starts 5; up 5 (140)",
        ]
    );
}

/// 1500 B, 1500 B: the second block, shared by both, is lost at 40 and back at 100. Out of sequence
/// SDU 1 does not overtake either, for its first octets are in that block.
#[test]
fn an_sdu_is_complete_with_its_last_octet() {
    for config in [Config::default(), out_of_sequence()] {
        assert_eq!(
            timeline(&config, KBIT_384, &[(0, 1500), (0, 1500)], &[2]),
            [
                "0-20: 1 sent; starts 0",
                "20-40: 1 sent, 1 lost; starts 1",
                "40-60: 1 sent",
                "60-80: 1 sent",
                "100-120: 1 sent; up 0 (120) 1 (120)",
            ]
        );
    }
}

// Giving up.

/// SDU 0 has two blocks. The first is lost for good at 20: the second is not sent any more.
#[test]
fn an_sdu_that_is_given_up_takes_its_other_blocks_along() {
    let config = Config { max_transmissions: Some(1), ..out_of_sequence() };
    assert_eq!(
        timeline(&config, KBIT_384, &[(0, 1920), (0, 960)], &[1]),
        ["0-20: 1 sent, 1 lost; starts 0; gives up 0", "20-40: 1 sent; starts 1; up 1 (40)"]
    );
}

/// Two transmissions: lost at 20 and at 100. In sequence SDU 1 has waited since 40 and goes up the
/// moment SDU 0 is given up.
#[test]
fn the_last_transmission_decides_and_frees_those_that_waited() {
    let config = Config { max_transmissions: Some(2), ..Config::default() };
    assert_eq!(
        timeline(&config, KBIT_384, &[(0, 960), (0, 960)], &[1, 3]),
        [
            "0-20: 1 sent, 1 lost; starts 0",
            "20-40: 1 sent; starts 1",
            "80-100: 1 sent, 1 lost; up 1 (100); gives up 0",
        ]
    );
    // Lost once only, it arrives.
    assert_eq!(
        timeline(&config, KBIT_384, &[(0, 960), (0, 960)], &[1])[2],
        "80-100: 1 sent; up 0 (100) 1 (100)"
    );
}

/// Three packets of 1500 B: blocks 0 | 0+1 | 1 | 1+2 | 2. Only SDU 0 has octets in the first block; the
/// second is sent for the sake of SDU 1.
#[test]
fn a_block_that_another_sdu_needs_is_still_sent() {
    let config = Config { max_transmissions: Some(1), ..out_of_sequence() };
    let sdus = [(0, 1500), (0, 1500), (0, 1500)];
    assert_eq!(
        timeline(&config, KBIT_384, &sdus, &[1]),
        [
            "0-20: 1 sent, 1 lost; starts 0; gives up 0",
            "20-40: 1 sent; starts 1",
            "40-60: 1 sent",
            "60-80: 1 sent; starts 2; up 1 (80)",
            "80-100: 1 sent; up 2 (100)",
        ]
    );
}

/// The same blocks, and the second is lost for good at 40: SDUs 0 and 1 both have octets in it. The third block holds
/// only SDU 1 and is dropped; the fourth holds the start of SDU 2 and stays.
#[test]
fn a_lost_block_costs_every_sdu_in_it() {
    for delivery in [Delivery::OutOfSequence, Delivery::InSequence] {
        let config = Config { max_transmissions: Some(1), delivery, ..Config::default() };
        assert_eq!(
            timeline(&config, KBIT_384, &[(0, 1500), (0, 1500), (0, 1500)], &[2]),
            [
                "0-20: 1 sent; starts 0",
                "20-40: 1 sent, 1 lost; starts 1; gives up 0 1",
                "40-60: 1 sent; starts 2",
                "60-80: 1 sent; up 2 (80)",
            ]
        );
    }
}

/// SDU 0 of 20 PDUs, four in a slot. The first is lost at 20 and again at 100: the SDU is given up. The 17th was in the
/// slot 80-100 too and lost for the first time: it is not retransmitted, as the receiver does not need it. Nor is the
/// 20th, which was never sent.
#[test]
fn nothing_is_sent_for_an_sdu_that_was_given_up() {
    let config = Config { max_transmissions: Some(2), ..small_pdus() };
    let expected = [
        "0-20: 4 sent, 1 lost; starts 0",
        "20-40: 4 sent",
        "40-60: 4 sent",
        "60-80: 4 sent",
        "80-100: 4 sent, 2 lost; gives up 0",
    ];
    assert_eq!(timeline(&config, KBIT_64, &[(0, 800)], &[1, 17, 18]), expected);

    // One transmission more: the two come back together at 160, the 17th now in front. It is lost at 180 for the second
    // time, the first for the third: the retransmission of the 17th, already scheduled, is cancelled.
    let one_more = Config { max_transmissions: Some(3), ..config };
    assert_eq!(
        timeline(&one_more, KBIT_64, &[(0, 800)], &[1, 17, 18, 22, 23])[4..],
        ["80-100: 4 sent, 2 lost", "100-120: 1 sent", "160-180: 2 sent, 2 lost; gives up 0"]
    );
}

// Whatever happens.

fn config_and_rate() -> impl Strategy<Value = (Config, Bitrate)> {
    let tie = prop_oneof![
        Just(Tie::Before),
        Just(Tie::After),
        (0.0..=1.0_f64).prop_map(|p| Tie::Probability(Probability::new(p).unwrap())),
    ];
    let ms = |choices: &'static [u64]| prop::sample::select(choices).prop_map(Duration::from_millis);
    let pdu = prop::option::of(prop::sample::select(&[20_u64, 40, 80][..]).prop_map(Bytes::from_bytes));
    let choices = (
        prop::sample::select(&[Delivery::InSequence, Delivery::OutOfSequence][..]),
        prop::sample::select(&[Requeue::OneByOne, Requeue::Together][..]),
        prop::sample::select(&[Slots::BackToBack, Slots::Grid][..]),
        prop::sample::select(&[Errors::PerPdu, Errors::PerTti][..]),
        prop::option::of(1..5_u32),
        any::<bool>(),
    );
    let rate = prop::sample::select(&[KBIT_64, KBIT_128, KBIT_384][..]);
    (ms(&[10, 20, 40]), pdu, ms(&[0, 7, 20, 40, 59, 60, 61, 200]), tie, choices, rate).prop_map(
        |(tti, pdu, retransmission_delay, tie, choices, rate)| {
            let (delivery, requeue, slots, errors, max_transmissions, concatenation) = choices;
            let config = Config {
                tti,
                pdu,
                retransmission_delay,
                tie,
                delivery,
                requeue,
                max_transmissions,
                concatenation,
                slots,
                errors,
            };
            (config, rate)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_sdu_comes_out_once_or_is_given_up_once(
        (config, rate) in config_and_rate(),
        gaps_and_lens in prop::collection::vec((prop_oneof![Just(0), 0..100_000_u64], 1..=3000_u32), 1..30),
        outcomes in prop::collection::vec(any::<bool>(), 0..300),
        seed: u64,
    ) {
        let mut clock = Instant::ZERO;
        let mut sdus = Vec::new();
        for (gap_us, len) in gaps_and_lens {
            clock += Duration::from_nanos(1_000 * gap_us);
            sdus.push((clock, len));
        }
        let lost: Vec<u32> = (1..).zip(&outcomes).filter(|(_, lost)| **lost).map(|(n, _)| n).collect();
        let mut channel = Losses::of(&lost);
        let seen = drive(&config, rate, &sdus, &mut channel, seed);

        let up: Vec<u32> = seen.iter().flat_map(|slot| slot.up.iter().map(|up| up.0)).collect();
        let given_up: Vec<u32> = seen.iter().flat_map(|slot| slot.given_up.clone()).collect();
        let started: Vec<u32> = seen.iter().flat_map(|slot| slot.starts.clone()).collect();

        // Each SDU starts once, in order, and ends once.
        let everything: Vec<u32> = (0..sdus.len() as u32).collect();
        let mut ended = [up.clone(), given_up.clone()].concat();
        ended.sort_unstable();
        prop_assert_eq!(&ended, &everything);
        prop_assert_eq!(&started, &everything);
        if config.delivery == Delivery::InSequence {
            prop_assert!(up.is_sorted());
        }
        let started_at = |number: u32| seen.iter().position(|slot| slot.starts.contains(&number)).unwrap();
        for (index, slot) in seen.iter().enumerate() {
            for &(number, delay) in &slot.up {
                prop_assert!(started_at(number) <= index);
                prop_assert_eq!(delay, slot.end.since(sdus[number as usize].0));
            }
            for &number in &slot.given_up {
                prop_assert!(started_at(number) <= index);
            }
            for &number in &slot.starts {
                prop_assert!(slot.start >= sdus[number as usize].0);
            }
        }

        // Slots last one TTI, do not overlap, keep the grid and are neither empty nor too full.
        let tti_bytes = config.tti_bytes(rate);
        let pdu = config.pdu.map_or(tti_bytes, Bytes::as_u64);
        for slot in &seen {
            prop_assert_eq!(slot.end, slot.start + config.tti);
            prop_assert!(slot.sent >= 1 && u64::from(slot.sent) <= tti_bytes / pdu);
            prop_assert!(slot.lost <= slot.sent);
            prop_assert!(config.errors == Errors::PerPdu || slot.lost == 0 || slot.lost == slot.sent);
            let on_grid = slot.start.as_nanos().is_multiple_of(config.tti.as_nanos());
            prop_assert!(config.slots == Slots::BackToBack || on_grid);
        }
        prop_assert!(seen.windows(2).all(|pair| pair[0].end <= pair[1].start));

        // The channel was evaluated once per PDU or slot.
        let sent: u32 = seen.iter().map(|slot| slot.sent).sum();
        let failed: u32 = seen.iter().map(|slot| slot.lost).sum();
        let draws = if config.errors == Errors::PerPdu { sent } else { seen.len() as u32 };
        prop_assert_eq!(channel.asked, draws);
        if config.errors == Errors::PerPdu {
            prop_assert_eq!(failed as usize, lost.iter().filter(|n| **n <= draws).count());
        }

        // If no SDU is discarded, the PDUs received are exactly those that the octets fill.
        let arrived = u64::from(sent - failed);
        let blocks = |octets: u64| octets.div_ceil(pdu);
        let one_by_one: u64 = sdus.iter().map(|&(_, len)| blocks(u64::from(len))).sum();
        let packed = blocks(sdus.iter().map(|&(_, len)| u64::from(len)).sum());
        match config.max_transmissions {
            Some(limit) => {
                prop_assert!(given_up.is_empty() || failed >= limit);
                prop_assert!(arrived <= one_by_one);
                let needed = up.iter().map(|&n| u64::from(sdus[n as usize].1)).sum();
                prop_assert!(arrived >= blocks(needed));
            }
            None => prop_assert!(given_up.is_empty() && (packed..=one_by_one).contains(&arrived)),
        }
        if !config.concatenation && given_up.is_empty() {
            prop_assert_eq!(arrived, one_by_one);
        }
    }
}

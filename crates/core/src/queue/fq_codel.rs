//! FQ-CoDel: each flow has its own queue under CoDel. Queues are served in turn by bytes; queues of flows that have
//! just started sending come first.
//!
//! RFC 8290. A flow's queue follows from a salted hash, so that two flows may share one. In each turn a queue may send
//! `quantum` bytes:
//!
//! ```text
//! a packet comes to an empty queue in no list:  the queue goes to the end of the new ones, deficit = quantum
//! over the limit:                               from the head of the fattest queue half of it goes, at most 64 packets
//!
//! next: the first of the new queues, or else of the old ones
//!     deficit <= 0: deficit += quantum; it goes to the end of the old ones; next
//!     empty:        a new one goes to the end of the old ones, an old one leaves the list; next
//!     else:         CoDel chooses the packet; deficit -= its length
//! ```
//!
//! ASSUMED: CoDel does not drop from a queue that holds no more than an MTU; Linux counts the packets of all queues
//! instead. Left out: Linux's limit on memory, which counts the size of its buffers (`bytes` counts packets), and other
//! classifiers.

use super::codel::{law, validate_law};
use super::control::{Control, LEAST_TARGET, Law};
use super::fifo::{Fifo, Limit, Waiting};
use super::{Component, Discipline, Evicted, Next, Place, Queue, Target, Verdict};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::rng;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use std::collections::{BTreeMap, VecDeque};

parameters! {
    /// A queue for each flow under CoDel, served in turn, sparse flows first: FQ-CoDel, RFC 8290.
    pub struct Config {
        /// At most this many packets wait, over all flows.
        pub packets: u32 = 10_240,
        /// At most this many bytes wait, over all flows; unlimited if absent.
        pub bytes: Option<Bytes>,
        /// Number of queues; flows with the same hash share one.
        pub flows: u32 = 1024,
        /// Bytes that a queue may send per turn.
        pub quantum: Bytes = Bytes::from_bytes(1514),
        /// Target sojourn time; "auto": at least 5 ms, and 1.5 times an MTU's time and a TTI.
        pub target: Target = Target::Time(LEAST_TARGET),
        /// Time for which they may wait longer than the target: an RTT. With target = "auto" it grows with the target.
        pub interval: Duration = Duration::from_millis(100),
        /// A queue that holds no more than this drops no packet.
        pub mtu: Bytes = Bytes::from_bytes(1500),
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = true,
    }
}

impl Component for Config {
    fn build(&self, place: &Place<'_>) -> Discipline {
        Discipline::Queue(Box::new(FqCodel {
            limit: Limit::new(Some(self.packets), self.bytes),
            flows: self.flows.into(),
            quantum: self.quantum.as_u64() as i64,
            law: law((self.target, self.interval), self.mtu, self.ecn, place),
            salt: rng::stream(place.run_seed, place.name).next_u64(),
            queues: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }))
    }

    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        (Some(self.packets), self.bytes)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.flows == 0 {
            return Err(ScenarioError::new(
                "flows",
                "a packet could wait nowhere",
                "write at least 1, such as 1024",
            ));
        }
        if self.quantum.as_u64() == 0 {
            let hint = "write the size of a packet such as \"1514 B\"";
            return Err(ScenarioError::new("quantum", "no turn would send anything", hint));
        }
        validate_law(self.target, self.interval, self.mtu)?;
        Limit::validate(Some(self.packets), self.bytes)
    }

    fn needs_line(&self) -> bool {
        true
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

/// RFC 8290 (4.1): at most this many packets go at an overflow.
const MOST_DROPPED: u32 = 64;

struct FqCodel {
    limit: Limit,
    flows: u64,
    quantum: i64,
    law: Law,
    salt: u64,
    /// Queues of all flows so far.
    queues: BTreeMap<u64, FlowQueue>,
    new: VecDeque<u64>,
    old: VecDeque<u64>,
    /// Packets in all queues.
    packets: u32,
    bytes: u64,
}

#[derive(Default)]
struct FlowQueue {
    fifo: Fifo,
    control: Control,
    /// Bytes that it may send in its turn.
    deficit: i64,
    is_listed: bool,
}

impl FqCodel {
    fn queue_of(&self, packet: &Packet) -> u64 {
        rng::mix(self.salt ^ (u64::from(packet.ue) << 16 | u64::from(packet.flow))) % self.flows
    }

    /// Drops from the head of the fattest queue.
    #[cold]
    fn make_room(&mut self, evicted: &mut Evicted) {
        let mut fattest: Option<&mut FlowQueue> = None;
        for queue in self.queues.values_mut() {
            if fattest.as_ref().is_none_or(|fattest| queue.fifo.bytes() > fattest.fifo.bytes()) {
                fattest = Some(queue);
            }
        }
        let Some(FlowQueue { fifo, .. }) = fattest else { return };
        let half = fifo.bytes() / 2;
        let mut dropped = 0;
        for _ in 0..MOST_DROPPED {
            let Some(first) = fifo.pop() else { break };
            dropped += u64::from(first.packet.len);
            self.packets -= 1;
            evicted.push(first.packet);
            if dropped >= half {
                break;
            }
        }
        self.bytes -= dropped;
    }
}

impl Queue for FqCodel {
    fn admit(&mut self, _now: Instant, _packet: &Packet) -> Verdict {
        Verdict::Enter
    }

    fn push(&mut self, waiting: Waiting, evicted: &mut Evicted) {
        let number = self.queue_of(&waiting.packet);
        self.packets += 1;
        self.bytes += u64::from(waiting.packet.len);
        let queue = self.queues.entry(number).or_default();
        queue.fifo.push(waiting);
        if !queue.is_listed {
            queue.is_listed = true;
            queue.deficit = self.quantum;
            self.new.push_back(number);
        }
        if !self.limit.holds(self.packets, self.bytes) {
            self.make_room(evicted);
        }
    }

    fn pop(&mut self, now: Instant, evicted: &mut Evicted) -> Option<Next> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = self.queues.get_mut(&number)?;
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let before = (queue.fifo.packets(), queue.fifo.bytes());
            let next = queue.control.pop(&self.law, now, &mut queue.fifo, evicted);
            self.packets -= before.0 - queue.fifo.packets();
            self.bytes -= before.1 - queue.fifo.bytes();
            if let Some(next) = next {
                queue.deficit -= i64::from(next.waiting.packet.len);
                return Some(next);
            }
            list.pop_front();
            if is_new {
                self.old.push_back(number);
            } else {
                queue.is_listed = false;
            }
        }
    }

    fn excuse(&mut self, wait: Duration) {
        self.law.excused = wait;
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bitrate;

    fn fq_codel(config: &Config) -> Discipline {
        let rate = Bitrate::from_bps(1_000_000);
        config.build(&Place { run_seed: 1, name: "queue", rate, tti: Duration::ZERO })
    }

    /// Packets (flow, length) arrive at once. Returns the flows of the packets that leave at once, and of those dropped
    /// for lack of room.
    fn serve(config: &Config, packets: &[(u16, u32)]) -> (Vec<u16>, Vec<u16>) {
        let mut discipline = fq_codel(config);
        let queue = discipline.queue().unwrap();
        let mut evicted = Vec::new();
        for (number, (flow, len)) in (0..).zip(packets) {
            let packet = Box::new(Packet { flow: *flow, len: *len, ..Packet::default() });
            queue.push(Waiting { number, entered: Instant::ZERO, packet }, &mut evicted);
        }
        let dropped = evicted.drain(..).map(|packet| packet.flow).collect();
        let left = std::iter::from_fn(|| queue.pop(Instant::ZERO, &mut evicted));
        let left = left.map(|next| next.waiting.packet.flow).collect();
        assert_eq!(queue.bytes(), 0);
        (left, dropped)
    }

    /// By hand: A uses its quantum up and queues after B and C, which are new; then the turns of the old ones.
    #[test]
    fn new_flows_come_first_and_old_ones_in_turn() {
        let config = Config { quantum: Bytes::from_bytes(1500), ..Config::default() };
        let (a, b, c) = (0, 1, 2);
        let packets = [(a, 1500), (a, 1500), (a, 1500), (b, 500), (b, 500), (b, 500), (c, 100)];
        assert_eq!(serve(&config, &packets).0, [a, b, b, b, c, a, a]);
    }

    /// By hand, as in ns-3's own test: 90 - 120 = -30; + 90 - 120 = -60; + 90 - 120 = -90; + 90 + 90 - 120 = -30.
    #[test]
    fn the_deficit_is_carried_into_the_next_turn() {
        let config = Config { quantum: Bytes::from_bytes(90), ..Config::default() };
        let limit = Limit::new(Some(config.packets), None);
        let place = Place { run_seed: 1, name: "q", rate: Bitrate::from_bps(1), tti: Duration::ZERO };
        let law = law((config.target, config.interval), config.mtu, config.ecn, &place);
        let (queues, new, old) = Default::default();
        let mut fq =
            FqCodel { limit, flows: 1024, quantum: 90, law, salt: 7, queues, new, old, packets: 0, bytes: 0 };
        for number in 0..5 {
            let packet = Box::new(Packet { len: 120, ..Packet::default() });
            fq.push(Waiting { number, entered: Instant::ZERO, packet }, &mut Vec::new());
        }
        let deficit = |of: &FqCodel| of.queues.values().next().unwrap().deficit;
        assert_eq!(deficit(&fq), 90);
        let deficits = [(); 4].map(|()| {
            fq.pop(Instant::ZERO, &mut Vec::new()).unwrap();
            deficit(&fq)
        });
        assert_eq!(deficits, [-30, -60, -90, -30]);
    }

    /// A queue of 10 packets and the newcomer: half of the fattest goes, from its head.
    #[test]
    fn an_overflow_takes_half_of_the_fattest_queue() {
        let config = Config { packets: 10, ..Config::default() };
        let mut packets = vec![(0, 1000); 7];
        packets.extend([(1, 100); 4]);
        let (left, dropped) = serve(&config, &packets);
        // Seven packets of 1000 bytes: four reach half of the bytes.
        assert_eq!(dropped, [0; 4]);
        let count = |flow| left.iter().filter(|other| **other == flow).count();
        assert_eq!((count(0), count(1)), (3, 4));
        // At most 64 go of however many.
        let long = Config { packets: 200, ..Config::default() };
        assert_eq!(serve(&long, &[(0, 1000); 201]).1.len(), 64);
    }

    #[test]
    fn each_queue_has_its_own_control() {
        let quantum = Bytes::from_bytes(1500);
        let mut discipline = fq_codel(&Config { quantum, ecn: false, ..Config::default() });
        let queue = discipline.queue().unwrap();
        let mut evicted = Vec::new();
        for number in 0..40 {
            let packet = Box::new(Packet { len: 1500, ..Packet::default() });
            queue.push(Waiting { number, entered: Instant::ZERO, packet }, &mut evicted);
        }
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        queue.pop(at(10), &mut evicted);
        // Another flow's packet arrives and leaves when the first flow's packets are about to be dropped.
        let packet = Box::new(Packet { flow: 1, len: 100, ..Packet::default() });
        queue.push(Waiting { number: 40, entered: at(115), packet }, &mut evicted);
        let next = queue.pop(at(120), &mut evicted).unwrap();
        assert_eq!((next.waiting.packet.flow, evicted.len()), (1, 0));
        queue.pop(at(120), &mut evicted);
        assert_eq!(evicted.len(), 1);
    }
}

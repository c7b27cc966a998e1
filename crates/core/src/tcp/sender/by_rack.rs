//! The sender where RACK-TLP finds losses: what an ACK means. RFC 8985; `recovery/rack.rs` says what it is.
//! Other flows never come here. What is sent is in `rack_transmit`, timers and probes in `rack_timers`.
//!
//! Every segment has a mark, and sums of them say what is in the network. An ACK is taken in like this: marks and
//! round-trip times; whether the latest recovery was spurious; what is lost; in which phase that leaves the sender; the
//! window. `nxt` is always `max`: nothing goes back.

use super::Sender;
use super::rack_timers::{Tail, Timers};
use crate::packet::Packet;
use crate::tcp::prr::{Progress, Prr};
use crate::tcp::rack::{Losses, Rack};
use crate::tcp::scoreboard::SackNews;
use crate::tcp::state::{Fate, Phase, Segment, State};
use crate::tcp::timestamp;
use crate::tcp::undo::Verdict;
use crate::tcp::undo::response::Prior;
use crate::time::{Duration, Instant};

/// What a sender keeps for RACK-TLP.
pub(super) struct ByRack {
    pub rack: Rack,
    pub marks: Marks,
    /// No segment before this offset is marked lost.
    pub lost_from: u64,
    pub timers: Timers,
    pub tail: Tail,
    /// Proportional rate reduction is in use.
    pub uses_prr: bool,
    /// Its variables during a recovery.
    pub prr: Option<Prr>,
    /// F-RTO wants new data and nothing else: `max` when it began to.
    pub new_only: Option<u64>,
    /// The first retransmission of a recovery is to come.
    pub is_first: bool,
    /// The largest window that the receiver has offered, bytes.
    largest_window: u64,
}

/// Sums over the segments in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Bytes SACKed.
    pub sacked: u64,
    /// Segments SACKed.
    pub sacked_segments: u32,
    /// Bytes lost, whether sent again or not.
    pub lost: u64,
    /// Bytes of these that were sent again.
    pub again: u64,
}

impl Marks {
    /// The first `bytes` of a segment leave what is outstanding.
    fn remove(&mut self, segment: &Segment, bytes: u64) {
        if segment.is_sacked {
            self.sacked -= bytes;
            self.sacked_segments -= u32::from(bytes == u64::from(segment.len));
            return;
        }
        match segment.fate {
            Fate::UnderWay => {}
            Fate::Lost => self.lost -= bytes,
            Fate::SentAgain => {
                self.lost -= bytes;
                self.again -= bytes;
            }
        }
    }

    /// The same, counted anew.
    fn of(state: &State) -> Self {
        let mut marks = Self::default();
        for segment in &state.segments {
            let len = u64::from(segment.len);
            if segment.is_sacked {
                marks.sacked += len;
                marks.sacked_segments += 1;
            } else if segment.fate != Fate::UnderWay {
                marks.lost += len;
                marks.again += if segment.fate == Fate::SentAgain { len } else { 0 };
            }
        }
        marks
    }
}

/// When the segments that an ACK tells of were sent, of those sent once: the first and the last.
#[derive(Clone, Copy, Debug, Default)]
struct SentAt {
    range: Option<(Instant, Instant)>,
}

impl SentAt {
    fn add(&mut self, at: Instant) {
        self.range = Some(self.range.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
    }
}

/// After a timeout all that was lost still lies between `una` and `max`, but no more than the window is in flight: a
/// second loss lowers the window again (RFC 5681 (4.3)) and must not raise it.
pub(super) fn beyond_window(state: &State) -> u64 {
    let is_going_back = state.phase == Phase::Loss;
    if is_going_back { state.flight_size().saturating_sub(state.window.cwnd as u64) } else { 0 }
}

impl ByRack {
    pub fn new(probes_tail: bool, uses_prr: bool) -> Self {
        Self {
            rack: Rack::default(),
            marks: Marks::default(),
            lost_from: 0,
            timers: Timers::default(),
            tail: Tail::new(probes_tail),
            uses_prr,
            prr: None,
            new_only: None,
            is_first: false,
            largest_window: 0,
        }
    }

    /// Bytes thought to be in the network.
    pub fn pipe(&self, state: &State) -> u64 {
        debug_assert_eq!(self.marks, Marks::of(state));
        state.flight_size() - self.marks.sacked - self.marks.lost + self.marks.again
    }

    /// An ACK arrived that is not older than the last.
    pub fn handle_ack(&mut self, sender: &mut Sender, now: Instant, ack: u64, packet: &Packet) {
        let una = sender.state.una;
        self.largest_window = self.largest_window.max(sender.state.rwnd);
        let mut sacked_at = SentAt::default();
        self.rack.begin_ack();
        let news = self.take_sack(sender, now, ack, packet, &mut sacked_at);
        let verdict = sender.judge(ack, news.sacked > 0, news, packet);
        let advances = ack > una;
        // Before anything is acknowledged: the cut goes by what was in flight.
        self.tail_on_ack(sender, ack, advances, &news);
        let delivered = news.sacked + self.acknowledge(sender, now, ack, packet, sacked_at);
        let is_duplicate = ack == una && news.sacked > 0;
        if is_duplicate {
            sender.counters.dupacks += 1;
            sender.state.dupacks += 1;
        }
        sender.cc.on_arrival(now, &mut sender.state, ack - una);
        self.rack.on_ack(ack, sender.state.max, news.duplicate.is_some());
        self.new_only = (verdict == Verdict::Probe).then_some(sender.state.max);
        if verdict != Verdict::Spurious || !self.take_back(sender, ack - una) {
            self.leave(sender);
        }
        let found = self.detect(sender, now);
        let look_again = found.map(|losses| losses.look_again);
        let losses = found.unwrap_or_default();
        self.set_phase(sender, now, &losses, delivered);
        self.set_window(sender, delivered, advances, &losses);
        self.timers.on_ack(now, advances, look_again);
        self.set_deadline(sender, now, advances);
    }

    /// An ACK older than the last arrived. What its SACK blocks report counts all the same, as in Linux; the window
    /// stays as it is. Not if it is older than the largest window: RFC 5961 (5.2).
    pub fn handle_old_ack(&mut self, sender: &mut Sender, now: Instant, ack: u64, packet: &Packet) {
        let una = sender.state.una;
        if packet.options().sack.as_slice().is_empty() || una - ack > self.largest_window {
            return;
        }
        self.rack.begin_ack();
        let news = self.take_sack(sender, now, ack, packet, &mut SentAt::default());
        let verdict = sender.judge(una, news.sacked > 0, news, packet);
        self.rack.on_ack(una, sender.state.max, news.duplicate.is_some());
        if verdict == Verdict::Spurious {
            self.take_back(sender, 0);
        }
        let found = self.detect(sender, now);
        self.set_phase(sender, now, &found.unwrap_or_default(), news.sacked);
        self.timers.on_ack(now, false, found.map(|losses| losses.look_again));
        self.set_deadline(sender, now, false);
    }

    /// Reads SACK blocks into the scoreboard.
    fn take_sack(
        &mut self,
        sender: &mut Sender,
        now: Instant,
        ack: u64,
        packet: &Packet,
        sent_at: &mut SentAt,
    ) -> SackNews {
        let (blocks, count) = sender.sack_blocks(packet);
        let has_timestamps = packet.has_timestamps;
        let (marks, rack) = (&mut self.marks, &mut self.rack);
        sender.state.update_scoreboard_with(ack, &blocks[..count], |segment| {
            let len = u64::from(segment.len);
            let before = Segment { is_sacked: false, ..*segment };
            marks.remove(&before, len);
            marks.sacked += len;
            marks.sacked_segments += 1;
            segment.fate = Fate::UnderWay;
            if segment.transmissions == 1 {
                sent_at.add(segment.sent_at);
            }
            rack.on_delivered(now, segment, has_timestamps && is_echo_older(packet, segment));
        })
    }

    /// Takes what is acknowledged off the scoreboard, and round-trip times from it. Gives the bytes of it that had not
    /// been SACKed.
    fn acknowledge(
        &mut self,
        sender: &mut Sender,
        now: Instant,
        ack: u64,
        packet: &Packet,
        sacked_at: SentAt,
    ) -> u64 {
        let (mut delivered, mut is_ambiguous, mut sent_at) = (0, false, SentAt::default());
        let advances = ack > sender.state.una;
        let state = &mut sender.state;
        while let Some(segment) = state.segments.front_mut().filter(|segment| segment.start < ack) {
            let bytes = ack.min(segment.end()) - segment.start;
            self.marks.remove(segment, bytes);
            is_ambiguous |= segment.transmissions > 1;
            if !segment.is_sacked {
                delivered += bytes;
                if segment.transmissions == 1 {
                    sent_at.add(segment.sent_at);
                }
            }
            if segment.end() > ack {
                segment.len -= bytes as u32;
                segment.start = ack;
                break;
            }
            if !segment.is_sacked {
                let is_older = packet.has_timestamps && is_echo_older(packet, segment);
                self.rack.on_delivered(now, segment, is_older);
            }
            state.segments.pop_front();
        }
        if advances {
            state.una = ack;
            state.nxt = state.max;
            state.dupacks = 0;
        }
        sender.rto.set_flight(sender.state.segments.len());
        sender.rto.set_sent(ack, sender.state.max);
        let range = sent_at.range.filter(|_| !is_ambiguous).or(sacked_at.range);
        if let Some((first, last)) = range {
            sender.rto.on_sample(now, first);
            sender.note_sample(now.since(first), now.since(last));
        } else if advances && sender.template.has_timestamps {
            let elapsed = timestamp(now).wrapping_sub(packet.ts_ecr);
            let rtt = Duration::from_millis(elapsed.into());
            sender.rto.on_echoed_sample(rtt);
            sender.note_sample(rtt, rtt);
        }
        delivered
    }

    /// The latest recovery was spurious: the marks of losses go, and the windows are restored.
    fn take_back(&mut self, sender: &mut Sender, acked: u64) -> bool {
        if !sender.restore(acked) {
            return false;
        }
        for segment in &mut sender.state.segments {
            segment.fate = Fate::UnderWay;
        }
        (self.marks.lost, self.marks.again) = (0, 0);
        (self.prr, self.new_only) = (None, None);
        self.rack.on_undo();
        true
    }

    /// Ends a recovery of which everything is acknowledged.
    fn leave(&mut self, sender: &mut Sender) {
        let state = &mut sender.state;
        let is_over = state.recover.is_none_or(|recover| state.una >= recover);
        match state.phase {
            Phase::Recovery if is_over => {
                state.exit_recovery(state.window.ssthresh);
                self.prr = None;
                self.rack.on_recovery_end();
            }
            Phase::Loss if is_over => {
                state.phase = Phase::Open;
                self.rack.on_recovery_end();
            }
            Phase::Open | Phase::Disorder | Phase::Recovery | Phase::Loss => {}
        }
    }

    /// Marks what is lost by now, if there is news.
    pub fn detect(&mut self, sender: &mut Sender, now: Instant) -> Option<Losses> {
        let state = &mut sender.state;
        if state.phase == Phase::Open && self.marks.sacked + self.marks.lost == 0 {
            return None;
        }
        let is_certain = matches!(state.phase, Phase::Recovery | Phase::Loss)
            || self.marks.sacked_segments >= state.dupack_threshold;
        let window = self.rack.reordering_window(sender.rto.srtt(), is_certain);
        let losses = self.rack.detect(now, window, &mut state.segments)?;
        self.note(&losses);
        Some(losses)
    }

    /// Adds what was marked to the sums.
    pub fn note(&mut self, losses: &Losses) {
        self.marks.lost += losses.lost;
        self.marks.again -= losses.lost_again;
        if let Some(first) = losses.first {
            self.lost_from = self.lost_from.min(first);
        }
    }

    /// A recovery begins with a loss, and after a timeout with a retransmission that is lost.
    fn set_phase(&mut self, sender: &mut Sender, now: Instant, losses: &Losses, delivered: u64) {
        match sender.state.phase {
            Phase::Open | Phase::Disorder if self.marks.lost == 0 => {
                let is_open = self.marks.sacked == 0;
                sender.state.phase = if is_open { Phase::Open } else { Phase::Disorder };
            }
            Phase::Open | Phase::Disorder => self.enter(sender, now, delivered),
            Phase::Loss if losses.lost_again > 0 => self.enter(sender, now, delivered),
            Phase::Loss | Phase::Recovery => {}
        }
    }

    /// Fast recovery begins with an ACK that tells of `delivered` bytes: RFC 5681 (3.2), RFC 9937 (6).
    pub fn enter(&mut self, sender: &mut Sender, now: Instant, delivered: u64) {
        let prior = sender.undo.as_ref().map(|_| Prior::of(&sender.state, &sender.rto, false));
        let state = &mut sender.state;
        state.losses.on_fast_retransmit(state.cut());
        state.losses.fast_retransmit_was_at(now);
        // What was sent for what has left is not in flight beside the window.
        state.limited_bytes = self.marks.sacked.max(beyond_window(state));
        state.window.ssthresh = sender.cc.ssthresh_after_loss(state);
        state.limited_bytes = 0;
        if self.uses_prr {
            self.prr = Some(Prr::new(state.flight_size() - self.marks.sacked + delivered));
        } else {
            state.exit_recovery(state.window.ssthresh);
        }
        state.recover = Some(state.max);
        state.phase = Phase::Recovery;
        (self.is_first, self.new_only) = (true, None);
        self.tail.forget();
        if let Some(undo) = &mut sender.undo {
            sender.prior = prior;
            undo.on_loss(state, false, true);
        }
        if let Some(ecn) = &mut sender.ecn {
            ecn.on_reduction(state.max);
        }
    }

    /// What the ACK makes of the window.
    pub fn set_window(&mut self, sender: &mut Sender, delivered: u64, advances: bool, losses: &Losses) {
        if sender.state.phase == Phase::Recovery {
            let in_flight = self.pipe(&sender.state);
            let state = &mut sender.state;
            let (ssthresh, mss) = (state.window.ssthresh as u64, state.mss());
            if let Some(prr) = &mut self.prr {
                let is_safe = advances && !losses.any();
                let allowed = prr.on_ack(ssthresh, mss, Progress { delivered, in_flight, is_safe });
                state.window.cwnd = (in_flight + allowed) as f64;
            }
        } else if advances && delivered > 0 {
            sender.cc.on_ack(&mut sender.state.window, delivered);
        }
    }
}

/// Whether the ACK echoes a timestamp from before the latest transmission of a segment.
fn is_echo_older(packet: &Packet, segment: &Segment) -> bool {
    (packet.ts_ecr.wrapping_sub(timestamp(segment.sent_at)) as i32) < 0
}

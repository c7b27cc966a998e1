//! One flow of the Ack Regulator: the ACKs held, the data expected, and its mode.

use super::{Config, Count, Growth, LossSignal, Window};
use crate::element::FlowView;
use crate::middlebox::acks::{Line, Segment, is_after};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::trace::Event;
use serde_json::{Value, json};

/// `ConservativeMode` of the paper, extended for marks instead of losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// There is room for one packet more than expected.
    #[default]
    Conservative,
    /// There is no extra room: the next packet beyond the expected ones is lost.
    NonConservative,
    /// Like conservative; the next ECN-capable packet is to be marked.
    MarkDue,
    /// Like conservative; a packet has been marked, and the window has not shrunk yet.
    Marked,
}

impl Mode {
    /// Packets of room beyond those expected.
    const fn reserve(self) -> u32 {
        match self {
            Self::NonConservative => 0,
            Self::Conservative | Self::MarkDue | Self::Marked => 1,
        }
    }

    pub const fn is_conservative(self) -> bool {
        self.reserve() > 0
    }
}

/// The properties of the flow's data buffer that the box uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    /// `QueueLim`: packets that may wait.
    pub limit: u32,
    /// `QueueLength`: packets that wait.
    pub waiting: u32,
    /// Packets of the flow that wait or are in transmission on the bearer.
    pub sdus: u32,
    /// Whether other flows' packets wait in it too.
    pub is_shared: bool,
    /// Packets expected from other flows that share it.
    pub expected_of_others: u32,
}

impl Buffer {
    /// Properties of a flow's buffer; `None` if it has no limit.
    pub fn new(view: &FlowView) -> Option<Self> {
        let limit = view.limit_sdus?;
        let FlowView { sdus, waiting_sdus: waiting, is_shared, .. } = *view;
        Some(Self { limit, waiting, sdus, is_shared, expected_of_others: 0 })
    }

    /// Room for packets still to arrive because of the ACKs of one flow.
    fn room(&self) -> u32 {
        self.limit.saturating_sub(self.waiting).saturating_sub(self.expected_of_others)
    }
}

#[derive(Default)]
struct Counts {
    came: u64,
    held: u64,
    forced_idle: u64,
    forced_limit: u64,
    switches: u64,
    marked: u64,
    conservative: Duration,
    non_conservative: Duration,
    peak_ack_release_count: u32,
}

/// One flow.
#[derive(Default)]
pub(super) struct Flow {
    pub line: Line,
    pub mode: Mode,
    /// Start of the present mode.
    since: Instant,
    /// `AckReleaseCount`: packets expected from the source.
    pub ack_release_count: u32,
    /// `DataSeqNoLast`: end of the segment furthest into the stream that the buffer took.
    data_end: u32,
    /// Payload of the largest segment of data; 0 before the first.
    segment: u32,
    /// `AckSeqNoFirst`: the acknowledgment released last.
    released: u32,
    /// Its window field.
    released_window: u16,
    /// How often it was released after the first time.
    duplicates: u32,
    /// Sequence number after the FIN that follows the data.
    fin: Option<u32>,
    /// That FIN is acknowledged, or the connection is reset: no data will come.
    has_ended: bool,
    /// The data's packets can be marked.
    pub is_ect: bool,
    /// When held ACKs leave although no room was made, if nothing happens until then.
    pub idle_deadline: Option<Instant>,
    counts: Counts,
    /// The last event recorded.
    told: Option<Event>,
}

impl Flow {
    pub fn new(now: Instant) -> Self {
        Self { since: now, ..Self::default() }
    }

    /// Whether data has been seen: before, there is nothing to regulate.
    pub fn has_data(&self) -> bool {
        self.segment > 0
    }

    /// A connection starts or is reset: the state of the stream is void.
    pub fn forget(&mut self, is_reset: bool) {
        self.segment = 0;
        self.ack_release_count = 0;
        (self.fin, self.has_ended) = (None, is_reset);
    }

    /// No data will follow this segment.
    pub fn note_fin(&mut self, packet: &Packet) {
        self.fin = Some(packet.seq.wrapping_add(packet.payload + 1));
    }

    /// This acknowledgment goes to the source.
    pub fn note_released(&mut self, ack: u32) {
        if self.fin.is_some_and(|fin| !is_after(fin, ack)) {
            self.has_ended = true;
        }
    }

    /// Whether the connection is over and no segment of it is held: the packets expected from it will not arrive.
    pub fn is_over(&self) -> bool {
        self.has_ended && self.line.is_empty()
    }

    /// The buffer took a segment of data in.
    pub fn on_data(&mut self, seq: u32, end: u32) {
        let payload = end.wrapping_sub(seq);
        if !self.has_data() {
            (self.data_end, self.released, self.duplicates) = (end, seq, 0);
        } else if is_after(end, self.data_end) {
            self.data_end = end;
        }
        self.segment = self.segment.max(payload);
        self.on_expected();
    }

    /// A segment of data passes, and is marked if one must be: RFC 3168 (5).
    pub fn mark(&mut self, now: Instant, packet: &mut Packet) {
        self.is_ect = packet.ecn() != Packet::NOT_ECT;
        if self.mode != Mode::MarkDue || !self.is_ect {
            return;
        }
        packet.mark();
        self.enter(now, Mode::Marked);
    }

    /// A packet has arrived from the source, dropped or not: Figure 9, line 3.
    pub fn on_expected(&mut self) {
        self.ack_release_count = self.ack_release_count.saturating_sub(1);
    }

    /// The window of the source in segments, as estimated by the box.
    pub fn window(&self, window: Window) -> f64 {
        if !self.has_data() {
            return 0.0;
        }
        let bytes = (self.data_end.wrapping_sub(self.released) as i32).max(0);
        let outstanding = f64::from(bytes) / f64::from(self.segment);
        match window {
            Window::LessDuplicates => (outstanding - f64::from(self.duplicates)).max(0.0),
            Window::Outstanding => outstanding,
        }
    }

    /// Holds a segment that travels against the data.
    pub fn hold(&mut self, packet: Box<Packet>) {
        self.counts.came += 1;
        self.line.push(packet);
    }

    /// All ACKs that may leave at the arrival of a segment have left.
    pub fn note_held(&mut self) {
        self.counts.held += u64::from(!self.line.is_empty());
        self.line.note_peaks();
    }

    pub fn enter(&mut self, now: Instant, mode: Mode) {
        if self.mode == mode {
            return;
        }
        self.counts.marked += u64::from(mode == Mode::Marked);
        if self.mode.is_conservative() != mode.is_conservative() {
            self.counts.switches += 1;
            let spent = now.since(self.since);
            if self.mode.is_conservative() {
                self.counts.conservative += spent;
            } else {
                self.counts.non_conservative += spent;
            }
            self.since = now;
        }
        self.mode = mode;
    }

    /// An ACK came: Figure 8, line 2.
    pub fn leave_conservative(&mut self, now: Instant, config: &Config, buffer: Buffer) {
        if self.mode != Mode::Conservative || self.window(config.window) <= config.threshold(buffer.limit) {
            return;
        }
        let marks = config.loss_signal == LossSignal::Ecn && self.is_ect;
        self.enter(now, if marks { Mode::MarkDue } else { Mode::NonConservative });
    }

    /// Data entered or left the buffer: Figure 8, line 4.
    pub fn return_to_conservative(&mut self, now: Instant, config: &Config, buffer: Buffer) {
        let has_halved = self.window(config.window) < config.threshold(buffer.limit) / 2.0;
        if buffer.waiting == 0 || has_halved {
            self.enter(now, Mode::Conservative);
        }
    }

    /// The buffer is empty: nothing that the box still waits for is taken to come. Figure 9, line 4.
    pub fn expect_nothing(&mut self) {
        self.ack_release_count = 0;
    }

    /// The next segment that may go: Figure 7.
    pub fn poll(&mut self, config: &Config, buffer: Buffer) -> Option<Box<Packet>> {
        let front = self.line.front()?;
        let brings = self.brings(config, front);
        if Segment::of(front) == Segment::PureAck && brings > 0 {
            let reserve = match config.growth {
                Growth::OneAnAck => self.mode.reserve(),
                Growth::Acked => self.mode.reserve().saturating_mul(brings),
            };
            let reserved = self.ack_release_count.saturating_add(reserve);
            // A segment that never fits waits for the maximum room.
            let most = buffer.limit.saturating_sub(reserve).max(1);
            if buffer.room().saturating_sub(reserved) < brings.min(most) {
                return None;
            }
        }
        self.release(config)
    }

    /// The oldest segment goes, whether there is room or not.
    pub fn release(&mut self, config: &Config) -> Option<Box<Packet>> {
        let packet = self.line.pop()?;
        let expected = self.brings(config, &packet);
        self.ack_release_count = self.ack_release_count.saturating_add(expected);
        if is_after(packet.ack, self.released) {
            (self.released, self.duplicates) = (packet.ack, 0);
        } else if self.is_duplicate(&packet) {
            self.duplicates += 1;
            let reserve = match self.duplicates {
                1 => config.reserve_limited_transmit,
                3 => config.reserve_fast_retransmit,
                _ => 0,
            };
            self.ack_release_count = self.ack_release_count.saturating_add(reserve);
        }
        self.note_released(packet.ack);
        self.released_window = packet.window;
        self.idle_deadline = None;
        self.counts.peak_ack_release_count = self.counts.peak_ack_release_count.max(self.ack_release_count);
        Some(packet)
    }

    /// Whether it repeats the acknowledgment released last, and does more than move the window: RFC 5681 (2).
    fn is_duplicate(&self, packet: &Packet) -> bool {
        let same_window = packet.window == self.released_window;
        let is_pure = Segment::of(packet) == Segment::PureAck;
        is_pure
            && packet.ack == self.released
            && (same_window || !packet.options().sack.as_slice().is_empty())
    }

    /// Estimate of the number of packets that a segment triggers.
    fn brings(&self, config: &Config, packet: &Packet) -> u32 {
        let acked = (packet.ack.wrapping_sub(self.released) as i32).max(0) as u32;
        if acked == 0 {
            return u32::from(self.is_duplicate(packet));
        }
        match (Segment::of(packet), config.count) {
            (Segment::PureAck, Count::Segments) => acked.div_ceil(self.segment.max(1)),
            _ => 1,
        }
    }

    /// Releases the oldest segment if too many are held.
    pub fn release_beyond_limit(&mut self, config: &Config) -> Option<Box<Packet>> {
        if self.line.len() <= config.hold_limit as usize {
            return None;
        }
        self.counts.forced_limit += 1;
        self.release(config)
    }

    /// Nothing has happened for long while the buffer held no packet of the flow: the expected packets will not arrive.
    /// Releases as many ACKs as there is room for packets, at least one.
    pub fn release_idle(&mut self, config: &Config, limit: u32) -> impl Iterator<Item = Box<Packet>> {
        (0..limit.max(1)).map_while(|_| {
            let packet = self.release(config)?;
            self.counts.forced_idle += 1;
            Some(packet)
        })
    }

    /// After an event: sets the time until which held ACKs may wait if no packet is expected.
    pub fn watch_idle(&mut self, now: Instant, config: &Config, buffer: Buffer) -> Option<Instant> {
        let waits_for_nothing = !self.line.is_empty() && buffer.sdus == 0;
        let deadline = self.idle_deadline.unwrap_or(now + config.idle_release);
        self.idle_deadline = waits_for_nothing.then_some(deadline);
        self.idle_deadline
    }

    /// The event describing the current state; `None` if it equals the last event recorded.
    pub fn take_news(&mut self, (ue, flow): (u16, u16), window: Window) -> Option<Event> {
        let event = Event::AckRegulator {
            ue,
            flow,
            held_acks: self.line.len() as u32,
            held_bytes: self.line.bytes() as u32,
            ack_release_count: self.ack_release_count,
            conservative: self.mode.is_conservative(),
            window_segments: self.window(window) as u32,
        };
        let is_news = self.told.replace(event) != Some(event);
        is_news.then_some(event)
    }

    pub fn report(&self, now: Instant, ue: u16, flow: u16) -> Value {
        let counts = &self.counts;
        let (mut conservative, mut non_conservative) = (counts.conservative, counts.non_conservative);
        if self.mode.is_conservative() {
            conservative += now.since(self.since);
        } else {
            non_conservative += now.since(self.since);
        }
        json!({
            "ue": ue,
            "flow": flow,
            "acks": counts.came,
            "acks_held": counts.held,
            "held_at_end": self.line.len(),
            "peak_held_acks": self.line.peak_packets,
            "peak_held_bytes": self.line.peak_bytes,
            "peak_ack_release_count": counts.peak_ack_release_count,
            "mode_switches": counts.switches,
            "conservative_s": conservative.as_secs_f64(),
            "non_conservative_s": non_conservative.as_secs_f64(),
            "packets_marked": counts.marked,
            "forced_releases": { "idle": counts.forced_idle, "hold_limit": counts.forced_limit },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;

    #[test]
    fn a_flow_whose_fin_is_acknowledged_is_over_when_nothing_of_it_is_held() {
        let config = Config::default();
        let mut flow = Flow::new(Instant::ZERO);
        flow.on_data(u32::MAX - 500, 499);
        flow.note_fin(&Packet { seq: 499, payload: 501, ..Packet::default() });
        for (ack, is_over) in [(499, false), (1000, false), (1001, true)] {
            flow.hold(Box::new(Packet { ack, flags: Flags::ACK, ..Packet::default() }));
            assert!(!flow.is_over());
            assert!(flow.release(&config).is_some());
            assert_eq!(flow.is_over(), is_over, "{ack}");
        }
        // Another connection of the same number, and its reset.
        flow.forget(false);
        assert!(!flow.is_over());
        flow.forget(true);
        assert!(flow.is_over());
    }
}

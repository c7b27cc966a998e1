//! Opening a connection: SYN, SYN-ACK, ACK, with retransmission. RFC 9293 (3.5), RFC 6298.
//!
//! With `ttcp` the first segment of data is the SYN of its sender, or the SYN-ACK if the other endpoint has opened, and
//! counts as accepted when it arrives: T/TCP with a connection count in the receiver's cache, RFC 1644 (2, 3). An
//! endpoint that only receives opens with its own SYN, which represents the request. Left out: the options CC, CC.NEW
//! and CC.ECHO, a cache that misses (then there would be three segments again), FIN in the same segment, limits on data
//! before the SYN-ACK. ASSUMED: what the options of a SYN would say is cached too; a SYN with data has none.

use super::{Config, Handshake as Mode, SegmentTemplate, ecn, rto::Rto};
use crate::packet::{Flags, Packet};
use crate::time::Instant;
use crate::trace::SendCause;
use crate::wire::tcp_header_bytes;

/// A SYN, SYN-ACK or the final ACK waits to be sent.
const SEGMENT: u8 = 1;
/// The owner must be called even if no segment is pending.
const ALWAYS: u8 = 2;

/// Which endpoint sends the SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This endpoint opens the connection.
    Active,
    /// The other endpoint does.
    Passive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the application opens the connection.
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
}

/// Effect of a segment on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The segment belongs to the handshake and is used up.
    Consumed,
    /// The connection is open, by this segment or already; the segment may carry more.
    Established,
}

/// Initial state of endpoints whose handshake was made elsewhere: [`super::connection`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    /// Sequence number of this endpoint's SYN.
    pub iss: u32,
    /// Sequence number of the other endpoint's SYN.
    pub irs: u32,
    /// The other endpoint's window, bytes.
    pub window: u64,
    /// The shift of its later window fields.
    pub peer_shift: u8,
    /// Its latest timestamp.
    pub ts_recent: u32,
    /// When the SYN that it has acknowledged was sent, if only once.
    pub sent_at: Option<Instant>,
    /// Whether a SYN had to be retransmitted.
    pub lost_syn: bool,
    /// Negotiated use of ECN.
    pub ecn: ecn::Agreement,
}

/// One endpoint's side of the handshake.
#[derive(Debug)]
pub struct Handshake {
    mode: Mode,
    template: SegmentTemplate,
    mss: u16,
    /// Window scale option plus one, 0 for none.
    window_scale_plus_1: u8,
    sack: bool,
    /// The other endpoint's SYN permits SACK.
    peer_sack: bool,
    ecn: ecn::Ecn,
    /// Negotiated use of ECN.
    agreed_ecn: ecn::Agreement,
    state: State,
    role: Role,
    rto: Rto,
    deadline: Option<Instant>,
    /// When the present SYN or SYN-ACK was sent, unless it was a retransmission.
    sent_at: Option<Instant>,
    /// Why it must be called: [`SEGMENT`], [`ALWAYS`].
    pending: u8,
    lost_syn: bool,
    /// The SYN or SYN-ACK was sent more than once: no sample (RFC 6298 (3)).
    ambiguous: bool,
    /// Sequence number of this endpoint's SYN.
    iss: u32,
    /// Sequence number of the other endpoint's SYN.
    peer_iss: u32,
}

impl Handshake {
    /// A closed connection.
    pub fn new(config: &Config, role: Role) -> Self {
        Self {
            mode: config.handshake,
            template: config.segment_template(),
            mss: config.mss.as_u64() as u16,
            window_scale_plus_1: if config.window_scaling { config.window_shift() + 1 } else { 0 },
            sack: config.sack,
            peer_sack: config.handshake != Mode::ThreeWay,
            ecn: config.ecn,
            agreed_ecn: ecn::Agreement::assumed(config.ecn),
            state: State::Closed,
            role,
            rto: Rto::new(&config.rto),
            deadline: None,
            sent_at: None,
            pending: 0,
            lost_syn: false,
            ambiguous: false,
            iss: config.initial_sequence,
            peer_iss: config.initial_sequence,
        }
    }

    /// The application opens the connection, or starts to listen; it `sends` data or receives.
    pub fn open(&mut self, sends: bool) {
        let (state, is_due) = match (self.mode, self.role) {
            (Mode::None, _) => (State::Established, false),
            (Mode::Ttcp, Role::Active) if sends => (State::Established, false),
            (Mode::ThreeWay | Mode::Ttcp, Role::Active) => (State::SynSent, true),
            (Mode::ThreeWay | Mode::Ttcp, Role::Passive) => (State::Listen, false),
        };
        self.state = state;
        self.set_due(is_due);
    }

    /// Another's handshake has opened the connection.
    pub(super) fn adopt(&mut self, opened: &Opened) {
        (self.iss, self.peer_iss) = (opened.iss, opened.irs);
        self.establish();
    }

    /// The window of a SYN, a SYN-ACK and the final ACK is at most `window` bytes.
    pub fn limit_window(&mut self, window: u64) {
        self.template.window = self.template.window.min(window);
        let shift = self.window_scale_plus_1.saturating_sub(1);
        self.template.window_field = (self.template.window >> shift) as u16;
    }

    /// The control bits in addition to ACK of the first data segment, if that opens the connection.
    pub fn opens_with_data(&self) -> Option<Flags> {
        match (self.mode, self.role) {
            (Mode::Ttcp, Role::Active) => Some(Flags::SYN),
            (Mode::Ttcp, Role::Passive) => Some(Flags::SYN | Flags::ACK),
            (Mode::ThreeWay | Mode::None, _) => None,
        }
    }

    /// Whether data may flow.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether a SYN or SYN-ACK had to be retransmitted.
    pub fn lost_syn(&self) -> bool {
        self.lost_syn
    }

    /// Whether both endpoints have permitted SACK: RFC 2018 (2).
    pub fn permits_sack(&self) -> bool {
        self.sack && self.peer_sack
    }

    /// The negotiated use of ECN.
    pub(super) fn ecn(&self) -> &ecn::Agreement {
        &self.agreed_ecn
    }

    /// When the SYN or SYN-ACK of the present state was sent, if only once.
    pub fn sent_at(&self) -> Option<Instant> {
        self.sent_at
    }

    /// When [`Handshake::handle_deadline`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// A segment arrived: before the connection is open, or with SYN.
    #[cold]
    pub fn handle_segment(&mut self, packet: &Packet) -> Progress {
        let syn = packet.flags.has(Flags::SYN);
        let acked = packet.flags.has(Flags::ACK) && packet.ack == self.iss.wrapping_add(1);
        match self.state {
            // With `ttcp`: the segment that opened the connection was retransmitted.
            State::Established if packet.payload > 0 => Progress::Established,
            State::Established => {
                // The final ACK was lost: the SYN-ACK was retransmitted.
                self.set_due(self.role == Role::Active);
                Progress::Consumed
            }
            State::Listen if syn && self.mode == Mode::Ttcp => {
                self.take_syn(packet);
                self.establish();
                Progress::Established
            }
            State::Listen | State::SynReceived if syn && !packet.flags.has(Flags::ACK) => {
                self.take_syn(packet);
                self.ambiguous |= self.state == State::SynReceived;
                self.state = State::SynReceived;
                self.set_due(true);
                Progress::Consumed
            }
            State::SynSent if syn && acked => {
                self.take_syn(packet);
                self.establish();
                self.set_due(self.mode != Mode::Ttcp);
                Progress::Established
            }
            State::SynReceived if acked => {
                self.agreed_ecn.on_ack_of_syn(packet);
                self.establish();
                Progress::Established
            }
            State::Closed | State::Listen | State::SynSent | State::SynReceived => Progress::Consumed,
        }
    }

    fn take_syn(&mut self, packet: &Packet) {
        self.peer_iss = packet.seq;
        if self.mode == Mode::ThreeWay {
            self.peer_sack = packet.options().sack_permitted;
            if self.state == State::SynReceived {
                self.agreed_ecn.on_syn_again(packet);
            } else {
                self.agreed_ecn = ecn::Agreement::of_syn(self.ecn, packet);
            }
        }
    }

    fn establish(&mut self) {
        self.state = State::Established;
        self.deadline = None;
    }

    /// The SYN or SYN-ACK was not answered in time.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.deadline.is_some_and(|at| at <= now) {
            self.rto.on_timeout();
            self.lost_syn = true;
            self.ambiguous = true;
            self.set_due(true);
        }
    }

    fn set_due(&mut self, is_due: bool) {
        self.pending = if is_due { self.pending | SEGMENT } else { self.pending & !SEGMENT };
    }

    /// Excludes the endpoint from the fast path: [`Handshake::is_pending`] is always true.
    pub fn ask_always(&mut self) {
        self.pending |= ALWAYS;
    }

    /// Whether the fast path is excluded: a segment of the handshake may be pending.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.pending != 0
    }

    /// Whether a segment of the handshake is to be sent now, and why.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<SendCause> {
        if self.is_pending() { self.transmit(now) } else { None }
    }

    #[cold]
    fn transmit(&mut self, now: Instant) -> Option<SendCause> {
        if self.pending & SEGMENT == 0 {
            return None;
        }
        self.set_due(false);
        if self.is_established() {
            return Some(SendCause::Handshake);
        }
        let again = self.lost_syn;
        self.sent_at = if self.ambiguous { None } else { Some(now) };
        self.deadline = Some(now + self.rto.value());
        Some(if again { SendCause::HandshakeTimeout } else { SendCause::Handshake })
    }

    /// Fills in the header of the segment that `poll_transmit` announced.
    #[cold]
    pub fn write(&self, packet: &mut Packet) {
        packet.payload = 0;
        packet.flags = match self.state {
            State::Established => Flags::ACK,
            State::SynReceived => Flags::SYN | Flags::ACK,
            State::Closed | State::Listen | State::SynSent => Flags::SYN,
        };
        let acks = packet.flags.has(Flags::ACK);
        packet.ack = if acks { self.peer_iss.wrapping_add(1) } else { 0 };
        if packet.flags.has(Flags::SYN) {
            // RFC 7323 (2.2): the window of a SYN is never scaled.
            packet.seq = self.iss;
            packet.window = self.template.window.min(u64::from(u16::MAX)) as u16;
            packet.options_mut().mss = self.mss;
            packet.options_mut().window_scale_plus_1 = self.window_scale_plus_1;
            // A SYN-ACK permits only options that the SYN has offered.
            packet.options_mut().sack_permitted = self.sack && (!acks || self.peer_sack);
            if !acks {
                packet.flags = packet.flags | self.ecn.offer();
            }
        } else {
            packet.seq = self.iss.wrapping_add(1);
            packet.window = self.template.window_field;
        }
        if acks {
            self.agreed_ecn.write_answer(packet, self.lost_syn);
        }
        packet.len = self.template.ip.header_bytes() + tcp_header_bytes(packet);
    }

    /// Sequence number on the wire of byte `offset` of this endpoint's stream.
    pub fn wire_seq(&self, offset: u64) -> u32 {
        self.iss.wrapping_add(1).wrapping_add(offset as u32)
    }

    /// The acknowledgment number for the other endpoint's stream up to `offset`.
    pub fn wire_ack(&self, offset: u64) -> u32 {
        self.peer_iss.wrapping_add(1).wrapping_add(offset as u32)
    }
}

/// The 64-bit offset nearest to `near` whose low 32 bits are `wire`, given that `wire_near` corresponds to `near`.
pub fn unwrap_sequence(near: u64, wire_near: u32, wire: u32) -> Option<u64> {
    let distance = wire.wrapping_sub(wire_near) as i32;
    if distance >= 0 {
        Some(near + distance as u64)
    } else {
        near.checked_sub(distance.unsigned_abs().into())
    }
}

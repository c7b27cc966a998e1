//! SYN-SENT and SYN-RECEIVED: RFC 9293 (3.10.7.3, 3.10.7.4), RFC 5961.
//!
//! Active, passive and simultaneous open. Data in a SYN is not accepted and is retransmitted by the peer; RFC 9293
//! (3.10.7.3) would queue it. A SYN in SYN-RECEIVED other than the first gets a challenge ACK, as in every later state:
//! RFC 5961 (4.2).

use super::acceptance::Challenges;
use super::agreement::{Peer, agree};
use super::reset::Reset;
use super::{Ended, Limits, State};
use crate::packet::{Flags, Packet};
use crate::tcp::Config;
use crate::tcp::handshake::Opened;
use crate::tcp::rto::Rto;
use crate::time::Instant;
use crate::trace::SendCause;
use crate::wire::tcp_header_bytes;

/// A connection that is not open yet.
pub(super) struct Opening {
    /// Options that this end offers.
    ours: Config,
    iss: u32,
    /// Configuration that both ends agreed on, once the other SYN has arrived.
    peer: Option<(Config, Peer)>,
    /// This end has sent a SYN without ACK.
    is_active: bool,
    rto: Rto,
    pub deadline: Option<Instant>,
    began: Instant,
    /// When the present SYN was sent first.
    sent_at: Option<Instant>,
    /// How often it was sent.
    transmissions: u32,
    owed: Owed,
    challenges: Challenges,
}

/// Segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Nothing,
    Syn,
    ChallengeAck,
}

/// Result of a segment.
pub(super) enum Progress {
    /// The handshake continues; the caller has nothing to do.
    Opening,
    /// The connection is open; the segment may have more.
    Open(Box<(Config, Opened)>),
    /// The connection will not open.
    Ended(Ended),
    /// The segment belongs to no connection.
    Stray(Option<Reset>),
}

impl Opening {
    /// SYN-SENT.
    pub fn active(config: &Config, iss: u32, now: Instant) -> Self {
        Self {
            ours: config.clone(),
            iss,
            peer: None,
            is_active: true,
            rto: Rto::new(&config.rto),
            deadline: None,
            began: now,
            sent_at: None,
            transmissions: 0,
            owed: Owed::Syn,
            challenges: Challenges::default(),
        }
    }

    /// SYN-RECEIVED.
    pub fn passive(config: &Config, iss: u32, now: Instant, syn: &Packet) -> Self {
        let peer = Some(agree(config, syn));
        Self { peer, is_active: false, ..Self::active(config, iss, now) }
    }

    pub fn state(&self) -> State {
        if self.peer.is_some() { State::SynReceived } else { State::SynSent }
    }

    /// The SYN was not answered in time.
    pub fn handle_deadline(&mut self, now: Instant, limits: &Limits) -> Option<Ended> {
        if self.deadline.is_none_or(|at| at > now) {
            return None;
        }
        if now.since(self.began) >= limits.syn {
            return Some(Ended::TimedOut);
        }
        self.deadline = None;
        self.rto.on_timeout();
        self.owed = Owed::Syn;
        None
    }

    pub fn handle_segment(&mut self, packet: &Packet) -> Progress {
        match self.peer.clone() {
            None => self.in_syn_sent(packet),
            Some(peer) => self.in_syn_received(packet, peer),
        }
    }

    fn acks_syn(&self, packet: &Packet) -> bool {
        packet.flags.has(Flags::ACK) && packet.ack == self.iss.wrapping_add(1)
    }

    /// RFC 9293 (3.10.7.3).
    fn in_syn_sent(&mut self, packet: &Packet) -> Progress {
        let [syn, ack, rst] = [Flags::SYN, Flags::ACK, Flags::RST].map(|flag| packet.flags.has(flag));
        let acked = self.acks_syn(packet);
        if ack && !acked {
            return Progress::Stray(Reset::answering(packet));
        }
        if rst {
            return if acked { Progress::Ended(Ended::Refused) } else { Progress::Opening };
        }
        if !syn {
            return Progress::Opening;
        }
        let (agreed, peer) = agree(&self.ours, packet);
        if acked {
            return self.open(agreed, peer, peer.window);
        }
        // Both open at once: RFC 9293 (3.5), figure 7. The SYN-ACK is no retransmission of the SYN.
        self.peer = Some((agreed, peer));
        (self.sent_at, self.deadline, self.transmissions, self.owed) = (None, None, 0, Owed::Syn);
        Progress::Opening
    }

    /// RFC 9293 (3.10.7.4).
    fn in_syn_received(&mut self, packet: &Packet, (agreed, mut peer): (Config, Peer)) -> Progress {
        let [syn, ack, rst] = [Flags::SYN, Flags::ACK, Flags::RST].map(|flag| packet.flags.has(flag));
        let ahead = packet.seq.wrapping_sub(peer.irs.wrapping_add(1));
        if syn && packet.seq == peer.irs && !rst {
            if self.is_active && self.acks_syn(packet) {
                return self.open(agreed, peer, u64::from(packet.window));
            }
            // Ours was lost.
            if let Some((_, known)) = &mut self.peer {
                known.ecn.on_syn_again(packet);
            }
            self.owed = Owed::Syn;
            return Progress::Opening;
        }
        if u64::from(ahead) >= agreed.advertised_window() {
            if !rst {
                self.owed = Owed::ChallengeAck;
            }
            return Progress::Opening;
        }
        if rst && ahead == 0 {
            return Progress::Ended(Ended::Refused);
        }
        if rst || syn {
            self.owed = Owed::ChallengeAck;
            return Progress::Opening;
        }
        if !ack || agreed.timestamps && !packet.has_timestamps {
            return Progress::Opening;
        }
        if !self.acks_syn(packet) {
            return Progress::Stray(Reset::answering(packet));
        }
        peer.ecn.on_ack_of_syn(packet);
        self.open(agreed, peer, u64::from(packet.window) << peer.shift)
    }

    fn open(&mut self, agreed: Config, peer: Peer, window: u64) -> Progress {
        let opened = Opened {
            iss: self.iss,
            irs: peer.irs,
            window,
            peer_shift: peer.shift,
            ts_recent: peer.ts_val,
            sent_at: self.sent_at.filter(|_| self.transmissions == 1),
            lost_syn: self.transmissions > 1,
            ecn: peer.ecn,
        };
        Progress::Open(Box::new((agreed, opened)))
    }

    /// A reset for this connection: RFC 9293 (3.10.5). `None` if the other endpoint has no state yet.
    pub fn reset(&self) -> Option<Reset> {
        let (_, peer) = self.peer.as_ref()?;
        Some(Reset { seq: self.iss.wrapping_add(1), ack: Some(peer.irs.wrapping_add(1)) })
    }

    /// Fills in the header of the segment to be sent now, if any; returns its cause.
    pub fn poll_transmit(&mut self, now: Instant, packet: &mut Packet) -> Option<SendCause> {
        match std::mem::replace(&mut self.owed, Owed::Nothing) {
            Owed::Nothing => None,
            Owed::ChallengeAck if !self.challenges.permit(now) => None,
            Owed::ChallengeAck => {
                self.write(now, false, packet);
                Some(SendCause::Handshake)
            }
            Owed::Syn => {
                self.transmissions += 1;
                self.sent_at.get_or_insert(now);
                // A SYN-ACK in response to the peer's retransmission does not move the deadline: otherwise this could
                // continue forever.
                self.deadline.get_or_insert(now + self.rto.value());
                self.write(now, true, packet);
                let again = self.transmissions > 1;
                Some(if again { SendCause::HandshakeTimeout } else { SendCause::Handshake })
            }
        }
    }

    fn write(&self, now: Instant, syn: bool, packet: &mut Packet) {
        let config = self.peer.as_ref().map_or(&self.ours, |(agreed, _)| agreed);
        let template = config.segment_template();
        let peer = self.peer.as_ref().map(|(_, peer)| peer);
        template.stamp(now, peer.map_or(0, |peer| peer.ts_val), packet);
        packet.payload = 0;
        packet.ack = peer.map_or(0, |peer| peer.irs.wrapping_add(1));
        packet.flags = if peer.is_some() { Flags::ACK } else { Flags::default() };
        if syn {
            packet.flags = packet.flags | Flags::SYN;
            packet.seq = self.iss;
            packet.window = template.window.min(u64::from(u16::MAX)) as u16;
            let options = packet.options_mut();
            options.mss = self.ours.mss.as_u64() as u16;
            options.window_scale_plus_1 = if config.window_scaling { config.window_shift() + 1 } else { 0 };
            options.sack_permitted = config.sack;
            if peer.is_none() {
                packet.flags = packet.flags | config.ecn.offer();
            }
        } else {
            packet.seq = self.iss.wrapping_add(1);
            packet.window = template.window_field;
        }
        if let Some(peer) = peer {
            peer.ecn.write_answer(packet, self.transmissions > 1);
        }
        packet.len = template.ip.header_bytes() + tcp_header_bytes(packet);
    }
}

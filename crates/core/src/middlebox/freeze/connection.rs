//! State of a connection: data sent to the UE, the UE's latest acknowledgment and window, and the part already passed
//! to the sender.

use crate::middlebox::acks::is_after;
use crate::packet::{Flags, Packet};
use crate::time::Instant;

/// The window that an ACK advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// A closed window.
    Closed,
    /// The UE's window minus this many units of the field, but at least one if the UE's is open.
    Narrower(u16),
}

/// A connection with data downlink.
#[derive(Default)]
pub(super) struct Connection {
    /// The UE's last pure ACK, as it came: ACKs that the box makes are copies of it.
    last: Option<Box<Packet>>,
    /// Newest acknowledgment number, and the window in the newest segment.
    ack: u32,
    window: u16,
    /// Newest acknowledgment number passed to the sender.
    pub told: u32,
    /// End of the data that went to the UE; `None` before the first.
    sent_end: Option<u32>,
    /// When the octet that is withheld is acknowledged; `None` while none is.
    pub release_at: Option<Instant>,
    /// The sender has been sent a closed window.
    pub is_frozen: bool,
    /// A FIN has passed.
    pub is_ending: bool,
    /// The sequence number after the server's FIN.
    pub fin: Option<u32>,
    /// When it was used last, on the box's own count.
    pub used: u64,
}

impl Connection {
    /// Whether data has gone to the UE.
    pub fn has_data(&self) -> bool {
        self.sent_end.is_some()
    }

    /// Whether the UE has all that there will be, by this acknowledgment number: there is no sender left to freeze.
    pub fn has_ended(&self, ack: u32) -> bool {
        self.fin.is_some_and(|fin| !is_after(fin, ack))
    }

    /// Whether a segment may be a probe: one octet, or data sent before; or no data, numbered one below the
    /// acknowledged data, as Linux and BSD probe (`tcp_xmit_probe_skb`, keep-alives of RFC 9293 (3.8.4)).
    pub fn is_probe(&self, packet: &Packet) -> bool {
        if packet.payload == 0 {
            return self.has_data() && packet.seq == self.told.wrapping_sub(1);
        }
        let end = packet.seq.wrapping_add(packet.payload);
        self.sent_end
            .is_some_and(|sent_end| !is_after(end, sent_end.wrapping_add(u32::from(packet.payload == 1))))
    }

    /// Data goes to the UE.
    pub fn note_data(&mut self, packet: &Packet) {
        // A SYN takes one sequence number before the data.
        let start = packet.seq.wrapping_add(u32::from(packet.flags.has(Flags::SYN)));
        let end = start.wrapping_add(packet.payload);
        let Some(sent_end) = &mut self.sent_end else {
            // ASSUMED: all before the first segment seen has been acknowledged, as after a handshake.
            (self.ack, self.told) = (start, start);
            self.sent_end = Some(end);
            return;
        };
        if is_after(end, *sent_end) {
            *sent_end = end;
        }
    }

    /// The UE has said something.
    pub fn note_ack(&mut self, packet: &Packet, is_pure: bool) {
        if self.last.is_none() || !is_after(self.ack, packet.ack) {
            (self.ack, self.window) = (packet.ack, packet.window);
            if is_pure {
                self.last.get_or_insert_default().as_mut().clone_from(packet);
            } else if let Some(last) = &mut self.last {
                last.seq = packet.seq.wrapping_add(packet.payload);
                (last.ts_val, last.ts_ecr) = (packet.ts_val, packet.ts_ecr);
            }
        }
    }

    /// The number that an ACK of `ack` becomes if its last octet is withheld; `None` if there is nothing to withhold.
    pub fn withhold(&self, ack: u32) -> Option<u32> {
        let is_new = is_after(ack, self.told) && ack == self.ack;
        // Nothing is withheld that could not be acknowledged later.
        (is_new && self.can_ack()).then(|| ack.wrapping_sub(1))
    }

    /// Records that the sender is sent `ack`.
    pub fn tell(&mut self, ack: u32) {
        if is_after(ack, self.told) {
            self.told = ack;
            self.release_at = None;
        }
    }

    /// Whether there is an ACK to copy: SACK blocks below the acknowledgment number would report duplicates (RFC 2883).
    fn can_ack(&self) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.ack == self.ack || last.options().sack.as_slice().is_empty())
    }

    /// Makes `packet` an ACK of all data that the UE has acknowledged, with this window. Returns whether the window can
    /// be expressed.
    pub fn make_ack(&mut self, packet: &mut Packet, window: Window) -> bool {
        let Some(last) = self.last.as_ref().filter(|_| self.can_ack()) else { return false };
        packet.clone_from(last);
        let window = match window {
            Window::Closed => 0,
            Window::Narrower(units) => self.window.saturating_sub(units).max(self.window.min(1)),
        };
        packet.write_ack(self.ack, window);
        self.tell(self.ack);
        true
    }
}

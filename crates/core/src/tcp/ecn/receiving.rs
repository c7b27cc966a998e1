//! ECN at the receiver: reports of marks to the sender, and their timing.

use super::{Agreement, Counts, Ecn};
use crate::packet::{Flags, Packet};
use crate::wire::tcp_header_bytes;

/// CE marks that are acknowledged at once, with data to be acknowledged and without: RFC 9768 (3.2.2.5.1).
const MARKS_AT_ONCE: [u32; 2] = [2, 3];
/// Octets of a TCP header at most.
const MOST_HEADER: u32 = 60;

/// The half of the receiver.
#[derive(Debug)]
pub(in crate::tcp) struct Receiving {
    telling: Telling,
    /// Segments that arrived with CE.
    pub marks: u64,
}

/// Method of reporting marks to the sender.
#[derive(Debug)]
enum Telling {
    /// RFC 3168 (6.1.3).
    Classic {
        echoes: bool,
    },
    Accurate(Reflector),
}

/// Counters, and the state that triggers ACKs.
#[derive(Debug, Default)]
struct Reflector {
    counts: Counts,
    uses_option: bool,
    /// The packet before arrived with CE.
    was_marked: bool,
    /// Marks since the last ACK.
    marks: u32,
}

impl Receiving {
    /// If ECN is offered, or agreed on.
    pub fn new(ecn: Ecn) -> Option<Self> {
        let telling = match ecn {
            Ecn::Off => return None,
            Ecn::Classic => Telling::Classic { echoes: false },
            Ecn::Accurate | Ecn::AccurateFlags => {
                Telling::Accurate(Reflector { uses_option: ecn == Ecn::Accurate, ..Reflector::default() })
            }
        };
        Some(Self { telling, marks: 0 })
    }

    /// Applies the result of the negotiation. A SYN-ACK with CE counts: RFC 9768 (3.2.2.2).
    pub fn agreed(agreement: &Agreement) -> Option<Self> {
        let mut receiving = Self::new(agreement.ecn)?;
        if let Telling::Accurate(reflector) = &mut receiving.telling {
            let is_marked = agreement.is_client && agreement.came == Packet::CE;
            reflector.counts.ce_packets = u64::from(is_marked);
        }
        Some(receiving)
    }

    /// A segment arrived, other than a SYN.
    #[cold]
    pub fn on_segment(&mut self, packet: &Packet) {
        let (is_marked, has_data) = (packet.ecn() == Packet::CE, packet.payload > 0);
        self.marks += u64::from(is_marked && has_data);
        if let Telling::Classic { echoes } = &mut self.telling
            && has_data
        {
            // One with CWR may be marked itself.
            *echoes = is_marked || *echoes && !packet.flags.has(Flags::CWR);
        }
    }

    /// An acceptable packet arrived; `has_unacked` says whether there is data to be acknowledged. Returns whether an
    /// ACK must be sent: RFC 9768 (3.2.2.5.1).
    #[cold]
    pub fn on_accepted(&mut self, packet: &Packet, has_unacked: bool) -> bool {
        let Telling::Accurate(reflector) = &mut self.telling else { return false };
        let is_marked = packet.ecn() == Packet::CE;
        reflector.counts.count(packet);
        reflector.marks += u32::from(is_marked);
        let was_marked = std::mem::replace(&mut reflector.was_marked, is_marked);
        let most = MARKS_AT_ONCE[usize::from(!has_unacked)];
        is_marked && !was_marked && packet.payload > 0 || reflector.marks >= most
    }

    /// An ACK is sent.
    pub fn on_ack_sent(&mut self) {
        if let Telling::Accurate(reflector) = &mut self.telling {
            reflector.marks = 0;
        }
    }

    /// Adds the ECN fields to a segment with ACK that is otherwise complete and has `room` for options.
    #[cold]
    pub fn write(&self, packet: &mut Packet, room: u32) {
        match &self.telling {
            Telling::Classic { echoes: true } => packet.flags = packet.flags | Flags::ECE,
            Telling::Classic { echoes: false } => {}
            Telling::Accurate(reflector) => {
                packet.set_ace(reflector.counts.ace());
                if !reflector.uses_option {
                    return;
                }
                let option = reflector.counts.option();
                let bytes = option.padded_bytes();
                if bytes <= room && tcp_header_bytes(packet) + bytes <= MOST_HEADER {
                    packet.options_mut().ecn = option;
                    packet.len += bytes;
                }
            }
        }
    }

    /// The counters of accurate ECN.
    pub fn counts(&self) -> Option<Counts> {
        match &self.telling {
            Telling::Classic { .. } => None,
            Telling::Accurate(reflector) => Some(reflector.counts),
        }
    }
}

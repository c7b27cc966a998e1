//! Position of a segment in the sequence space, and its acceptance: RFC 9293 (3.10.7.4), RFC 5961 (3.2, 4.2, 5.2, 7),
//! RFC 7323 (3.2, 5.3).
//!
//! A late pure ACK is acceptable as long as nothing has been acknowledged since, as in Linux; replying to each would
//! produce duplicate ACKs. DEVIATION: RFC 7323 (5.3) R1 answers a pure ACK with an old timestamp; here it is dropped,
//! for the same reason. RFC 7323 (5.5): timestamps older than 24 days are not compared.

use crate::packet::{Flags, Packet};
use crate::tcp::handshake::Opened;
use crate::tcp::{Config, Duplex};
use crate::time::{Duration, Instant};

/// RFC 7323 (5.5).
const OUTDATED: Duration = Duration::from_secs(24 * 86_400);

/// How a segment is to be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Not acceptable; no reply.
    Unacceptable,
    /// The connection has been reset.
    Reset,
    /// Not acceptable, but its sender may be out of sync: reply with a challenge ACK.
    Challenged,
    /// All of its sequence space was acknowledged before.
    Old,
    /// Acceptable, from this offset on.
    Acceptable(u64),
}

/// State used to judge the other endpoint's segments.
#[derive(Debug)]
pub(super) struct Acceptance {
    /// Both ends use timestamps.
    pub has_timestamps: bool,
    /// The largest window that was offered, bytes.
    max_window: u64,
    peer_shift: u8,
    /// The window in use: its field, and SND.WL1 and SND.WL2.
    window: (u16, u64, u64),
    /// When the last acceptable segment arrived.
    heard: Instant,
}

impl Acceptance {
    pub fn new(now: Instant, config: &Config, opened: &Opened) -> Self {
        Self {
            has_timestamps: config.timestamps,
            max_window: opened.window,
            peer_shift: opened.peer_shift,
            window: ((opened.window >> opened.peer_shift) as u16, 0, 0),
            heard: now,
        }
    }

    /// Judges a segment. The window of an acceptable one is set to the window to be used, which may come from a later
    /// segment.
    pub fn place(&mut self, now: Instant, duplex: &Duplex, packet: &mut Packet, sent_end: u64) -> Place {
        let rcv = duplex.receiver();
        let rst = packet.flags.has(Flags::RST);
        let is_pure_ack =
            packet.payload == 0 && !packet.flags.has(Flags::FIN) && !packet.flags.has(Flags::SYN);
        if self.has_timestamps && !rst {
            if !packet.has_timestamps {
                return Place::Unacceptable;
            }
            let is_older = (packet.ts_val.wrapping_sub(rcv.ts_recent()) as i32) < 0;
            if is_older && now.since(self.heard) < OUTDATED {
                return if is_pure_ack { Place::Unacceptable } else { Place::Challenged };
            }
        }
        let ahead = i64::from(packet.seq.wrapping_sub(rcv.wire_rcv_nxt()) as i32);
        let window = (rcv.window_end() - rcv.rcv_nxt().min(rcv.window_end())) as i64;
        if rst {
            return match ahead {
                0 => Place::Reset,
                _ if 0 < ahead && ahead < window => Place::Challenged,
                _ => Place::Unacceptable,
            };
        }
        if packet.flags.has(Flags::SYN) {
            return Place::Challenged;
        }
        if !packet.flags.has(Flags::ACK) {
            return Place::Unacceptable;
        }
        let acknowledged = rcv.acknowledged() as i64 - rcv.rcv_nxt() as i64;
        let len = i64::from(packet.payload) + i64::from(packet.flags.has(Flags::FIN));
        let is_old = if len > 0 { ahead + len <= acknowledged } else { ahead < acknowledged };
        if is_old {
            return Place::Old;
        }
        if ahead > window || len > 0 && ahead == window && ahead > 0 {
            return Place::Challenged;
        }
        let Ok(start) = u64::try_from(rcv.rcv_nxt() as i64 + ahead) else { return Place::Unacceptable };
        let place = self.judge_ack(duplex, packet, start, sent_end);
        if place != Place::Challenged {
            self.heard = now;
        }
        place
    }

    /// RFC 5961 (5.2): neither of what was never sent, nor older than a window. The window: RFC 9293 (3.10.7.4).
    fn judge_ack(&mut self, duplex: &Duplex, packet: &mut Packet, start: u64, sent_end: u64) -> Place {
        let una = duplex.sender().state().una;
        let acked = i64::from(packet.ack.wrapping_sub(duplex.sender().wire_una()) as i32);
        if acked > (sent_end - una.min(sent_end)) as i64 || acked < -(self.max_window as i64) {
            return Place::Challenged;
        }
        let ack = una.saturating_add_signed(acked);
        let (_, wl1, wl2) = self.window;
        if ack > una || ack == una && (wl1 < start || wl1 == start && wl2 <= ack) {
            self.window = (packet.window, start, ack);
            self.max_window = self.max_window.max(u64::from(packet.window) << self.peer_shift);
        }
        packet.window = self.window.0;
        Place::Acceptable(start)
    }
}

/// Challenge ACKs sent lately.
#[derive(Debug, Default)]
pub(super) struct Challenges {
    since: Instant,
    count: u32,
}

/// RFC 5961 (7): at most this many challenge ACKs in this time.
const MOST_CHALLENGES: u32 = 10;
const CHALLENGE_INTERVAL: Duration = Duration::from_secs(5);

impl Challenges {
    /// Whether another one may be sent.
    pub fn permit(&mut self, now: Instant) -> bool {
        if now.since(self.since) >= CHALLENGE_INTERVAL {
            *self = Self { since: now, count: 0 };
        }
        self.count += 1;
        self.count <= MOST_CHALLENGES
    }
}

//! The acknowledged rate: bytes that arrived over the time in which they were sent or arrived, whichever is longer. The
//! longest pause at the receiver counts as the second longest one, so that a single outage does not halve the estimate.
//! Source: libwebrtc's robust throughput estimator, June 2025: 20 to 500 packets of one to five seconds.

use crate::time::Instant;
use std::collections::VecDeque;

#[derive(Clone, Copy)]
struct Packet {
    sent: Instant,
    arrival: Instant,
    bytes: u64,
}

/// The latest packets, by arrival.
#[derive(Default)]
pub struct Throughput {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Throughput {
    pub fn add(&mut self, sent: Instant, arrival: Instant, bytes: u32) {
        let packet = Packet { sent, arrival, bytes: bytes.into() };
        let place = self.packets.iter().rposition(|before| before.arrival <= arrival).map_or(0, |at| at + 1);
        self.packets.insert(place, packet);
        self.bytes += packet.bytes;
        while let (Some(first), Some(last)) = (self.packets.front(), self.packets.back()) {
            let span_s = last.arrival.since(first.arrival).as_secs_f64();
            let count = self.packets.len();
            if !(count > 500 || span_s > 5.0 || count > 20 && span_s > 1.0) {
                break;
            }
            self.bytes -= self.packets.pop_front().map_or(0, |oldest| oldest.bytes);
        }
    }

    /// Bit/s, once ten packets have arrived.
    pub fn bps(&self) -> Option<f64> {
        let (first, last) = (self.packets.front()?, self.packets.back()?);
        if self.packets.len() < 10 {
            return None;
        }
        let (mut longest, mut second) = (0.0, 0.0);
        let mut sent = (first.sent, first.sent);
        let mut bytes_of_last_sent = first.bytes;
        let mut before = first;
        for packet in self.packets.iter().skip(1) {
            let gap = packet.arrival.since(before.arrival).as_secs_f64();
            if gap > longest {
                (second, longest) = (longest, gap);
            } else if gap > second {
                second = gap;
            }
            sent.0 = sent.0.min(packet.sent);
            if packet.sent >= sent.1 {
                (sent.1, bytes_of_last_sent) = (packet.sent, packet.bytes);
            }
            before = packet;
        }
        let arrival_s = last.arrival.since(first.arrival).as_secs_f64() - longest + second;
        let sent_s = sent.1.since(sent.0).as_secs_f64();
        let of = |bytes: u64, seconds: f64| bytes as f64 * 8.0 / seconds.max(1e-3);
        // The first packet opens the interval of the arrivals, the last one closes that of the sending times.
        Some(of(self.bytes - first.bytes, arrival_s).min(of(self.bytes - bytes_of_last_sent, sent_s)))
    }
}

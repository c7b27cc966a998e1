//! Requests or responses in the streams of QUIC: HTTP/3, RFC 9114. The stream of an object has its number.
//!
//! Left out: frame headers of HTTP/3 (two to five bytes for each response), QPACK's and control streams.

use super::objects::Object;
use super::priority::Schedule;
use crate::quic::{Credit, StreamFrame, Streams};
use crate::rlc::{Ranges, SnRange};
use crate::time::Instant;
use std::collections::{BTreeMap, VecDeque};

/// Data of a stream in one direction, at its sender.
#[derive(Debug)]
struct Outgoing {
    object: Object,
    len: u64,
    sent: u64,
    lost: Ranges,
    acked: Ranges,
}

/// Data of a stream in one direction, at its receiver.
#[derive(Debug, Default)]
struct Incoming {
    received: Ranges,
    /// Bytes that were handed on, in order.
    delivered: u64,
}

/// The streams at one end of a connection.
#[derive(Debug, Default)]
pub struct Http3 {
    outgoing: BTreeMap<u32, Outgoing>,
    schedule: Schedule,
    incoming: BTreeMap<u32, Incoming>,
    arrived: VecDeque<(u16, u64)>,
    /// Bytes of streams that are acknowledged, and streams that are so as a whole.
    acked: u64,
    done: usize,
    received: u64,
}

impl Http3 {
    /// Sends `len` bytes about this object in its stream.
    pub fn send(&mut self, number: u16, object: &Object, len: u64) {
        let stream =
            Outgoing { object: *object, len, sent: 0, lost: Ranges::default(), acked: Ranges::default() };
        self.outgoing.insert(number.into(), stream);
        self.schedule.add(number, object.urgency, object.incremental, len);
    }

    /// The next bytes that have arrived in order: object and how many.
    pub fn poll_arrived(&mut self) -> Option<(u16, u64)> {
        self.arrived.pop_front()
    }

    /// Bytes of streams that are acknowledged, and streams that are so as a whole.
    pub fn acked(&self) -> (u64, usize) {
        (self.acked, self.done)
    }

    /// The stream whose turn it is among those with lost data, or with new data within `credit`.
    fn next(&self, credit: &Credit) -> Option<u16> {
        let may_send = |object: u16| {
            let may =
                |stream: &Outgoing| !stream.lost.is_empty() || credit.room(object.into(), stream.sent) > 0;
            self.outgoing.get(&object.into()).is_some_and(may)
        };
        self.schedule.next_of(may_send).map(|(object, _)| object)
    }

    /// Bytes of streams that have arrived in order.
    pub fn received(&self) -> u64 {
        self.received
    }
}

impl Streams for Http3 {
    fn is_waiting(&self) -> bool {
        !self.schedule.is_empty()
    }

    fn has_data(&self, credit: &Credit) -> bool {
        self.next(credit).is_some()
    }

    fn poll(&mut self, room: u64, credit: &mut Credit) -> Option<StreamFrame> {
        let number = self.next(credit)?;
        let stream = self.outgoing.get_mut(&number.into())?;
        let range = stream.lost.pop_first(room).unwrap_or_else(|| {
            let new = room.min(credit.room(number.into(), stream.sent));
            let range = SnRange::new(stream.sent, stream.len.min(stream.sent + new));
            credit.spend(range.len());
            stream.sent = range.end;
            range
        });
        self.schedule.take(number, range.len());
        let fin = range.end == stream.len;
        Some(StreamFrame { stream: number.into(), offset: range.first, len: range.len(), fin })
    }

    fn handle_lost(&mut self, data: &StreamFrame) {
        let Some(stream) = self.outgoing.get_mut(&data.stream) else { return };
        let before = stream.lost.count();
        stream.lost.insert(data.range());
        for acked in stream.acked.as_slice() {
            stream.lost.remove(*acked);
        }
        let (object, more) = (stream.object, stream.lost.count().saturating_sub(before));
        self.schedule.add(data.stream as u16, object.urgency, object.incremental, more);
    }

    fn handle_acked(&mut self, _now: Instant, data: &StreamFrame) {
        let Some(stream) = self.outgoing.get_mut(&data.stream) else { return };
        let (acked, lost) = (stream.acked.count(), stream.lost.count());
        stream.acked.insert(data.range());
        stream.lost.remove(data.range());
        let now_acked = stream.acked.count();
        self.acked += now_acked - acked;
        self.done += usize::from(now_acked == stream.len && acked < stream.len);
        let spurious = lost - stream.lost.count();
        if spurious > 0 {
            self.schedule.take(data.stream as u16, spurious);
        }
    }

    fn handle_received(&mut self, _now: Instant, data: &StreamFrame) -> u64 {
        let stream = self.incoming.entry(data.stream).or_default();
        stream.received.insert(data.range());
        let in_order =
            stream.received.as_slice().first().filter(|range| range.first == 0).map_or(0, |range| range.end);
        let new = in_order - stream.delivered;
        if new > 0 {
            stream.delivered = in_order;
            self.received += new;
            self.arrived.push_back((data.stream as u16, new));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic::Config;
    use crate::units::Bytes;

    const OBJECT: Object = Object { size: 30, parent: 0, after: 0, urgency: 3, incremental: true };

    #[test]
    fn a_loss_delays_the_stream_whose_data_it_was() {
        let (mut sender, mut receiver) = (Http3::default(), Http3::default());
        sender.send(1, &OBJECT, 30);
        sender.send(2, &OBJECT, 30);
        let mut credit = Credit::new(&Config::default());
        let frames: Vec<_> = std::iter::from_fn(|| sender.poll(20, &mut credit)).collect();
        let order: Vec<_> = frames.iter().map(|frame| (frame.stream, frame.offset, frame.fin)).collect();
        assert_eq!(order, [(1, 0, false), (2, 0, false), (1, 20, true), (2, 20, true)]);
        // The first frame of stream 1 is lost.
        let read: Vec<_> =
            frames[1..].iter().map(|frame| receiver.handle_received(Instant::ZERO, frame)).collect();
        assert_eq!(read, [20, 0, 10]);
        let arrived: Vec<_> = std::iter::from_fn(|| receiver.poll_arrived()).collect();
        assert_eq!(arrived, [(2, 20), (2, 10)]);
        sender.handle_lost(&frames[0]);
        let again = sender.poll(20, &mut credit).unwrap_or(frames[3]);
        assert_eq!(again, frames[0]);
        receiver.handle_received(Instant::ZERO, &again);
        assert_eq!(receiver.poll_arrived(), Some((1, 30)));
        frames.iter().for_each(|frame| sender.handle_acked(Instant::ZERO, frame));
        assert_eq!((sender.acked(), receiver.received(), sender.is_waiting()), ((60, 2), 60, false));
    }

    #[test]
    fn what_is_acknowledged_late_is_not_retransmitted() {
        let mut sender = Http3::default();
        sender.send(0, &OBJECT, 30);
        let mut credit = Credit::new(&Config::default());
        let frame = sender.poll(30, &mut credit).unwrap_or_else(|| unreachable!("it has data"));
        sender.handle_lost(&frame);
        sender.handle_acked(Instant::ZERO, &frame);
        sender.handle_lost(&frame);
        assert_eq!((sender.is_waiting(), sender.poll(30, &mut credit)), (false, None));
    }

    #[test]
    fn a_stream_at_its_limit_waits_and_another_is_sent() {
        let mut sender = Http3::default();
        sender.send(1, &Object { urgency: 1, ..OBJECT }, 30);
        sender.send(2, &OBJECT, 30);
        let windows = Config {
            stream_window: Bytes::from_bytes(20),
            connection_window: Bytes::from_bytes(35),
            ..Config::default()
        };
        let mut credit = Credit::new(&windows);
        let frames: Vec<_> = std::iter::from_fn(|| sender.poll(30, &mut credit)).collect();
        let sent: Vec<_> = frames.iter().map(|frame| (frame.stream, frame.range(), frame.fin)).collect();
        // 20 of the stream, then 15 that the connection still allows.
        assert_eq!(sent, [(1, SnRange::new(0, 20), false), (2, SnRange::new(0, 15), false)]);
        assert!(sender.is_waiting() && !sender.has_data(&credit));
        // Lost data needs no credit.
        sender.handle_lost(&frames[0]);
        assert_eq!(sender.poll(30, &mut credit), Some(frames[0]));
        assert_eq!(sender.poll(30, &mut credit), None);
    }
}

//! Flow control: RFC 9000 (4).
//!
//! A receiver limits the data of each stream and of the connection; a sender stops at either limit, and continues when the
//! peer raises it (MAX_STREAM_DATA, MAX_DATA). [`Credit`] has the limits of a sender, [`Windows`] the windows of a receiver.
//! The application reads data as soon as it is in order; a limit is what has been read plus the window.
//!
//! The RFC leaves the time of an update open (4.2). As in Chromium's QUIC (quiche, `quic_flow_controller.cc`), a limit is
//! raised when at most half of the window is left. If the update before it was sent less than two RTTs ago, the window
//! limits the sender and doubles, up to its maximum. A stream whose end has arrived gets no update.
//!
//! Left out: limits on the number of streams (4.6); DATA_BLOCKED and STREAM_DATA_BLOCKED (19.12, 19.13), which a receiver that
//! follows this rule does not need; closing a connection whose peer exceeds a limit, since simulated peers never do.

use super::frame::{Frame, StreamFrame};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// RTTs between two updates below which a window grows.
const QUICK_RTTS: u64 = 2;

parameters! {
    /// Flow control of both endpoints of a connection over QUIC, RFC 9000 (4).
    pub struct Config {
        /// Window of each stream: bytes that may be sent beyond the bytes read. Chromium has 6 MiB (`quic_context.cc`).
        pub stream_window: Bytes = Bytes::from_bytes(6 * 1024 * 1024),
        /// The window of a stream doubles up to this limit if it limits the sender; it is constant if absent. quiche's
        /// limit is 16 MiB.
        pub stream_window_max: Option<Bytes>,
        /// Window of all streams together. Chromium has 15 MiB.
        pub connection_window: Bytes = Bytes::from_bytes(15 * 1024 * 1024),
        /// The window of the connection doubles up to this limit if it limits the sender; it is constant if absent.
        /// quiche's limit is 24 MiB.
        pub connection_window_max: Option<Bytes>,
    }
}

impl Config {
    /// Refuses windows that cannot work.
    ///
    /// # Errors
    /// The error names the key, the problem, and a valid value.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        let windows = [
            ("stream_window", self.stream_window, "stream_window_max", self.stream_window_max),
            (
                "connection_window",
                self.connection_window,
                "connection_window_max",
                self.connection_window_max,
            ),
        ];
        for (key, window, key_of_most, most) in windows {
            if window.as_u64() == 0 {
                let hint = "write a size such as \"1 MB\"";
                return Err(ScenarioError::new(key, "nothing could be sent", hint));
            }
            if most.is_some_and(|most| most < window) {
                let hint = format!("write at least {key}, or remove the key");
                return Err(ScenarioError::new(key_of_most, "the window would begin above its limit", hint));
            }
        }
        Ok(())
    }
}

/// The limits that the peer has set, at a sender.
#[derive(Clone, Debug)]
pub struct Credit {
    /// Limit of a stream that the peer has not raised.
    initial: u64,
    streams: BTreeMap<u32, u64>,
    connection: u64,
    /// New bytes sent on all streams.
    sent: u64,
}

impl Credit {
    /// The limits that a peer with this configuration begins with.
    pub fn new(peer: &Config) -> Self {
        Self {
            initial: peer.stream_window.as_u64(),
            streams: BTreeMap::new(),
            connection: peer.connection_window.as_u64(),
            sent: 0,
        }
    }

    /// New bytes that may be sent now on a stream that has sent `sent` bytes.
    pub fn room(&self, stream: u32, sent: u64) -> u64 {
        let limit = self.streams.get(&stream).copied().unwrap_or(self.initial);
        limit.saturating_sub(sent).min(self.connection.saturating_sub(self.sent))
    }

    /// `bytes` are sent for the first time. Retransmissions need no credit: (4.1).
    pub fn spend(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// MAX_DATA arrived. A limit below the present one has no effect: (4.1).
    pub(super) fn raise_connection(&mut self, limit: u64) {
        self.connection = self.connection.max(limit);
    }

    /// MAX_STREAM_DATA arrived.
    pub(super) fn raise_stream(&mut self, stream: u32, limit: u64) {
        let of_stream = self.streams.entry(stream).or_insert(self.initial);
        *of_stream = limit.max(*of_stream);
    }
}

/// A window of a receiver, of a stream or of the connection.
#[derive(Clone, Debug)]
struct Window {
    size: u64,
    most: u64,
    /// Limit that the peer knows, or will know.
    limit: u64,
    read: u64,
    updated_at: Option<Instant>,
}

impl Window {
    fn new(size: Bytes, most: Option<Bytes>) -> Self {
        let size = size.as_u64();
        Self { size, most: most.map_or(size, Bytes::as_u64), limit: size, read: 0, updated_at: None }
    }

    /// The application has read `bytes`. Returns whether the limit rises.
    fn on_read(&mut self, now: Instant, bytes: u64, rtt: Duration) -> bool {
        self.read += bytes;
        if self.limit.saturating_sub(self.read) > self.size / 2 {
            return false;
        }
        let before = self.updated_at.replace(now);
        if before.is_some_and(|at| now.since(at) < rtt.saturating_mul(QUICK_RTTS)) {
            self.size = (2 * self.size).min(self.most).max(self.size);
        }
        self.limit = self.read + self.size;
        true
    }
}

/// Counters of flow control at an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FlowControlReport {
    /// Time in which only the peer's limits held data back, up to the last update.
    pub blocked_s: f64,
    /// MAX_DATA and MAX_STREAM_DATA frames sent.
    pub updates_sent: u64,
}

/// The windows of a receiver, and its limits that are to be sent.
#[derive(Clone, Debug)]
pub struct Windows {
    config: Config,
    connection: Window,
    streams: BTreeMap<u32, Window>,
    /// Streams whose end has arrived.
    ended: BTreeSet<u32>,
    owes_connection: bool,
    owes_streams: BTreeSet<u32>,
}

impl Windows {
    /// Nothing has arrived.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            connection: Window::new(config.connection_window, config.connection_window_max),
            streams: BTreeMap::new(),
            ended: BTreeSet::new(),
            owes_connection: false,
            owes_streams: BTreeSet::new(),
        }
    }

    /// Data arrived, after which the application reads `read` bytes of the stream; `rtt` is the smoothed RTT.
    pub fn on_data(&mut self, now: Instant, data: &StreamFrame, read: u64, rtt: Duration) {
        if data.fin && self.ended.insert(data.stream) {
            self.streams.remove(&data.stream);
            self.owes_streams.remove(&data.stream);
        }
        if read == 0 {
            return;
        }
        self.owes_connection |= self.connection.on_read(now, read, rtt);
        if !self.ended.contains(&data.stream) {
            let new = || Window::new(self.config.stream_window, self.config.stream_window_max);
            let window = self.streams.entry(data.stream).or_insert_with(new);
            if window.on_read(now, read, rtt) {
                self.owes_streams.insert(data.stream);
            }
        }
    }

    /// Whether a limit is to be sent.
    pub fn owes(&self) -> bool {
        self.owes_connection || !self.owes_streams.is_empty()
    }

    /// The next limit to be sent.
    pub fn poll(&mut self) -> Option<Frame> {
        if std::mem::take(&mut self.owes_connection) {
            return Some(Frame::MaxData(self.connection.limit));
        }
        let stream = self.owes_streams.pop_first()?;
        let limit = self.streams.get(&stream)?.limit;
        Some(Frame::MaxStreamData { stream, limit })
    }

    /// A limit was lost. It is retransmitted unless a higher one has been sent since, or the stream has ended: RFC 9000
    /// (13.3).
    pub fn handle_lost(&mut self, frame: &Frame) {
        match frame {
            Frame::MaxData(limit) => self.owes_connection |= *limit == self.connection.limit,
            Frame::MaxStreamData { stream, limit }
                if self.streams.get(stream).is_some_and(|window| window.limit == *limit) =>
            {
                self.owes_streams.insert(*stream);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn kb(count: u64) -> Bytes {
        Bytes::from_bytes(1000 * count)
    }

    fn data(stream: u32, offset: u64, len: u64, fin: bool) -> StreamFrame {
        StreamFrame { stream, offset, len, fin }
    }

    fn frames(windows: &mut Windows) -> Vec<Frame> {
        std::iter::from_fn(|| windows.poll()).collect()
    }

    #[test]
    fn a_limit_rises_when_half_of_the_window_is_left() {
        let config = Config { stream_window: kb(10), connection_window: kb(16), ..Config::default() };
        let mut windows = Windows::new(&config);
        windows.on_data(at(0), &data(1, 0, 4999, false), 4999, RTT);
        assert!(!windows.owes());
        // 5 of 10 kB are left.
        windows.on_data(at(1), &data(1, 4999, 1, false), 1, RTT);
        assert_eq!(frames(&mut windows), [Frame::MaxStreamData { stream: 1, limit: 15_000 }]);
        // On another stream: 8 of 16 kB are left.
        windows.on_data(at(2), &data(2, 0, 3000, false), 3000, RTT);
        assert_eq!(frames(&mut windows), [Frame::MaxData(24_000)]);
        // Data beyond a gap is not read.
        windows.on_data(at(3), &data(2, 4000, 9000, false), 0, RTT);
        assert!(!windows.owes());
    }

    #[test]
    fn a_stream_whose_end_has_arrived_gets_no_update() {
        let config = Config { stream_window: kb(10), ..Config::default() };
        let mut windows = Windows::new(&config);
        windows.on_data(at(0), &data(1, 6000, 1000, true), 0, RTT);
        windows.on_data(at(1), &data(1, 0, 6000, false), 7000, RTT);
        assert!(!windows.owes());
        // Nor is one repeated that was lost before.
        windows.on_data(at(2), &data(2, 0, 6000, false), 6000, RTT);
        let sent = frames(&mut windows);
        assert_eq!(sent, [Frame::MaxStreamData { stream: 2, limit: 16_000 }]);
        windows.on_data(at(3), &data(2, 6000, 1, true), 1, RTT);
        windows.handle_lost(&sent[0]);
        assert!(!windows.owes());
    }

    #[test]
    fn a_window_doubles_if_two_updates_are_less_than_two_rtts_apart() {
        let mut window = Window::new(kb(10), Some(kb(35)));
        let mut update = |millis, bytes| {
            assert!(window.on_read(at(millis), bytes, RTT));
            (window.size / 1000, window.limit / 1000)
        };
        // The first has none before it, and the second comes 200 ms later.
        assert_eq!(update(0, 5000), (10, 15));
        assert_eq!(update(200, 5000), (10, 20));
        // 199 ms: twice the window, then the limit of 35 kB.
        assert_eq!(update(399, 5000), (20, 35));
        assert_eq!(update(400, 10_000), (35, 60));
        assert_eq!(update(401, 20_000), (35, 80));
    }

    #[test]
    fn a_lost_limit_is_sent_again_if_no_higher_one_was() {
        let config = Config { connection_window: kb(10), ..Config::default() };
        let mut windows = Windows::new(&config);
        windows.on_data(at(0), &data(1, 0, 6000, false), 6000, RTT);
        let first = frames(&mut windows);
        windows.handle_lost(&first[0]);
        assert_eq!(frames(&mut windows), first);
        windows.on_data(at(500), &data(1, 6000, 6000, false), 6000, RTT);
        assert_eq!(frames(&mut windows), [Frame::MaxData(22_000)]);
        windows.handle_lost(&first[0]);
        assert!(!windows.owes());
    }

    #[test]
    fn the_smaller_limit_holds_and_never_falls() {
        let config = Config { stream_window: kb(10), connection_window: kb(12), ..Config::default() };
        let mut credit = Credit::new(&config);
        assert_eq!(credit.room(1, 4000), 6000);
        credit.spend(9000);
        assert_eq!((credit.room(1, 4000), credit.room(1, 10_000)), (3000, 0));
        credit.raise_connection(20_000);
        credit.raise_stream(1, 12_000);
        assert_eq!((credit.room(1, 10_000), credit.room(2, 0)), (2000, 10_000));
        credit.raise_connection(1000);
        credit.raise_stream(1, 1000);
        assert_eq!((credit.room(1, 10_000), credit.room(2, 0)), (2000, 10_000));
    }

    #[test]
    fn windows_that_cannot_work_are_refused() {
        let none = Config { connection_window: kb(0), ..Config::default() };
        let small = Config { stream_window_max: Some(kb(5)), ..Config::default() };
        let keys = [none, small].map(|config| config.validate().map_err(|error| error.to_string()));
        assert!(matches!(&keys[0], Err(text) if text.contains("connection_window")), "{keys:?}");
        assert!(matches!(&keys[1], Err(text) if text.contains("stream_window_max")), "{keys:?}");
    }
}

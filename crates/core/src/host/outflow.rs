//! The stream of bytes that an application sends over a connection, whichever paths carry it.

use super::FlowSpec;
use crate::app::App;
use crate::element::Cx;
use crate::time::Instant;
use crate::trace::{Event, Kind};

/// The sending application of a connection.
pub(super) struct Outflow {
    app: Box<dyn App>,
    /// UE and number of the flow.
    flow: (u16, u16),
    /// Bytes that have been supplied.
    pub supplied: u64,
    /// Once so many bytes have been acknowledged the application wants to know, or the transfer is complete.
    pub awaited: u64,
    /// When the application supplies more.
    pub next_supply: Instant,
    /// Start of the flow, before which the application's clock stands: an end that listens opens earlier.
    start: Instant,
    /// From when on the application supplies nothing; `Instant::NEVER` after that time.
    stop: Instant,
    has_stopped: bool,
    pub finished: Option<Instant>,
}

impl Outflow {
    /// The stream of the application of a flow, which supplies nothing new from the flow's `stop` on.
    pub fn new(app: Box<dyn App>, spec: &FlowSpec) -> Self {
        Self {
            app,
            flow: (spec.ue, spec.flow),
            supplied: 0,
            awaited: u64::MAX,
            next_supply: Instant::NEVER,
            start: spec.start,
            stop: spec.stop,
            has_stopped: false,
            finished: None,
        }
    }

    /// The application.
    pub fn app(&self) -> &dyn App {
        self.app.as_ref()
    }

    /// Bytes that the application supplies now. When it stops, `withdraw` takes back what was never sent, and returns the
    /// bytes that remain supplied.
    pub fn poll(&mut self, now: Instant, withdraw: impl FnOnce() -> u64) -> u64 {
        if self.stop <= now {
            self.supplied = withdraw();
            (self.stop, self.has_stopped) = (Instant::NEVER, true);
        }
        let bytes = if self.has_stopped { 0 } else { self.app.poll_supply(now.max(self.start)) };
        self.supplied = self.supplied.saturating_add(bytes);
        let next = self.app.deadline().filter(|_| !self.has_stopped).unwrap_or(Instant::NEVER);
        self.next_supply = next.min(self.stop);
        self.await_acked();
        bytes
    }

    /// The first `acked` bytes have been acknowledged. Returns whether the application may now supply more.
    pub fn tell_acked(&mut self, cx: &mut Cx<'_>, acked: u64) -> bool {
        let is_awaited = self.app.awaits_acked().is_some_and(|awaited| awaited <= acked);
        if is_awaited {
            self.app.handle_acked(cx.now, acked);
            if let Some(segment) = self.app.take_segment() {
                let (ue, flow) = self.flow;
                cx.probe(Kind::VideoSegment, || Event::VideoSegment {
                    ue,
                    flow,
                    segment: segment.number,
                    rate_bps: segment.rate_bps,
                    download_ns: segment.download.as_nanos(),
                    buffer_ns: segment.buffer.as_nanos(),
                    stalled_ns: segment.stalled.as_nanos(),
                    player: segment.player,
                });
            }
        }
        is_awaited
    }

    /// Ends the transfer if all of it has been acknowledged, and determines what is awaited next.
    pub fn settle(&mut self, cx: &mut Cx<'_>, acked: u64) {
        if self.is_done() && acked >= self.supplied && self.finished.is_none() {
            self.finished = Some(cx.now);
            cx.finish_transfer();
        }
        self.await_acked();
    }

    fn await_acked(&mut self) {
        let ends = (self.is_done() && self.finished.is_none()).then_some(self.supplied);
        self.awaited = self.app.awaits_acked().into_iter().chain(ends).min().unwrap_or(u64::MAX);
    }

    fn is_done(&self) -> bool {
        self.has_stopped || self.app.is_done()
    }
}

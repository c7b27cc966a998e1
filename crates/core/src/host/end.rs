//! The interface of a host to ends of flows that are not plain TCP, and the counts of any end for reports.

use super::{FlowSpec, Interface};
use crate::app::App;
use crate::app::datagrams::Datagrams;
use crate::app::web::Browser;
use crate::delays::{DelayReport, Delays};
use crate::element::Cx;
use crate::packet::Packet;
use crate::quic;
use crate::steering::Steering;
use crate::tcp::{Receiver, Sender};
use crate::time::Instant;

/// An end of a flow. After each call but `acts_first` and `counted` the host calls `pump`.
pub(super) trait FlowEnd: Send + Sync {
    /// Whether it acts first, at the flow's start, or listens from the beginning; `None` if another end of this host opens
    /// it by arming its timer.
    fn acts_first(&self, spec: &FlowSpec) -> Option<bool>;

    /// The flow starts, or the end begins to listen. `pages` are those of the host.
    fn open(&mut self, now: Instant, spec: &FlowSpec, pages: &mut [Browser]) {
        let _ = (now, spec, pages);
    }

    /// A packet of the flow arrived; the end may arm timers of neighbouring ends, whose keys follow or precede `key`.
    fn handle_packet(
        &mut self,
        cx: &mut Cx<'_>,
        spec: &FlowSpec,
        packet: &mut Packet,
        pages: &mut [Browser],
        key: u32,
    );

    /// Its deadline has passed, or another end of this host has armed its timer.
    fn handle_deadline(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, pages: &mut [Browser]) {
        let _ = (cx, spec, pages);
    }

    /// Sends what may be sent, and arms the timer under `key` for the next deadline.
    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32);

    /// What it has counted.
    fn counted(&self) -> Counted<'_>;

    /// Settings from outside and measurements, if a program can steer it.
    fn steering(&mut self) -> Option<&mut Steering> {
        None
    }
}

/// What an end of a flow has counted, for the flow's report.
#[derive(Default)]
pub(super) struct Counted<'a> {
    /// TCP's sender of the flow's data, or of requests for it.
    pub sender: Option<&'a Sender>,
    /// TCP's receiver of the flow's data, with one-way delays.
    pub receiver: Option<(&'a Receiver, &'a Delays)>,
    pub datagrams: Option<&'a dyn Datagrams>,
    pub quic: Option<Box<QuicCounts>>,
    /// The application whose data TCP's sender sends, where it has a report.
    pub app: Option<&'a dyn App>,
    /// When the flow began, where that is not its start.
    pub opened_at: Option<Instant>,
    /// When the last byte of a finite transfer was acknowledged.
    pub finished: Option<Instant>,
    /// Bytes of a transfer whose size the application's parameters do not say.
    pub bytes: Option<u64>,
    /// When the latest byte in sequence arrived; of a finite transfer without other bytes, the last one.
    pub received_at: Option<Instant>,
    /// Index of the page among those of the host.
    pub page: Option<usize>,
}

/// What an end of a connection over QUIC has counted, for the flow's report.
#[derive(Clone, Debug, Default)]
pub(super) struct QuicCounts {
    pub report: quic::Report,
    /// Bytes of streams that it received in order, and of its own that were acknowledged.
    pub received: u64,
    pub acked: u64,
    pub in_flight: u64,
    /// Bytes of all responses, known to both ends.
    pub size: u64,
    pub one_way_delay_ms: DelayReport,
    /// When the last response was acknowledged, or had arrived.
    pub finished: Option<Instant>,
    /// Index of the page at the UEs' host.
    pub page: Option<usize>,
}

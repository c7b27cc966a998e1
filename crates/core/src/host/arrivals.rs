//! The ends of files that come and go: a number without packets that starts the files, and the connections that they use in
//! turn. Both hosts compute the same files from the same stream, and replace the endpoints of a connection at the same
//! instant.

use super::{End, Endpoint, Host, ReceivingEnd, SendingEnd};
use crate::app::arrivals::{Arrivals, Transfer};
use crate::app::file::File;
use crate::app::transfers::Tally;
use crate::element::Cx;
use crate::packet::Dir;
use crate::rng;
use crate::tcp::handshake::Role;
use crate::tcp::{self, Receiver, Sender};
use crate::time::Instant;

/// What starts the files of a flow, at either host.
pub(super) struct ArrivalsEnd {
    arrivals: Arrivals,
    next: Option<Transfer>,
    started: u64,
    /// Counts of files whose connection another file has taken.
    past: Counts,
}

/// What one host has counted of files.
#[derive(Clone, Default)]
pub(super) struct Counts {
    pub tally: Tally,
    /// Payload acknowledged, or received in sequence.
    pub bytes: u64,
    pub sender: tcp::sender::Counters,
    pub receiver: tcp::receiver::Counters,
    pub abandoned: u64,
}

impl ArrivalsEnd {
    pub fn new(mut arrivals: Arrivals) -> Self {
        let next = arrivals.next();
        Self { arrivals, next, started: 0, past: Counts::default() }
    }

    /// Connections of the flow; they follow its own number.
    pub fn connections(&self) -> usize {
        self.arrivals.connections.into()
    }

    /// Those connections that have been used.
    pub fn used(&self) -> usize {
        self.connections().min(usize::try_from(self.started).unwrap_or(usize::MAX))
    }

    /// The file that starts now in a flow that starts at `flow`, and its connection, from 1; or when the next one starts.
    fn poll(
        &mut self,
        flow: Instant,
        stop: Instant,
        now: Instant,
    ) -> Result<(Transfer, usize), Option<Instant>> {
        let Some(next) = self.next.filter(|next| next.at(flow) < stop) else { return Err(None) };
        if next.at(flow) > now {
            return Err(Some(next.at(flow)));
        }
        let connection = (self.started % u64::from(self.arrivals.connections)) as usize;
        self.started += 1;
        self.next = self.arrivals.next();
        Ok((next, 1 + connection))
    }
}

impl Counts {
    fn add(&mut self, endpoint: &Endpoint) {
        let start = endpoint.spec.start;
        let ended = match &endpoint.end {
            End::Sends(end) => {
                self.sender.add(&end.sender.counters());
                self.bytes += end.sender.state().una;
                end.stream.finished.map(|at| (end.stream.supplied, at))
            }
            End::Receives(end) => {
                self.receiver.add(end.receiver.counters());
                self.bytes += end.receiver.rcv_nxt();
                end.complete.map(|at| (end.size, at))
            }
            _ => return,
        };
        if let Some((bytes, at)) = ended {
            self.tally.complete(bytes, at.since(start));
        }
    }
}

impl Endpoint {
    /// Makes the endpoint that of a new file.
    fn begin(&mut self, transfer: Transfer, flow_start: Instant, host: Dir, seed: u64, number: u64) {
        let spec = &mut self.spec;
        spec.start = transfer.at(flow_start);
        let role = if host == Dir::Uplink { Role::Active } else { Role::Passive };
        self.end = if spec.dir == host {
            let mut sender = Box::new(Sender::new(&spec.tcp, role));
            sender.seed(|| {
                let name = format!("ue{}.flow{}.file{number}.{}.cc", spec.ue, spec.flow, host.name());
                rng::stream(seed, &name)
            });
            End::Sends(SendingEnd::new(sender, Box::new(File::new(transfer.size)), spec))
        } else {
            End::Receives(ReceivingEnd::new(Box::new(Receiver::new(&spec.tcp, role)), transfer.size))
        };
        self.opened = false;
    }

    /// Whether it has a file that is neither acknowledged (at its sender) nor received (at its receiver).
    fn is_incomplete(&self) -> bool {
        match &self.end {
            End::Sends(end) => end.stream.finished.is_none(),
            End::Receives(end) => end.complete.is_none(),
            _ => false,
        }
    }
}

impl Host {
    /// Starts the files that are due of the flow at `index`, and arms its timer for the next one.
    pub(super) fn start_files(&mut self, cx: &mut Cx<'_>, index: usize) {
        let (dir, seed) = (self.interface.dir, self.run_seed);
        loop {
            let (source, connections) = self.endpoints[index..].split_at_mut(1);
            let Endpoint { spec, end: End::Arrivals(end), .. } = &mut source[0] else { return };
            match end.poll(spec.start, spec.stop, cx.now) {
                Err(next) => return super::arm(cx, index as u32, next),
                Ok((transfer, connection)) => {
                    let endpoint = &mut connections[connection - 1];
                    end.past.add(endpoint);
                    if endpoint.is_incomplete() {
                        end.past.abandoned += 1;
                        cx.finish_transfer();
                    }
                    endpoint.begin(transfer, spec.start, dir, seed, end.started);
                    endpoint.open(cx.now, &mut self.pages);
                    let key = (index + connection) as u32;
                    endpoint.end.pump(cx, &endpoint.spec, &mut self.interface, key);
                }
            }
        }
    }
}

/// A host's counts of the files of the flow whose own number is at `index`, preceded by how many have started.
pub(super) fn counts(host: &Host, index: usize) -> (u64, Counts) {
    let End::Arrivals(end) = &host.endpoints[index].end else { return Default::default() };
    let mut counts = end.past.clone();
    host.endpoints[index + 1..][..end.used()].iter().for_each(|endpoint| counts.add(endpoint));
    (end.started, counts)
}

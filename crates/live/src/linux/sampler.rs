//! Looks at the kernel's TCP again and again, in a thread of its own.

use super::kernel::{Sockets, TcpInfo};
use super::tuns::Clock;
use super::writer::{Outbox, Record};
use crate::flows::FlowKey;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the kernel said last of each connection's sending end.
pub type LastSeen = HashMap<FlowKey, TcpInfo>;

/// The thread.
pub struct Sampler {
    /// Connections to look at; the thread ends when this is gone.
    connections: Sender<FlowKey>,
    thread: JoinHandle<LastSeen>,
}

impl Sampler {
    /// Looks at both ends of each connection once in an interval. Samples go to the outbox if wanted there.
    pub fn start(sockets: [Sockets; 2], clock: Clock, interval: Duration, outbox: Option<Outbox>) -> Self {
        let (connections, new) = channel();
        let thread = std::thread::spawn(move || watch(sockets, clock, interval, outbox.as_ref(), &new));
        Self { connections, thread }
    }

    /// From now on also looks at this connection, until it has ended.
    pub fn add(&self, key: FlowKey) {
        let _ = self.connections.send(key);
    }

    /// Ends the thread and returns what was seen last.
    pub fn stop(self) -> LastSeen {
        drop(self.connections);
        self.thread.join().unwrap_or_default()
    }
}

fn watch(
    mut sockets: [Sockets; 2],
    clock: Clock,
    interval: Duration,
    outbox: Option<&Outbox>,
    new: &Receiver<FlowKey>,
) -> LastSeen {
    let (mut last, mut open) = (LastSeen::new(), Vec::new());
    loop {
        open.retain(|key| look(&mut sockets, clock, *key, &mut last, outbox));
        match new.recv_timeout(interval) {
            Ok(first) => {
                for key in std::iter::once(first).chain(new.try_iter()) {
                    // A new connection over the ports of an old one begins anew.
                    last.remove(&key);
                    open.retain(|other| *other != key);
                    open.push(key);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return last,
        }
    }
}

/// Looks at a connection once; false if it has ended. The end that has had more acknowledged is the one
/// whose window matters.
fn look(
    sockets: &mut [Sockets; 2],
    clock: Clock,
    key: FlowKey,
    last: &mut LastSeen,
    outbox: Option<&Outbox>,
) -> bool {
    let [server, ue] = sockets;
    let ends = [server.tcp(key.server, key.ue), ue.tcp(key.ue, key.server)];
    let ends = ends.into_iter().filter_map(|end| end.ok().flatten());
    let Some(info) = ends.max_by_key(TcpInfo::bytes_acked) else { return false };
    // The sender may be gone before the receiver, whose window never mattered.
    if last.get(&key).is_some_and(|before| before.bytes_acked() > info.bytes_acked()) {
        return true;
    }
    if let Some(outbox) = outbox {
        outbox.put(Record::Sample(clock.now(), key, Box::new(info.clone())));
    }
    last.insert(key, info);
    true
}

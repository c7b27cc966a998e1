//! Looks at the kernel's TCP again and again, in a thread of its own.

use super::kernel::{Sockets, TcpInfo};
use super::tuns::Clock;
use super::writer::{Outbox, Record};
use crate::flows::{FlowKey, MOST_FLOWS};
use airpath_core::packet::Dir;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the kernel said last of each connection's sending end.
pub type LastSeen = HashMap<FlowKey, TcpInfo>;

/// The thread.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<LastSeen>,
}

impl Sampler {
    /// Looks at the sockets of both ends once in an interval. Samples go to the outbox if wanted there.
    pub fn start(sockets: [Sockets; 2], clock: Clock, interval: Duration, outbox: Option<Outbox>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut sockets = sockets;
            let mut last = LastSeen::new();
            while !stopped.load(Ordering::Relaxed) {
                look(&mut sockets, clock, &mut last, outbox.as_ref());
                std::thread::sleep(interval);
            }
            last
        });
        Self { stop, thread }
    }

    /// Ends the thread and returns what was seen last.
    pub fn stop(self) -> LastSeen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Of each connection the end that has had more acknowledged is the one whose window matters.
fn look(sockets: &mut [Sockets; 2], clock: Clock, last: &mut LastSeen, outbox: Option<&Outbox>) {
    let mut senders: HashMap<FlowKey, TcpInfo> = HashMap::new();
    for dir in Dir::BOTH {
        for info in sockets[dir.index()].tcp().unwrap_or_default() {
            let key = info.key(dir);
            let is_sender = senders.get(&key).is_none_or(|other| info.bytes_acked() > other.bytes_acked());
            if is_sender {
                senders.insert(key, info);
            }
        }
    }
    let now = clock.now();
    for (key, info) in senders {
        if let Some(outbox) = outbox {
            outbox.put(Record::Sample(now, key, Box::new(info.clone())));
        }
        if last.len() < usize::from(MOST_FLOWS) || last.contains_key(&key) {
            last.insert(key, info);
        }
    }
}

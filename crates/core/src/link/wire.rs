//! A link between regions of a path, which are driven window by window: it sees when packets come and how long they
//! are, in order, and not the packets.

use super::{Config, Half, report_of};
use crate::packet::{Dir, Packet};
use crate::queue::{Aqm, Discipline, Verdict};
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use serde_json::Value;

/// The link.
pub(crate) struct Wire {
    halves: [Half; 2],
    dropped_queue_full: u64,
    dropped_loss: u64,
    /// Has the length of the present packet.
    scratch: Packet,
}

impl Wire {
    /// The link that [`Config::build`] makes with the same seed and name; `None` if its queue asks for more than the
    /// length of a packet.
    pub fn new(config: &Config, run_seed: u64, name: &str) -> Option<Self> {
        let halves = config.halves(run_seed, name);
        let is_simple = |half: &Half| half.is_infinite || matches!(half.queue, Discipline::Droptail(_));
        let scratch = Packet::default();
        halves.iter().all(is_simple).then(|| Self { halves, dropped_queue_full: 0, dropped_loss: 0, scratch })
    }

    /// A packet of `len` bytes comes at `at`, not before the previous one in this direction. Returns its arrival.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline(always)]
    pub fn pass(&mut self, dir: Dir, at: Instant, len: u32) -> Result<Instant, Reason> {
        let half = &mut self.halves[dir.index()];
        let mut sent = at;
        self.scratch.len = len;
        if !half.is_infinite {
            half.accounting.settle(at);
            if !half.queue.has_room(&self.scratch, &half.accounting)
                && let Verdict::Drop(reason) = half.queue.admit(at, &self.scratch, &half.accounting)
            {
                self.dropped_queue_full += 1;
                return Err(reason);
            }
            sent = half.accounting.transmit(at, &self.scratch);
        }
        half.packets += 1;
        half.bytes += u64::from(len);
        if half.is_lossy && half.stream.chance(half.loss) {
            self.dropped_loss += 1;
            return Err(Reason::LinkLoss);
        }
        Ok(sent + half.delay)
    }

    /// The least time from a packet's coming to its arrival, in each direction.
    pub fn delays(&self) -> [Duration; 2] {
        self.halves.each_ref().map(|half| half.delay)
    }

    /// The link's report.
    pub fn report(&self) -> Value {
        report_of(self.halves.each_ref(), self.dropped_queue_full, self.dropped_loss)
    }
}

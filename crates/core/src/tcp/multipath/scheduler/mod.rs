//! Schedulers: which path the next data of a connection takes.
//!
//! A scheduler orders the paths that may take new data now, and the data level tries them in this order: a path whose
//! congestion window is full takes nothing. One whose paths have queues of their own chooses a queue instead. Paths of
//! backup subflows are used only while no other works.

pub mod blest;
pub mod linux;
pub mod min_rtt;
pub mod redundant;
pub mod round_robin;

use crate::error::ScenarioError;
use crate::registry::registry;
use crate::time::Duration;

/// A path as a scheduler sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathState {
    /// Its subflow is open, and has not timed out.
    pub is_usable: bool,
    /// It is used only if no other works.
    pub is_backup: bool,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Congestion window, bytes.
    pub cwnd: f64,
    /// Payload of a full segment, bytes.
    pub mss: f64,
    /// Bytes unacknowledged, or waiting in its own queue.
    pub queued: u64,
    /// The same with the memory overhead of segments, as Linux counts it.
    pub memory: u64,
    /// Segments unacknowledged.
    pub in_flight: u64,
    /// Rate at which it would pace, B/s; 0 before the first RTT.
    pub rate: f64,
    /// Bytes that its queue may hold.
    pub send_buffer: u64,
}

/// Decides on the paths of one connection.
pub trait Scheduler: Send + Sync {
    /// Puts the paths that may take new data into `order`, the preferred one first. `window` bytes may be outstanding at
    /// data level.
    fn order(&mut self, paths: &[PathState], window: u64, order: &mut Vec<usize>) {
        let _ = (paths, window);
        order.clear();
    }

    /// A path has taken `bytes` bytes.
    fn on_taken(&mut self, path: usize, bytes: u64) {
        let _ = (path, bytes);
    }

    /// Whether every path carries all data.
    fn is_redundant(&self) -> bool {
        false
    }

    /// Whether paths have queues of their own, which take data before the congestion window permits it.
    fn has_queues(&self) -> bool {
        false
    }

    /// Queues may take data again, after an ACK or new data.
    fn on_push(&mut self) {}

    /// The path whose queue takes the next data, if one has room; `window` bytes more may be sent at data level.
    fn choose_queue(&mut self, paths: &[PathState], window: u64) -> Option<usize> {
        let _ = (paths, window);
        None
    }
}

/// Properties of a scheduler's parameters.
pub trait Component {
    /// Makes the scheduler of a connection with so many paths.
    fn build(&self, paths: usize) -> Box<dyn Scheduler>;

    /// Whether a path may repeat data of another when the receive window blocks it.
    fn allows_opportunistic(&self) -> bool {
        true
    }

    /// The number of paths that the parameters are for, if it matters.
    fn paths(&self) -> Option<usize> {
        None
    }

    /// Refuses values that cannot work.
    ///
    /// # Errors
    /// The error names the key below the scheduler, the problem, and a valid value.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }
}

registry! {
    /// A scheduler of paths and its parameters.
    pub enum Config: Component, default MinRtt, validate() {
        Blest = blest,
        Linux = linux,
        MinRtt = min_rtt,
        Redundant = redundant,
        RoundRobin = round_robin,
    }
}

/// Usable paths, those of backup subflows only if there is no other.
fn candidates(paths: &[PathState]) -> impl Iterator<Item = usize> {
    let only_backups = !paths.iter().any(|path| path.is_usable && !path.is_backup);
    let may = move |path: &PathState| path.is_usable && path.is_backup == only_backups;
    paths.iter().enumerate().filter(move |(_, path)| may(path)).map(|(path, _)| path)
}

/// Usable paths by their RTT, the shortest first.
fn by_rtt(paths: &[PathState], order: &mut Vec<usize>) {
    order.clear();
    order.extend(candidates(paths));
    order.sort_by_key(|path| (paths[*path].srtt, *path));
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A path of 20 segments per RTT, without anything in flight unless `queued`.
    pub fn path(rtt_ms: u64, queued: u64) -> PathState {
        PathState {
            is_usable: true,
            srtt: Duration::from_millis(rtt_ms),
            cwnd: 20_000.0,
            mss: 1000.0,
            queued,
            memory: queued,
            in_flight: queued / 1000,
            rate: 20_000.0 / (rtt_ms as f64 / 1000.0),
            send_buffer: 40_000,
            ..PathState::default()
        }
    }

    /// The order after `last` has taken a segment.
    pub fn order(config: &dyn Component, last: usize, paths: &[PathState], window: u64) -> Vec<usize> {
        let mut scheduler = config.build(paths.len());
        scheduler.on_taken(last, 1000);
        let mut order = Vec::new();
        scheduler.order(paths, window, &mut order);
        order
    }

    #[test]
    fn a_backup_is_used_while_no_other_path_works() {
        let mut paths = [path(50, 0), PathState { is_backup: true, ..path(20, 0) }];
        assert_eq!(order(&min_rtt::Config::default(), 0, &paths, 1 << 20), [0]);
        paths[0].is_usable = false;
        assert_eq!(order(&min_rtt::Config::default(), 0, &paths, 1 << 20), [1]);
    }
}

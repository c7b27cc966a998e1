use crate::time::{Duration, Instant};
pub struct Reordering<T>(Vec<T>);
impl<T> Reordering<T> {
    pub fn new(_window: u8, _t1: Duration) -> Self {
        Self(Vec::new())
    }
    pub fn handle_block(&mut self, _now: Instant, _tsn: u64, block: T, out: &mut Vec<T>) {
        out.push(block)
    }
    pub fn expiry(&self) -> Instant {
        Instant::NEVER
    }
    pub fn handle_expiry(&mut self, _now: Instant, _out: &mut Vec<T>) {}
    pub fn reset(&mut self, _next: u64, _out: &mut Vec<T>) {}
}

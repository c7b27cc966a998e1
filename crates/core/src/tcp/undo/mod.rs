//! Undo: whether a timeout or a fast retransmit was spurious, and what is taken back if it was.
//!
//! Detection is exchangeable; what a sender does then is in [`response`].

pub mod dsack;
pub mod eifel;
pub mod frto;
pub mod linux;
pub mod none;
pub mod response;

use super::scoreboard::SackNews;
use super::state::State;
use crate::registry::registry;

/// How a spurious loss recovery is detected.
pub trait Undo: Send + Sync {
    /// A loss recovery begins, or the timer expires during one: then it is not the `first`. Called before
    /// the retransmission.
    fn on_loss(&mut self, state: &State, is_timeout: bool, first: bool);

    /// The connection has timestamps; once, before anything is sent.
    fn on_timestamps(&mut self) {}

    /// A segment was sent again, with this timestamp.
    fn on_retransmission(&mut self, ts_val: u32) {
        let _ = ts_val;
    }

    /// An ACK arrived; `state.una` has not moved yet.
    fn on_ack(&mut self, state: &State, ack: &Ack) -> Verdict;

    /// Whether a spurious timeout makes the timer more careful: RFC 4015 (3.2) step 8.
    fn adapts_timer(&self) -> bool {
        true
    }

    /// What is done after a spurious recovery.
    fn response(&self) -> response::Response {
        response::Response::Rfc4015
    }
}

/// What detection sees of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// What it acknowledges.
    pub ack: u64,
    /// It is a duplicate ACK for the loss recovery in use.
    pub is_dupack: bool,
    /// Echoed timestamp.
    pub ts_ecr: u32,
    /// What its SACK blocks brought.
    pub news: SackNews,
    /// There is new data that the receiver's window lets go once this ACK is taken in.
    pub can_send_new: bool,
}

/// What an ACK tells of the loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing, or nothing new.
    Open,
    /// Not yet enough: send two new segments instead of going back, RFC 5682 (2.1) step 2b.
    Probe,
    /// The loss was one after all: go back from the first unacknowledged segment.
    Genuine,
    /// Nothing was lost.
    Spurious,
}

registry! {
    /// A detection of spurious loss recoveries and its parameters.
    pub enum Config: build() -> Option<Box<dyn Undo>> {
        None = none,
        Dsack = dsack,
        Eifel = eifel,
        Frto = frto,
        Linux = linux,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::None(none::Config::default())
    }
}

//! A transfer without end: the sender always has data.

use super::{App, Carrier, Component, Traffic};
use crate::rng::Stream;
use crate::time::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A transfer without end.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

impl Component for Config {
    fn build(&self, _stream: Stream) -> Traffic {
        Traffic::Stream(Box::new(Bulk))
    }

    fn carrier(&self) -> Carrier {
        Carrier::Tcp
    }
}

struct Bulk;

impl App for Bulk {
    fn poll_supply(&mut self, _now: Instant) -> u64 {
        u64::MAX
    }
}

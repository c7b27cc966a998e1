//! One file: the transfer is complete when its last byte has been acknowledged.

use super::{App, Carrier, Component, Traffic};
use crate::error::ScenarioError;
use crate::rng::Stream;
use crate::time::Instant;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One file; the transfer is complete when its last byte is acknowledged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// TCP payload to be transferred.
    pub size: Bytes,
}

impl Default for Config {
    fn default() -> Self {
        Self { size: Bytes::from_bytes(1_000_000) }
    }
}

impl Component for Config {
    fn build(&self, _stream: Stream) -> Traffic {
        Traffic::Stream(Box::new(File::new(self.size.as_u64())))
    }

    fn carrier(&self) -> Carrier {
        Carrier::Tcp
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.size.as_u64() == 0 {
            let hint = "write a size such as \"1 MB\"";
            return Err(ScenarioError::new("size", "a file of no bytes", hint));
        }
        Ok(())
    }

    fn size(&self) -> Option<u64> {
        Some(self.size.as_u64())
    }

    fn ends(&self, _connection: u16) -> u32 {
        2
    }
}

/// A file at its sender.
pub(crate) struct File {
    /// Bytes that have not been supplied.
    left: u64,
}

impl File {
    /// A file of `size` bytes.
    pub fn new(size: u64) -> Self {
        Self { left: size }
    }
}

impl App for File {
    fn poll_supply(&mut self, _now: Instant) -> u64 {
        std::mem::take(&mut self.left)
    }
}

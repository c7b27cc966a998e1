//! Applications: what a flow has to carry.

pub mod bulk;
pub mod file;

use crate::error::ScenarioError;
use crate::registry::registry;

/// An application at the sending host.
pub trait App: Send + Sync {
    /// The flow starts: bytes that the application supplies at once, `u64::MAX` without end.
    fn handle_start(&mut self) -> u64;
}

registry! {
    /// An application and its parameters.
    pub enum Config: build() -> Box<dyn App> {
        Bulk = bulk,
        File = file,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::Bulk(bulk::Config::default())
    }
}

impl Config {
    /// Bytes of a transfer that ends by itself.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::File(config) => Some(config.size.as_u64()),
            Self::Bulk(_) => None,
        }
    }

    /// Whether the transfer ends by itself.
    pub fn is_finite(&self) -> bool {
        self.size().is_some()
    }

    /// Refuses what cannot be sent.
    ///
    /// # Errors
    /// Names the key below `app`, what is wrong, and what would be right.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        match self {
            Self::File(config) if config.size.as_u64() == 0 => {
                let hint = "write a size such as \"1 MB\"";
                Err(ScenarioError::new("file.size", "a file of no bytes", hint))
            }
            Self::File(_) | Self::Bulk(_) => Ok(()),
        }
    }
}

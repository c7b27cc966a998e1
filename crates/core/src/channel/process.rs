//! A link whose rate is a random process fitted to a recording: delivery opportunities without end, by the seed.
//!
//! A recording is one sample of a link. The process has the statistics of the recording that decide what TCP sees, and
//! gives as many samples as there are seeds, of any length:
//!
//! 1. Time is divided into bins of 100 ms. The number of packets that a bin can carry has the recorded distribution
//!    ([`Model::counts`]) and the recorded autocorrelation: its normal score is a sum of Ornstein-Uhlenbeck processes
//!    with several time constants, a Gaussian copula (see `rank`).
//! 2. Outages come in episodes: recorded sequences of silences and what was carried between them. Episodes are more
//!    frequent after a bad second ([`Outages`]). The clock of the bins stands still during an episode.
//! 3. Within a bin the packets lie in bursts and silences with the recorded distributions, by the level of the bin
//!    ([`Texture`]).
//!
//! The uplink and the downlink of a UE may share a part of each component and of the episodes: the shared draws come
//! from a stream that is named after the UE, so neither direction depends on when the other is queried.
//!
//! Left out: reaction to load, which only a modelled cell has; losses and delay; bursts after an outage, which change
//! little. Source of 1: M. C. Cario, B. L. Nelson, "Autoregressive to anything: Time-series input processes for
//! simulation", Operations Research Letters 19, 1996. ASSUMED: 2 and 3, based on recorded links.

mod layout;
mod model;
mod rank;
mod walk;

pub use model::{Model, Outages, Texture};

use super::trace_file::Spacing;
use super::{Channel, Component, Kind, Offered, Opportunity, as_same, ue_of};
use crate::element::Adopt;
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rng;
use crate::time::Instant;
use crate::units::Bitrate;
use model::Prepared;
use std::sync::Arc;
use walk::Walk;

/// Bytes of an opportunity.
const OPPORTUNITY_BYTES: u32 = 1500;

parameters! {
    /// A link whose rate is a random process fitted to a recording.
    pub struct Config {
        /// Path of a model, as JSON or TOML, from the folder of the scenario. A resolved scenario has the model instead.
        pub file: Option<String>,
        /// The model itself, instead of a file.
        pub model: Model,
        /// Mean rate that the model is scaled to; the model's own mean if absent.
        pub mean: Option<Bitrate>,
        /// Where the opportunities of one millisecond lie in it.
        pub spacing: Spacing,
    }
}

impl Component for Config {
    fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        let shared = rng::stream(run_seed, &format!("{}.process", ue_of(name)));
        let model = Arc::new(Prepared::new(&self.model, self.mean));
        let walk = Walk::new(model, shared, rng::stream(run_seed, name), self.spacing);
        Box::new(Process { walk, last: None })
    }

    fn kind(&self) -> Kind {
        Kind::Opportunities
    }

    fn mean_rate(&self) -> Option<Bitrate> {
        Some(self.mean.unwrap_or_else(|| self.model.mean_rate()))
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.file.is_some() {
            return Err(ScenarioError::new("file", "was not read", "give the model itself, as model"));
        }
        self.model.validate().map_err(|error| error.under("model"))?;
        match self.mean {
            Some(mean) if !model::RATES_BPS.contains(&(mean.as_bps() as f64)) => {
                let hint = "write a rate from \"1 kbit/s\" to \"20 Gbit/s\"";
                Err(ScenarioError::new("mean", format!("{mean} is no rate of a process"), hint))
            }
            Some(mean) => self.model.validate_mean(mean),
            None => Ok(()),
        }
    }
}

struct Process {
    walk: Walk,
    /// Time of the opportunity that was taken last.
    last: Option<Instant>,
}

impl Channel for Process {
    fn next_opportunity(&mut self, from: Instant) -> Option<Opportunity> {
        self.walk.skip_to(from);
        let at = self.walk.take();
        self.last = Some(at);
        Some(Opportunity { at, bytes: OPPORTUNITY_BYTES })
    }

    fn offered(&self, now: Instant) -> Offered {
        let mut walk = self.walk.clone();
        walk.skip_to(now + crate::time::Duration::from_nanos(1));
        // At most the last one was taken before its time.
        let ahead = u64::from(self.last.is_some_and(|last| last > now));
        let opportunities = walk.passed() - ahead;
        Offered { opportunities, bytes: opportunities * u64::from(OPPORTUNITY_BYTES) }
    }

    /// Another realisation from `now` on.
    fn adopt(&mut self, now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        let Some(mut fresh) = as_same::<Self>(fresh).filter(|_| how == Adopt::Streams) else { return false };
        self.walk.skip_to(now);
        fresh
            .walk
            .skip_to(self.last.map_or(now, |last| now.max(last + crate::time::Duration::from_nanos(1))));
        self.walk = fresh.walk.counted_from(self.walk.passed());
        true
    }
}

#[cfg(test)]
mod tests;

//! Parameters of a cell of dedicated channels: its bearers, the bearers of traffic classes, and their
//! consistency.

use crate::activity::{self, Offers};
use crate::channel;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::pdcp;
use crate::queue;
use crate::registry::parameters;
use crate::rlc;
use crate::time::Duration;
use crate::umts::TrafficClass;
use crate::units::Bitrate;
use std::collections::BTreeMap;

parameters! {
    /// A cell of dedicated channels.
    pub struct Config {
        /// Number of UEs; each has its own pair of bearers.
        pub ues: u16 = 1,
        /// Bearers towards the UEs.
        pub downlink: BearerConfig,
        /// Bearers from the UEs.
        pub uplink: BearerConfig = BearerConfig { rate: Bitrate::from_bps(64_000), ..Default::default() },
        /// Bearers of the UEs of a traffic class, where they differ; the classes are in `[umts]`.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub qos: BTreeMap<TrafficClass, ClassConfig>,
        /// DRX and RRC states of silent UEs; always active if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub activity: Option<activity::Config>,
    }

    /// Bearers of the UEs of a traffic class, where they are not the cell's own. A direction that is not
    /// given uses the cell's own bearer.
    pub struct ClassConfig {
        /// Bearers towards the UEs.
        pub downlink: Option<BearerConfig>,
        /// Bearers from the UEs.
        pub uplink: Option<BearerConfig>,
    }
}

impl ClassConfig {
    fn bearer(&self, dir: Dir) -> Option<&BearerConfig> {
        dir.pick(&self.downlink, &self.uplink).as_ref()
    }
}

parameters! {
    /// One direction of a UE's radio bearer.
    pub struct BearerConfig {
        /// Rate at IP level.
        #[schemars(extend("x-changes" = true))]
        pub rate: Bitrate = Bitrate::from_bps(384_000),
        /// One-way delay after the transmission.
        pub delay: Duration,
        /// Discipline of the SDU buffer.
        pub queue: queue::Config,
        /// Link layer.
        pub rlc: rlc::Config,
        /// PDCP of NR above rlc.am_nr or rlc.um_nr; with its defaults if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pdcp: Option<pdcp::Config>,
        /// Block errors; they need a link layer that retransmits.
        pub channel: channel::Config,
    }
}

impl Config {
    /// The UEs of a cell whose first UE is this one.
    pub(super) fn ues_from(&self, first_ue: u16) -> std::ops::Range<u16> {
        first_ue..first_ue + self.ues
    }

    /// Parameters of one direction.
    pub fn bearer(&self, dir: Dir) -> &BearerConfig {
        dir.pick(&self.downlink, &self.uplink)
    }

    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        for dir in Dir::BOTH {
            self.bearer(dir).validate().map_err(|error| error.under(dir.name()))?;
        }
        validate_pair(Dir::BOTH.map(|dir| self.bearer(dir)))?;
        self.validate_classes()?;
        self.validate_shared()?;
        self.activity
            .as_ref()
            .map_or(Ok(()), |own| own.validate(self.offers()).map_err(|error| error.under("activity")))
    }

    /// Refuses a rate of CELL_FACH at which a TTI has no room for a PDU.
    fn validate_shared(&self) -> Result<(), ScenarioError> {
        let Some(shared) = self.activity.as_ref().and_then(|own| own.shared.as_ref()) else { return Ok(()) };
        for dir in Dir::BOTH {
            for ttis in self.bearers(dir).filter_map(|bearer| bearer.rlc.ttis()) {
                ttis.check_room(shared.rate).map_err(|error| {
                    let hint = format!(
                        "raise it, or lengthen the TTI of the {}: {} B or more",
                        dir.name(),
                        ttis.least
                    );
                    ScenarioError::new("activity.shared.rate", error.message, hint)
                })?;
            }
        }
        Ok(())
    }

    /// Slots of rlc.fixed_delay_arq have one length, that of the dedicated channel.
    fn offers(&self) -> Offers {
        let mut bearers = Dir::BOTH.into_iter().flat_map(|dir| self.bearers(dir));
        Offers {
            shared: bearers.all(|bearer| bearer.rlc.sends_whole() || bearer.rlc.ttis().is_some()),
            inactive: false,
        }
    }

    /// Parameters of one direction for UEs of a traffic class.
    pub fn bearer_of(&self, class: TrafficClass, dir: Dir) -> &BearerConfig {
        self.qos.get(&class).and_then(|bearers| bearers.bearer(dir)).unwrap_or_else(|| self.bearer(dir))
    }

    /// The bearers of a direction: those of every class and the cell's own.
    pub(super) fn bearers(&self, dir: Dir) -> impl Iterator<Item = &BearerConfig> {
        let classes = self.qos.values().filter_map(move |bearers| bearers.bearer(dir));
        classes.chain([self.bearer(dir)])
    }

    /// Rejects invalid bearers of a class. A direction that the class does not configure uses the cell's own
    /// bearer.
    fn validate_classes(&self) -> Result<(), ScenarioError> {
        for (class, bearers) in &self.qos {
            let key = format!("qos.{}", class.name());
            let error = |error: ScenarioError| error.under(&key);
            if bearers == &ClassConfig::default() {
                let hint = "write a downlink, an uplink or both, or remove it";
                return Err(error(ScenarioError::new("", "names no bearer", hint)));
            }
            for dir in Dir::BOTH {
                let result = bearers.bearer(dir).map_or(Ok(()), BearerConfig::validate);
                result.map_err(|inner| error(inner.under(dir.name())))?;
            }
            self.validate_family(*class).map_err(error)?;
            let pair = Dir::BOTH.map(|dir| self.bearer_of(*class, dir));
            validate_pair(pair).map_err(error)?;
        }
        Ok(())
    }

    /// Checks that all bearers of the cell use the same time structure, with or without TTIs.
    fn validate_family(&self, class: TrafficClass) -> Result<(), ScenarioError> {
        let family = |rlc: &rlc::Config| if rlc.ttis().is_some() { "by TTIs" } else { "without TTIs" };
        let own = &self.bearer(Dir::Downlink).rlc;
        for dir in Dir::BOTH {
            let rlc = &self.bearer_of(class, dir).rlc;
            if family(rlc) != family(own) {
                let message = format!(
                    "rlc.{} goes {}, and rlc.{} of the cell's own downlink goes {}",
                    rlc.name(),
                    family(rlc),
                    own.name(),
                    family(own)
                );
                let hint = "all classes of a cell go by TTIs (rlc.am, rlc.um, rlc.tm), or none does \
                            (rlc.none, rlc.fixed_delay_arq)";
                return Err(ScenarioError::new(format!("{}.rlc", dir.name()), message, hint));
            }
        }
        Ok(())
    }
}

/// Refuses bearers of a UE, downlink first, that do not go together.
fn validate_pair(bearers: [&BearerConfig; 2]) -> Result<(), ScenarioError> {
    let has_losses = bearers.iter().any(|bearer| !bearer.channel.is_error_free());
    rlc::Config::check_pair(bearers.map(|bearer| &bearer.rlc), has_losses)
}

impl BearerConfig {
    pub(in crate::radio) fn validate(&self) -> Result<(), ScenarioError> {
        if self.rate.as_bps() == 0 {
            let hint = "write a positive rate such as \"384 kbit/s\"";
            return Err(ScenarioError::new("rate", "a bearer of rate zero never sends", hint));
        }
        self.queue.validate().map_err(|error| error.under("queue"))?;
        if self.channel.kind() != channel::Kind::Blocks {
            return Err(ScenarioError::new(
                "channel",
                format!("a dedicated channel has a rate, and {} one of its own", self.channel.name()),
                "choose radio.variable as the cell, or channel.bernoulli",
            ));
        }
        self.channel.validate().map_err(|error| error.under("channel"))?;
        self.rlc.check_pdcp(self.pdcp.as_ref())?;
        self.rlc.validate(self.rate, &self.channel)
    }
}

//! Activity of a UE: DRX and the RRC states that a silent UE falls into, and how long it takes to leave them.
//!
//! A UE that neither sends nor receives user data sinks from state to state, each reached after a time of silence:
//! DRX (it listens for `on` of each `cycle`), CELL_FACH (`shared`: a slow channel that all UEs share), RRC INACTIVE and
//! RRC IDLE. The next packet brings it back: in DRX at the next on-duration, in IDLE after a paging occasion (downlink
//! only) and the promotion.
//!
//! ASSUMED: grids of DRX and paging begin at time 0 and are shifted per UE by `on` and by a radio frame of 10 ms.
//! Left out: transmissions that RLC begins by itself after a silence (polls, STATUS) are not delayed by DRX; signalling
//! load and failed promotions; on-durations as time of their own in `time_s`.
//!
//! Sources: TS 25.331 §7 (CELL_DCH, CELL_FACH), TS 36.304 §7 and TS 38.304 §7 (paging), TS 36.321 and TS 38.321 §5.7 (DRX),
//! TS 38.331 §4.2 (RRC INACTIVE). Each preset names the source of its numbers.

mod clock;
mod preset;

pub(crate) use clock::Clock;
pub use preset::{PRESETS, apply};

use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::registry::parameters;
use crate::time::Duration;
use crate::trace::Activity as State;
use crate::units::{Bitrate, Bytes, Power};

parameters! {
    /// What a silent UE does; a UE without it is always active.
    pub struct Config {
        /// Name of the preset that supplies the keys that are not set here.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub preset: Option<String>,
        /// Discontinuous reception (DRX) while connected.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub drx: Option<Drx>,
        /// CELL_FACH of UMTS: a slow channel instead of the dedicated one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub shared: Option<Shared>,
        /// RRC INACTIVE of NR.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub inactive: Option<Released>,
        /// RRC IDLE.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub idle: Option<Released>,
        /// Power of the UE in each state, for its energy.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub power: Option<Powers>,
    }

    /// Discontinuous reception: the UE listens for a part of each cycle. A packet from the UE wakes it at once.
    pub struct Drx {
        /// Silence after which it starts: the inactivity timer.
        pub after: Duration = Duration::from_millis(100),
        /// How long the UE listens in each cycle.
        pub on: Duration = Duration::from_millis(10),
        /// The long cycle.
        pub cycle: Duration = Duration::from_millis(40),
        /// The short cycle, with which DRX starts; absent without one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub short_cycle: Option<Duration>,
        /// Number of short cycles before the long ones.
        pub short_cycles: u8 = 2,
    }

    /// CELL_FACH: packets go at a low rate while few octets wait, and otherwise after a promotion.
    pub struct Shared {
        /// Silence after which the UE leaves its dedicated channel.
        pub after: Duration = Duration::from_secs(5),
        /// Rate of the shared channel in either direction, at IP level.
        pub rate: Bitrate = Bitrate::from_bps(32_000),
        /// From a buffer above its threshold to the first TTI of the dedicated channel.
        pub promotion: Duration = Duration::from_millis(1500),
        /// What a buffer may hold without a promotion.
        pub threshold: Thresholds,
    }

    /// What the buffer of each direction may hold in CELL_FACH without a promotion.
    pub struct Thresholds {
        /// In the RNC.
        pub downlink: Bytes = Bytes::from_bytes(475),
        /// In the UE.
        pub uplink: Bytes = Bytes::from_bytes(543),
    }

    /// A state without a radio connection.
    pub struct Released {
        /// Silence after which the UE is in it.
        pub after: Duration = Duration::from_secs(10),
        /// From the UE's request, or its paging occasion, to the first slot that it can use.
        pub promotion: Duration = Duration::from_millis(300),
        /// Time between two paging occasions, for which downlink packets wait; no wait if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub paging: Option<Duration>,
        /// Where the promotion leads.
        pub into: Target,
    }

    /// Where a promotion leads.
    pub enum Target {
        /// To the channels of the cell.
        #[default]
        Active,
        /// To CELL_FACH, as `shared` has it.
        Shared,
    }

    /// Power of a UE in each state.
    pub struct Powers {
        /// Active.
        pub active: Power,
        /// In DRX, the mean over a cycle.
        pub drx: Power,
        /// In CELL_FACH.
        pub shared: Power,
        /// In RRC INACTIVE, the mean over a paging cycle.
        pub inactive: Power,
        /// In RRC IDLE, the mean over a paging cycle.
        pub idle: Power,
        /// During a promotion.
        pub promotion: Power,
    }
}

/// Times beyond this are refused.
const LONGEST: Duration = Duration::from_secs(3600 * 24);

/// What a kind of cell can offer to UEs that are silent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offers {
    /// CELL_FACH.
    pub shared: bool,
    /// RRC INACTIVE.
    pub inactive: bool,
}

impl Powers {
    pub(crate) fn of(&self, state: State) -> Power {
        match state {
            State::Active => self.active,
            State::Drx => self.drx,
            State::Shared => self.shared,
            State::Inactive => self.inactive,
            State::Idle => self.idle,
            State::Promotion => self.promotion,
        }
    }
}

impl Shared {
    /// Whether a buffer of this size triggers a dedicated channel.
    pub(crate) fn is_exceeded(&self, dir: Dir, bytes: u64) -> bool {
        bytes > dir.pick(&self.threshold.downlink, &self.threshold.uplink).as_u64()
    }
}

impl Config {
    /// The states below the active one with the silence before each, in their order.
    pub(crate) fn states(&self) -> impl Iterator<Item = (Duration, State)> {
        let drx = self.drx.as_ref().map(|own| (own.after, State::Drx));
        let shared = self.shared.as_ref().map(|own| (own.after, State::Shared));
        let inactive = self.inactive.as_ref().map(|own| (own.after, State::Inactive));
        let idle = self.idle.as_ref().map(|own| (own.after, State::Idle));
        [drx, shared, inactive, idle].into_iter().flatten()
    }

    /// Refuses what no UE can do, and states that this kind of cell does not have.
    pub(crate) fn validate(&self, offers: Offers) -> Result<(), ScenarioError> {
        if let Some(name) = &self.preset
            && !PRESETS.iter().any(|(known, _)| known == name)
        {
            let names: Vec<_> = PRESETS.iter().map(|(known, _)| *known).collect();
            let message = format!("\"{name}\" is no preset");
            return Err(ScenarioError::new("preset", message, format!("write one of {}", names.join(", "))));
        }
        if self.shared.is_some() && !offers.shared {
            let hint = "remove it, or choose radio.dch with rlc.none, rlc.am, rlc.um or rlc.tm";
            return Err(ScenarioError::new("shared", "these bearers have no CELL_FACH", hint));
        }
        if self.inactive.is_some() && !offers.inactive {
            let hint = "write idle instead, or choose radio.nr as the cell";
            return Err(ScenarioError::new("inactive", "this cell has no RRC INACTIVE", hint));
        }
        if self.states().next().is_none() {
            let hint = "add drx, shared, inactive or idle, or a preset, or remove the table";
            return Err(ScenarioError::new("", "has no state below the active one", hint));
        }
        self.validate_order()?;
        self.validate_times()?;
        if let Some(drx) = &self.drx {
            drx.validate().map_err(|error| error.under("drx"))?;
        }
        if let Some(shared) = &self.shared
            && shared.rate.as_bps() == 0
        {
            let hint = "write a positive rate such as \"32 kbit/s\"";
            return Err(ScenarioError::new("shared.rate", "nothing would ever be sent", hint));
        }
        for (key, state) in [("inactive", &self.inactive), ("idle", &self.idle)] {
            if let Some(own) = state {
                self.validate_released(own).map_err(|error| error.under(key))?;
            }
        }
        Ok(())
    }

    fn validate_order(&self) -> Result<(), ScenarioError> {
        let states: Vec<_> = self.states().collect();
        for pair in states.windows(2) {
            let [(earlier, above), (later, below)] = pair else { continue };
            if later <= earlier {
                let (above, below) = (above.name(), below.name());
                let message = format!("{later} of silence are over before {above}.after, {earlier}");
                let hint =
                    format!("write a longer time, or remove {above}: every time counts from the last packet");
                return Err(ScenarioError::new(format!("{below}.after"), message, hint));
            }
        }
        Ok(())
    }

    /// Refuses times beyond those of any network.
    fn validate_times(&self) -> Result<(), ScenarioError> {
        let drx = self
            .drx
            .iter()
            .flat_map(|own| [("drx.after", own.after), ("drx.on", own.on), ("drx.cycle", own.cycle)]);
        let shared = self.shared.iter();
        let shared =
            shared.flat_map(|own| [("shared.after", own.after), ("shared.promotion", own.promotion)]);
        let inactive = self.inactive.iter().flat_map(|own| {
            [
                ("inactive.after", own.after),
                ("inactive.promotion", own.promotion),
                ("inactive.paging", own.paging.unwrap_or_default()),
            ]
        });
        let idle = self.idle.iter().flat_map(|own| {
            [
                ("idle.after", own.after),
                ("idle.promotion", own.promotion),
                ("idle.paging", own.paging.unwrap_or_default()),
            ]
        });
        match drx.chain(shared).chain(inactive).chain(idle).find(|(_, time)| *time > LONGEST) {
            Some((key, time)) => {
                let message = format!("{time} is longer than in any network");
                Err(ScenarioError::new(key, message, format!("write at most {LONGEST}")))
            }
            None => Ok(()),
        }
    }

    fn validate_released(&self, own: &Released) -> Result<(), ScenarioError> {
        if own.paging.is_some_and(Duration::is_zero) {
            let hint = "write a time such as \"1.28 s\", or remove the key";
            return Err(ScenarioError::new("paging", "no occasions are so close", hint));
        }
        if own.into == Target::Shared && self.shared.is_none() {
            let hint = "add shared, or write into = \"active\"";
            return Err(ScenarioError::new("into", "there is no shared to go into", hint));
        }
        Ok(())
    }
}

impl Drx {
    fn validate(&self) -> Result<(), ScenarioError> {
        if self.on.is_zero() {
            return Err(ScenarioError::new(
                "on",
                "the UE would never listen",
                "write a time such as \"10 ms\"",
            ));
        }
        for (key, cycle) in [("cycle", Some(self.cycle)), ("short_cycle", self.short_cycle)] {
            if cycle.is_some_and(|cycle| cycle < self.on) {
                let message = format!("is shorter than on, {}", self.on);
                return Err(ScenarioError::new(key, message, "write a longer cycle, or a shorter on"));
            }
        }
        if self.short_cycle.is_some_and(|short| short > self.cycle) {
            let hint = format!("write at most {}", self.cycle);
            return Err(ScenarioError::new("short_cycle", "is longer than cycle", hint));
        }
        Ok(())
    }
}

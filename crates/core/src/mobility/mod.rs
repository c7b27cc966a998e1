//! Measured hand-overs, radio link failure, and interference by the load of other cells.
//!
//! A UE receives each cell with a reference signal received power (RSRP) that is a series in time, with shadowing of
//! its own. It filters its measurements, reports a neighbour that is better by an offset for long enough (event A3),
//! and changes to that cell after a preparation ([`decision`]). A UE whose serving cell becomes too weak before loses
//! the link, and re-establishes it in the best cell ([`failure`]). Both become hand-overs as a scenario may also write
//! them.
//!
//! ```text
//! SINR of a slot = RSRP of the own cell / (noise + sum over other cells of RSRP x share of the slot before that they send in)
//! ```
//!
//! RSRP does not depend on traffic, so all decisions are known when a run begins ([`plan`]).
//!
//! Left out: errors of measurements, fast fading in measurements and in interference, the uplink of the links (its
//! losses follow the parameters of the cell), offsets of single cells, events other than A3, hand-overs to another kind
//! of cell.
//!
//! Sources: TS 36.331 §5.5.3.2, §5.5.4.4, §5.3.7, §5.3.11; TS 36.133 §5.1.2, §6.1.2, §7.6.

mod air;
mod decision;
mod failure;
mod rows;
mod walk;

pub use air::{CellAir, CellLoad, Interference};
pub use rows::Rows;
pub use walk::{Walker, plan};

use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::sinr::ShadowingConfig;
use crate::time::Duration;
use crate::units::Decibel;

parameters! {
    /// Measured hand-overs between cells.
    pub struct Config {
        /// RSRP of each cell at the UEs.
        pub series: SeriesConfig,
        /// Slow variation around the series, for each UE and each cell on its own.
        pub shadowing: ShadowingConfig,
        /// Noise figure of the receiver of a UE, above the thermal noise of a subcarrier.
        // TS 36.101 states no figure; TR 36.942 table 4.5 calculates with 9 dB.
        pub noise_figure: Decibel = Decibel::from_thousandths(9_000),
        /// Time between two measurements that enter the layer 3 filter.
        // TS 36.133 §8.1.2.2.1.2: measurement period of 200 ms within the frequency.
        pub period: Duration = Duration::from_millis(200),
        /// Coefficient k of the layer 3 filter: at a period of 200 ms a measurement counts 1/2^(k/4).
        // TS 36.331, FilterCoefficient: DEFAULT fc4.
        pub filter: u8 = 4,
        /// Event A3: how much stronger than the serving cell another cell has to be.
        // ASSUMED: 3 dB, 1 dB and 160 ms.
        pub offset: Decibel = Decibel::from_thousandths(3_000),
        /// Hysteresis, which is added to the offset.
        pub hysteresis: Decibel = Decibel::from_thousandths(1_000),
        /// How long the event lasts before the UE reports it.
        pub time_to_trigger: Duration = Duration::from_millis(160),
        /// From the report to the beginning of the interruption: preparation of the other cell, and the command.
        // ASSUMED: 50 ms, including the 15 ms that TS 36.331 §11.2 allows the UE.
        pub preparation: Duration = Duration::from_millis(50),
        /// How long the UE is out of reach.
        // TS 36.133 §5.1.2.1.2 to a known cell: 30 ms to an occasion of random access, and 20 ms.
        pub interruption: Duration = Duration::from_millis(50),
        /// How long after the interruption downlink packets still go to the old cell.
        pub path_switch: Duration,
        /// Whether the old cell forwards to the new one what it holds and what still comes to it.
        pub forward: bool = true,
        /// Radio link failure.
        pub failure: FailureConfig,
    }

    /// RSRP of each cell at the UEs, as a series in time.
    pub struct SeriesConfig {
        /// Path of the series, from the folder of the scenario. A resolved scenario has its text instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub file: Option<String>,
        /// The series itself, instead of a file: CSV with the columns time_s and, for each cell, NAME_dbm: its
        /// reference signal received power, of one subcarrier; or UE.NAME_dbm for a single UE. Values between its lines
        /// are interpolated linearly.
        pub rows: Rows,
    }

    /// Radio link failure, and the re-establishment of the link.
    pub struct FailureConfig {
        /// Qout: the link is out of synchronisation where the SINR is lower on average over 200 ms.
        // TS 36.133 §7.6.1 says it as a block error rate of a control channel, 10 %. ASSUMED: -8 dB.
        pub q_out: Decibel = Decibel::from_thousandths(-8_000),
        /// Qin: the link is in synchronisation where the SINR is higher on average over 100 ms.
        // TS 36.133 §7.6.1: a block error rate of 2 %. ASSUMED: -6 dB.
        pub q_in: Decibel = Decibel::from_thousandths(-6_000),
        /// N310: consecutive indications of no synchronisation, one in each radio frame of 10 ms, that start T310.
        // TS 36.331 §9.2.5: n310 = 1, t310 = 1 s, n311 = 1.
        pub n310: u8 = 1,
        /// T310: the link has failed when this time is over.
        pub t310: Duration = Duration::from_secs(1),
        /// N311: consecutive indications of synchronisation that stop T310.
        pub n311: u8 = 1,
        /// From the choice of a cell to the first transmission: TS 36.133 §6.1.2 without search and system information.
        // ASSUMED: 50 ms of the UE, 100 ms to identify the cell, 50 ms of random access and answers of the network.
        pub reestablishment: Duration = Duration::from_millis(200),
    }
}

/// A radio frame: the time between two indications of the physical layer (TS 36.133 §7.6.2).
const FRAME: Duration = Duration::from_millis(10);

const LONGEST_TRIGGER: Duration = Duration::from_millis(5_120);

impl Config {
    /// Refuses what no network is set to.
    ///
    /// # Errors
    /// With the key below this table.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        let error = |key: &str, message: String, hint: &str| Err(ScenarioError::new(key, message, hint));
        if self.series.file.is_some() {
            return error("series.file", "was not read".into(), "give the series itself, as rows");
        }
        self.shadowing.validate().map_err(|inner| inner.under("shadowing"))?;
        if self.shadowing.shared.as_f64() > 0.0 {
            let message = "is of the two directions of a cell, and the RSRP has one".into();
            return error("shadowing.shared", message, "leave it out");
        }
        let decibels = [
            ("noise_figure", self.noise_figure, 0, 30),
            ("offset", self.offset, -15, 15),
            ("hysteresis", self.hysteresis, 0, 15),
            ("failure.q_out", self.failure.q_out, -30, 30),
            ("failure.q_in", self.failure.q_in, -30, 30),
        ];
        for (key, value, least, most) in decibels {
            let allowed = Decibel::from_thousandths(1000 * least)..=Decibel::from_thousandths(1000 * most);
            if !allowed.contains(&value) {
                return error(
                    key,
                    format!("{value} is out of range"),
                    &format!("write {least} dB to {most} dB"),
                );
            }
        }
        if self.period.is_zero() || !self.period.as_nanos().is_multiple_of(FRAME.as_nanos()) {
            let message = format!("{} is no whole number of radio frames of {FRAME}", self.period);
            return error("period", message, "write a multiple of 10 ms, such as \"200 ms\"");
        }
        if self.filter > 19 {
            return error("filter", format!("{} is no filter coefficient", self.filter), "write 0 to 19");
        }
        if self.time_to_trigger > LONGEST_TRIGGER {
            let message = format!("{} is no time to trigger", self.time_to_trigger);
            return error("time_to_trigger", message, "write 0 s to 5.12 s");
        }
        let failure = &self.failure;
        if failure.q_in < failure.q_out {
            let message = format!("{} is less than q_out, {}", failure.q_in, failure.q_out);
            return error("failure.q_in", message, "write a higher ratio");
        }
        for (key, count) in [("failure.n310", failure.n310), ("failure.n311", failure.n311)] {
            if count == 0 {
                return error(key, "no indication would be needed".into(), "write 1 or more");
            }
        }
        for (key, time) in
            [("interruption", self.interruption), ("failure.reestablishment", failure.reestablishment)]
        {
            if time.is_zero() {
                return error(key, "takes no time".into(), "write a time such as \"50 ms\"");
            }
        }
        Ok(())
    }

    /// Noise of a subcarrier of this width, dBm: thermal noise at 290 K, and the noise figure.
    fn noise_dbm(&self, subcarrier_hz: f64) -> f64 {
        const THERMAL_DBM_PER_HZ: f64 = -173.98;
        THERMAL_DBM_PER_HZ + 10.0 * libm::log10(subcarrier_hz) + self.noise_figure.as_db()
    }
}

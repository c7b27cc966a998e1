//! The time between two ACKs as a function of the occupancy of the data's buffer: f_1 and f_2 of the paper.
//!
//! Alcaraz and Cerdan 2006, equation (1), with `BO` the occupancy in SDUs and `maxd` a time:
//!
//! ```text
//! t_id = maxd * ((BO - minth) / (maxth - minth)) ^ alpha      minth <= BO <= maxth
//! ```
//!
//! Below `minth` it is zero (Figure 3), beyond `maxth` `maxd`, "the maximum value for t_id" (3.4). The step function,
//! the limit for small alpha, is `maxd` at `minth` too, as the text of 3.4 says.

use crate::error::ScenarioError;
use crate::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time between two ACKs, by the occupancy of the buffer in SDUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// No delay for any occupancy: alpha without bound.
    Off(Off),
    /// Constant from minth on: the step, alpha = 0.
    Constant(Constant),
    /// Grows in proportion: alpha = 1.
    Linear(Linear),
    /// Grows as a power.
    Power(Power),
}

/// No time between two ACKs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Off {}

/// A step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Constant {
    /// Minimum occupancy for which ACKs are delayed, SDUs.
    pub minth: u32,
    /// Time between two ACKs.
    pub maxd: Duration,
}

/// A straight line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Linear {
    /// Occupancy above which ACKs are delayed, SDUs.
    pub minth: u32,
    /// Minimum occupancy for which the time is maxd, SDUs.
    pub maxth: u32,
    /// Time between two ACKs at maxth.
    pub maxd: Duration,
}

/// A power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Power {
    /// Occupancy above which ACKs are delayed, SDUs.
    pub minth: u32,
    /// Minimum occupancy for which the time is maxd, SDUs.
    pub maxth: u32,
    /// Time between two ACKs at maxth.
    pub maxd: Duration,
    /// Exponent; the smaller, the sooner the time grows.
    pub alpha: f64,
}

impl Default for Constant {
    /// ASSUMED: the paper has no figures for the step; minth of section 5 for alpha below 1, maxd of its rule 3.
    fn default() -> Self {
        Self { minth: 10, maxd: Duration::from_millis(400) }
    }
}

impl Default for Linear {
    /// ACK rate control alone, as in Table 2: maxd / maxth = 20 ms/SDU, and a maxth of at least the buffer, which has
    /// room for 50 SDUs (section 6).
    fn default() -> Self {
        Self { minth: 0, maxth: 50, maxd: Duration::from_secs(1) }
    }
}

impl Default for Power {
    /// Combined Scheme 2 of section 6: maxd / maxth = 10 ms/SDU; minth of section 5 for alpha below 1.
    fn default() -> Self {
        Self { minth: 10, maxth: 40, maxd: Duration::from_millis(400), alpha: 0.5 }
    }
}

impl Default for Function {
    fn default() -> Self {
        Self::Linear(Linear::default())
    }
}

impl Function {
    /// `t_id` while the buffer holds `occupancy` SDUs.
    pub fn t_id(&self, occupancy: u32) -> Duration {
        match self {
            Self::Off(_) => Duration::ZERO,
            Self::Constant(Constant { minth, maxd }) if occupancy >= *minth => *maxd,
            Self::Constant(_) => Duration::ZERO,
            Self::Linear(Linear { minth, maxth, maxd }) => rising(occupancy, *minth, *maxth, *maxd, 1.0),
            Self::Power(Power { minth, maxth, maxd, alpha }) => {
                rising(occupancy, *minth, *maxth, *maxd, *alpha)
            }
        }
    }

    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        let (thresholds, maxd, alpha) = match self {
            Self::Off(_) => return Ok(()),
            Self::Constant(step) => (None, step.maxd, 1.0),
            Self::Linear(line) => (Some((line.minth, line.maxth)), line.maxd, 1.0),
            Self::Power(power) => (Some((power.minth, power.maxth)), power.maxd, power.alpha),
        };
        let error = |key: &str, message: String, hint: &str| {
            Err(ScenarioError::new(key, message, hint).under(self.name()))
        };
        if let Some((minth, maxth)) = thresholds.filter(|(minth, maxth)| maxth <= minth) {
            let message = format!("the time cannot grow from minth = {minth} to {maxth} SDUs");
            return error("maxth", message, "write more than minth, such as minth = 0 and maxth = 40");
        }
        if maxd.is_zero() {
            let hint = "write a time such as \"400 ms\", or choose off = {}";
            return error("maxd", "no ACK would be delayed".into(), hint);
        }
        if !(alpha.is_finite() && alpha > 0.0) {
            let message = format!("the time does not grow with the power {alpha} of the occupancy");
            let hint = "write a positive number such as 0.5, or choose constant for a step";
            return error("alpha", message, hint);
        }
        Ok(())
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Off(_) => "off",
            Self::Constant(_) => "constant",
            Self::Linear(_) => "linear",
            Self::Power(_) => "power",
        }
    }
}

/// Equation (1), to the nearest nanosecond.
fn rising(occupancy: u32, minth: u32, maxth: u32, maxd: Duration, alpha: f64) -> Duration {
    if occupancy >= maxth {
        return maxd;
    }
    let share = f64::from(occupancy.saturating_sub(minth)) / f64::from(maxth - minth);
    let nanos = maxd.as_nanos() as f64 * libm::pow(share, alpha);
    Duration::from_nanos((nanos + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(function: &Function, occupancies: &[u32]) -> Vec<f64> {
        occupancies.iter().map(|bo| function.t_id(*bo).as_nanos() as f64 / 1e6).collect()
    }

    #[test]
    fn combined_scheme_1_delays_12_5_ms_for_each_sdu() {
        let maxd = Duration::from_millis(500);
        let linear = Function::Linear(Linear { minth: 0, maxth: 40, maxd });
        assert_eq!(millis(&linear, &[0, 1, 10, 39, 40, 50]), [0.0, 12.5, 125.0, 487.5, 500.0, 500.0]);
    }

    #[test]
    fn the_delay_grows_from_minth_on() {
        let maxd = Duration::from_millis(300);
        let linear = Function::Linear(Linear { minth: 10, maxth: 40, maxd });
        assert_eq!(millis(&linear, &[0, 9, 10, 11, 25, 40]), [0.0, 0.0, 0.0, 10.0, 150.0, 300.0]);
    }

    #[test]
    fn a_power_below_one_rises_steeply_and_above_one_late() {
        let power =
            |alpha| Function::Power(Power { minth: 10, maxth: 46, maxd: Duration::from_millis(360), alpha });
        // A share of 1/36, 1/4 and 4/9: their roots are 1/6, 1/2 and 2/3.
        assert_eq!(millis(&power(0.5), &[10, 11, 19, 26, 46, 60]), [0.0, 60.0, 180.0, 240.0, 360.0, 360.0]);
        // Their squares are 1/1296, 1/16 and 16/81.
        assert_eq!(millis(&power(2.0), &[10, 11, 19, 26, 46]), [0.0, 0.277778, 22.5, 71.111111, 360.0]);
    }

    #[test]
    fn a_fifth_root_is_that_of_figure_5() {
        let maxd = Duration::from_millis(400);
        let power = Function::Power(Power { minth: 10, maxth: 42, maxd, alpha: 0.2 });
        // (1/32)^0.2 = 1/2.
        assert_eq!(millis(&power, &[9, 10, 11, 42]), [0.0, 0.0, 200.0, 400.0]);
    }

    #[test]
    fn a_step_is_whole_at_minth_and_off_is_never() {
        let step = Function::Constant(Constant { minth: 10, maxd: Duration::from_millis(140) });
        assert_eq!(millis(&step, &[0, 9, 10, 50]), [0.0, 0.0, 140.0, 140.0]);
        assert_eq!(millis(&Function::Off(Off {}), &[0, 50, u32::MAX]), [0.0; 3]);
    }
}

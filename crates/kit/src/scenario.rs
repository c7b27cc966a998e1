//! Description of a [`Net`](crate::Net)'s link.

use crate::ScenarioError;
use airpath_core::scenario::{self, BUNDLED};
use std::str::FromStr;

/// A link (wired link, boxes, cell and bearers) as described by a text in TOML.
///
/// `airpath config NAME` of the Python package prints every key; JSON Schema of them is
/// [`airpath_core::scenario::Scenario::schema`]. `duration` and the flows of UE 0 are ignored here: you supply the
/// packets that UE 0 and the server exchange. Flows of other UEs are simulated alongside.
///
/// ```
/// use airpath::Scenario;
///
/// let lossy = Scenario::bundled("umts-384").unwrap().with("wired.loss", "2 %").unwrap();
/// let own: Scenario = "radio.dch.downlink.rate = \"128 kbit/s\"".parse().unwrap();
/// assert_ne!(lossy, own);
///
/// let error = own.with("radio.dch.downlink.rate", "128 furlongs").unwrap_err();
/// assert_eq!(error.path, "radio.dch.downlink.rate");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    text: String,
    changes: Vec<(String, String)>,
    pub(crate) core: scenario::Scenario,
}

impl Scenario {
    /// The bundled scenario with this name.
    pub fn bundled(name: &str) -> Option<Self> {
        scenario::bundled(name)?.parse().ok()
    }

    /// Names of the bundled scenarios, sorted, and their titles.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        BUNDLED
            .iter()
            .map(|(name, text)| (*name, text.lines().next().unwrap_or_default().trim_start_matches("# ")))
    }

    /// A link by two recordings in mahimahi's form: each line is a time in ms when 1500 bytes of IP may be sent. They
    /// repeat from the start at their ends. The link has no delay and unlimited buffers:
    ///
    /// ```
    /// # use airpath::Scenario;
    /// let link = Scenario::mahimahi("0\n5\n10", "10").unwrap();
    /// let link = link.with("wired.delay", "20 ms").unwrap();
    /// let link = link.with("radio.variable.downlink.queue.droptail.packets", "100").unwrap();
    /// ```
    ///
    /// # Errors
    /// If a line is no time, or times run backwards.
    pub fn mahimahi(down: &str, up: &str) -> Result<Self, ScenarioError> {
        let trace = |direction, text: &str| {
            // A string of JSON is one of TOML.
            let text = serde_json::Value::from(text);
            format!("[radio.variable.{direction}.channel.trace_file]\ntrace = {text}\n")
        };
        (trace("downlink", down) + &trace("uplink", up)).parse()
    }

    /// The scenario with another value at a dotted key: a value in TOML, or a bare word or quantity.
    ///
    /// # Errors
    /// If there is no such key, or the value does not suit it.
    pub fn with(&self, key: &str, value: &str) -> Result<Self, ScenarioError> {
        let change = (key.to_owned(), value.to_owned());
        let changes: Vec<_> = self.changes.iter().cloned().chain([change]).collect();
        Self::read(self.text.clone(), changes)
    }

    /// UEs of the cell.
    pub fn ues(&self) -> u16 {
        self.core.ues()
    }

    /// UEs whose packets you supply: UE 0, and UEs without a flow in the scenario.
    pub fn own_ues(&self) -> Vec<u16> {
        own_ues(&self.core)
    }

    fn read(text: String, changes: Vec<(String, String)>) -> Result<Self, ScenarioError> {
        let core = scenario::Scenario::parse_link(&text, &changes)?;
        core.validate_session(&own_ues(&core))?;
        Ok(Self { text, changes, core })
    }
}

fn own_ues(core: &scenario::Scenario) -> Vec<u16> {
    let has_flow = |ue| core.flow.iter().any(|flow| flow.ue.includes(ue));
    (0..core.ues()).filter(|ue| *ue == 0 || !has_flow(*ue)).collect()
}

/// Reads a text in TOML. Errors name the key, the problem and a valid value.
impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        Self::read(text.to_owned(), Vec::new())
    }
}

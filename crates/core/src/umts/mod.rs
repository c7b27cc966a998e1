//! The core network of UMTS around the bearer: GGSN and SGSN, the tunnels between them and the RNC, and the procedures
//! that a UE must complete before it may send.
//!
//! ```text
//! server -- wired link -- GGSN ---- Gn ---- SGSN ---- Iu ---- RNC (boxes in the network) -- cell -- UE
//!                               G-PDUs of GTP-U in UDP over IP
//! ```
//!
//! Source: TS 23.060 §5.4 (nodes and interfaces), §6.5 (attach), §9.2.2 (PDP context activation); TS 29.281 for the
//! tunnels; TS 23.107 §6.3 (traffic classes); \[jayanathan\] sections 2 and 5 for which of them matter to TCP.
//!
//! * **Set-up.** A UE attaches and activates a PDP context when its first flow starts. The scenario sets how long both
//!   take; none of its flows sends before. Packets for a UE without an active context are dropped.
//! * **Tunnels.** Each packet becomes a G-PDU: the headers of IP, UDP and GTP-U are sent with it on either leg. In a
//!   simulation they are arithmetic; octets are made only for captures ([`capture`]), by the codec of
//!   [`crate::wire::gtp`].
//! * **Legs.** Each is a queue with a rate, a delay and a buffer per direction. Order is preserved and ends of
//!   transmission are computed, so a packet is put on a lane only once for the wired link and both legs ([`network`]).
//! * **Classes.** The traffic class of a UE selects its bearer (`radio.dch.qos`).
//! * **Relocation.** A hand-over may change the serving RNC: after the outage the UE's packets take another Iu leg
//!   ([`Relocation`]).
//!
//! Left out: the messages of GTP-C, RANAP and the session's signalling, which are represented by their durations; soft
//! hand-over, Iur and drift RNC; charging, authentication, deactivation and several contexts of a UE; QoS on the legs,
//! which are first in, first out for all classes; fragments of datagrams too long for a leg.

mod capture;
mod leg;
mod network;

pub use leg::Leg;
pub use network::CoreNetwork;
pub(crate) use network::UP;

use crate::error::ScenarioError;
use crate::time::{Duration, Instant};
use crate::wire::gtp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The core network between the wired link and the RNC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Between GGSN and SGSN.
    pub gn: Leg,
    /// Between SGSN and RNC.
    pub iu: Leg,
    /// Whether G-PDUs have sequence numbers: a header of 12 octets and not of 8.
    pub sequence_numbers: bool,
    /// How long a UE takes to attach (TS 23.060 §6.5), with its RRC connection.
    pub attach: Duration,
    /// How long it then takes to activate its PDP context (TS 23.060 §9.2.2), with the radio access bearer.
    pub pdp_activation: Duration,
    /// Traffic classes of the UEs, indexed by UE; UEs beyond the list have `background`.
    pub qos: Vec<TrafficClass>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            gn: Leg::default(),
            iu: Leg::default(),
            sequence_numbers: false,
            // ASSUMED: the standards name no durations; both are of the order of a second or two.
            attach: Duration::from_millis(2000),
            pdp_activation: Duration::from_millis(1000),
            qos: Vec::new(),
        }
    }
}

/// Traffic class of a UE's bearer: TS 23.107 §6.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrafficClass {
    /// Speech and the like: low delay that hardly varies.
    Conversational,
    /// One-way data, with little delay variation.
    Streaming,
    /// Requests and answers.
    Interactive,
    /// Whatever can wait.
    #[default]
    Background,
}

impl TrafficClass {
    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conversational => "conversational",
            Self::Streaming => "streaming",
            Self::Interactive => "interactive",
            Self::Background => "background",
        }
    }
}

/// A change of the serving RNC with a hand-over (TS 23.060 §6.9.2.2): from the end of the outage on, the UE's packets
/// take another Iu leg, which no other UE uses. Packets on the old leg by then arrive, and those on the new one
/// does not overtake it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Relocation {
    /// The leg to the new RNC; absent keys are as in `[umts.iu]`.
    pub iu: Leg,
}

/// Context for building the core network, in addition to its own parameters.
#[derive(Clone, Debug, Default)]
pub struct Plan<'a> {
    /// For each UE, when its context becomes active, if ever.
    pub active: Vec<Option<Instant>>,
    /// Relocations: number of the UE, when its packets take the new leg, and this.
    pub relocations: Vec<(u16, Instant, &'a Relocation)>,
}

impl Config {
    /// How long a UE takes until it may send.
    pub fn set_up(&self) -> Duration {
        self.attach + self.pdp_activation
    }

    /// Traffic class of a UE.
    pub fn class(&self, ue: u16) -> TrafficClass {
        self.qos.get(usize::from(ue)).copied().unwrap_or_default()
    }

    /// Octets that a tunnel adds to a packet: IPv4, UDP and GTP-U.
    pub const fn overhead_octets(&self) -> u32 {
        let octets = if self.sequence_numbers { gtp::LONG_OVERHEAD_OCTETS } else { gtp::OVERHEAD_OCTETS };
        octets as u32
    }

    /// Refuses an impossible core network, for a cell of this many UEs.
    pub fn validate(&self, ues: u16) -> Result<(), ScenarioError> {
        self.gn.validate().map_err(|error| error.under("gn"))?;
        self.iu.validate().map_err(|error| error.under("iu"))?;
        if self.qos.len() > usize::from(ues) {
            let message = format!("classes for {} UEs, and the cell has {ues}", self.qos.len());
            let hint = "shorten the list, or raise the cell's number of UEs";
            return Err(ScenarioError::new("qos", message, hint));
        }
        Ok(())
    }

    /// Makes the core network, for the end of a wired link.
    pub fn build(&self, plan: &Plan<'_>) -> CoreNetwork {
        CoreNetwork::new(self, plan)
    }
}

//! [`Link`] of LTE. In its log `tx` has for each PDU its sequence number and its octets of the stream, `p` if it polls, and for
//! a segment its offset, with `.` after the last one; `status` has ACK_SN and the missing PDUs.

pub use crate::rlc_link::{NETWORK, UE, ms};

use crate::rlc_link::{self, System};
use airpath_core::rlc::lte::{Nack, Pdu, Status};
use airpath_core::rlc::{Config, Tti, am_lte, um_lte};

pub struct Lte {
    /// Octets of the header of a PDU.
    header: u64,
}

pub type Link = rlc_link::Link<Lte>;

pub fn am(config: &am_lte::Config) -> Link {
    Link::new(&Config::AmLte(config.clone()))
}

pub fn um(config: &um_lte::Config) -> Link {
    Link::new(&Config::UmLte(config.clone()))
}

impl Link {
    /// Both directions have the same parameters.
    pub fn new(config: &Config) -> Self {
        let is_short = matches!(config, Config::UmLte(config) if config.sn_field_length == 5);
        Self::between(config.ends(config).unwrap(), config, Lte { header: if is_short { 1 } else { 2 } })
    }
}

impl System for Lte {
    const HAS_PDCP: bool = false;

    fn octets(&mut self, _: usize, tti: &Tti, _: u64) -> (u64, bool) {
        assert_eq!(tti.data.runs.len(), tti.lte.data.len());
        let data = tti.lte.data.iter().map(|pdu| self.header + octets_behind_header(pdu, tti)).sum::<u64>();
        (data + tti.lte.status.as_ref().map_or(0, Status::octets), false)
    }

    fn written(tti: &Tti) -> [Option<String>; 2] {
        let data = tti.lte.data.iter().map(written).collect::<String>();
        [(!data.is_empty()).then(|| format!("tx{data}")), tti.lte.status.as_ref().map(written_status)]
    }
}

/// Octets of a PDU over the air, without the fixed part of the header.
fn octets_behind_header(pdu: &Pdu, tti: &Tti) -> u64 {
    let ends = tti.lte.ends_of(pdu);
    let elements = ends.len() + usize::from(ends.last().is_none_or(|end| end.at != pdu.octets.end));
    let part = if pdu.part.is_some() { 2 } else { 0 };
    part + (elements as u64 - 1) * 12 / 8 + (elements as u64 - 1) % 2 + pdu.octets.len()
}

fn written(pdu: &Pdu) -> String {
    let part = pdu.part.map(|part| format!("@{}{}", part.so, if part.last { "." } else { "" }));
    let (poll, octets) = (if pdu.poll { "p" } else { "" }, pdu.octets);
    format!(" {}{}[{}-{}]{poll}", pdu.sn, part.unwrap_or_default(), octets.first, octets.end)
}

fn written_status(status: &Status) -> String {
    let part = |nack: &Nack| match nack.part {
        None => format!(" {}", nack.sn),
        Some((start, end)) => {
            format!(" {}[{start}-{}]", nack.sn, end.map(|end| end.to_string()).unwrap_or_default())
        }
    };
    format!("status {}{}", status.ack_sn, status.nacks.iter().map(part).collect::<String>())
}

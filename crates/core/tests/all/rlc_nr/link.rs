//! [`Link`] of NR, with PDCP at both ends. In its log `tx` has for each PDU its sequence number, for a segment its octets
//! with `.` after the last one of the SDU, `r` for a retransmission, `p` if it polls; `status` has ACK_SN and the missing
//! SDUs, `+` and a number for a NACK range.

pub use crate::rlc_link::{NETWORK, UE, ms};

use crate::rlc_link::{self, System};
use airpath_core::pdcp::{self, Content};
use airpath_core::rlc::nr::{Nack, Pdu, Status, mac_octets};
use airpath_core::rlc::{Config, Tti, am_nr, um_nr};
use std::collections::BTreeMap;

pub struct Nr {
    rlc: Config,
    /// How often each end was established again.
    establishments: [u32; 2],
}

pub type Link = rlc_link::Link<Nr>;

pub fn am(config: &am_nr::Config) -> Link {
    Link::new(&Config::AmNr(config.clone()), &pdcp::Config::default())
}

pub fn um(config: &um_nr::Config) -> Link {
    Link::new(&Config::UmNr(config.clone()), &pdcp::Config::default())
}

impl Link {
    /// Both directions have the same parameters.
    pub fn new(config: &Config, pdcp: &pdcp::Config) -> Self {
        pdcp.validate().unwrap();
        let ends = config.ends_with(config, [pdcp, pdcp]).unwrap();
        let mut link = Self::between(ends, config, Nr { rlc: config.clone(), establishments: [0; 2] });
        link.any_order = pdcp.out_of_order;
        link
    }

    /// What PDCP counted as the receiver at this end.
    pub fn received(&self, end: usize) -> BTreeMap<String, u64> {
        serde_json::from_value(self.ends[end].received().unwrap()).unwrap()
    }
}

impl Nr {
    /// Octets of a PDU with its subheader, from the formats of TS 38.322 §6.2.2.3, §6.2.2.4.
    fn pdu_octets(&self, pdu: &Pdu) -> u64 {
        let is_whole = pdu.so == 0 && pdu.last;
        let header = match &self.rlc {
            Config::AmNr(config) if config.sn == 12 => 2,
            Config::AmNr(_) => 3,
            Config::UmNr(_) if is_whole => 1,
            Config::UmNr(config) if config.sn == 6 => 1,
            _ => 2,
        };
        let octets = header + if pdu.so > 0 { 2 } else { 0 } + u64::from(pdu.end - pdu.so);
        octets + mac_octets(octets)
    }

    fn status_octets(&self, status: &Status) -> u64 {
        let Config::AmNr(config) = &self.rlc else { panic!("a STATUS PDU in unacknowledged mode") };
        let octets = status.octets(config.sn);
        octets + mac_octets(octets)
    }
}

impl System for Nr {
    const HAS_PDCP: bool = true;

    fn octets(&mut self, end: usize, tti: &Tti, room: u64) -> (u64, bool) {
        assert!(tti.data.runs.is_empty() && tti.nr.room == room);
        let octets = tti.nr.data.iter().map(|pdu| self.pdu_octets(pdu)).sum::<u64>()
            + tti.nr.status.as_ref().map_or(0, |status| self.status_octets(status));
        // After an RLC re-establishment, another SDU comes first.
        let before = std::mem::replace(&mut self.establishments[end], tti.nr.establishment);
        (octets, before == tti.nr.establishment && tti.nr.data.len() <= 1)
    }

    fn written(tti: &Tti) -> [Option<String>; 2] {
        let data = tti.nr.data.iter().map(written).collect::<String>();
        [(!data.is_empty()).then(|| format!("tx{data}")), tti.nr.status.as_ref().map(written_status)]
    }
}

fn written(pdu: &Pdu) -> String {
    let part = match pdu.so == 0 && pdu.last {
        true => String::new(),
        false => format!("[{}-{}{}]", pdu.so, pdu.end, if pdu.last { "." } else { "" }),
    };
    let status = if matches!(pdu.sdu, Content::Status(_)) { "s" } else { "" };
    let again = if pdu.again { "r" } else { "" };
    let poll = if pdu.poll { "p" } else { "" };
    format!(" {}{status}{part}{again}{poll}", pdu.sn)
}

fn written_status(status: &Status) -> String {
    let nack = |nack: &Nack| {
        let range = if nack.range > 1 { format!("+{}", nack.range) } else { String::new() };
        let part = match nack.start > 0 || nack.end.is_some() {
            true => format!("[{}-{}]", nack.start, nack.end.map(|end| end.to_string()).unwrap_or_default()),
            false => String::new(),
        };
        format!(" {}{range}{part}", nack.sn)
    };
    format!("status {}{}", status.ack_sn, status.nacks.iter().map(nack).collect::<String>())
}

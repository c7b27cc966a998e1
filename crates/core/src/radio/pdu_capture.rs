//! PDUs of the link layer in captures.

use crate::element::{Cx, PDU_INTERFACE};
use crate::packet::{Dir, Packet};
use crate::pdcp;
use crate::rlc::encode::{Encode, Pdu};
use crate::rlc::{self, Report, Tti};
use crate::wire::octets_of;
use crate::wire::rlc::udp::{Channel, Mode, datagram_of};

/// ID of a UE's first radio bearer; lower IDs are for signalling (TS 34.108 §6.10).
pub(super) const RADIO_BEARER: u8 = 5;

/// Writes the PDUs of one direction of a UE's bearer.
pub(super) struct PduCapture {
    channel: Channel,
    encoder: Option<Box<dyn Encode>>,
    /// Whether the cell uses time division duplex (TDD).
    pub(super) is_tdd: bool,
}

impl PduCapture {
    /// With PDCP of these parameters above the link layer, where that has PDCP.
    pub fn new(config: &rlc::Config, pdcp: &pdcp::Config, (ue, dir, radio_bearer): (u16, Dir, u8)) -> Self {
        let channel = Channel { dir, urnti: u32::from(ue) + 1, radio_bearer };
        Self { channel, encoder: config.encoder_with(pdcp), is_tdd: false }
    }

    /// Forgets SDUs that are not sent any more, by the end's report.
    pub fn settle(&mut self, report: &Report) {
        if let Some(encoder) = &mut self.encoder {
            encoder.discard(&report.discarded);
            encoder.confirm(&report.confirmed);
            if report.began_anew {
                encoder.begin_anew();
            }
        }
    }

    /// Writes the PDUs of a TTI that starts now. `arrives` contains the PDUs that are not lost; the
    /// transmission of the SDUs in `started` starts in this TTI.
    pub fn write<'a>(
        &mut self,
        cx: &mut Cx<'_>,
        sent: &Tti,
        arrives: &Tti,
        started: impl Iterator<Item = (u64, &'a Packet)>,
    ) {
        let (now, channel, is_tdd) = (cx.now, self.channel, self.is_tdd);
        let (Some(encoder), Some(capture)) = (&mut self.encoder, cx.capture()) else { return };
        let mut started =
            started.map(|(number, packet)| (number, octets_of(packet, channel.dir, number as u16)));
        let mode = encoder.mode();
        encoder.encode(sent, &mut started, &mut |pdu, octets| {
            let mode = match pdu {
                Pdu::NrPdcp { sn_bits } => Mode::NrPdcp { sn_bits },
                Pdu::NrMac => Mode::NrMac { is_tdd },
                Pdu::LtePdcp { sn_bits } => Mode::LtePdcp { sn_bits },
                Pdu::LteMac => Mode::LteMac,
                _ => mode,
            };
            let packet = datagram_of(mode, channel, octets);
            if is_lost(pdu, sent, arrives) {
                capture.lost_packet(PDU_INTERFACE, now, &packet);
            } else {
                capture.packet(PDU_INTERFACE, now, &packet, packet.len() as u32, 0);
            }
        });
    }
}

fn is_lost(pdu: Pdu, sent: &Tti, arrives: &Tti) -> bool {
    match pdu {
        Pdu::Control(place) => !arrives.control.contains(&sent.control[place]),
        Pdu::LteStatus => arrives.lte.status.is_none(),
        Pdu::Lte(place) => !arrives.lte.data.contains(&sent.lte.data[place]),
        Pdu::NrStatus => arrives.nr.status.is_none(),
        Pdu::Nr(place) => !arrives.nr.data.contains(&sent.nr.data[place]),
        Pdu::NrMac | Pdu::LteMac => arrives.is_empty(),
        // It is RLC that loses it.
        Pdu::NrPdcp { .. } | Pdu::LtePdcp { .. } => false,
        Pdu::Data(sn) => !arrives.data.runs.iter().any(|run| (run.sns.first..run.sns.end).contains(&sn)),
    }
}

//! The assembly of an NR cell out of its parameters.

use super::second_bearer::{BearerConfig, SecondBearer};
use super::{Config, PROCESSES, SubbandReport};
use crate::element::Element;
use crate::packet::Dir;
use crate::radio::Plan;
use crate::radio::activity::with_activity;
use crate::radio::bearers::{Bearers, Second, Selector};
use crate::radio::mac::reordering::Numbers;
use crate::radio::mac::subbands::{self, Subbands};
use crate::radio::mac::{Frame, Framing, Reception, Sender, Setup, SharedCell, Source, Ue, UplinkSetup};
use crate::radio::outages::{Silences, with_outages};
use crate::radio::phy::air::{Air, MOST_LAYERS};
use crate::radio::phy::nr::{self as formats, Carrier, Nr, Report};
use crate::radio::rlc_bearer::RlcBearer;
use crate::radio::rlc_pair::RlcPair;
use crate::sinr::Sinr;
use crate::time::Duration;
use crate::units::{Bitrate, Decibel};

/// From the measurement of a report to its first use, and between reports.
const AGE: Duration = Duration::from_millis(5);
const PERIOD: Duration = Duration::from_millis(20);

/// Averaging time of the schedulers.
const WINDOW: Duration = Duration::from_millis(100);

/// A block is a MAC PDU: RLC counts the subheader of each of its PDUs (TS 38.321 §6.1.2).
const FRAMING: Framing = Framing::Octets { header_octets: 0 };

/// PRBs of a resource block group: TS 38.214 table 5.1.2.2.1-1, configuration 1.
pub(super) fn group(prbs: u32) -> u32 {
    match prbs {
        0..=36 => 2,
        37..=72 => 4,
        73..=144 => 8,
        _ => 16,
    }
}

impl Config {
    pub(super) fn cell(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let frame = self.frame();
        let setup = self.setup(&frame);
        let uplink = self.uplink_setup(&frame);
        let ues = (0..self.ues).filter_map(|ue| self.ue(plan, ue, &setup, &uplink)).collect();
        let senders = (0..self.ues).map(|ue| self.sender(plan, ue, &frame)).collect();
        let load = plan.air.map(|heard| heard.load.clone());
        let cell = SharedCell::new(setup, ues, load).with_uplink(uplink, senders);
        let cell = cell.with_load(self.downlink.load.as_ref(), plan.run_seed);
        with_outages(with_activity(Box::new(cell), self.activity.as_ref(), self.ues), plan)
    }

    fn setup(&self, frame: &Frame) -> Setup {
        let downlink = &self.downlink;
        let air = self.downlink_air();
        let prbs = air.units();
        let special = formats::downlink_elements(&downlink.blocks, self.special.down);
        Setup {
            name: "radio.nr",
            slot: self.slot(),
            special_air: (special > 0).then(|| Box::new(air.with_elements(special)) as Box<dyn Air>),
            air: Box::new(air),
            framing: FRAMING,
            scheduler: downlink.scheduler.build(self.ues.into(), self.slots(WINDOW) as u32),
            units: prbs,
            group: downlink.group(prbs),
            subband: downlink.subband(prbs),
            shares: downlink.sharing.into(),
            carriers: self.carriers,
            ues_per_slot: usize::MAX,
            least_interval: 1,
            frame: frame.clone(),
            harq: downlink.harq.clone(),
        }
    }

    fn downlink_air(&self) -> Nr {
        let blocks = &self.downlink.blocks;
        let mut layer_loss_db = [0.0; MOST_LAYERS];
        let given = self.downlink.layer_loss.iter().copied().map(Decibel::as_db);
        layer_loss_db.iter_mut().zip(given).for_each(|(own, given)| *own = given);
        Nr::new(Carrier {
            prbs: self.prbs(blocks.bandwidth),
            elements: formats::downlink_elements(blocks, 14),
            table: blocks.table,
            layers: blocks.layers,
            loss_db: blocks.loss.as_db(),
            layer_loss_db,
            report: self.downlink.report,
            limits_buffer: true,
        })
    }

    fn uplink_air(&self) -> Nr {
        let blocks = &self.uplink.blocks;
        let loss = |layers: usize| 10.0 * libm::log10(layers as f64);
        Nr::new(Carrier {
            prbs: self.prbs(blocks.bandwidth) - u32::from(blocks.reserved_prbs),
            elements: formats::blocks::elements_of_prb(14, blocks.dmrs.into(), 0),
            table: blocks.table,
            layers: blocks.layers,
            loss_db: blocks.loss.as_db(),
            // A UE's power is shared among its layers.
            layer_loss_db: std::array::from_fn(|place| loss(place + 1)),
            // The gNB measures itself, and has the buffer of the whole mother code.
            report: formats::Report::Mcs,
            limits_buffer: false,
        })
    }

    /// PRBs of a valid carrier.
    pub(super) fn prbs(&self, bandwidth: crate::units::Frequency) -> u32 {
        formats::prbs(self.scs_khz().unwrap_or_default(), bandwidth).unwrap_or(1)
    }

    fn uplink_setup(&self, frame: &Frame) -> UplinkSetup {
        let uplink = &self.uplink;
        let standing = uplink.standing.as_ref();
        UplinkSetup {
            frame: frame.clone(),
            slot: self.slot(),
            air: Box::new(self.uplink_air()),
            framing: FRAMING,
            scheduler: uplink.scheduler.build(self.ues.into(), self.slots(WINDOW) as u32),
            harq: uplink.harq.clone(),
            sr_period: self.slots(uplink.sr_period),
            first_block: uplink.first_block.as_u64(),
            most_block: uplink.most_block.as_u64(),
            carriers: uplink.carriers,
            standing: standing.map(|own| (self.slots(own.every), own.block.as_u64())),
            ramp: None,
            delay: uplink.delay,
        }
    }

    fn is_tdd(&self) -> bool {
        self.frame != "FDD"
    }

    fn slots_per_s(&self) -> f64 {
        1.0 / self.slot().as_secs_f64()
    }

    /// A UE's uplink with its reception at the gNB. Decisions on a slot use the latest slots processed by
    /// then.
    fn sender(&self, plan: &Plan<'_>, ue: u16, frame: &Frame) -> Sender {
        let uplink = &self.uplink;
        let age = 1 + frame.processing() + frame.lead() + u64::from(self.k2);
        let times = uplink.adaptation.slots(self.slot(), (1, age));
        let reception = |carrier| {
            let of_carrier = (ue, Dir::Uplink, carrier);
            let sinr = Sinr::on_carrier(&uplink.reception, plan.run_seed, of_carrier, self.slots_per_s());
            Reception::on_carrier(sinr, &uplink.adaptation, times, plan.run_seed, of_carrier)
        };
        let own = Sender::new(reception(0), uplink.harq.processes.unwrap_or(PROCESSES));
        own.with_carriers((1..uplink.carriers).map(reception).collect())
    }

    /// `None` if its link layers are incompatible, which validation rejects.
    fn ue(&self, plan: &Plan<'_>, ue: u16, setup: &Setup, uplink_setup: &UplinkSetup) -> Option<Ue> {
        let (downlink, uplink) = (&self.downlink, &self.uplink);
        let (down, up) = (downlink.rlc.ttis()?, uplink.rlc.ttis()?);
        let of_carrier = |carrier| (ue, Dir::Downlink, carrier);
        let heard = |carrier| plan.sinr(&downlink.reception, (ue, carrier), setup.slots_per_s());
        let rate = setup.mean_rate(heard(0)).as_bps() * u64::from(self.carriers);
        let rate = Bitrate::from_bps(rate);
        let up_rate = uplink_setup.largest_rate();
        let bearer = |(queue, rlc, pdcp), ttis, terms, dir| {
            let bearer = RlcBearer::new((queue, rlc, ttis), terms, plan, ue, dir);
            bearer.with_pdcp(rlc, pdcp).in_tdd(self.is_tdd())
        };
        let of_downlink = (&downlink.queue, &downlink.rlc, &downlink.pdcp);
        let of_uplink = (&uplink.queue, &uplink.rlc, &uplink.pdcp);
        let terms = [(rate, downlink.delay), (up_rate, uplink.delay)];
        let bearers = [
            bearer(of_downlink, down, terms[0], Dir::Downlink),
            bearer(of_uplink, up, terms[1], Dir::Uplink),
        ];
        let pair = RlcPair::new([&downlink.rlc, &uplink.rlc], [&downlink.pdcp, &uplink.pdcp], bearers)?;
        let pairs = match &self.second_bearer {
            None => Bearers::from(pair),
            Some(config) => Bearers::from(pair).with_second(self.second(config, plan, ue, terms)?),
        };
        let times = (self.slots(PERIOD), self.slots(AGE));
        let times = downlink.adaptation.slots(self.slot(), times);
        let reception = |carrier| {
            let (heard, adaptation) = (heard(carrier), &downlink.adaptation);
            Reception::on_carrier(heard, adaptation, times, plan.run_seed, of_carrier(carrier))
                .with_subbands(self.subbands(plan, (ue, carrier), setup.slots_per_s()))
                .with_interference(plan.air.and_then(|air| air.interference(ue, setup.slots_per_s())))
        };
        let own = Ue::new(
            pairs,
            reception(0),
            downlink.harq.processes.unwrap_or(PROCESSES),
            (Source::Rlc, None, Numbers::new(None)),
            None,
            Silences::of(plan.handovers, ue),
        );
        Some(own.with_carriers((1..self.carriers).map(reception).collect()))
    }

    /// The subbands of a UE's reception on a carrier, if they fade on their own.
    fn subbands(&self, plan: &Plan<'_>, (ue, carrier): (u16, u8), slots_per_s: f64) -> Option<Subbands> {
        let downlink = &self.downlink;
        let prbs = self.prbs(downlink.blocks.bandwidth);
        let (size, config) = (downlink.subband(prbs)?, downlink.subbands.as_ref()?);
        let format = match (&config.report, &downlink.report) {
            (SubbandReport::Wideband, _) => subbands::Format::Wideband,
            (SubbandReport::Subband, Report::Cqi) => subbands::Format::Offsets,
            (SubbandReport::Subband, Report::Mcs) => subbands::Format::Exact,
        };
        let band = |band| plan.sinr_of_subband(&downlink.reception, (ue, carrier, band), slots_per_s);
        Some(Subbands::new(format, (0..prbs.div_ceil(size) as u8).map(band).collect()))
    }

    /// The second bearer of a UE, of these rates and delays.
    fn second(
        &self,
        config: &SecondBearer,
        plan: &Plan<'_>,
        ue: u16,
        terms: [(Bitrate, Duration); 2],
    ) -> Option<Second> {
        let both = [(&config.downlink, Dir::Downlink), (&config.uplink, Dir::Uplink)];
        let bearer = |(own, dir): (&BearerConfig, Dir)| {
            let ttis = own.rlc.ttis()?;
            // Its indices follow those of all default bearers.
            let bearer =
                RlcBearer::new((&own.queue, &own.rlc, ttis), terms[dir.index()], plan, self.ues + ue, dir);
            Some(bearer.second_of(ue).with_pdcp(&own.rlc, &own.pdcp).in_tdd(self.is_tdd()))
        };
        let [downlink, uplink] = both.map(bearer);
        let (rlc, pdcp) = (both.map(|(own, _)| &own.rlc), both.map(|(own, _)| &own.pdcp));
        let pair = RlcPair::new(rlc, pdcp, [downlink?, uplink?])?;
        let selector = Selector::new(config.l4s, &config.flows);
        Some(Second { pair, selector, share: config.share.as_f64() })
    }
}

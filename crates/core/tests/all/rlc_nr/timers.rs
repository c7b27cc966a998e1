//! Acceptance test 20 without its cell: the slots of DDDDDDDSUU at 30 kHz, by hand.
//!
//! srsRAN's timers: t-Reassembly 80 ms. The block of slot 0 with 90 SDUs is lost and not repeated; that of slot 1 leaves the
//! UE's decoder 1 ms after its end, at 2.0 ms. Uplink slots are the last two of ten; the gNB has a block 2 ms after its end.

use airpath_core::pdcp;
use airpath_core::rlc::{Config, End, Report, Tti, am_nr};
use airpath_core::time::{Duration, Instant};

/// Half milliseconds.
fn at(slots: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(500_000 * slots)
}

struct Timeline {
    network: Box<dyn End>,
    ue: Box<dyn End>,
    up: Vec<(Instant, u64)>,
    lost: Vec<(Instant, u64)>,
}

impl Timeline {
    fn new(t_reordering_ms: u64) -> Self {
        let rlc = am_nr::Config {
            poll_pdu: None,
            poll_byte: None,
            t_reassembly: Duration::from_millis(80),
            ..am_nr::Config::default()
        };
        let pdcp = pdcp::Config {
            t_reordering: Some(Duration::from_millis(t_reordering_ms)),
            ..pdcp::Config::default()
        };
        let config = Config::AmNr(rlc);
        let [network, ue] = config.ends_with(&config, [&pdcp, &pdcp]).unwrap();
        Self { network, ue, up: Vec::new(), lost: Vec::new() }
    }

    fn settle(&mut self, now: Instant, report: &Report) {
        self.up.extend(report.up.iter().map(|&sdu| (now, sdu)));
        self.lost.extend(report.lost.iter().map(|&sdu| (now, sdu)));
    }

    fn block(&mut self, slot: u64, sdus: u64) -> Tti {
        let (mut tti, mut report) = (Tti::default(), Report::default());
        self.network.build_tti(at(slot), sdus * 1509, &mut tti, &mut report);
        assert_eq!(tti.nr.data.len() as u64, sdus);
        tti
    }

    /// Until the STATUS PDU has had the lost block retransmitted; when PDCP's timer expires in between it does.
    fn run(&mut self) {
        (0..1000).for_each(|_| self.network.handle_sdu(at(0), 1500));
        self.block(0, 90);
        let second = self.block(1, 90);
        let mut report = Report::default();
        self.ue.handle_tti(at(4), &second, &mut report);
        self.settle(at(4), &report);
        // 2.0 and 80 ms.
        assert_eq!(self.ue.deadline(), at(164));
        if self.ue.expiry() < at(168) {
            let expiry = self.ue.expiry();
            let mut passed = Report::default();
            self.ue.handle_expiry(expiry, &mut passed);
            self.settle(expiry, &passed);
        }
        // The first uplink slot at or after 82.0 ms is 168 of the pattern.
        let (mut status, mut unused) = (Tti::default(), Report::default());
        self.ue.build_tti(at(168), 120, &mut status, &mut unused);
        let named = status.nr.status.as_ref().unwrap();
        assert_eq!((named.ack_sn, named.nacks.len(), named.octets(18)), (180, 1, 7));
        // 84.5 and 2 ms: at 86.5, decided for slot 175 with 1 ms of lead.
        let mut confirmed = Report::default();
        self.network.handle_tti(at(173), &status, &mut confirmed);
        assert_eq!(confirmed.confirmed, (90..180).collect::<Vec<_>>());
        let again = self.block(175, 90);
        assert!(again.nr.data.iter().all(|pdu| pdu.again));
        // 88.0 and 1 ms.
        let mut repaired = Report::default();
        self.ue.handle_tti(at(178), &again, &mut repaired);
        self.settle(at(178), &repaired);
    }
}

#[test]
fn t_reordering_of_100_ms_waits_for_the_repair_at_89_ms() {
    let mut timeline = Timeline::new(100);
    timeline.run();
    assert_eq!(timeline.up, (0..180).map(|sdu| (at(178), sdu)).collect::<Vec<_>>());
    assert_eq!(timeline.lost, []);
}

#[test]
fn t_reordering_of_80_ms_loses_90_sdus_at_82_ms() {
    let mut timeline = Timeline::new(80);
    timeline.run();
    assert_eq!(timeline.up, (90..180).map(|sdu| (at(164), sdu)).collect::<Vec<_>>());
    assert_eq!(timeline.lost, (0..90).map(|sdu| (at(164), sdu)).collect::<Vec<_>>());
    assert_eq!(timeline.ue.received().unwrap()["discarded_sdus"], 90);
}

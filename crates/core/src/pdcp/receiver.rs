//! The receiving side (TS 38.323 §5.2.2, §5.1.2, §5.4.1).

use super::{Config, StatusReport};
use crate::reordering::Reordering;
use crate::time::Instant;
use serde::Serialize;

/// Largest bitmap of a status report: the largest PDU minus five octets (§5.4.1), in bits.
const LARGEST_BITMAP: usize = (super::LARGEST_SDU as usize - 5) * 8;

/// The receiving side. SDUs are their numbers in the bearer.
#[derive(Debug)]
pub struct Receiver {
    sn_bits: u8,
    out_of_order: bool,
    status_report: bool,
    /// RX_DELIV, RX_NEXT, RX_REORD and t-Reordering.
    queue: Reordering<u64>,
    /// With `out_of_order` SDUs that have left `queue`; kept for its memory.
    out: Vec<u64>,
    /// Number of the SDU after the last one in order.
    next_number: u64,
    reports: u32,
    counts: Counts,
}

/// What a receiving side counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// SDUs that t-Reordering has passed over.
    pub passed_over_sdus: u64,
    /// SDUs that were discarded: received before, or passed over.
    pub discarded_sdus: u64,
    /// SDUs whose COUNT was mistaken, as more than half of the numbers were missing before them.
    pub mistaken_counts: u64,
    /// How often t-Reordering has expired.
    pub reordering_timeouts: u64,
    /// Status reports compiled.
    pub status_reports: u32,
    /// The greatest number of SDUs that waited for another one.
    pub most_held_sdus: u64,
}

impl Receiver {
    /// A side in its initial state.
    pub fn new(config: &Config) -> Self {
        Self {
            // Without a header no bit of COUNT is missing.
            sn_bits: if config.sn == 0 { 63 } else { config.sn },
            out_of_order: config.out_of_order,
            status_report: config.status_report,
            queue: Reordering::new(0, None, config.t_reordering),
            out: Vec::new(),
            next_number: 0,
            reports: 0,
            counts: Counts::default(),
        }
    }

    /// What it counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// RX_DELIV: COUNT of the first SDU that is still waited for.
    pub fn rx_deliv(&self) -> u64 {
        self.queue.next()
    }

    /// RX_NEXT: COUNT behind the highest received.
    pub fn rx_next(&self) -> u64 {
        self.queue.end()
    }

    /// RLC hands an SDU up. `up` gets the numbers of SDUs that go up now, and `lost` those of SDUs that never will: those
    /// too that were discarded at the transmitter.
    #[inline(always)]
    pub fn handle(&mut self, now: Instant, count: u64, number: u64, up: &mut Vec<u64>, lost: &mut Vec<u64>) {
        if self.received_count(count) != count {
            self.counts.mistaken_counts += 1;
            return lost.push(number);
        }
        let from = up.len();
        let out = if self.out_of_order { &mut self.out } else { &mut *up };
        if self.queue.handle(now, count, number, out).is_some() {
            self.counts.discarded_sdus += 1;
            return;
        }
        if self.out_of_order {
            up.push(number);
        }
        self.pass_over(&up[from..], lost);
        let held = self.queue.end() - self.queue.next();
        if held > self.counts.most_held_sdus {
            self.counts.most_held_sdus = held;
        }
    }

    /// SDUs have left `queue`, in `up` or in `out`: earlier SDUs still missing are lost.
    #[inline]
    fn pass_over(&mut self, up: &[u64], lost: &mut Vec<u64>) {
        let out = if self.out_of_order { &self.out[..] } else { up };
        for &number in out {
            lost.extend(self.next_number..number);
            self.next_number = number + 1;
        }
        self.out.clear();
    }

    /// §5.2.2.1: the COUNT that the lower bits of one stand for.
    #[inline]
    fn received_count(&self, count: u64) -> u64 {
        let (numbers, window) = (1 << self.sn_bits, 1 << (self.sn_bits - 1));
        let (rcvd_sn, rx_deliv) = (count % numbers, self.queue.next());
        let sn = rx_deliv % numbers;
        let hfn = rx_deliv - sn;
        if rcvd_sn + window < sn {
            hfn + numbers + rcvd_sn
        } else if rcvd_sn >= sn + window {
            // Before the first one there is none: no COUNT is like this.
            hfn.checked_sub(numbers).map_or(u64::MAX, |hfn| hfn + rcvd_sn)
        } else {
            hfn + rcvd_sn
        }
    }

    /// When t-Reordering expires.
    #[inline]
    pub fn expiry(&self) -> Instant {
        self.queue.expiry()
    }

    /// t-Reordering has expired, if its time has come (§5.2.2.2).
    pub fn handle_expiry(&mut self, now: Instant, up: &mut Vec<u64>, lost: &mut Vec<u64>) {
        if self.queue.expiry() > now {
            return;
        }
        let (from, rx_deliv) = (up.len(), self.queue.next());
        let out = if self.out_of_order { &mut self.out } else { &mut *up };
        let held = out.len();
        self.queue.handle_expiry(now, out);
        let held = (out.len() - held) as u64;
        self.counts.reordering_timeouts += 1;
        self.counts.passed_over_sdus += self.queue.next() - rx_deliv - held;
        self.pass_over(&up[from..], lost);
    }

    /// RLC of acknowledged mode was re-established (§5.1.2, §5.4.1): the status report that is sent, if there is one.
    pub fn re_establish(&mut self) -> Option<StatusReport> {
        if !self.status_report {
            return None;
        }
        // RX_DELIV is missing itself; the last one that is held ends the bitmap.
        let bitmap = self.queue.held().skip(1).take(LARGEST_BITMAP).collect();
        let report = StatusReport { number: self.reports, fmc: self.queue.next(), bitmap };
        self.reports += 1;
        self.counts.status_reports += 1;
        Some(report)
    }

    /// RLC of unacknowledged mode was re-established (§5.1.2): what is held goes up, and COUNT begins with 0.
    pub fn restart(&mut self, up: &mut Vec<u64>, lost: &mut Vec<u64>) {
        let from = up.len();
        let out = if self.out_of_order { &mut self.out } else { &mut *up };
        self.queue.reset(0, out);
        self.pass_over(&up[from..], lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A receiver whose SDUs have their COUNT as number.
    struct Pdcp(Receiver);

    impl Pdcp {
        fn new(change: impl FnOnce(&mut Config)) -> Self {
            let mut config = Config::default();
            change(&mut config);
            Self(Receiver::new(&config))
        }

        /// Up and lost.
        fn arrive(&mut self, ms: u64, counts: impl IntoIterator<Item = u64>) -> (Vec<u64>, Vec<u64>) {
            let (mut up, mut lost) = (Vec::new(), Vec::new());
            counts.into_iter().for_each(|count| self.0.handle(at(ms), count, count, &mut up, &mut lost));
            (up, lost)
        }

        fn up(&mut self, ms: u64, counts: impl IntoIterator<Item = u64>) -> Vec<u64> {
            let (up, lost) = self.arrive(ms, counts);
            assert!(lost.is_empty());
            up
        }

        /// Up and lost.
        fn expire(&mut self, ms: u64) -> (Vec<u64>, Vec<u64>) {
            let (mut up, mut lost) = (Vec::new(), Vec::new());
            self.0.handle_expiry(at(ms), &mut up, &mut lost);
            (up, lost)
        }
    }

    /// Acceptance test 22.
    #[test]
    fn t_reordering_starts_with_the_first_sdu_behind_a_gap() {
        let mut pdcp = Pdcp::new(|_| ());
        assert_eq!(pdcp.up(0, 0..10), (0..10).collect::<Vec<_>>());
        // 10 is lost; RX_REORD is 12.
        assert!(pdcp.up(5, [11]).is_empty());
        assert!(pdcp.up(20, 12..20).is_empty());
        assert_eq!((pdcp.0.rx_deliv(), pdcp.0.rx_next(), pdcp.0.expiry()), (10, 20, at(105)));
        assert_eq!(pdcp.expire(104), (vec![], vec![]));
        // Below RX_REORD, and the consecutive ones.
        assert_eq!(pdcp.expire(105), ((11..20).collect(), vec![10]));
        assert_eq!((pdcp.0.rx_deliv(), pdcp.0.expiry()), (20, Instant::NEVER));
    }

    /// Acceptance test 22: the second gap has its own time, which starts when the first one is given up.
    #[test]
    fn a_second_gap_restarts_t_reordering_with_rx_reord() {
        let mut pdcp = Pdcp::new(|_| ());
        assert!(pdcp.up(0, [1]).is_empty());
        assert!(pdcp.up(30, [3]).is_empty());
        assert_eq!(pdcp.expire(100), (vec![1], vec![0]));
        assert_eq!((pdcp.0.rx_deliv(), pdcp.0.expiry()), (2, at(200)));
        assert!(pdcp.up(150, [5]).is_empty());
        assert_eq!(pdcp.expire(200), (vec![3], vec![2]));
        // RX_REORD was 4: the gap at 4 is younger.
        assert_eq!((pdcp.0.rx_deliv(), pdcp.0.expiry()), (4, at(300)));
        assert_eq!(pdcp.up(250, [4]), [4, 5]);
        assert_eq!(pdcp.0.expiry(), Instant::NEVER);
    }

    #[test]
    fn t_reordering_stops_when_rx_deliv_reaches_rx_reord() {
        let mut pdcp = Pdcp::new(|_| ());
        assert!(pdcp.up(0, [1]).is_empty());
        assert!(pdcp.up(40, [3]).is_empty());
        // RX_REORD is 2, RX_DELIV becomes 2; it starts again for 2.
        assert_eq!(pdcp.up(60, [0]), [0, 1]);
        assert_eq!(pdcp.0.expiry(), at(160));
    }

    #[test]
    fn duplicates_and_what_was_passed_over_are_dropped() {
        let mut pdcp = Pdcp::new(|_| ());
        assert_eq!(pdcp.up(0, [0, 2, 2, 0]), [0]);
        assert_eq!(pdcp.expire(100), (vec![2], vec![1]));
        assert_eq!(pdcp.up(101, [1, 3]), [3]);
        let counts = pdcp.0.counts();
        assert_eq!((counts.discarded_sdus, counts.passed_over_sdus, counts.reordering_timeouts), (3, 1, 1));
    }

    #[test]
    fn without_t_reordering_a_gap_is_waited_for_without_end() {
        let mut pdcp = Pdcp::new(|config| config.t_reordering = None);
        assert!(pdcp.up(0, 1..3000).is_empty());
        assert_eq!(pdcp.0.expiry(), Instant::NEVER);
        assert_eq!(pdcp.up(1_000_000, [0]).len(), 3000);
    }

    #[test]
    fn out_of_order_delivery_drops_duplicates_only() {
        let mut pdcp = Pdcp::new(|config| config.out_of_order = true);
        assert_eq!(pdcp.up(0, [0, 2, 3]), [0, 2, 3]);
        assert_eq!(pdcp.up(1, [3, 1, 4]), [1, 4]);
        // The state variables move as in order: 5 and 6 are passed over.
        assert_eq!(pdcp.up(2, [7]), [7]);
        assert_eq!(pdcp.expire(102), (vec![], vec![5, 6]));
        assert_eq!((pdcp.0.rx_deliv(), pdcp.up(103, [6])), (8, vec![]));
    }

    /// 12 bits, RX_DELIV = 4095 + 4096: HFN 1, SN 4095.
    #[test]
    fn a_count_is_inferred_within_half_of_the_numbers() {
        let mut pdcp = Pdcp::new(|config| (config.sn, config.t_reordering) = (12, None));
        assert_eq!(pdcp.up(0, 0..8191).len(), 8191);
        // SN 0 < 4095 - 2048: HFN 2.
        assert!(pdcp.up(0, [8192]).is_empty());
        // SN 2046, the last of HFN 2; 2047 is taken for HFN 1, which was received.
        assert!(pdcp.up(0, [8191 + 2047]).is_empty());
        assert_eq!(pdcp.arrive(0, [8191 + 2048]), (vec![], vec![8191 + 2048]));
        assert_eq!(pdcp.0.counts().mistaken_counts, 1);
        // RX_DELIV = 8193, SN 1, HFN 2: SN 4095 >= 1 + 2048 is of HFN 1, a duplicate.
        assert_eq!(pdcp.up(0, [8191]), [8191, 8192]);
        assert!(pdcp.up(0, [8191]).is_empty());
        assert_eq!((pdcp.0.counts().discarded_sdus, pdcp.0.counts().mistaken_counts), (1, 1));
    }

    #[test]
    fn a_status_report_names_what_is_held_behind_the_first_missing_sdu() {
        let mut pdcp = Pdcp::new(|_| ());
        pdcp.up(0, [0, 1, 3, 6]);
        let report = pdcp.0.re_establish().unwrap();
        assert_eq!((report.number, report.fmc), (0, 2));
        assert_eq!(report.bitmap, [true, false, false, true]);
        assert_eq!((report.octets(), pdcp.0.counts().status_reports), (6, 1));
        assert_eq!(
            [1, 2, 3, 4, 6, 7].map(|count| report.confirms(count)),
            [true, false, true, false, true, false]
        );
        // What is held stays, and t-Reordering runs.
        assert_eq!((pdcp.0.expiry(), pdcp.up(1, [2])), (at(100), vec![2, 3]));
        let mut none = Pdcp::new(|config| config.status_report = false);
        assert_eq!(none.0.re_establish(), None);
        let whole = Pdcp::new(|_| ()).0.re_establish().unwrap();
        assert_eq!((whole.octets(), whole.bitmap.len()), (5, 0));
    }

    #[test]
    fn a_status_report_has_9000_octets_at_most() {
        let mut pdcp = Pdcp::new(|_| ());
        pdcp.up(0, 1..100_000);
        assert_eq!(pdcp.0.re_establish().unwrap().octets(), 9000);
    }

    #[test]
    fn in_unacknowledged_mode_what_is_held_goes_up_and_count_begins_with_0() {
        let mut pdcp = Pdcp::new(|_| ());
        pdcp.up(0, [0, 2, 4]);
        let (mut up, mut lost) = (Vec::new(), Vec::new());
        pdcp.0.restart(&mut up, &mut lost);
        assert_eq!((up, lost, pdcp.0.expiry()), (vec![2, 4], vec![1, 3], Instant::NEVER));
        pdcp.0.handle(at(1), 0, 5, &mut Vec::new(), &mut Vec::new());
        assert_eq!(pdcp.0.rx_deliv(), 1);
    }
}

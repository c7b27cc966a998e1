//! The transmitting side (TS 38.323 §5.1.2, §5.2.1, §5.3, §5.4.2, §5.5).

use super::{Config, Content, PdcpPdu, StatusReport};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// The transmitting side. RLC takes PDUs out of it as its transmission opportunities have room.
#[derive(Debug)]
pub struct Transmitter {
    header: u32,
    discard_timer: Option<Duration>,
    /// SDUs without a COUNT, the oldest first.
    waiting: VecDeque<Waiting>,
    /// Octets of these.
    waiting_octets: u64,
    /// Number of the next SDU to come.
    next_number: u64,
    /// TX_NEXT: COUNT of the next SDU that RLC takes.
    tx_next: u64,
    /// PDUs that RLC had before it was re-established, to be transmitted again.
    again: VecDeque<PdcpPdu>,
    /// A status report, which goes first.
    status: Option<PdcpPdu>,
    /// Octets of `again` and `status`.
    again_octets: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u64,
    octets: u32,
    /// When discardTimer expires.
    expires: Instant,
}

impl Transmitter {
    /// A side in its initial state.
    pub fn new(config: &Config) -> Self {
        Self {
            header: config.header_octets(),
            discard_timer: config.discard_timer,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            next_number: 0,
            tx_next: 0,
            again: VecDeque::new(),
            status: None,
            again_octets: 0,
        }
    }

    /// Takes an SDU of `octets`; discardTimer starts.
    #[inline]
    pub fn push(&mut self, now: Instant, octets: u32) {
        // No packet is empty.
        let octets = octets.max(1);
        let expires = self.discard_timer.map_or(Instant::NEVER, |timer| now + timer);
        self.waiting.push_back(Waiting { number: self.next_number, octets, expires });
        self.waiting_octets += u64::from(octets);
        self.next_number += 1;
    }

    /// Takes an SDU out whose transmission has not begun, `place` 0 for the oldest; its number.
    pub fn take_waiting(&mut self, place: usize) -> Option<u64> {
        let sdu = self.waiting.remove(place)?;
        self.waiting_octets -= u64::from(sdu.octets);
        Some(sdu.number)
    }

    /// Number of the first SDU whose transmission has not begun.
    #[inline]
    pub fn first_waiting(&self) -> u64 {
        self.waiting.front().map_or(self.next_number, |sdu| sdu.number)
    }

    /// Number of the first SDU that RLC has not taken yet, or that it takes again.
    #[inline]
    pub fn first_pending(&self) -> u64 {
        self.again.iter().find_map(PdcpPdu::number).unwrap_or_else(|| self.first_waiting())
    }

    /// When discardTimer expires first.
    pub fn expiry(&self) -> Instant {
        self.waiting.front().map_or(Instant::NEVER, |sdu| sdu.expires)
    }

    /// Discards SDUs whose discardTimer has expired (§5.3), with their numbers in `unsent`.
    #[inline]
    pub fn discard(&mut self, now: Instant, unsent: &mut Vec<u64>) {
        while self.expiry() <= now {
            unsent.extend(self.take_waiting(0));
        }
    }

    /// Whether RLC can take nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.again.is_empty() && self.status.is_none()
    }

    /// How many PDUs wait, and their octets.
    #[inline]
    pub fn pending(&self) -> (u64, u64) {
        let waiting = self.waiting.len() as u64;
        let again = (self.again.len() + usize::from(self.status.is_some())) as u64;
        (waiting + again, self.waiting_octets + waiting * u64::from(self.header) + self.again_octets)
    }

    /// The next PDU for RLC (§5.2.1): a status report, then what is transmitted again, then a new SDU with its COUNT.
    #[inline]
    pub fn take(&mut self) -> Option<PdcpPdu> {
        if self.again_octets > 0
            && let Some(pdu) = self.status.take().or_else(|| self.again.pop_front())
        {
            self.again_octets -= u64::from(pdu.octets);
            return Some(pdu);
        }
        let Waiting { number, octets, .. } = self.waiting.pop_front()?;
        self.waiting_octets -= u64::from(octets);
        let content = Content::Data { count: self.tx_next, number };
        self.tx_next += 1;
        Some(PdcpPdu { content, octets: octets + self.header, confirmed: false })
    }

    /// RLC was re-established (§5.1.2, §5.5): what it gives back is transmitted again, in ascending order of COUNT.
    pub fn give_back(&mut self, pdus: impl DoubleEndedIterator<Item = PdcpPdu>) {
        for pdu in pdus.rev().filter(|pdu| matches!(pdu.content, Content::Data { .. })) {
            self.again_octets += u64::from(pdu.octets);
            self.again.push_front(pdu);
        }
        // A receiver that is re-established compiles another one.
        if let Some(status) = self.status.take() {
            self.again_octets -= u64::from(status.octets);
        }
    }

    /// In unacknowledged mode: the next COUNT is 0.
    pub fn restart(&mut self) {
        self.tx_next = 0;
    }

    /// Sends a status report of the receiving side at this end as the next PDU (§5.4.1).
    pub fn send_status(&mut self, report: &StatusReport) {
        let (content, octets) = (Content::Status(report.number), report.octets());
        let replaced = self.status.replace(PdcpPdu { content, octets, confirmed: true });
        self.again_octets += u64::from(octets);
        self.again_octets -= replaced.map_or(0, |replaced| u64::from(replaced.octets));
    }

    /// A status report of the peer arrives (§5.4.2): SDUs that it has are not transmitted again. `confirmed` gets the
    /// numbers of those whose delivery was not confirmed before.
    pub fn handle_status(&mut self, report: &StatusReport, confirmed: &mut Vec<u64>) {
        let octets = &mut self.again_octets;
        self.again.retain(|pdu| match pdu.content {
            Content::Data { count, number } if report.confirms(count) => {
                *octets -= u64::from(pdu.octets);
                if !pdu.confirmed {
                    confirmed.push(number);
                }
                false
            }
            _ => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn transmitter(discard_timer: Option<Duration>) -> Transmitter {
        Transmitter::new(&Config { discard_timer, ..Config::default() })
    }

    fn data(count: u64, number: u64, octets: u32) -> PdcpPdu {
        PdcpPdu { content: Content::Data { count, number }, octets, confirmed: false }
    }

    #[test]
    fn an_sdu_gets_its_count_when_rlc_takes_it() {
        let mut pdcp = transmitter(None);
        (0..4).for_each(|_| pdcp.push(at(0), 1500));
        assert_eq!((pdcp.take(), pdcp.pending()), (Some(data(0, 0, 1503)), (3, 4509)));
        // An SDU that a queue discipline evicts leaves no gap.
        assert_eq!((pdcp.take_waiting(1), pdcp.take_waiting(9)), (Some(2), None));
        assert_eq!(
            [pdcp.take(), pdcp.take(), pdcp.take()],
            [Some(data(1, 1, 1503)), Some(data(2, 3, 1503)), None]
        );
        assert_eq!((pdcp.first_waiting(), pdcp.is_empty()), (4, true));
    }

    #[test]
    fn discard_timer_ends_at_its_time_and_leaves_no_gap() {
        let mut pdcp = transmitter(Some(Duration::from_millis(10)));
        [0, 1, 5].iter().for_each(|&ms| pdcp.push(at(ms), 100));
        let mut unsent = Vec::new();
        assert_eq!(pdcp.take(), Some(data(0, 0, 103)));
        assert_eq!(pdcp.expiry(), at(11));
        pdcp.discard(at(10), &mut unsent);
        assert!(unsent.is_empty());
        pdcp.discard(at(11), &mut unsent);
        assert_eq!((unsent, pdcp.take()), (vec![1], Some(data(1, 2, 103))));
    }

    #[test]
    fn what_rlc_gives_back_goes_before_what_is_new_and_a_status_report_before_both() {
        let mut pdcp = transmitter(None);
        (0..5).for_each(|_| pdcp.push(at(0), 100));
        let taken: Vec<_> = (0..3).filter_map(|_| pdcp.take()).collect();
        pdcp.send_status(&StatusReport { number: 7, fmc: 3, bitmap: vec![false, true] });
        let status = PdcpPdu { content: Content::Status(7), octets: 6, confirmed: true };
        // It was in RLC as well, and is compiled again.
        pdcp.give_back(taken.iter().copied().chain([status]));
        assert_eq!(pdcp.pending(), (5, 515));
        pdcp.send_status(&StatusReport { number: 8, fmc: 3, bitmap: Vec::new() });
        assert_eq!(pdcp.pending(), (6, 520));
        let order: Vec<_> = std::iter::from_fn(|| pdcp.take()).map(|pdu| pdu.content).collect();
        let of = |number| Content::Data { count: number, number };
        assert_eq!(order, [Content::Status(8), of(0), of(1), of(2), of(3), of(4)]);
    }

    #[test]
    fn what_the_peer_reports_is_not_transmitted_again() {
        let mut pdcp = transmitter(None);
        (0..6).for_each(|_| pdcp.push(at(0), 100));
        let taken: Vec<_> = std::iter::from_fn(|| pdcp.take()).collect();
        let known = PdcpPdu { confirmed: true, ..taken[4] };
        pdcp.give_back([taken[0], taken[1], taken[2], taken[3], known, taken[5]].into_iter());
        let mut confirmed = Vec::new();
        // 0 is below FMC = 1; in the bitmap 2 and 4 are received.
        let report = StatusReport { number: 0, fmc: 1, bitmap: vec![true, false, true] };
        pdcp.handle_status(&report, &mut confirmed);
        assert_eq!((confirmed, pdcp.pending()), (vec![0, 2], (3, 309)));
        let left: Vec<_> = std::iter::from_fn(|| pdcp.take()).collect();
        assert_eq!(left, [taken[1], taken[3], taken[5]]);
    }
}

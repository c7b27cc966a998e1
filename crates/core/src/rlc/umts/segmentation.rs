//! SDUs into PDUs: which sequence numbers hold which SDU (TS 25.322 §9.2.2.8, §11.3.2.1).
//!
//! SDUs follow each other without padding as long as there is data when a PDU is built. The end of an
//! SDU costs a length indicator in the PDU with its last octet. If that finds no room, the next PDU
//! begins with an indicator that says so, even when there is no other data for it. With the special value of
//! HE, an SDU whose octets fill a PDU to its end needs no indicator, if the PDU has no other (§9.2.2.7).

use crate::rlc::SduEnd;
use crate::rlc::umts::sdu_queue::SduQueue;

/// Where an SDU lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its end, as reported to the receiver.
    pub end: SduEnd,
    /// The PDU with its last octet.
    pub last: u64,
}

/// The SDU that is being cut, and octets of it not yet in a PDU.
#[derive(Clone, Copy, Debug)]
struct Cut {
    sdu: u64,
    first: u64,
    octets: u64,
}

/// Cuts SDUs.
#[derive(Debug, Default)]
pub struct Segmentation {
    payload: u64,
    li_octets: u64,
    special_he: bool,
    /// Lengths of the SDUs that have not started.
    waiting: SduQueue<u32>,
    /// Total octets of these SDUs.
    octets: u64,
    cut: Option<Cut>,
    /// The SDU before ends without an indicator: (number, PDU with its first octet).
    unmarked: Option<(u64, u64)>,
    /// Octets left free in the PDU filled last.
    free: u64,
}

impl Segmentation {
    pub fn prefetch_waiting(&self) {
        self.waiting.prefetch();
    }

    pub fn new(payload: u64, li_octets: u64, special_he: bool) -> Self {
        Self { payload, li_octets, special_he, ..Self::default() }
    }

    /// Adds an SDU of `octets`; returns its index.
    pub fn push(&mut self, octets: u32) -> u64 {
        self.octets += u64::from(octets);
        self.waiting.push(octets)
    }

    /// Whether everything is in a PDU.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.cut.is_none() && self.unmarked.is_none()
    }

    /// Estimated number of PDUs for the remaining data: at least one, if there is any.
    pub fn pdus(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let octets = self.octets + self.cut.map_or(0, |cut| cut.octets);
        let ends = self.waiting.len() as u64 + u64::from(self.begun().is_some());
        (octets + ends * self.li_octets).div_ceil(self.payload)
    }

    /// Number of SDUs with no octet in a PDU.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Index of the first SDU with no octet in a PDU, or of the next to arrive.
    pub fn first_waiting(&self) -> u64 {
        self.waiting.first()
    }

    /// Removes the unstarted SDU at `place`; returns its index, which is not reused.
    pub fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.octets -= self.waiting.iter().nth(place).map_or(0, |&octets| octets.into());
        self.waiting.take(place)
    }

    /// The SDU that has started but whose remaining octets or end are not in a PDU yet: its index, and the PDU with its
    /// first octet.
    pub fn begun(&self) -> Option<(u64, u64)> {
        self.cut.map(|cut| (cut.sdu, cut.first)).or(self.unmarked)
    }

    /// Gives up the SDU that has started: the next one starts a PDU.
    pub fn discard_begun(&mut self) {
        self.cut = None;
        self.unmarked = None;
    }

    /// Gives `sdu` up if it is being cut: its number, and the PDU with its first octet.
    pub fn break_off(&mut self, sdu: u64) -> Option<(u64, u64)> {
        self.cut.take_if(|cut| cut.sdu == sdu).map(|cut| (cut.sdu, cut.first))
    }

    /// The next PDU indicates the end of this SDU.
    pub fn mark(&mut self, broken_off: (u64, u64)) {
        self.unmarked = Some(broken_off);
    }

    /// The SDU whose end the next PDU indicates.
    pub fn unmarked(&self) -> Option<u64> {
        self.unmarked.map(|(sdu, _)| sdu)
    }

    /// Octets left free in the PDU filled last.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Fills at most `pdus` PDUs from `sn` on; the sequence number after the last one. Tells where SDUs lie
    /// that end in them. With `first_octet_indicator` one more marks an SDU that begins with a PDU.
    #[inline]
    pub fn fill(
        &mut self,
        sn: u64,
        pdus: u64,
        first_octet_indicator: bool,
        mut ended: impl FnMut(Span),
    ) -> u64 {
        let Self { payload, li_octets, .. } = *self;
        let limit = sn + pdus;
        let mut at = sn;
        while at < limit && !self.is_empty() {
            let mut room = payload;
            if let Some((sdu, first)) = self.unmarked.take() {
                room -= li_octets;
                ended(Span { end: SduEnd { sdu, first, sn: at }, last: at - 1 });
            } else if first_octet_indicator && self.cut.is_none() {
                room -= li_octets;
            }
            // §9.2.2.8: with 15 bits, one octet left behind an SDU is padding.
            while room >= li_octets {
                if self.cut.is_none() {
                    self.begin(at);
                }
                let Some(cut) = &mut self.cut else { break };
                let Cut { sdu, first, octets } = *cut;
                if octets > room {
                    cut.octets -= room;
                    room = 0;
                    break;
                }
                self.cut = None;
                if octets + li_octets <= room {
                    room -= octets + li_octets;
                    ended(Span { end: SduEnd { sdu, first, sn: at }, last: at });
                    continue;
                }
                if self.special_he && octets == payload {
                    ended(Span { end: SduEnd { sdu, first, sn: at }, last: at });
                } else {
                    self.unmarked = Some((sdu, first));
                }
                room = 0;
                break;
            }
            self.free = room;
            at += 1;
            // PDUs that an SDU fills alone come in one step.
            if at < limit
                && let Some(cut) = &mut self.cut
            {
                let whole = ((cut.octets - 1) / payload).min(limit - at);
                cut.octets -= whole * payload;
                at += whole;
            }
        }
        at
    }

    /// Starts the next SDU with PDU `sn`.
    #[inline(never)] // Keeps this code out of the path of PDUs in which no SDU starts.
    fn begin(&mut self, sn: u64) {
        if let Some((sdu, octets)) = self.waiting.pop() {
            self.octets -= u64::from(octets);
            self.cut = Some(Cut { sdu, first: sn, octets: octets.into() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spans(payload: u64, li: u64, sdus: &[u32]) -> (u64, Vec<Span>) {
        let mut cutter = Segmentation::new(payload, li, false);
        for &octets in sdus {
            cutter.push(octets);
        }
        let mut spans = Vec::new();
        let end = cutter.fill(0, 10_000, false, |span| spans.push(span));
        assert!(cutter.is_empty());
        (end, spans)
    }

    fn span(sdu: u64, first: u64, last: u64, sn: u64) -> Span {
        Span { end: SduEnd { sdu, first, sn }, last }
    }

    /// 40 octets and an indicator are 41: one octet and the indicator in a second PDU of 40.
    #[test]
    fn an_acknowledgment_of_forty_octets_takes_two_pdus() {
        // It fills the first to its last octet, so that the second one carries its end.
        assert_eq!(spans(40, 1, &[40]), (2, vec![span(0, 0, 0, 1)]));
        assert_eq!(spans(40, 1, &[39]), (1, vec![span(0, 0, 0, 0)]));
        assert_eq!(spans(40, 1, &[41]), (2, vec![span(0, 0, 1, 1)]));
    }

    /// 40 SDUs of 1501 octets with their indicator are 1501 PDUs of 40 octets.
    #[test]
    fn concatenated_packets_take_their_octets_and_an_indicator() {
        assert_eq!(spans(40, 1, &[1500; 40]).0, 1501);
    }

    /// With 15 bits, an end is left to the next PDU also when one octet is free for it.
    #[test]
    fn a_long_indicator_needs_two_octets() {
        assert_eq!(spans(198, 2, &[196]), (1, vec![span(0, 0, 0, 0)]));
        assert_eq!(spans(198, 2, &[197]), (2, vec![span(0, 0, 0, 1)]));
        assert_eq!(spans(198, 2, &[198]), (2, vec![span(0, 0, 0, 1)]));
    }

    /// §9.2.2.8: it is padding, and the next SDU begins in the next PDU.
    #[test]
    fn with_long_indicators_no_sdu_begins_in_the_last_octet() {
        assert_eq!(spans(198, 2, &[195, 9]), (2, vec![span(0, 0, 0, 0), span(1, 1, 1, 1)]));
        assert_eq!(spans(198, 2, &[194, 9]), (2, vec![span(0, 0, 0, 0), span(1, 0, 1, 1)]));
        assert_eq!(spans(40, 1, &[38, 9]), (2, vec![span(0, 0, 0, 0), span(1, 0, 1, 1)]));
    }

    /// The same octet by octet: PDUs with the room left in them.
    fn naively(payload: u64, li: u64, sdus: &[u32]) -> (u64, Vec<Span>) {
        let (mut sn, mut room, mut spans) = (0, payload, Vec::new());
        for (sdu, &octets) in (0..).zip(sdus) {
            let (mut first, mut last) = (u64::MAX, 0);
            for _ in 0..octets {
                if room == 0 {
                    (sn, room) = (sn + 1, payload);
                }
                room -= 1;
                (first, last) = (first.min(sn), sn);
            }
            if room < li {
                (sn, room) = (sn + 1, payload);
            }
            room -= li;
            if room < li {
                room = 0;
            }
            spans.push(span(sdu, first, last, sn));
        }
        (sn + u64::from(room < payload), spans)
    }

    proptest! {
        #[test]
        fn cuts_as_octet_by_octet(
            li in 1u64..=2,
            payload in 8u64..50,
            sdus in prop::collection::vec(1u32..200, 1..30),
            grants in prop::collection::vec(1u64..7, 1..9),
        ) {
            let mut cutter = Segmentation::new(payload, li, false);
            for &octets in &sdus {
                cutter.push(octets);
            }
            let estimate = cutter.pdus();
            let (mut spans, mut sn) = (Vec::new(), 0);
            for grant in grants.into_iter().cycle() {
                let next = cutter.fill(sn, grant, false, |span| spans.push(span));
                prop_assert!(next <= sn + grant);
                prop_assert_eq!(cutter.pdus() == 0, cutter.is_empty());
                sn = next;
                if cutter.is_empty() {
                    break;
                }
            }
            // An octet that holds no length indicator of two is left free.
            prop_assert!(estimate <= sn && sn <= estimate + sdus.len() as u64);
            prop_assert_eq!((sn, spans), naively(payload, li, &sdus));
        }
    }
}

//! SDUs of a sender, and the PDUs that are cut out of them (TS 36.322 §6.2.1.3, §6.2.1.4, §6.2.2.5).
//!
//! A PDU takes consecutive octets of SDUs. Each SDU in it except the last has a length indicator of 11 bits with an E
//! bit, and an odd number of them four bits of padding. An SDU with more than 2047 octets in a PDU has no length
//! indicator there, so it is the last one of the PDU.

use crate::rlc::pdus::lte::{End, LARGEST_OFFSET, li_octets};
use crate::rlc::ranges::{Ranges, SnRange};
use crate::time::{Duration, Instant};
use crate::wire::pdcp::header_octets;
use std::collections::VecDeque;

/// LI has 11 bits (§6.2.2.5).
const LARGEST_LI: u64 = 2047;

/// SDUs of a sender: transmitted and unconfirmed ones, a partly transmitted one, and queued ones.
#[derive(Debug)]
pub struct Stream {
    sdus: VecDeque<Sdu>,
    /// Number of these, from the first, that have started since the entity was established.
    begun: usize,
    /// Number of these, from the first, that have ever started.
    known: usize,
    /// Octets of the stream that are in PDUs.
    cut: u64,
    /// End offset of the last SDU that has started.
    end: u64,
    /// Octets of SDUs that have not started.
    waiting: u64,
    /// Index of the next SDU to arrive.
    next: u64,
    discard_timer: Option<Duration>,
    /// Octets of PDCP's header of each SDU.
    header: u32,
    /// SDUs whose first octet was cut, those again included that were cut before a restart.
    started: u64,
}

#[derive(Debug)]
struct Sdu {
    number: u64,
    octets: u32,
    /// Offset of its first octet in the stream, once it has started.
    first: u64,
    /// When discardTimer expires.
    expires: Instant,
}

impl Sdu {
    fn end(&self) -> u64 {
        self.first + u64::from(self.octets)
    }
}

impl Stream {
    /// A sender's, with the time for which SDUs may wait to be begun, and, where SDUs have PDCP's header, the bits of its
    /// sequence number.
    pub fn new(discard_timer: Option<Duration>, pdcp_sn_bits: Option<u8>) -> Self {
        let header = pdcp_sn_bits.map_or(0, header_octets);
        let (sdus, begun, known, cut, end, waiting) = (VecDeque::new(), 0, 0, 0, 0, 0);
        Self { sdus, begun, known, cut, end, waiting, next: 0, discard_timer, header, started: 0 }
    }

    /// How many PDUs of PDCP were begun, those again included that follow a restart; `None` without PDCP's header.
    pub fn pdcp_pdus(&self) -> Option<u64> {
        (self.header > 0).then_some(self.started)
    }

    /// Enqueues an SDU.
    pub fn push(&mut self, now: Instant, octets: u32) {
        // No packet is empty.
        let octets = octets.max(1) + self.header;
        let expires = self.discard_timer.map_or(Instant::NEVER, |timer| now + timer);
        self.sdus.push_back(Sdu { number: self.next, octets, first: 0, expires });
        self.waiting += u64::from(octets);
        self.next += 1;
    }

    /// Removes an SDU that has never started.
    pub fn take_waiting(&mut self, place: usize) -> Option<u64> {
        let sdu = self.sdus.remove(self.known + place)?;
        self.waiting -= u64::from(sdu.octets);
        Some(sdu.number)
    }

    /// Index of the first SDU that has never started.
    pub fn first_waiting(&self) -> u64 {
        self.sdus.get(self.known).map_or(self.next, |sdu| sdu.number)
    }

    /// When discardTimer expires for the first SDU that has never started.
    pub fn expiry(&self) -> Instant {
        self.sdus.get(self.known).map_or(Instant::NEVER, |sdu| sdu.expires)
    }

    /// Removes SDUs whose discardTimer has expired and that have never started (TS 36.322 §5.3).
    pub fn discard(&mut self, now: Instant, unsent: &mut Vec<u64>) {
        while self.discard_timer.is_some() && self.expiry() <= now {
            unsent.extend(self.take_waiting(0));
        }
    }

    /// Octets not yet in a PDU.
    pub fn uncut(&self) -> u64 {
        self.end - self.cut + self.waiting
    }

    /// Number of SDUs with octets not yet in a PDU.
    pub fn uncut_sdus(&self) -> u64 {
        (self.sdus.len() - self.begun) as u64 + u64::from(self.cut < self.end)
    }

    /// Octets cut.
    pub fn cut_octets(&self) -> u64 {
        self.cut
    }

    /// Cuts the next octets for a PDU with so much room and a header of this size without length indicators; `None`
    /// if there is room for none, or nothing to cut.
    pub fn cut(&mut self, header: u64, room: u64) -> Option<SnRange> {
        let uncut = self.uncut();
        // Mostly the previous PDU took all the room, or all the octets.
        if uncut == 0 || room <= header {
            return None;
        }
        let going_on = (self.cut < self.end).then_some(self.end);
        let (mut end, mut place) = (self.end, self.begun);
        let waiting = std::iter::from_fn(|| {
            end += u64::from(self.sdus.get(place)?.octets);
            place += 1;
            Some(end)
        });
        let all = SnRange::new(self.cut, self.cut + uncut);
        let octets = fit(all, going_on.into_iter().chain(waiting), header, room)?;
        while self.end < octets.end
            && let Some(sdu) = self.sdus.get_mut(self.begun)
        {
            sdu.first = self.end;
            self.end = sdu.end();
            self.waiting -= u64::from(sdu.octets);
            self.begun += 1;
            self.started += 1;
        }
        self.known = self.known.max(self.begun);
        self.cut = octets.end;
        Some(octets)
    }

    /// The first octets of a range that was cut before, as many as a PDU with so much room takes.
    pub fn cut_again(&self, octets: SnRange, header: u64, room: u64) -> Option<SnRange> {
        let ends = self.begun().skip(self.place(octets.first)).map(Sdu::end);
        fit(octets, ends, header, room)
    }

    /// Whether an SDU begins with the first of octets that were cut; and the SDUs that end within these: their ends, and
    /// their first octets.
    pub fn within(&self, octets: SnRange) -> (bool, impl Iterator<Item = (End, u64)>) {
        let place = self.place(octets.first);
        let begins = self.sdus.get(place).is_some_and(|sdu| sdu.first == octets.first);
        let ending = (place..self.begun).map_while(|number| self.sdus.get(number));
        let ending = ending.take_while(move |sdu| sdu.end() <= octets.end);
        (begins, ending.map(|sdu| (End { at: sdu.end(), sdu: sdu.number }, sdu.first)))
    }

    /// SDUs that end within transmitted octets.
    pub fn ends_in(&self, octets: &Ranges) -> u64 {
        octets.as_slice().iter().map(|&octets| self.within(octets).1.count() as u64).sum()
    }

    /// Removes SDUs that end at this octet or before; they were sent, or confirmed.
    pub fn confirm(&mut self, octet: u64, confirmed: &mut Vec<u64>) {
        while self.begun > 0
            && let Some(sdu) = self.sdus.front().filter(|sdu| sdu.end() <= octet)
        {
            confirmed.push(sdu.number);
            self.sdus.pop_front();
            self.begun -= 1;
            self.known -= 1;
        }
    }

    /// Removes a partly transmitted SDU.
    pub fn break_off(&mut self) -> Option<u64> {
        let sdu = (self.cut < self.end).then(|| self.sdus.remove(self.begun - 1))??;
        self.begun -= 1;
        self.known -= 1;
        self.end = sdu.first;
        self.cut = sdu.first;
        Some(sdu.number)
    }

    /// Restarts with the first SDU that is not confirmed.
    pub fn restart(&mut self) {
        self.waiting += self.begun().map(|sdu| u64::from(sdu.octets)).sum::<u64>();
        (self.begun, self.cut, self.end) = (0, 0, 0);
    }

    fn begun(&self) -> impl Iterator<Item = &Sdu> {
        self.sdus.iter().take(self.begun)
    }

    /// The place of the SDU with an octet that was cut.
    fn place(&self, octet: u64) -> usize {
        let is_behind = |place: usize| self.sdus.get(place).is_some_and(|sdu| sdu.end() <= octet);
        // It is mostly among the last: search backwards in steps that double, then bisect.
        let (mut low, mut high, mut step) = (0, self.begun, 1);
        while high > 0 {
            let place = high.saturating_sub(step);
            if is_behind(place) {
                low = place + 1;
                break;
            }
            (high, step) = (place, 2 * step);
        }
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_behind(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// The first octets of `all`, as many as fit; `ends` are those of SDUs behind its first octet, in order.
fn fit(all: SnRange, mut ends: impl Iterator<Item = u64>, header: u64, room: u64) -> Option<SnRange> {
    let (mut at, mut indicators) = (all.first, 0);
    loop {
        let taken = at - all.first;
        let left = room.saturating_sub(header + li_octets(indicators) + taken).min(LARGEST_OFFSET - taken);
        let end = ends.next().unwrap_or(all.end).min(all.end);
        let octets = left.min(end - at);
        at += octets;
        indicators += 1;
        if at < end || at == all.end || octets > LARGEST_LI {
            break;
        }
    }
    (at > all.first).then(|| SnRange::new(all.first, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(sdus: &[u32], rooms: &[u64]) -> Vec<Option<(u64, u64)>> {
        let mut stream = Stream::new(None, None);
        sdus.iter().for_each(|&octets| stream.push(Instant::ZERO, octets));
        rooms.iter().map(|&room| stream.cut(2, room).map(|octets| (octets.first, octets.end))).collect()
    }

    #[test]
    fn length_indicators_take_three_octets_for_two() {
        // One SDU, no indicator; two, 12 bits and padding; three, 24 bits; four, 36 bits and padding.
        assert_eq!(cut(&[10], &[12, 12]), [Some((0, 10)), None]);
        assert_eq!(cut(&[10, 10], &[24]), [Some((0, 20))]);
        assert_eq!(cut(&[10, 10], &[23]), [Some((0, 19))]);
        assert_eq!(cut(&[10, 10, 10], &[35]), [Some((0, 30))]);
        assert_eq!(cut(&[10, 10, 10], &[34]), [Some((0, 29))]);
        assert_eq!(cut(&[10, 10, 10, 10], &[47]), [Some((0, 40))]);
    }

    /// No room behind its indicator: the SDU that ends there is the last one, and needs none.
    #[test]
    fn an_sdu_is_not_begun_without_an_octet_for_it() {
        assert_eq!(cut(&[10, 10], &[12, 13]), [Some((0, 10)), Some((10, 20))]);
        assert_eq!(cut(&[10, 10], &[14, 13]), [Some((0, 10)), Some((10, 20))]);
        assert_eq!(cut(&[10, 10], &[15, 13]), [Some((0, 11)), Some((11, 20))]);
        assert_eq!(cut(&[10], &[2, 0, 3]), [None, None, Some((0, 1))]);
    }

    /// §6.2.2.5: the limit of 11 bits.
    #[test]
    fn an_sdu_of_more_than_2047_octets_ends_its_pdu() {
        assert_eq!(cut(&[2047, 10], &[5000]), [Some((0, 2057))]);
        assert_eq!(cut(&[2048, 10], &[5000, 5000]), [Some((0, 2048)), Some((2048, 2058))]);
        assert_eq!(cut(&[60_000], &[60_000]), [Some((0, LARGEST_OFFSET))]);
    }

    #[test]
    fn what_is_cut_again_ends_where_there_is_no_more_room() {
        let mut stream = Stream::new(None, None);
        [10, 20, 30].iter().for_each(|&octets| stream.push(Instant::ZERO, octets));
        let all = stream.cut(2, 100).unwrap();
        assert_eq!((all, stream.uncut(), stream.uncut_sdus()), (SnRange::new(0, 60), 0, 0));
        // 4 octets of header, one indicator, 9 octets.
        assert_eq!(stream.cut_again(SnRange::new(5, 60), 4, 15), Some(SnRange::new(5, 14)));
        assert_eq!(stream.cut_again(SnRange::new(14, 20), 4, 15), Some(SnRange::new(14, 20)));
        assert_eq!(stream.cut_again(SnRange::new(14, 20), 4, 4), None);
        assert_eq!(
            [0, 5, 10, 30, 59].map(|octet| stream.within(SnRange::new(octet, octet)).0),
            [true, false, true, true, false]
        );
        let ends = |first, end| {
            stream.within(SnRange::new(first, end)).1.map(|(end, _)| end.sdu).collect::<Vec<_>>()
        };
        assert_eq!(
            (ends(0, 60), ends(0, 9), ends(10, 59), ends(30, 60)),
            (vec![0, 1, 2], vec![], vec![1], vec![2])
        );
    }

    #[test]
    fn what_is_not_confirmed_begins_anew() {
        let mut stream = Stream::new(Some(Duration::from_millis(10)), None);
        [10, 20, 30, 40].iter().for_each(|&octets| stream.push(Instant::ZERO, octets));
        let (mut confirmed, mut unsent) = (Vec::new(), Vec::new());
        stream.cut(2, 50);
        stream.confirm(29, &mut confirmed);
        assert_eq!((&confirmed[..], stream.first_waiting()), (&[0][..], 3));
        stream.restart();
        assert_eq!((stream.uncut(), stream.uncut_sdus(), stream.first_waiting()), (90, 3, 3));
        // The others have started.
        stream.discard(Instant::ZERO + Duration::from_millis(10), &mut unsent);
        assert_eq!((unsent, stream.uncut()), (vec![3], 50));
        assert_eq!(
            (stream.cut(2, 30), stream.within(SnRange::new(20, 20)).0),
            (Some(SnRange::new(0, 26)), true)
        );
        assert_eq!((stream.break_off(), stream.uncut(), stream.break_off()), (Some(2), 0, None));
    }
}

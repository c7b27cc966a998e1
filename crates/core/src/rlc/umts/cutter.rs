//! Octets of SDUs into PDUs with length indicators, for encoders (TS 25.322 §9.2.2.8).

/// What fills a PDU behind its header and the length indicators that were there before.
#[derive(Debug, PartialEq, Eq)]
pub struct Filling {
    /// Where SDUs end.
    pub ends: Vec<u16>,
    /// Octets of SDUs.
    pub data: Vec<u8>,
    pub rest: Rest,
}

/// Trailing part of a PDU, after its octets of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing; if no SDU ends with the octets, it continues in the next PDU.
    Nothing,
    /// Nothing. The last octet ends this SDU, and there is no room to tell.
    UntoldEnd(u64),
    /// An octet too short to tell that the octets end this SDU.
    UntoldEndAndOctet(u64),
    /// Padding, with an indicator that says so.
    Padding,
    /// An octet of padding, too short for an indicator.
    Octet,
}

/// Cuts SDUs.
#[derive(Debug, Default)]
pub struct Cutter {
    cut: Option<Cut>,
}

#[derive(Debug)]
struct Cut {
    sdu: u64,
    octets: Vec<u8>,
    /// Octets in PDUs.
    sent: usize,
}

impl Cutter {
    /// Whether an SDU continues in the next PDU.
    pub fn goes_on(&self) -> bool {
        self.cut.is_some()
    }

    /// What is left of an SDU is not sent, if it is one of these.
    pub fn discard(&mut self, sdus: &[u64]) {
        self.cut.take_if(|cut| sdus.contains(&cut.sdu));
    }

    /// Fills a PDU. `room` returns how many octets of data fit in addition to a number of length indicators; the PDU
    /// uses `indicators` of them for other purposes.
    pub fn fill(
        &mut self,
        room: impl Fn(usize) -> usize,
        indicators: usize,
        started: &mut dyn Iterator<Item = (u64, Vec<u8>)>,
    ) -> Filling {
        let (mut ends, mut data) = (Vec::new(), Vec::new());
        let li_octets = room(0) - room(1);
        loop {
            let used = indicators + ends.len();
            let free = room(used).saturating_sub(data.len());
            // With indicators of 15 bits, an octet left over is padding.
            let fits = free >= li_octets;
            let next = fits.then(|| self.cut.take().or_else(|| started.next().map(Cut::new))).flatten();
            let Some(mut cut) = next else {
                let rest = match free {
                    0 => Rest::Nothing,
                    _ if free < li_octets => Rest::Octet,
                    _ => Rest::Padding,
                };
                return Filling { ends, data, rest };
            };
            let left = cut.octets.len() - cut.sent;
            data.extend(&cut.octets[cut.sent..][..left.min(free)]);
            if left > free {
                cut.sent += free;
                self.cut = Some(cut);
                return Filling { ends, data, rest: Rest::Nothing };
            }
            if left + li_octets > free {
                let is_full = left == free;
                let rest = if is_full { Rest::UntoldEnd(cut.sdu) } else { Rest::UntoldEndAndOctet(cut.sdu) };
                return Filling { ends, data, rest };
            }
            ends.push(data.len() as u16);
        }
    }
}

impl Cut {
    fn new((sdu, octets): (u64, Vec<u8>)) -> Self {
        Self { sdu, octets, sent: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PDUs of 10 octets of data and indicators of `li` octets, filled with SDUs of these octets.
    fn fillings(li: usize, sdus: &[usize]) -> Vec<(Vec<u16>, usize, Rest)> {
        let mut cutter = Cutter::default();
        let mut started = (0..).zip(sdus).map(|(sdu, &octets)| (sdu, vec![7; octets])).peekable();
        let mut fillings = Vec::new();
        while cutter.goes_on() || started.peek().is_some() {
            let filling = cutter.fill(|lis| 10 - li * lis, 0, &mut started);
            fillings.push((filling.ends, filling.data.len(), filling.rest));
        }
        fillings
    }

    #[test]
    fn sdus_follow_each_other_until_no_room_is_left() {
        assert_eq!(fillings(1, &[4, 2]), [(vec![4, 6], 6, Rest::Padding)]);
        assert_eq!(fillings(1, &[9]), [(vec![9], 9, Rest::Nothing)]);
        assert_eq!(fillings(1, &[10]), [(vec![], 10, Rest::UntoldEnd(0))]);
        assert_eq!(fillings(1, &[3, 8]), [(vec![3], 9, Rest::Nothing), (vec![2], 2, Rest::Padding)]);
        assert_eq!(fillings(1, &[8, 5]), [(vec![8], 9, Rest::Nothing), (vec![4], 4, Rest::Padding)]);
    }

    #[test]
    fn an_octet_too_short_for_an_indicator_stays_free() {
        assert_eq!(fillings(2, &[9]), [(vec![], 9, Rest::UntoldEndAndOctet(0))]);
        assert_eq!(fillings(2, &[7]), [(vec![7], 7, Rest::Octet)]);
        assert_eq!(fillings(2, &[7, 3]), [(vec![7], 7, Rest::Octet), (vec![3], 3, Rest::Padding)]);
        assert_eq!(fillings(2, &[8]), [(vec![8], 8, Rest::Nothing)]);
        assert_eq!(fillings(2, &[6]), [(vec![6], 6, Rest::Padding)]);
    }

    #[test]
    fn what_was_sent_of_a_discarded_sdu_stays() {
        let mut cutter = Cutter::default();
        let mut started = [(5, vec![1; 12]), (6, vec![2; 3])].into_iter();
        let room = |lis| 10 - lis;
        assert_eq!(cutter.fill(room, 0, &mut started).data, [1; 10]);
        cutter.discard(&[4, 6]);
        assert!(cutter.goes_on());
        cutter.discard(&[5]);
        assert_eq!(cutter.fill(room, 0, &mut started).data, [2; 3]);
    }
}

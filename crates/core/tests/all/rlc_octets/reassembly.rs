//! A receiver of octets, made from the standard alone.

use std::collections::BTreeMap;

use airpath_core::wire::rlc::{AmdPdu, Pdu, PreviousEnd, Sn, Status, Sufi, Tail};

/// Puts SDUs together from octets alone: PDUs in sequence, and what MRW and RESET say (TS 25.322 §11.4.3,
/// §11.6.3).
#[derive(Default)]
pub struct Reassembly {
    waiting: BTreeMap<u64, AmdPdu>,
    /// VR(R), not wrapped.
    next: u64,
    /// Octets of the SDU that continues in the next PDU.
    open: Vec<u8>,
    /// Ends of discarded SDUs in a PDU to come.
    discarded: Option<(u64, u8)>,
    /// Handed up.
    pub sdus: Vec<Vec<u8>>,
}

impl Reassembly {
    /// No window is larger than 2048: what seems further away has been here.
    fn unwrap(&self, sn: Sn) -> Option<u64> {
        let ahead = sn.after(Sn::wrap(self.next));
        (ahead < 2048).then_some(self.next + u64::from(ahead))
    }

    pub fn receive(&mut self, pdu: Pdu) {
        match pdu {
            Pdu::Amd(pdu) => {
                let riding = if let Tail::Status(status) = &pdu.tail { Some(status.clone()) } else { None };
                self.receive_data(pdu);
                riding.iter().for_each(|status| self.receive_status(status));
            }
            Pdu::Status(status) => self.receive_status(&status),
            // The entities agree on which RESET restarts the link; the test knows.
            Pdu::Reset(_) | Pdu::ResetAck(_) => {}
        }
    }

    pub fn begin_anew(&mut self) {
        *self = Self { sdus: std::mem::take(&mut self.sdus), ..Self::default() };
    }

    fn receive_data(&mut self, pdu: AmdPdu) {
        let Some(sn) = self.unwrap(pdu.sn) else { return };
        // P and a STATUS in the padding are not retransmitted.
        let tail = if let Tail::Status(_) = pdu.tail { Tail::Padding } else { pdu.tail };
        let pdu = AmdPdu { poll: false, tail, ..pdu };
        if let Some(before) = self.waiting.insert(sn, pdu.clone()) {
            assert_eq!(before, pdu, "retransmitted with another content");
        }
        self.take_in_sequence();
    }

    fn receive_status(&mut self, status: &Status) {
        for sufi in &status.sufis {
            if let Sufi::Mrw { sn_mrw, n_length, .. } = sufi {
                self.receive_mrw(*sn_mrw.last().unwrap(), *n_length);
            }
        }
    }

    fn receive_mrw(&mut self, sn: Sn, n_length: u8) {
        let Some(sn) = self.unwrap(sn) else { return };
        let rest = self.waiting.split_off(&sn);
        let discarded = std::mem::replace(&mut self.waiting, rest);
        self.take_complete(discarded, sn, n_length);
        self.next = sn;
        self.open.clear();
        self.discarded = Some((sn, n_length));
        self.take_in_sequence();
    }

    /// SDUs below an MRW are handed up if all of them is there, and where they begin. In the PDU that it names, the
    /// first `n_length` ends are below it.
    fn take_complete(&mut self, mut pdus: BTreeMap<u64, AmdPdu>, sn: u64, n_length: u8) {
        let mut open = Some(std::mem::take(&mut self.open));
        if let Some(last) = self.waiting.get(&sn) {
            pdus.insert(sn, last.clone());
        }
        for at in self.next..=sn {
            let Some(pdu) = pdus.remove(&at) else {
                open = None;
                continue;
            };
            let exact = usize::from(pdu.previous != PreviousEnd::Told);
            let full = usize::from(pdu.tail == Tail::FullWithSduEnd);
            let ends = std::iter::repeat_n(0, exact).chain(pdu.ends.iter().map(|&end| usize::from(end)));
            let ends = ends.chain(std::iter::repeat_n(pdu.data.len(), full));
            let most = if at == sn { n_length.into() } else { usize::MAX };
            let mut from = 0;
            for end in ends.take(most) {
                if let Some(mut sdu) = open.replace(Vec::new()) {
                    if pdu.previous == PreviousEnd::OneOctetShort && end == 0 {
                        sdu.pop();
                    }
                    sdu.extend(&pdu.data[from..end]);
                    self.sdus.push(sdu);
                }
                from = end;
            }
            if let Some(open) = &mut open {
                open.extend(&pdu.data[from..]);
            }
            let padded = matches!(pdu.tail, Tail::Padding | Tail::PaddingOctet | Tail::Status(_));
            if padded {
                open = Some(Vec::new());
            }
        }
    }

    fn take_in_sequence(&mut self) {
        while let Some(pdu) = self.waiting.remove(&self.next) {
            self.take(pdu);
            self.next += 1;
        }
    }

    fn take(&mut self, pdu: AmdPdu) {
        let mut skip = self.discarded.take_if(|(sn, _)| *sn <= self.next).map_or(0, |(_, n)| n);
        match pdu.previous {
            PreviousEnd::Told => {}
            PreviousEnd::Exact => self.finish(&mut skip),
            PreviousEnd::OneOctetShort => {
                self.open.pop();
                self.finish(&mut skip);
            }
        }
        let mut from = 0;
        for end in pdu.ends {
            self.open.extend(&pdu.data[from..end.into()]);
            self.finish(&mut skip);
            from = end.into();
        }
        self.open.extend(&pdu.data[from..]);
        match pdu.tail {
            Tail::Full => {}
            Tail::FullWithSduEnd => self.finish(&mut skip),
            Tail::Padding | Tail::PaddingOctet | Tail::Status(_) => {
                assert!(self.open.is_empty(), "padding within an SDU");
            }
        }
        assert_eq!(skip, 0);
    }

    fn finish(&mut self, skip: &mut u8) {
        let sdu = std::mem::take(&mut self.open);
        if *skip > 0 {
            *skip -= 1;
        } else {
            assert!(!sdu.is_empty());
            self.sdus.push(sdu);
        }
    }
}

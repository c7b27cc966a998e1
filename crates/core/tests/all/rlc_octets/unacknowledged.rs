//! A receiver of octets of unacknowledged mode, made from the standard alone (TS 25.322 §11.2.3): an SDU with a missing
//! PDU is discarded, and so are octets that may belong to its rest.

use airpath_core::wire::rlc::{Begin, UmdPdu, UmdSn};

#[derive(Default)]
pub struct Unacknowledged {
    /// VR(US), as on the wire.
    next: u64,
    open: Vec<u8>,
    /// The open octets belong to an incomplete SDU.
    broken: bool,
    /// Handed up.
    pub sdus: Vec<Vec<u8>>,
}

impl Unacknowledged {
    pub fn receive(&mut self, pdu: &UmdPdu) {
        if pdu.sn != UmdSn::wrap(self.next) {
            (self.broken, self.open) = (true, Vec::new());
        }
        self.next = u64::from(pdu.sn.value()) + 1;
        match pdu.begin {
            Begin::Untold => {}
            Begin::FirstOctet => assert!(self.broken || self.open.is_empty()),
            Begin::PreviousExact => self.finish(),
            Begin::PreviousOneOctetShort => {
                self.open.pop();
                self.finish();
            }
        }
        // Each of these says that an SDU begins here.
        self.broken &= pdu.begin == Begin::Untold;
        let mut from = 0;
        for end in &pdu.ends {
            self.open.extend(&pdu.data[from..usize::from(*end)]);
            self.finish();
            from = (*end).into();
        }
        if !pdu.padding {
            self.open.extend(&pdu.data[from..]);
        }
    }

    fn finish(&mut self) {
        let sdu = std::mem::take(&mut self.open);
        if !std::mem::take(&mut self.broken) {
            assert!(!sdu.is_empty());
            self.sdus.push(sdu);
        }
    }
}

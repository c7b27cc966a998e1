//! Receivers of octets of LTE's RLC, made from the standard alone (TS 36.322 §5.1.2.2, §5.1.3.2).

use airpath_core::wire::rlc_lte::{AmdPdu, Data, UmdPdu};
use std::collections::{BTreeMap, BTreeSet};

/// The last octets of SDUs in data: how many octets there are up to each.
fn ends(data: &Data) -> Vec<usize> {
    let mut at = 0;
    let mut ends: Vec<usize> = data
        .lengths
        .iter()
        .map(|&li| {
            at += usize::from(li);
            at
        })
        .collect();
    ends.extend(data.ends.then_some(data.octets.len()));
    ends
}

/// Acknowledged mode: PDUs in sequence, out of segments.
#[derive(Default)]
pub struct Acknowledged {
    waiting: BTreeMap<u64, Parts>,
    /// VR(R), not wrapped.
    next: u64,
    open: Vec<u8>,
    /// Handed up.
    pub sdus: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Parts {
    octets: BTreeMap<usize, u8>,
    ends: BTreeSet<usize>,
    begins: bool,
    len: Option<usize>,
}

impl Acknowledged {
    pub fn receive(&mut self, pdu: AmdPdu) {
        let ahead = (u64::from(pdu.sn) + 1024 - self.next % 1024) % 1024;
        if ahead >= 512 {
            return;
        }
        let parts = self.waiting.entry(self.next + ahead).or_default();
        let (offset, last) = pdu.part.map_or((0, true), |(so, last)| (usize::from(so), last));
        let len = offset + pdu.data.octets.len();
        if last {
            assert!(parts.len.is_none_or(|before| before == len));
            parts.len = Some(len);
        }
        parts.ends.extend(ends(&pdu.data).iter().map(|end| offset + end));
        if offset == 0 {
            parts.begins = pdu.data.begins;
        } else if pdu.data.begins {
            parts.ends.insert(offset);
        }
        for (at, octet) in (offset..).zip(pdu.data.octets) {
            assert!(parts.octets.insert(at, octet).is_none_or(|before| before == octet), "another content");
        }
        let next = |waiting: &BTreeMap<u64, Parts>, next| {
            waiting.get(&next).is_some_and(|of: &Parts| of.len == Some(of.octets.len()))
        };
        while next(&self.waiting, self.next) {
            let whole = self.waiting.remove(&self.next).unwrap();
            self.next += 1;
            assert_eq!(whole.begins, self.open.is_empty());
            for (at, octet) in whole.octets {
                self.open.push(octet);
                if whole.ends.contains(&(at + 1)) {
                    self.sdus.push(std::mem::take(&mut self.open));
                }
            }
        }
    }
}

/// Unacknowledged mode, where PDUs come in order.
#[derive(Default)]
pub struct Unacknowledged {
    next: u64,
    open: Vec<u8>,
    broken: bool,
    /// Handed up.
    pub sdus: Vec<Vec<u8>>,
}

impl Unacknowledged {
    pub fn receive(&mut self, pdu: &UmdPdu, numbers: u64) {
        if u64::from(pdu.sn) != self.next % numbers || pdu.data.begins {
            assert!(self.open.is_empty() || u64::from(pdu.sn) != self.next % numbers);
            (self.broken, self.open) = (!pdu.data.begins, Vec::new());
        }
        self.next = u64::from(pdu.sn) + 1;
        let mut from = 0;
        for end in ends(&pdu.data) {
            self.open.extend(&pdu.data.octets[from..end]);
            let sdu = std::mem::take(&mut self.open);
            self.sdus.extend((!std::mem::take(&mut self.broken)).then_some(sdu));
            from = end;
        }
        self.open.extend(&pdu.data.octets[from..]);
    }
}

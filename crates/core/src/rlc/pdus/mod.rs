//! PDUs as the simulator carries them: runs of sequence numbers with the ends of SDUs that lie in them.
//!
//! They hold no octets. PDUs of a TTI are mostly lost or received together, so work is done for each TTI and each SDU,
//! not for each PDU. Sequence numbers are counted without wrapping; in real PDUs they are taken modulo 4096 (AM) or 128
//! (UM).
//!
//! PDUs of LTE, which each have their own size, are additionally listed in [`Pdus`]; PDUs of NR are listed only in
//! [`nr::Pdus`], except for the ends of SDUs.

use crate::rlc::ranges::SnRange;
use airpath_prefetch::prefetch;
use lte::Pdus;
pub mod control;
pub mod lte;
pub mod nr;

use control::{Control, Status};

/// Data PDUs with adjacent sequence numbers and the same P bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Their sequence numbers.
    pub sns: SnRange,
    /// P: each of them requests a status report.
    pub poll: bool,
}

impl Run {
    /// Splits the run into parts with the same outcome: whether they are lost, i.e. in none of the runs that arrive.
    pub fn outcomes(self, arrive: &[Self]) -> impl Iterator<Item = (SnRange, bool)> {
        let SnRange { mut first, end } = self.sns;
        let arrived = move |sn| arrive.iter().find(|run| (run.sns.first..run.sns.end).contains(&sn));
        std::iter::from_fn(move || {
            let (start, lost) = (first, arrived(first).is_none());
            while first < end {
                first = match arrived(first) {
                    Some(run) if !lost => run.sns.end.min(end),
                    None if lost => first + 1,
                    _ => break,
                };
            }
            (start < end).then_some((SnRange::new(start, first), lost))
        })
    }
}

/// The end of an SDU, as the length indicators of a PDU tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SduEnd {
    /// The SDU's number.
    pub sdu: u64,
    /// The PDU with its first octet.
    pub first: u64,
    /// The PDU whose length indicator marks the end: that of the last octet, or the next one if the
    /// indicator found no room there.
    pub sn: u64,
}

/// The data PDUs of one TTI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transmission {
    /// PDUs in the order in which they are sent.
    pub runs: Vec<Run>,
    /// Ends of SDUs in these PDUs, in the same order. Ends in PDUs of no run are ignored: losing PDUs removes them only
    /// from the runs.
    pub ends: Vec<SduEnd>,
}

impl Transmission {
    /// Starts to load the PDUs.
    pub fn prefetch(&self) {
        prefetch(&self.runs[..]);
        prefetch(&self.ends[..]);
    }

    /// Number of PDUs.
    #[inline]
    pub fn pdus(&self) -> u64 {
        match self.runs.as_slice() {
            [run] => run.sns.len(),
            runs => runs.iter().map(|run| run.sns.len()).sum(),
        }
    }

    /// Takes everything out.
    #[inline]
    pub fn clear(&mut self) {
        self.runs.clear();
        self.ends.clear();
    }
}

/// PDUs transmitted in one TTI. The owner keeps it and has it filled again, so that its memory is reused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tti {
    /// Control PDUs; they go first.
    pub control: Vec<Control>,
    /// Data PDUs.
    pub data: Transmission,
    /// A STATUS PDU in the padding of one of the data PDUs, with the sequence number of that.
    pub piggybacked: Option<(u64, Status)>,
    /// Fields of LTE PDUs in addition to a sequence number.
    pub lte: Pdus,
    /// PDUs of NR; there are no others then.
    pub nr: nr::Pdus,
    /// PDUs of a second bearer of NR in the same block.
    pub other: Option<Box<Self>>,
}

impl Tti {
    /// Starts to load the memory of its lists.
    pub fn prefetch(&self) {
        self.data.prefetch();
        prefetch(&self.control[..]);
    }

    /// Number of PDUs.
    pub fn pdus(&self) -> u64 {
        let status = u64::from(self.lte.status.is_some()) + u64::from(self.nr.status.is_some());
        self.control.len() as u64 + status + self.data.pdus() + self.nr.data.len() as u64
    }

    /// Whether nothing is sent.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.control.is_empty()
            && self.lte.status.is_none()
            && self.data.runs.is_empty()
            && self.nr.data.is_empty()
            && self.nr.status.is_none()
            && self.other.is_none()
    }

    /// Copies another one, reusing its memory.
    pub fn copy(&mut self, other: &Self) {
        let Self { control, data, piggybacked, lte, nr, other } = other;
        self.control.clone_from(control);
        self.data.runs.clone_from(&data.runs);
        self.data.ends.clone_from(&data.ends);
        self.piggybacked.clone_from(piggybacked);
        self.lte.clone_from(lte);
        self.nr.clone_from(nr);
        self.other.clone_from(other);
    }

    /// Takes everything out.
    #[inline]
    pub fn clear(&mut self) {
        self.data.clear();
        self.lte.clear_data();
        // A second bearer that uses a whole block leaves the default one no room.
        if self.nr.room > 0 || self.other.is_some() {
            self.nr.clear();
            self.other = None;
        }
        if !self.control.is_empty() || self.piggybacked.is_some() || self.lte.status.is_some() {
            self.clear_control();
        }
    }

    #[inline(never)]
    fn clear_control(&mut self) {
        self.control.clear();
        self.piggybacked = None;
        self.lte.status = None;
    }

    /// Calls `lost` for each PDU, in the order of transmission, and removes the lost ones; returns how many. PDUs of a
    /// second bearer stay.
    pub fn lose(&mut self, mut lost: impl FnMut() -> bool) -> u64 {
        let all = self.pdus();
        self.control.retain(|_| !lost());
        self.lte.status.take_if(|_| lost());
        self.nr.status.take_if(|_| lost());
        self.nr.data.retain(|_| !lost());
        if !self.lte.data.is_empty() {
            self.lose_lte(lost);
            return all - self.pdus();
        }
        let mut sent = std::mem::take(&mut self.data.runs);
        for Run { sns, poll } in sent.drain(..) {
            for sn in sns.first..sns.end {
                if lost() {
                    continue;
                }
                match self.data.runs.last_mut().filter(|run| run.sns.end == sn && run.poll == poll) {
                    Some(run) => run.sns.end = sn + 1,
                    None => self.data.runs.push(Run { sns: SnRange::new(sn, sn + 1), poll }),
                }
            }
        }
        if self.data.runs.is_empty() {
            self.data.runs = sent;
        }
        let arrive = &self.data.runs;
        self.piggybacked
            .take_if(|(sn, _)| !arrive.iter().any(|run| (run.sns.first..run.sns.end).contains(sn)));
        all - self.pdus()
    }

    /// Each run is one PDU here.
    fn lose_lte(&mut self, mut lost: impl FnMut() -> bool) {
        let mut outcomes = std::mem::take(&mut self.data.runs).into_iter().map(|run| (run, lost()));
        let runs = &mut self.data.runs;
        self.lte.data.retain(|_| match outcomes.next() {
            Some((run, false)) => {
                runs.push(run);
                true
            }
            _ => false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_pdus_are_taken_out_of_their_runs() {
        let run = |first, end, poll| Run { sns: SnRange::new(first, end), poll };
        let data = Transmission { runs: vec![run(0, 5, false), run(5, 6, true)], ends: Vec::new() };
        let piggybacked = Some((3, Status::default()));
        let mut tti = Tti { data, piggybacked, ..Tti::default() };
        let mut outcomes = [false, true, false, false, true, false].into_iter();
        assert_eq!(tti.lose(|| outcomes.next().is_some_and(|lost| lost)), 2);
        assert_eq!(tti.data.runs, [run(0, 1, false), run(2, 4, false), run(5, 6, true)]);
        assert!(tti.piggybacked.is_some());
        let parts: Vec<_> = run(0, 5, false).outcomes(&tti.data.runs).collect();
        let part = SnRange::new;
        assert_eq!(parts, [(part(0, 1), false), (part(1, 2), true), (part(2, 4), false), (part(4, 5), true)]);
        assert_eq!(tti.lose(|| true), 4);
        assert!(tti.is_empty() && tti.piggybacked.is_none());
    }
}

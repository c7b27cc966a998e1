//! Super-fields of a STATUS PDU, except the ones that end it (TS 25.322 §9.2.2.11).

use super::{BitReader, BitWriter, DecodeError, EncodeError, SN_BITS, Sn};

/// A run of missing AMD PDUs: `sn` and the `more` following ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListPair {
    /// First missing sequence number.
    pub sn: Sn,
    /// How many more are missing after it, 0 to 15 (the field L).
    pub more: u8,
}

/// A number that codewords of a super-field RLIST spell, 1 to 4095.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlistStep {
    /// Distance of the next missing AMD PDU from the last one named.
    Distance(u16),
    /// Number of AMD PDUs after the last one named that are missing as well (error burst indicator).
    Burst(u16),
}

/// The contents of a STATUS PDU besides its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sufi {
    /// New size of the transmission window, 1 to 4095 AMD PDUs (WSN).
    Window(u16),
    /// 1 to 15 runs of missing AMD PDUs.
    List(Vec<ListPair>),
    /// Reception of the PDUs from `fsn` on, the most significant bit of each octet first: 1 received, 0 missing.
    Bitmap {
        /// Sequence number of the first bit.
        fsn: Sn,
        /// 1 to 16 octets.
        bits: Vec<u8>,
    },
    /// Missing AMD PDUs by their distances.
    Rlist {
        /// First missing sequence number.
        fsn: Sn,
        /// The others; at most 15 codewords of 4 bits, three bits of a number in each.
        steps: Vec<RlistStep>,
    },
    /// Move the receiving window: SDUs were discarded.
    Mrw {
        /// AMD PDUs in which the discarded SDUs end, 1 to 15 (SN_MRW).
        sn_mrw: Vec<Sn>,
        /// The only SDU reaches beyond the transmission window (LENGTH 0).
        beyond_window: bool,
        /// SDUs that end in the last of these AMD PDUs and were discarded, 0 to 15 (N_LENGTH).
        n_length: u8,
    },
    /// Answer to MRW.
    MrwAck {
        /// N_LENGTH of the MRW if SN_ACK equals its last SN_MRW, else 0.
        n: u8,
        /// VR(R) after the move (SN_ACK).
        sn_ack: Sn,
    },
}

impl Sufi {
    /// Its size, type field included.
    pub fn bits(&self) -> usize {
        TYPE_BITS
            + match self {
                Self::Window(_) => SN_BITS,
                Self::List(pairs) => LENGTH_BITS + pairs.len() * PAIR_BITS,
                Self::Bitmap { bits, .. } => LENGTH_BITS + SN_BITS + bits.len() * 8,
                Self::Rlist { steps, .. } => LENGTH_BITS + SN_BITS + codewords(steps).len() * CODEWORD_BITS,
                Self::Mrw { sn_mrw, .. } => 2 * LENGTH_BITS + sn_mrw.len() * SN_BITS,
                Self::MrwAck { .. } => LENGTH_BITS + SN_BITS,
            }
    }

    /// How many pairs of one LIST fit into `room` bits.
    pub const fn list_pairs_in(room: usize) -> usize {
        let pairs = room.saturating_sub(TYPE_BITS + LENGTH_BITS) / PAIR_BITS;
        if pairs > MOST { MOST } else { pairs }
    }

    /// The sequence numbers that LIST, BITMAP and RLIST report missing, in their order. The sender ignores numbers at
    /// or above LSN: a bitmap may be longer than its content.
    pub fn missing(&self) -> Vec<Sn> {
        match self {
            Self::List(pairs) => {
                pairs.iter().flat_map(|p| (0..=p.more.into()).map(|i| p.sn.plus(i))).collect()
            }
            Self::Bitmap { fsn, bits } => (0..bits.len() * 8)
                .filter(|i| bits[i / 8] << (i % 8) & 0x80 == 0)
                .map(|i| fsn.plus(i as u16))
                .collect(),
            Self::Rlist { fsn, steps } => {
                let mut missing = vec![*fsn];
                let mut last = *fsn;
                for &step in steps {
                    match step {
                        RlistStep::Distance(n) => missing.push(last.plus(n)),
                        RlistStep::Burst(n) => missing.extend((1..=n).map(|i| last.plus(i))),
                    }
                    last = last.plus(step.number());
                }
                missing
            }
            Self::Window(_) | Self::Mrw { .. } | Self::MrwAck { .. } => Vec::new(),
        }
    }

    pub(super) fn encode(&self, writer: &mut BitWriter<'_>) -> Result<(), EncodeError> {
        match self {
            Self::Window(wsn) => {
                within("WSN", (*wsn).into(), 1..=MOST_SN, "1 to 4095")?;
                writer.put(WINDOW, TYPE_BITS)?;
                writer.put((*wsn).into(), SN_BITS)
            }
            Self::List(pairs) => {
                within("LENGTH of LIST", pairs.len(), 1..=MOST, "1 to 15")?;
                writer.put(LIST, TYPE_BITS)?;
                writer.put(pairs.len() as u32, LENGTH_BITS)?;
                pairs.iter().try_for_each(|pair| {
                    writer.put_sn(pair.sn)?;
                    put_nibble(writer, "L", pair.more)
                })
            }
            Self::Bitmap { fsn, bits } => {
                within("octets of BITMAP", bits.len(), 1..=MOST + 1, "1 to 16")?;
                writer.put(BITMAP, TYPE_BITS)?;
                writer.put(bits.len() as u32 - 1, LENGTH_BITS)?;
                writer.put_sn(*fsn)?;
                writer.put_octets(bits)
            }
            Self::Rlist { fsn, steps } => encode_rlist(writer, *fsn, steps),
            Self::Mrw { sn_mrw, beyond_window, n_length } => {
                within("LENGTH of MRW", sn_mrw.len(), 1..=MOST, "1 to 15")?;
                if *beyond_window {
                    within("SDUs of an MRW beyond the window", sn_mrw.len(), 1..=1, "1")?;
                }
                writer.put(MRW, TYPE_BITS)?;
                writer.put(if *beyond_window { 0 } else { sn_mrw.len() as u32 }, LENGTH_BITS)?;
                sn_mrw.iter().try_for_each(|&sn| writer.put_sn(sn))?;
                put_nibble(writer, "N_LENGTH", *n_length)
            }
            Self::MrwAck { n, sn_ack } => {
                writer.put(MRW_ACK, TYPE_BITS)?;
                put_nibble(writer, "N", *n)?;
                writer.put_sn(*sn_ack)
            }
        }
    }

    /// Reads the part after the type field.
    pub(super) fn decode(kind: u32, reader: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        match kind {
            WINDOW => match reader.take(SN_BITS)? {
                0 => Err(DecodeError::ZeroWindow),
                wsn => Ok(Self::Window(wsn as u16)),
            },
            LIST => match reader.take(LENGTH_BITS)? {
                0 => Err(DecodeError::EmptyList),
                length => (0..length)
                    .map(|_| Ok(ListPair { sn: reader.take_sn()?, more: reader.take_octet(LENGTH_BITS)? }))
                    .collect::<Result<_, _>>()
                    .map(Self::List),
            },
            BITMAP => {
                let octets = reader.take(LENGTH_BITS)? + 1;
                let fsn = reader.take_sn()?;
                let bits = (0..octets).map(|_| reader.take_octet(8)).collect::<Result<_, _>>()?;
                Ok(Self::Bitmap { fsn, bits })
            }
            RLIST => {
                let length = reader.take(LENGTH_BITS)?;
                let fsn = reader.take_sn()?;
                let words: Vec<u8> =
                    (0..length).map(|_| reader.take_octet(CODEWORD_BITS)).collect::<Result<_, _>>()?;
                Ok(Self::Rlist { fsn, steps: steps(&words)? })
            }
            MRW => {
                let length = reader.take(LENGTH_BITS)?;
                let sn_mrw = (0..length.max(1)).map(|_| reader.take_sn()).collect::<Result<_, _>>()?;
                let n_length = reader.take_octet(LENGTH_BITS)?;
                Ok(Self::Mrw { sn_mrw, beyond_window: length == 0, n_length })
            }
            MRW_ACK => Ok(Self::MrwAck { n: reader.take_octet(LENGTH_BITS)?, sn_ack: reader.take_sn()? }),
            POLL => Err(DecodeError::PollSufi),
            reserved => Err(DecodeError::ReservedSufi(reserved as u8)),
        }
    }
}

impl RlistStep {
    fn number(self) -> u16 {
        match self {
            Self::Distance(number) | Self::Burst(number) => number,
        }
    }
}

impl BitWriter<'_> {
    pub(super) fn put_sn(&mut self, sn: Sn) -> Result<(), EncodeError> {
        self.put(sn.value().into(), SN_BITS)
    }
}

impl BitReader<'_> {
    pub(super) fn take_sn(&mut self) -> Result<Sn, DecodeError> {
        self.take(SN_BITS).map(|sn| Sn::wrap(sn.into()))
    }
}

fn within(
    field: &'static str,
    value: usize,
    range: std::ops::RangeInclusive<usize>,
    allowed: &'static str,
) -> Result<(), EncodeError> {
    if range.contains(&value) { Ok(()) } else { Err(EncodeError::Field { field, value, allowed }) }
}

fn put_nibble(writer: &mut BitWriter<'_>, field: &'static str, value: u8) -> Result<(), EncodeError> {
    within(field, value.into(), 0..=MOST, "0 to 15")?;
    writer.put(value.into(), LENGTH_BITS)
}

fn encode_rlist(writer: &mut BitWriter<'_>, fsn: Sn, steps: &[RlistStep]) -> Result<(), EncodeError> {
    for step in steps {
        within("number of RLIST", step.number().into(), 1..=MOST_SN, "1 to 4095")?;
    }
    let words = codewords(steps);
    within("codewords of RLIST", words.len(), 0..=MOST, "at most 15")?;
    writer.put(RLIST, TYPE_BITS)?;
    writer.put(words.len() as u32, LENGTH_BITS)?;
    writer.put_sn(fsn)?;
    words.iter().try_for_each(|&word| writer.put(word.into(), CODEWORD_BITS))
}

/// Three bits of a number in each codeword, the lowest ones first; the fourth bit ends the number. A number
/// never ends in a codeword of zeros, so that this one is free to announce a burst.
fn codewords(steps: &[RlistStep]) -> Vec<u8> {
    let mut words = Vec::new();
    for &step in steps {
        if matches!(step, RlistStep::Burst(_)) {
            words.push(BURST);
        }
        let mut number = step.number();
        while number > 7 {
            words.push((number as u8 & 7) << 1);
            number >>= 3;
        }
        words.push((number as u8) << 1 | LAST);
    }
    words
}

/// The inverse of [`codewords`].
fn steps(words: &[u8]) -> Result<Vec<RlistStep>, DecodeError> {
    let mut steps = Vec::new();
    let mut words = words.iter().copied();
    while let Some(first) = words.next() {
        let burst = first == BURST;
        let mut word = if burst { words.next().ok_or(DecodeError::Codewords)? } else { first };
        let mut number = 0;
        let mut shift = 0;
        while word & LAST == 0 {
            number |= u64::from(word >> 1) << shift;
            shift += 3;
            word = words.next().ok_or(DecodeError::Codewords)?;
        }
        number |= u64::from(word >> 1) << shift;
        if word == BURST || number > MOST_SN as u64 {
            return Err(DecodeError::Codewords);
        }
        let number = number as u16;
        steps.push(if burst { RlistStep::Burst(number) } else { RlistStep::Distance(number) });
    }
    Ok(steps)
}

pub(super) const TYPE_BITS: usize = 4;
const LENGTH_BITS: usize = 4;
const PAIR_BITS: usize = SN_BITS + LENGTH_BITS;
const CODEWORD_BITS: usize = 4;

/// The most that a field of four bits can say.
const MOST: usize = 15;
const MOST_SN: usize = (1 << SN_BITS) - 1;

/// Types of super-fields (§9.2.2.11).
pub(super) const NO_MORE: u32 = 0;
const WINDOW: u32 = 1;
pub(super) const ACK: u32 = 2;
const LIST: u32 = 3;
const BITMAP: u32 = 4;
const RLIST: u32 = 5;
const MRW: u32 = 6;
const MRW_ACK: u32 = 7;
const POLL: u32 = 8;

/// The last bit of the codeword that ends a number.
const LAST: u8 = 1;
/// The error burst indicator.
const BURST: u8 = 0b0001;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_spelled_lowest_bits_first() {
        // 8 = 001 000: 000 0, then 001 1. A burst of 5: 000 1, then 101 1.
        let spelled = [RlistStep::Distance(8), RlistStep::Burst(5)];
        assert_eq!(codewords(&spelled), [0b0000, 0b0011, 0b0001, 0b1011]);
        assert_eq!(steps(&[0b0000, 0b0011, 0b0001, 0b1011]), Ok(spelled.to_vec()));
    }

    #[test]
    fn codewords_that_end_as_no_number_does_are_refused() {
        for words in [&[0b0010][..], &[0b0001], &[0b0001, 0b0001], &[0b0010, 0b0001], &[0, 0, 0, 0, 0b0011]] {
            assert_eq!(steps(words), Err(DecodeError::Codewords), "{words:?}");
        }
    }

    #[test]
    fn list_bitmap_and_rlist_tell_the_same() {
        let sn = Sn::wrap;
        let missing: Vec<_> = [4094, 4095, 0, 5].map(sn).to_vec();
        let list = Sufi::List(vec![ListPair { sn: sn(4094), more: 2 }, ListPair { sn: sn(5), more: 0 }]);
        let bitmap = Sufi::Bitmap { fsn: sn(4094), bits: vec![0b0001_1110] };
        let steps = vec![RlistStep::Burst(2), RlistStep::Distance(5)];
        let rlist = Sufi::Rlist { fsn: sn(4094), steps };
        for sufi in [list, bitmap, rlist] {
            assert_eq!(sufi.missing(), missing, "{sufi:?}");
        }
    }

    #[test]
    fn a_list_has_at_most_15_pairs_and_8_bits_besides() {
        assert_eq!([0, 23, 24, 39, 40, 248, 1000].map(Sufi::list_pairs_in), [0, 0, 1, 1, 2, 15, 15]);
    }
}

//! STATUS PDUs, alone or in the padding of an AMD PDU (TS 25.322 §9.2.1).

use super::sufi::{ACK, NO_MORE, TYPE_BITS as SUFI_TYPE_BITS};
use super::{BitReader, BitWriter, CONTROL, DC_BITS, DecodeError, EncodeError, TYPE_BITS, TYPE_STATUS};
use super::{ListPair, SN_BITS, Sn, Sufi};

/// Report of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Super-fields in their order, except the one that ends them.
    pub sufis: Vec<Sufi>,
    /// How they end.
    pub end: StatusEnd,
}

/// The super-field that ends a STATUS PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusEnd {
    /// NO_MORE: nothing is acknowledged.
    NoMore,
    /// ACK with this LSN: everything below it that is not reported missing here has arrived.
    Ack(Sn),
}

impl Status {
    /// The report, in super-fields LIST, of the `missing` PDUs below `vr_h`, in at most `room` bits: 8 times the octets
    /// of the PDU, or of its padding. `missing` begins nearest to VR(R). PDUs that do not fit are left to another
    /// STATUS PDU, and LSN is then the first of these (§11.5.2). `None` if `room` is too small even for an ACK.
    pub fn reporting(missing: &[Sn], vr_h: Sn, room: usize) -> Option<Self> {
        let mut free = room.checked_sub(HEADER_BITS + SUFI_TYPE_BITS + SN_BITS)?;
        let pairs = pairs(missing);
        let mut left = &pairs[..];
        let mut sufis = Vec::new();
        while let Some((list, rest)) = left.split_at_checked(Sufi::list_pairs_in(free).min(left.len()))
            && !list.is_empty()
        {
            let list = Sufi::List(list.to_vec());
            free -= list.bits();
            sufis.push(list);
            left = rest;
        }
        let lsn = left.first().map_or(vr_h, |pair| pair.sn);
        Some(Self { sufis, end: StatusEnd::Ack(lsn) })
    }

    /// Its size without padding.
    pub fn bits(&self) -> usize {
        let end = match self.end {
            StatusEnd::NoMore => SUFI_TYPE_BITS,
            StatusEnd::Ack(_) => SUFI_TYPE_BITS + SN_BITS,
        };
        HEADER_BITS + self.sufis.iter().map(Sufi::bits).sum::<usize>() + end
    }

    /// The same bits as PDU and as piggybacked STATUS, whose reserved bit R2 is zero like D/C.
    pub(super) fn encode(&self, writer: &mut BitWriter<'_>) -> Result<(), EncodeError> {
        writer.put(CONTROL, DC_BITS)?;
        writer.put(TYPE_STATUS, TYPE_BITS)?;
        self.sufis.iter().try_for_each(|sufi| sufi.encode(writer))?;
        match self.end {
            StatusEnd::NoMore => writer.put(NO_MORE, SUFI_TYPE_BITS),
            StatusEnd::Ack(lsn) => {
                writer.put(ACK, SUFI_TYPE_BITS)?;
                writer.put_sn(lsn)
            }
        }
    }

    pub(super) fn decode_piggybacked(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = BitReader::new(bytes);
        if reader.take(DC_BITS)? != 0 {
            return Err(DecodeError::ReservedBits);
        }
        match reader.take(TYPE_BITS)? {
            TYPE_STATUS => Self::decode_sufis(&mut reader),
            other => Err(DecodeError::ReservedPduType(other as u8)),
        }
    }

    /// Reads the part after D/C and type.
    pub(super) fn decode_sufis(reader: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let mut sufis = Vec::new();
        loop {
            let end = match reader.take(SUFI_TYPE_BITS)? {
                NO_MORE => StatusEnd::NoMore,
                ACK => StatusEnd::Ack(reader.take_sn()?),
                kind => {
                    sufis.push(Sufi::decode(kind, reader)?);
                    continue;
                }
            };
            return Ok(Self { sufis, end });
        }
    }
}

/// Runs of consecutive sequence numbers, of 16 at most.
fn pairs(missing: &[Sn]) -> Vec<ListPair> {
    let mut pairs: Vec<ListPair> = Vec::new();
    for &sn in missing {
        match pairs.last_mut() {
            Some(pair) if pair.more < 15 && pair.sn.plus(u16::from(pair.more) + 1) == sn => pair.more += 1,
            _ => pairs.push(ListPair { sn, more: 0 }),
        }
    }
    pairs
}

const HEADER_BITS: usize = DC_BITS + TYPE_BITS;

#[cfg(test)]
mod tests {
    use super::super::Pdu;
    use super::*;

    /// Writes `status` into as many octets as `bytes` has, and reads these.
    #[track_caller]
    fn same(status: Status, bytes: &[u8]) {
        let pdu = Pdu::Status(status);
        let mut out = vec![0xff; bytes.len()];
        pdu.encode(&mut out).unwrap();
        assert_eq!(out, bytes);
        assert_eq!(Pdu::decode(bytes), Ok(pdu));
    }

    fn sn(value: u64) -> Sn {
        Sn::wrap(value)
    }

    #[test]
    fn a_list_with_an_ack_is_written_without_gaps() {
        // TS 25.322 §9.2.2.11: 0 000 | 0011 0010 | SN 0x123, L 4 | SN 0xfff, L 0 | 0010, LSN 0x00a | padding.
        let pairs = vec![ListPair { sn: sn(0x123), more: 4 }, ListPair { sn: sn(0xfff), more: 0 }];
        let status = Status { sufis: vec![Sufi::List(pairs)], end: StatusEnd::Ack(sn(0x00a)) };
        assert_eq!(status.bits(), 4 + 8 + 32 + 16);
        same(status, &[0x03, 0x21, 0x23, 0x4f, 0xff, 0x02, 0x00, 0xa0, 0x00]);
    }

    #[test]
    fn window_bitmap_and_rlist_end_with_no_more() {
        // 0 000 | 0001, WSN 0x200 | 0100, 1, FSN 0x010, 0xa5 0x0f | 0101, 2, FSN 0x7ff, 000 1, 011 1 | 0000.
        let bitmap = Sufi::Bitmap { fsn: sn(0x010), bits: vec![0xa5, 0x0f] };
        let rlist = Sufi::Rlist { fsn: sn(0x7ff), steps: vec![super::super::RlistStep::Burst(3)] };
        let status = Status { sufis: vec![Sufi::Window(0x200), bitmap, rlist], end: StatusEnd::NoMore };
        assert_eq!(status.bits(), 4 + 16 + 36 + 28 + 4);
        same(status, &[0x01, 0x20, 0x04, 0x10, 0x10, 0xa5, 0x0f, 0x52, 0x7f, 0xf1, 0x70]);
    }

    #[test]
    fn moves_of_the_window_carry_lengths_and_their_answers() {
        // 0 000 | 0110, 2, SN_MRW 0x001 0x002, N_LENGTH 1 | 0110, 0, 0xabc, 0 | 0111, N 1, SN_ACK 0x003 | 0000.
        let mrw = Sufi::Mrw { sn_mrw: vec![sn(1), sn(2)], beyond_window: false, n_length: 1 };
        let beyond = Sufi::Mrw { sn_mrw: vec![sn(0xabc)], beyond_window: true, n_length: 0 };
        let answer = Sufi::MrwAck { n: 1, sn_ack: sn(3) };
        let status = Status { sufis: vec![mrw, beyond, answer], end: StatusEnd::NoMore };
        same(status, &[0x06, 0x20, 0x01, 0x00, 0x21, 0x60, 0xab, 0xc0, 0x71, 0x00, 0x30]);
    }

    #[test]
    fn what_is_wrong_with_a_status_is_named() {
        for (bytes, error) in [
            (&[0x03, 0x00][..], DecodeError::EmptyList),
            (&[0x01, 0x00, 0x00], DecodeError::ZeroWindow),
            (&[0x08, 0x00, 0x00], DecodeError::PollSufi),
            (&[0x0f], DecodeError::ReservedSufi(15)),
            (&[0x02, 0x00], DecodeError::Truncated),
            (&[0x03, 0x10, 0x01], DecodeError::Truncated),
            (&[0x07, 0x10, 0x01], DecodeError::Truncated),
            (&[0x05, 0x10, 0x01, 0x10], DecodeError::Codewords),
        ] {
            assert_eq!(Pdu::decode(bytes), Err(error), "{bytes:02x?}");
        }
    }

    #[test]
    fn what_the_format_cannot_carry_is_refused() {
        let pair = ListPair { sn: sn(0), more: 0 };
        for (sufi, words) in [
            (Sufi::Window(0), "WSN is 0, expected 1 to 4095"),
            (Sufi::Window(4096), "WSN is 4096, expected 1 to 4095"),
            (Sufi::List(vec![]), "LENGTH of LIST is 0, expected 1 to 15"),
            (Sufi::List(vec![pair; 16]), "LENGTH of LIST is 16, expected 1 to 15"),
            (Sufi::List(vec![ListPair { more: 16, ..pair }]), "L is 16, expected 0 to 15"),
            (Sufi::Bitmap { fsn: sn(0), bits: vec![] }, "octets of BITMAP is 0, expected 1 to 16"),
            (Sufi::MrwAck { n: 16, sn_ack: sn(0) }, "N is 16, expected 0 to 15"),
        ] {
            let pdu = Pdu::Status(Status { sufis: vec![sufi], end: StatusEnd::NoMore });
            assert_eq!(pdu.encode(&mut [0; 42]).unwrap_err().to_string(), words);
        }
        let two = Sufi::Mrw { sn_mrw: vec![sn(0); 2], beyond_window: true, n_length: 0 };
        let pdu = Pdu::Status(Status { sufis: vec![two], end: StatusEnd::NoMore });
        let error = pdu.encode(&mut [0; 42]).unwrap_err();
        assert_eq!(error.to_string(), "SDUs of an MRW beyond the window is 2, expected 1");
    }

    #[test]
    fn eighteen_pairs_fit_a_pdu_of_42_octets_and_the_ack_stops_at_the_first_left_out() {
        let missing: Vec<Sn> = (0..20).map(|i| sn(4080 + 2 * i)).collect();
        let status = Status::reporting(&missing, sn(100), 42 * 8).unwrap();
        let reported: Vec<Sn> = status.sufis.iter().flat_map(Sufi::missing).collect();
        assert_eq!(reported, missing[..18]);
        assert_eq!(status.end, StatusEnd::Ack(missing[18]));
        assert_eq!(status.bits(), 4 + 8 + 15 * 16 + 8 + 3 * 16 + 16);

        let few = Status::reporting(&missing[..18], sn(100), 42 * 8).unwrap();
        assert_eq!(few.end, StatusEnd::Ack(sn(100)));
        assert_eq!(Status::reporting(&missing, sn(100), 19), None);
        assert_eq!(Status::reporting(&missing, sn(100), 20).unwrap().end, StatusEnd::Ack(missing[0]));
    }

    #[test]
    fn a_run_of_more_than_16_takes_several_pairs() {
        let missing: Vec<Sn> = (0..33).map(|i| sn(4090 + i)).collect();
        let pair = |at, more| ListPair { sn: sn(at), more };
        assert_eq!(pairs(&missing), [pair(4090, 15), pair(10, 15), pair(26, 0)]);
    }
}

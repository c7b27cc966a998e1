//! What the bytes of a simulated connection are: each direction is a series of labelled pieces, as requests, responses and
//! messages of TLS are in a real one. Segments carry the labels of the pieces that they overlap, so that the receiving end
//! knows what has arrived, in whatever order the sender has written it.

use std::collections::BTreeMap;

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A flight of TLS, by its index.
    Flight(u8),
    /// The request for an object.
    Request(u16),
    /// Data of a response: its object, and how many bytes of framing precede it.
    Data(u16, u16),
}

/// A piece of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset of its first byte.
    pub start: u64,
    /// Bytes, framing included.
    pub len: u64,
    /// What it is.
    pub what: What,
}

/// Octets of a label.
const LABEL: usize = 8 + 8 + 1 + 2 + 2;

impl Piece {
    /// End offset (exclusive).
    pub fn end(&self) -> u64 {
        self.start + self.len
    }

    fn write(&self, out: &mut Vec<u8>) {
        let (kind, number, framing) = match self.what {
            What::Flight(flight) => (0, flight.into(), 0),
            What::Request(object) => (1, object, 0),
            What::Data(object, framing) => (2, object, framing),
        };
        out.extend(self.start.to_be_bytes());
        out.extend(self.len.to_be_bytes());
        out.push(kind);
        out.extend(number.to_be_bytes());
        out.extend(framing.to_be_bytes());
    }

    fn read(octets: &[u8; LABEL]) -> Option<Self> {
        let number = |from: usize| u16::from_be_bytes([octets[from], octets[from + 1]]);
        let long = |from: usize| {
            octets[from..from + 8].iter().fold(0_u64, |bits, octet| bits << 8 | u64::from(*octet))
        };
        let what = match octets[16] {
            0 => What::Flight(number(17) as u8),
            1 => What::Request(number(17)),
            2 => What::Data(number(17), number(19)),
            _ => return None,
        };
        Some(Self { start: long(0), len: long(8), what })
    }
}

/// The direction that an end writes.
#[derive(Clone, Debug, Default)]
pub struct Written {
    pieces: Vec<Piece>,
}

impl Written {
    /// Appends a piece. Returns its bytes.
    pub fn push(&mut self, what: What, len: u64) -> u64 {
        self.pieces.push(Piece { start: self.end(), len, what });
        len
    }

    /// Bytes written.
    pub fn end(&self) -> u64 {
        self.pieces.last().map_or(0, Piece::end)
    }

    /// Labels of the pieces that overlap `len` bytes from `seq` on, as octets.
    pub fn labels(&self, seq: u64, len: u64) -> Vec<u8> {
        let first = self.pieces.partition_point(|piece| piece.end() <= seq);
        let mut octets = Vec::with_capacity(2 * LABEL);
        let overlapping = self.pieces[first..].iter().take_while(|piece| piece.start < seq + len);
        overlapping.for_each(|piece| piece.write(&mut octets));
        octets
    }
}

/// The direction that an end reads.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Pieces that have not arrived whole, by their start.
    pieces: BTreeMap<u64, Piece>,
    /// Everything before this offset has arrived.
    at: u64,
}

/// A part of a piece that has arrived in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// What the piece is.
    pub what: What,
    /// Its bytes that are new, framing not counted.
    pub bytes: u64,
    /// Whether it is now there as a whole.
    pub is_whole: bool,
}

impl Reading {
    /// A segment with these labels arrived.
    pub fn handle_labels(&mut self, octets: &[u8]) {
        for piece in octets.as_chunks::<LABEL>().0.iter().filter_map(Piece::read) {
            if piece.end() > self.at {
                self.pieces.insert(piece.start, piece);
            }
        }
    }

    /// The next part of what has arrived in order, up to `rcv_nxt`.
    pub fn poll(&mut self, rcv_nxt: u64) -> Option<Arrived> {
        let (_, piece) = self.pieces.first_key_value()?;
        let piece = *piece;
        if self.at >= rcv_nxt || piece.start > self.at {
            return None;
        }
        let end = piece.end().min(rcv_nxt);
        let framing = if let What::Data(_, framing) = piece.what { u64::from(framing) } else { 0 };
        let data_from = (piece.start + framing).max(self.at);
        self.at = end;
        let is_whole = end == piece.end();
        if is_whole {
            self.pieces.remove(&piece.start);
        }
        Some(Arrived { what: piece.what, bytes: end.saturating_sub(data_from), is_whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_knows_what_has_arrived_in_whatever_order() {
        let mut written = Written::default();
        for (what, len) in [(What::Flight(1), 100), (What::Data(3, 9), 59), (What::Data(700, 0), 1)] {
            assert_eq!(written.push(what, len), len);
        }
        assert_eq!(written.end(), 160);
        let mut reading = Reading::default();
        // The last segment comes first.
        reading.handle_labels(&written.labels(150, 10));
        assert_eq!(reading.poll(0), None);
        reading.handle_labels(&written.labels(0, 104));
        assert_eq!(reading.poll(104), Some(Arrived { what: What::Flight(1), bytes: 100, is_whole: true }));
        // Four of nine bytes of framing.
        assert_eq!(reading.poll(104), Some(Arrived { what: What::Data(3, 9), bytes: 0, is_whole: false }));
        assert_eq!(reading.poll(104), None);
        reading.handle_labels(&written.labels(104, 46));
        assert_eq!(reading.poll(160), Some(Arrived { what: What::Data(3, 9), bytes: 50, is_whole: true }));
        assert_eq!(reading.poll(160), Some(Arrived { what: What::Data(700, 0), bytes: 1, is_whole: true }));
        assert_eq!(reading.poll(160), None);
    }
}

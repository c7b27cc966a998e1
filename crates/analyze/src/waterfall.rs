//! The rows of a waterfall: connections and UDP conversations by start time, with only their phases.
//!
//! A run in progress is analysed as it is captured: [`Running`].

use std::io::Read;

use serde::Serialize;

use crate::Options;
use crate::file::{FileError, Source, Summary};
use crate::phases::Phases;
use crate::table::{Report, Table};

/// A connection or a conversation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row<'a> {
    /// Number as in the report; conversations are numbered separately.
    pub number: u64,
    /// Address and port of who opened it, or sent the first datagram.
    pub client: &'a str,
    /// Address and port of the other end.
    pub server: &'a str,
    /// Start on the clock of the capture, seconds: clocks of runs start at zero.
    pub start_s: f64,
    /// Time from its first packet to its last, seconds.
    pub duration_s: f64,
    /// Payload of both directions.
    pub payload_bytes: u64,
    /// `None` of a conversation.
    pub phases: Option<&'a Phases>,
}

impl Report {
    /// The rows of its waterfall, by when they began.
    pub fn waterfall(&self) -> Vec<Row<'_>> {
        let origin_s = self.start_unix_s.unwrap_or_default();
        let connections = self.connections.iter().map(|one| Row {
            number: one.number,
            client: &one.client,
            server: &one.server,
            start_s: origin_s + one.start_s,
            duration_s: one.duration_s,
            payload_bytes: one.payload_bytes,
            phases: Some(&one.phases),
        });
        let conversations = self.conversations.iter().map(|one| Row {
            number: one.number,
            client: &one.client,
            server: &one.server,
            start_s: origin_s + one.start_s,
            duration_s: one.duration_s,
            payload_bytes: one.payload_bytes,
            phases: None,
        });
        let mut rows: Vec<_> = connections.chain(conversations).collect();
        rows.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
        rows
    }
}

/// A pcapng capture that arrives in pieces of whole blocks, as written by a simulation.
#[derive(Debug)]
pub struct Running {
    /// The blocks in front of the first packet: section and interfaces.
    preamble: Vec<u8>,
    /// Later blocks that have not been read.
    waiting: Vec<u8>,
    table: Table,
}

const ENHANCED_PACKET: [u8; 4] = 6_u32.to_le_bytes();
/// Pieces are read when this many bytes are available: starting takes as long as some hundred packets.
const ENOUGH: usize = 1 << 20;

impl Running {
    /// Nothing has been captured.
    pub fn new(options: Options) -> Self {
        Self { preamble: Vec::new(), waiting: Vec::new(), table: Table::new(options) }
    }

    /// Adds a piece; the first has the section and its interfaces, all others have packets of the same.
    ///
    /// # Errors
    ///
    /// If the first does not begin as a pcapng does.
    pub fn add(&mut self, piece: &[u8]) -> Result<(), FileError> {
        let packets = if self.preamble.is_empty() {
            let (preamble, packets) = piece.split_at(packets_from(piece));
            self.preamble = preamble.to_vec();
            packets
        } else {
            piece
        };
        self.waiting.extend_from_slice(packets);
        if self.waiting.len() >= ENOUGH { self.read() } else { Ok(()) }
    }

    fn read(&mut self) -> Result<(), FileError> {
        if !self.waiting.is_empty() {
            let mut source = Source::open(self.preamble.as_slice().chain(self.waiting.as_slice()))?;
            while let Some(record) = source.next_record()? {
                self.table.handle_record(&record);
            }
            self.waiting.clear();
        }
        Ok(())
    }

    /// The report; there is no summary of a file.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    pub fn into_report(mut self) -> Result<Report, FileError> {
        self.read()?;
        Ok(self.table.into_report(Summary::default()))
    }
}

/// Octets in front of the first packet.
fn packets_from(piece: &[u8]) -> usize {
    let mut at = 0;
    while let Some([kind, total]) = piece.get(at..).and_then(|rest| rest.as_chunks::<4>().0.first_chunk()) {
        if *kind == ENHANCED_PACKET {
            break;
        }
        at += u32::from_le_bytes(*total).max(12) as usize;
    }
    at.min(piece.len())
}

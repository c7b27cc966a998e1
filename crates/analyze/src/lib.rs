//! Analysis of the TCP connections and UDP conversations in a capture, from the capture alone.
//!
//! `file` reads records of pcap and pcapng, `link` finds the IP packet in a frame, `segment` reads its headers, `gtp`
//! opens tunnels, and `table` keeps the connections. A `connection` has a `view` for each interface that saw it, and
//! between two of them a `crossing` finds each packet again: its delay, or that it was lost. A `flow` is one direction
//! of data in a view: the data of one end and the ACKs of the other. `verdict` says what limited it, and `report` has
//! the words for it. A `conversation` is UDP between two ends; a `datagram` reveals little, and with QUIC the `spin`
//! bit.
//!
//! A capture is read once, from front to end. Memory is bounded whatever it holds: series are thinned out as they
//! grow, distributions are counted in buckets of equal ratio, and connections that have ended are reported and
//! forgotten, as are those idle for longest when there are too many.

mod acks;
mod arrivals;
mod between;
mod connection;
mod conversation;
mod copies;
mod crossing;
mod datagram;
mod delivery;
mod file;
mod flow;
mod gtp;
mod link;
mod name;
mod phases;
mod report;
mod segment;
mod sequence;
mod series;
mod sketch;
mod spin;
mod table;
mod tunnels;
mod verdict;
mod view;
mod waterfall;

pub use arrivals::{Arrivals, arrivals};
pub use file::{Beginning, FileError};
pub use table::Report;
pub use waterfall::{Row, Running};

use std::io::Read;
use std::path::Path;

/// Options for the data kept and reported.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Connections reported in full, those with most data; the others are summed up.
    pub most_connections: usize,
    /// Bytes that connections may keep at a time, about.
    pub memory_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { most_connections: 100, memory_bytes: 64 << 20 }
    }
}

/// Analyses the capture in a file.
///
/// # Errors
///
/// If the file cannot be read, or does not start like a capture. Later errors are counted in the report.
pub fn analyze_file(path: &Path, options: Options) -> Result<Report, FileError> {
    analyze(std::fs::File::open(path)?, options)
}

/// Analyses a capture; see [`analyze_file`].
///
/// # Errors
///
/// As [`analyze_file`].
pub fn analyze(reader: impl Read, options: Options) -> Result<Report, FileError> {
    let mut source = file::Source::open(reader)?;
    let mut table = table::Table::new(options);
    while let Some(record) = source.next_record()? {
        table.handle_record(&record);
    }
    Ok(table.into_report(source.into_summary()))
}

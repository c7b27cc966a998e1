//! Timelines and properties of the entities of `rlc::am_nr` and `rlc::um_nr`, with PDCP above them.
//!
//! TTIs of 1 ms in both directions, 4 ms from the start of a TTI to its arrival; see [`link`]. Sequence numbers have 18 bits
//! unless said: three octets of header in AMD PDUs, two and one in UMD PDUs of 12 and 6 bits, three of PDCP, and two of MAC up to
//! PDUs of 255 octets.

mod am;
mod handover;
mod link;
mod octets;
mod properties;
mod retransmission;
mod scenarios;
mod status;
mod timers;
mod um;

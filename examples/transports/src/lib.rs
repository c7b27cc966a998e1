//! Transports of others over a cellular link, both ends in virtual time: a download takes milliseconds, and the same
//! arguments give the same times.

pub mod quic;
pub mod tcp;

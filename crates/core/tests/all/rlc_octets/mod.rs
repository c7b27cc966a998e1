//! Simulated PDUs and their octets agree: what encoders write is read by the codec, and a receiver that knows
//! octets only gets the SDUs that the entities hand up, octet for octet.

mod entities;
mod lte;
mod reassembly;
mod runs;
mod unacknowledged;

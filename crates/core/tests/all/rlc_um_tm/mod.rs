//! Timelines and properties of the entities of `rlc::um` and `rlc::tm`, and TCP over them.
//!
//! A bearer of 12 PDUs in each TTI of 10 ms, 25 ms from the start of a TTI to its arrival; see [`bearer`].

mod bearer;
mod octets;
mod scenarios;
mod tm;
mod um;

//! The integration tests of the core, in one program that is linked once.
//!
//! `cargo test -p airpath-core --test all evdo::` runs those of one file.
#![allow(clippy::unwrap_used)]

mod accurate_ecn;
mod ack_baselines;
mod ack_rate_control;
mod ack_regulator;
mod ahead;
mod clauses;
mod connection;
mod contract;
mod datagrams;
mod distribution;
mod drops_and_discards;
mod evdo;
mod evictions;
mod extremes;
mod fixed_delay_arq;
mod flows;
mod followed;
mod freeze;
mod golden;
mod gtp_capture;
mod gtp_messages;
mod kernel_figures;
mod l4s;
mod layers;
mod netsim;
mod outages;
mod path_models;
mod queue_errors;
mod queues;
mod red;
mod registry;
mod rlc_am;
mod rlc_capture;
mod rlc_lte;
mod rlc_octets;
mod rlc_pdus;
mod rlc_um_tm;
mod rnc_feedback;
mod scenario_errors;
mod scripts;
mod served;
mod shared;
mod snoop;
mod snoop_alone;
mod split;
mod tcp_profile;
mod tcp_variants;
mod tshark;
mod umts;
mod variable;
mod web;
mod web_segments;
mod window_clamp;

//! A UE as its uplink sees it, and what passes between it and the network.

use crate::radio::shared::air::Format;
use crate::radio::shared::harq::Harq;
use crate::radio::shared::reception::{Reception, Steps};
use crate::rlc::Tti;
use crate::time::{Duration, Instant};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// A UE as its uplink sees it.
pub(in crate::radio) struct Sender {
    pub(super) reception: Reception,
    pub(super) harq: Harq,
    /// What the network knows that the UE has to send, octets, from a BSR of this slot.
    pub(super) known: (u64, u64),
    /// An SR has come, and is not answered.
    pub(super) requested: bool,
    /// Slots and octets of grants, as long as no BSR says what is left behind them.
    pub(super) granted: VecDeque<(u64, u64)>,
    /// Grants that are not filled.
    pub(super) unfilled: u32,
    /// The network has been told, or is being told, that there is something to send.
    pub(super) told: bool,
    /// The last slot in which it had a block, or might have had one.
    pub(super) passed: Option<u64>,
    /// Since when the UE has had something to send, and the delay that its first grant explains.
    pub(super) since: Option<Instant>,
    pub(super) delay: Duration,
    pub(super) counts: Counts,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) blocks: u64,
    pub(super) first_lost: u64,
    pub(super) repeats: u64,
    pub(super) blocks_lost: u64,
    pub(super) bits: u64,
}

pub(super) struct Planned {
    pub(super) slot: u64,
    pub(super) left: u32,
    pub(super) grants: Vec<Grant>,
}

#[derive(Clone, Copy)]
pub(super) struct Grant {
    pub(super) ue: u16,
    pub(super) epoch: u32,
    pub(super) format: Format,
    /// The process that is due; a new block has none yet.
    pub(super) again: Option<u8>,
    pub(super) steps: Steps,
}

pub(super) struct Arrival {
    pub(super) at: Instant,
    pub(super) ue: u16,
    pub(super) epoch: u32,
    pub(super) tti: Box<Tti>,
}

pub(super) struct News {
    pub(super) at: Instant,
    pub(super) ue: u16,
    pub(super) epoch: u32,
    pub(super) what: What,
}

pub(super) enum What {
    Request,
    /// What a block has left behind, and the slot in which that was.
    Left {
        octets: u64,
        slot: u64,
        process: Option<u8>,
    },
    Lost {
        process: u8,
    },
}

impl Sender {
    pub fn new(reception: Reception, processes: u8) -> Self {
        Self {
            reception,
            harq: Harq::new(processes),
            known: (0, 0),
            requested: false,
            granted: VecDeque::new(),
            unfilled: 0,
            told: false,
            passed: None,
            since: None,
            delay: Duration::ZERO,
            counts: Counts::default(),
        }
    }

    /// What the network knows of and has not granted, octets.
    pub(super) fn needed(&self) -> u64 {
        let (known, slot) = self.known;
        let granted = self.granted.iter().filter(|(at, _)| *at > slot);
        known.saturating_sub(granted.map(|(_, octets)| octets).sum())
    }

    pub(super) fn asks(&self) -> bool {
        self.requested || self.harq.has_due() || self.needed() > 0
    }

    pub fn report(&self) -> Value {
        let Counts { requests, blocks, first_lost, repeats, blocks_lost, bits } = self.counts;
        json!({
            "requests": requests, "blocks": blocks, "first_lost": first_lost, "repeats": repeats,
            "blocks_lost": blocks_lost, "bits": bits, "outer_loop_db": self.reception.offset,
        })
    }
}

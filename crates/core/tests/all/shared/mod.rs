//! Shared cells, HSDPA and LTE, against hand computation and theory.

mod capacity;
mod edch;
mod errors;
mod fair;
mod hsdpa;
mod load;
mod lte;
mod lte_uplink;
mod tcp;

use airpath_core::handover;
use airpath_core::packet::{Dir, Packet};
use airpath_core::path::Path;
use airpath_core::radio;
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, Kind, ProbeMask};
use serde_json::{Value, json};

/// A path of one cell, and packets for its UEs.
pub struct Cell {
    pub path: Path,
    ues: u16,
    number: u32,
}

/// A transmitted block.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at_ms: u64,
    pub ue: u16,
    pub process: u16,
    pub transmission: u16,
    pub cqi: u16,
    pub sinr_thousandths: u64,
    pub lost: bool,
}

/// `keys` over `base`, table by table.
pub fn over(mut base: Value, keys: &Value) -> Value {
    match (base.as_object_mut(), keys.as_object()) {
        (Some(table), Some(keys)) => {
            for (key, value) in keys {
                let own = table.remove(key).unwrap_or(json!({}));
                table.insert(key.clone(), over(own, value));
            }
            base
        }
        _ => keys.clone(),
    }
}

fn probes() -> ProbeMask {
    ProbeMask::NONE.with(Kind::BlockSent)
}

fn config(kind: &str, ues: u16, keys: &Value) -> radio::Config {
    let mut still = json!({"ues": ues, "downlink": {
        "queue": {"droptail": {"packets": 400}},
        "reception": {"mean_sinr": "40 dB"},
    }});
    if keys["downlink"]["reception"]["fading"].is_null() {
        still["downlink"]["reception"]["fading"] = json!({"none": {}});
    }
    let config: radio::Config = serde_json::from_value(json!({kind: over(still, keys)})).unwrap();
    config.validate().unwrap();
    config
}

impl Cell {
    /// A cell of a kind with these keys, whose channel stands still unless they say otherwise.
    pub fn new(kind: &str, ues: u16, keys: &Value) -> Self {
        let element = config(kind, ues, keys).build(&radio::Plan::of(1));
        Self { path: Path::new(vec![element], probes()), ues, number: 0 }
    }

    /// A cell with hand-overs, as in a scenario.
    pub fn with_handovers(kind: &str, keys: &Value, handovers: &Value) -> Self {
        let handovers: Vec<handover::Config> = serde_json::from_value(handovers.clone()).unwrap();
        let mut cell = Self::new(kind, 1, keys);
        let plan = radio::Plan { handovers: &handover::Episode::stays(&handovers), ..radio::Plan::of(1) };
        cell.path = Path::new(vec![config(kind, 1, keys).build(&plan)], probes());
        cell
    }

    pub fn send(&mut self, at: Instant, dir: Dir, ue: u16, len: u32) -> u32 {
        let mut packet = self.path.packet();
        (packet.ue, packet.seq, packet.len) = (ue, self.number, len);
        self.number += 1;
        self.path.handle_packet(at, dir, packet);
        self.number - 1
    }

    pub fn run_until(&mut self, end: Instant) {
        while let Some(next) = self.path.poll_timeout().filter(|next| *next <= end) {
            self.path.handle_timeout(next);
        }
    }

    /// Lets everything come to its end, within a minute.
    pub fn run_dry(&mut self) -> Vec<(Instant, Packet)> {
        self.run_until(Instant::ZERO + Duration::from_secs(60));
        self.outputs()
    }

    pub fn outputs(&mut self) -> Vec<(Instant, Packet)> {
        std::iter::from_fn(|| self.path.poll_output()).map(|(at, _, packet)| (at, *packet)).collect()
    }

    /// Goodput of each UE, kbit/s, with buffers that are never empty, between the first second and the end.
    pub fn saturated(&mut self, seconds: u64) -> Vec<f64> {
        let mut bytes = vec![0_u64; self.ues.into()];
        for step in 0..100 * seconds {
            let now = Instant::ZERO + Duration::from_millis(10 * step);
            self.run_until(now);
            for ue in 0..self.ues {
                for _ in 0..40 {
                    self.send(now, Dir::Downlink, ue, 1500);
                }
            }
            for (at, packet) in self.outputs() {
                if at >= Instant::ZERO + Duration::from_secs(1) {
                    bytes[usize::from(packet.ue)] += u64::from(packet.len);
                }
            }
        }
        bytes.into_iter().map(|bytes| bytes as f64 * 8.0 / 1000.0 / (seconds - 1) as f64).collect()
    }

    /// The maximum time in ms between two blocks of UE 0, which always has data, from the moment when UE 1 also has
    /// data: after `after` seconds, for `lasting` seconds.
    pub fn returning(&mut self, after: u64, lasting: u64) -> u64 {
        for step in 0..100 * (after + lasting) {
            let now = Instant::ZERO + Duration::from_millis(10 * step);
            self.run_until(now);
            for ue in 0..if step < 100 * after { 1 } else { 2 } {
                (0..40).for_each(|_| _ = self.send(now, Dir::Downlink, ue, 1500));
            }
        }
        let times: Vec<u64> =
            self.blocks().iter().filter(|block| block.ue == 0).map(|block| block.at_ms).collect();
        let pairs = times.windows(2).filter(|pair| pair[0] >= 1000 * after);
        pairs.map(|pair| pair[1] - pair[0]).max().unwrap()
    }

    /// What blocks were sent since the last call.
    pub fn blocks(&mut self) -> Vec<Sent> {
        let sent = |(at, event): (Instant, Event)| match event {
            Event::BlockSent { ue, process, transmission, cqi, sinr_thousandths, lost, .. } => Sent {
                at_ms: at.as_nanos() / 1_000_000,
                ue,
                process,
                transmission,
                cqi,
                sinr_thousandths,
                lost,
            },
            other => panic!("{other:?}"),
        };
        self.path.take_trace().into_iter().map(sent).collect()
    }

    pub fn report(&mut self) -> Value {
        self.path.reports()[0].clone()
    }
}

pub fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value / expected - 1.0).abs() <= tolerance
}

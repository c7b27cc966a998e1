//! A link with random rate and delay, drawn for each packet or for each interval of time.
//!
//! * `redraw = "packet"`: both are drawn when a transmission begins, and hold for it.
//! * `redraw = "100 ms"`: both hold from one multiple of the interval to the next. A packet in transmission continues
//!   at the new rate; its delay is the delay of the interval in which its last bit is sent. The values of an interval
//!   depend only on the interval, not on the packets sent in it.
//!
//! Rate and delay draw from streams of their own: another distribution of the one leaves the other as it was. How
//! negative draws are avoided stands in [`crate::distribution`].
//!
//! Left out: losses, and correlation between draws. Source: \[chan2002\] sections 4 and 6.1 to 6.3, where both are
//! drawn for each packet.

use super::piecewise::{Piece, Pieces, transmit};
use super::{Channel, Component, Kind, Order, Service, as_same};
use crate::distribution::{self, Sampler};
use crate::element::Adopt;
use crate::error::ScenarioError;
use crate::rng::{self, Stream};
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link whose rate and delay are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// When rate and delay are drawn: "packet" for the start of each transmission, or an interval.
    pub redraw: Redraw,
    /// Rate at IP level.
    pub rate: distribution::Config<Bitrate>,
    /// Delay behind the transmission, in addition to the bearer's.
    pub delay: distribution::Config<Duration>,
    /// Whether a packet may overtake another.
    pub order: Order,
}

/// When rate and delay are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "neither \"packet\" nor an interval; write \"packet\", or \"100 ms\"")]
pub enum Redraw {
    /// At the start of each transmission.
    Packet(Packet),
    /// At the multiples of an interval.
    Interval(Duration),
}

/// The word "packet".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Packet {
    /// At the start of each transmission.
    Packet,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            redraw: Redraw::Packet(Packet::Packet),
            rate: distribution::Config::Constant(Bitrate::from_bps(384_000)),
            delay: distribution::Config::default(),
            order: Order::default(),
        }
    }
}

/// Shorter intervals would make a packet of a slow link pass through thousands of them.
const SHORTEST: Duration = Duration::from_millis(1);

impl Component for Config {
    fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        let stream = |part: &str| rng::stream(run_seed, &format!("{name}.{part}"));
        let drawn = Drawn {
            rate: self.rate.sampler(),
            delay: self.delay.sampler(),
            rate_stream: stream("rate"),
            delay_stream: stream("delay"),
        };
        match self.redraw {
            Redraw::Packet(_) => Box::new(drawn),
            Redraw::Interval(interval) => Box::new(ByInterval { drawn, interval, present: None }),
        }
    }

    fn kind(&self) -> Kind {
        Kind::Packets
    }

    fn order(&self) -> Order {
        self.order
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.rate.validate().map_err(|error| error.under("rate"))?;
        self.delay.validate().map_err(|error| error.under("delay"))?;
        match self.redraw {
            Redraw::Interval(interval) if interval < SHORTEST => {
                let message = format!("{interval} is too short an interval");
                Err(ScenarioError::new("redraw", message, format!("write at least \"{SHORTEST}\"")))
            }
            Redraw::Interval(_) | Redraw::Packet(_) => Ok(()),
        }
    }

    fn mean_rate(&self) -> Option<Bitrate> {
        Some(self.rate.mean())
    }
}

/// Rate and delay with what they are drawn from.
struct Drawn {
    rate: Sampler<Bitrate>,
    delay: Sampler<Duration>,
    rate_stream: Stream,
    delay_stream: Stream,
}

impl Channel for Drawn {
    fn serve(&mut self, start: Instant, len: u32) -> Service {
        let rate = self.rate.draw(&mut self.rate_stream);
        let delay = self.delay.draw(&mut self.delay_stream);
        Service { end: start + rate.time_to_send(u64::from(len)), delay, lost: false }
    }

    fn adopt(&mut self, _now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        let Some(fresh) = as_same::<Self>(fresh).filter(|_| how == Adopt::Streams) else { return false };
        rng::renew([&mut self.rate_stream, &mut self.delay_stream], [fresh.rate_stream, fresh.delay_stream])
    }
}

/// A multiple of no power of two, far above what an interval may draw: from draw to draw of a stream that is
/// far ahead of another by a power of two, low bits would repeat.
const DRAWS_OF_AN_INTERVAL: u64 = 1_000_003;

struct ByInterval {
    drawn: Drawn,
    interval: Duration,
    /// The interval queried last: its index and its piece.
    present: Option<(u64, Piece)>,
}

impl Pieces for ByInterval {
    fn piece_at(&mut self, at: Instant) -> Piece {
        let number = at.as_nanos() / self.interval.as_nanos();
        if let Some((_, piece)) = self.present.filter(|(present, _)| *present == number) {
            return piece;
        }
        let ahead = number.wrapping_mul(DRAWS_OF_AN_INTERVAL);
        let drawn = &self.drawn;
        let piece = Piece {
            rate: drawn.rate.draw(&mut drawn.rate_stream.ahead(ahead)),
            delay: drawn.delay.draw(&mut drawn.delay_stream.ahead(ahead)),
            until: Instant::ZERO + self.interval.saturating_mul(number + 1),
            loss: Probability::ZERO.into(),
        };
        self.present = Some((number, piece));
        piece
    }
}

impl Channel for ByInterval {
    fn serve(&mut self, start: Instant, len: u32) -> Service {
        let (end, piece) = transmit(self, start, len);
        Service { end, delay: piece.delay, lost: false }
    }

    fn adopt(&mut self, _now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        let Some(fresh) = as_same::<Self>(fresh).filter(|_| how == Adopt::Streams) else { return false };
        self.present = None;
        self.drawn = fresh.drawn;
        true
    }
}

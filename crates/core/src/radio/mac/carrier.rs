//! Carries the TTIs of one direction of a UE: when a TTI may start, how many PDUs fit, and which PDUs arrive.
//!
//! A dedicated channel has its own grid of TTIs. Where the network grants each transmission ([`Grants`]), the
//! UE requests a grant first. A TTI that starts at `t` arrives at `t` + its length + the delay of the bearer
//! unless the channel loses it; the loss is decided for the end of the TTI. Idle TTIs cost nothing.

use super::Work;
use super::grants::Grants;
use crate::channel::Channel;
use crate::element::{Adopt, Cx, adopt};
use crate::radio::outages::Silences;
use crate::radio::rlc_bearer::{OF_TTIS, RlcBearer};
use crate::rlc::{Errors, Tti, Ttis};
use crate::rng::{Stream, Threshold};
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind};
use crate::units::Bitrate;
use airpath_prefetch::{SOON, prefetch, prefetch_ends};
use std::collections::VecDeque;

/// The carrier of one direction.
pub(in crate::radio) struct Carrier {
    ttis: Ttis,
    grants: Option<Grants>,
    /// PDUs per TTI, or octets where PDUs have no size of their own.
    pub room: u64,
    /// Time from the start of a TTI to the earliest start of the next; longer than a TTI only at a low rate.
    spacing: Duration,
    /// The rate of a dedicated channel.
    rate: Bitrate,
    losses: Losses,
    /// End of the last TTI used; of an outage or a promotion if that is later.
    pub free_at: Instant,
    /// End of the last TTI used.
    pub sent_until: Instant,
    /// The next TTI that the sending entity needs.
    pub next_tti: Instant,
    /// The TTI being transmitted; kept only while the `slot_ended` probe is on.
    ending: Option<Ending>,
    /// TTIs in transit with their arrival times, earliest first.
    on_air: VecDeque<(Instant, Box<Tti>)>,
    /// Arrival of the first TTI in transit.
    pub next_arrival: Instant,
}

/// The end of a TTI, and its PDUs.
struct Ending {
    at: Instant,
    pdus_sent: u32,
    pdus_lost: u32,
}

/// Outcome of TTIs.
pub(in crate::radio) enum Losses {
    /// As decided by the channel.
    Channel(Box<dyn Channel>),
    /// HARQ: lost TTIs are retransmitted after a round trip, up to this total number of transmissions.
    Harq { lost: Threshold, stream: Stream, max_transmissions: u8, round_trip: Duration, silences: Silences },
}

impl Carrier {
    /// See [`Element::prefetch`](crate::element::Element::prefetch).
    pub fn prefetch(&self, depth: u8) {
        match depth {
            1 => {
                prefetch_ends(&self.on_air);
                if let Losses::Channel(channel) = &self.losses {
                    prefetch(&**channel);
                }
            }
            2 => self.on_air.iter().take(SOON).for_each(|(_, tti)| prefetch(&**tti)),
            _ => self.on_air.iter().take(SOON).for_each(|(_, tti)| tti.data.prefetch()),
        }
    }

    /// A dedicated channel of this rate.
    pub fn dedicated(rate: Bitrate, ttis: Ttis, channel: Box<dyn Channel>) -> Self {
        let room = rate.bytes_in(ttis.tti) / ttis.payload;
        Self { rate, ..Self::new(ttis, room, None, Losses::Channel(channel)) }
    }

    /// A carrier whose TTIs are granted, each with this room.
    pub fn granted(ttis: Ttis, room: u64, grants: Grants, losses: Losses) -> Self {
        Self::new(ttis, room, Some(grants), losses)
    }

    fn new(ttis: Ttis, room: u64, grants: Option<Grants>, losses: Losses) -> Self {
        Self {
            ttis,
            grants,
            room,
            spacing: ttis.tti,
            rate: Bitrate::default(),
            losses,
            free_at: ttis.next(Instant::ZERO),
            sent_until: Instant::ZERO,
            next_tti: Instant::NEVER,
            ending: None,
            on_air: VecDeque::new(),
            next_arrival: Instant::NEVER,
        }
    }

    /// Finds the next TTI, if one is needed at this time.
    #[inline]
    pub fn plan(&mut self, now: Instant, wanted: Instant) {
        if let Some(grants) = &mut self.grants {
            self.next_tti = grants.plan(now, wanted);
            return;
        }
        let from = wanted.max(now);
        self.next_tti = match wanted {
            Instant::NEVER => Instant::NEVER,
            _ if from <= self.free_at => self.free_at,
            // It is planned already: no division.
            _ if from <= self.next_tti && self.next_tti < from + self.ttis.tti => self.next_tti,
            _ => self.ttis.next(from),
        };
    }

    /// Delay of a packet caused by grants rather than by a queue.
    #[inline]
    pub fn grant_delay(&self, now: Instant) -> Duration {
        self.grants.as_ref().map_or(Duration::ZERO, |grants| grants.delay(now))
    }

    /// Whether the next needed TTI is the earliest possible one, as under load.
    #[inline]
    pub fn is_next(&self, now: Instant) -> bool {
        self.next_tti <= self.free_at || self.next_tti < now + self.ttis.tti
    }

    /// Starts no TTI before `until`; a TTI in progress continues.
    pub fn pause(&mut self, until: Instant) {
        self.free_at = self.free_at.max(self.ttis.next(until));
        if let Some(grants) = &mut self.grants {
            grants.pause(until);
        }
    }

    /// Resumes transmission when the UE returns. TTIs in transit are lost; no TTI starts before `at`,
    /// regardless of earlier pauses.
    pub fn resume(&mut self, at: Instant) {
        self.flush();
        self.free_at = self.ttis.next(at);
        if let Some(grants) = &mut self.grants {
            grants.pause(at);
        }
    }

    /// Like `pause`, but called only while no TTI is being transmitted; `until` may be earlier than in the
    /// previous call.
    pub fn hold(&mut self, until: Instant) {
        self.free_at = self.ttis.next(until);
        self.next_tti = Instant::NEVER;
        if let Some(grants) = &mut self.grants {
            grants.pause(until);
        }
    }

    /// Limits a dedicated channel to this rate from now on; `None` restores its own rate. A rate below one
    /// PDU per TTI leaves TTIs empty.
    #[cold]
    pub fn limit_rate(&mut self, rate: Option<Bitrate>) {
        let rate = rate.map_or(self.rate, |limit| limit.min(self.rate));
        let Ttis { tti, payload, .. } = self.ttis;
        self.room = (rate.bytes_in(tti) / payload).max(1);
        let ttis = rate.time_to_send(self.room * payload).as_nanos().div_ceil(tti.as_nanos());
        self.spacing = tti.saturating_mul(ttis.max(1));
    }

    /// Adopts the rate and the channel of another dedicated channel; returns whether any differs. A rate
    /// limit ends.
    #[cold]
    pub fn adopt(&mut self, now: Instant, fresh: Self, how: Adopt) -> bool {
        let differs = match (&mut self.losses, fresh.losses) {
            (Losses::Channel(own), Losses::Channel(fresh)) => own.adopt(now, fresh, how),
            _ => false,
        };
        if self.grants.is_some() || !adopt(&mut self.rate, fresh.rate) {
            return differs;
        }
        self.limit_rate(None);
        true
    }

    /// The TTI that starts now has no room for what the entity has: it tries again in the next one.
    #[cold]
    pub fn skip(&mut self, now: Instant) {
        self.free_at = now + self.spacing;
    }

    /// A TTI for the entity started, and the entity has `more` to send.
    #[inline]
    pub fn begun(&mut self, now: Instant, more: bool) {
        if let Some(grants) = &mut self.grants {
            grants.begun(now, more);
        }
    }

    /// Drops all TTIs in transit.
    pub fn flush(&mut self) {
        self.on_air.clear();
        self.next_arrival = Instant::NEVER;
    }

    /// The next TTI or arrival.
    #[inline]
    pub fn next_event(&self) -> Instant {
        self.next_tti.min(self.next_arrival)
    }

    /// End of the TTI being transmitted, while the `slot_ended` probe is enabled.
    #[cold]
    pub fn next_end(&self) -> Instant {
        self.ending.as_ref().map_or(Instant::NEVER, |ending| ending.at)
    }

    /// Takes the first TTI that has arrived.
    #[inline]
    pub fn take_arrived(&mut self, now: Instant) -> Option<Box<Tti>> {
        if self.next_arrival > now {
            return None;
        }
        let (_, tti) = self.on_air.pop_front()?;
        self.next_arrival = self.on_air.front().map_or(Instant::NEVER, |(at, _)| *at);
        Some(tti)
    }

    /// Transmits a TTI of the bearer that starts now.
    #[inline(always)]
    pub fn transmit(&mut self, cx: &mut Cx<'_>, bearer: &mut RlcBearer, mut tti: Box<Tti>, work: &mut Work) {
        let end = cx.now + self.ttis.tti;
        (self.free_at, self.sent_until) = (cx.now + self.spacing, end);
        let pdus = tti.pdus();
        let watched = cx.probes_any(OF_TTIS) || cx.captures_pdus();
        let (lost, later) = match watched {
            true => self.lose_watched(cx, bearer, &mut tti, end, work),
            false => self.lose(&mut tti, end),
        };
        bearer.counts.ttis += 1;
        bearer.counts.pdus_sent += pdus;
        bearer.counts.pdus_lost += lost;
        let tells_ends = !self.ttis.retransmits && !tti.data.ends.is_empty();
        if lost < pdus || tells_ends {
            self.put(end + bearer.buffer.delay + later, tti);
        } else {
            work.spare.keep(tti);
        }
    }

    #[inline(always)]
    fn put(&mut self, at: Instant, tti: Box<Tti>) {
        match self.on_air.back() {
            Some((last, _)) if *last > at => self.put_between(at, tti),
            _ => self.on_air.push_back((at, tti)),
        }
        self.next_arrival = self.next_arrival.min(at);
    }

    /// Inserts the TTI by arrival time: TTIs already in flight may be HARQ retransmissions that arrive later than
    /// this one.
    #[inline(never)]
    fn put_between(&mut self, at: Instant, tti: Box<Tti>) {
        let place = self.on_air.partition_point(|(other, _)| *other <= at);
        self.on_air.insert(place, (at, tti));
    }

    /// Decides the outcome of a TTI that ends then: the number of lost PDUs, and the extra delay of the
    /// others.
    #[inline(always)]
    fn lose(&mut self, tti: &mut Tti, end: Instant) -> (u64, Duration) {
        let lost = match &mut self.losses {
            Losses::Channel(channel) => match self.ttis.errors {
                Errors::PerTti if channel.block_lost(end) => tti.lose(|| true),
                Errors::PerTti => 0,
                Errors::PerPdu => tti.lose(|| channel.block_lost(end)),
            },
            Losses::Harq { lost, stream, max_transmissions, round_trip, silences } => {
                let mut later = Duration::ZERO;
                for _ in 0..*max_transmissions {
                    if !(stream.chance(*lost) | silences.cover(self.ttis.tti, end + later)) {
                        return (0, later);
                    }
                    later += *round_trip;
                }
                tti.lose(|| true)
            }
        };
        (lost, Duration::ZERO)
    }

    #[cold]
    #[inline(never)]
    fn lose_watched(
        &mut self,
        cx: &mut Cx<'_>,
        bearer: &mut RlcBearer,
        tti: &mut Tti,
        end: Instant,
        Work { report, spare }: &mut Work,
    ) -> (u64, Duration) {
        let mut sent = spare.take();
        sent.copy(tti);
        let (lost, later) = self.lose(tti, end);
        if cx.probes(Kind::SlotEnded) {
            self.ending = Some(Ending { at: end, pdus_sent: sent.pdus() as u32, pdus_lost: lost as u32 });
        }
        bearer.note_beginning(report);
        bearer.note_outcomes(cx, &sent, tti);
        bearer.note_ends(cx, &sent);
        bearer.capture_pdus(cx, &sent, tti, report);
        spare.keep(sent);
        (lost, later)
    }

    /// Records the TTI that ends now.
    #[cold]
    pub fn note_ended(&mut self, cx: &mut Cx<'_>, bearer: &RlcBearer) {
        if let Some(Ending { pdus_sent, pdus_lost, .. }) = self.ending.take_if(|ending| ending.at <= cx.now) {
            let (ue, direction) = (bearer.buffer.ue, bearer.buffer.dir);
            let bearer = cx.bearer_number(bearer.buffer.index() as usize);
            cx.probe(Kind::SlotEnded, || Event::SlotEnded { ue, bearer, direction, pdus_sent, pdus_lost });
        }
    }
}

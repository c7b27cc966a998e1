//! The entities beside one that is written from the clauses of TS 25.322 PDU by PDU: under random traffic, losses and
//! parameters both send the same PDUs with the same polls and STATUS, hand up and confirm the same SDUs, and have the
//! same state variables.
//!
//! How SDUs are cut, and how much of a long report fits a STATUS PDU, is taken from the entities. Left out: discard and
//! resets (see `properties`), windows that are set, piggybacked STATUS, and Poll_SDU: which PDU has the last segment of
//! an SDU is not told where its indicator follows in the next one.

use super::link::ms;
use airpath_core::rlc::am::{Config, Delivery, Entity};
use airpath_core::rlc::control::{Control, Status};
use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Report, SduEnd, Tti};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// From the start of a TTI to its arrival, ms.
const DELAY: u64 = 25;

/// When a timer that starts now ends.
fn ends(now: Instant, timer: Option<Duration>) -> Instant {
    timer.map_or(Instant::NEVER, |timer| now + timer)
}

/// The sending side.
struct Sender {
    c: Config,
    vt_s: u64,
    vt_a: u64,
    acknowledged: BTreeSet<u64>,
    /// Reported missing, to be sent again.
    again: BTreeSet<u64>,
    /// Of each SDU its end, once that was sent.
    sdus: Vec<Option<SduEnd>>,
    confirmed: BTreeSet<u64>,
    poll_waits: bool,
    vt_pdu: u32,
    /// Timer_Poll, and VT(S) when it started.
    timer_poll: Option<(Instant, u64)>,
    prohibited: Instant,
    periodic: Instant,
}

impl Sender {
    fn new(c: &Config) -> Self {
        Self {
            vt_s: 0,
            vt_a: 0,
            acknowledged: BTreeSet::new(),
            again: BTreeSet::new(),
            sdus: Vec::new(),
            confirmed: BTreeSet::new(),
            poll_waits: false,
            vt_pdu: 0,
            timer_poll: None,
            prohibited: Instant::ZERO,
            periodic: ends(Instant::ZERO, c.timer_poll_periodic),
            c: c.clone(),
        }
    }

    fn vt_ms(&self) -> u64 {
        self.vt_a + u64::from(self.c.configured_tx_window_size)
    }

    fn is_empty(&self) -> bool {
        self.sdus.iter().all(Option::is_some)
    }

    fn is_unacknowledged(&self) -> bool {
        (self.vt_a..self.vt_s).any(|sn| !self.acknowledged.contains(&sn))
    }

    fn handle_sdu(&mut self, now: Instant) {
        self.handle_timers(now);
        self.sdus.push(None);
    }

    /// §9.5 a, c.
    fn handle_timers(&mut self, now: Instant) {
        if self.timer_poll.is_some_and(|(end, _)| end <= now) {
            self.timer_poll = None;
            self.poll_waits = true;
        }
        while self.periodic <= now {
            self.periodic = ends(self.periodic, self.c.timer_poll_periodic);
            self.poll_waits |= self.is_unacknowledged() || !self.is_empty();
        }
    }

    /// Whether a PDU polls that goes now, perhaps as the `last` of a buffer (§9.7.1).
    fn polls(&mut self, now: Instant, sn: u64, last: bool) -> bool {
        let is_new = sn == self.vt_s;
        let mut wanted = std::mem::take(&mut self.poll_waits) || last;
        self.vt_pdu += 1;
        if self.c.poll_pdu == Some(self.vt_pdu) {
            (wanted, self.vt_pdu) = (true, 0);
        }
        // Poll_Window: J = (VT(S) + 1 - VT(A)) / VT(WS), VT(S) before the PDU is submitted.
        let (in_use, window) = (self.vt_s + 1 - self.vt_a, u64::from(self.c.configured_tx_window_size));
        wanted |= self.c.poll_window.is_some_and(|percent| in_use * 100 >= u64::from(percent) * window);
        if !wanted || self.prohibited > now {
            self.poll_waits = wanted;
            return false;
        }
        self.prohibited = self.c.timer_poll_prohibit.map_or(Instant::ZERO, |prohibit| now + prohibit);
        let x = self.vt_s + u64::from(is_new);
        self.timer_poll = self.c.timer_poll.map(|timer| (now + timer, x));
        true
    }

    /// The PDUs of a TTI with their P bits; `new` of them are new, and mark these ends (§11.3.2).
    fn send(&mut self, now: Instant, room: u64, new: u64, marked: &[SduEnd]) -> Vec<(u64, bool)> {
        self.handle_timers(now);
        let mut sent = Vec::new();
        while (sent.len() as u64) < room
            && let Some(sn) = self.again.first().copied().filter(|sn| *sn < self.vt_ms())
        {
            self.again.pop_first();
            let last = self.c.last_retransmission_poll
                && self.again.first().is_none_or(|next| *next >= self.vt_ms());
            sent.push((sn, self.polls(now, sn, last)));
        }
        // As many as can be.
        let first = self.vt_s;
        assert!(sent.len() as u64 + new <= room && first + new <= self.vt_ms());
        for end in marked.iter().filter(|end| end.sn >= first) {
            self.sdus[end.sdu as usize] = Some(*end);
        }
        assert!(self.is_empty() || sent.len() as u64 + new == room || first + new == self.vt_ms());
        for sn in first..first + new {
            let last = sn + 1 == first + new && (self.is_empty() || sn + 1 == self.vt_ms());
            sent.push((sn, self.polls(now, sn, last && self.c.last_pdu_poll)));
            self.vt_s += 1;
        }
        let is_due = self.poll_waits && self.prohibited <= now;
        if sent.is_empty() && room > 0 && is_due && self.is_unacknowledged() {
            let sn = self.vt_s - 1;
            sent.push((sn, self.polls(now, sn, false)));
        }
        sent
    }

    /// §9.2.2.11.2, §11.5.3; what is confirmed now.
    fn handle_status(&mut self, now: Instant, status: &Status) -> BTreeSet<u64> {
        self.handle_timers(Instant::from_nanos(now.as_nanos() - 1));
        let lsn = status.lsn.unwrap();
        let missing: BTreeSet<u64> = sns(status).collect();
        for sn in (self.vt_a..lsn).filter(|sn| !missing.contains(sn)) {
            self.acknowledged.insert(sn);
            self.again.remove(&sn);
        }
        self.again.extend(&missing);
        while self.acknowledged.contains(&self.vt_a) && missing.first().is_none_or(|first| *first > self.vt_a)
        {
            self.vt_a += 1;
        }
        if self.timer_poll.is_some_and(|(_, x)| self.vt_a >= x || missing.contains(&(x - 1))) {
            self.timer_poll = None;
        }
        self.poll_waits &= self.is_unacknowledged();
        let is_whole = |end: &SduEnd| (end.first..=end.sn).all(|sn| self.acknowledged.contains(&sn));
        let whole = self.sdus.iter().flatten().filter(|end| is_whole(end)).map(|end| end.sdu);
        let new: BTreeSet<u64> = whole.filter(|sdu| !self.confirmed.contains(sdu)).collect();
        self.confirmed.extend(&new);
        new
    }
}

/// The receiving side.
struct Receiver {
    c: Config,
    received: BTreeSet<u64>,
    vr_r: u64,
    vr_h: u64,
    /// Ends in PDUs that were received.
    ends: BTreeMap<u64, SduEnd>,
    up: BTreeSet<u64>,
    report_due: bool,
    prohibited: Instant,
    periodic: Instant,
}

impl Receiver {
    fn new(c: &Config) -> Self {
        Self {
            received: BTreeSet::new(),
            vr_r: 0,
            vr_h: 0,
            ends: BTreeMap::new(),
            up: BTreeSet::new(),
            report_due: false,
            prohibited: Instant::ZERO,
            periodic: ends(Instant::ZERO, c.timer_status_periodic),
            c: c.clone(),
        }
    }

    /// §11.3.3, §11.5.2.2; what is handed up, the order told apart.
    fn receive(&mut self, tti: &Tti) -> BTreeSet<u64> {
        for (sn, poll) in pdus(tti) {
            self.report_due |= poll;
            if !(self.vr_r..self.vr_r + u64::from(self.c.configured_rx_window_size)).contains(&sn) {
                continue;
            }
            self.report_due |= self.c.missing_pdu_indicator && sn > self.vr_h;
            self.received.insert(sn);
            self.ends.extend(tti.data.ends.iter().filter(|end| end.sn == sn).map(|end| (end.sdu, *end)));
            self.vr_h = self.vr_h.max(sn + 1);
            while self.received.contains(&self.vr_r) {
                self.vr_r += 1;
            }
        }
        let new: BTreeSet<u64> =
            self.ends.values().filter(|end| self.is_to_go_up(end)).map(|end| end.sdu).collect();
        self.up.extend(&new);
        new
    }

    fn is_to_go_up(&self, end: &SduEnd) -> bool {
        let is_in_order = end.sn < self.vr_r;
        // What is before its first octet says that it is the first: an end in the same PDU, or the PDU before.
        let before = end.sdu.checked_sub(1).and_then(|before| self.ends.get(&before));
        let from = end.first - u64::from(end.first > 0 && before.is_none_or(|before| before.sn != end.first));
        let is_whole = (from..=end.sn).all(|sn| self.received.contains(&sn));
        let is_ready = is_in_order || self.c.delivery == Delivery::OutOfSequence && is_whole;
        is_ready && !self.up.contains(&end.sdu)
    }

    /// Whether a report goes in a TTI with room for it.
    fn reports(&mut self, now: Instant, has_room: bool) -> bool {
        while self.periodic <= now {
            self.periodic = ends(self.periodic, self.c.timer_status_periodic);
            self.report_due = true;
        }
        if !self.report_due || !has_room || self.prohibited > now {
            return false;
        }
        self.report_due = false;
        self.prohibited = self.c.timer_status_prohibit.map_or(self.prohibited, |timer| now + timer);
        true
    }

    /// What reports tell (§9.2.2.11.2): all that is missing, or, as far as there is no room, the first of it. None
    /// acknowledges what is missing.
    fn check(&self, told: &[&Status], room: u64) {
        let missing: Vec<u64> = (self.vr_r..self.vr_h).filter(|sn| !self.received.contains(sn)).collect();
        let named: Vec<u64> = told.iter().flat_map(|status| sns(status)).collect();
        assert_eq!(named, missing[..named.len()]);
        assert!(named.len() == missing.len() || told.len() as u64 == room);
        for (at, status) in told.iter().enumerate() {
            let lsn = status.lsn.unwrap();
            let here: BTreeSet<u64> = sns(status).collect();
            assert!(lsn <= self.vr_h && missing.iter().all(|sn| *sn >= lsn || here.contains(sn)));
            assert!(at > 0 || lsn >= self.vr_r && (here.len() < missing.len() || lsn == self.vr_h));
        }
    }
}

fn sns(status: &Status) -> impl Iterator<Item = u64> {
    status.missing.as_slice().iter().flat_map(|range| range.first..range.end)
}

fn pdus(tti: &Tti) -> Vec<(u64, bool)> {
    tti.data.runs.iter().flat_map(|run| (run.sns.first..run.sns.end).map(|sn| (sn, run.poll))).collect()
}

/// Both ends, the network's first, with what is on the way from each.
struct Pair {
    ends: [Entity; 2],
    plain: [(Sender, Receiver); 2],
    air: [VecDeque<(u64, Tti)>; 2],
}

impl Pair {
    fn new(down: &Config, up: &Config) -> Self {
        down.check().unwrap();
        up.check().unwrap();
        Self {
            ends: [Entity::at_network(down, up), Entity::at_network(up, down)],
            plain: [(Sender::new(down), Receiver::new(up)), (Sender::new(up), Receiver::new(down))],
            air: Default::default(),
        }
    }

    fn handle_sdu(&mut self, end: usize, at: u64, octets: u32) {
        self.ends[end].handle_sdu(ms(at), octets);
        self.plain[end].0.handle_sdu(ms(at));
    }

    fn tti(&mut self, end: usize, now: u64, room: u64, lose: impl FnMut() -> bool) {
        let (mut tti, mut report) = (Tti::default(), Report::default());
        self.ends[end].build_tti(ms(now), room, &mut tti, &mut report);
        let (sender, receiver) = &mut self.plain[end];
        let told: Vec<&Status> = tti.control.iter().map(status_of).collect();
        assert_eq!(!told.is_empty(), receiver.reports(ms(now), room > 0), "a report at {now}");
        if !told.is_empty() {
            receiver.check(&told, room);
        }
        let sent = pdus(&tti);
        let new = sent.iter().filter(|(sn, _)| *sn >= sender.vt_s).count() as u64;
        assert_eq!(sender.send(ms(now), room - told.len() as u64, new, &tti.data.ends), sent, "at {now}");
        self.check(end);
        tti.lose(lose);
        if !tti.is_empty() {
            self.air[end].push_back((now + DELAY, tti));
        }
    }

    fn arrive(&mut self, until: u64) {
        while let Some(from) = [0, 1]
            .into_iter()
            .filter(|end| self.air[*end].front().is_some_and(|(at, _)| *at <= until))
            .min_by_key(|end| self.air[*end].front().map(|(at, _)| *at))
        {
            let (at, tti) = self.air[from].pop_front().unwrap();
            let end = 1 - from;
            let mut report = Report::default();
            self.ends[end].handle_tti(ms(at), &tti, &mut report);
            let (sender, receiver) = &mut self.plain[end];
            let statuses = tti.control.iter().map(status_of);
            let confirmed = statuses.flat_map(|status| sender.handle_status(ms(at), status)).collect();
            assert_eq!(
                report.confirmed.iter().copied().collect::<BTreeSet<_>>(),
                confirmed,
                "confirmed at {at}"
            );
            let up = receiver.receive(&tti);
            assert_eq!(report.up.iter().copied().collect::<BTreeSet<_>>(), up, "up at {at}");
            assert!(report.up.is_sorted() && report.lost.is_empty() && report.discarded.is_empty());
            self.check(end);
        }
    }

    fn check(&self, end: usize) {
        let ((sender, receiver), entity) = (&self.plain[end], &self.ends[end]);
        let theirs = (entity.sender().vt_s(), entity.sender().vt_a(), entity.sender().vt_ms());
        assert_eq!((sender.vt_s, sender.vt_a, sender.vt_ms()), theirs);
        assert_eq!((receiver.vr_r, receiver.vr_h), (entity.receiver().vr_r(), entity.receiver().vr_h()));
        assert_eq!(entity.counts().erroneous_status_pdus, 0);
    }

    fn is_done(&self) -> bool {
        [0, 1].into_iter().all(|end| {
            let (sent, up) = (&self.plain[end].0, &self.plain[1 - end].1.up);
            sent.confirmed.len() == sent.sdus.len() && up.len() == sent.sdus.len()
        })
    }
}

fn status_of(control: &Control) -> &Status {
    let Control::Status(status) = control else { panic!("{control:?}") };
    status
}

fn config() -> impl Strategy<Value = Config> {
    let timer = |from: u64, to: u64| prop::option::of((from..to).prop_map(Duration::from_millis));
    let polls = (timer(20, 200), timer(60, 300), timer(10, 100), prop::option::of(1_u32..9));
    let more = (prop::option::of(1_u32..=100), any::<bool>(), any::<bool>());
    let reports = (timer(10, 100), timer(50, 300), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (
        prop::sample::select(vec![10_u64, 16, 42, 126, 127]),
        prop::sample::select(vec![1_u32, 2, 5, 64, 2048]),
    );
    (polls, more, reports, sizes).prop_map(|(polls, more, reports, sizes)| {
        let (timer_poll, timer_poll_periodic, timer_poll_prohibit, poll_pdu) = polls;
        let (poll_window, last_pdu_poll, last_retransmission_poll) = more;
        let (timer_status_prohibit, timer_status_periodic, missing_pdu_indicator, in_sequence, special_he) =
            reports;
        // Something must ask for what a lost poll would have.
        let timer_poll_periodic = timer_poll_periodic.or(Some(Duration::from_millis(90)));
        let delivery = if in_sequence { Delivery::InSequence } else { Delivery::OutOfSequence };
        Config {
            pdu: Bytes::from_bytes(sizes.0),
            configured_tx_window_size: sizes.1,
            configured_rx_window_size: 2048,
            timer_poll,
            timer_poll_periodic,
            timer_poll_prohibit,
            poll_pdu,
            poll_window,
            last_pdu_poll,
            last_retransmission_poll,
            timer_status_prohibit,
            timer_status_periodic,
            missing_pdu_indicator,
            delivery,
            special_he,
            ..Config::default()
        }
    })
}

proptest! {
    #[test]
    fn both_do_the_same(
        downlink in config(),
        uplink in config(),
        mut sdus in prop::collection::vec((0_u64..600, any::<bool>(), 1_u32..800), 1..40),
        fates in prop::collection::vec((0_u8..5, any::<u64>()), 1..200),
        room in prop::sample::select(vec![1_u64, 2, 5, 12]),
    ) {
        let mut pair = Pair::new(&downlink, &uplink);
        sdus.sort_unstable();
        sdus.reverse();
        for n in 0..20_000_u64 {
            let now = n * 10;
            while let Some((at, end, octets)) = sdus.pop_if(|(at, ..)| *at <= now) {
                pair.arrive(at);
                pair.handle_sdu(end.into(), at, octets);
            }
            pair.arrive(now);
            for end in [1, 0] {
                // Two TTIs of a line: all is lost, some PDUs are, or nothing is.
                let (kind, mask) = fates.get(n as usize * 2 + end).copied().unwrap_or((4, 0));
                let mut pdu = 0;
                pair.tti(end, now, room, || {
                    pdu += 1;
                    kind == 0 || kind < 3 && mask >> (pdu % 64) & 1 == 1
                });
            }
            if sdus.is_empty() && pair.is_done() {
                break;
            }
        }
        prop_assert!(sdus.is_empty() && pair.is_done());
    }
}

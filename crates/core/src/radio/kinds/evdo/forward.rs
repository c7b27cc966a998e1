//! The forward link: a scheduler selects the one user that is served at a time.
//!
//! Only slots with queued data are processed, and their events are scheduling decisions and ends of packets.
//! While one user is served, the requests of others do not matter, so the end of its packet can be computed
//! in advance.

use super::slots::{first_from, start_of};
use super::user::User;
use super::{Choose, DownlinkConfig};
use crate::element::Cx;
use crate::packet::Packet;
use crate::scheduler::Scheduler;

/// The timer of the forward link.
pub(super) const TIMER: u32 = 0;

/// Slots over which the scheduler averages: \[chan2002\] 6.4.
const WINDOW: u32 = 1000;

/// Number of slots computed in advance for a packet, before the next such step: a channel may have no rate
/// for a long time.
const AHEAD: u64 = 256;

/// The forward link of a cell.
pub(super) struct Forward {
    pub users: Vec<User>,
    scheduler: Box<dyn Scheduler>,
    choose: Choose,
    share_slots: bool,
    state: State,
    /// The first slot that is not assigned: it starts when the timer expires.
    slot: u64,
    /// Rate of each user in that slot, bit/s; reused.
    rates: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No data is queued.
    Idle,
    /// A user is to be chosen.
    Free,
    /// This user has the air until `slot`, and keeps it if its packet is not sent by then and users are chosen
    /// for a packet.
    Sending(usize),
}

impl Forward {
    pub fn new(config: &DownlinkConfig, users: Vec<User>) -> Self {
        Self {
            scheduler: config.scheduler.build(users.len(), WINDOW),
            choose: config.choose,
            share_slots: config.share_slots,
            state: State::Idle,
            slot: 0,
            rates: vec![0.0; users.len()],
            users,
        }
    }

    /// A packet for a user arrives from the network.
    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, user: usize, packet: Box<Packet>) {
        if self.users[user].handle_sdu(cx, packet) && self.state == State::Idle {
            self.wake(cx);
        }
    }

    /// Starts with the next slot. The slots that passed served no user.
    fn wake(&mut self, cx: &mut Cx<'_>) {
        let slot = first_from(cx.now).max(self.slot);
        self.scheduler.handle_slots(slot - self.slot, &[]);
        self.slot = slot;
        self.state = State::Free;
        cx.arm(TIMER, start_of(slot));
    }

    /// Processes the start of the slot `self.slot`.
    pub fn handle_slot(&mut self, cx: &mut Cx<'_>) {
        let mut keeps = None;
        if let State::Sending(user) = self.state {
            let mine = &mut self.users[user];
            mine.finish(cx, self.slot);
            keeps = (self.choose == Choose::Packet && mine.is_in_service()).then_some(user);
        }
        let Some(next) = keeps.or_else(|| self.next_user()) else { return self.pass(cx) };
        match self.choose {
            Choose::Packet => self.send_packet(cx, next),
            Choose::Slot => self.send_physical_packet(cx, next),
        }
        self.state = State::Sending(next);
        cx.arm(TIMER, start_of(self.slot));
    }

    /// No user can be served: a slot later perhaps, or with the next packet.
    fn pass(&mut self, cx: &mut Cx<'_>) {
        if !self.users.iter().any(User::waits) {
            self.state = State::Idle;
            return;
        }
        self.scheduler.handle_slots(1, &[]);
        self.slot += 1;
        self.state = State::Free;
        cx.arm(TIMER, start_of(self.slot));
    }

    fn next_user(&mut self) -> Option<usize> {
        for (user, rate) in self.users.iter_mut().zip(&mut self.rates) {
            let request = if user.waits() { user.terminal.request(self.slot) } else { None };
            *rate = request.map_or(0.0, |packet| f64::from(packet.rate_bps));
        }
        self.scheduler.choose(&self.rates)
    }

    /// Serves one user until its packet is sent. Each physical-layer packet has the rate that the user
    /// requests at its start; slots without a request stay empty.
    fn send_packet(&mut self, cx: &mut Cx<'_>, number: usize) {
        let user = &mut self.users[number];
        let Some(mut left) = user.start_next(cx) else { return };
        let horizon = self.slot + AHEAD;
        while left > 0 && self.slot < horizon {
            let request = user.terminal.request(self.slot);
            let (slots, room) = request.map_or((1, 0), |packet| (packet.slots, user.transmit(packet)));
            let served = request.map(|packet| (number, f64::from(packet.rate_bps)));
            self.scheduler.handle_slots(slots, served.as_slice());
            left = left.saturating_sub(room);
            self.slot += slots;
        }
        user.leave(left);
    }

    /// Serves the user for one physical-layer packet.
    fn send_physical_packet(&mut self, cx: &mut Cx<'_>, number: usize) {
        let user = &mut self.users[number];
        let Some(packet) = user.terminal.request(self.slot) else { return };
        let mut room = user.transmit(packet);
        while let Some(left) = user.start_next(cx) {
            user.leave(left.saturating_sub(room));
            room = room.saturating_sub(left);
            if room == 0 || !self.share_slots {
                break;
            }
        }
        self.scheduler.handle_slots(packet.slots, &[(number, f64::from(packet.rate_bps))]);
        self.slot += packet.slots;
    }
}

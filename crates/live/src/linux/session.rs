//! A live run: drives the path, sends its records, and ends with the results.

use super::init::{Init, Order, Report};
use super::message::{self, ChangeRequest, Configuration, Request, Side, kind};
use super::namespaces::{End, Link, device_name, server, ue};
use super::netfilter::Hooks;
use super::pace::Pace;
use super::results::{self, Progress};
use super::sampler::Sampler;
use super::steering::Steering;
use super::tuns::{Clock, Tuns};
use super::writer::{FLUSH, Outbox, Record};
use super::{kernel, ours, sys};
use crate::driver::Driver;
use crate::endpoint::Endpoint;
use crate::port::Port;
use airpath_core::element::Capture;
use airpath_core::flows::{Flows, MOST_FLOWS};
use airpath_core::host::Host;
use airpath_core::packet::Dir;
use airpath_core::path::Path;
use airpath_core::rng;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{ChangeReport, RESULTS_FORMAT};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Kind, Outcomes, ProbeMask};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::Signal;
use nix::sys::time::{TimeSpec, TimeValLike};
use serde_json::{Value, json};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

/// Priority of the driver where SCHED_FIFO is allowed: above everything ordinary, below what keeps a
/// machine alive.
const FIFO_PRIORITY: i32 = 10;
/// Events that are handed over together.
const EVENTS_AT_ONCE: usize = 1024;
/// Latest start of the program, if no report arrives that the user has seen that the link is up.
const START_PATIENCE: Duration = Duration::from_secs(1);
/// Longest time that airpath's connections get to close after all programs have ended: a FIN or two may be lost.
const LONGEST_CLOSE: Duration = Duration::from_secs(10);
/// Time from a program's termination signal to SIGKILL.
const KILL_AFTER: Duration = Duration::from_secs(5);

/// Signals that a program is ended with.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

pub struct Session<'a> {
    configuration: &'a Configuration,
    init: &'a Init,
    outbox: Outbox,
    clock: Clock,
    driver: Driver,
    tuns: Tuns,
    pace: Pace,
    sampler: Sampler,
    /// Where requests may change the link.
    steering: Option<Steering>,
    counters: [kernel::Counters; 2],
    /// Kept open, so that the namespaces stay until the last figures are read.
    _namespaces: [File; 2],
    /// Position of the UE's port.
    last: usize,
    /// Numbers of the interfaces whose packets are real.
    real: Vec<u16>,
    about: About,
    /// When the program starts without being told to; `None` once it has started.
    start_by: Option<Instant>,
    exit_status: Option<i32>,
    ended_by: &'static str,
    /// When the program is terminated, and for which reason.
    ends_at: Option<(Instant, &'static str)>,
    /// When the program is killed if it has not ended by then.
    kill_at: Option<Instant>,
    next_flush: Instant,
    next_status: Instant,
    progress: Progress,
    /// Kinds of event that are wanted; others are recorded to be counted.
    wanted: ProbeMask,
    outcomes: [Outcomes; 2],
    flows_told: usize,
    left_out_told: bool,
    device_gone: bool,
    /// All programs have ended; airpath's connections may close until then.
    closes_by: Option<Instant>,
}

/// Facts about the link that are reported once.
struct About {
    scheduler: String,
    user_namespace: bool,
    notices: Vec<String>,
    /// Names of the UEs' interfaces.
    interface_names: Vec<String>,
}

impl<'a> Session<'a> {
    /// Reports that the link is up; the user's program starts when this is confirmed.
    pub fn start(
        configuration: &'a Configuration,
        scenario: &Scenario,
        real: Vec<u16>,
        (link, hooks): (Link, Option<Hooks>),
        init: &'a Init,
        notices: Vec<String>,
        outbox: Outbox,
    ) -> Self {
        let mut flows = Flows::with_room();
        let (path, last) = path(configuration, scenario, &real, &mut flows);
        let _ = prctl::set_timerslack(1);
        let scheduler = match sys::set_fifo(FIFO_PRIORITY) {
            Ok(()) => format!("SCHED_FIFO {FIFO_PRIORITY}"),
            Err(_) => "SCHED_OTHER".to_owned(),
        };
        let [
            End { namespace: server_namespace, devices: mut server_devices, kernel: server_kernel },
            End { namespace: ue_namespace, devices: ue_devices, kernel: ue_kernel },
        ] = link.ends;
        let clock = Clock::start();
        let samples_wanted = configuration.probes.iter().any(|probe| probe == Kind::TcpState.name());
        let sampler = Sampler::start(
            [server_kernel.sockets, ue_kernel.sockets],
            clock,
            std::time::Duration::from_secs_f64(configuration.tcp_info_interval_s.clamp(0.001, 60.0)),
            samples_wanted.then(|| outbox.clone()),
            configuration.endpoint.is_some(),
        );
        let is_ours = |dir| configuration.endpoint.is_some_and(|endpoint| endpoint.end.sends(dir));
        let tuns = match hooks {
            Some(hooks) => Tuns::hooked(clock, hooks, real[0]),
            None => Tuns::new(clock, server_devices.remove(0), ue_devices, real[0], Dir::BOTH.map(is_ours)),
        };
        let interface_names = scenario.interface_names();
        let about = About { scheduler, user_namespace: link.user_namespace, notices, interface_names };
        outbox.put(Record::Status(json!({
            "state": "up",
            "server_addr": server(0).0.to_string(),
            "ue_addr": ue(0).0.to_string(),
            "interfaces": interfaces(&about.interface_names, &real),
            "command_at": match configuration.endpoint.map(|endpoint| endpoint.end) {
                Some(Side::Ue) => "server",
                Some(Side::Server | Side::Both) | None => "ue",
            },
            "scheduler": about.scheduler,
            "user_namespace": about.user_namespace,
            "notices": about.notices,
        })));
        let steering = scenario.may_change().then(|| Steering::start(scenario, &real).ok()).flatten();
        let mut driver = Driver::new(path);
        driver.flows = flows;
        Self {
            configuration,
            init,
            outbox,
            clock,
            driver,
            tuns,
            pace: Pace::new(),
            sampler,
            steering,
            counters: [server_kernel.counters, ue_kernel.counters],
            _namespaces: [server_namespace, ue_namespace],
            last,
            real,
            about,
            start_by: Some(Instant::ZERO + START_PATIENCE),
            exit_status: None,
            ended_by: "command",
            ends_at: ends_at(configuration, scenario),
            kill_at: None,
            next_flush: Instant::ZERO + FLUSH,
            next_status: Instant::ZERO,
            progress: Progress::default(),
            wanted: wanted(configuration),
            outcomes: Default::default(),
            flows_told: 0,
            left_out_told: false,
            device_gone: false,
            closes_by: None,
        }
    }

    /// Until all programs have ended or the reader has gone.
    pub fn run(mut self, requests: BorrowedFd<'_>) -> io::Result<Value> {
        let mut stream = UnixStream::from(requests.try_clone_to_owned()?);
        loop {
            let due = self.driver.turn(&mut self.tuns);
            let now = self.clock.now();
            self.tuns.flush(now);
            self.flush(now, false);
            self.change(now);
            // What has not been started cannot be ended.
            if self.start_by.is_none()
                && let Some((_, why)) = self.ends_at.take_if(|(at, _)| *at <= now)
                && self.exit_status.is_none()
            {
                self.ended_by = why;
                self.tell_to_end(Signal::SIGTERM as i32, now);
            }
            if self.start_by.is_some_and(|at| at <= now) {
                self.start_command();
            }
            if self.kill_at.is_some_and(|at| at <= now) {
                self.kill_at = None;
                self.init.order(Order::Signal(Signal::SIGKILL as i32));
            }
            let first = self.start_by.or(self.ends_at.map(|(at, _)| at));
            let change = self.steering.as_ref().and_then(Steering::deadline);
            let next = [due, first, change, self.kill_at, self.closes_by, Some(self.next_flush)];
            let next = next.into_iter().flatten().min();
            let [has_request, has_report] = self.wait(next.unwrap_or(self.next_flush), requests)?;
            if has_report {
                match self.init.wait() {
                    Some(report) => self.handle(report),
                    None if self.is_quiet() => break,
                    None => self.closes_by = Some(self.clock.now() + LONGEST_CLOSE),
                }
            }
            if self.closes_by.is_some_and(|at| at <= self.clock.now() || self.is_quiet()) {
                break;
            }
            if self.tuns.is_gone() {
                self.notice("a device of the link was removed: nothing passes any more".to_owned());
                self.device_gone = true;
                break;
            }
            if has_request {
                match message::read(&mut stream) {
                    Ok(Some((kind::REQUEST, text))) => self.obey(&text),
                    // The reader has gone; an error (ECONNRESET) if something was left unread.
                    _ => break,
                }
            }
        }
        let now = self.clock.now();
        self.driver.path.handle_timeout(now);
        if self.exit_status.is_none() {
            if !self.device_gone {
                self.notice("everything in the link was killed from outside".to_owned());
            }
            (self.exit_status, self.ended_by) = (Some(128 + Signal::SIGKILL as i32), "signal");
        }
        self.flush(now, true);
        Ok(self.results(now))
    }

    /// Sleeps until something arrives, but not beyond `until`. Returns whether there is a request and
    /// whether there is a report.
    fn wait(&mut self, until: Instant, requests: BorrowedFd<'_>) -> io::Result<[bool; 2]> {
        let now = self.clock.now();
        self.pace.woke(now);
        let earliest = self.pace.earliest();
        if earliest > now {
            let _ = ppoll(&mut [], Some(TimeSpec::nanoseconds(earliest.since(now).as_nanos() as i64)), None);
        }
        let early = self.pace.early();
        let left = until.since(self.clock.now());
        if left > Duration::ZERO && left <= early {
            while self.clock.now() < until {
                std::hint::spin_loop();
            }
            self.pace.watched(left);
            self.tuns.set_readable(std::iter::empty());
            return Ok([false; 2]);
        }
        let left = Duration::from_nanos(left.as_nanos().saturating_sub(early.as_nanos()));
        // Who has gone has nothing to say; another stands in, whose readiness is known.
        let init = if self.closes_by.is_some() { requests } else { self.init.fd() };
        // Where nothing can be changed, requests stand in as well.
        let bell = self.steering.as_ref().map_or(requests, Steering::fd);
        let fds = [requests, init, bell].into_iter().chain(self.tuns.read());
        let mut fds: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match ppoll(&mut fds, Some(TimeSpec::nanoseconds(left.as_nanos() as i64)), None) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<_> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        self.tuns.set_readable(ready[3..].iter().copied());
        Ok([ready[0], ready[1] && self.closes_by.is_none()])
    }

    /// Whether airpath's endpoints have no open connection.
    fn is_quiet(&self) -> bool {
        ours::endpoints(&self.driver.path, self.last).all(Endpoint::is_idle)
    }

    /// The translator in front of the server loses its state at once.
    fn rebind(&mut self, ChangeRequest { id, rebind, .. }: ChangeRequest) {
        let at_s = self.clock.now().as_secs_f64();
        let what = rebind.and_then(|what| self.tuns.rebind(what));
        let status = match what {
            Some(what) => {
                self.driver.path.note_change(what);
                json!({ "state": "changed", "id": id, "at_s": at_s, "what": what, "elements": 1, "values": {} })
            }
            None => json!({ "state": "changed", "id": id, "at_s": at_s, "key": "rebind",
                            "error": "the link is attached, and its addresses are not its own",
                            "hint": "start the programs behind a link of their own" }),
        };
        self.tell(status);
    }

    /// Applies changes that are ready: each after all that is due by now.
    fn change(&mut self, now: Instant) {
        let Some(steering) = &mut self.steering else { return };
        if !steering.is_ready(now) {
            return;
        }
        let path = &mut self.driver.path;
        // The turn before may have had to end early: its expired timers run in the next turn.
        if path.poll_timeout().is_some_and(|due| due <= now) {
            return;
        }
        path.handle_timeout(now);
        // Nothing was due, so nothing has left the path.
        for status in steering.apply(path, now) {
            self.outbox.put(Record::Status(status));
        }
    }

    fn start_command(&mut self) {
        if self.start_by.take().is_some() {
            self.init.order(Order::StartCommand);
        }
    }

    fn handle(&mut self, report: Report) {
        match report {
            Report::Ended(status) => {
                self.exit_status = Some(status);
                self.kill_at = None;
                self.tell(json!({ "state": "ended", "exit_status": status }));
            }
            Report::Stopped => self.tell(json!({ "state": "stopped" })),
            Report::ServerEnded(status) if status != 0 && self.exit_status.is_none() => {
                self.notice(format!("the server's command ended with status {status}"));
            }
            Report::Refused(what) => self.notice(what),
            Report::ServerEnded(_) | Report::Ready(_) => {}
        }
    }

    fn obey(&mut self, text: &[u8]) {
        match serde_json::from_slice(text) {
            Ok(Request::Signal(number)) => {
                let now = self.clock.now();
                self.start_command();
                // Others, such as SIGCONT and SIGUSR1, end nothing, and what has ended is not ended again.
                if self.exit_status.is_none() && ENDING.iter().any(|signal| *signal as i32 == number) {
                    self.ended_by = "signal";
                }
                if [Signal::SIGTERM as i32, Signal::SIGHUP as i32].contains(&number) {
                    self.tell_to_end(number, now);
                } else {
                    self.init.order(Order::Signal(number));
                }
            }
            Ok(Request::Start(_)) => self.start_command(),
            Ok(Request::Continue(_)) => self.init.order(Order::Continue),
            Ok(Request::Change(request)) => match &self.steering {
                Some(_) if request.rebind.is_some() => self.rebind(request),
                Some(steering) if self.configuration.control => steering.ask(request),
                _ => self.notice("the link was not started to be changed".to_owned()),
            },
            Err(error) => self.notice(format!("a request that cannot be read: {error}")),
        }
    }

    /// The user's program is to end; if it does not, it is killed later.
    fn tell_to_end(&mut self, signal: i32, now: Instant) {
        self.init.order(Order::Signal(signal));
        self.kill_at.get_or_insert(now + KILL_AFTER);
    }

    fn tell(&self, status: Value) {
        self.outbox.put(Record::Status(status));
    }

    fn notice(&mut self, text: String) {
        self.tell(json!({ "state": "notice", "text": text }));
        self.about.notices.push(text);
    }

    /// Hands over what was recorded, and a status if it is time for one.
    /// Hands events and captured packets to the writer, so many at a time that no packet has to wait for it.
    fn hand_over(&mut self, now: Instant) {
        let mut events = self.driver.path.take_trace();
        for (_, event) in &events {
            Outcomes::count(&mut self.outcomes, event, &self.real);
        }
        events.retain(|(_, event)| self.wanted.has(event.kind()));
        self.outbox.put(Record::Trace(now, events));
        let capture = self.driver.path.take_capture();
        if !capture.is_empty() {
            self.outbox.put(Record::Capture(capture));
        }
    }

    fn flush(&mut self, now: Instant, is_last: bool) {
        let is_due = now >= self.next_flush || is_last;
        if is_due || self.driver.path.recorded() >= EVENTS_AT_ONCE {
            self.hand_over(now);
        }
        if !is_due {
            return;
        }
        self.next_flush = now + FLUSH;
        let keys = self.driver.flows.keys();
        for (number, key) in (0..).zip(keys).skip(self.flows_told) {
            if key.is_tcp() {
                self.sampler.add(self.driver.flows.interface(number), number, *key);
            }
        }
        let (told, most) = (self.flows_told, usize::from(MOST_FLOWS));
        self.flows_told = keys.len();
        if told < most && self.flows_told == most {
            self.notice(format!(
                "{most} flows are told apart: what comes beyond is carried, but not measured"
            ));
        }
        if self.driver.left_out > 0 && !self.left_out_told {
            self.left_out_told = true;
            let text = "a buffer without limit is full: packets are left out, and the run is not valid";
            self.notice(text.to_owned());
        }
        if now >= self.next_status || is_last {
            let interval =
                Duration::from_nanos((self.configuration.status_interval_s.max(0.01) * 1e9) as u64);
            self.next_status = now + interval;
            let status = self.status(now);
            self.tell(status);
        }
    }

    fn ports(&self) -> Option<[&Port; 2]> {
        Some([ours::port(&self.driver.path, 0)?, ours::port(&self.driver.path, self.last)?])
    }

    fn status(&mut self, now: Instant) -> Value {
        let reports = self.driver.path.reports();
        // Boxes may count by UE too.
        let is_cell =
            |report: &&Value| report["element"].as_str().is_some_and(|name| name.starts_with("radio."));
        let cells: Vec<_> = reports.iter().filter(is_cell).collect();
        let of_real =
            |cell: &&Value| self.real.iter().map(|ue| cell["ues"][usize::from(*ue)].clone()).collect();
        let bearers: Vec<Value> = cells.iter().flat_map(|cell| -> Vec<Value> { of_real(cell) }).collect();
        let path = &mut self.driver.path;
        let buffers = Dir::BOTH.map(|dir| {
            let held = self.real.iter().map(|ue| path.radio(*ue, dir));
            held.fold((0, 0), |(sdus, bytes), view| (sdus + view.sdus, bytes + view.bytes))
        });
        let Some([server, ue]) = self.ports() else { return Value::Null };
        let out = [ue.received.bytes, server.received.bytes];
        let seconds = now.since(self.progress.at).as_secs_f64();
        let direction = |dir: Dir| {
            let count = |name: &str| -> u64 {
                bearers.iter().map(|bearer| bearer[dir.name()][name].as_u64().unwrap_or(0)).sum()
            };
            let bytes = out[dir.index()] - self.progress.bytes[dir.index()];
            json!({
                "rate_bps": if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 },
                "queued_sdus": buffers[dir.index()].0,
                "queued_bytes": buffers[dir.index()].1,
                "dropped": count("sdus_dropped") + count("sdus_discarded"),
            })
        };
        let recently = Instant::from_nanos(now.as_nanos().saturating_sub(1_000_000_000));
        let rtts = [server.last_rtt(), ue.last_rtt()];
        let rtt = rtts.into_iter().flatten().max_by_key(|(at, _)| *at);
        let status = json!({
            "state": "running",
            "now_s": now.as_secs_f64(),
            "flows": server.active_flows(recently).max(ue.active_flows(recently)),
            "rtt_ms": rtt.map(|(_, rtt)| rtt.as_secs_f64() * 1e3),
            "lateness_p99_us": self.tuns.lateness.quantile_us(0.99),
            "downlink": direction(Dir::Downlink),
            "uplink": direction(Dir::Uplink),
            "endpoint": ours::told(&self.driver.path, self.last, Endpoint::status),
        });
        self.progress = Progress { at: now, bytes: out };
        status
    }

    fn results(mut self, now: Instant) -> Value {
        let seen = self.sampler.stop();
        let elements: Vec<_> =
            self.driver.path.reports().into_iter().filter(|report| !report.is_null()).collect();
        let changes: Vec<_> = self.driver.path.changes().iter().map(ChangeReport::of).collect();
        let flows = results::flows(&self.driver, self.last, &seen, &self.about.interface_names);
        let mut ends = json!({});
        let mut tun_dropped = 0;
        if let (Some(server), Some(ue)) =
            (ours::port(&self.driver.path, 0), ours::port(&self.driver.path, self.last))
        {
            for (name, port, dir) in [("server", server, Dir::Downlink), ("ue", ue, Dir::Uplink)] {
                // A packet that its end would not take had gone the other way.
                let refused = self.tuns.refused[dir.reverse().index()];
                let counters = &self.counters[dir.index()];
                let [into, out_of] = counters.dropped();
                // What the kernel refused, because it is no IP, it counts as dropped too: the model saw it.
                let mut dropped = out_of + into.saturating_sub(refused);
                if self.tuns.is_unread(dir) {
                    // Packets that the kernel sends at airpath's endpoint are not read.
                    dropped = 0;
                }
                tun_dropped += dropped;
                ends[name] = results::end(port, dropped, refused);
            }
        }
        tun_dropped += self.tuns.unhooked();
        let bound = self.configuration.lateness_bound_us;
        let p99 = self.tuns.lateness.quantile_us(0.99);
        let mut invalid_because = results::invalid_because(p99, bound, tun_dropped, self.driver.left_out);
        if self.device_gone {
            invalid_because.push("a device of the link was removed while it was in use".to_owned());
        }
        let cpu = getrusage(UsageWho::RUSAGE_THREAD).map_or(0.0, |usage| {
            [usage.user_time(), usage.system_time()]
                .iter()
                .map(|time| time.num_microseconds() as f64 / 1e6)
                .sum()
        });
        json!({
            "format": RESULTS_FORMAT,
            "rng": rng::VERSION,
            "seed": self.configuration.seed,
            "simulated_s": now.as_secs_f64(),
            // The end of a duration or a trace is what the user asked for.
            "complete": self.ended_by != "signal",
            "jain_index": results::jain_index(&flows),
            "flows": flows,
            "changes": changes,
            "elements": elements,
            "live": {
                "exit_status": self.exit_status,
                "ended_by": self.ended_by,
                "valid": invalid_because.is_empty(),
                "invalid_because": invalid_because,
                "scheduler": self.about.scheduler,
                "user_namespace": self.about.user_namespace,
                "notices": self.about.notices,
                "lateness_us": self.tuns.lateness.report(bound),
                "rebinding_dropped": self.tuns.rebinding.dropped,
                "cpu_s": cpu,
                "lost_records": self.outbox.lost(),
                "ends": ends,
                "outcomes": {
                    "downlink": results::outcomes(&self.outcomes[Dir::Downlink.index()]),
                    "uplink": results::outcomes(&self.outcomes[Dir::Uplink.index()]),
                },
                "endpoint": ours::told(&self.driver.path, self.last, Endpoint::summary),
                "kernel": { "server": self.counters[0].tcp(), "ue": self.counters[1].tcp() },
            },
        })
    }
}

/// When the program is terminated, if ever: after the configured duration, or at the end of the first trace that
/// does not repeat.
fn ends_at(configuration: &Configuration, scenario: &Scenario) -> Option<(Instant, &'static str)> {
    let duration = configuration.duration_s.map(|seconds| Instant::from_nanos((seconds * 1e9) as u64));
    let traces = scenario.cells().into_iter().filter_map(|(_, cell)| cell.ends()).map(|at| (at, "trace"));
    duration.map(|at| (at, "duration")).into_iter().chain(traces).min()
}

fn wanted(configuration: &Configuration) -> ProbeMask {
    let wanted = Kind::ALL.iter().filter(|kind| configuration.probes.iter().any(|name| name == kind.name()));
    wanted.fold(ProbeMask::NONE, |mask, kind| mask.with(*kind))
}

/// Name, device and addresses of each real interface, for the report that the link is up.
fn interfaces(names: &[String], real: &[u16]) -> Vec<Value> {
    let numbered = (0..).zip(real);
    let told = numbered.map(|(number, interface)| {
        json!({
            "name": names.get(usize::from(*interface)),
            "device": device_name(number),
            "server_addr": server(number).0.to_string(),
            "ue_addr": ue(number).0.to_string(),
        })
    });
    told.collect()
}

/// The path between the devices, or airpath's endpoint instead of one end's devices, combined with the simulated
/// UEs' hosts; and the index of the UEs' end.
fn path(
    configuration: &Configuration,
    scenario: &Scenario,
    real: &[u16],
    flows: &mut Flows,
) -> (Path, usize) {
    let simulated = scenario.flows_beside(real);
    let mut end = |dir| {
        let port = Port::new(dir, configuration.snaplen);
        let host = || Host::new(dir, scenario.ues(), &simulated, configuration.seed);
        let beside = (!simulated.is_empty()).then(host);
        match configuration.endpoint.filter(|endpoint| endpoint.end.sends(dir)) {
            Some(endpoint) => {
                let plan = ours::plan(endpoint, dir, configuration, scenario, real, flows);
                ours::end(Endpoint::new(port, plan), real, beside)
            }
            None => ours::end(port, real, beside),
        }
    };
    let ends = [end(Dir::Downlink), end(Dir::Uplink)];
    let plan = scenario.plan(configuration.seed, ends, Some(real));
    let mut path = Path::of(plan.graph, Outcomes::recorded_with(wanted(configuration)));
    let (pdus, iu) = (configuration.capture_rlc, configuration.capture_iu);
    path.set_capture(Capture::of(configuration.capture, pdus, iu));
    (path, plan.ues.0.into())
}

//! A driver process from start to end: it reads the configuration, makes the link, starts the
//! processes, runs the session, and sends the results.

use super::init::{Init, Order, Programs, Report, end_with_parent};
use super::message::{self, Configuration, Mode, Side, kind};
use super::namespaces::{self, End, Link, MOST_INTERFACES, Settings, server, ue};
use super::netfilter::{Gateway, Hooks};
use super::obstacle::Obstacle;
use super::session::Session;
use super::tuns::Clock;
use super::writer;
use super::{doctor, ours, sys};
use airpath_core::app::Carrier;
use airpath_core::error::ScenarioError;
use airpath_core::packet::Dir;
use airpath_core::scenario::Scenario;
use airpath_core::time::{Duration, Instant};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::time::{TimeSpec, TimeValLike};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Time that the server's program has to open a socket; then the user's program starts anyway.
const SERVER_PATIENCE: Duration = Duration::from_secs(5);

/// Serves the requests on the socket `fd`, with which this process was started, until the session is over.
///
/// # Errors
/// If the descriptor is no socket or its other end is closed.
pub fn serve(fd: RawFd) -> io::Result<()> {
    // Signals are meant for the user's program, and reach it through our parent.
    let mut signals = SigSet::all();
    signals.remove(Signal::SIGSEGV);
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&signals), None);
    end_with_parent();
    let _ = prctl::set_name(c"airpath-link");
    let mut stream = UnixStream::from(sys::inherited(fd)?);
    let Some((kind::CONFIGURATION, text)) = message::read(&mut stream)? else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no configuration"));
    };
    let result = match serde_json::from_slice::<Configuration>(&text) {
        Ok(configuration) if configuration.mode == Mode::Doctor => return doctor::examine(&mut stream),
        Ok(configuration) => run(&configuration, &stream),
        Err(error) => Err(Obstacle::new(
            "configuration",
            error,
            "parts of airpath do not fit: make build, or install it again",
        )),
    };
    let written = match result {
        Ok(results) => message::write_json(&mut stream, kind::RESULTS, &results),
        Err(obstacle) => message::write_json(&mut stream, kind::OBSTACLE, &obstacle),
    };
    match written {
        // The process that asked has gone: there is nothing to report.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// The environment of both programs.
fn environment(configuration: &Configuration, interfaces: u8) -> BTreeMap<String, String> {
    let mut environment = configuration.environment.clone();
    for number in 0..interfaces {
        // The variables of the first interface have no suffix, for programs that use only one.
        let suffix = if number == 0 { String::new() } else { format!("_{number}") };
        let (server, ue) = (server(number), ue(number));
        let own = [
            ("AIRPATH_SERVER", server.0.to_string()),
            ("AIRPATH_UE", ue.0.to_string()),
            ("AIRPATH_SERVER6", server.1.to_string()),
            ("AIRPATH_UE6", ue.1.to_string()),
        ];
        environment.extend(own.map(|(name, value)| (format!("{name}{suffix}"), value)));
    }
    // What mahimahi's shells set: scripts made for them run here.
    environment.insert("MAHIMAHI_BASE".to_owned(), server(0).0.to_string());
    environment
}

/// Refuses features that need simulated hosts, and applications that airpath's endpoint cannot carry.
fn refuse(scenario: &Scenario, real: &[u16], has_endpoint: bool) -> Result<(), Obstacle> {
    let first = ours::flow(scenario, real).filter(|_| has_endpoint);
    if let Some(flow) = first.filter(|flow| flow.app.carrier() != Carrier::Tcp) {
        let message = format!("an end of ours sends what flow 0 says, and {} is no stream", flow.app.name());
        return Err(Obstacle::new("flow[0].app", message, "write app.bulk or app.file"));
    }
    scenario.validate_session(real).map_err(wrong)
}

/// Numbers of the interfaces whose packets are real.
fn real(scenario: &Scenario, ue: Option<&str>) -> Result<Vec<u16>, Obstacle> {
    let found = scenario.interfaces_of(ue);
    let real = found.map_err(|error| Obstacle::new("--ue", error.message, &error.hint))?;
    if real.len() > MOST_INTERFACES.into() {
        let message =
            format!("a link has at most {MOST_INTERFACES} interfaces, and this UE has {}", real.len());
        return Err(Obstacle::new("--ue", message, "attach it to fewer cells and ways, or choose another"));
    }
    Ok(real)
}

/// A scenario that cannot be carried.
fn wrong(error: ScenarioError) -> Obstacle {
    Obstacle { stage: error.path, message: error.message, hint: error.hint }
}

fn run(configuration: &Configuration, stream: &UnixStream) -> Result<Value, Obstacle> {
    let mut scenario = Scenario::parse(&configuration.scenario, &[]).map_err(wrong)?;
    if configuration.control && !scenario.change.is_empty() {
        let what =
            "the scenario has [[change]], whose values are not those of a link that is changed by hand";
        return Err(Obstacle::new("--control", what, "leave --control out, or remove [[change]]"));
    }
    scenario.is_steered = configuration.control;
    let real = real(&scenario, configuration.ue.as_deref())?;
    refuse(&scenario, &real, configuration.endpoint.is_some())?;
    let io_failed = |error| Obstacle::refused("driver", "stopped", error, "see 'airpath doctor'");
    let interfaces = real.len() as u8;
    let settings = Settings {
        interfaces,
        sysctls: &configuration.sysctl,
        congestion_control: configuration.congestion_control.as_deref(),
        group: configuration.user.as_ref().map(|user| user.gid),
    };
    let mut link = match attachment(configuration) {
        None => namespaces::create(settings, &mut Vec::new())?,
        Some((option, target)) => attach(option, target, configuration, interfaces)?,
    };
    if link.user_namespace && configuration.user.is_some() {
        let what = "the link needs a user namespace here, in which nobody can become somebody else";
        return Err(Obstacle::new("--user", what, "write --user root"));
    }
    end_with_parent();
    // An attached namespace has addresses of its own: none to report.
    let told = if attachment(configuration).is_some() { 0 } else { interfaces };
    let environment = environment(configuration, told);
    let [server, ue] = &link.ends;
    let init = Init::start(&Programs {
        namespaces: [&server.namespace, &ue.namespace],
        command: &configuration.command,
        command_at: match configuration.endpoint {
            Some(endpoint) if endpoint.end == Side::Ue => Dir::Downlink,
            _ => Dir::Uplink,
        },
        server: configuration.server.as_deref(),
        environment: &environment,
        clean_environment: configuration.clean_environment,
        user: configuration.user.as_ref(),
        terminal: configuration.terminal,
        not_inherited: stream.as_fd(),
        keep_capabilities: link.user_namespace,
    })?;
    let mut notices = Vec::new();
    if !init.own_proc {
        notices
            .push("programs in the link see the processes outside in /proc, and not themselves".to_owned());
    }
    if configuration.endpoint.is_some() {
        notices.extend(ours::notices(&scenario, &real));
    }
    notices.extend(other_congestion_control(configuration));
    if configuration.server.is_some() {
        init.order(Order::StartServer);
        wait_for_server(&init, &mut link.ends[0], stream.as_fd(), &mut notices)?;
    }
    // No other process has its sockets, with which it ends.
    let translates = !configuration.keep_addresses;
    let gateway =
        configuration.between.as_ref().map(|names| Gateway::between(names, translates)).transpose()?;
    let hooks = attachment(configuration).map(|_| Hooks::set(gateway)).transpose()?;
    // From here on there may be threads: nothing is forked any more.
    let (outbox, writer) = writer::start(stream.try_clone().map_err(io_failed)?);
    let result = Session::start(configuration, &scenario, real, (link, hooks), &init, notices, outbox)
        .run(stream.as_fd());
    init.end();
    // The writer ends with the last outbox, which the session held; results come behind all records.
    let _ = writer.join();
    result.map_err(io_failed)
}

/// The namespace that the link is attached to, if any, and the option that says so.
fn attachment(configuration: &Configuration) -> Option<(&'static str, &str)> {
    let between = configuration.between.as_ref().map(|_| ("--between", "/proc/thread-self/ns/net"));
    between.or_else(|| configuration.attach.as_deref().map(|target| ("--attach", target)))
}

/// Attaches the link to an existing namespace; refuses options that need a separate one.
fn attach(
    given: &str,
    target: &str,
    configuration: &Configuration,
    interfaces: u8,
) -> Result<Link, Obstacle> {
    let refused = [
        ("--server", configuration.server.is_some(), "the other end is the world"),
        ("--receiver", configuration.endpoint.is_some(), "both ends exist already"),
        ("--cc", configuration.congestion_control.is_some(), "the namespace stays as it is"),
        ("--sysctl", !configuration.sysctl.is_empty(), "the namespace stays as it is"),
        ("--ue", interfaces > 1, "a UE of several interfaces cannot be attached"),
        (
            "--attach",
            configuration.attach.is_some() && given != "--attach",
            "the interfaces are in the present namespace",
        ),
    ];
    match refused.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, what)) => {
            Err(Obstacle::new(option, format!("with {given} {what}"), "leave one of them out"))
        }
        None => namespaces::attach(given, target),
    }
}

/// Returns a notice if the kernel's TCP will send with another congestion control than the scenario's.
fn other_congestion_control(configuration: &Configuration) -> Option<String> {
    let said = configuration.expected_congestion_control.as_ref()?;
    let default = namespaces::sysctl("net.ipv4.tcp_congestion_control");
    let chosen = configuration.congestion_control.as_ref();
    let (runs, advice) = chosen.map_or((&default, "; --cc chooses another"), |chosen| (chosen, ""));
    let is_ours = configuration.endpoint.is_some_and(|endpoint| endpoint.end.sends(Dir::Downlink));
    (said != runs && !is_ours)
        .then(|| format!("tcp.cc: the scenario says {said}, and the kernel's TCP runs {runs}{advice}"))
}

/// A client that starts before its server listens fails: wait for a socket, but not for ever.
/// A request, such as a signal, ends the wait.
fn wait_for_server(
    init: &Init,
    server: &mut End,
    requests: BorrowedFd<'_>,
    notices: &mut Vec<String>,
) -> Result<(), Obstacle> {
    let clock = Clock::start();
    while clock.now() < Instant::ZERO + SERVER_PATIENCE {
        if server.kernel.sockets.somebody_listens().unwrap_or(true) {
            return Ok(());
        }
        let mut fds = [init.fd(), requests].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let _ = ppoll(&mut fds, Some(TimeSpec::milliseconds(5)), None);
        let [has_report, has_request] = fds.map(|fd| fd.any().unwrap_or(false));
        if has_request {
            return Ok(());
        }
        if !has_report {
            continue;
        }
        match init.wait() {
            Some(Report::ServerEnded(status)) => {
                notices.push(format!("the server's command ended at once, with status {status}"));
                return Ok(());
            }
            Some(Report::Refused(what)) => notices.push(what),
            Some(_) => {}
            None => return Err(Obstacle::new("processes", "they ended unexpectedly", "try again")),
        }
    }
    notices.push("the server's command had opened no socket after 5 s".to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_simulated_hosts_is_refused_in_words() {
        for (toml, words) in [
            ("[[middlebox]]\ntap = {}", None),
            (
                "app.ping = {}",
                Some(
                    "flow[0].app: an end of ours sends what flow 0 says, and ping is no stream; write app.bulk or \
                     app.file",
                ),
            ),
            ("ue = 1\n[radio.dch]\nues = 2", None),
            (
                "ue = \"each\"\n[radio.dch]\nues = 2\n[[middlebox]]\nsplit = {}",
                Some(
                    "middlebox[0].split: the box splits real connections or simulated ones, and the cell has both; \
                     set the cell's ues to 1, or remove the box",
                ),
            ),
            (
                "[[middlebox]]\ntap = {}\n[[middlebox]]\nsplit = { delay = \"5 ms\", handover = \"lose\" }",
                Some(
                    "middlebox[1].split.handover: the state of real connections neither moves nor is lost; write \
                     \"keep\", or remove the key",
                ),
            ),
        ] {
            let scenario = Scenario::parse(&format!("[[flow]]\n{toml}"), &[]);
            let refused = scenario
                .map(|scenario| refuse(&scenario, &[0], true).err().map(|obstacle| obstacle.to_string()));
            assert_eq!(refused, Ok(words.map(str::to_owned)));
        }
    }
}

//! The processes in the link: the first process of a PID namespace, and what it starts for the user.
//!
//! When the first process of a PID namespace ends, however it does, the kernel kills all others in it:
//! nothing that was started in a link can outlive it. It has a /proc of its own, so that programs see
//! themselves there. Programs lead process groups of their own; the user's program gets the terminal.

use super::message::User;
use super::obstacle::{Obstacle, UNPRIVILEGED};
use super::sys;
use super::tuns::Clock;
use airpath_core::packet::Dir;
use airpath_core::time::{Duration, Instant};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getppid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

pub struct Programs<'a> {
    /// Namespaces of the server's and of the UE's end.
    pub namespaces: [&'a File; 2],
    pub command: &'a [String],
    /// Sending direction of its end: the UE's, unless airpath's endpoint replaces the UE's kernel TCP.
    pub command_at: Dir,
    /// A shell command for the server's side.
    pub server: Option<&'a str>,
    /// Added to the environment of both.
    pub environment: &'a BTreeMap<String, String>,
    /// Whether they have nothing else in their environment.
    pub clean_environment: bool,
    /// Who they are, if they are not to be who this process is.
    pub user: Option<&'a User>,
    /// Whether the user's program gets the terminal on standard input.
    pub terminal: bool,
    /// The process that asked for the link listens on this: no process in the link may hold it.
    pub not_inherited: BorrowedFd<'a>,
    /// Whether programs keep their power over the two networks: in a user namespace.
    pub keep_capabilities: bool,
}

/// A command from the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    StartServer,
    StartCommand,
    Signal(i32),
    /// Continue the stopped program.
    Continue,
}

/// A message to the driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The namespace is there; whether it has a /proc of its own.
    Ready(bool),
    /// The user's program ended with this exit status, 128 + n if by signal n.
    Ended(i32),
    Stopped,
    /// The server's program ended with this exit status.
    ServerEnded(i32),
    Refused(String),
}

/// The driver's hold on the processes in the link.
pub struct Init {
    channel: OwnedFd,
    outer: Pid,
    /// Whether programs in the link see themselves in /proc.
    pub own_proc: bool,
}

/// Capabilities over the networks of the link: CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW.
const NETWORK_CAPABILITIES: &[u32] = &[10, 12, 13];

/// Time that the server's program has to finish after the user's program has ended; then it is terminated.
const GRACE: Duration = Duration::from_millis(500);
/// Time from its termination signal to SIGKILL.
const PATIENCE: Duration = Duration::from_secs(2);

impl Init {
    /// Starts the first process of a new PID namespace. This process has one thread.
    pub fn start(programs: &Programs<'_>) -> Result<Self, Obstacle> {
        let failed = |error| Obstacle::refused("processes", "cannot be started", error, UNPRIVILEGED);
        let flags = SockFlag::SOCK_CLOEXEC;
        let pair = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags);
        let (channel, inner) = pair.map_err(|error| failed(error.into()))?;
        let driver = nix::unistd::getpid();
        // A process that makes a PID namespace for its children can have no more threads: hence one between.
        let outer = sys::fork(|| {
            // These are the driver's alone, or their closing would not be noticed.
            if sys::let_go(channel.as_fd()).and_then(|()| sys::let_go(programs.not_inherited)).is_err() {
                return 1;
            }
            outer(driver, &inner, programs)
        });
        let mut init = Self { channel, outer: outer.map_err(failed)?, own_proc: false };
        drop(inner);
        match init.wait() {
            Some(Report::Ready(own_proc)) => {
                init.own_proc = own_proc;
                Ok(init)
            }
            Some(Report::Refused(what)) => Err(Obstacle::new("PID namespace", what, UNPRIVILEGED)),
            _ => Err(Obstacle::new("PID namespace", "its first process ended at once", UNPRIVILEGED)),
        }
    }

    /// To be polled: readable when there is a report.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Gives an order. One that comes too late is lost.
    pub fn order(&self, order: Order) {
        put(&self.channel, &order);
    }

    /// The next report; `None` when all processes of the link have ended.
    pub fn wait(&self) -> Option<Report> {
        let mut bytes = [0; 4096];
        loop {
            return match recv(self.channel.as_raw_fd(), &mut bytes, MsgFlags::empty()) {
                Ok(length @ 1..) => Some(Report::read(&bytes[..length])),
                Err(Errno::EINTR) => continue,
                _ => None,
            };
        }
    }

    /// Ends everything that still runs in the link.
    pub fn end(self) {
        drop(self.channel);
        let _ = waitpid(self.outer, None);
    }
}

/// Sends an order or a report; it is lost if the other end is closed.
fn put(channel: &OwnedFd, message: &impl Serialize) {
    let bytes = serde_json::to_vec(message).unwrap_or_default();
    let _ = send(channel.as_raw_fd(), &bytes, MsgFlags::MSG_NOSIGNAL);
}

impl Report {
    fn write(&self, channel: &OwnedFd) {
        put(channel, self);
    }

    /// What is longer than a report may be is the name of a program.
    fn read(message: &[u8]) -> Self {
        let refused = |_| Self::Refused(String::from_utf8_lossy(message).into_owned());
        serde_json::from_slice(message).unwrap_or_else(refused)
    }
}

/// This process is killed when its parent ends. To be called again when its credentials have changed.
pub fn end_with_parent() {
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
}

/// The process between: makes the PID namespace, starts its first process, and ends with it.
fn outer(driver: Pid, channel: &OwnedFd, programs: &Programs<'_>) -> i32 {
    end_with_parent();
    if getppid() != driver {
        return 1;
    }
    let refused = |what: &str, error: std::io::Error| {
        Report::Refused(format!("{what}: {error}")).write(channel);
        1
    };
    if let Err(error) = unshare(CloneFlags::CLONE_NEWPID) {
        return refused("cannot be made", error.into());
    }
    match sys::fork(|| first_process(channel, programs)) {
        Ok(first) => {
            // Its first process alone answers from here on.
            let status = i32::from(sys::let_go(channel.as_fd()).is_err());
            let _ = waitpid(first, None);
            status
        }
        Err(error) => refused("its first process cannot be started", error),
    }
}

fn first_process(channel: &OwnedFd, programs: &Programs<'_>) -> i32 {
    end_with_parent();
    let _ = prctl::set_name(c"airpath-init");
    let mut signals = SigSet::all();
    signals.remove(Signal::SIGSEGV);
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&signals), None);
    let mut watched = SigSet::empty();
    watched.add(Signal::SIGCHLD);
    let Ok(children) = SignalFd::with_flags(&watched, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC) else {
        return 1;
    };
    Report::Ready(mount_proc().is_ok()).write(channel);
    if programs.keep_capabilities {
        // Without them, everything works that needs no power over the network.
        let _ = sys::keep_capabilities(NETWORK_CAPABILITIES);
    }
    Processes { channel, children, programs, command: None, server: None, ended: false }.run();
    0
}

/// A mount namespace with a /proc that shows the processes of the link.
fn mount_proc() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing: Option<&str> = None;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, nothing)
}

struct Processes<'a> {
    channel: &'a OwnedFd,
    children: SignalFd,
    programs: &'a Programs<'a>,
    command: Option<Pid>,
    server: Option<Pid>,
    ended: bool,
}

impl Processes<'_> {
    /// Until the driver closes the channel, or the user's program has ended and the server's after it.
    fn run(mut self) {
        let clock = Clock::start();
        let mut told_to_end = false;
        // Deadline for the next step after the user's program has ended: first terminate the server's program, then
        // kill it. It is an instant and not a timeout per wait, so other processes that end meanwhile do not
        // postpone it.
        let mut patience: Option<Instant> = None;
        loop {
            let timeout = match (self.ended, patience) {
                (false, _) => PollTimeout::NONE,
                (true, None) => {
                    patience = Some(clock.now() + GRACE);
                    continue;
                }
                (true, Some(until)) => {
                    let left = until.since(clock.now()).as_micros().div_ceil(1000);
                    PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO)
                }
            };
            let mut fds = [
                PollFd::new(self.channel.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.children.as_fd(), PollFlags::POLLIN),
            ];
            let _ = poll(&mut fds, timeout);
            let has_order = fds[0].any().unwrap_or(false);
            while matches!(self.children.read_signal(), Ok(Some(_))) {}
            self.reap();
            if patience.is_some_and(|until| until <= clock.now()) {
                match self.server {
                    Some(server) if !told_to_end => {
                        let _ = killpg(server, Signal::SIGTERM);
                        told_to_end = true;
                        patience = Some(clock.now() + PATIENCE);
                    }
                    _ => return,
                }
            }
            if has_order && !self.obey() {
                return;
            }
            if self.ended && self.server.is_none() {
                return;
            }
        }
    }

    /// Records processes that ended or were stopped; also reaps orphans of other processes.
    fn reap(&mut self) {
        while let Some((pid, outcome)) = sys::poll_child() {
            let exit_status = match outcome {
                sys::ChildStatus::Ended(exit_status) => exit_status,
                sys::ChildStatus::Stopped => {
                    if Some(pid) == self.command {
                        Report::Stopped.write(self.channel);
                    }
                    continue;
                }
            };
            if Some(pid) == self.command {
                self.command = None;
                self.ended = true;
                Report::Ended(exit_status).write(self.channel);
            } else if Some(pid) == self.server {
                self.server = None;
                Report::ServerEnded(exit_status).write(self.channel);
            }
        }
    }

    /// Follows one order; false if there will be no more.
    fn obey(&mut self) -> bool {
        let mut bytes = [0; 64];
        let length = match recv(self.channel.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
            Ok(length @ 1..) => length,
            Err(Errno::EAGAIN | Errno::EINTR) => return true,
            Ok(0) | Err(_) => return false,
        };
        let Ok(order) = serde_json::from_slice(&bytes[..length]) else { return true };
        match (order, self.command) {
            (Order::StartServer, _) => self.start_server(),
            (Order::StartCommand, None) => self.start_command(),
            (Order::Signal(number), Some(command)) => sys::signal_group(command, number),
            (Order::Continue, Some(command)) => {
                // Fails where standard input is no terminal, or another session's.
                let _ = nix::unistd::tcsetpgrp(std::io::stdin(), command);
                let _ = killpg(command, Signal::SIGCONT);
            }
            _ => {}
        }
        true
    }

    fn start_server(&mut self) {
        let Some(line) = self.programs.server else { return };
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).stdin(Stdio::null());
        match self.start(Dir::Downlink, command) {
            Ok(pid) => self.server = Some(pid),
            Err(status) => Report::ServerEnded(status).write(self.channel),
        }
    }

    fn start_command(&mut self) {
        let [program, arguments @ ..] = self.programs.command else { return };
        let mut command = Command::new(program);
        command.args(arguments);
        match self.start(self.programs.command_at, command) {
            Ok(pid) => self.command = Some(pid),
            Err(status) => {
                self.ended = true;
                Report::Ended(status).write(self.channel);
            }
        }
    }

    /// Starts a program at the end that sends towards `dir`; says why where that is not possible, with the
    /// exit status that a shell would have.
    fn start(&self, dir: Dir, mut command: Command) -> Result<Pid, i32> {
        let name = command.get_program().to_string_lossy().into_owned();
        if self.programs.clean_environment {
            command.env_clear();
        }
        command.envs(self.programs.environment).process_group(0);
        let takes_terminal = self.programs.terminal && dir == self.programs.command_at;
        sys::starts_afresh(&mut command, takes_terminal, self.programs.user.cloned());
        let entered = setns(self.programs.namespaces[dir.index()], CloneFlags::CLONE_NEWNET);
        let started = entered.map_err(std::io::Error::from).and_then(|()| command.spawn());
        started.map(|child| Pid::from_raw(child.id() as i32)).map_err(|error| {
            Report::Refused(format!("{name}: {error}")).write(self.channel);
            if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
        })
    }
}

//! System calls that have no safe wrapper in nix. The only unsafe code of this crate.

use nix::errno::Errno;
use nix::libc;
use nix::unistd::{ForkResult, Pid};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs `child` in a child process, which ends with what it returns.
///
/// # Panics
/// If this process has more than one thread.
pub fn fork(child: impl FnOnce() -> i32) -> nix::Result<Pid> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    assert_eq!(threads, 1, "a process with threads must not fork");
    // SAFETY: there is no other thread that could hold a lock at this moment, so the child may do
    // whatever a process may do. It leaves by _exit and never returns into its copy of the caller.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child: pid } => Ok(pid),
        ForkResult::Child => {
            let status = child();
            // SAFETY: always sound; skips destructors, which belong to the parent.
            unsafe { libc::_exit(status) }
        }
    }
}

/// Takes over a descriptor that this process was started with.
pub fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD only asks whether the descriptor is open.
    if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and nobody in this process knows of it but the caller.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What became of a child since it was asked for last.
pub enum Fate {
    /// It ended with this exit status, 128 + n if by signal n.
    Ended(i32),
    /// It was stopped.
    Stopped,
}

/// The next child of which there is something to tell, if any. (nix has no word for real-time signals: its
/// `waitpid` reaps who was killed by one and then fails.)
pub fn poll_child() -> Option<(Pid, Fate)> {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED) };
    let fate = match status {
        _ if pid <= 0 => return None,
        _ if libc::WIFSTOPPED(status) => Fate::Stopped,
        _ if libc::WIFSIGNALED(status) => Fate::Ended(128 + libc::WTERMSIG(status)),
        _ => Fate::Ended(libc::WEXITSTATUS(status)),
    };
    Some((Pid::from_raw(pid), fate))
}

/// Sends a signal to a process group, whether nix has a name for it or not.
pub fn signal_group(leader: Pid, number: i32) {
    // SAFETY: always sound; what cannot be signalled is gone.
    let _ = unsafe { libc::kill(-leader.as_raw(), number) };
}

/// SCHED_FIFO for the calling thread; its children have ordinary scheduling.
pub fn set_fifo(priority: i32) -> nix::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: `parameters` outlives the call; 0 is the calling thread.
    let result =
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameters) };
    Errno::result(result).map(drop)
}

/// Keeps these capabilities over the execution of programs, in a process that has them.
pub fn keep_capabilities(kept: &[u32]) -> nix::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Sets {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    /// _LINUX_CAPABILITY_VERSION_3: two words of each set.
    const VERSION: u32 = 0x2008_0522;
    let header = Header { version: VERSION, pid: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: `header` and `sets` have the kernel's layout for this version and outlive the calls.
    unsafe {
        Errno::result(libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()))?;
        for &capability in kept {
            sets[(capability / 32) as usize].inheritable |= 1 << (capability % 32);
        }
        Errno::result(libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()))?;
        for &capability in kept {
            let raise = libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, capability, 0, 0);
            Errno::result(raise)?;
        }
    }
    Ok(())
}

/// The program starts as from a shell: no signal blocked, none ignored. If it is to have the terminal on its
/// standard input, its own process group becomes the foreground group there before it starts.
pub fn starts_afresh(command: &mut Command, takes_terminal: bool) {
    let prepare = move || {
        // SAFETY: each of these calls is async-signal-safe, as is required between fork and exec; `none` is
        // initialised by sigemptyset. SIGTTOU, which a background group gets that asks for the terminal, is
        // still blocked. Python ignores SIGXFSZ (and SIGPIPE, which std has seen to).
        unsafe {
            if takes_terminal {
                libc::tcsetpgrp(0, libc::getpid());
            }
            libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: `prepare` makes async-signal-safe calls only and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}

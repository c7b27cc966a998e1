//! System calls that have no safe wrapper in nix. The only unsafe code of this crate.

use super::message::User;
use nix::errno::Errno;
use nix::libc;
use nix::unistd::{ForkResult, Pid};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

/// Exit status of a child that panicked, as that of a Rust program.
const PANICKED: i32 = 101;

/// Runs `child` in a child process, which ends with what it returns, or with status 101 if it panics.
///
/// # Errors
/// If this process has more than one thread, if /proc does not say how many it has, or if the kernel refuses.
pub fn fork(child: impl FnOnce() -> i32) -> io::Result<Pid> {
    check_single_thread(std::fs::read_dir("/proc/self/task").map(Iterator::count))?;
    // SAFETY: there is no other thread that could hold a lock at this moment, so the child may do
    // whatever a process may do. It leaves by _exit and never returns into its copy of the caller.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child: pid } => Ok(pid),
        ForkResult::Child => {
            let status = status_of(child);
            // SAFETY: always sound; skips destructors, which belong to the parent.
            unsafe { libc::_exit(status) }
        }
    }
}

/// No panic unwinds into a child's copy of its caller.
fn status_of(child: impl FnOnce() -> i32) -> i32 {
    catch_unwind(AssertUnwindSafe(child)).unwrap_or(PANICKED)
}

fn check_single_thread(threads: io::Result<usize>) -> io::Result<()> {
    match threads {
        Ok(1) => Ok(()),
        Ok(count) => Err(io::Error::other(format!("a process with {count} threads must not fork"))),
        Err(error) => Err(io::Error::other(format!("threads cannot be counted: /proc/self/task: {error}"))),
    }
}

/// Takes over a descriptor that this process was started with, once. Such a descriptor is not closed on exec, while
/// Python and Rust have the kernel close all that they open; from here on this one is closed too.
///
/// # Errors
/// If it is not open, is a standard stream, or belongs to something in this process already.
pub fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD only reads the flags of a descriptor.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    if fd <= libc::STDERR_FILENO || flags & libc::FD_CLOEXEC != 0 {
        let what = format!("descriptor {fd} is not one that this process was given to keep");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    // SAFETY: F_SETFD only sets the flags of a descriptor.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, flags | libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, was here before the program began, and by its flag nothing has taken it over.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// In a child of `fork`: lets go of what a value of the parent's holds open, so that the parent alone decides when that
/// is closed. The descriptor stays its owner's, and leads to /dev/null.
pub fn let_go(fd: BorrowedFd<'_>) -> io::Result<()> {
    let null = std::fs::File::open("/dev/null")?;
    // SAFETY: both are open; `fd` stays open and its owner's.
    let result = unsafe { libc::dup3(null.as_raw_fd(), fd.as_raw_fd(), libc::O_CLOEXEC) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// How a child's state has changed since the last poll.
pub enum ChildStatus {
    /// It ended with this exit status, 128 + n if by signal n.
    Ended(i32),
    Stopped,
}

/// Returns the next child with a new state, if any. (nix does not represent real-time signals: its `waitpid` reaps
/// a process killed by one and then fails.)
pub fn poll_child() -> Option<(Pid, ChildStatus)> {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED) };
    let outcome = match status {
        _ if pid <= 0 => return None,
        _ if libc::WIFSTOPPED(status) => ChildStatus::Stopped,
        _ if libc::WIFSIGNALED(status) => ChildStatus::Ended(128 + libc::WTERMSIG(status)),
        _ => ChildStatus::Ended(libc::WEXITSTATUS(status)),
    };
    Some((Pid::from_raw(pid), outcome))
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
            // The kernel reads four arguments of the width of a pointer.
            let arguments = [libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong, capability.into(), 0, 0];
            let [which, raised, none, nothing]: [libc::c_ulong; 4] = arguments;
            Errno::result(libc::prctl(libc::PR_CAP_AMBIENT, which, raised, none, nothing))?;
        }
    }
    Ok(())
}

/// What root keeps in the link: power over files, over processes and over the networks of the link. Not
/// CAP_SYS_ADMIN, with which a program could enter the network outside, nor anything over the machine.
const KEPT: [libc::c_ulong; 11] = [
    0,  // CAP_CHOWN
    1,  // CAP_DAC_OVERRIDE
    2,  // CAP_DAC_READ_SEARCH
    3,  // CAP_FOWNER
    4,  // CAP_FSETID
    5,  // CAP_KILL
    6,  // CAP_SETGID
    7,  // CAP_SETUID
    10, // CAP_NET_BIND_SERVICE
    12, // CAP_NET_ADMIN
    13, // CAP_NET_RAW
];

/// Drops the other capabilities of this process permanently, where allowed; then all of them, and its groups, if it
/// becomes `user`. No program can restore them. To be called between fork and exec: allocates nothing.
fn give_up_power(user: Option<&User>) -> io::Result<()> {
    let check = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    // The kernel reads arguments of the width of a pointer.
    let [none, on]: [libc::c_ulong; 2] = [0, 1];
    for capability in (0..64).filter(|capability| !KEPT.contains(capability)) {
        // SAFETY: drops a capability, and fails for what this kernel does not know, or without CAP_SETPCAP.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, none, none, none) };
    }
    // SAFETY: system calls with numbers, and with `groups`, which outlives its call. The library's own functions would
    // tell other threads, which there are none of after a fork.
    unsafe {
        if let Some(User { uid, gid, groups }) = user {
            check(libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) as libc::c_int)?;
            check(libc::syscall(libc::SYS_setresgid, *gid, *gid, *gid) as libc::c_int)?;
            check(libc::syscall(libc::SYS_setresuid, *uid, *uid, *uid) as libc::c_int)?;
        }
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, none, none, none))
    }
}

/// The program starts as from a shell: no signal blocked, none ignored. If it is to have the terminal on its
/// standard input, its own process group becomes the foreground group there before it starts. It runs as
/// `user`, or as who this process is, and with what power is left of that in the link.
pub fn starts_afresh(command: &mut Command, takes_terminal: bool, user: Option<User>) {
    let prepare = move || {
        // SAFETY: each of these calls is async-signal-safe, as is required between fork and exec; `none` is
        // initialised by sigemptyset. SIGTTOU, sent to a background group that takes the terminal, is still
        // blocked. Python ignores SIGXFSZ (and SIGPIPE, which std resets).
        unsafe {
            if takes_terminal {
                libc::tcsetpgrp(0, libc::getpid());
            }
            libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        }
        give_up_power(user.as_ref())
    };
    // SAFETY: `prepare` makes async-signal-safe calls only and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::{AsFd, IntoRawFd};

    #[test]
    fn a_process_whose_threads_are_not_known_does_not_fork() {
        assert!(check_single_thread(Ok(1)).is_ok());
        let many = check_single_thread(Ok(2)).unwrap_err().to_string();
        assert_eq!(many, "a process with 2 threads must not fork");
        let unknown = check_single_thread(Err(io::ErrorKind::NotFound.into())).unwrap_err().to_string();
        assert!(unknown.starts_with("threads cannot be counted: /proc/self/task: "), "{unknown}");
        // Tests run in threads.
        assert!(fork(|| 0).is_err());
    }

    #[test]
    fn a_child_that_panics_ends_with_a_status() {
        assert_eq!(status_of(|| 3), 3);
        assert_eq!(status_of(|| panic!("as a child may")), 101);
    }

    #[test]
    fn only_what_was_inherited_is_taken_over_and_only_once() {
        let file = File::open("/dev/zero").unwrap();
        let refused = |fd| inherited(fd).unwrap_err().kind();
        // Rust's own are closed on exec.
        assert_eq!(refused(file.as_raw_fd()), io::ErrorKind::InvalidInput);
        assert_eq!(refused(2), io::ErrorKind::InvalidInput);
        fcntl(file.as_fd(), FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        let fd = file.into_raw_fd();
        let taken = inherited(fd).unwrap();
        assert_eq!(refused(fd), io::ErrorKind::InvalidInput);
        drop(taken);
        assert_eq!(inherited(1 << 20).unwrap_err().raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn what_was_let_go_stays_its_owners() {
        let mut file = File::open("/dev/zero").unwrap();
        let mut one = [7];
        assert_eq!(file.read(&mut one).unwrap(), 1);
        let_go(file.as_fd()).unwrap();
        assert_eq!(file.read(&mut one).unwrap(), 0);
        assert!(fcntl(file.as_fd(), FcntlArg::F_GETFD).unwrap() & libc::FD_CLOEXEC != 0);
    }
}

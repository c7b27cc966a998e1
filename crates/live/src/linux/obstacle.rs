//! Why a link cannot be made, and what would help.

use serde::Serialize;
use std::{fmt, io};

/// Why a link cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// What was being done.
    pub stage: String,
    /// The problem.
    pub message: String,
    /// Advice on how to solve it.
    pub hint: String,
}

impl Obstacle {
    /// `message` while doing `stage`; `hint` would help.
    pub fn new(stage: &str, message: impl fmt::Display, hint: &str) -> Self {
        Self { stage: stage.to_owned(), message: message.to_string(), hint: hint.to_owned() }
    }

    /// `what` was not possible while doing `stage`, by this error of the system; `hint` would help, unless files are
    /// what is short.
    pub fn refused(stage: &str, what: &str, error: io::Error, hint: &str) -> Self {
        let hint = match error.raw_os_error() {
            Some(libc::EMFILE) => "raise the limit of open files, for example with ulimit -n 1024",
            Some(libc::ENFILE) => "raise the machine's limit of open files: sysctl fs.file-max",
            _ => hint,
        };
        Self::new(stage, format!("{what}: {error}"), hint)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.stage, self.message, self.hint)
    }
}

/// What keeps unprivileged users from what a link needs, on the systems where something does.
pub const UNPRIVILEGED: &str = "run as root, or allow user namespaces: sysctl \
    kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu 23.10 and later), \
    kernel.unprivileged_userns_clone=1 (Debian 10 and earlier), user.max_user_namespaces above 0; in a \
    container: docker run --privileged, or --cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_descriptors_is_named_as_such() {
        let obstacle = |errno| {
            let error = io::Error::from_raw_os_error(errno);
            Obstacle::refused("link", "cannot be made", error, "run as root").to_string()
        };
        assert!(obstacle(libc::EPERM).ends_with("; run as root"));
        let short = obstacle(libc::EMFILE);
        assert!(short.contains("Too many open files") && short.ends_with("ulimit -n 1024"), "{short}");
    }
}

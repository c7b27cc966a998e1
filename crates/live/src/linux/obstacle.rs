//! Why a link cannot be made, and what would help.

use serde::Serialize;
use std::fmt;

/// Why a link cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// What was being done.
    pub stage: String,
    /// What went wrong.
    pub message: String,
    /// What would help.
    pub hint: String,
}

impl Obstacle {
    /// `message` while doing `stage`; `hint` would help.
    pub fn new(stage: &str, message: impl fmt::Display, hint: &str) -> Self {
        Self { stage: stage.to_owned(), message: message.to_string(), hint: hint.to_owned() }
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

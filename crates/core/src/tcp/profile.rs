//! Profiles: whole stacks by one key. `tcp.profile = "linux"` gives every other key of `[tcp]` the default that makes
//! the endpoints behave like Linux's; what a scenario says of a key holds all the same.
//!
//! A profile is a table that lies below what is written, before anything is read ([`apply`]). A resolved scenario has
//! every key written out, and so does not change with it. What each key stands for in Linux is in
//! docs/models/linux-tcp.md.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// Whose defaults the keys of `[tcp]` have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The RFCs'.
    #[default]
    Rfc,
    /// Linux with CUBIC, its default.
    Linux,
    /// Linux with `net.ipv4.tcp_congestion_control = reno`.
    LinuxReno,
    /// Linux with `net.ipv4.tcp_congestion_control = bbr`: version 1.
    LinuxBbr,
    /// Linux with TCP Prague, which is beside the kernel (L4STeam/linux), and `net.ipv4.tcp_ecn = 3`.
    LinuxPrague,
}

/// What both of Linux's have; a receive window of half of `tcp_rmem`, the rest being overhead.
const LINUX: &str = r#"
timestamps = true
sack = true
dsack = true
window_scaling = true
initial_window = 10
recovery.rack = {}
prr = true
undo.linux = {}
rto = { timer = "linux", initial = "1 s", min = "200 ms", max = "120 s" }
shrunk_window = "retransmit"
window_probe = "empty"
idle_restart = "linux"
receive_buffer = "65535 B"
receive_buffer_max = "3145728 B"
ack_every = 2
delayed_ack = "linux"
delayed_ack_timeout = "200 ms"
quickack = 16
"#;

impl Profile {
    /// The keys that it sets, and `None` of a name that is none.
    fn keys(name: &str) -> Option<Table> {
        let cc = match name {
            "linux" => "cc.cubic = { hystart = \"linux\", variant = \"linux\" }",
            "linux-reno" => "cc.reno = { variant = \"linux\" }",
            "linux-bbr" => "cc.bbr = {}",
            "linux-prague" => "cc.prague = {}\necn = \"accurate\"",
            "rfc" => return Some(Table::new()),
            _ => return None,
        };
        format!("{LINUX}{cc}").parse().ok()
    }
}

/// The table `[tcp]` as written, on top of what its profile says. `merge` puts the second over the first. A name that
/// is none stays: reading the table refuses it.
pub fn apply(written: &Table, merge: impl FnOnce(&Table, &Table) -> Table) -> Table {
    let keys = written.get("profile").and_then(Value::as_str).and_then(Profile::keys);
    keys.map_or_else(|| written.clone(), |keys| merge(&keys, written))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    #[test]
    fn every_profile_is_a_configuration_that_can_be() {
        for profile in
            [Profile::Rfc, Profile::Linux, Profile::LinuxReno, Profile::LinuxBbr, Profile::LinuxPrague]
        {
            let name = Value::try_from(profile).unwrap();
            let keys = Profile::keys(name.as_str().unwrap()).unwrap();
            let config: Config = Value::Table(keys).try_into().unwrap();
            config.validate().unwrap();
        }
        assert_eq!(Profile::keys("windows"), None);
    }
}

//! Profiles: whole stacks by one key. `tcp.profile = "linux"` gives every other key of `[tcp]` the default that makes
//! the endpoints behave like Linux's; keys written in the scenario take precedence.
//!
//! A profile is a table merged below the written keys before anything is read ([`apply`]). A resolved scenario has
//! every key written out, so later changes of a profile do not affect it. The meaning of each key in Linux is in
//! docs/models/linux-tcp.md.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// Stack that provides the defaults of the keys of `[tcp]`.
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
    /// Linux with TCP Prague, which is maintained outside the kernel (L4STeam/linux), and `net.ipv4.tcp_ecn = 3`.
    LinuxPrague,
}

/// Keys that both Linux profiles share. The initial window is half of `tcp_rmem`'s default, and the largest 156/256 of
/// its maximum (`receiver::autotuning`).
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
receive_buffer_max = "3833856 B"
ack_every = 2
delayed_ack = "linux"
delayed_ack_timeout = "200 ms"
quickack = 16
"#;

/// `receive_buffer_max` of the Linux profiles.
pub(super) const RECEIVE_BUFFER_MAX: Bytes = Bytes::from_bytes(3_833_856);

/// The congestion control that Linux has by default, `tcp_congestion_control`, under the profile of this name.
fn congestion_control(profile: &str) -> Option<&'static str> {
    match profile {
        "linux" => Some("cubic"),
        "linux-reno" => Some("reno"),
        "linux-bbr" => Some("bbr"),
        "linux-prague" => Some("prague"),
        _ => None,
    }
}

/// Linux's form of a congestion control.
fn form(cc: &str) -> Table {
    let keys: &[(&str, &str)] = match cc {
        "cubic" => &[("hystart", "linux"), ("variant", "linux")],
        "reno" => &[("variant", "linux")],
        _ => &[],
    };
    keys.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect()
}

impl Profile {
    /// The keys that it sets below `written`, and `None` of a name that is none. A congestion control that is written is
    /// there in Linux's form, be it the profile's or another.
    fn keys(name: &str, written: &Table) -> Option<Table> {
        let Some(own) = congestion_control(name) else { return (name == "rfc").then(Table::new) };
        let mut keys: Table = LINUX.parse().ok()?;
        let named = written.get("cc").and_then(Value::as_table).and_then(|cc| cc.keys().next());
        let cc = named.map_or(own, String::as_str);
        keys.insert(
            "cc".to_owned(),
            Value::Table(Table::from_iter([(cc.to_owned(), Value::Table(form(cc)))])),
        );
        if name == "linux-prague" {
            keys.insert("ecn".to_owned(), Value::from("accurate"));
        }
        Some(keys)
    }
}

/// The written table `[tcp]` merged over its profile. `merge` puts its second argument over the first. An unknown name
/// is kept: reading the table refuses it.
pub fn apply(written: &Table, merge: impl FnOnce(&Table, &Table) -> Table) -> Table {
    let profile = written.get("profile").and_then(Value::as_str);
    let keys = profile.and_then(|name| Profile::keys(name, written));
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
            let keys = Profile::keys(name.as_str().unwrap(), &Table::new()).unwrap();
            let config: Config = Value::Table(keys).try_into().unwrap();
            config.validate().unwrap();
            let grows = (profile != Profile::Rfc).then_some(RECEIVE_BUFFER_MAX);
            assert_eq!((config.receive_buffer_max, config.remark()), (grows, None));
        }
        assert_eq!(Profile::keys("windows", &Table::new()), None);
    }
}

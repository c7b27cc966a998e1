//! Profiles of TCP: their values, what overrides them, and valid combinations.

use airpath_core::scenario::Scenario;
use airpath_core::tcp::profile::Profile;
use airpath_core::tcp::{self, Config, Delay, IdleRestart, ShrunkWindow, WindowProbe, cc, recovery, undo};
use airpath_core::time::Duration;
use airpath_core::units::Bytes;

fn parse(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Scenario::parse(text, &overrides).unwrap()
}

fn error(tcp: &str) -> String {
    Scenario::parse(&format!("[tcp]\n{tcp}\n[[flow]]\n"), &[]).unwrap_err().to_string()
}

/// All keys that both Linux profiles share, as in docs/models/linux-tcp.md; each sets its own congestion control.
fn linux(profile: Profile, cc: cc::Config) -> Config {
    Config {
        profile,
        cc,
        timestamps: true,
        sack: true,
        dsack: true,
        window_scaling: true,
        initial_window: 10,
        recovery: recovery::Config::Rack(recovery::rack::Config { tail_loss_probe: true }),
        prr: true,
        undo: undo::Config::Linux(undo::linux::Config {}),
        rto: tcp::rto::Config {
            timer: tcp::rto::Timer::Linux,
            initial: Duration::from_secs(1),
            min: Duration::from_millis(200),
            max: Duration::from_secs(120),
            ..tcp::rto::Config::default()
        },
        shrunk_window: ShrunkWindow::Retransmit,
        window_probe: WindowProbe::Empty,
        idle_restart: IdleRestart::Linux,
        receive_buffer: Bytes::from_bytes(65_535),
        receive_buffer_max: Some(Bytes::from_bytes(3_833_856)),
        ack_every: 2,
        delayed_ack: Delay::Linux,
        delayed_ack_timeout: Duration::from_millis(200),
        quickack: 16,
        ..Config::default()
    }
}

fn linux_with_cubic() -> Config {
    let cubic = cc::cubic::Config {
        hystart: cc::cubic::HyStart::Linux,
        fast_convergence: true,
        variant: cc::cubic::Variant::Linux,
    };
    linux(Profile::Linux, cc::Config::Cubic(cubic))
}

fn linux_with_reno() -> Config {
    linux(Profile::LinuxReno, cc::Config::Reno(cc::reno::Config { variant: cc::reno::Variant::Linux }))
}

#[test]
fn a_profile_sets_what_is_not_written() {
    let scenario = parse("[tcp]\nprofile = \"linux\"\n[[flow]]\n", &[]);
    assert_eq!(scenario.tcp, linux_with_cubic());
    assert_eq!(parse("[[flow]]\n", &[("tcp.profile", "linux-reno")]).tcp, linux_with_reno());
}

#[test]
fn what_is_written_holds_and_a_component_is_replaced_whole() {
    let text = "[tcp]\nprofile = \"linux\"\nrto.min = \"1 s\"\nundo.none = {}\ncc.westwood = {}\nprr = false\n[[flow]]\n";
    let tcp = parse(text, &[("tcp.dsack", "false"), ("tcp.quickack", "3")]).tcp;
    assert!(tcp.sack && !tcp.dsack);
    assert_eq!((tcp.rto.min, tcp.rto.timer), (Duration::from_secs(1), tcp::rto::Timer::Linux));
    assert_eq!((tcp.undo.name(), tcp.cc.name(), tcp.prr, tcp.quickack), ("none", "westwood", false, 3));
}

#[test]
fn a_flow_has_its_own_profile_or_that_of_all() {
    let text = "[tcp]\nprofile = \"linux\"\nmss = \"536 B\"\n[[flow]]\n[[flow]]\n[flow.tcp]\nquickack = 0\n\
                [[flow]]\n[flow.tcp]\nprofile = \"rfc\"\n[[flow]]\n[flow.tcp]\nprofile = \"linux-reno\"\n";
    let scenario = parse(text, &[]);
    let of = |index: usize| scenario.flow[index].tcp.clone().unwrap();
    assert_eq!(scenario.flow[0].tcp, None);
    assert_eq!(of(1), Config { quickack: 0, ..scenario.tcp.clone() });
    assert_eq!(of(2), Config { mss: Bytes::from_bytes(536), ..Config::default() });
    assert_eq!(of(3), Config { mss: Bytes::from_bytes(536), ..linux_with_reno() });
}

#[test]
fn a_flow_may_have_a_profile_where_the_scenario_says_nothing_of_tcp() {
    let scenario = parse("[[flow]]\n[flow.tcp]\nprofile = \"linux\"\n", &[]);
    assert_eq!(scenario.tcp, Config::default());
    assert_eq!(scenario.flow[0].tcp.as_ref(), Some(&linux_with_cubic()));
}

#[test]
fn the_resolved_scenario_reads_back() {
    let text =
        "[tcp]\nprofile = \"linux\"\nprr = false\n[[flow]]\n[[flow]]\n[flow.tcp]\nprofile = \"linux-reno\"\n";
    let scenario = parse(text, &[]);
    assert_eq!(scenario.tcp.profile, Profile::Linux);
    assert_eq!(parse(&scenario.to_toml().unwrap(), &[]), scenario);
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (written, says) in [
        ("profile = \"linx\"", "tcp.profile: unknown name \"linx\"; did you mean linux?"),
        (
            "profile = \"windows\"",
            "tcp.profile: unknown name \"windows\"; known here: rfc, linux, linux-reno, linux-bbr, linux-prague",
        ),
        ("recovery.rack = {}", "tcp.recovery: rack requires the SACK option; set tcp.sack = true"),
        (
            "prr = true\nrecovery.reno = {}",
            "tcp.prr: recovery.reno does not track the bytes in the network; choose tcp.recovery.newreno, sack or rack",
        ),
        (
            "prr = true\nrnf = \"first_flagged\"",
            "tcp.rnf: each duplicate ACK counts as a segment delivered; write off, or prr = false without variant = \
             \"linux\", or choose tcp.recovery.sack",
        ),
        (
            "recovery.newreno.max_reordering = 3",
            "tcp.recovery.newreno.max_reordering: this variant's threshold does not change; remove the key, or set \
             variant = \"linux\"",
        ),
        (
            "recovery.newreno = { variant = \"linux\", max_reordering = 0 }",
            "tcp.recovery.newreno.max_reordering: every ACK would be a loss; write at least 1, or remove the key",
        ),
        (
            "profile = \"linux\"\nrnf = \"first_flagged\"",
            "tcp.rnf: RACK detects losses by time, not by feedback; write off, or choose another \
             tcp.recovery",
        ),
        (
            "profile = \"linux\"\nshrunk_window = \"persist_and_go_back\"",
            "tcp.shrunk_window: RACK never goes back; write persist or retransmit, or choose another \
             tcp.recovery",
        ),
        (
            "receive_buffer_max = \"10 kB\"",
            "tcp.receive_buffer_max: the window would begin above its limit; write at least receive_buffer, or \
             remove the key",
        ),
        (
            "cc.bbr = {}",
            "tcp.cc: bbr requires RACK loss recovery with SACK; set tcp.recovery = \"rack\" and tcp.sack = \
             true, or tcp.profile = \"linux\"",
        ),
        (
            "max_pacing_rate = \"1 bit/s\"",
            "tcp.max_pacing_rate: less than one byte per second; write at least 8 bit/s",
        ),
        (
            "rto = { timer = \"linux\", tick = \"100 ms\" }",
            "tcp.rto.timer: Linux's timer has an exact clock; remove tick, or choose timer = \"rfc6298\"",
        ),
    ] {
        assert_eq!(error(written), says);
    }
}

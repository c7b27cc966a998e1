//! What a scenario's author reads when something is wrong, word for word; and what is right.

use airpath_core::packet::Dir;
use airpath_core::rlc;
use airpath_core::scenario::{BUNDLED, Each, Scenario, UeChoice};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::tcp::recovery::newreno::Variant;
use airpath_core::tcp::{self, Handshake};
use airpath_core::time::Duration;
use airpath_core::units::{Bitrate, Bytes};
use airpath_core::{app, channel, fading, middlebox, queue, radio, scheduler};
use serde::Serialize;

/// Whole scenarios that are wrong.
const WRONG_WHOLE: &[&str] = &[
    // No TOML.
    "duration",
    "[[flow]]\nstart = \"1 s\"\ndirection = downlink",
    "[[flow]]\n[[flow]",
    "duration = \"1 s\"\nduration = \"2 s\"\n[[flow]]",
    // No flow.
    "",
    "duration = \"1 s\"",
    "flow = []",
    "flow = 1",
    "[flow]\nue = 0",
];

/// What is wrong in a scenario that has a flow.
const WRONG: &[&str] = &[
    // Unknown keys, from the top to the bottom.
    "durations = \"60 s\"",
    "[wired]\ndelays = \"60 ms\"",
    "[wired.uplink]\nrates = \"1 Mbit/s\"",
    "[wired.queue.droptail]\npacket = 50",
    "[radio.dch]\nue = 2",
    "[radio.dch.downlink]\nspeed = \"384 kbit/s\"",
    "[radio.dch.downlink.queue.droptail]\nbyte = \"64 kB\"",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\nttl = \"20 ms\"",
    "[radio.dch.downlink.rlc.none]\ntti = \"20 ms\"",
    "[radio.dch.uplink.channel.bernoulli]\nber = \"10 %\"",
    "[tcp]\ninitial_windows = 2",
    "[tcp.rto]\nminimum = \"1 s\"",
    "[tcp.cc.westwood]\ntau = \"1 s\"",
    "[tcp.cc.westwood]\ntime_constant = \"999 us\"",
    "[tcp.cc.westwood]\nsilence_divisor = 1",
    "[tcp.cc.westwood]\nsilence_divisor = 1001",
    "[tcp.recovery.newreno]\nvariants = \"impatient\"",
    "[tcp.recovery.reno]\nvariant = \"impatient\"",
    "[[flow]]\n[[flow]]\nbegin = \"1 s\"",
    "[[flow]]\n[flow.app.file]\nsizes = \"1 MB\"",
    "[[flow]]\n[flow.app.bulk]\nsize = \"1 MB\"",
    "[[flow]]\n[flow.tcp.rto]\nmaxi = \"1 s\"",
    "[[middlebox]]\n[middlebox.tap]\nx = 1",
    // Too few and too many items.
    "[radio.dch.downlink.channel.process.model.outages]\nper_s = [0.1, 0.1, 0.1]",
    "[radio.dch.downlink.channel.process.model.outages]\nper_s = [0.1, 0.1, 0.1, 0.1, 0.1]",
    // Unknown names.
    "[radio.dhc]",
    "[radio.dch.downlink.rlc.fixed_delay]",
    "[radio.dch.downlink.channel.bernouilli]",
    "[radio.dch.downlink.queue.droptial]",
    "[tcp.cc.renno]",
    "[tcp.recovery.new_reno]",
    "[[middlebox]]\n[middlebox.tab]",
    "[[flow]]\n[flow.app.files]",
    "[[flow]]\ndirection = \"down\"",
    "[tcp]\nhandshake = \"two_way\"",
    "[tcp]\nip = \"ipv5\"",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\ntie = \"behind\"",
    // Not one component.
    "[tcp]\nrecovery = \"renno\"",
    "[tcp.recovery]",
    "[tcp.recovery.reno]\n[tcp.recovery.newreno]",
    "[tcp]\nrecovery.reno = true",
    // Wrong types.
    "duration = true",
    "duration = [1]",
    "wired = 1979-05-27",
    "duration = 1979-05-27",
    "radio.lte.downlink.reception.mean_sinr = true",
    "radio.lte.downlink.reception.mean_sinr = 1.5",
    "radio.lte.downlink.reception.mean_sinr = [\"1 dB\", 2]",
    "[tcp.cc.reno.variant]\nlinux = 1",
    "wired = 1",
    r#"wired = ["1 Mbit/s"]"#,
    "radio = \"dhc\"",
    "[radio.dch]\nues = \"two\"",
    "[radio.dch]\nues = 1.5",
    "[radio.dch]\nues = -1",
    "[radio.dch]\nues = 70000",
    "[tcp]\nlimited_transmit = \"yes\"",
    "[tcp]\nlimited_transmit = 1",
    "[tcp]\nhandshake = 3",
    "[tcp]\nrto = \"1 s\"",
    "[[flow]]\nue = \"all\"",
    "[[flow]]\nue = -1",
    "[[flow]]\napp = \"bolk\"",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\ntie = \"probability\"",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\ntie.probability = 2",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\nmax_transmissions = -1",
    // Units.
    "duration = 60",
    "duration = \"60\"",
    "duration = \"60 kbit/s\"",
    "duration = \"1 minute\"",
    "duration = \"-1 s\"",
    "[wired]\nrate = 100",
    "[wired]\nloss = 10",
    "[wired]\nloss = \"-1 %\"",
    "[wired]\ndelay = -75",
    "[radio.dch.downlink]\nrate = \"384 kbps\"",
    "[tcp]\nmss = 1460",
    "[tcp]\nmss = \"1460 s\"",
    // Nothing, or too little.
    "duration = \"0 s\"",
    "[wired]\nrate = \"0 bit/s\"",
    "[wired.uplink]\nrate = \"0 bit/s\"",
    "[radio.dch]\nues = 0",
    "[radio.dch.downlink]\nrate = \"0 bit/s\"",
    "[radio.dch.uplink]\nrate = \"0 kbit/s\"",
    "[radio.dch.downlink.queue.droptail]\npackets = 0",
    "[radio.dch.uplink.queue.droptail]\nbytes = \"0 B\"",
    "[wired.queue.droptail]\npackets = 0",
    "[wired.uplink.queue.droptail]\npackets = 0",
    "[[flow]]\n[[flow]]\n[flow.app.file]\nsize = \"0 B\"",
    "[[flow]]\n[flow.app.cbr]\nsize = \"47 B\"",
    "[[flow]]\n[flow.app.cbr]\nrate = \"0 bit/s\"",
    "[[flow]]\n[flow.app.cbr]\npackets = 0",
    "[[flow]]\n[flow.app.on_off]\non = \"1 ms\"",
    "[[flow]]\n[flow.app.on_off]\ntimes = \"random\"",
    "[[flow]]\n[flow.app.ping]\nanswer = \"66 kB\"",
    "[[flow]]\n[flow.app.ping]\ninterval = \"0 s\"",
    "[[flow]]\n[flow.app.video]\ninterval = \"0 s\"",
    "[[flow]]\n[flow.app.video]\nrate = \"100 bit/s\"",
    "[[flow]]\n[flow.app.video]\ninterval = \"1000 h\"",
    "[[flow]]\n[flow.app.arrivals]\n[[middlebox]]\n[middlebox.snoop]\n[[change]]\nat = \"1 s\"\nset = { wired.rate = \"1 Mbit/s\" }",
    "[[flow]]\n[flow.app.web]\nrequest = \"0 B\"",
    "[[flow]]\n[flow.app.web]\npage = \"0 B\"",
    "[[flow]]\n[flow.app.web]\nobject = \"0 B\"",
    "[[flow]]\n[flow.app.web]\nobjects = [\"1 kB\", \"0 B\"]",
    "[[flow]]\n[flow.app.web]\nobjects = [\"1 kB\", 7]",
    "[[flow]]\n[flow.app.web]\nobjects = -1",
    "[[flow]]\n[flow.app.web]\nobjects = 1001",
    "[[flow]]\n[flow.app.web]\nparallel = 0",
    "[[flow]]\n[flow.app.web]\nconnections = \"per_object\"\npipelining = true",
    "[[flow]]\n[flow.app.web]\nconnections = \"keep_alive\"",
    "[[flow]]\ndirection = \"uplink\"\napp.web = {}",
    "[[flow]]\nue = 1",
    "[radio.dch]\nues = 2\n[[flow]]\nue = 1\n[[flow]]\nue = 2",
    // Channel and link layer.
    "[radio.dch.downlink.channel.bernoulli]\nbler = 0.1",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.bernoulli.bler = 1",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\ntti = \"0 ms\"",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\ntti = \"20 us\"",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\npdu = \"0 B\"",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\npdu = \"50 B\"",
    "[radio.dch.downlink.rlc.fixed_delay_arq]\npdu = \"1920 B\"",
    "[radio.dch.uplink.rlc.fixed_delay_arq]\nmax_transmissions = 0",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.markov_fading.bler = 0",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.markov_fading.bler = \"100 %\"",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.markov_fading.doppler = \"0 Hz\"",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.markov_fading.doppler = \"200 kHz\"",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.markov_fading.step = \"0 s\"",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.markov_fading.step = \"100 ns\"",
    "[radio.dch.downlink]\nchannel.markov_fading = {}",
    // Opportunities.
    "[radio.dch.downlink.channel.trace_file]\ntrace = \"1\"",
    "[radio.variable.uplink.channel.bernoulli]",
    "[radio.variable.downlink]\nrate = \"1 Mbit/s\"",
    "[radio.variable]\nues = 0",
    "[radio.variable.downlink.queue.droptail]\npackets = 0",
    "[radio.variable.downlink.channel.trace_file]\nfiles = \"1\"",
    "[radio.variable.downlink.channel.trace_file]\naccounting = \"ip\"",
    "[radio.variable.downlink.channel.trace_file]\nspacing = \"random\"",
    "[radio.variable.downlink.channel.trace_file]\nonce = 1",
    "[radio.variable.downlink.channel.trace_file]\ntrace = 1",
    "[radio.variable.downlink.channel.trace_file]\ntrace = \"\"",
    "[radio.variable.downlink.channel.trace_file]\ntrace = \"1\\n2\\nx\"",
    "[radio.variable.downlink.channel.trace_file]\ntrace = \"1\\n\\n\"",
    "[radio.variable.downlink.channel.trace_file]\ntrace = \"2\\n1\"",
    "[radio.variable.downlink.channel.trace_file]\ntrace = \"0\\n0\"",
    "[radio.variable.downlink.channel.trace_file]\ntrace = \"4294967296\"",
    "[radio.variable.downlink.channel.trace_file]\nfile = \"drive.trace\"",
    "[radio.variable.uplink.channel.trace_file]\nfile = \"drive.trace\"\ntrace = \"1\"",
    "[radio.variable.downlink.channel.trace_file]\nfile = 1",
    // Rate and delay, drawn.
    "[radio.dch.downlink.channel.distribution]",
    "[radio.variable.downlink]\nbuffer = \"per_flow\"",
    "[radio.variable.downlink]\nbuffer = \"own\"",
    "[radio.variable.downlink.channel.distribution]\nredraw = \"often\"",
    "[radio.variable.downlink.channel.distribution]\nredraw = \"10 us\"",
    "[radio.variable.downlink.channel.distribution]\norder = \"none\"",
    "[radio.variable.downlink.channel.distribution]\nrate.gamma = { mean = \"200 kbit/s\" }",
    "[radio.variable.downlink.channel.distribution]\nrate.constant = \"0 bit/s\"",
    "[radio.variable.downlink.channel.distribution]\nrate.uniform = { mean = \"200 kbit/s\", variance = \"50 kbit/s\" }",
    "[radio.variable.downlink.channel.distribution]\nrate.uniform = { mean = \"200 kbit/s\" }",
    "[radio.variable.downlink.channel.distribution]\nrate.uniform = { mean = \"200 kbit/s\", sd = \"116 kbit/s\" }",
    "[radio.variable.downlink.channel.distribution]\nrate.uniform = { mean = \"200 kbit/s\", sd = \"50 ms\" }",
    "[radio.variable.downlink.channel.distribution]\nrate.normal = { mean = \"0 bit/s\", sd = \"50 kbit/s\" }",
    "[radio.variable.downlink.channel.distribution]\nrate.lognormal = { mean = \"1 bit/s\", sd = \"10 bit/s\" }",
    "[radio.variable.downlink.channel.distribution]\nrate.poisson = { mean = \"1 kbit/s\", unit = \"2 kbit/s\" }",
    "[radio.variable.downlink.channel.distribution]\ndelay.normal = { mean = \"50 ms\", sd = \"-5 ms\" }",
    "[radio.variable.downlink.channel.distribution]\ndelay.exponential = { mean = \"0 s\" }",
    "[radio.variable.downlink.channel.distribution]\ndelay.exponential = \"50 ms\"",
    "[radio.variable.downlink.channel.distribution]\ndelay = \"50 ms\"",
    "[radio.variable.downlink.channel.distribution]\ndelay.poisson = { mean = \"50 ms\", unit = \"0 s\" }",
    "[radio.variable.downlink.channel.distribution]\ndelay.poisson = { mean = \"50 ms\", unit = \"10 ns\" }",
    "[radio.variable.downlink.channel.distribution]\ndelay.empirical = {}",
    "[radio.variable.downlink.channel.distribution]\ndelay.empirical = { values = \"\" }",
    "[radio.variable.downlink.channel.distribution]\ndelay.empirical = { values = \"10 ms\\n20\" }",
    "[radio.variable.downlink.channel.distribution]\ndelay.empirical = { values = \"10 ms\\n\\n20 ms\" }",
    "[radio.variable.downlink.channel.distribution]\nrate.empirical = { values = \"0 bit/s\" }",
    "[radio.variable.downlink.channel.distribution]\ndelay.empirical = { file = \"pings.txt\" }",
    "[radio.variable.downlink.channel.distribution]\ndelay.empirical = { file = \"pings.txt\", values = \"1 ms\" }",
    // Rates in turn.
    "[radio.variable.downlink.channel.switching]\nsteps = []",
    "[radio.variable.downlink.channel.switching]\nsteps = [{ rate = \"0 bit/s\", for = \"1 s\" }]",
    "[radio.variable.downlink.channel.switching]\nsteps = [{ rate = \"1 Mbit/s\", for = \"0 s\" }]",
    "[radio.variable.downlink.channel.switching]\nsteps = [{ rate = \"1 Mbit/s\" }]",
    // Series.
    "[radio.variable.uplink.channel.series]\nfile = \"drive.csv\"",
    "[radio.variable.uplink.channel.series]\nrows = \"\"",
    "[radio.variable.uplink.channel.series]\nrows = \"0,384\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps,jitter_ms\\n0,384,1\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps,rate_kbps\\n0,384,1\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,loss\\n0,0\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n0,384\\n1\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n0,fast\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n0,NaN\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n0,-5\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n0,0\\n1,0\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n1,384\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n0,384\\n2,64\\n1,384\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n0,384\\n0,64\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n0,384\\n\\n1,64\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps,loss\\n0,384,1.5\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps,delay_ms\\n0,384,-1\"",
    "[radio.variable.uplink.channel.series]\nrows = \"time_s,rate_kbps\\n0,384\\n5,64\"\nrepeat = \"5 s\"",
    // TCP.
    "[tcp]\nmss = \"0 B\"",
    "[tcp]\nmss = \"12 B\"\ntimestamps = true",
    "[tcp]\nmss = \"65496 B\"",
    "[tcp]\ninitial_window = 0",
    "[tcp]\ninitial_window = 101",
    "[tcp]\ninitial_ssthresh = \"2919 B\"",
    "[tcp]\nmax_window = 0",
    "[tcp]\ndupack_threshold = 0",
    "[tcp]\nreceive_buffer = \"1459 B\"",
    "[tcp]\nack_every = 0",
    "[tcp]\nack_every = 9",
    "[tcp]\nloss_window = 0",
    "[tcp]\necn = \"exact\"",
    "[tcp]\necn = 1",
    "[tcp]\ncc.dctcp = {}",
    "[tcp]\ncc.prague = {}\necn = true",
    "[tcp]\ncc.prague.virtual_rtt = \"0 s\"\necn = \"accurate\"",
    "[tcp]\ncc.dctcp.gain = 2.0\necn = \"accurate\"",
    "[tcp]\necn = \"accurate\"\nrnf = \"first_flagged\"",
    "[tcp]\necn = \"accurate\"\n[[middlebox]]\nrnc_feedback = {}",
    "[tcp]\nadaptive_dupack_threshold = true",
    "[tcp]\nrecovery.sack = {}",
    "[tcp]\nundo.eifel = {}",
    "[tcp]\nundo.dsack = {}",
    "[tcp]\nsack = true\ndsack = false\nundo.dsack = {}",
    "[tcp.rto]\ntimer = \"eifel_timer\"\ntick = \"100 ms\"",
    "[tcp.rto]\nmin = \"0 s\"",
    "[tcp.rto]\ninitial = \"0 s\"",
    "[tcp.rto]\nmax = \"500 ms\"",
    "[tcp.rto]\ninitial = \"3 s\"\nmax = \"2 s\"",
    "[tcp.rto]\nmin = \"3 s\"\nmax = \"2 s\"",
    "[tcp.rto]\ntick = \"0 ms\"",
    "[[flow]]\n[[flow]]\n[flow.tcp]\nack_every = 9",
    // Hand-overs, and boxes that act on them.
    "[[handover]]\nue = 1",
    "[[handover]]\noutage = \"0 s\"",
    "[[handover]]\nat = \"1 s\"\nwarning = \"2 s\"",
    "[[handover]]\nat = \"1 s\"\n[[handover]]\nat = \"1.5 s\"",
    "[[handover]]\nbearers = \"drop\"",
    "[radio.evdo]\n[[handover]]",
    "[[middlebox]]\nfreeze.at = \"rnc\"",
    "[[middlebox]]\nfreeze.connections = 0",
    "[[middlebox]]\nfreeze.copies = 0",
    "[[middlebox]]\nfreeze.hold = \"0 s\"",
    "[[middlebox]]\nsplit.handover = \"move\"",
    "[[middlebox]]\nsplit = { handover = \"transfer\", transfer_rate = \"0 bit/s\" }",
    "tcp.shrunk_window = \"freeze\"",
];

/// Overrides that are wrong, of [`ONE_FLOW`].
const WRONG_OVERRIDES: &[(&str, &str)] = &[
    // Paths.
    ("", "1"),
    (".", "1"),
    ("radio..ues", "1"),
    ("duration.seconds", "60"),
    ("radio.dch.ues.downlink", "2"),
    ("tcp.rto.min.value", "1 s"),
    ("flow.1.start", "1 s"),
    ("flow[1].start", "1 s"),
    ("flow[1]", "{}"),
    ("flow[-1].start", "1 s"),
    ("flow.first.start", "1 s"),
    ("middlebox.0.tap", "{}"),
    // Names.
    ("durations", "1 s"),
    ("radio.dch.downlink.queue.droptail.packet", "10"),
    ("radio.dhc.ues", "2"),
    ("tcp.recovery", "renno"),
    ("tcp.recovery.newrono", "{}"),
    ("tcp.recovery.reno.variant", "impatient"),
    ("flow[0].starts", "1 s"),
    ("flow[0].direction", "down"),
    // Values.
    ("duration", "60"),
    ("duration", "60 s extra"),
    ("flow[0].ue", "3"),
];

const ONE_FLOW: &str = "
duration = \"10 s\"

[radio.dch]
ues = 2

[tcp.recovery.newreno]
variant = \"slow_but_steady\"

[[flow]]
[flow.app.file]
size = \"1 kB\"
";

fn parse(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    try_parse(text, overrides).unwrap_or_else(|error| panic!("{error}, in:\n{text}"))
}

fn dch(scenario: &Scenario) -> &radio::dch::Config {
    match &scenario.radio {
        radio::Config::Dch(dch) => dch,
        other => panic!("not a cell of dedicated channels: {other:?}"),
    }
}

fn try_parse(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let owned = |&(path, value): &(&str, &str)| (path.to_owned(), value.to_owned());
    let overrides: Vec<_> = overrides.iter().map(owned).collect();
    Scenario::parse(text, &overrides).map_err(|error| error.to_string())
}

fn error(text: &str, overrides: &[(&str, &str)]) -> String {
    try_parse(text, overrides).err().unwrap_or_else(|| "NOT REFUSED".to_owned())
}

#[test]
fn every_error_names_the_key_and_what_would_be_right() {
    let mut lines = Vec::new();
    let mut tell = |case: String, error: String| lines.extend([case, format!("    {error}")]);
    for text in WRONG_WHOLE {
        let case = if text.is_empty() { "(empty)".to_owned() } else { text.replace('\n', " | ") };
        tell(case, error(text, &[]));
    }
    for text in WRONG {
        let flow = if text.contains("[[flow]]") { "" } else { "\n[[flow]]" };
        tell(text.replace('\n', " | "), error(&format!("{text}{flow}"), &[]));
    }
    for (path, value) in WRONG_OVERRIDES {
        tell(format!("--set '{path}={value}'"), error(ONE_FLOW, &[(path, value)]));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    duration
        line 1, column 9: not TOML: key with no value, expected `=`; see the bundled scenarios for examples
    [[flow]] | start = "1 s" | direction = downlink
        line 3, column 13: not TOML: string values must be quoted, expected literal string; see the bundled scenarios for examples
    [[flow]] | [[flow]
        line 2, column 8: not TOML: unclosed array table, expected `]`; see the bundled scenarios for examples
    duration = "1 s" | duration = "2 s" | [[flow]]
        line 2, column 1: not TOML: duplicate key; see the bundled scenarios for examples
    (empty)
        flow: nothing to send: the scenario has no flow; add [[flow]] with a ue, a direction and an app
    duration = "1 s"
        flow: nothing to send: the scenario has no flow; add [[flow]] with a ue, a direction and an app
    flow = []
        flow: nothing to send: the scenario has no flow; add [[flow]] with a ue, a direction and an app
    flow = 1
        flow: invalid type: integer `1`; write a list: in double brackets, such as [[flow]]
    [flow] | ue = 0
        flow: invalid type: table; write a list: in double brackets, such as [[flow]]
    durations = "60 s"
        durations: unknown key; did you mean duration?
    [wired] | delays = "60 ms"
        wired.delays: unknown key; did you mean delay?
    [wired.uplink] | rates = "1 Mbit/s"
        wired.uplink.rates: unknown key; did you mean rate?
    [wired.queue.droptail] | packet = 50
        wired.queue.droptail.packet: unknown key; did you mean packets?
    [radio.dch] | ue = 2
        radio.dch.ue: unknown key; did you mean ues?
    [radio.dch.downlink] | speed = "384 kbit/s"
        radio.dch.downlink.speed: unknown key; known here: rate, delay, queue, rlc, pdcp, channel
    [radio.dch.downlink.queue.droptail] | byte = "64 kB"
        radio.dch.downlink.queue.droptail.byte: unknown key; did you mean bytes?
    [radio.dch.downlink.rlc.fixed_delay_arq] | ttl = "20 ms"
        radio.dch.downlink.rlc.fixed_delay_arq.ttl: unknown key; did you mean tti?
    [radio.dch.downlink.rlc.none] | tti = "20 ms"
        radio.dch.downlink.rlc.none.tti: unknown key; there is nothing to set here
    [radio.dch.uplink.channel.bernoulli] | ber = "10 %"
        radio.dch.uplink.channel.bernoulli.ber: unknown key; did you mean bler?
    [tcp] | initial_windows = 2
        tcp.initial_windows: unknown key; did you mean initial_window?
    [tcp.rto] | minimum = "1 s"
        tcp.rto.minimum: unknown key; known here: timer, initial, min, max, tick
    [tcp.cc.westwood] | tau = "1 s"
        tcp.cc.westwood.tau: unknown key; known here: time_constant, silence_divisor
    [tcp.cc.westwood] | time_constant = "999 us"
        tcp.cc.westwood.time_constant: too short for a filter; write a time of at least 1 ms, such as "500 ms"
    [tcp.cc.westwood] | silence_divisor = 1
        tcp.cc.westwood.silence_divisor: a silence of the time constant over 1; write 2 to 1000
    [tcp.cc.westwood] | silence_divisor = 1001
        tcp.cc.westwood.silence_divisor: a silence of the time constant over 1001; write 2 to 1000
    [tcp.recovery.newreno] | variants = "impatient"
        tcp.recovery.newreno.variants: unknown key; did you mean variant?
    [tcp.recovery.reno] | variant = "impatient"
        tcp.recovery.reno.variant: unknown key; there is nothing to set here
    [[flow]] | [[flow]] | begin = "1 s"
        flow[1].begin: unknown key; known here: ue, over, multipath, direction, start, stop, stagger, encrypted, app, tcp
    [[flow]] | [flow.app.file] | sizes = "1 MB"
        flow[0].app.file.sizes: unknown key; did you mean size?
    [[flow]] | [flow.app.bulk] | size = "1 MB"
        flow[0].app.bulk.size: unknown key; there is nothing to set here
    [[flow]] | [flow.tcp.rto] | maxi = "1 s"
        flow[0].tcp.rto.maxi: unknown key; did you mean max?
    [[middlebox]] | [middlebox.tap] | x = 1
        middlebox[0].tap.x: unknown key; there is nothing to set here
    [radio.dch.downlink.channel.process.model.outages] | per_s = [0.1, 0.1, 0.1]
        radio.dch.downlink.channel.process.model.outages.per_s: invalid length 3; write an array of length 4
    [radio.dch.downlink.channel.process.model.outages] | per_s = [0.1, 0.1, 0.1, 0.1, 0.1]
        radio.dch.downlink.channel.process.model.outages.per_s: invalid length 5; write an array of length 4
    [radio.dhc]
        radio.dhc: unknown name; did you mean dch?
    [radio.dch.downlink.rlc.fixed_delay]
        radio.dch.downlink.rlc.fixed_delay: unknown name; did you mean fixed_delay_arq?
    [radio.dch.downlink.channel.bernouilli]
        radio.dch.downlink.channel.bernouilli: unknown name; did you mean bernoulli?
    [radio.dch.downlink.queue.droptial]
        radio.dch.downlink.queue.droptial: unknown name; did you mean droptail?
    [tcp.cc.renno]
        tcp.cc.renno: unknown name; did you mean reno?
    [tcp.recovery.new_reno]
        tcp.recovery.new_reno: unknown name; did you mean newreno?
    [[middlebox]] | [middlebox.tab]
        middlebox[0].tab: unknown name; did you mean tap?
    [[flow]] | [flow.app.files]
        flow[0].app.files: unknown name; did you mean file?
    [[flow]] | direction = "down"
        flow[0].direction: unknown name "down"; did you mean downlink?
    [tcp] | handshake = "two_way"
        tcp.handshake: unknown name "two_way"; known here: three_way, none, ttcp
    [tcp] | ip = "ipv5"
        tcp.ip: unknown name "ipv5"; did you mean ipv4?
    [radio.dch.downlink.rlc.fixed_delay_arq] | tie = "behind"
        radio.dch.downlink.rlc.fixed_delay_arq.tie: unknown name "behind"; known here: before, after, probability
    [tcp] | recovery = "renno"
        tcp.recovery.renno: unknown name; did you mean reno?
    [tcp.recovery]
        tcp.recovery: nothing is chosen; name one; `airpath list` shows what there is
    [tcp.recovery.reno] | [tcp.recovery.newreno]
        tcp.recovery: more than one is chosen; keep one of them
    [tcp] | recovery.reno = true
        tcp.recovery.reno: invalid type: boolean `true`; write a table, in braces or under its name in brackets
    duration = true
        duration: invalid type: boolean `true`; write a duration with its unit, such as "60 ms"
    duration = [1]
        duration: invalid type: list; write a duration with its unit, such as "60 ms"
    wired = 1979-05-27
        wired: invalid type: date or time; write a table, in braces or under its name in brackets
    duration = 1979-05-27
        duration: unknown unit "-05-27" in "1979-05-27"; use one of ns, us, ms, s, min, h
    radio.lte.downlink.reception.mean_sinr = true
        radio.lte.downlink.reception.mean_sinr: invalid type: boolean `true`; write a ratio in dB, such as "2.4 dB"
    radio.lte.downlink.reception.mean_sinr = 1.5
        radio.lte.downlink.reception.mean_sinr: missing unit; write "2.4 dB" or "-12.5 dB", not 1.5
    radio.lte.downlink.reception.mean_sinr = ["1 dB", 2]
        radio.lte.downlink.reception.mean_sinr[1]: missing unit; write "2.4 dB" or "-12.5 dB", not 2
    [tcp.cc.reno.variant] | linux = 1
        tcp.cc.reno.variant.linux: not a value that can be used here; write empty table
    wired = 1
        wired: invalid type: integer `1`; write a table, in braces or under its name in brackets
    wired = ["1 Mbit/s"]
        wired: invalid type: list; write a table, in braces or under its name in brackets
    radio = "dhc"
        radio.dhc: unknown name; did you mean dch?
    [radio.dch] | ues = "two"
        radio.dch.ues: invalid type: string "two"; write a whole number from 0 to 65535
    [radio.dch] | ues = 1.5
        radio.dch.ues: invalid type: floating point `1.5`; write a whole number from 0 to 65535
    [radio.dch] | ues = -1
        radio.dch.ues: invalid value: integer `-1`; write a whole number from 0 to 65535
    [radio.dch] | ues = 70000
        radio.dch.ues: invalid value: integer `70000`; write a whole number from 0 to 65535
    [tcp] | limited_transmit = "yes"
        tcp.limited_transmit: invalid type: string "yes"; write true or false
    [tcp] | limited_transmit = 1
        tcp.limited_transmit: invalid type: integer `1`; write true or false
    [tcp] | handshake = 3
        tcp.handshake: not a name; write one in quotes
    [tcp] | rto = "1 s"
        tcp.rto: invalid type: string "1 s"; write a table, in braces or under its name in brackets
    [[flow]] | ue = "all"
        flow[0].ue: not a UE; write its number, or "each"
    [[flow]] | ue = -1
        flow[0].ue: not a UE; write its number, or "each"
    [[flow]] | app = "bolk"
        flow[0].app.bolk: unknown name; did you mean bulk?
    [radio.dch.downlink.rlc.fixed_delay_arq] | tie = "probability"
        radio.dch.downlink.rlc.fixed_delay_arq.tie: "probability" is a key here, not a value; write tie.probability = {}, or what it needs instead of {}
    [radio.dch.downlink.rlc.fixed_delay_arq] | tie.probability = 2
        radio.dch.downlink.rlc.fixed_delay_arq.tie.probability: a probability is at most 1, not 2; did you mean "2 %"?
    [radio.dch.downlink.rlc.fixed_delay_arq] | max_transmissions = -1
        radio.dch.downlink.rlc.fixed_delay_arq.max_transmissions: invalid value: integer `-1`; write a whole number from 0 to 4294967295
    duration = 60
        duration: missing unit; write "60 ms" or "1.5 s", not 60
    duration = "60"
        duration: missing unit; write "60 ms" or "1.5 s", not 60
    duration = "60 kbit/s"
        duration: unknown unit "kbit/s" in "60 kbit/s"; use one of ns, us, ms, s, min, h
    duration = "1 minute"
        duration: unknown unit "minute" in "1 minute"; did you mean "1 min"?
    duration = "-1 s"
        duration: a duration cannot be negative: -1 s; write for example "60 ms"
    [wired] | rate = 100
        wired.rate: missing unit; write "384 kbit/s" or "7.2 Mbit/s", not 100
    [wired] | loss = 10
        wired.loss: a probability is at most 1, not 10; did you mean "10 %"?
    [wired] | loss = "-1 %"
        wired.loss: a probability cannot be negative: -1 %; write for example "10 %"
    [wired] | delay = -75
        wired.delay: a duration cannot be negative: -75; write for example "60 ms"
    [radio.dch.downlink] | rate = "384 kbps"
        radio.dch.downlink.rate: unknown unit "kbps" in "384 kbps"; did you mean "384 kbit/s"?
    [tcp] | mss = 1460
        tcp.mss: missing unit; write "64 kB" or "1500 B", not 1460
    [tcp] | mss = "1460 s"
        tcp.mss: unknown unit "s" in "1460 s"; use one of B, kB, KiB, MB, MiB, GB
    duration = "0 s"
        duration: the run would end at once; write a time such as "60 s"
    [wired] | rate = "0 bit/s"
        wired.rate: a link of rate zero never sends; write a positive rate such as "100 Mbit/s", or remove the key for no limit
    [wired.uplink] | rate = "0 bit/s"
        wired.uplink.rate: a link of rate zero never sends; write a positive rate such as "100 Mbit/s", or remove the key for no limit
    [radio.dch] | ues = 0
        radio.dch.ues: a cell needs at least one UE; write ues = 1
    [radio.dch.downlink] | rate = "0 bit/s"
        radio.dch.downlink.rate: a bearer of rate zero never sends; write a positive rate such as "384 kbit/s"
    [radio.dch.uplink] | rate = "0 kbit/s"
        radio.dch.uplink.rate: a bearer of rate zero never sends; write a positive rate such as "384 kbit/s"
    [radio.dch.downlink.queue.droptail] | packets = 0
        radio.dch.downlink.queue.droptail.packets: a buffer without room drops everything; write at least 1, or remove the key for no limit
    [radio.dch.uplink.queue.droptail] | bytes = "0 B"
        radio.dch.uplink.queue.droptail.bytes: a buffer without room drops everything; write a size such as "64 kB", or remove the key for no limit
    [wired.queue.droptail] | packets = 0
        wired.queue.droptail.packets: a buffer without room drops everything; write at least 1, or remove the key for no limit
    [wired.uplink.queue.droptail] | packets = 0
        wired.uplink.queue.droptail.packets: a buffer without room drops everything; write at least 1, or remove the key for no limit
    [[flow]] | [[flow]] | [flow.app.file] | size = "0 B"
        flow[1].app.file.size: a file of no bytes; write a size such as "1 MB"
    [[flow]] | [flow.app.cbr] | size = "47 B"
        flow[0].app.cbr.size: packets of 47 B cannot be sent; write a size from 48 B to 65535 B, headers included
    [[flow]] | [flow.app.cbr] | rate = "0 bit/s"
        flow[0].app.cbr.rate: nothing would be sent; write a positive rate such as "64 kbit/s"
    [[flow]] | [flow.app.cbr] | packets = 0
        flow[0].app.cbr.packets: nothing would be sent; write at least 1, or remove the key for no end
    [[flow]] | [flow.app.on_off] | on = "1 ms"
        flow[0].app.on_off.on: a burst shorter than a packet; write a time in which at least one packet is sent, such as "500 ms"
    [[flow]] | [flow.app.on_off] | times = "random"
        flow[0].app.on_off.times: unknown name "random"; known here: fixed, exponential
    [[flow]] | [flow.app.ping] | answer = "66 kB"
        flow[0].app.ping.answer: packets of 66 kB cannot be sent; write a size from 48 B to 65535 B, headers included
    [[flow]] | [flow.app.ping] | interval = "0 s"
        flow[0].app.ping.interval: all requests would leave at once; write a time such as "1 s"
    [[flow]] | [flow.app.video] | interval = "0 s"
        flow[0].app.video.interval: frames would never end; write a time such as "33.3 ms"
    [[flow]] | [flow.app.video] | rate = "100 bit/s"
        flow[0].app.video.rate: frames would be empty; write a rate of at least an octet in each interval, such as "1 Mbit/s"
    [[flow]] | [flow.app.video] | interval = "1000 h"
        flow[0].app.video.interval: a frame of 900 GB would have over 65536 packets; shorten it, lower rate, or raise size
    [[flow]] | [flow.app.arrivals] | [[middlebox]] | [middlebox.snoop] | [[change]] | at = "1 s" | set = { wired.rate = "1 Mbit/s" }
        flow[0].app.arrivals.connections: files would use connections again whose state a middlebox keeps; write a count of at most connections, or remove the middlebox
    [[flow]] | [flow.app.web] | request = "0 B"
        flow[0].app.web.request: nothing would be sent; write a size such as "300 B"
    [[flow]] | [flow.app.web] | page = "0 B"
        flow[0].app.web.page: nothing would be sent; write a size such as "300 B"
    [[flow]] | [flow.app.web] | object = "0 B"
        flow[0].app.web.object: nothing would be sent; write a size such as "300 B"
    [[flow]] | [flow.app.web] | objects = ["1 kB", "0 B"]
        flow[0].app.web.objects: an object of no bytes; write a size such as "10 kB"
    [[flow]] | [flow.app.web] | objects = ["1 kB", 7]
        flow[0].app.web.objects: neither a number of objects nor a list of their sizes; write 8, or ["10 kB"]
    [[flow]] | [flow.app.web] | objects = -1
        flow[0].app.web.objects: neither a number of objects nor a list of their sizes; write 8, or ["10 kB"]
    [[flow]] | [flow.app.web] | objects = 1001
        flow[0].app.web.objects: 1001 objects on a page; write at most 1000, or several flows
    [[flow]] | [flow.app.web] | parallel = 0
        flow[0].app.web.parallel: no object would be fetched; write at least 1, such as 4
    [[flow]] | [flow.app.web] | connections = "per_object" | pipelining = true
        flow[0].app.web.pipelining: a connection has one request only at a time; set connections = "persistent" and http = "1.1", or pipelining = false
    [[flow]] | [flow.app.web] | connections = "keep_alive"
        flow[0].app.web.connections: unknown name "keep_alive"; known here: persistent, per_object, pool
    [[flow]] | direction = "uplink" | app.web = {}
        flow[0].direction: a web page comes to the UE; write "downlink", or remove the key
    [[flow]] | ue = 1
        flow[0].ue: there is no UE 1: the cell has 1, counted from 0; raise the cell's number of UEs, or choose another
    [radio.dch] | ues = 2 | [[flow]] | ue = 1 | [[flow]] | ue = 2
        flow[1].ue: there is no UE 2: the cell has 2, counted from 0; raise the cell's number of UEs, or choose another
    [radio.dch.downlink.channel.bernoulli] | bler = 0.1
        radio.dch.downlink.channel: without a link layer nothing retransmits lost blocks; choose rlc.fixed_delay_arq, or remove the channel
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.bernoulli.bler = 1
        radio.dch.downlink.channel: every block is lost and retransmitted for ever; lower the block error rate, or set rlc.fixed_delay_arq.max_transmissions
    [radio.dch.downlink.rlc.fixed_delay_arq] | tti = "0 ms"
        radio.dch.downlink.rlc.fixed_delay_arq.tti: a slot of no length; write a TTI such as "20 ms"
    [radio.dch.downlink.rlc.fixed_delay_arq] | tti = "20 us"
        radio.dch.downlink.rlc.fixed_delay_arq.tti: a TTI of 20 us at 384 kbit/s carries less than one byte; lengthen the TTI or raise the rate
    [radio.dch.downlink.rlc.fixed_delay_arq] | pdu = "0 B"
        radio.dch.downlink.rlc.fixed_delay_arq.pdu: a PDU of no size; write a size such as "40 B", or remove the key
    [radio.dch.downlink.rlc.fixed_delay_arq] | pdu = "50 B"
        radio.dch.downlink.rlc.fixed_delay_arq.pdu: a TTI carries 960 B, which is no whole number of PDUs of 50 B; choose a size that divides the TTI, or remove the key
    [radio.dch.downlink.rlc.fixed_delay_arq] | pdu = "1920 B"
        radio.dch.downlink.rlc.fixed_delay_arq.pdu: a TTI carries 960 B, which is no whole number of PDUs of 1920 B; choose a size that divides the TTI, or remove the key
    [radio.dch.uplink.rlc.fixed_delay_arq] | max_transmissions = 0
        radio.dch.uplink.rlc.fixed_delay_arq.max_transmissions: nothing would ever be sent; write at least 1, or remove the key for no limit
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.markov_fading.bler = 0
        radio.dch.downlink.channel.markov_fading.bler: a channel that is always good or always bad; write a rate between 0 and 1, such as "10 %", or choose channel.bernoulli
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.markov_fading.bler = "100 %"
        radio.dch.downlink.channel.markov_fading.bler: a channel that is always good or always bad; write a rate between 0 and 1, such as "10 %", or choose channel.bernoulli
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.markov_fading.doppler = "0 Hz"
        radio.dch.downlink.channel.markov_fading.doppler: without Doppler shift nothing fades; write for example "1 Hz"
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.markov_fading.doppler = "200 kHz"
        radio.dch.downlink.channel.markov_fading.doppler: 2e3 cycles of 200 kHz in a step of 10 ms; write a shift with 1e-6 to 1000 cycles per step
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.markov_fading.step = "0 s"
        radio.dch.downlink.channel.markov_fading.step: a channel that fades needs a step; write the TTI of the bearer, such as "10 ms"
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.markov_fading.step = "100 ns"
        radio.dch.downlink.channel.markov_fading.doppler: 1e-7 cycles of 1 Hz in a step of 100 ns; write a shift with 1e-6 to 1000 cycles per step
    [radio.dch.downlink] | channel.markov_fading = {}
        radio.dch.downlink.channel: without a link layer nothing retransmits lost blocks; choose rlc.fixed_delay_arq, or remove the channel
    [radio.dch.downlink.channel.trace_file] | trace = "1"
        radio.dch.downlink.channel: a dedicated channel has a rate, and trace_file one of its own; choose radio.variable as the cell, or channel.bernoulli
    [radio.variable.uplink.channel.bernoulli]
        radio.variable.uplink.channel: bernoulli loses blocks, and here packets are sent whole; choose channel.trace_file, or radio.dch as the cell
    [radio.variable.downlink] | rate = "1 Mbit/s"
        radio.variable.downlink.rate: unknown key; known here: delay, queue, buffer, channel
    [radio.variable] | ues = 0
        radio.variable.ues: a cell needs at least one UE; write ues = 1
    [radio.variable.downlink.queue.droptail] | packets = 0
        radio.variable.downlink.queue.droptail.packets: a buffer without room drops everything; write at least 1, or remove the key for no limit
    [radio.variable.downlink.channel.trace_file] | files = "1"
        radio.variable.downlink.channel.trace_file.files: unknown key; did you mean file?
    [radio.variable.downlink.channel.trace_file] | accounting = "ip"
        radio.variable.downlink.channel.trace_file.accounting: unknown name "ip"; known here: ip_1500, tun_1504
    [radio.variable.downlink.channel.trace_file] | spacing = "random"
        radio.variable.downlink.channel.trace_file.spacing: unknown name "random"; known here: even, at_once
    [radio.variable.downlink.channel.trace_file] | once = 1
        radio.variable.downlink.channel.trace_file.once: invalid type: integer `1`; write true or false
    [radio.variable.downlink.channel.trace_file] | trace = 1
        radio.variable.downlink.channel.trace_file.trace: invalid type: integer `1`; write whole milliseconds, one in each line of a text
    [radio.variable.downlink.channel.trace_file] | trace = ""
        radio.variable.downlink.channel.trace_file.trace: the trace is empty; write whole milliseconds, one in each line
    [radio.variable.downlink.channel.trace_file] | trace = "1\n2\nx"
        radio.variable.downlink.channel.trace_file.trace: line 3: 'x' is not a whole number of milliseconds; write whole milliseconds, one in each line
    [radio.variable.downlink.channel.trace_file] | trace = "1\n\n"
        radio.variable.downlink.channel.trace_file.trace: line 2 is empty; write whole milliseconds, one in each line
    [radio.variable.downlink.channel.trace_file] | trace = "2\n1"
        radio.variable.downlink.channel.trace_file.trace: line 2: 1 is before 2, the time in the line above; write the times in their order
    [radio.variable.downlink.channel.trace_file] | trace = "0\n0"
        radio.variable.downlink.channel.trace_file.trace: the trace ends at 0, so it has no length; write a last line above 0
    [radio.variable.downlink.channel.trace_file] | trace = "4294967296"
        radio.variable.downlink.channel.trace_file.trace: line 1: more milliseconds than a trace can have; write times up to 4294967295
    [radio.variable.downlink.channel.trace_file] | file = "drive.trace"
        radio.variable.downlink.channel.trace_file.file: 'drive.trace' is not read here; write its text, under the key trace
    [radio.variable.uplink.channel.trace_file] | file = "drive.trace" | trace = "1"
        radio.variable.uplink.channel.trace_file: has both a file and a trace; keep one of them
    [radio.variable.downlink.channel.trace_file] | file = 1
        radio.variable.downlink.channel.trace_file.file: invalid type: integer `1`; write a string
    [radio.dch.downlink.channel.distribution]
        radio.dch.downlink.channel: a dedicated channel has a rate, and distribution one of its own; choose radio.variable as the cell, or channel.bernoulli
    [radio.variable.downlink] | buffer = "per_flow"
        radio.variable.downlink.buffer: packets share the opportunities of trace_file in one line; write "shared", or choose channel.distribution
    [radio.variable.downlink] | buffer = "own"
        radio.variable.downlink.buffer: unknown name "own"; known here: shared, per_flow
    [radio.variable.downlink.channel.distribution] | redraw = "often"
        radio.variable.downlink.channel.distribution.redraw: neither "packet" nor an interval; write "packet", or "100 ms"
    [radio.variable.downlink.channel.distribution] | redraw = "10 us"
        radio.variable.downlink.channel.distribution.redraw: 10 us is too short an interval; write at least "1 ms"
    [radio.variable.downlink.channel.distribution] | order = "none"
        radio.variable.downlink.channel.distribution.order: unknown name "none"; known here: kept, free
    [radio.variable.downlink.channel.distribution] | rate.gamma = { mean = "200 kbit/s" }
        radio.variable.downlink.channel.distribution.rate.gamma: unknown name; known here: constant, uniform, exponential, normal, lognormal, poisson, pareto, empirical
    [radio.variable.downlink.channel.distribution] | rate.constant = "0 bit/s"
        radio.variable.downlink.channel.distribution.rate.constant: is zero; write a positive value such as "200 kbit/s"
    [radio.variable.downlink.channel.distribution] | rate.uniform = { mean = "200 kbit/s", variance = "50 kbit/s" }
        radio.variable.downlink.channel.distribution.rate.uniform.variance: unknown key; known here: mean, sd
    [radio.variable.downlink.channel.distribution] | rate.uniform = { mean = "200 kbit/s" }
        radio.variable.downlink.channel.distribution.rate.uniform.sd: is missing; write it: there is no default
    [radio.variable.downlink.channel.distribution] | rate.uniform = { mean = "200 kbit/s", sd = "116 kbit/s" }
        radio.variable.downlink.channel.distribution.rate.uniform.sd: the range, mean +- sqrt(3) sd, reaches below 1 bit/s; write at most "115469 bit/s", or raise the mean
    [radio.variable.downlink.channel.distribution] | rate.uniform = { mean = "200 kbit/s", sd = "50 ms" }
        radio.variable.downlink.channel.distribution.rate.uniform.sd: unknown unit "ms" in "50 ms"; use one of bit/s, kbit/s, Mbit/s, Gbit/s
    [radio.variable.downlink.channel.distribution] | rate.normal = { mean = "0 bit/s", sd = "50 kbit/s" }
        radio.variable.downlink.channel.distribution.rate.normal.mean: is zero; write a positive value such as "200 kbit/s"
    [radio.variable.downlink.channel.distribution] | rate.lognormal = { mean = "1 bit/s", sd = "10 bit/s" }
        radio.variable.downlink.channel.distribution.rate.lognormal: a rate below 1 bit/s in more than half of the draws; raise the mean, or lower the spread
    [radio.variable.downlink.channel.distribution] | rate.poisson = { mean = "1 kbit/s", unit = "2 kbit/s" }
        radio.variable.downlink.channel.distribution.rate.poisson: a rate below 1 bit/s in more than half of the draws; raise the mean, or lower the spread
    [radio.variable.downlink.channel.distribution] | delay.normal = { mean = "50 ms", sd = "-5 ms" }
        radio.variable.downlink.channel.distribution.delay.normal.sd: a duration cannot be negative: -5 ms; write for example "60 ms"
    [radio.variable.downlink.channel.distribution] | delay.exponential = { mean = "0 s" }
        radio.variable.downlink.channel.distribution.delay.exponential.mean: is zero; write a positive value such as "50 ms"
    [radio.variable.downlink.channel.distribution] | delay.exponential = "50 ms"
        radio.variable.downlink.channel.distribution.delay.exponential: invalid type: string "50 ms"; write a table, in braces or under its name in brackets
    [radio.variable.downlink.channel.distribution] | delay = "50 ms"
        radio.variable.downlink.channel.distribution.delay: unknown name "50 ms"; known here: constant, uniform, exponential, normal, lognormal, poisson, pareto, empirical
    [radio.variable.downlink.channel.distribution] | delay.poisson = { mean = "50 ms", unit = "0 s" }
        radio.variable.downlink.channel.distribution.delay.poisson.unit: is zero; write a positive value such as "50 ms"
    [radio.variable.downlink.channel.distribution] | delay.poisson = { mean = "50 ms", unit = "10 ns" }
        radio.variable.downlink.channel.distribution.delay.poisson.unit: the mean is more than 1000000 of it; write a larger unit, or choose normal
    [radio.variable.downlink.channel.distribution] | delay.empirical = {}
        radio.variable.downlink.channel.distribution.delay.empirical: has no values; write values = "50 ms", with more in further lines
    [radio.variable.downlink.channel.distribution] | delay.empirical = { values = "" }
        radio.variable.downlink.channel.distribution.delay.empirical.values: the list is empty; write a value with its unit in each line, such as 50 ms
    [radio.variable.downlink.channel.distribution] | delay.empirical = { values = "10 ms\n20" }
        radio.variable.downlink.channel.distribution.delay.empirical.values: line 2: missing unit; write "60 ms" or "1.5 s", not 20
    [radio.variable.downlink.channel.distribution] | delay.empirical = { values = "10 ms\n\n20 ms" }
        radio.variable.downlink.channel.distribution.delay.empirical.values: line 2: is empty; write a value with its unit in each line, such as 50 ms
    [radio.variable.downlink.channel.distribution] | rate.empirical = { values = "0 bit/s" }
        radio.variable.downlink.channel.distribution.rate.empirical.values: line 1: 0 bit/s is below 1 bit/s; write a value with its unit in each line, such as 200 kbit/s
    [radio.variable.downlink.channel.distribution] | delay.empirical = { file = "pings.txt" }
        radio.variable.downlink.channel.distribution.delay.empirical.file: 'pings.txt' is not read here; write its text, under the key values
    [radio.variable.downlink.channel.distribution] | delay.empirical = { file = "pings.txt", values = "1 ms" }
        radio.variable.downlink.channel.distribution.delay.empirical: has both a file and a list of values; keep one of them
    [radio.variable.downlink.channel.switching] | steps = []
        radio.variable.downlink.channel.switching.steps: a link without a positive rate never sends; write steps = [{ rate = "384 kbit/s", for = "1 s" }], or more of them
    [radio.variable.downlink.channel.switching] | steps = [{ rate = "0 bit/s", for = "1 s" }]
        radio.variable.downlink.channel.switching.steps: a link without a positive rate never sends; write steps = [{ rate = "384 kbit/s", for = "1 s" }], or more of them
    [radio.variable.downlink.channel.switching] | steps = [{ rate = "1 Mbit/s", for = "0 s" }]
        radio.variable.downlink.channel.switching.steps[0].for: 0 s is too short a step; write at least "1 ms"
    [radio.variable.downlink.channel.switching] | steps = [{ rate = "1 Mbit/s" }]
        radio.variable.downlink.channel.switching.steps[0].for: is missing; write it: there is no default
    [radio.variable.uplink.channel.series] | file = "drive.csv"
        radio.variable.uplink.channel.series.file: 'drive.csv' is not read here; write its text, under the key rows
    [radio.variable.uplink.channel.series] | rows = ""
        radio.variable.uplink.channel.series.rows: the series is empty; write a first line of time_s and rate_kbps, and of delay_ms and loss where they are known
    [radio.variable.uplink.channel.series] | rows = "0,384"
        radio.variable.uplink.channel.series.rows: line 1: unknown column '0'; write a first line of time_s and rate_kbps, and of delay_ms and loss where they are known
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps"
        radio.variable.uplink.channel.series.rows: the series has no line but the names of its columns; write at least one more
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps,jitter_ms\n0,384,1"
        radio.variable.uplink.channel.series.rows: line 1: unknown column 'jitter_ms'; write a first line of time_s and rate_kbps, and of delay_ms and loss where they are known
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps,rate_kbps\n0,384,1"
        radio.variable.uplink.channel.series.rows: line 1: column rate_kbps twice; write each column once
    [radio.variable.uplink.channel.series] | rows = "time_s,loss\n0,0"
        radio.variable.uplink.channel.series.rows: line 1: no column rate_kbps; write a first line of time_s and rate_kbps, and of delay_ms and loss where they are known
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n0,384\n1"
        radio.variable.uplink.channel.series.rows: line 3: not 2 fields but 1; write a number for each column
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n0,fast"
        radio.variable.uplink.channel.series.rows: line 2: 'fast' in column rate_kbps; write a rate in kbit/s, 0 for an outage
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n0,NaN"
        radio.variable.uplink.channel.series.rows: line 2: 'NaN' in column rate_kbps; write a rate in kbit/s, 0 for an outage
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n0,-5"
        radio.variable.uplink.channel.series.rows: line 2: '-5' in column rate_kbps; write a rate in kbit/s, 0 for an outage
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n0,0\n1,0"
        radio.variable.uplink.channel.series.rows: a link without a positive rate never sends; write a rate above 0 in some line
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n1,384"
        radio.variable.uplink.channel.series.rows: line 2: the series begins at 1 s; write 0 as its first time
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n0,384\n2,64\n1,384"
        radio.variable.uplink.channel.series.rows: line 4: 1 s is not after 2 s, the time in the line above; write the times in their order, each once
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n0,384\n0,64"
        radio.variable.uplink.channel.series.rows: line 3: 0 s is not after 0 s, the time in the line above; write the times in their order, each once
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n0,384\n\n1,64"
        radio.variable.uplink.channel.series.rows: line 3: is empty; write a row in each line
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps,loss\n0,384,1.5"
        radio.variable.uplink.channel.series.rows: line 2: '1.5' in column loss; write a probability from 0 to 1
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps,delay_ms\n0,384,-1"
        radio.variable.uplink.channel.series.rows: line 2: '-1' in column delay_ms; write a delay in milliseconds
    [radio.variable.uplink.channel.series] | rows = "time_s,rate_kbps\n0,384\n5,64" | repeat = "5 s"
        radio.variable.uplink.channel.series.repeat: the last line of the series begins at 5 s; write a later time, or remove the key
    [tcp] | mss = "0 B"
        tcp.mss: segments of 0 B cannot be sent; write a size from 1 B (13 B with timestamps) to 65495 B
    [tcp] | mss = "12 B" | timestamps = true
        tcp.mss: segments of 12 B cannot be sent; write a size from 1 B (13 B with timestamps) to 65495 B
    [tcp] | mss = "65496 B"
        tcp.mss: segments of 65496 B cannot be sent; write a size from 1 B (13 B with timestamps) to 65495 B
    [tcp] | initial_window = 0
        tcp.initial_window: an initial window of 0 segments; write 1 to 100 (10 in RFC 6928)
    [tcp] | initial_window = 101
        tcp.initial_window: an initial window of 101 segments; write 1 to 100 (10 in RFC 6928)
    [tcp] | initial_ssthresh = "2919 B"
        tcp.initial_ssthresh: below two segments; write at least twice the MSS
    [tcp] | max_window = 0
        tcp.max_window: a window of no segments; write at least 1, or remove the key
    [tcp] | dupack_threshold = 0
        tcp.dupack_threshold: every ACK would be a loss; write 3 (RFC 5681)
    [tcp] | receive_buffer = "1459 B"
        tcp.receive_buffer: its window of 1459 B is below one segment of 1460 B; write a buffer of several segments, such as "64 kB"
    [tcp] | ack_every = 0
        tcp.ack_every: an ACK every 0 segments; write 1 or 2 (RFC 5681), or up to 8
    [tcp] | ack_every = 9
        tcp.ack_every: an ACK every 9 segments; write 1 or 2 (RFC 5681), or up to 8
    [tcp] | loss_window = 0
        tcp.loss_window: a window of no segments; write 1 (RFC 5681)
    [tcp] | ecn = "exact"
        tcp.ecn: invalid value: string "exact"; write true, false, "accurate" or "accurate_flags"
    [tcp] | ecn = 1
        tcp.ecn: invalid type: integer `1`; write true, false, "accurate" or "accurate_flags"
    [tcp] | cc.dctcp = {}
        tcp.cc: dctcp needs the number of ECN marks per ACK; set tcp.ecn = "accurate", or choose tcp.profile = "linux-prague"
    [tcp] | cc.prague = {} | ecn = true
        tcp.cc: prague needs the number of ECN marks per ACK; set tcp.ecn = "accurate", or choose tcp.profile = "linux-prague"
    [tcp] | cc.prague.virtual_rtt = "0 s" | ecn = "accurate"
        tcp.cc.prague.virtual_rtt: no round takes no time; write "25 ms", or "1 us" for none
    [tcp] | cc.dctcp.gain = 2.0 | ecn = "accurate"
        tcp.cc.dctcp.gain: 2 is no weight; write a number above 0, at most 1 (0.0625 in RFC 8257)
    [tcp] | ecn = "accurate" | rnf = "first_flagged"
        tcp.rnf: accurate ECN counts marks in the bit of the feedback; write off, or tcp.ecn = true
    [tcp] | ecn = "accurate" | [[middlebox]] | rnc_feedback = {}
        middlebox[0].rnc_feedback: the box flags losses in a bit with which accurate ECN counts marks; write tcp.ecn = true or false, or remove the box
    [tcp] | adaptive_dupack_threshold = true
        tcp.adaptive_dupack_threshold: nothing tells a spurious one; choose tcp.undo.eifel or tcp.undo.dsack
    [tcp] | recovery.sack = {}
        tcp.recovery: sack requires the SACK option; set tcp.sack = true
    [tcp] | undo.eifel = {}
        tcp.undo: eifel compares timestamps; set tcp.timestamps = true
    [tcp] | undo.dsack = {}
        tcp.undo: dsack reads reports of duplicates; set tcp.sack and tcp.dsack
    [tcp] | sack = true | dsack = false | undo.dsack = {}
        tcp.undo: dsack reads reports of duplicates; set tcp.sack and tcp.dsack
    [tcp.rto] | timer = "eifel_timer" | tick = "100 ms"
        tcp.rto.timer: the Eifel timer has an exact clock; remove tick, or choose timer = "rfc6298"
    [tcp.rto] | min = "0 s"
        tcp.rto.min: a timeout of no length; write a time such as "1 s"
    [tcp.rto] | initial = "0 s"
        tcp.rto.initial: a timeout of no length; write a time such as "1 s"
    [tcp.rto] | max = "500 ms"
        tcp.rto.max: 500 ms is too short; write a maximum of at least the minimum and the initial value
    [tcp.rto] | initial = "3 s" | max = "2 s"
        tcp.rto.max: 2 s is too short; write a maximum of at least the minimum and the initial value
    [tcp.rto] | min = "3 s" | max = "2 s"
        tcp.rto.max: 2 s is too short; write a maximum of at least the minimum and the initial value
    [tcp.rto] | tick = "0 ms"
        tcp.rto.tick: a clock that never ticks; write a time such as "100 ms", or remove the key for exact times
    [[flow]] | [[flow]] | [flow.tcp] | ack_every = 9
        flow[1].tcp.ack_every: an ACK every 9 segments; write 1 or 2 (RFC 5681), or up to 8
    [[handover]] | ue = 1
        handover[0].ue: there is no UE 1: the cell has 1, counted from 0; raise the cell's number of UEs, or choose another
    [[handover]] | outage = "0 s"
        handover[0].outage: an outage of no length; write a time such as "1 s"
    [[handover]] | at = "1 s" | warning = "2 s"
        handover[0].warning: the UE would know 2 s before the outage, earlier than the run begins; write a time of at most `at`
    [[handover]] | at = "1 s" | [[handover]] | at = "1.5 s"
        handover[1].at: the outage of UE 0 from 1.5 s to 2.5 s overlaps another from 1 s to 2 s; let one begin when the other has ended, or later
    [[handover]] | bearers = "drop"
        handover[0].bearers: unknown name "drop"; known here: pause, lose, release
    [radio.evdo] | [[handover]]
        handover: radio.evdo has no hand-overs; choose radio.dch as the cell, or remove them
    [[middlebox]] | freeze.at = "rnc"
        middlebox[0].freeze.at: unknown name "rnc"; known here: network, ue
    [[middlebox]] | freeze.connections = 0
        middlebox[0].freeze.connections: the box could freeze nothing; write at least 1
    [[middlebox]] | freeze.copies = 0
        middlebox[0].freeze.copies: a frozen sender would never learn the true window; write 3, or at least 1
    [[middlebox]] | freeze.hold = "0 s"
        middlebox[0].freeze.hold: an ACK withheld for no time; write a time such as "200 ms", or withhold = false
    [[middlebox]] | split.handover = "move"
        middlebox[0].split.handover: unknown name "move"; did you mean lose?
    [[middlebox]] | split = { handover = "transfer", transfer_rate = "0 bit/s" }
        middlebox[0].split.transfer_rate: state would never arrive; write a positive rate such as "10 Mbit/s"
    tcp.shrunk_window = "freeze"
        tcp.shrunk_window: unknown name "freeze"; known here: persist, persist_and_go_back, retransmit
    --set '=1'
        not a path of keys; write --set path.to.key=value, such as --set radio.dch.ues=2
    --set '.=1'
        .: not a path of keys; write --set path.to.key=value, such as --set radio.dch.ues=2
    --set 'radio..ues=1'
        radio..ues: not a path of keys; write --set path.to.key=value, such as --set radio.dch.ues=2
    --set 'duration.seconds=60'
        duration.seconds: duration is no table; write --set path.to.key=value, such as --set radio.dch.ues=2
    --set 'radio.dch.ues.downlink=2'
        radio.dch.ues.downlink: ues is no table; write --set path.to.key=value, such as --set radio.dch.ues=2
    --set 'tcp.rto.min.value=1 s'
        tcp.rto.min: invalid type: table; write a duration with its unit, such as "60 ms"
    --set 'flow.1.start=1 s'
        flow.1.start: there is no flow[1]: the list has 1, counted from 0; write flow[0]
    --set 'flow[1].start=1 s'
        flow[1].start: there is no flow[1]: the list has 1, counted from 0; write flow[0]
    --set 'flow[1]={}'
        flow[1]: there is no flow[1]: the list has 1, counted from 0; write flow[0]
    --set 'flow[-1].start=1 s'
        flow[-1]: unknown key; known here: duration, way, cell, ue, wired, middlebox, radio, umts, handover, mobility, change, tcp, flow
    --set 'flow.first.start=1 s'
        flow[0].first: unknown key; known here: ue, over, multipath, direction, start, stop, stagger, encrypted, app, tcp
    --set 'middlebox.0.tap={}'
        middlebox.0.tap: there is no middlebox[0]: the list has 0, counted from 0; add [[middlebox]] to the scenario
    --set 'durations=1 s'
        durations: unknown key; did you mean duration?
    --set 'radio.dch.downlink.queue.droptail.packet=10'
        radio.dch.downlink.queue.droptail.packet: unknown key; did you mean packets?
    --set 'radio.dhc.ues=2'
        radio.dhc: unknown name; did you mean dch?
    --set 'tcp.recovery=renno'
        tcp.recovery.renno: unknown name; did you mean reno?
    --set 'tcp.recovery.newrono={}'
        tcp.recovery.newrono: unknown name; did you mean newreno?
    --set 'tcp.recovery.reno.variant=impatient'
        tcp.recovery.reno: recovery is newreno here, not reno; to replace newreno, set tcp.recovery = "reno" as well
    --set 'flow[0].starts=1 s'
        flow[0].starts: unknown key; did you mean start?
    --set 'flow[0].direction=down'
        flow[0].direction: unknown name "down"; did you mean downlink?
    --set 'duration=60'
        duration: missing unit; write "60 ms" or "1.5 s", not 60
    --set 'duration=60 s extra'
        duration: unknown unit "s extra" in "60 s extra"; use one of ns, us, ms, s, min, h
    --set 'flow[0].ue=3'
        flow[0].ue: there is no UE 3: the cell has 2, counted from 0; raise the cell's number of UEs, or choose another
    "#);
}

// What is right.

/// The same values together with others that make them meaningful.
#[test]
fn what_can_work_is_not_refused() {
    for text in [
        // No limit but one of transmissions.
        "[radio.dch.downlink]\nrlc.fixed_delay_arq.max_transmissions = 1\nchannel.bernoulli.bler = 1",
        "[radio.dch.downlink]\nrlc.none = {}\nchannel.bernoulli.bler = 0",
        // No packet can wait, but an idle transmitter accepts one.
        "[radio.dch.downlink.queue.droptail]\npackets = 0\nin_service = \"excluded\"",
        "[radio.dch.downlink.rlc.fixed_delay_arq]\npdu = \"960 B\"",
        "[radio.dch.downlink.rlc.fixed_delay_arq]\nretransmission_delay = \"0 s\"",
        "[tcp]\nmss = \"13 B\"\ntimestamps = true",
        // A name may stand as a table with nothing in it.
        "[tcp.cc.reno.variant.linux]",
        "[tcp]\ninitial_window = 10",
        "[tcp]\nreceive_buffer = \"1460 B\"",
        "[tcp]\nmss = \"65495 B\"",
        "[tcp]\ninitial_ssthresh = \"2920 B\"",
        "[tcp]\nsack = true\nundo.dsack = {}\nadaptive_dupack_threshold = true",
        "[tcp.rto]\nmin = \"60 s\"",
        "[tcp.rto]\ninitial = \"60 s\"",
        "[tcp.cc.westwood]\ntime_constant = \"1 ms\"\nsilence_divisor = 1000",
        "[tcp.cc.westwood]\nsilence_divisor = 2",
        "[wired]\nloss = \"100 %\"",
    ] {
        assert_reads_back(&parse(&format!("{text}\n[[flow]]\n"), &[]));
    }
}

/// TS 36.322 (7.3): t-Reordering waits for what HARQ repeats. Where it repeats nothing, a gap is a loss at once.
#[test]
fn t_reordering_may_be_zero_where_harq_sends_each_block_once() {
    let text = |rlc: &str| {
        format!(
            "[radio.lte]\ndownlink = {{ harq.max_transmissions = 1, rlc.{rlc}.t_reordering = \"0 ms\" }}\n\
             uplink = {{ max_transmissions = 1, bler = \"5 %\", rlc.{rlc}.t_reordering = \"0 ms\" }}\n\
             [tcp]\nprofile = \"linux\"\n[[flow]]\napp.file.size = \"200 kB\"\n"
        )
    };
    for rlc in ["am_lte", "um_lte"] {
        let mut simulation = Simulation::new(&parse(&text(rlc), &[]), 1, Observe::default());
        simulation.run();
        let results = simulation.results();
        assert!(results.complete, "{rlc}: {} s", results.simulated_s);
        for (key, direction) in
            [("downlink.harq.max_transmissions", "downlink"), ("uplink.max_transmissions", "uplink")]
        {
            let says = error(&text(rlc), &[(&format!("radio.lte.{key}"), "2")]);
            let expected =
                format!("radio.lte.{direction}.rlc.{rlc}.t_reordering: is zero, so that every transport");
            assert!(says.starts_with(&expected), "{says}");
        }
    }
}

#[test]
fn an_override_takes_toml_or_a_bare_word() {
    let scenario = parse(
        ONE_FLOW,
        &[
            ("duration", "90 s"),
            ("radio.dch.downlink.rate", "128 kbit/s"),
            ("radio.dch.uplink.rate", "\"32 kbit/s\""),
            ("radio.dch.ues", "3"),
            ("tcp.limited_transmit", "false"),
            ("tcp.handshake", "none"),
            ("tcp.rto", "{ min = \"200 ms\" }"),
            ("flow.0.ue", "each"),
        ],
    );
    assert_eq!(scenario.duration, Duration::from_secs(90));
    let dch = dch(&scenario);
    assert_eq!(dch.downlink.rate, Bitrate::from_bps(128_000));
    assert_eq!(dch.uplink.rate, Bitrate::from_bps(32_000));
    assert_eq!(dch.ues, 3);
    assert!(!scenario.tcp.limited_transmit);
    assert_eq!(scenario.tcp.handshake, Handshake::None);
    assert_eq!(scenario.tcp.rto.min, Duration::from_millis(200));
    assert_eq!(scenario.flow[0].ue, UeChoice::Each(Each::Each));
}

#[test]
fn a_flow_is_counted_with_a_dot_or_in_brackets() {
    let two = format!("{ONE_FLOW}\n[[flow]]\nue = 1\n");
    for (first, second) in [("flow.0.start", "flow.1.start"), ("flow[0].start", "flow[1].start")] {
        let scenario = parse(&two, &[(first, "1 s"), (second, "2 s")]);
        let starts: Vec<_> = scenario.flow.iter().map(|flow| flow.start).collect();
        assert_eq!(starts, [Duration::from_secs(1), Duration::from_secs(2)]);
    }
}

#[test]
fn an_override_may_replace_a_whole_flow() {
    for path in ["flow.0", "flow[0]"] {
        let scenario = parse(ONE_FLOW, &[(path, "{ ue = 1, direction = \"uplink\" }")]);
        assert_eq!((scenario.flow.len(), scenario.flow[0].direction), (1, Dir::Uplink));
        assert_eq!(scenario.flow[0].app.name(), "bulk", "nothing is left of the old flow");
    }
}

#[test]
fn an_override_replaces_a_component_or_changes_it() {
    let changed = parse(ONE_FLOW, &[("tcp.recovery.newreno.variant", "impatient")]).tcp.recovery;
    let impatient = tcp::recovery::newreno::Config { variant: Variant::Impatient, max_reordering: None };
    assert_eq!(changed, tcp::recovery::Config::Newreno(impatient));
    for (path, value) in [("tcp.recovery.reno", "{}"), ("tcp.recovery", "{ reno = {} }")] {
        assert_eq!(parse(ONE_FLOW, &[(path, value)]).tcp.recovery.name(), "reno");
    }
    // A key needs its component to be in use, or to be named.
    let named = ("radio.dch.downlink.rlc", "fixed_delay_arq");
    let limit = "radio.dch.downlink.rlc.fixed_delay_arq.max_transmissions";
    assert!(try_parse(ONE_FLOW, &[(limit, "4")]).is_err());
    let limited = parse(ONE_FLOW, &[named, (limit, "4")]);
    let rlc::Config::FixedDelayArq(arq) = &dch(&limited).downlink.rlc else { panic!("{limited:?}") };
    assert_eq!(arq.max_transmissions, Some(4));
    // The later override counts.
    let none = parse(ONE_FLOW, &[named, (limit, "4"), ("radio.dch.downlink.rlc.none", "{}")]);
    assert_eq!(dch(&none).downlink.rlc.name(), "none");
    assert_eq!(parse(ONE_FLOW, &[("flow.0.app.bulk", "{}")]).flow[0].app.name(), "bulk");
}

#[test]
fn a_flow_inherits_what_its_tcp_does_not_say() {
    let text = "
[tcp]
mss = \"536 B\"
ack_every = 1
rto = { min = \"200 ms\", tick = \"100 ms\" }
recovery.newreno = { variant = \"slow_but_steady\" }

[[flow]]

[[flow]]
[flow.tcp]
initial_window = 2
rto.tick = \"10 ms\"
recovery.reno = {}
";
    let scenario = parse(text, &[("tcp.timestamps", "true")]);
    assert!(scenario.tcp.timestamps, "an override of [tcp] holds for every flow");
    assert_eq!(scenario.flow[0].tcp, None);
    let mut expected = scenario.tcp.clone();
    expected.initial_window = 2;
    expected.rto.tick = Some(Duration::from_millis(10));
    expected.recovery = tcp::recovery::Config::Reno(tcp::recovery::reno::Config {});
    assert_eq!(scenario.flow[1].tcp, Some(expected));
    assert_eq!(scenario.tcp.mss, Bytes::from_bytes(536));
    assert_reads_back(&scenario);
}

fn assert_reads_back(scenario: &Scenario) {
    let resolved = scenario.to_toml().unwrap();
    let again = parse(&resolved, &[]);
    assert_eq!(&again, scenario, "{resolved}");
    assert_eq!(again.to_toml().unwrap(), resolved);
}

#[test]
fn every_bundled_scenario_reads_back_from_its_resolved_form() {
    assert!(BUNDLED.len() >= 4, "only {} scenarios were found", BUNDLED.len());
    for (_, text) in BUNDLED {
        assert_reads_back(&parse(text, &[]));
    }
}

/// Each component is chosen by its name alone, with its defaults, and reads back.
#[test]
fn every_component_stands_in_a_scenario_by_its_name() {
    fn check<T: Serialize>(path: &str, names: &[&str], defaults: &[T]) {
        assert_eq!(names.len(), defaults.len());
        for (name, default) in names.iter().zip(defaults) {
            // Link layers that go by TTIs do so in both directions.
            let by_ttis = path.ends_with("rlc") && !["none", "fixed_delay_arq"].contains(name);
            let downlink = if by_ttis { name } else { "fixed_delay_arq" };
            let link_layer = format!("radio.dch.downlink.rlc.{downlink}");
            // Other channels than those of blocks have a cell of their own; those may need a link layer.
            let is_of_blocks =
                !path.ends_with("channel") || ["bernoulli", "markov_fading", "rayleigh"].contains(name);
            let cell = match (path.starts_with("radio.evdo"), is_of_blocks) {
                (true, _) => "radio.evdo",
                (false, true) => link_layer.as_str(),
                (false, false) => "radio.variable",
            };
            let path = if is_of_blocks { path.to_owned() } else { path.replace("dch", "variable") };
            let key = format!("{path}.{name}");
            let text = format!("{ONE_FLOW}\n[[middlebox]]\ntap = {{}}\n");
            // Some loss recoveries require an option of TCP.
            let options = [("tcp.sack", "true"), ("tcp.timestamps", "true")];
            // Some boxes require a buffer with a limit.
            let buffer = ("radio.dch.downlink.queue.droptail.packets", "50");
            // Some congestion controls need to know the losses, or the number of marks.
            let more: &[(&str, &str)] = match path.split('.').next() {
                Some("middlebox") => &[buffer],
                Some("tcp") if path == "tcp.cc" => &[("tcp.recovery", "rack"), ("tcp.ecn", "accurate")],
                _ => &[],
            };
            let asked = [(cell, "{}"), (key.as_str(), "{}")];
            let scenario = parse(&text, &[&options[..], more, &asked].concat());
            let written = serde_json::to_value(&scenario).unwrap();
            let pointer = format!("/{}", path.replace('.', "/"));
            let there = written.pointer(&pointer).unwrap_or_else(|| panic!("{pointer} in {written}"));
            assert_eq!(there, &serde_json::to_value(default).unwrap(), "{key}");
            assert_reads_back(&scenario);
        }
    }
    check("flow.0.app", app::Config::NAMES, &app::Config::defaults());
    check("middlebox.0", middlebox::Config::NAMES, &middlebox::Config::defaults());
    check("wired.queue", queue::Config::NAMES, &queue::Config::defaults());
    check("radio.dch.downlink.queue", queue::Config::NAMES, &queue::Config::defaults());
    check("radio.dch.downlink.channel", channel::Config::NAMES, &channel::Config::defaults());
    check("radio.evdo.downlink.fading", fading::Config::NAMES, &fading::Config::defaults());
    check("radio.evdo.downlink.scheduler", scheduler::Config::NAMES, &scheduler::Config::defaults());
    check("radio.dch.uplink.rlc", rlc::Config::NAMES, &rlc::Config::defaults());
    check("tcp.cc", tcp::cc::Config::NAMES, &tcp::cc::Config::defaults());
    check("tcp.recovery", tcp::recovery::Config::NAMES, &tcp::recovery::Config::defaults());
    check("tcp.undo", tcp::undo::Config::NAMES, &tcp::undo::Config::defaults());
    for default in radio::Config::defaults() {
        let scenario = parse(&format!("[radio]\n{} = {{}}\n[[flow]]\n", default.name()), &[]);
        assert_eq!(scenario.radio, default);
        assert_reads_back(&scenario);
    }
}

#[test]
fn the_uplink_of_the_wire_inherits_what_it_does_not_name() {
    let text = "[wired]\nrate = \"1 Mbit/s\"\ndelay = \"75 ms\"\n[wired.uplink]\nloss = \"1 %\"\n[[flow]]\n";
    let scenario = Scenario::parse(text, &[]).unwrap();
    let uplink = scenario.wired.half(airpath_core::packet::Dir::Uplink);
    assert_eq!((uplink.rate, uplink.delay), (scenario.wired.rate, scenario.wired.delay));
    assert_ne!(uplink.loss, scenario.wired.loss);
}

#[test]
fn an_override_of_one_among_several_must_say_which() {
    let text = "[[flow]]\n[[flow]]\n";
    let overrides = |path: &str| vec![(path.to_owned(), "1 s".to_owned())];
    let error = Scenario::parse(text, &overrides("flow.start")).unwrap_err();
    assert_eq!(error.to_string(), "flow.start: there are 2 of flow; write flow[0] for the first");
    assert!(Scenario::parse(text, &overrides("flow[1].start")).is_ok());
}

/// What a file holds takes its place, wherever it is named, and the result is independent of the file.
#[test]
fn the_text_of_a_trace_takes_the_place_of_its_file() {
    let mut asked = Vec::new();
    let mut read = |path: &str| {
        asked.push(path.to_owned());
        match path {
            "down.trace" => Ok("4\r\n8\r\n".to_owned()),
            "up.trace" => Ok("7".to_owned()),
            _ => Err("is not there".to_owned()),
        }
    };
    let text = "[radio.variable.downlink.channel.trace_file]\nfile = \"down.trace\"\n[[flow]]\n";
    let uplink = "radio.variable.uplink.channel.trace_file.file";
    let overrides = vec![(uplink.to_owned(), "up.trace".to_owned())];
    let scenario = Scenario::parse_with(text, &overrides, &mut read).unwrap();
    assert_eq!(asked, ["down.trace", "up.trace"]);
    let written = serde_json::to_value(&scenario).unwrap();
    let trace = |dir: &str| &written["radio"]["variable"][dir]["channel"]["trace_file"];
    assert_eq!(trace("downlink")["trace"], "4\n8\n");
    assert_eq!(trace("uplink")["trace"], "7\n");
    assert!(trace("uplink").get("file").is_none());
    assert_reads_back(&scenario);
}

#[test]
fn an_error_in_a_trace_names_the_key_the_file_and_the_line() {
    let mut read = |path: &str| match path {
        "bad.trace" => Ok("1\nx\n".to_owned()),
        _ => Err("is not there".to_owned()),
    };
    let mut lines = Vec::new();
    for path in ["bad.trace", "drive.trace"] {
        let text = format!("[radio.variable.uplink.channel.trace_file]\nfile = \"{path}\"\n[[flow]]\n");
        lines.push(Scenario::parse_with(&text, &[], &mut read).unwrap_err().to_string());
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    radio.variable.uplink.channel.trace_file.file: 'bad.trace', line 2: 'x' is not a whole number of milliseconds; write whole milliseconds, one in each line
    radio.variable.uplink.channel.trace_file.file: 'drive.trace' is not there; write the path of a trace, from the scenario's folder
    ");
}

/// What is wrong in a cell of 1xEV-DO.
const WRONG_EVDO: &[&str] = &[
    "[radio.evdo]\nues = 0",
    "[radio.evdo]\nusers = 4",
    "[radio.evdo.downlink]\nrate = \"2.4 Mbit/s\"",
    "[radio.evdo.downlink]\nmean_sinr = 2.4",
    "[radio.evdo.downlink]\nmean_sinr = \"2.4\"",
    "[radio.evdo.downlink]\nmean_sinr = \"-30 dB\"",
    "[radio.evdo.downlink]\nmean_sinr = \"-13 dB\"\nfading.none = {}",
    "[radio.evdo.downlink.fading]\njakes.doppler = \"0 Hz\"",
    "[radio.evdo.downlink.fading]\njakes.doppler = \"-35 Hz\"",
    "[radio.evdo.downlink.fading]\njakes.doppler = \"35 hz\"",
    "[radio.evdo.downlink.fading]\njakes.doppler = 35",
    "[radio.evdo.downlink.fading]\njakes.doppler = \"35 kHz\"",
    "[radio.evdo.downlink.fading]\njakes.oscillators = 7",
    "[radio.evdo.downlink.fading]\nrayleigh = {}",
    "[radio.evdo.downlink.fading]\nnone.doppler = \"35 Hz\"",
    "[radio.evdo.downlink.scheduler]\nproportional_fair.window = 0",
    "[radio.evdo.downlink.scheduler]\nproportional_fair.tc = 1000",
    "[radio.evdo.downlink.scheduler]\nfifo = {}",
    "[radio.evdo.downlink]\nthresholds = [\"1 dB\"]",
    "[radio.evdo.downlink]\nthresholds = \"1 dB\"",
    "[radio.evdo.downlink]\nthresholds = [\"-12.5 dB\", \"-9.5 dB\", \"-9.6 dB\", \"-6 dB\", \"-5 dB\", \"-4 dB\", \"-1 dB\", \"1 dB\", \"3 dB\", \"7 dB\", \"9 dB\"]",
    "[radio.evdo.downlink]\nchoose = \"user\"",
    "[radio.evdo.downlink]\nshare_slots = true",
    "[radio.evdo.downlink]\nper = \"100 %\"",
    "[radio.evdo.downlink]\nbuffer = \"per_user\"",
    "[radio.evdo.downlink]\ndelay = \"75 ms\"",
    "[radio.evdo.downlink]\ndelay.uniform = { mean = \"10 ms\", sd = \"30 ms\" }",
    "[radio.evdo.downlink]\nqueue.droptail.packets = 0",
    "[radio.evdo.uplink]\nchannel.bernoulli = {}",
    "[radio.evdo.uplink]\nchannel.distribution.rate.constant = \"0 bit/s\"",
];

#[test]
fn errors_in_a_cell_of_evdo_say_what_would_be_right() {
    let error = |wrong: &&str| Scenario::parse(&format!("{wrong}\n[[flow]]\n"), &[]).unwrap_err().to_string();
    let lines: Vec<String> = WRONG_EVDO.iter().map(error).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    radio.evdo.ues: a cell needs at least one UE; write ues = 1
    radio.evdo.users: unknown key; did you mean ues?
    radio.evdo.downlink.rate: unknown key; known here: queue, buffer, delay, order, mean_sinr, shadowing, outages, fading, thresholds, scheduler, slots, choose, share_slots, per
    radio.evdo.downlink.mean_sinr: missing unit; write "2.4 dB" or "-12.5 dB", not 2.4
    radio.evdo.downlink.mean_sinr: missing unit; write "2.4 dB" or "-12.5 dB", not 2.4
    radio.evdo.downlink.mean_sinr: -30 dB is too low: hardly ever would any rate do; raise it: the lowest rate needs -12.5 dB
    radio.evdo.downlink.mean_sinr: -13 dB is too low: hardly ever would any rate do; raise it: the lowest rate needs -12.5 dB
    radio.evdo.downlink.fading.jakes.doppler: without Doppler shift nothing fades; write for example "35 Hz", or fading.none = {} for a channel that stands still
    radio.evdo.downlink.fading.jakes.doppler: a frequency cannot be negative: -35 Hz; write for example "35 Hz"
    radio.evdo.downlink.fading.jakes.doppler: unknown unit "hz" in "35 hz"; did you mean "35 Hz"?
    radio.evdo.downlink.fading.jakes.doppler: missing unit; write "35 Hz" or "5.5 Hz", not 35
    radio.evdo.downlink.fading.jakes.doppler: 35 kHz is faster than anything that moves; write at most "10 kHz"
    radio.evdo.downlink.fading.jakes.oscillators: 7 oscillators per quadrature; write 8 to 256
    radio.evdo.downlink.fading.rayleigh: unknown name; known here: jakes, none
    radio.evdo.downlink.fading.none.doppler: unknown key; there is nothing to set here
    radio.evdo.downlink.scheduler.proportional_fair.window: a mean over no slot; write at least 1, such as 1000
    radio.evdo.downlink.scheduler.proportional_fair.tc: unknown key; known here: window
    radio.evdo.downlink.scheduler.fifo: unknown name; known here: max_ci, proportional_fair, round_robin
    radio.evdo.downlink.thresholds: invalid length 1; write an array of length 11
    radio.evdo.downlink.thresholds: invalid type: string "1 dB"; write an array of length 11
    radio.evdo.downlink.thresholds: -9.6 dB is not above -9.5 dB, of a lower rate; write 11 ratios that rise with the rate
    radio.evdo.downlink.choose: unknown name "user"; known here: packet, slot
    radio.evdo.downlink.share_slots: a UE that is chosen for a packet has no other to share its slots with; remove it, or write choose = "slot"
    radio.evdo.downlink.per: every physical-layer packet is lost and sent again for ever; lower it, for example to "1 %"
    radio.evdo.downlink.buffer: unknown name "per_user"; known here: shared, per_flow
    radio.evdo.downlink.delay: unknown name "75 ms"; known here: constant, uniform, exponential, normal, lognormal, poisson, pareto, empirical
    radio.evdo.downlink.delay.uniform.sd: the range, mean +- sqrt(3) sd, reaches below 0 s; write at most "5773502 ns", or raise the mean
    radio.evdo.downlink.queue.droptail.packets: a buffer without room drops everything; write at least 1, or remove the key for no limit
    radio.evdo.uplink.channel: bernoulli loses blocks, and here packets are sent whole; choose channel.trace_file, or radio.dch as the cell
    radio.evdo.uplink.channel.distribution.rate.constant: is zero; write a positive value such as "200 kbit/s"
    "#);
}

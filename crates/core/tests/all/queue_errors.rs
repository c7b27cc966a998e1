//! What is wrong with queue disciplines and with channels that fade, in words that a user can act on.

use airpath_core::queue;
use airpath_core::scenario::Scenario;

const WRONG: &[&str] = &[
    "umts = {}\n[wired]\nrate = \"1 Mbit/s\"\nqueue.pdpc = {}",
    "umts = {}\n[wired.uplink]\nrate = \"1 Mbit/s\"\nqueue.codel = {}",
    "[wired.queue.codel]\ntarget = \"0 ms\"",
    "[wired.queue.codel]\ntarget = \"soon\"",
    "[wired.queue.codel]\ninterval = \"0 ms\"",
    "[wired.queue.codel]\nmtu = \"0 B\"",
    "[wired.queue.codel]\npackets = 0",
    "[wired.queue.fq_codel]\nflows = 0",
    "[wired.queue.fq_codel]\nquantum = \"0 B\"",
    "[wired.queue.fq_codel]\npackets = 0",
    "[wired.queue.pie]\nqdelay_ref = \"0 ms\"",
    "[wired.queue.pie]\nupdate = \"0 ms\"",
    "[wired.queue.pie]\nalpha = 0",
    "[wired.queue.dualpi2]\ntarget = \"0 ms\"",
    "[wired.queue.dualpi2]\ncoupling = 0",
    "[wired.queue.dualpi2]\nclassic_share = \"100 %\"",
    "[wired.queue.drophead]\nbytes = \"0 B\"",
    "[wired.queue.predicted_sojourn]\nwindow = \"0 ms\"",
    "[radio.dch.uplink.queue.pdpc]\nmax_threshold = 0",
    "[radio.variable.downlink.queue.pdpc]\npackets = 0",
    "[radio.variable.downlink.queue.pdpc]\nbytes = \"0 B\"",
    "[radio.variable.downlink.queue.pdpc]\nmaxth = 30",
    "[radio.variable.downlink.queue.pdpc]\ncounter = \"sdus\"",
    "[radio.variable.downlink.queue.pdpc]\ncounter_start = 0",
    "[wired.queue.red]\nmin_threshold = 0",
    "[wired.queue.red]\nmin_threshold = 20",
    "[wired.queue.red]\nmax_threshold = nan",
    "[wired.queue.red]\nmax_probability = \"0 %\"",
    "[wired.queue.red]\nweight = 0.0",
    "[wired.queue.red]\nweight = 2",
    "[wired.queue.red]\nmean_packet = \"0 B\"",
    "[wired.queue.red]\npackets = 0",
    "[wired.queue.red]\nunit = \"octets\"",
    "[radio.evdo.downlink.queue.red]\nmax_p = 0.1",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.rayleigh.bler = 0",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.rayleigh.doppler = \"0 Hz\"",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.rayleigh.step = \"0 ms\"",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.rayleigh = { doppler = \"1 mHz\", step = \"100 us\" }",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.rayleigh.doppler = \"20 kHz\"",
    "[radio.dch.downlink]\nrlc.fixed_delay_arq = {}\nchannel.rayleigh.oscillators = 4",
    "[radio.dch.downlink]\nchannel.rayleigh = {}",
    "[radio.variable.downlink]\nchannel.rayleigh = {}",
];

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    let mut lines = Vec::new();
    for text in WRONG {
        let error = Scenario::parse(&format!("{text}\n[[flow]]\n"), &[]).unwrap_err();
        lines.push(format!("{}\n    {error}", text.replace('\n', " | ")));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    umts = {} | [wired] | rate = "1 Mbit/s" | queue.pdpc = {}
        wired.queue.pdpc: packets leave it one by one, and with [umts] the times of each are fixed when it comes; choose queue.droptail or queue.red, or put it into a bearer of the cell
    umts = {} | [wired.uplink] | rate = "1 Mbit/s" | queue.codel = {}
        wired.uplink.queue.codel: packets leave it one by one, and with [umts] the times of each are fixed when it comes; choose queue.droptail or queue.red, or put it into a bearer of the cell
    [wired.queue.codel] | target = "0 ms"
        wired.queue.codel.target: every packet waits longer; write a time such as "5 ms", or "auto"
    [wired.queue.codel] | target = "soon"
        wired.queue.codel.target: not a duration: "soon"; write for example "60 ms"
    [wired.queue.codel] | interval = "0 ms"
        wired.queue.codel.interval: a packet would go at each departure; write a time such as "100 ms"
    [wired.queue.codel] | mtu = "0 B"
        wired.queue.codel.mtu: a packet of no size; write a size such as "1500 B"
    [wired.queue.codel] | packets = 0
        wired.queue.codel.packets: a buffer without room drops everything; write at least 1, or remove the key for no limit
    [wired.queue.fq_codel] | flows = 0
        wired.queue.fq_codel.flows: a packet could wait nowhere; write at least 1, such as 1024
    [wired.queue.fq_codel] | quantum = "0 B"
        wired.queue.fq_codel.quantum: no turn would send anything; write the size of a packet such as "1514 B"
    [wired.queue.fq_codel] | packets = 0
        wired.queue.fq_codel.packets: a buffer without room drops everything; write at least 1, or remove the key for no limit
    [wired.queue.pie] | qdelay_ref = "0 ms"
        wired.queue.pie.qdelay_ref: is no time; write a time such as "15 ms"
    [wired.queue.pie] | update = "0 ms"
        wired.queue.pie.update: is no time; write a time such as "15 ms"
    [wired.queue.pie] | alpha = 0
        wired.queue.pie.alpha: the probability would not follow the delay; write a positive number
    [wired.queue.dualpi2] | target = "0 ms"
        wired.queue.dualpi2.target: every packet waits longer; write a time such as "15 ms", or "auto"
    [wired.queue.dualpi2] | coupling = 0
        wired.queue.dualpi2.coupling: the probability would not follow the delay; write a positive number
    [wired.queue.dualpi2] | classic_share = "100 %"
        wired.queue.dualpi2.classic_share: one of the queues would starve; write for example "10 %"
    [wired.queue.drophead] | bytes = "0 B"
        wired.queue.drophead.bytes: a buffer without room drops everything; write a size such as "64 kB", or remove the key for no limit
    [wired.queue.predicted_sojourn] | window = "0 ms"
        wired.queue.predicted_sojourn.window: no rate can be measured; write a time such as "200 ms"
    [radio.dch.uplink.queue.pdpc] | max_threshold = 0
        radio.dch.uplink.queue.pdpc.max_threshold: an empty buffer would be too full; write at least 1, such as 30
    [radio.variable.downlink.queue.pdpc] | packets = 0
        radio.variable.downlink.queue.pdpc.packets: a buffer without room drops everything; write at least 1, or remove the key for no limit
    [radio.variable.downlink.queue.pdpc] | bytes = "0 B"
        radio.variable.downlink.queue.pdpc.bytes: a buffer without room drops everything; write a size such as "64 kB", or remove the key for no limit
    [radio.variable.downlink.queue.pdpc] | maxth = 30
        radio.variable.downlink.queue.pdpc.maxth: unknown key; known here: packets, bytes, max_threshold, occupancy, arriving, counter, counter_start
    [radio.variable.downlink.queue.pdpc] | counter = "sdus"
        radio.variable.downlink.queue.pdpc.counter: unknown name "sdus"; known here: bytes, packets
    [radio.variable.downlink.queue.pdpc] | counter_start = 0
        radio.variable.downlink.queue.pdpc.counter_start: a counter that starts at 0 times BO prevents no drop; write a positive number such as 1
    [wired.queue.red] | min_threshold = 0
        wired.queue.red.min_threshold: no mean length can be below 0; write a positive number of packets, such as 5
    [wired.queue.red] | min_threshold = 20
        wired.queue.red.max_threshold: 15 is not above min_threshold, 20; write two to three times min_threshold
    [wired.queue.red] | max_threshold = nan
        wired.queue.red.max_threshold: NaN is not above min_threshold, 5; write two to three times min_threshold
    [wired.queue.red] | max_probability = "0 %"
        wired.queue.red.max_probability: nothing is dropped below max_threshold; write for example "10 %", or choose queue.droptail
    [wired.queue.red] | weight = 0.0
        wired.queue.red.weight: 0 is no weight of a mean; write a number above 0 and at most 1, such as 0.002
    [wired.queue.red] | weight = 2
        wired.queue.red.weight: 2 is no weight of a mean; write a number above 0 and at most 1, such as 0.002
    [wired.queue.red] | mean_packet = "0 B"
        wired.queue.red.mean_packet: a packet of no size; write a size such as "1500 B"
    [wired.queue.red] | packets = 0
        wired.queue.red.packets: a buffer without room drops everything; write at least 1, or remove the key for no limit
    [wired.queue.red] | unit = "octets"
        wired.queue.red.unit: unknown name "octets"; known here: packets, bytes
    [radio.evdo.downlink.queue.red] | max_p = 0.1
        radio.evdo.downlink.queue.red.max_p: unknown key; did you mean max_probability?
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.rayleigh.bler = 0
        radio.dch.downlink.channel.rayleigh.bler: a channel that is always good or always bad; write a rate between 0 and 1, such as "10 %", or choose channel.bernoulli
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.rayleigh.doppler = "0 Hz"
        radio.dch.downlink.channel.rayleigh.doppler: without Doppler shift nothing fades; write for example "1 Hz"
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.rayleigh.step = "0 ms"
        radio.dch.downlink.channel.rayleigh.step: a channel that fades needs a step; write the TTI of the bearer, such as "10 ms"
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.rayleigh = { doppler = "1 mHz", step = "100 us" }
        radio.dch.downlink.channel.rayleigh.doppler: 1.0000000000000001e-7 cycles of 1 mHz in a step of 100 us; write a shift with 1e-6 to 1000 cycles per step
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.rayleigh.doppler = "20 kHz"
        radio.dch.downlink.channel.rayleigh.doppler: 20 kHz is faster than anything that moves; write at most "10 kHz"
    [radio.dch.downlink] | rlc.fixed_delay_arq = {} | channel.rayleigh.oscillators = 4
        radio.dch.downlink.channel.rayleigh.oscillators: 4 oscillators per quadrature; write 8 to 256
    [radio.dch.downlink] | channel.rayleigh = {}
        radio.dch.downlink.channel: without a link layer nothing retransmits lost blocks; choose rlc.fixed_delay_arq, or remove the channel
    [radio.variable.downlink] | channel.rayleigh = {}
        radio.variable.downlink.channel: rayleigh loses blocks, and here packets are sent whole; choose channel.trace_file, or radio.dch as the cell
    "#);
}

/// A regulator wants to know how many packets fit, and with such a discipline their number alone does not decide.
#[test]
fn a_regulator_needs_a_queue_whose_limit_alone_decides() {
    for queue in ["pdpc", "red", "codel", "drophead"] {
        let text = format!(
            "[radio.variable.downlink]\nqueue.{queue}.packets = 10\n[[middlebox]]\nack_regulator = {{}}\n[[flow]]\n"
        );
        let error = Scenario::parse(&text, &[]).unwrap_err().to_string();
        assert!(error.contains("no limit in packets") && error.contains("queue.droptail.packets"), "{error}");
    }
}

#[test]
fn every_cell_takes_every_discipline() {
    let dch = |rlc: &str| {
        format!(
            "[radio.dch]\ndownlink.rlc.{rlc} = {{}}\nuplink.rlc.{rlc} = {{}}\ndownlink.rate = \"384 kbit/s\"\nuplink.rate = \"384 kbit/s\"\n"
        )
    };
    let cells = [
        dch("none"),
        dch("fixed_delay_arq"),
        dch("am"),
        "[radio.variable]\n".to_owned(),
        "[radio.evdo]\n".to_owned(),
        "[radio.lte]\n".to_owned(),
        "[radio.hsdpa]\n".to_owned(),
    ];
    for text in cells {
        for direction in ["downlink", "uplink"] {
            for queue in queue::Config::NAMES {
                let text = format!("{text}{direction}.queue.{queue} = {{}}\n[[flow]]\n");
                let result = Scenario::parse(&text, &[]);
                assert!(result.is_ok(), "{text}: {result:?}");
            }
        }
    }
}

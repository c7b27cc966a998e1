//! `airpath-bench WORKLOAD [--time SECONDS]`: runs one workload and prints what was delivered.
//!
//! The workloads are those of the ns-2 comparison: bulk NewReno downloads over bearers of 384 kbit/s, with
//! ns-2's settings (no handshake, initial window 1, an ACK for every segment); and T1R4, a Reno download over
//! a link of variable delay, HDR8, eight downloads in a cell of 1xEV-DO, HSDPA8 and LTE10, eight and ten in a
//! cell of HSDPA and of LTE, and W2u, W2 with the core network of UMTS and feedback
//! from the RNC around it, NRU1, NRU4 and NRU10, datagrams over NR to so many UEs, and W1L, W1 with the profile
//! "linux", which ns-2 without additions has not.
//! W2xUES and W3xUES have so many UEs, and CELLSxUES so many in each of ten cells of LTE behind one link. With
//! `--threads N` a workload is run by N threads; `cpu_s` has the CPU time of the run by thread.
//! `airpath-bench FILE.toml` runs a scenario, with seed 1 and nothing around it, to count instructions or
//! memory.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::windows::Threads;
use std::process::ExitCode;

const USAGE: &str = "usage: airpath-bench W1|W1b|W1L|W2|W2b|W2u|W2xUES|T1R4|W3|W3xUES|CELLSxUES|HDR8|HSDPA8|LTE10|NR10|NR1G|NRU1|NRU4|NRU10 [--time SECONDS] [--threads N], or FILE.toml";

/// Bytes of data in a packet.
const MSS: u64 = 536;
const MSS_T1R4: u64 = 960;
const MSS_HDR8: u64 = 960;
const MSS_SHARED: u64 = 1460;
/// Bytes of a datagram with its headers.
const SIZE_LENA: u64 = 1428;

enum Workload {
    /// Dedicated channels of 384 kbit/s.
    Dedicated { ues: u32, wired_mbps: u32, window: u32, seconds: u64 },
    /// W1 with TCP as in Linux: what its parts cost, by hand.
    Linux,
    /// Bulk downloads with RLC AM, and its environment.
    Acknowledged { ues: u32, wired_mbps: u32, window: u32, seconds: u64, around: &'static str },
    /// A link of variable delay.
    Variable,
    /// Eight users of a cell of 1xEV-DO.
    Hdr,
    /// Users of a cell of HSDPA, LTE or NR: its key, and their number.
    Shared(&'static str, u32),
    /// So many users in each of ten cells of LTE.
    Cells(u32),
    /// A flow near the peak of a cell of NR.
    Gigabit,
    /// Datagrams to users of a cell of NR, at 400 Mbit/s in all.
    Datagrams(u32),
}

fn workload(name: &str) -> Option<Workload> {
    let one = |window| Workload::Dedicated { ues: 1, wired_mbps: 10, window, seconds: 3600 };
    let one_acknowledged =
        |window, around| Workload::Acknowledged { ues: 1, wired_mbps: 10, window, seconds: 600, around };
    if let Some((kind, ues)) = name.split_once('x') {
        let ues: u32 = ues.parse().ok()?;
        let (wired_mbps, window, seconds) = (ues.max(100), 122, 20);
        return match kind {
            "W2" => Some(Workload::Acknowledged { ues, wired_mbps, window, seconds, around: "" }),
            "W3" => Some(Workload::Dedicated { ues, wired_mbps, window, seconds }),
            "CELLS" => Some(Workload::Cells(ues)),
            _ => None,
        };
    }
    Some(match name {
        "W1" => one(122),
        "W1b" => one(25),
        "W1L" => Workload::Linux,
        "W2" => one_acknowledged(122, ""),
        "W2b" => one_acknowledged(25, ""),
        "W2u" => one_acknowledged(122, IN_UMTS),
        "T1R4" => Workload::Variable,
        "HDR8" => Workload::Hdr,
        "HSDPA8" => Workload::Shared("hsdpa", 8),
        "LTE10" => Workload::Shared("lte", 10),
        "NR10" => Workload::Shared("nr", 10),
        "NR1G" => Workload::Gigabit,
        "NRU1" => Workload::Datagrams(1),
        "NRU4" => Workload::Datagrams(4),
        "NRU10" => Workload::Datagrams(10),
        "W3" => Workload::Dedicated { ues: 100, wired_mbps: 100, window: 122, seconds: 600 },
        _ => return None,
    })
}

/// The radio hop of W1: queues hold 50 packets in ns-2's count (49 plus the one in transmission).
const PLAIN: &str = r#"
        delay = "60 ms"
        queue.droptail.packets = 50
"#;

/// The radio hop of W2: a PDU with 480 bytes of payload every 10 ms, which is lost with p = 0.1 and otherwise
/// has a delay of 60 ms.
const ACKNOWLEDGED: &str = r#"
        delay = "50 ms"
        queue.droptail.packets = 50
        rlc.am = { pdu = "482 B", timer_poll = "200 ms", timer_status_prohibit = "130 ms" }
        channel.bernoulli.bler = 0.1
"#;

/// Tunnels over two legs with rates, and the box that flags losses of the radio; the sender does as in W2.
/// Nothing is set up, and the legs are short, so that the traffic is that of W2.
const IN_UMTS: &str = r#"
        [umts]
        gn = { rate = "100 Mbit/s", delay = "1 ms" }
        iu = { rate = "100 Mbit/s", delay = "1 ms" }
        sequence_numbers = true
        attach = "0 s"
        pdp_activation = "0 s"
        [[middlebox]]
        rnc_feedback = {}
"#;

/// UEs with a flow each over dedicated channels with this radio hop.
fn dedicated(hop: &str, ues: u32, wired_mbps: u32, window: u32, seconds: u64) -> String {
    format!(
        r#"
        duration = "{seconds} s"
        [wired]
        rate = "{wired_mbps} Mbit/s"
        delay = "75 ms"
        queue.droptail.packets = 10000
        [radio.dch]
        ues = {ues}
        [radio.dch.downlink]
        rate = "384 kbit/s"
        {hop}
        [radio.dch.uplink]
        rate = "384 kbit/s"
        {hop}
        [tcp]
        mss = "{MSS} B"
        handshake = "none"
        initial_window = 1
        window_scaling = false
        max_window = {window}
        ack_every = 1
        rto.min = "1 s"
        recovery.newreno = {{}}
        [[flow]]
        ue = "each"
        stagger = "10 ms"
        app.bulk = {{}}
        "#
    )
}

/// The TCP of the scenarios of \[chan2002\].
const TCP_OF_CHAN: &str = r#"
        handshake = "none"
        initial_window = 1
        max_window = 500
        window_arithmetic = "ns2"
        rtt_sampling = "one_per_window"
        ack_every = 1
        rto = { initial = "3 s", min = "1 s", tick = "100 ms" }
        recovery.reno = {}
"#;

/// Row 4 of Table 1 of \[chan2002\]: 200 kbit/s, 10 packets of room, a delay of 300 ms + e(100 ms) in all,
/// Reno.
fn variable(seconds: u64) -> String {
    format!(
        r#"
        duration = "{seconds} s"
        [wired]
        rate = "100 Mbit/s"
        delay = "1 ms"
        [radio.variable.downlink]
        queue.droptail = {{ packets = 10, in_service = "excluded" }}
        [radio.variable.downlink.channel.distribution]
        rate.constant = "200 kbit/s"
        delay.exponential.mean = "100 ms"
        [radio.variable.uplink.channel.distribution]
        rate.constant = "64 kbit/s"
        delay.constant = "300 ms"
        [tcp]
        mss = "{MSS_T1R4} B"
        receive_buffer = "500 kB"
        limited_transmit = false
        multiple_fast_retransmits = true
        {TCP_OF_CHAN}
        [[flow]]
        app.bulk = {{}}
        "#
    )
}

/// Eight flows as in \[chan2002\] 6.5, with room for 10 packets each, so that there is nearly always
/// something to send.
fn hdr(seconds: u64) -> String {
    format!(
        r#"
        duration = "{seconds} s"
        [wired]
        rate = "100 Mbit/s"
        delay = "1 ms"
        [radio.evdo]
        ues = 8
        [radio.evdo.downlink]
        queue.droptail = {{ packets = 10, in_service = "excluded" }}
        buffer = "per_flow"
        delay.uniform = {{ mean = "75 ms", sd = "30 ms" }}
        [radio.evdo.uplink.channel.distribution]
        rate.constant = "64 kbit/s"
        delay.uniform = {{ mean = "125 ms", sd = "15 ms" }}
        [tcp]
        mss = "{MSS_HDR8} B"
        {TCP_OF_CHAN}
        [[flow]]
        ue = "each"
        stagger = "10 ms"
        app.bulk = {{}}
        "#
    )
}

/// A flow for each UE of a cell with default settings: RLC AM, proportional fair, HARQ, an outer loop. Mean
/// ratios lie 3 dB apart, as between the middle of a cell and its edge, fading is that of pedestrians, and
/// there is nearly always something to send.
fn shared(cell: &str, ues: u32, seconds: u64) -> String {
    let mean_sinr: Vec<String> = (0..ues).map(|ue| format!("\"{} dB\"", 20 - 3 * (ue % 6))).collect();
    let mean_sinr = mean_sinr.join(", ");
    format!(
        r#"
        duration = "{seconds} s"
        [wired]
        rate = "1 Gbit/s"
        delay = "10 ms"
        [radio.{cell}]
        ues = {ues}
        [radio.{cell}.downlink]
        queue.droptail.packets = 100
        reception.mean_sinr = [{mean_sinr}]
        reception.fading.jakes.doppler = "6 Hz"
        [tcp]
        mss = "{MSS_SHARED} B"
        receive_buffer = "500 kB"
        recovery.newreno = {{}}
        [[flow]]
        ue = "each"
        stagger = "10 ms"
        app.bulk = {{}}
        "#
    )
}

/// Ten cells of LTE with default settings behind one link, each with so many users that download all the time.
fn cells(ues: u32, seconds: u64) -> String {
    let mut text = format!(
        r#"
        duration = "{seconds} s"
        tcp = {{ mss = "{MSS_SHARED} B", receive_buffer = "500 kB", recovery.newreno = {{}} }}
        [[way]]
        name = "core"
        wired = {{ rate = "10 Gbit/s", delay = "10 ms" }}
        [[flow]]
        ue = "each"
        stagger = "1 ms"
        app.bulk = {{}}
        "#
    );
    for cell in 0..10 {
        text += &format!(
            "[[cell]]\nname = \"c{cell}\"\nbehind = \"core\"\n[cell.radio.lte.downlink]\nqueue.droptail.packets = 100\n"
        );
        for ue in 0..ues {
            text += &format!("[[ue]]\nname = \"u{cell}-{ue}\"\nattach = [\"c{cell}\"]\n");
        }
    }
    text
}

/// A flow alone in a cell of NR with 100 MHz and four layers, near its peak of 1.5 Gbit/s.
fn gigabit(seconds: u64) -> String {
    format!(
        r#"
        duration = "{seconds} s"
        [wired]
        rate = "10 Gbit/s"
        delay = "5 ms"
        [radio.nr.downlink]
        reception = {{ mean_sinr = "40 dB", fading.none = {{}} }}
        [radio.nr.uplink]
        reception = {{ mean_sinr = "50 dB", fading.none = {{}} }}
        [tcp]
        mss = "{MSS_SHARED} B"
        receive_buffer = "8 MB"
        recovery.newreno = {{}}
        [[flow]]
        app.bulk = {{}}
        "#
    )
}

/// Datagrams of 1428 bytes with headers at 400 Mbit/s to so many UEs of a cell of NR with 100 MHz, 30 kHz, one layer, 256QAM,
/// a pattern of DDDSU and RLC UM: what 5G-LENA was measured with (`bench.py`).
fn datagrams(ues: u32, seconds: u64) -> String {
    let rate = 400_000 / ues;
    format!(
        r#"
        duration = "{seconds} s"
        [wired]
        rate = "10 Gbit/s"
        delay = "1 ms"
        [radio.nr]
        ues = {ues}
        frame = "DDDSU"
        [radio.nr.downlink]
        rlc = "um_nr"
        blocks.layers = 1
        reception = {{ mean_sinr = "40 dB", fading.none = {{}} }}
        [radio.nr.uplink]
        rlc = "um_nr"
        [[flow]]
        ue = "each"
        app.cbr = {{ size = "{SIZE_LENA} B", rate = "{rate} kbit/s" }}
        "#
    )
}

/// Run a scenario's file; what was received, in bytes.
fn run_file(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let scenario = Scenario::parse(&text, &[]).map_err(|error| error.to_string())?;
    let mut simulation = Simulation::new(&scenario, 1, Observe::default());
    simulation.run();
    let bytes: u64 = simulation.flows().iter().map(|flow| flow.bytes_received).sum();
    let simulated_s = simulation.now().as_secs_f64();
    Ok(format!(r#"{{"bytes_received": {bytes}, "simulated_s": {simulated_s}}}"#))
}

fn run(args: &[String]) -> Result<String, String> {
    if let [path] = args
        && path.ends_with(".toml")
    {
        return run_file(path);
    }
    let [name, options @ ..] = args else { return Err(USAGE.to_owned()) };
    let (mut seconds, mut threads) = (None, None);
    for option in options.chunks(2) {
        let [flag, number] = option else { return Err(USAGE.to_owned()) };
        let number: u64 = number.parse().map_err(|_| format!("not a whole number: {number}"))?;
        match flag.as_str() {
            "--time" => seconds = Some(number),
            "--threads" => threads = Some(number as usize),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let workload = workload(name).ok_or(USAGE)?;
    let (text, mss) = match workload {
        Workload::Dedicated { ues, wired_mbps, window, seconds: usual } => {
            (dedicated(PLAIN, ues, wired_mbps, window, seconds.unwrap_or(usual)), MSS)
        }
        Workload::Acknowledged { ues, wired_mbps, window, seconds: usual, around } => {
            let bare = dedicated(ACKNOWLEDGED, ues, wired_mbps, window, seconds.unwrap_or(usual));
            (format!("{bare}{around}"), MSS)
        }
        Workload::Linux => {
            let text = dedicated(PLAIN, 1, 10, 122, seconds.unwrap_or(3600));
            (text.replace("recovery.newreno = {}", "profile = \"linux\""), MSS - 12)
        }
        Workload::Variable => (variable(seconds.unwrap_or(3600)), MSS_T1R4),
        Workload::Hdr => (hdr(seconds.unwrap_or(3600)), MSS_HDR8),
        Workload::Shared(cell, ues) => (shared(cell, ues, seconds.unwrap_or(600)), MSS_SHARED),
        Workload::Cells(ues) => (cells(ues, seconds.unwrap_or(20)), MSS_SHARED),
        Workload::Gigabit => (gigabit(seconds.unwrap_or(60)), MSS_SHARED),
        Workload::Datagrams(ues) => (datagrams(ues, seconds.unwrap_or(20)), SIZE_LENA),
    };
    let scenario = Scenario::parse(&text, &[]).map_err(|error| error.to_string())?;
    let observe = Observe::default();
    let mut simulation = match threads {
        None => Simulation::new(&scenario, 1, observe),
        Some(count) => {
            let workers = Threads::new(count).map_err(|error| error.to_string())?;
            Simulation::with_workers(&scenario, 1, observe, count, Box::new(workers))
        }
    };
    let before = cpu_by_thread();
    simulation.run();
    let after = cpu_by_thread();
    let cpu_s: Vec<_> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    let flows = simulation.flows();
    let packets: u64 = flows.iter().map(|flow| flow.bytes_received / mss).sum();
    let sent: u64 = flows.iter().map(|flow| flow.sender.segments_sent).sum();
    let rexmit: u64 = flows.iter().map(|flow| flow.sender.retransmissions.total).sum();
    let timeouts: u64 = flows.iter().map(|flow| flow.sender.timeouts).sum();
    let simulated_s = simulation.now().as_secs_f64();
    Ok(format!(
        r#"{{"workload": "{name}", "packets": {packets}, "sent": {sent}, "rexmit": {rexmit}, "timeouts": {timeouts}, "simulated_s": {simulated_s}, "cpu_s": {cpu_s:?}}}"#
    ))
}

/// CPU time of each thread of this process so far, s; empty where the system does not tell.
fn cpu_by_thread() -> Vec<f64> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let mut numbers: Vec<_> = threads.flatten().map(|thread| thread.path()).collect();
    numbers.sort();
    let of_thread = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
    };
    numbers.iter().filter_map(of_thread).collect()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(line) => {
            #[allow(clippy::print_stdout)]
            {
                println!("{line}");
            }
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

//! `airpath-bench WORKLOAD [--time SECONDS]`: runs one workload and prints what was delivered.
//!
//! W1 to W3 are those of the benchmark beside ns-2: bulk NewReno downloads over bearers of 384 kbit/s, with
//! ns-2's settings (no handshake, initial window 1, an ACK for every segment). HDR8 has eight such downloads,
//! of larger packets, in a cell of 1xEV-DO.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use std::process::ExitCode;

const USAGE: &str = "usage: airpath-bench W1|W1b|W3|W3x10|W3x100|W3x1000|HDR8 [--time SECONDS]";

struct Workload {
    ues: u32,
    wired: &'static str,
    window: u32,
    seconds: u64,
    /// Bytes of a segment.
    mss: u32,
    radio: fn(u32) -> String,
}

fn workload(name: &str) -> Option<Workload> {
    let dch = |ues, wired, window, seconds| Workload { ues, wired, window, seconds, mss: 536, radio: dch };
    Some(match name {
        "W1" => dch(1, "10 Mbit/s", 122, 3600),
        "W1b" => dch(1, "10 Mbit/s", 25, 3600),
        "W3" => dch(100, "100 Mbit/s", 122, 600),
        "W3x10" => dch(10, "100 Mbit/s", 122, 20),
        "W3x100" => dch(100, "100 Mbit/s", 122, 20),
        "W3x1000" => dch(1000, "1 Gbit/s", 122, 20),
        "HDR8" => Workload { mss: 960, radio: hdr, ..dch(8, "100 Mbit/s", 500, 3600) },
        _ => return None,
    })
}

/// Radio queues hold 50 packets in ns-2's count (49 beside the one in transmission).
fn dch(ues: u32) -> String {
    format!(
        r#"
        [radio.dch]
        ues = {ues}
        [radio.dch.downlink]
        rate = "384 kbit/s"
        delay = "60 ms"
        queue.droptail.packets = 50
        [radio.dch.uplink]
        rate = "384 kbit/s"
        delay = "60 ms"
        queue.droptail.packets = 50
        "#
    )
}

/// Queues that never run empty for long.
fn hdr(ues: u32) -> String {
    format!(
        r#"
        [radio.evdo]
        ues = {ues}
        [radio.evdo.downlink]
        queue.droptail = {{ packets = 10, in_service = "excluded" }}
        buffer = "per_flow"
        delay.uniform = {{ mean = "75 ms", sd = "30 ms" }}
        [radio.evdo.uplink.channel.distribution]
        rate.constant = "64 kbit/s"
        delay.uniform = {{ mean = "125 ms", sd = "15 ms" }}
        "#
    )
}

fn scenario(workload: &Workload, seconds: u64) -> String {
    let Workload { ues, wired, window, mss, .. } = workload;
    let radio = (workload.radio)(*ues);
    format!(
        r#"
        duration = "{seconds} s"
        [wired]
        rate = "{wired}"
        delay = "75 ms"
        queue.droptail.packets = 10000
        {radio}
        [tcp]
        mss = "{mss} B"
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

fn run(args: &[String]) -> Result<String, String> {
    let (name, seconds) = match args {
        [name] => (name, None),
        [name, flag, seconds] if flag == "--time" => {
            (name, Some(seconds.parse().map_err(|_| format!("not a number of seconds: {seconds}"))?))
        }
        _ => return Err(USAGE.to_owned()),
    };
    let workload = workload(name).ok_or(USAGE)?;
    let text = scenario(&workload, seconds.unwrap_or(workload.seconds));
    let scenario = Scenario::parse(&text, &[]).map_err(|error| error.to_string())?;
    let mut simulation = Simulation::new(&scenario, 1, Observe::default());
    simulation.run();
    let flows = simulation.flows();
    let packets: u64 = flows.iter().map(|flow| flow.bytes_received / u64::from(workload.mss)).sum();
    let sent: u64 = flows.iter().map(|flow| flow.segments_sent).sum();
    let rexmit: u64 = flows.iter().map(|flow| flow.retransmissions.total).sum();
    let timeouts: u64 = flows.iter().map(|flow| flow.timeouts).sum();
    let simulated_s = simulation.now().as_secs_f64();
    Ok(format!(
        r#"{{"workload": "{name}", "packets": {packets}, "sent": {sent}, "rexmit": {rexmit}, "timeouts": {timeouts}, "simulated_s": {simulated_s}}}"#
    ))
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

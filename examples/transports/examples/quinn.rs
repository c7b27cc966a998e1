//! QUIC over cellular links, client and server, in virtual time.
//!
//! ```console
//! $ cargo run --release --example quinn                          # three links
//! $ cargo run --release --example quinn -- lte-5mhz 3            # a bundled scenario, seed 3
//! $ cargo run --release --example quinn -- down.trace up.trace 1 # recordings in mahimahi's form
//! $ cargo run --release --example quinn -- lte.toml 1000000 reno 20 # a scenario: a line of JSON for each of 20 seeds
//! ```
//!
//! For comparison it prints the same download with the simulator's TCP over the same link and seed.
#![allow(clippy::print_stdout)]

use airpath::{Instant, Net, Scenario};
use airpath_core::scenario as core;
use airpath_core::sim::{Observe, Simulation};
use airpath_transports::quic::{self, Control, Transfer};
use serde_json::json;
use std::error::Error;

/// A download, an upload of a tenth, and the download again on eight streams.
fn transfers(bytes: u64) -> [(&'static str, Transfer); 3] {
    [
        ("download", Transfer { streams: 1, up: 0, down: bytes }),
        ("upload of a tenth", Transfer { streams: 1, up: bytes / 10, down: 0 }),
        ("download, 8 streams", Transfer { streams: 8, up: 0, down: bytes / 8 }),
    ]
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => {
            for (name, bytes) in
                [("umts-384", 1_000_000), ("hsdpa-3.6-still", 5_000_000), ("lte-10mhz-still", 20_000_000)]
            {
                table(name, &bundled(name)?, bytes, 1);
                println!("{:<28}{}\n", "TCP, download", tcp(name, bytes, 1)?);
            }
        }
        [name, seed] => table(name, &bundled(name)?, 1_000_000, seed.parse()?),
        [down, up, seed] => {
            let [down, up] = [down, up].map(std::fs::read_to_string);
            let link = Scenario::mahimahi(&down?, &up?)?.with("wired.delay", "20 ms")?;
            let link = link.with("radio.variable.downlink.queue.droptail.packets", "100")?;
            table("recorded", &link, 1_000_000, seed.parse()?);
        }
        [file, bytes, control, seeds] => {
            let control = match control {
                "cubic" => Control::Cubic,
                "reno" => Control::NewReno,
                "bbr" => Control::Bbr,
                _ => return Err(format!("{control} is none of cubic, reno, bbr").into()),
            };
            let scenario = std::fs::read_to_string(file)?.parse()?;
            lines(&scenario, bytes.parse()?, control, seeds.parse()?);
        }
        _ => return Err("unknown arguments; see the top of quinn.rs".into()),
    }
    Ok(())
}

fn bundled(name: &str) -> Result<Scenario, String> {
    Scenario::bundled(name).ok_or_else(|| format!("there is no scenario {name}"))
}

fn table(name: &str, scenario: &Scenario, bytes: u64, seed: u8) {
    println!("{name}, {bytes} bytes, seed {seed}:");
    for control in [Control::Cubic, Control::Bbr] {
        for (what, transfer) in transfers(bytes) {
            let mut net = Net::new(scenario, seed.into());
            let run = quic::run(&mut net, transfer, control, seed);
            let sender = if transfer.up > 0 { &run.client.path } else { &run.server.path };
            let carried = (transfer.up + transfer.down) * transfer.streams;
            println!(
                "{:<28}{}, RTT at least {} ms, {} of {} packets lost, MTU {}, {} arrivals",
                format!("{control:?}, {what}"),
                speed(carried, run.done),
                sender.min_rtt.as_millis(),
                sender.lost_packets,
                sender.sent_packets,
                sender.current_mtu,
                run.arrivals.len(),
            );
        }
    }
}

/// A download with each seed, for `benches/quic.py`.
fn lines(scenario: &Scenario, bytes: u64, control: Control, seeds: u8) {
    for seed in 1..=seeds {
        let mut net = Net::new(scenario, seed.into());
        let run = quic::run(&mut net, Transfer { streams: 1, up: 0, down: bytes }, control, seed);
        let line = json!({ "done_s": run.done.as_secs_f64(), "elements": net.report() });
        println!("{line}");
    }
}

fn speed(bytes: u64, done: Instant) -> String {
    let seconds = done.as_secs_f64();
    format!("{seconds:7.3} s, {:6.0} kbit/s", bytes as f64 * 8e-3 / seconds)
}

/// The download by TCP, as the scenario configures it.
fn tcp(name: &str, bytes: u64, seed: u64) -> Result<String, Box<dyn Error>> {
    let flow = format!("[{{ app.file.size = \"{bytes} B\" }}]");
    let changes = [("flow".to_owned(), flow), ("duration".to_owned(), "1000 s".to_owned())];
    let text = core::bundled(name).ok_or("no such scenario")?;
    let scenario = core::Scenario::parse(text, &changes)?;
    let mut simulation = Simulation::new(&scenario, seed, Observe::default());
    simulation.run();
    Ok(speed(bytes, simulation.now()))
}

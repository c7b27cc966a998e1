//! Small experiments as tables: the effect of a change of TCP or of the link layer on whole connections.
//!
//! The numbers belong to fixed seeds and are not important by themselves; the assertions next to them must hold. After
//! an intended change, accept the new table with `cargo insta review` (or from the message of the failing test).

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use std::fmt::Write;

/// One UE with one download without end, for a minute.
const SCENARIO: &str = r#"
duration = "60 s"

[wired]
rate = "100 Mbit/s"
delay = "75 ms"

[radio.dch]
downlink.rate = "384 kbit/s"
uplink.rate = "64 kbit/s"

[[flow]]
app.bulk = {}
"#;

/// What 384 kbit/s leave for payload when each 1460 bytes have 40 bytes of headers, kbit/s.
const MOST: f64 = 384.0 * 1460.0 / 1500.0;

fn run(seed: u64, overrides: &[(&str, String)]) -> Results {
    let overrides: Vec<_> =
        overrides.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
    let scenario = Scenario::parse(SCENARIO, &overrides).unwrap();
    let mut simulation = Simulation::new(&scenario, seed, Observe::default());
    simulation.run();
    simulation.results()
}

fn kbps(results: &Results) -> f64 {
    results.flows[0].goodput_bps / 1e3
}

const RECOVERIES: [&str; 4] = ["reno", "newreno", "sack", "tahoe"];
const LOSSES: [&str; 4] = ["0 %", "0.1 %", "1 %", "3 %"];
const BUFFERS: [u32; 3] = [5, 20, 50];
const ACK_EVERY: [u32; 2] = [1, 2];

/// Goodput, retransmissions and timeouts by loss recovery, loss on the wired link (both ways), size of
/// the radio buffer and ACK frequency. Packets travel whole over the radio, without errors.
#[test]
#[ignore = "slow"]
fn recovery_by_loss_and_buffer() {
    let mut table = String::from("                          ack every segment        every second\n");
    table.push_str("recovery  loss   buffer   kbit/s  rexmits  rtos   kbit/s  rexmits  rtos\n");
    let mut timeouts = [0; RECOVERIES.len()];
    for (index, recovery) in RECOVERIES.iter().enumerate() {
        for buffer in BUFFERS {
            let mut goodputs = [const { Vec::new() }; 2];
            for loss in LOSSES {
                write!(table, "{recovery:8}  {loss:5}  {buffer:6}").unwrap();
                for ack_every in ACK_EVERY {
                    let results = run(
                        1,
                        &[
                            (&format!("tcp.recovery.{recovery}"), "{}".into()),
                            ("tcp.sack", (*recovery == "sack").to_string()),
                            ("wired.loss", loss.into()),
                            ("radio.dch.downlink.queue.droptail.packets", buffer.to_string()),
                            ("tcp.ack_every", ack_every.to_string()),
                        ],
                    );
                    let (flow, goodput) = (&results.flows[0], kbps(&results));
                    let (rexmits, rtos) = (flow.sender.retransmissions.total, flow.sender.timeouts);
                    write!(table, "   {goodput:6.0}  {rexmits:7}  {rtos:4}").unwrap();

                    let case = format!("{recovery}, {loss}, {buffer} packets, ack_every {ack_every}");
                    assert!(goodput <= MOST, "{case}: {goodput} kbit/s is more than the bearer carries");
                    goodputs[ack_every as usize - 1].push(goodput);
                    assert!(flow.bytes_received >= flow.bytes_acked, "{case}: acknowledged but not received");
                    assert!(rexmits >= rtos, "{case}: a timeout sends at least one segment again");
                    let is_loss_free = loss == "0 %" && buffer == 50;
                    assert_eq!(rexmits == 0, is_loss_free, "{case}: 44 segments of window fit 50 packets");
                    timeouts[index] += rtos;
                }
                table.push('\n');
            }
            for by_loss in goodputs {
                // A single run: where a loss happens to spare the buffer an overflow, it may gain a little.
                let falls = by_loss.windows(2).all(|pair| pair[1] <= 1.03 * pair[0]);
                assert!(falls, "{recovery}, {buffer} packets: more loss, more goodput: {by_loss:.0?}");
                assert!(by_loss[3] < 0.8 * by_loss[0], "{recovery}, {buffer} packets: {by_loss:.0?}");
            }
        }
    }
    assert!(timeouts[1] <= timeouts[0], "NewReno has {} timeouts, Reno {}", timeouts[1], timeouts[0]);
    assert!(timeouts[2] <= timeouts[1], "SACK has {} timeouts, NewReno {}", timeouts[2], timeouts[1]);
    insta::assert_snapshot!(table, @"
                              ack every segment        every second
    recovery  loss   buffer   kbit/s  rexmits  rtos   kbit/s  rexmits  rtos
    reno      0 %         5      344       42     1      328       25     1
    reno      0.1 %       5      340       42     1      321       25     1
    reno      1 %         5      296       41     3      263       36     5
    reno      3 %         5      213       45     9      180       41     5
    reno      0 %        20      356       48     1      356       42     1
    reno      0.1 %      20      356       49     1      356       42     1
    reno      1 %        20      346       22     2      304       20     2
    reno      3 %        20      260       47     7      175       30     5
    reno      0 %        50      371        0     0      371        0     0
    reno      0.1 %      50      370        1     0      370        1     0
    reno      1 %        50      346       22     2      304       20     2
    reno      3 %        50      260       47     7      175       30     5
    newreno   0 %         5      352       36     0      326       22     0
    newreno   0.1 %       5      351       37     0      319       22     0
    newreno   1 %         5      321       43     0      271       29     1
    newreno   3 %         5      260       51     3      185       35     2
    newreno   0 %        20      361       48     1      364       29     1
    newreno   0.1 %      20      361       48     1      364       29     1
    newreno   1 %        20      360       22     1      312       19     1
    newreno   3 %        20      266       49     5      189       30     2
    newreno   0 %        50      371        0     0      371        0     0
    newreno   0.1 %      50      369        1     0      368        1     0
    newreno   1 %        50      360       22     1      312       19     1
    newreno   3 %        50      266       49     5      189       30     2
    sack      0 %         5      354       36     0      341       23     0
    sack      0.1 %       5      354       37     0      334       23     0
    sack      1 %         5      321       43     1      278       29     1
    sack      3 %         5      266       54     2      194       35     2
    sack      0 %        20      369       28     0      371       16     0
    sack      0.1 %      20      371       28     0      367       17     0
    sack      1 %        20      361       21     1      315       20     0
    sack      3 %        20      288       45     2      201       30     1
    sack      0 %        50      371        0     0      371        0     0
    sack      0.1 %      50      370        1     0      370        1     0
    sack      1 %        50      361       21     1      315       20     0
    sack      3 %        50      288       45     2      201       30     1
    tahoe     0 %         5      309       40     0      295       26     0
    tahoe     0.1 %       5      306       40     0      293       26     0
    tahoe     1 %         5      284       41     1      259       38     1
    tahoe     3 %         5      224       53     6      176       46     4
    tahoe     0 %        20      351       51     0      354       39     0
    tahoe     0.1 %      20      349       52     0      354       39     0
    tahoe     1 %        20      325       22     1      274       20     2
    tahoe     3 %        20      230       42     8      172       33     4
    tahoe     0 %        50      371        0     0      371        0     0
    tahoe     0.1 %      50      369        1     0      368        1     0
    tahoe     1 %        50      325       22     1      274       20     2
    tahoe     3 %        50      230       42     8      172       33     4
    ");
}

/// How much of the bearer is used, and what TCP makes of it, by order of delivery, size of the PDUs and
/// block errors of `rlc.fixed_delay_arq`.
#[test]
fn fixed_delay_arq_by_delivery_and_pdu() {
    let mut table =
        String::from("delivery         pdu    bler   used %   kbit/s  rexmits  rtos  pdus lost %\n");
    for delivery in ["in_sequence", "out_of_sequence"] {
        for pdu in [None, Some("40 B")] {
            for bler in [0_u32, 10] {
                let arq = "radio.dch.downlink.rlc.fixed_delay_arq";
                let mut overrides = vec![
                    ("radio.dch.downlink.rlc".to_owned(), "fixed_delay_arq".to_owned()),
                    (format!("{arq}.delivery"), delivery.to_owned()),
                    ("radio.dch.downlink.channel.bernoulli.bler".to_owned(), format!("{bler} %")),
                ];
                overrides.extend(pdu.map(|pdu| (format!("{arq}.pdu"), pdu.to_owned())));
                let overrides: Vec<_> =
                    overrides.iter().map(|(path, value)| (path.as_str(), value.clone())).collect();
                let results = run(1, &overrides);
                let cell = results.elements.iter().find(|report| report["element"] == "radio.dch").unwrap();
                let downlink = &cell["ues"][0]["downlink"];
                let count = |key: &str| downlink[key].as_f64().unwrap();
                let used = 100.0 * count("utilisation");
                let lost = 100.0 * count("pdus_lost") / count("pdus_sent");
                let (flow, goodput) = (&results.flows[0], kbps(&results));
                let (rexmits, rtos) = (flow.sender.retransmissions.total, flow.sender.timeouts);
                let block = pdu.unwrap_or("TTI");
                let case = format!("{delivery:15}  {block:5}  {bler:2} %");
                writeln!(table, "{case}   {used:6.1}   {goodput:6.0}  {rexmits:7}  {rtos:4}  {lost:11.1}")
                    .unwrap();

                // Lost blocks use the bearer: it carries at most what the others leave. The slots of
                // 60 s are 3000; six standard deviations of the lost ones among them are 3.3 %.
                assert!(used <= 100.0 - f64::from(bler) + 3.3, "{case}: {used} % used");
                assert!((lost - f64::from(bler)).abs() <= 3.3, "{case}: {lost} % lost");
                assert!(goodput <= MOST * used / 100.0, "{case}: TCP delivers the data sent over the air");
                // In sequence and without limit TCP sees nothing of block errors but delay.
                let unseen = bler == 0 || delivery == "in_sequence";
                assert_eq!(rexmits == 0, unseen, "{case}: {rexmits} retransmissions");
            }
        }
    }
    insta::assert_snapshot!(table, @"
    delivery         pdu    bler   used %   kbit/s  rexmits  rtos  pdus lost %
    in_sequence      TTI     0 %     99.4      371        0     0          0.0
    in_sequence      TTI    10 %     89.3      333        0     0         10.2
    in_sequence      40 B    0 %     99.4      371        0     0          0.0
    in_sequence      40 B   10 %     89.5      334        0     0          9.8
    out_of_sequence  TTI     0 %     99.4      371        0     0          0.0
    out_of_sequence  TTI    10 %     85.4      301       91     0         10.1
    out_of_sequence  40 B    0 %     99.4      371        0     0          0.0
    out_of_sequence  40 B   10 %     56.8      199       68     0          9.7
    ");
}

//! What boxes make of a drop by the queue discipline, and of an SDU that the link layer gives up: two things.

use airpath_core::packet::Dir;
use airpath_core::scenario::{Scenario, bundled};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask, Reason};
use serde_json::Value;

/// Results of a run, and what was dropped with its time.
struct Run {
    trace: Vec<(Instant, Event)>,
    elements: Vec<Value>,
}

impl Run {
    fn of(text: &str, pairs: &[(&str, &str)]) -> Self {
        let overrides: Vec<_> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let kinds = [
            Kind::Dropped,
            Kind::AckRegulator,
            Kind::AckRateControl,
            Kind::BearerEnqueued,
            Kind::BearerDelivered,
            Kind::RlcConfirmed,
        ];
        let probes = kinds.into_iter().fold(ProbeMask::NONE, ProbeMask::with);
        let scenario = Scenario::parse(text, &overrides).unwrap();
        let mut simulation = Simulation::new(&scenario, 1, Observe { probes, ..Observe::default() });
        simulation.run();
        let elements =
            serde_json::to_value(simulation.results()).unwrap()["elements"].as_array().unwrap().clone();
        Self { trace: simulation.take_trace(), elements }
    }

    fn element(&self, name: &str) -> &Value {
        self.elements.iter().find(|element| element["element"] == name).unwrap()
    }

    /// When data was dropped for a reason.
    fn dropped(&self, why: Reason) -> Vec<Instant> {
        let of_data = |event: &Event| matches!(event, Event::Dropped { reason, len_bytes, .. } if *reason == why && *len_bytes > 500);
        self.trace.iter().filter(|(_, event)| of_data(event)).map(|(at, _)| *at).collect()
    }

    /// Mean delay of a packet from the downlink's buffer to its delivery, seconds.
    fn mean_delay_s(&self) -> f64 {
        let delays: Vec<f64> = self
            .trace
            .iter()
            .filter_map(|(_, event)| match event {
                Event::BearerDelivered { direction: Dir::Downlink, delay_ns, .. } => {
                    Some(*delay_ns as f64 / 1e9)
                }
                _ => None,
            })
            .collect();
        delays.iter().sum::<f64>() / delays.len() as f64
    }
}

/// A bearer that loses blocks and gives each up at once, with room for everything.
const GIVES_UP: &str = r#"
    duration = "300 s"
    wired.delay = "20 ms"
    [radio.dch.downlink]
    rate = "384 kbit/s"
    queue.droptail = { packets = 200 }
    rlc.fixed_delay_arq = { max_transmissions = 1 }
    channel.bernoulli.bler = "0.5 %"
    [tcp]
    max_window = 44
    [[flow]]
"#;

/// ACK rate control with another function while PDPC's counter is above zero.
const COMBINED: &str = "[{ ack_rate_control = { t_id = { linear = { minth = 0, maxth = 40, maxd = \"40 ms\" } }, \
                        t_id_after_drop = { off = {} }, occupancy = \"untransmitted\" } }]";

fn pdpc(packets: u32, max_threshold: u32) -> String {
    format!(
        "{{ pdpc = {{ packets = {packets}, max_threshold = {max_threshold}, arriving = \"excluded\" }} }}"
    )
}

/// Figure 3: only a drop by the discipline sets `Counter`.
#[test]
fn overflows_and_what_the_link_layer_gives_up_do_not_change_the_function_of_ack_rate_control() {
    let key = "radio.dch.downlink.queue";
    let roomy = Run::of(GIVES_UP, &[("middlebox", COMBINED), (key, &pdpc(200, 200))]);
    assert!(roomy.dropped(Reason::MaxTransmissions).len() > 20);
    assert!(roomy.dropped(Reason::QueueFull).is_empty());
    // A threshold beyond the limit is never reached.
    let full = Run::of(GIVES_UP, &[("middlebox", COMBINED), (key, &pdpc(10, 30))]);
    assert!(full.dropped(Reason::QueueFull).len() > 20);
    for run in [&roomy, &full] {
        assert!(run.dropped(Reason::Evicted).is_empty());
        let ue = &run.element("middlebox.ack_rate_control")["ues"][0];
        assert_eq!((&ue["drops_followed"], &ue["t_id_after_drop_s"]), (&0.into(), &0.0.into()), "{ue}");
    }
}

/// The regulator lets one packet be lost, and is conservative again when its buffer has dropped it. A packet that the
/// link layer gives up had come and was counted then.
#[test]
fn what_the_link_layer_gives_up_does_not_make_a_regulator_conservative() {
    let boxes = "[{ ack_regulator = { alpha = 0.5 } }]";
    let small = ("radio.dch.downlink.queue.droptail.packets", "15");
    let run = Run::of(GIVES_UP, &[small, ("middlebox", boxes)]);
    let given_up = run.dropped(Reason::MaxTransmissions);
    assert!(given_up.len() > 20);
    let modes: Vec<(Instant, bool)> = run
        .trace
        .iter()
        .filter_map(|(at, event)| match event {
            Event::AckRegulator { conservative, .. } => Some((*at, *conservative)),
            _ => None,
        })
        .collect();
    let is_bold =
        |last: &dyn Fn(Instant) -> bool| modes.iter().rfind(|(at, _)| last(*at)).is_some_and(|(_, is)| !is);
    let while_bold: Vec<_> = given_up.iter().filter(|lost| is_bold(&|at| at < **lost)).collect();
    let stays_so = while_bold.iter().filter(|lost| is_bold(&|at| at <= ***lost)).count();
    // At some of these instants a packet also leaves the buffer, which is another reason to return.
    assert!(while_bold.len() > 5 && 2 * stays_so > while_bold.len(), "{stays_so} of {}", while_bold.len());
}

/// The bearer of Alcaraz and Cerdan over RLC in acknowledged mode, in which nothing is given up.
fn over_am(pairs: &[(&str, &str)]) -> Run {
    Run::of(bundled("alcaraz-384").unwrap(), pairs)
}

/// When [`over_am`] ends.
const END: Instant = Instant::from_nanos(60_000_000_000);

/// Recomputes `Counter` of Figure 3 from the arrivals, drops and deliveries of the buffer, and compares it with the
/// function that ACK rate control reports. Returns how often the counter started, and for how long it was above zero,
/// seconds.
fn counter_beside_function(run: &Run) -> (u64, f64) {
    let (mut held, mut counter) = (0_u64, 0_u64);
    let (mut starts, mut above_ns, mut since) = (0, 0, Instant::ZERO);
    let mut told = [0, 0];
    for (at, event) in &run.trace {
        let before = counter;
        match event {
            Event::BearerEnqueued { direction: Dir::Downlink, queued_bytes, .. } => {
                held = (*queued_bytes).into()
            }
            Event::RlcConfirmed { direction: Dir::Downlink, len_bytes, .. } => {
                held -= u64::from(*len_bytes);
                counter = counter.saturating_sub((*len_bytes).into());
            }
            Event::Dropped { reason: Reason::Evicted, len_bytes, .. } => {
                assert_eq!(counter, 0);
                counter = held;
                held -= u64::from(*len_bytes);
            }
            Event::AckRateControl { after_drop, .. } => {
                assert_eq!(*after_drop, counter > 0, "at {at:?} with {counter} B to go");
                told[usize::from(*after_drop)] += 1;
            }
            _ => {}
        }
        match (before, counter) {
            (0, 1..) => (starts, since) = (starts + 1, *at),
            (1.., 0) => above_ns += at.since(since).as_nanos(),
            _ => {}
        }
    }
    if counter > 0 {
        above_ns += END.since(since).as_nanos();
    }
    assert!(told[0] > 100 && told[1] > 10, "{told:?}");
    (starts, above_ns as f64 / 1e9)
}

/// The box has no counter of its own: f_2 is in force exactly while PDPC's is above zero, whatever SDUs the box counts
/// and also where the buffer overflows meanwhile.
#[test]
fn the_second_function_holds_exactly_while_pdpcs_counter_is_above_zero() {
    for (flows, packets) in [("[{}]", 50), ("[{}, {}, {}, {}]", 45)] {
        let queue = pdpc(packets, 40);
        let run = over_am(&[
            ("flow", flows),
            ("radio.dch.downlink.queue", &queue),
            ("radio.dch.downlink.rlc.am.max_dat", "1000"),
            ("middlebox", COMBINED),
        ]);
        let (starts, above_s) = counter_beside_function(&run);
        let ue = &run.element("middlebox.ack_rate_control")["ues"][0];
        assert_eq!(ue["drops_followed"], starts, "{ue}");
        assert!((ue["t_id_after_drop_s"].as_f64().unwrap() - above_s).abs() < 1e-6, "{ue}: {above_s} s");
        assert_eq!(packets == 45, !run.dropped(Reason::QueueFull).is_empty());
    }
}

#[test]
fn every_drop_of_pdpc_is_followed_by_ack_rate_control() {
    // With a fourth flow the buffer may fill up, and its limit drops too.
    let flows = ("flow", "[{}, {}, {}]");
    let pdpc = ("radio.dch.downlink.queue", "{ pdpc = { packets = 100, max_threshold = 30 } }");
    let boxes = "[{ ack_rate_control = { t_id = { linear = { minth = 0, maxth = 40, maxd = \"400 ms\" } }, \
                 t_id_after_drop = { off = {} }, occupancy = \"unacked\" } }]";
    let plain = over_am(&[flows]);
    let alone = over_am(&[flows, pdpc]);
    let combined = over_am(&[flows, pdpc, ("middlebox", boxes)]);
    for run in [&alone, &combined] {
        let bearer = &run.element("radio.dch")["ues"][0]["downlink"];
        let evicted = run.dropped(Reason::Evicted).len() as u64;
        assert!(evicted > 5, "{bearer}");
        assert_eq!(bearer["sdus_dropped"], evicted, "{bearer}");
        assert!(run.mean_delay_s() < plain.mean_delay_s(), "{}", run.mean_delay_s());
    }
    let ue = &combined.element("middlebox.ack_rate_control")["ues"][0];
    assert_eq!(ue["drops_followed"], combined.dropped(Reason::Evicted).len() as u64, "{ue}");
    assert!(ue["t_id_after_drop_s"].as_f64().unwrap() > 1.0, "{ue}");
}

/// Sent, received and lost of a datagram flow, and its packets dropped by the bearer of `dir`.
fn fate(text: &str, dir: &str) -> [u64; 4] {
    let mut simulation = Simulation::new(&Scenario::parse(text, &[]).unwrap(), 1, Observe::default());
    simulation.run();
    let results = serde_json::to_value(simulation.results()).unwrap();
    let count = |value: &Value| value.as_u64().unwrap();
    let datagrams = &results["flows"][0]["datagrams"];
    let bearer = &results["elements"][1]["ues"][0][dir];
    [&datagrams["sent"], &datagrams["received"], &datagrams["lost"], &bearer["sdus_discarded"]].map(count)
}

/// Nobody reports what an end had given up when it fell silent.
#[test]
fn an_unrecoverable_error_of_rlc_loses_what_was_given_up() {
    for (loss, bler) in
        [("max_dat = 4", "95 %"), ("sdu_discard = \"timer\", timer_discard = \"500 ms\"", "90 %")]
    {
        let am = format!("{{ tti = \"20 ms\", pdu = \"42 B\", timer_poll = \"150 ms\", {loss} }}");
        let text = format!(
            "duration = \"120 s\"\nflow = [{{ app.cbr = {{ rate = \"64 kbit/s\", size = \"600 B\", packets = 8 }} }}]\n\
             [radio.dch]\ndownlink.channel.bernoulli.bler = \"{bler}\"\nuplink.channel.bernoulli.bler = \"{bler}\"\n\
             downlink.rlc.am = {am}\nuplink.rlc.am = {am}\n"
        );
        let [sent, received, lost, discarded] = fate(&text, "downlink");
        assert_eq!((sent, received + lost, discarded), (8, 8, lost), "{loss}");
        assert!(lost > 0, "{loss}");
    }
}

/// No PDU follows that would tell the receiver.
#[test]
fn the_last_sdu_that_unacknowledged_mode_breaks_off_is_lost() {
    let text = "duration = \"120 s\"
        flow = [{ app.cbr = { rate = \"400 kbit/s\", size = \"1400 B\", packets = 30 }, direction = \"uplink\" }]
        [radio.dch]
        uplink.rate = \"64 kbit/s\"
        downlink.rlc.um = { tti = \"20 ms\" }
        uplink.rlc.um = { tti = \"20 ms\", timer_discard = \"500 ms\" }";
    let [sent, received, lost, discarded] = fate(text, "uplink");
    assert_eq!((sent, received + lost, discarded), (30, 30, lost));
}

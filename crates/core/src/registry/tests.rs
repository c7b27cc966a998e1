//! A component of each kind that is its `Config` and two lines in its folder's `mod.rs`, and a scenario of them all.
//!
//! The two lines exist only in tests: wherever the core matches all components of a kind, or needs to know one by name,
//! its tests do not compile or the scenario fails.

use crate::scenario::Scenario;
use crate::sim::{Observe, Simulation};

/// Parameters that every scratch component has.
macro_rules! scratch {
    ($($field:ident: $of:ty = $default:expr),* $(,)?) => {
        /// A component for tests.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct Config {
            $(
                /// A parameter.
                pub $field: $of,
            )*
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

/// Halves a rate with each feedback message that reports a loss.
pub mod controller {
    use crate::controller::{Component, Feedback, Limits, Permit, RateController};
    use crate::time::{Duration, Instant};

    scratch!(interval: Duration = Duration::from_millis(100));

    impl Component for Config {
        fn build(&self, limits: Limits, _start: Instant) -> Box<dyn RateController> {
            Box::new(Halving { limits, rate: limits.start })
        }

        fn feedback_interval(&self) -> Duration {
            self.interval
        }
    }

    struct Halving {
        limits: Limits,
        rate: f64,
    }

    impl RateController for Halving {
        fn handle_feedback(&mut self, _now: Instant, feedback: Feedback<'_>) {
            let lost = feedback.packets.iter().any(|packet| packet.arrived_at.is_none());
            self.rate = if lost { (self.rate / 2.0).max(self.limits.min) } else { self.rate };
        }

        fn permit(&self) -> Permit {
            Permit { target_bps: self.rate, pacing_bps: 2.0 * self.rate, window_bytes: u64::MAX }
        }
    }
}

/// Sends 10 kB, at once or in parts.
pub mod app {
    use crate::app::{App, Carrier, Component, Traffic};
    use crate::rng::Stream;
    use crate::time::{Duration, Instant};

    scratch!(bytes: u64 = 10_000, part: Option<u64> = None, pause: Duration = Duration::ZERO);

    impl Component for Config {
        fn build(&self, _stream: Stream) -> Traffic {
            let (part, left) = (self.part.unwrap_or(self.bytes), self.bytes);
            Traffic::Stream(Box::new(Scratch { part, left, supplied: 0, pause: self.pause, next: None }))
        }

        fn carrier(&self) -> Carrier {
            Carrier::Tcp
        }

        fn ends(&self, _connection: u16) -> u32 {
            2
        }
    }

    /// Supplies in parts: each when the part before has been acknowledged, and `pause` later.
    struct Scratch {
        part: u64,
        left: u64,
        supplied: u64,
        pause: Duration,
        next: Option<Instant>,
    }

    impl App for Scratch {
        fn poll_supply(&mut self, now: Instant) -> u64 {
            let is_due = self.next.take_if(|next| *next <= now).is_some() || self.supplied == 0;
            let bytes = if is_due { self.part.min(self.left) } else { 0 };
            self.left -= bytes;
            self.supplied += bytes;
            bytes
        }

        fn deadline(&self) -> Option<Instant> {
            self.next
        }

        fn awaits_acked(&self) -> Option<u64> {
            (self.left > 0 && self.next.is_none()).then_some(self.supplied)
        }

        fn handle_acked(&mut self, now: Instant, _acked: u64) {
            self.next = Some(now + self.pause);
        }

        fn is_done(&self) -> bool {
            self.left == 0
        }
    }
}

/// Loses every third block.
pub mod channel {
    use crate::channel::{Channel, Component, Kind};
    use crate::time::Instant;

    scratch!(every: u32 = 3);

    struct Scratch(Config, u32);

    impl Component for Config {
        fn build(&self, _run_seed: u64, _name: &str) -> Box<dyn Channel> {
            Box::new(Scratch(self.clone(), 0))
        }

        fn kind(&self) -> Kind {
            Kind::Blocks
        }
    }

    impl Channel for Scratch {
        fn block_lost(&mut self, _now: Instant) -> bool {
            self.1 += 1;
            self.1.is_multiple_of(self.0.every)
        }
    }
}

/// A gain of one.
pub mod fading {
    use crate::fading::{BLOCK, Component, Fading};
    use crate::rng::Stream;

    scratch!();

    struct Scratch;

    impl Component for Config {
        fn build(&self, _samples_per_s: f64, _stream: Stream) -> Box<dyn Fading> {
            Box::new(Scratch)
        }

        fn share_from(&self, _gain: f64) -> f64 {
            1.0
        }
    }

    impl Fading for Scratch {
        fn block(&mut self, _number: u64) -> &[f32; BLOCK] {
            &[1.0; BLOCK]
        }
    }
}

/// Counts passing packets.
pub mod middlebox {
    use crate::element::{Cx, Element, Layout, Port};
    use crate::middlebox::{Component, Plan};
    use crate::packet::Packet;

    scratch!();

    #[derive(Default)]
    struct Scratch(u32);

    impl Component for Config {
        fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
            Box::<Scratch>::default()
        }
    }

    impl Element for Scratch {
        fn layout(&self) -> Layout {
            Layout::default()
        }

        fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
            self.0 += 1;
            cx.emit(port.through(), packet);
        }

        fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
            serde_json::json!({ "element": "middlebox.scratch", "packets": self.0 })
        }
    }
}

/// Drops every tenth packet.
pub mod queue {
    use crate::element::Bearer;
    use crate::packet::Packet;
    use crate::queue::{Aqm, Component, Discipline, Place, Verdict};
    use crate::time::Instant;
    use crate::trace::Reason;

    scratch!();

    struct Scratch(u32);

    impl Component for Config {
        fn build(&self, _place: &Place<'_>) -> Discipline {
            Discipline::Other(Box::new(Scratch(0)))
        }
    }

    impl Aqm for Scratch {
        fn admit(&mut self, _now: Instant, _packet: &Packet, _buffer: &Bearer) -> Verdict {
            self.0 += 1;
            if self.0.is_multiple_of(10) { Verdict::Drop(Reason::QueueFull) } else { Verdict::Enter }
        }
    }
}

/// A cell without air: every packet takes 10 ms.
pub mod radio {
    use crate::element::{Cx, Element, Layout, Port};
    use crate::error::ScenarioError;
    use crate::packet::{Dir, Packet};
    use crate::queue;
    use crate::radio::{Component, Plan};
    use crate::time::Duration;

    scratch!(ues: u16 = 1);

    struct Scratch;

    impl Component for Config {
        fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
            Box::new(Scratch)
        }

        fn ues(&self) -> u16 {
            self.ues
        }

        fn queues(&self, _dir: Dir) -> Vec<&queue::Config> {
            Vec::new()
        }

        fn validate(&self) -> Result<(), ScenarioError> {
            Ok(())
        }
    }

    impl Element for Scratch {
        fn layout(&self) -> Layout {
            Layout { lanes: Dir::BOTH.to_vec(), ..Layout::default() }
        }

        fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
            cx.emit_at(cx.now + Duration::from_millis(10), port.dir().index() as u32, packet);
        }

        fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
            serde_json::json!({ "element": "radio.scratch" })
        }
    }
}

/// An ARQ under another name.
pub mod rlc {
    use crate::rlc::{Component, Rlc, fixed_delay_arq};
    use crate::rng::Stream;
    use crate::units::Bitrate;

    scratch!();

    impl Component for Config {
        fn build(&self, rate: Bitrate, stream: Stream) -> Option<Box<dyn Rlc>> {
            fixed_delay_arq::Config::default().build(rate, stream)
        }
    }
}

/// The last who can be served is.
pub mod scheduler {
    use crate::scheduler::{Component, Scheduler};

    scratch!();

    struct Scratch;

    impl Component for Config {
        fn build(&self, _users: usize, _window: u32) -> Box<dyn Scheduler> {
            Box::new(Scratch)
        }
    }

    impl Scheduler for Scratch {
        fn choose(&mut self, rates: &[f64]) -> Option<usize> {
            rates.iter().rposition(|rate| *rate > 0.0)
        }
    }
}

/// A window that never grows.
pub mod cc {
    use crate::tcp::cc::{Component, CongestionControl};
    use crate::tcp::window::state::{State, Window};

    scratch!();

    struct Scratch;

    impl Component for Config {
        fn build(&self) -> Box<dyn CongestionControl> {
            Box::new(Scratch)
        }
    }

    impl CongestionControl for Scratch {
        fn on_ack(&mut self, _window: &mut Window, _acked: u64) {}

        fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
            2.0 * state.mss() as f64
        }
    }
}

fn run(scenario: &str) -> serde_json::Value {
    let scenario = Scenario::parse(scenario, &[]).unwrap();
    let text = scenario.to_toml().unwrap();
    assert!(Scenario::parse(&text, &[]).unwrap() == scenario, "{text}");
    let mut run = Simulation::new(&scenario, 1, Observe::default());
    run.run();
    serde_json::from_str(&run.results().to_json()).unwrap()
}

#[test]
fn components_that_are_a_file_and_two_lines_work_together_in_a_scenario() {
    let results = run("middlebox = [\"scratch\"]\n\
         tcp.cc = \"scratch\"\n\
         [radio.dch.downlink]\nrlc = \"scratch\"\nchannel.scratch.every = 4\nqueue = \"scratch\"\n\
         [[flow]]\napp.scratch.bytes = 20000\n");
    let flow = &results["flows"][0];
    assert_eq!(flow["bytes_acked"], 20_000, "{flow}");
    let boxes = results["elements"].as_array().unwrap();
    assert!(
        boxes.iter().any(|one| one["element"] == "middlebox.scratch" && one["packets"].as_u64() > Some(20))
    );
    let cell = boxes.iter().find(|one| one["element"] == "radio.dch").unwrap();
    assert!(cell["ues"][0]["downlink"]["pdus_lost"].as_u64() > Some(0), "{cell}");
}

#[test]
fn an_application_supplies_in_steps_hears_what_is_acknowledged_and_ends_the_transfer() {
    let run =
        |app: &str| run(&format!("duration = \"60 s\"\n[[flow]]\napp.scratch = {app}\n"))["flows"][0].clone();
    let whole = run("{ bytes = 40000 }");
    let parts = run("{ bytes = 40000, part = 10000, pause = \"3 s\" }");
    for flow in [&whole, &parts] {
        assert_eq!(
            (&flow["bytes_acked"], &flow["bytes_received"]),
            (&40_000.into(), &40_000.into()),
            "{flow}"
        );
    }
    // Three pauses separate four parts, and each takes at least one round trip.
    let [whole, parts] = [whole, parts].map(|flow| flow["transfer_s"].as_f64().unwrap());
    assert!(parts > 9.0 && parts < 9.0 + 4.0 * whole, "{parts} {whole}");
}

#[test]
fn so_do_a_cell_and_those_of_a_shared_channel() {
    let flow = "[[flow]]\napp = \"scratch\"\n";
    let cell = run(&format!("radio.scratch.ues = 1\n{flow}"));
    assert_eq!(cell["flows"][0]["bytes_acked"], 10_000);
    let shared = "radio.evdo.downlink = { fading = \"scratch\", scheduler = \"scratch\" }\n";
    assert_eq!(run(&format!("{shared}{flow}"))["flows"][0]["bytes_acked"], 10_000);
}

#[test]
fn the_schema_and_errors_know_them() {
    let schema = Scenario::schema().to_string();
    assert_eq!(schema.matches(",\"scratch\"]").count(), 10, "names that stand alone");
    let error = Scenario::parse("tcp.cc.scratch.step = 1\n[[flow]]\n", &[]).unwrap_err();
    assert_eq!(error.to_string(), "tcp.cc.scratch.step: unknown key; there is nothing to set here");
}

//! The simulator as WebAssembly without imports: a plain C interface for pages. Conversion only, no model logic.
//!
//! Arguments that are no numbers go through memory: [`input`] makes room for one, and the caller writes it there.
//! What is no number comes back through memory too: [`answer`] and [`answer_len`] say where the last answer lies, until
//! the next call. Functions that can fail return 1 then, and the answer is `{"path", "message", "hint"}` in JSON.
//! One run is open at a time. A panic ends in a trap, after which the instance is of no more use.

// Each function is exported under its name.
#![allow(unsafe_code)]

use airpath_analyze::{Options, Running};
use airpath_core::element::Capture;
use airpath_core::error::ScenarioError;
use airpath_core::rng;
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Chunk, ProbeMask, Table};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::cell::RefCell;

/// Number of the input that is text, or the octets of a capture.
const TEXT: usize = 0;
/// Number of the input that is a list in JSON.
const LIST: usize = 1;
/// Rows of the waterfall of a run.
const MOST_ROWS: usize = 1000;

/// What lies between two calls.
#[derive(Default)]
struct Engine {
    inputs: [Vec<u8>; 2],
    answer: Vec<u8>,
    run: Option<Simulation>,
    /// The analysis of its packets so far.
    analysis: Option<Running>,
}

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::default();
}

fn engine<T>(work: impl FnOnce(&mut Engine) -> T) -> T {
    ENGINE.with_borrow_mut(work)
}

impl Engine {
    fn text(&self) -> Result<&str, ScenarioError> {
        let text = std::str::from_utf8(&self.inputs[TEXT]);
        text.map_err(|error| ScenarioError::new("", error.to_string(), "write text in UTF-8"))
    }

    fn list<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ScenarioError> {
        let list = serde_json::from_slice(&self.inputs[LIST]);
        list.map_err(|error| ScenarioError::new("", error.to_string(), "write the list in JSON"))
    }

    /// Keeps an answer or an error, and returns whether it is an error.
    fn tell(&mut self, answer: Result<Vec<u8>, ScenarioError>) -> u32 {
        let failed = u32::from(answer.is_err());
        self.answer = answer.unwrap_or_else(|ScenarioError { path, message, hint }| {
            json!({ "path": path, "message": message, "hint": hint }).to_string().into_bytes()
        });
        failed
    }
}

/// Makes room for an argument of `len` octets and returns its address: of the text (0), or of the list (1). It stays
/// until another is written.
#[unsafe(no_mangle)]
pub extern "C" fn input(which: u32, len: u32) -> *mut u8 {
    engine(|engine| {
        let input = &mut engine.inputs[which as usize];
        *input = vec![0; len as usize];
        input.as_mut_ptr()
    })
}

/// Address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    engine(|engine| engine.answer.as_ptr())
}

/// Octets of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_len() -> u32 {
    engine(|engine| engine.answer.len() as u32)
}

/// Answers with what is built in, as JSON: version, version of the random streams, and the bundled scenarios, name -> text.
#[unsafe(no_mangle)]
pub extern "C" fn about() {
    let scenarios: Map<String, Value> =
        BUNDLED.iter().map(|(name, text)| ((*name).to_owned(), Value::from(*text))).collect();
    let about = json!({ "airpath": env!("CARGO_PKG_VERSION"), "rng": rng::VERSION, "scenarios": scenarios });
    engine(|engine| engine.answer = about.to_string().into_bytes());
}

/// Reads the scenario in the text, with the changes in the list, `[[key, value], ...]`. Answers with JSON: `scenario`
/// (TOML with every default), the same as `values`, `path`, the names of the places that events call `element`, `edges`,
/// pairs of places that are next to each other, and `bearers`, what the numbers mean that they call `bearer`.
#[unsafe(no_mangle)]
pub extern "C" fn resolve() -> u32 {
    fn resolved(engine: &Engine) -> Result<Vec<u8>, ScenarioError> {
        let changes: Vec<(String, String)> = engine.list()?;
        let mut no_file = |_: &str| Err("cannot be read: the scenario is in no folder".to_owned());
        let scenario = Scenario::parse_with(engine.text()?, &changes, &mut no_file)?;
        let text = scenario.to_toml()?;
        let values: toml::Table =
            text.parse().map_err(|error: toml::de::Error| ScenarioError::new("", error.to_string(), ""))?;
        let bearers = Simulation::new(&scenario, 0, Observe::default()).tables().bearers;
        let remark =
            |one: ScenarioError| json!({ "path": one.path, "message": one.message, "hint": one.hint });
        let remarks: Vec<_> = scenario.remarks().into_iter().map(remark).collect();
        let resolved = json!({ "scenario": text, "values": values, "path": scenario.path(), "edges": scenario.edges(), "bearers": bearers, "remarks": remarks });
        Ok(resolved.to_string().into_bytes())
    }
    engine(|engine| {
        let answer = resolved(engine);
        engine.tell(answer)
    })
}

/// Opens a run of the scenario in the text that records the kinds of event in the list. Its packets are analysed for
/// [`waterfall`] if `waterfall` is not 0.
#[unsafe(no_mangle)]
pub extern "C" fn start(seed: u64, waterfall: u32) -> u32 {
    fn started(engine: &Engine, seed: u64, capture: Capture) -> Result<Simulation, ScenarioError> {
        let probes = ProbeMask::NONE.with_named(&engine.list::<Vec<&str>>()?)?;
        let observe = Observe { probes, capture };
        Ok(Simulation::new(&Scenario::parse(engine.text()?, &[])?, seed, observe))
    }
    engine(|engine| {
        let is_analysed = waterfall != 0;
        let run = started(engine, seed, if is_analysed { Capture::Packets } else { Capture::Nothing });
        let options = Options { most_connections: MOST_ROWS, ..Options::default() };
        engine.analysis = is_analysed.then(|| Running::new(options));
        let answer = run.map(|run| engine.run = Some(run)).map(|()| Vec::new());
        engine.tell(answer)
    })
}

/// Runs this many simulated seconds on, and returns whether the run is over; without a run there is nothing to do.
#[unsafe(no_mangle)]
pub extern "C" fn advance(sim_seconds: f64) -> u32 {
    engine(|engine| {
        let over = engine.run.as_mut().is_none_or(|run| {
            let until = run.now().as_nanos().saturating_add((sim_seconds * 1e9) as u64);
            let over = run.advance_to(Instant::from_nanos(until));
            if let Some(analysis) = &mut engine.analysis {
                let _ = analysis.add(&run.take_capture());
            }
            over
        });
        u32::from(over)
    })
}

/// Simulated time, seconds.
#[unsafe(no_mangle)]
pub extern "C" fn now_s() -> f64 {
    engine(|engine| engine.run.as_ref().map_or(0.0, |run| run.now().as_secs_f64()))
}

/// What share of the run is done, 0 to 1.
#[unsafe(no_mangle)]
pub extern "C" fn progress() -> f64 {
    engine(|engine| engine.run.as_ref().map_or(1.0, Simulation::progress))
}

/// How many events were recorded since they were taken.
#[unsafe(no_mangle)]
pub extern "C" fn recorded() -> u32 {
    engine(|engine| engine.run.as_ref().map_or(0, |run| run.recorded() as u32))
}

/// Answers with the events since the last call, as a chunk (`airpath/studio/chunks.py`).
#[unsafe(no_mangle)]
pub extern "C" fn take_chunk() {
    engine(|engine| {
        let mut chunk = Chunk::new(false);
        if let Some(run) = &mut engine.run {
            Table::from_events(&run.take_trace()).iter().for_each(|table| chunk.add_table(table));
        }
        engine.answer = chunk.finish();
    });
}

/// Answers with the rows of the run's waterfall, as JSON; once, at its end.
#[unsafe(no_mangle)]
pub extern "C" fn waterfall() -> u32 {
    engine(|engine| {
        // The simulator's captures begin as they should.
        let report = engine.analysis.take().and_then(|analysis| analysis.into_report().ok());
        let rows = report.as_ref().map(airpath_analyze::Report::waterfall).unwrap_or_default();
        let answer = serde_json::to_vec(&rows).map_err(|error| ScenarioError::new("", error.to_string(), ""));
        engine.tell(answer)
    })
}

/// Answers with the results so far, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn results() {
    engine(|engine| {
        engine.answer = engine.run.as_mut().map_or_else(Vec::new, |run| run.results().to_json().into_bytes());
    });
}

/// Analyses the capture in the text, and answers with the report as JSON; `most` connections are told of in full.
#[unsafe(no_mangle)]
pub extern "C" fn analyze(most: u32) -> u32 {
    engine(|engine| {
        let options = Options { most_connections: most as usize, ..Options::default() };
        let report = airpath_analyze::analyze(engine.inputs[TEXT].as_slice(), options)
            .map_err(|error| error.to_string())
            .and_then(|report| serde_json::to_vec(&report).map_err(|error| error.to_string()));
        engine
            .tell(report.map_err(|what| ScenarioError::new("capture", what, "choose a pcap or pcapng file")))
    })
}

//! `airpath._core`: the simulator for Python. Thin: conversion only, no model logic.
//!
//! Runs release the GIL, so threads run replications side by side.

mod catalogue;
mod files;
mod net;
mod steered;

use airpath_analyze::Running;
use airpath_core::channel::{Kind as ChannelKind, series, trace_file};
use airpath_core::element::Capture;
use airpath_core::error::ScenarioError as CoreError;
use airpath_core::packet::Dir;
use airpath_core::radio;
use airpath_core::recording::Offset;
use airpath_core::rng;
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Memory, Observe, Results, Simulation as CoreSimulation, cut};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Chunk, Event, Kind, ProbeMask, Table, Values};
use airpath_core::units::{Bitrate, Bytes};
use airpath_core::windows::Threads;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

import_exception!(airpath.errors, ScenarioError);

fn scenario_error(error: CoreError) -> PyErr {
    ScenarioError::new_err((error.path, error.message, error.hint))
}

fn value_error(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn parse(text: &str, overrides: &[(String, String)]) -> PyResult<Scenario> {
    Scenario::parse(text, overrides).map_err(scenario_error)
}

/// Reads a scenario, applies overrides, and returns it with every default written out, and with the text
/// of the files that it names, from `folder` or from the current directory. `confined` refuses files outside of
/// `folder`, and all of them without one.
#[pyfunction]
#[pyo3(signature = (text, overrides = Vec::new(), folder = None, confined = false))]
fn resolve(
    text: &str,
    overrides: Vec<(String, String)>,
    folder: Option<PathBuf>,
    confined: bool,
) -> PyResult<String> {
    let mut read = |path: &str| match (&folder, confined) {
        (Some(folder), true) => files::read_below(folder, path),
        (None, true) => Err("cannot be read: the scenario is in no folder".to_owned()),
        (folder, false) => files::read(&folder.clone().unwrap_or_default().join(path)),
    };
    let scenario = Scenario::parse_with(text, &overrides, &mut read);
    scenario.and_then(|scenario| scenario.to_toml()).map_err(scenario_error)
}

/// Raises a ScenarioError if a text in TOML has more values than any scenario or sweep needs.
#[pyfunction]
fn check_size(text: &str) -> PyResult<()> {
    airpath_core::scenario::check_size(text).map_err(scenario_error)
}

/// The bundled scenarios: name -> text.
#[pyfunction]
fn bundled() -> BTreeMap<&'static str, &'static str> {
    BUNDLED.iter().copied().collect()
}

/// Names of the places on a scenario's path, from the server to the UEs, indexed by `element` of events; and pairs
/// of adjacent places, the one nearer to the server first.
#[pyfunction]
fn path(text: &str) -> PyResult<(Vec<String>, Vec<[u16; 2]>)> {
    let scenario = parse(text, &[])?;
    Ok((scenario.path(), scenario.edges()))
}

/// What the numbers in a run's events mean, as JSON: tables of nodes, interfaces, bearers and flows.
#[pyfunction]
fn tables_of(py: Python<'_>, text: &str) -> PyResult<String> {
    let scenario = parse(text, &[])?;
    let tables = py.detach(|| CoreSimulation::new(&scenario, 0, Observe::default()).tables());
    serde_json::to_string_pretty(&tables).map_err(value_error)
}

/// Text of a trace of delivery opportunities of constant rate, such as "12 Mbit/s".
#[pyfunction]
fn constant_trace(rate: &str) -> PyResult<String> {
    let trace = rate.parse::<Bitrate>().map_err(CoreError::from).and_then(trace_file::constant);
    trace.map(|trace| trace.to_text().to_string()).map_err(|error| scenario_error(error.under("rate")))
}

/// Time after which a series in a file may repeat: the time of its last line plus the last interval. `None` for a
/// single line. The error's key is empty.
#[pyfunction]
fn series_length(file: PathBuf) -> PyResult<Option<String>> {
    let text =
        files::read(&file).map_err(|wrong| scenario_error(CoreError::new("", wrong, "check the path")))?;
    let rows = text.parse::<series::Rows>().map_err(scenario_error)?;
    Ok(rows.length().map(|length| length.to_string()))
}

/// How far into a recording of so many milliseconds a UE begins, nanoseconds: by its `offset` of a valid scenario.
#[pyfunction]
fn recording_offset(offset: &str, length_ms: u64, seed: u64, ue: u16) -> PyResult<u64> {
    let offset = offset.parse::<Offset>().map_err(scenario_error)?;
    Ok(offset.draw(Duration::from_millis(length_ms), seed, &format!("ue{ue}")).as_nanos())
}

/// Delivery opportunities that a bearer's channel offers in each of the first milliseconds of a run; `None` if it has no
/// channel of opportunities.
#[pyfunction]
fn opportunities<'py>(
    py: Python<'py>,
    text: &str,
    seed: u64,
    ue: u16,
    is_uplink: bool,
    milliseconds: usize,
) -> PyResult<Option<Bound<'py, PyArray1<u32>>>> {
    let scenario = parse(text, &[])?;
    let radio::Config::Variable(cell) = &scenario.radio else { return Ok(None) };
    let dir = if is_uplink { Dir::Uplink } else { Dir::Downlink };
    let config = &cell.bearer(dir).channel;
    if config.kind() != ChannelKind::Opportunities {
        return Ok(None);
    }
    let counts = py.detach(|| {
        let mut channel = config.build(seed, &format!("ue{ue}.{}.channel", dir.name()));
        let mut counts = vec![0; milliseconds];
        while let Some(opportunity) = channel.next_opportunity(Instant::ZERO) {
            let at_ms = opportunity.at.as_nanos() / 1_000_000;
            match counts.get_mut(usize::try_from(at_ms).unwrap_or(usize::MAX)) {
                Some(count) => *count += 1,
                None => break,
            }
        }
        counts
    });
    Ok(Some(counts.into_pyarray(py)))
}

/// What may be meant in a scenario but is seldom wanted: (key, remark, what would change it) for each.
#[pyfunction]
fn remarks(text: &str) -> PyResult<Vec<(String, String, String)>> {
    let remarks = parse(text, &[])?.remarks();
    Ok(remarks.into_iter().map(|one| (one.path, one.message, one.hint)).collect())
}

/// Whether a capture of a scenario can hold PDUs of RLC, and datagrams on the Iu, in addition to the packets of
/// hosts.
#[pyfunction]
fn captures(text: &str) -> PyResult<(bool, bool)> {
    let scenario = parse(text, &[])?;
    Ok((scenario.has_pdus(), scenario.umts.is_some()))
}

/// Runs a scenario to its end and returns the results as JSON.
#[pyfunction]
fn run(py: Python<'_>, text: &str, seed: u64) -> PyResult<String> {
    let scenario = parse(text, &[])?;
    py.detach(|| whole(&scenario, seed)).map(|results| results.to_json()).map_err(scenario_error)
}

/// How a run by so many threads is made, in words: whether it is cut into regions, and where, or why not.
#[pyfunction]
#[pyo3(signature = (text, threads = 1, observed = false))]
fn explain(text: &str, threads: usize, observed: bool) -> PyResult<(bool, String)> {
    let scenario = parse(text, &[])?;
    let probes = if observed { ProbeMask::NONE.with(Kind::Dropped) } else { ProbeMask::NONE };
    let found = cut(&scenario, Observe { probes, ..Observe::default() }, threads);
    Ok(found.map_or_else(|reason| (false, reason), |cut| (true, cut.describe())))
}

/// Memory that a run takes at most: bytes in addition to those of the program and of its results, and in words.
#[pyfunction]
fn memory(text: &str) -> PyResult<(u64, String)> {
    let memory = Memory::of(&parse(text, &[])?);
    Ok((memory.bytes(), memory.describe()))
}

/// Results of a whole run.
fn whole(scenario: &Scenario, seed: u64) -> Result<Results, CoreError> {
    let mut simulation = CoreSimulation::new(scenario, seed, Observe::default());
    simulation.run();
    simulation.overfull().map_or_else(|| Ok(simulation.results()), Err)
}

/// Result of consecutive runs: numbers; or the results of one run as JSON if it lacks one of the numbers; or the
/// error of a failed run: key, problem and remedy.
#[derive(IntoPyObject)]
enum Measured {
    Numbers(Vec<u8>),
    Json(String),
    Failed(String, String, String),
}

/// Runs a scenario with each seed in turn and returns the numbers at `paths` in the results, NaN for a null, as
/// octets of little-endian float64. Consecutive runs that have all numbers share one item. A run in which a path
/// leads to no number gives an item with its results as JSON, and a failed run one with its error.
#[pyfunction]
fn measure(py: Python<'_>, text: &str, seeds: Vec<u64>, paths: Vec<Vec<String>>) -> PyResult<Vec<Measured>> {
    let scenario = parse(text, &[])?;
    let mut measured = Vec::new();
    py.detach(|| {
        for seed in seeds {
            let results = match whole(&scenario, seed) {
                Ok(results) => results,
                Err(CoreError { path, message, hint }) => {
                    measured.push(Measured::Failed(path, message, hint));
                    continue;
                }
            };
            let Some(numbers) = results.numbers_at(&paths) else {
                measured.push(Measured::Json(results.to_json()));
                continue;
            };
            let octets = numbers.into_iter().flat_map(|number| number.unwrap_or(f64::NAN).to_le_bytes());
            match measured.last_mut() {
                Some(Measured::Numbers(known)) => known.extend(octets),
                _ => measured.push(Measured::Numbers(octets.collect())),
            }
        }
    });
    Ok(measured)
}

/// Everything registered, as JSON.
#[pyfunction]
fn registry() -> String {
    catalogue::registry().to_string()
}

/// JSON Schema of a scenario.
#[pyfunction]
fn schema() -> String {
    format!("{:#}", Scenario::schema())
}

/// The schema of events as JSON.
#[pyfunction]
fn trace_schema() -> String {
    format!("{:#}", airpath_core::trace::schema())
}

/// The probes with their columns.
#[pyfunction]
fn probes(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let kinds = PyDict::new(py);
    for kind in Kind::ALL {
        let columns: Vec<_> = kind.columns().iter().map(|column| column.name).collect();
        kinds.set_item(kind.name(), columns)?;
    }
    Ok(kinds)
}

/// A time with its unit, as scenarios write it, in seconds.
#[pyfunction]
fn seconds(text: &str) -> PyResult<f64> {
    text.parse().map(Duration::as_secs_f64).map_err(value_error)
}

/// A size with its unit, as scenarios write it, in bytes.
#[pyfunction]
fn octets(text: &str) -> PyResult<u64> {
    text.parse().map(Bytes::as_u64).map_err(value_error)
}

/// Version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Drives a live link: serves requests on the socket `fd` and returns at the end of the session. For a separate
/// process with one thread (see `live/driver_main.py`).
#[cfg(target_os = "linux")]
#[pyfunction]
fn live_driver(py: Python<'_>, fd: i32) -> PyResult<()> {
    py.detach(|| airpath_live::serve(fd)).map_err(PyErr::from)
}

/// A run that can be watched.
#[pyclass]
struct Simulation {
    inner: CoreSimulation,
    /// The analysis of its packets so far.
    analysis: Option<Running>,
}

/// Rows of the waterfall of a run; they are small.
const MOST_ROWS: usize = 1000;

/// Options for an analysis of at most this many connections.
fn of_most(most: usize) -> airpath_analyze::Options {
    airpath_analyze::Options { most_connections: most, ..airpath_analyze::Options::default() }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (text, seed, probes = Vec::new(), capture = false, capture_rlc = false, capture_iu = false, waterfall = false))]
    #[expect(clippy::too_many_arguments, reason = "options of a constructor in Python, by name")]
    fn new(
        py: Python<'_>,
        text: &str,
        seed: u64,
        probes: Vec<String>,
        capture: bool,
        capture_rlc: bool,
        capture_iu: bool,
        waterfall: bool,
    ) -> PyResult<Self> {
        let scenario = parse(text, &[])?;
        let probes: Vec<&str> = probes.iter().map(String::as_str).collect();
        let mask = ProbeMask::NONE.with_named(&probes).map_err(scenario_error)?;
        let what = Capture::of(capture || capture_rlc || capture_iu || waterfall, capture_rlc, capture_iu);
        let inner =
            py.detach(|| CoreSimulation::new(&scenario, seed, Observe { probes: mask, capture: what }));
        Ok(Self { inner, analysis: waterfall.then(|| Running::new(of_most(MOST_ROWS))) })
    }

    /// A run of which only the results are wanted, by so many threads where the scenario allows it.
    #[staticmethod]
    fn on_threads(py: Python<'_>, text: &str, seed: u64, threads: usize) -> PyResult<Self> {
        let scenario = parse(text, &[])?;
        let workers = Box::new(Threads::new(threads)?);
        let inner =
            py.detach(|| CoreSimulation::with_workers(&scenario, seed, Observe::default(), threads, workers));
        Ok(Self { inner, analysis: None })
    }

    /// Runs this many simulated seconds on; returns whether the run is over. Raises a ScenarioError if the run
    /// holds more packets than it may.
    fn advance(&mut self, py: Python<'_>, sim_seconds: f64) -> PyResult<bool> {
        if !(sim_seconds > 0.0 && sim_seconds.is_finite()) {
            return Err(PyValueError::new_err(format!("sim_seconds must be positive, not {sim_seconds}")));
        }
        let until =
            Instant::from_nanos(self.inner.now().as_nanos().saturating_add((sim_seconds * 1e9) as u64));
        let over = py.detach(|| {
            let over = self.inner.advance_to(until);
            if let Some(analysis) = &mut self.analysis {
                analysis.add(&self.inner.take_capture())?;
            }
            Ok(over)
        });
        let over = over.map_err(|error: airpath_analyze::FileError| value_error(error))?;
        self.inner.overfull().map_or(Ok(over), |error| Err(scenario_error(error)))
    }

    /// Simulated time, seconds.
    #[getter]
    fn now_s(&self) -> f64 {
        self.inner.now().as_secs_f64()
    }

    /// When the run ends at the latest, simulated seconds.
    #[getter]
    fn end_s(&self) -> f64 {
        self.inner.end().as_secs_f64()
    }

    /// What share of the run is done, 0 to 1.
    #[getter]
    fn progress(&mut self) -> f64 {
        self.inner.progress()
    }

    /// What the probes recorded since the last call: kind -> column -> values.
    fn take_trace<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        tables(py, &self.inner.take_trace())
    }

    /// How many events the probes recorded since they were taken.
    #[getter]
    fn recorded(&self) -> usize {
        self.inner.recorded()
    }

    /// What the probes recorded since the last call, as a chunk for a browser, and how many events of each kind.
    fn take_chunk<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyDict>)> {
        let (chunk, rows) = py.detach(|| {
            let mut chunk = Chunk::new(false);
            let mut rows = Vec::new();
            for table in Table::from_events(&self.inner.take_trace()) {
                chunk.add_table(&table);
                rows.push((table.kind.name(), table.time_ns.len()));
            }
            (chunk.finish(), rows)
        });
        let counts = PyDict::new(py);
        for (kind, rows) in rows {
            counts.set_item(kind, rows)?;
        }
        Ok((PyBytes::new(py, &chunk), counts))
    }

    /// Bytes of the capture written since the last call.
    fn take_capture<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.take_capture())
    }

    /// The rows of the waterfall of a run that was made with `waterfall`, as JSON; its packets are no longer known then.
    fn waterfall(&mut self) -> PyResult<String> {
        let report = self.analysis.take().map(Running::into_report).transpose().map_err(value_error)?;
        let rows = report.as_ref().map(airpath_analyze::Report::waterfall).unwrap_or_default();
        serde_json::to_string(&rows).map_err(value_error)
    }

    /// Results so far, as JSON.
    fn results(&mut self) -> String {
        self.inner.results().to_json()
    }
}

/// Events as NumPy arrays: kind -> column -> values.
fn tables<'py>(py: Python<'py>, events: &[(Instant, Event)]) -> PyResult<Bound<'py, PyDict>> {
    let trace = PyDict::new(py);
    for table in Table::from_events(events) {
        trace.set_item(table.kind.name(), columns(py, table)?)?;
    }
    Ok(trace)
}

/// A table as NumPy arrays: column -> numbers, or (codes, words).
fn columns<'py>(py: Python<'py>, table: Table) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("time_ns", table.time_ns.into_pyarray(py))?;
    for (info, column) in table.kind.columns().iter().zip(table.columns) {
        let name = info.name;
        if column.words.is_empty() {
            result.set_item(name, column.numbers.into_pyarray(py))?;
        } else {
            result.set_item(name, (column.codes.into_pyarray(py), column.words))?;
        }
    }
    Ok(result)
}

/// A column of NumPy: numbers, or (codes, words).
#[derive(FromPyObject)]
enum Given<'py> {
    Words(PyReadonlyArray1<'py, u8>, Vec<String>),
    Numbers(PyReadonlyArray1<'py, u64>),
}

/// Events as a chunk for a browser, with `differences` for deflating: kind -> column -> values, in one piece of memory
/// each, `time_ns` the first of them.
#[pyfunction]
#[pyo3(signature = (events, differences = false))]
fn chunk<'py>(
    py: Python<'py>,
    events: &Bound<'py, PyDict>,
    differences: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut chunk = Chunk::new(differences);
    for (kind, columns) in events {
        let given: Vec<(String, Given<'_>)> = columns
            .cast::<PyDict>()?
            .iter()
            .map(|(name, column)| Ok((name.extract()?, column.extract()?)))
            .collect::<PyResult<_>>()?;
        let mut columns = Vec::with_capacity(given.len());
        for (name, column) in &given {
            let values = match column {
                Given::Numbers(numbers) => Values::Numbers(numbers.as_slice().map_err(value_error)?),
                Given::Words(codes, words) => {
                    let words = words.iter().map(String::as_str).collect();
                    Values::Words(codes.as_slice().map_err(value_error)?, words)
                }
            };
            columns.push((name.as_str(), values));
        }
        let rows = columns.first().map_or(0, |(_, values)| values.rows());
        chunk.add(&kind.extract::<String>()?, rows, columns.into_iter());
    }
    Ok(PyBytes::new(py, &chunk.finish()))
}

/// What the TCP connections in a capture did, as JSON; `most` of them in full.
///
/// Raises OSError if the file cannot be read, and ValueError if it is no capture.
#[pyfunction]
#[pyo3(signature = (path, most = 100))]
fn analyze(py: Python<'_>, path: PathBuf, most: usize) -> PyResult<String> {
    serde_json::to_string(&analyzed(py, &path, most)?).map_err(value_error)
}

/// Packets of a capture towards the address that received most bytes: the address, times in nanoseconds since 1970, and
/// bytes at IP level; `None` if there are no packets. Errors as of `analyze`.
#[pyfunction]
fn arrivals(py: Python<'_>, path: PathBuf) -> PyResult<Option<ArrivalArrays<'_>>> {
    let Some(found) = py.detach(|| airpath_analyze::arrivals(&path)).map_err(file_error)? else {
        return Ok(None);
    };
    let (times, bytes): (Vec<_>, Vec<_>) = found.packets.into_iter().unzip();
    Ok(Some((found.to.to_string(), times.into_pyarray(py), bytes.into_pyarray(py))))
}

type ArrivalArrays<'py> = (String, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u32>>);

/// The rows of the waterfall of a capture, as JSON; errors as of `analyze`.
#[pyfunction]
fn waterfall(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    serde_json::to_string(&analyzed(py, &path, MOST_ROWS)?.waterfall()).map_err(value_error)
}

fn analyzed(py: Python<'_>, path: &Path, most: usize) -> PyResult<airpath_analyze::Report> {
    let report = py.detach(|| airpath_analyze::analyze_file(path, of_most(most)));
    report.map_err(file_error)
}

fn file_error(error: airpath_analyze::FileError) -> PyErr {
    match error {
        airpath_analyze::FileError::Io(error) => error.into(),
        airpath_analyze::FileError::NoCapture(_) | airpath_analyze::FileError::Damaged(..) => {
            value_error(error)
        }
    }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RNG_VERSION", rng::VERSION)?;
    module.add_class::<Simulation>()?;
    module.add_class::<steered::Steered>()?;
    module.add_function(wrap_pyfunction!(steered::observed, module)?)?;
    module.add_class::<net::Net>()?;
    module.add_class::<net::Arrival>()?;
    module.add_class::<net::Counts>()?;
    module.add_class::<net::Stats>()?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(memory, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(check_size, module)?)?;
    module.add_function(wrap_pyfunction!(bundled, module)?)?;
    module.add_function(wrap_pyfunction!(path, module)?)?;
    module.add_function(wrap_pyfunction!(tables_of, module)?)?;
    module.add_function(wrap_pyfunction!(constant_trace, module)?)?;
    module.add_function(wrap_pyfunction!(series_length, module)?)?;
    module.add_function(wrap_pyfunction!(recording_offset, module)?)?;
    module.add_function(wrap_pyfunction!(opportunities, module)?)?;
    module.add_function(wrap_pyfunction!(captures, module)?)?;
    module.add_function(wrap_pyfunction!(remarks, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(measure, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(probes, module)?)?;
    module.add_function(wrap_pyfunction!(trace_schema, module)?)?;
    module.add_function(wrap_pyfunction!(seconds, module)?)?;
    module.add_function(wrap_pyfunction!(octets, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(analyze, module)?)?;
    module.add_function(wrap_pyfunction!(arrivals, module)?)?;
    module.add_function(wrap_pyfunction!(waterfall, module)?)?;
    module.add_function(wrap_pyfunction!(chunk, module)?)?;
    #[cfg(target_os = "linux")]
    module.add_function(wrap_pyfunction!(live_driver, module)?)?;
    Ok(())
}

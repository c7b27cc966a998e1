//! `Steered`: a run whose sender a program steers. The observation goes into an array of the caller's.

use crate::scenario_error;
use airpath_core::scenario::Scenario;
use airpath_core::sim::steered::{COLUMNS, Progress, Row, Settings, Steered as Run, StepLength};
use airpath_core::time::Duration;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Names of the columns of an observation.
#[pyfunction]
pub fn observed() -> Vec<&'static str> {
    COLUMNS.to_vec()
}

/// A run with a sender that is steered; `reset` begins it anew.
#[pyclass]
pub struct Steered {
    scenario: Scenario,
    entry: usize,
    length: StepLength,
    run: Run,
}

#[pymethods]
impl Steered {
    /// A run of a resolved scenario, whose flow `entry` is steered in steps of `step_ns` nanoseconds, or of `reports`
    /// ACKs or feedback messages within this time.
    #[new]
    #[pyo3(signature = (text, entry, step_ns, reports = None))]
    fn new(py: Python<'_>, text: &str, entry: usize, step_ns: u64, reports: Option<u64>) -> PyResult<Self> {
        let scenario = crate::parse(text, &[])?;
        let length = StepLength { time: Duration::from_nanos(step_ns), reports };
        let run = py.detach(|| Run::new(&scenario, 0, entry)).map_err(scenario_error)?;
        Ok(Self { scenario, entry, length, run })
    }

    /// Begins a run with this seed, at the start of the flow.
    fn reset(&mut self, py: Python<'_>, seed: u64, into: &Bound<'_, PyArray1<f32>>) -> PyResult<()> {
        let (scenario, entry) = (&self.scenario, self.entry);
        self.run = py.detach(|| Run::new(scenario, seed, entry)).map_err(scenario_error)?;
        let mut row = Row::default();
        self.run.first(&mut row);
        write(&row, into)
    }

    /// Sets the window (segments) and the rate (bit/s), runs a step, and writes the observation. Returns 0 if more steps
    /// may follow, 1 if the sender has finished, 2 at the end of the scenario.
    fn step(
        &mut self,
        py: Python<'_>,
        window: Option<f64>,
        rate: Option<f64>,
        into: &Bound<'_, PyArray1<f32>>,
    ) -> PyResult<u8> {
        let (mut row, length) = (Row::default(), self.length);
        let run = &mut self.run;
        let progress = py.detach(|| run.step(Settings { window, rate }, length, &mut row));
        write(&row, into)?;
        Ok(match progress.map_err(scenario_error)? {
            Progress::Goes => 0,
            Progress::Finished => 1,
            Progress::TimeUp => 2,
        })
    }

    /// Simulated time, seconds.
    #[getter]
    fn now_s(&mut self) -> f64 {
        self.run.simulation().now().as_secs_f64()
    }

    /// Results so far, as JSON.
    fn results(&mut self) -> String {
        self.run.simulation().results().to_json()
    }
}

fn write(row: &Row, into: &Bound<'_, PyArray1<f32>>) -> PyResult<()> {
    let mut into = into.try_readwrite().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let into = into.as_slice_mut().map_err(|error| PyValueError::new_err(error.to_string()))?;
    if into.len() != row.len() {
        return Err(PyValueError::new_err(format!("an observation has {} numbers", row.len())));
    }
    for (place, value) in into.iter_mut().zip(row) {
        *place = *value as f32;
    }
    Ok(())
}

//! `Net`: a link in virtual time for transports without I/O, in Python's types. Times are whole nanoseconds.

use airpath::{Datagram, Ecn, End, Instant, Sent};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Converts an end from Python: the word `server`, or the index of a UE.
fn end_of(given: &Bound<'_, PyAny>) -> PyResult<End> {
    match given.cast::<PyString>() {
        Ok(name) if name == "server" => Ok(End::Server),
        Ok(_) => Err(no_end(given)),
        Err(_) => given.extract().map(End::Ue).map_err(|_| no_end(given)),
    }
}

fn no_end(given: &Bound<'_, PyAny>) -> PyErr {
    PyValueError::new_err(format!("an end is \"server\" or the number of a UE, not {given:?}"))
}

/// A time of the link from nanoseconds; a `ValueError` if no link gets there.
fn instant(given: &Bound<'_, PyAny>) -> PyResult<Instant> {
    given.extract().map(Instant::from_nanos).map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(given.py()) {
            PyValueError::new_err("a time is negative or too large: write nanoseconds from 0 to 2^64 - 1")
        } else {
            error
        }
    })
}

/// An end for Python.
#[derive(IntoPyObject)]
enum ShownEnd {
    Ue(u16),
    Name(&'static str),
}

impl From<End> for ShownEnd {
    fn from(end: End) -> Self {
        match end {
            End::Server => Self::Name("server"),
            End::Ue(ue) => Self::Ue(ue),
        }
    }
}

/// An address and a port.
type Address = (IpAddr, u16);

/// A packet that has come through.
#[pyclass(frozen)]
pub struct Arrival(airpath::Arrival);

#[pymethods]
impl Arrival {
    /// When, ns.
    #[getter]
    fn at(&self) -> u64 {
        self.0.at.as_nanos()
    }

    /// Destination: `server`, or the index of a UE.
    #[getter]
    fn to(&self) -> ShownEnd {
        self.0.to.into()
    }

    /// The IP packet.
    #[getter]
    fn packet<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.packet)
    }

    /// Its source, destination, ECN field and octets if it is a UDP datagram; addresses are pairs of text and port.
    fn datagram<'py>(&self, py: Python<'py>) -> Option<ShownDatagram<'py>> {
        let Datagram { src, dst, ecn, payload } = self.0.datagram()?;
        let [src, dst] = [src, dst].map(|address| (address.ip().to_string(), address.port()));
        Some((src, dst, ecn.bits(), PyBytes::new(py, &payload)))
    }

    fn __repr__(&self) -> String {
        let (at, to, len) = (self.at(), self.0.to, self.0.packet.len());
        format!("<{len} bytes to {to:?} at {at} ns>")
    }
}

type ShownAddress = (String, u16);
type ShownDatagram<'py> = (ShownAddress, ShownAddress, u8, Bound<'py, PyBytes>);

/// Counters of the packets of a direction: see the crate's `Counts`.
#[pyclass(frozen, get_all)]
pub struct Counts {
    sent: u64,
    sent_bytes: u64,
    opaque: u64,
    delivered: u64,
    delivered_bytes: u64,
    dropped: u64,
    reasons: BTreeMap<&'static str, u64>,
    marked: u64,
    too_big: u64,
    full: u64,
    queued: u64,
    queued_bytes: u64,
}

impl From<airpath::Counts> for Counts {
    fn from(counts: airpath::Counts) -> Self {
        let airpath::Counts {
            sent, sent_bytes, opaque, delivered, delivered_bytes, dropped, reasons, ..
        } = counts;
        let airpath::Counts { marked, too_big, full, queued, queued_bytes, .. } = counts;
        Self {
            sent,
            sent_bytes,
            opaque,
            delivered,
            delivered_bytes,
            dropped,
            reasons,
            marked,
            too_big,
            full,
            queued,
            queued_bytes,
        }
    }
}

/// Counters of both directions.
#[pyclass(frozen, get_all)]
pub struct Stats {
    downlink: Py<Counts>,
    uplink: Py<Counts>,
}

/// A link between a server and UEs.
#[pyclass(subclass)]
pub struct Net {
    inner: airpath::Net,
    ues: Vec<u16>,
}

impl Net {
    /// An end that may send.
    fn sender(&self, given: &Bound<'_, PyAny>) -> PyResult<End> {
        match end_of(given)? {
            End::Ue(ue) if !self.ues.contains(&ue) => {
                let what = format!("UE {ue} is not yours: your UEs are {:?}", self.ues);
                Err(PyValueError::new_err(what))
            }
            end => Ok(end),
        }
    }
}

#[pymethods]
impl Net {
    #[new]
    #[pyo3(signature = (text, seed, mtu = 1500, capture = false, probes = Vec::new(), most_inside = 1 << 18))]
    fn new(
        py: Python<'_>,
        text: &str,
        seed: u64,
        mtu: u16,
        capture: bool,
        probes: Vec<String>,
        most_inside: u64,
    ) -> PyResult<Self> {
        let scenario: airpath::Scenario = text.parse().map_err(crate::scenario_error)?;
        let names: Vec<&str> = probes.iter().map(String::as_str).collect();
        let builder = airpath::Net::builder(&scenario).seed(seed).mtu(mtu).most_inside(most_inside);
        let builder = if capture { builder.capture() } else { builder }.probes(&names);
        Ok(Self { inner: py.detach(|| builder.build()), ues: scenario.own_ues() })
    }

    /// Address of an end in the link, as text.
    #[staticmethod]
    #[pyo3(signature = (end, ipv6 = false))]
    fn address(end: &Bound<'_, PyAny>, ipv6: bool) -> PyResult<String> {
        let end = end_of(end)?;
        Ok(if ipv6 { end.ipv6().to_string() } else { end.ipv4().to_string() })
    }

    /// An end sends a UDP datagram at `at` ns, or now if that is later; returns "accepted", "too_big" or "full".
    ///
    /// A datagram of the server goes to the UE whose address is in `dst`, and to UE 0 if no UE has it.
    #[pyo3(signature = (at, sender, payload, src, dst, ecn = 0))]
    fn send(
        &mut self,
        #[pyo3(from_py_with = instant)] at: Instant,
        sender: &Bound<'_, PyAny>,
        payload: &[u8],
        src: Address,
        dst: Address,
        ecn: u8,
    ) -> PyResult<&'static str> {
        if ecn > 3 {
            return Err(PyValueError::new_err(format!("the ECN field has two bits, and {ecn} is more")));
        }
        let [src, dst] = [src, dst].map(|(address, port)| SocketAddr::new(address, port));
        let datagram = Datagram { src, dst, ecn: Ecn::from_bits(ecn), payload: payload.to_vec() };
        let sender = self.sender(sender)?;
        Ok(word(self.inner.send(at, sender, datagram)))
    }

    /// An end sends an IP packet, as `send`; boxes in the link read TCP in it.
    fn send_ip(
        &mut self,
        #[pyo3(from_py_with = instant)] at: Instant,
        sender: &Bound<'_, PyAny>,
        packet: &[u8],
    ) -> PyResult<&'static str> {
        let sender = self.sender(sender)?;
        Ok(word(self.inner.send_ip(at, sender, packet)))
    }

    /// Time of the earliest possible arrival, ns; None if nothing is in flight.
    fn next_wakeup(&mut self) -> Option<u64> {
        self.inner.next_wakeup().map(Instant::as_nanos)
    }

    /// Lets time pass up to `until` ns, or to the first arrival, which is returned.
    fn advance(&mut self, py: Python<'_>, #[pyo3(from_py_with = instant)] until: Instant) -> Option<Arrival> {
        py.detach(|| self.inner.advance(until)).map(Arrival)
    }

    /// How far the link has been run, ns.
    #[getter]
    fn now(&self) -> u64 {
        self.inner.now().as_nanos()
    }

    /// UEs that are not simulated.
    #[getter]
    fn ues(&self) -> Vec<u16> {
        self.ues.clone()
    }

    /// Counters of the packets so far.
    fn stats(&mut self, py: Python<'_>) -> PyResult<Stats> {
        let stats = self.inner.stats();
        Ok(Stats {
            downlink: Py::new(py, Counts::from(stats.downlink))?,
            uplink: Py::new(py, Counts::from(stats.uplink))?,
        })
    }

    /// Events since the last call, as of a simulation.
    fn take_trace<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let events: Vec<_> = self.inner.trace().into_iter().map(airpath::Event::into_core).collect();
        crate::tables(py, &events)
    }

    /// The capture so far.
    fn capture<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.capture())
    }

    /// What each part of the link counted, as JSON.
    fn report_json(&mut self) -> String {
        serde_json::Value::from(self.inner.report()).to_string()
    }
}

fn word(sent: Sent) -> &'static str {
    match sent {
        Sent::TooBig => "too_big",
        Sent::Full => "full",
        _ => "accepted",
    }
}

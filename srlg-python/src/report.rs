//! Reports and their contents, as classes, dicts and HTML.

use std::ffi::CString;
use std::fmt::Write;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyIterator, PyList};
use srlg::SliceReport;
use srlg::report::{self, FinderFill};
use srlg_input::contact::Packing;

use crate::capsule;
use crate::error::OverloadWarning;
use crate::format::{SIGMAS, kebab_case};
use crate::table;
use crate::view::Names;

/// Maximum number of super points that a notebook shows for a report.
const SHOWN: usize = 50;

/// An estimated number of distinct peers.
#[pyclass(frozen, eq, module = "srlg")]
#[derive(PartialEq)]
pub(crate) struct Estimate(pub(crate) report::Estimate);

#[pymethods]
impl Estimate {
    /// The estimated number of distinct peers. For its interpretation, see `range`.
    #[getter]
    fn cardinality(&self) -> f64 {
        self.0.cardinality
    }

    /// The standard error of `cardinality`.
    #[getter]
    fn std_error(&self) -> f64 {
        self.0.std_error
    }

    /// The interpretation of `cardinality`: "within" (an estimate), "clamped-to-zero" (the peers cannot be
    /// distinguished from noise) or "beyond" (a lower bound).
    #[getter]
    fn range(&self) -> String {
        kebab_case(self.0.range)
    }

    /// Returns the cardinality minus `sigmas` standard errors, but not less than 0. The default is the lower end of the
    /// 95 % interval. If `range` is "beyond", the result is the cardinality.
    #[pyo3(signature = (sigmas=1.96))]
    fn lower(&self, sigmas: f64) -> f64 {
        self.0.lower(sigmas)
    }

    /// Returns the cardinality plus `sigmas` standard errors. The default is the upper end of the 95 % interval. If
    /// `range` is "beyond", the result is infinite.
    #[pyo3(signature = (sigmas=1.96))]
    fn upper(&self, sigmas: f64) -> f64 {
        self.0.upper(sigmas)
    }

    fn __repr__(&self) -> String {
        let Self(report::Estimate { cardinality, std_error, .. }) = self;
        format!("<srlg.Estimate {cardinality:.0} ± {std_error:.0} ({})>", self.range())
    }
}

/// A sampled peer of a host.
#[pyclass(frozen, eq, module = "srlg")]
#[derive(PartialEq)]
pub(crate) struct Peer {
    peer: report::SamplePeer,
    names: Packing,
}

impl Peer {
    pub(crate) fn new(peer: report::SamplePeer, names: Packing) -> Self {
        Self { peer, names }
    }
}

#[pymethods]
impl Peer {
    /// The address of the peer. With other keys and prefixes, this is its network or its port.
    #[getter]
    fn host(&self) -> String {
        self.names.name(self.peer.host).to_string()
    }

    /// The slice of the last contact with the host.
    #[getter]
    fn last_seen(&self) -> u64 {
        self.peer.last_seen
    }

    fn __repr__(&self) -> String {
        format!("<srlg.Peer {} last_seen={}>", self.host(), self.peer.last_seen)
    }
}

/// A host whose estimated number of distinct peers reaches the threshold.
#[pyclass(frozen, eq, module = "srlg")]
#[derive(PartialEq)]
pub(crate) struct SuperPoint {
    point: srlg::SuperPoint,
    names: Names,
}

#[pymethods]
impl SuperPoint {
    /// The address of the host. With other keys and prefixes, this is its network, or its address and port.
    #[getter]
    fn host(&self) -> String {
        self.names.hosts.name(self.point.host).to_string()
    }

    /// The estimated number of distinct peers.
    #[getter]
    fn cardinality(&self) -> f64 {
        self.point.cardinality
    }

    /// The standard error of `cardinality`.
    #[getter]
    fn std_error(&self) -> f64 {
        self.point.std_error
    }

    /// The interpretation of `cardinality`: "within" (an estimate) or "beyond" (a lower bound).
    #[getter]
    fn range(&self) -> String {
        kebab_case(self.point.range)
    }

    /// Up to 64 sampled peers, most recent contact first. For an IPv6 host, the list is empty.
    #[getter]
    fn peers(&self) -> Vec<Peer> {
        self.point.peers.iter().map(|&peer| Peer::new(peer, self.names.peers)).collect()
    }

    /// Returns the cardinality minus `sigmas` standard errors, but not less than 0. The default is the lower end of the
    /// 95 % interval. If `range` is "beyond", the result is the cardinality.
    #[pyo3(signature = (sigmas=1.96))]
    fn lower(&self, sigmas: f64) -> f64 {
        self.point.lower(sigmas)
    }

    /// Returns the cardinality plus `sigmas` standard errors. The default is the upper end of the 95 % interval. If
    /// `range` is "beyond", the result is infinite.
    #[pyo3(signature = (sigmas=1.96))]
    fn upper(&self, sigmas: f64) -> f64 {
        self.point.upper(sigmas)
    }

    fn __repr__(&self) -> String {
        let srlg::SuperPoint { cardinality, std_error, .. } = &self.point;
        format!("<srlg.SuperPoint {} {cardinality:.0} ± {std_error:.0}>", self.host())
    }
}

/// The health of a detector when it last closed a slice.
#[pyclass(frozen, eq, get_all, module = "srlg")]
#[derive(PartialEq)]
pub(crate) struct Health {
    /// The number of distinct pairs in the window, divided by the number of recorders of the counter. Errors grow with
    /// the load.
    load: f64,
    /// Whether 95 % intervals cover the true value in 88 to 97 % of cases, for hosts with 100 peers or more. This is about
    /// reported hosts. `overload` tells whether hosts may be missing.
    errors_hold: bool,
    /// The number of pairs of which one was counted, the largest in the window.
    share: u32,
    /// The expected standard error, in peers, of the estimate for a host with exactly `threshold` peers at this load.
    std_error: Option<f64>,
    /// The share of the finder's cells that were touched in the window.
    cells_in_use: Option<f64>,
    /// The probability of missing an IPv4 host with exactly `threshold` peers.
    miss_probability: f64,
    /// The probability of missing an IPv6 host with exactly `threshold` peers.
    miss_probability_v6: Option<f64>,
    /// The probability of missing an IPv4 host with exactly `threshold` peers if all its contacts were in the oldest
    /// part of the window.
    burst_miss_probability: f64,
    /// The probability of missing an IPv6 host with exactly `threshold` peers if all its contacts were in the oldest
    /// part of the window.
    burst_miss_probability_v6: Option<f64>,
    /// The number of peers from which 99 % of IPv4 hosts are found.
    found_from: f64,
    /// The number of peers from which 99 % of IPv6 hosts are found.
    found_from_v6: Option<f64>,
    /// The kind of overload if there were too many pairs ("crowded", "raised" or "saturated"), or None.
    overload: Option<String>,
}

impl From<&report::Health> for Health {
    fn from(health: &report::Health) -> Self {
        let finder = &health.finder;
        Self {
            load: health.load,
            errors_hold: health.errors_hold,
            share: health.share,
            std_error: health.std_error,
            cells_in_use: match finder.fill {
                FinderFill::Cells { in_use, .. } => Some(in_use),
                _ => None,
            },
            miss_probability: finder.miss_probability,
            miss_probability_v6: finder.miss_probability_v6,
            burst_miss_probability: finder.burst_miss_probability,
            burst_miss_probability_v6: finder.burst_miss_probability_v6,
            found_from: finder.found_from,
            found_from_v6: finder.found_from_v6,
            overload: finder.overload.map(kebab_case),
        }
    }
}

#[pymethods]
impl Health {
    fn __repr__(&self) -> String {
        let Self { load, errors_hold, overload, .. } = self;
        let errors_hold = if *errors_hold { "True" } else { "False" };
        let overload = overload.as_deref().unwrap_or("None");
        format!("<srlg.Health load={load:.2} errors_hold={errors_hold} overload={overload}>")
    }
}

/// The super points of the window that ends with `slice`, largest first.
///
/// A report is a sequence of its super points, and an Arrow table: `polars.DataFrame(report)`, `pyarrow.table(report)`, `duckdb.sql("from report")`.
/// Two reports are equal if they have the same slice and the same contents, even if their start differs.
#[pyclass(frozen, eq, module = "srlg")]
pub(crate) struct Report {
    report: SliceReport,
    /// The start of the slice in microseconds since the Unix epoch, if a scan closed the slice.
    start_us: Option<i64>,
    names: Names,
}

impl PartialEq for Report {
    fn eq(&self, other: &Self) -> bool {
        self.report == other.report
    }
}

impl Report {
    /// Creates a report of a slice that starts `start_ns` nanoseconds after the Unix epoch.
    pub(crate) fn new(report: SliceReport, start_ns: Option<u64>, names: Names) -> Self {
        // A quotient of 64 bits by 1000 has less than 63 bits.
        let start_us = start_ns.map(|start_ns| (start_ns / 1000) as i64);
        Self { report, start_us, names }
    }

    /// Issues a warning if the slice was overloaded. Returns whether it was.
    pub(crate) fn warn_of_overload(&self, py: Python<'_>) -> PyResult<bool> {
        let SliceReport { slice, health, .. } = &self.report;
        let Some(overload) = health.finder.overload else { return Ok(false) };
        let text = format!("slice {slice} is overloaded: {overload}");
        PyErr::warn(py, &py.get_type::<OverloadWarning>(), &CString::new(text)?, 1)?;
        Ok(true)
    }

    fn points(&self) -> impl Iterator<Item = SuperPoint> {
        let points = self.report.super_points.iter().cloned();
        points.map(|point| SuperPoint { point, names: self.names })
    }
}

#[pymethods]
impl Report {
    /// The number of the closed slice.
    #[getter]
    fn slice(&self) -> u64 {
        self.report.slice
    }

    /// The start of the slice as a datetime in UTC, or None if the slice was not closed by a scan.
    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.start_us.map(|start_us| datetime(py, start_us)).transpose()
    }

    /// The number of hosts whose cardinality was estimated.
    #[getter]
    fn candidates(&self) -> usize {
        self.report.candidates
    }

    /// The health of the detector when the slice was closed.
    #[getter]
    fn health(&self) -> Health {
        Health::from(&self.report.health)
    }

    /// The super points, largest first.
    #[getter]
    fn super_points(&self) -> Vec<SuperPoint> {
        self.points().collect()
    }

    fn __len__(&self) -> usize {
        self.report.super_points.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.super_points().into_pyobject(py)?.try_iter()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.super_points().into_pyobject(py)?.get_item(index)
    }

    /// Returns one dict per super point. The keys are the column names of `to_arrow`.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let start = self.start(py)?;
        let dict = |point: &srlg::SuperPoint| {
            let peers = PyList::empty(py);
            for peer in &point.peers {
                let dict = PyDict::new(py);
                dict.set_item("host", self.names.peers.name(peer.host).to_string())?;
                dict.set_item("last_seen", peer.last_seen)?;
                peers.append(dict)?;
            }
            let dict = PyDict::new(py);
            dict.set_item("slice", self.report.slice)?;
            dict.set_item("start", &start)?;
            dict.set_item("host", self.names.hosts.name(point.host).to_string())?;
            dict.set_item("cardinality", point.cardinality)?;
            dict.set_item("std_error", point.std_error)?;
            dict.set_item("lower", point.lower(SIGMAS))?;
            dict.set_item("upper", point.upper(SIGMAS))?;
            dict.set_item("range", kebab_case(point.range))?;
            dict.set_item("peers", peers)?;
            Ok(dict)
        };
        self.report.super_points.iter().map(dict).collect()
    }

    /// Returns the super points as a `pyarrow.Table` with one row per super point.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// Returns the super points as a `pandas.DataFrame`. Requires pandas and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }

    /// Returns the super points as a `polars.DataFrame`. Requires polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// Returns the super points as an Arrow stream with one batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema); // A producer may ignore this argument.
        capsule::export(py, table::reader(&self.report, self.start_us, self.names)?)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "cannot pickle a report; pickle report.to_arrow() or report.to_dicts(), or the detector",
        ))
    }

    fn _repr_html_(&self) -> String {
        let SliceReport { slice, super_points, health, .. } = &self.report;
        let mut html = format!("<p>Super points in slice {slice}: {}", super_points.len());
        if let Some(overload) = health.finder.overload {
            write!(html, ". Overload: {overload}").expect("a String takes all");
        }
        html.push_str(
            "</p><table><thead><tr><th>host</th><th>peers</th><th>95 % interval</th><th>some peers</th></tr></thead><tbody>",
        );
        for point in self.points().take(SHOWN) {
            let (lower, upper) = (point.lower(SIGMAS), point.upper(SIGMAS));
            let peers: Vec<String> = point.peers().iter().take(3).map(Peer::host).collect();
            write!(
                html,
                "<tr><td>{}</td><td>{:.0}</td><td>{lower:.0} to {upper:.0}</td><td>{}</td></tr>",
                point.host(),
                point.cardinality(),
                peers.join(", ")
            )
            .expect("a String takes all");
        }
        html.push_str("</tbody></table>");
        if super_points.len() > SHOWN {
            write!(html, "<p>and {} more hosts</p>", super_points.len() - SHOWN)
                .expect("a String takes all");
        }
        html
    }

    fn __repr__(&self) -> String {
        let SliceReport { slice, super_points, health, .. } = &self.report;
        let overload = health.finder.overload.map(|it| format!(" overload={}", kebab_case(it)));
        let (count, overload) = (super_points.len(), overload.unwrap_or_default());
        format!("<srlg.Report slice={slice} super_points={count}{overload}>")
    }
}

/// Converts `us` microseconds since the Unix epoch to a datetime in UTC.
fn datetime(py: Python<'_>, us: i64) -> PyResult<Bound<'_, PyAny>> {
    let module = py.import("datetime")?;
    let utc = module.getattr("timezone")?.getattr("utc")?;
    let epoch = module.getattr("datetime")?.call_method1("fromtimestamp", (0, utc))?;
    epoch.add(module.getattr("timedelta")?.call1((0, 0, us))?)
}

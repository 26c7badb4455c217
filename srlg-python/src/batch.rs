//! Functions for tables without times, which query engines call for each of their partitions.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::detector::Detector;
use crate::report::Report;

/// Returns the super points of a table of contacts that is one slice.
///
/// `data`, `source` and `destination` are those of `Detector.ingest_table`, and the options are those of `Detector`. By
/// default, `window` is 1.
#[pyfunction]
#[pyo3(signature = (data, *, source="source", destination="destination", **options))]
pub(crate) fn super_points<'py>(
    data: &Bound<'py, PyAny>,
    source: &str,
    destination: &str,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Report> {
    let py = data.py();
    let detector = of_one_slice(py, options)?;
    detector.get().ingest_table(data, source, destination)?;
    let report = detector.get().close_slice(py)?;
    report.warn_of_overload(py)?;
    Ok(report)
}

/// Returns the contacts of a table as bytes for `merge`.
///
/// The table is part of slice number `slice`. The other arguments are those of `super_points`. A detector that merges the
/// result needs the same options, including `window`.
#[pyfunction]
#[pyo3(signature = (data, *, source="source", destination="destination", slice=0, **options))]
pub(crate) fn sketch<'py>(
    data: &Bound<'py, PyAny>,
    source: &str,
    destination: &str,
    slice: u64,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = data.py();
    let detector = of_one_slice(py, options)?;
    detector.get().skip_to(py, slice)?;
    detector.get().ingest_table(data, source, destination)?;
    detector.get().delta(py, 1)
}

/// Returns a detector in the newest slice of `states`, into which all of them are merged.
///
/// `states` are those of `Detector.merge`. The options are those of `Detector` and must be the options with which the
/// states were created. By default, `window` is 1.
#[pyfunction]
#[pyo3(signature = (states, **options))]
pub(crate) fn merge<'py>(
    states: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, Detector>> {
    let detector = of_one_slice(states.py(), options)?;
    detector.get().merge(states, true)?;
    Ok(detector)
}

fn of_one_slice<'py>(
    py: Python<'py>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, Detector>> {
    let with_window = PyDict::new(py);
    with_window.set_item("window", 1)?;
    if let Some(options) = options {
        with_window.update(options.as_mapping())?;
    }
    Detector::with_options(py, Some(&with_window))
}

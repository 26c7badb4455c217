//! The function `scan`, which detects super points in an Arrow table. The time column of the table determines the
//! slices.
//!
//! A step reads a block of rows, feeds rows of the block to the detector until there is a report, or closes the last
//! slice. A scan therefore copies only one block at a time and keeps only the reports of one step, regardless of the
//! table size.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::ArrayStreamReader;
use arrow_array::{Array, ArrayReader, RecordBatch};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use srlg::ingest::PairBatch;
use srlg::time::{SliceClock, SliceSink, Slicer};
use srlg::{Error, SliceReport, SlidingDetector};
use srlg_input::contact::parse_network;
use srlg_input::{Contact, View, ViewOptions};

use crate::capsule;
use crate::columns::{Columns, Rows};
use crate::detector::Detector;
use crate::error::{BusyError, Error as ModuleError, broken, busy, raised, unreadable};
use crate::late::{LatePolicy, LateRows};
use crate::report::Report;

/// Maximum number of rows that are read at a time. A block stays in the CPU cache until its rows are fed to the
/// detector.
const BLOCK: usize = 1 << 12;

/// Yields the reports of all slices in a table of contacts, in order.
///
/// `data` is a table of polars, pandas, pyarrow or DuckDB, or any other object with `__arrow_c_stream__`. `time`,
/// `source` and `destination` name its columns: timestamps, and addresses as uint32, text, or 4 or 16 bytes. Rows
/// should be sorted by time. A row that is late by less than the window is counted in its own slice, but only in later
/// reports. Other late rows are dropped, and `too_late` of the scan counts them.
///
/// If rows were dropped, LateRowsWarning is issued before the report of the last slice, or when the scan is discarded
/// earlier. If more than 1 % of the rows were dropped, LateRowsError is raised instead of that report. With `late="drop"`,
/// the warning replaces the exception. If at least 90 % of the rows were dropped and all of them are at least a window
/// older than the first row, the message names the first row.
///
/// The peers of the hosts in the networks `inside` are counted; by default, all hosts are inside hosts. `slice` is the
/// length of a slice, such as "500ms", "1s" or "5m". Slice n starts n slice lengths after the Unix epoch. Long periods
/// without rows produce no reports.
///
/// `detector` receives the pairs. It may be queried between two reports, but only the scan may close its slices. If
/// `progress` is True, a progress bar is shown, which requires tqdm. By default, the bar is shown in notebooks if tqdm
/// is installed.
#[pyfunction]
#[pyo3(signature = (data, *, time, source, destination, inside=None, slice="1s", detector=None, progress=None, late="raise"))]
#[expect(clippy::too_many_arguments, reason = "the arguments are keyword arguments in Python")]
pub(crate) fn scan(
    data: &Bound<'_, PyAny>,
    time: &str,
    source: &str,
    destination: &str,
    inside: Option<&Bound<'_, PyAny>>,
    slice: &str,
    detector: Option<Py<Detector>>,
    progress: Option<bool>,
    late: &str,
) -> PyResult<Scan> {
    let py = data.py();
    let view = view(inside)?;
    let detector = match detector {
        Some(detector) => detector,
        None => Py::new(py, Detector::default_one(py)?)?,
    };
    let window = detector.get().slices();
    let late = LateRows::new(LatePolicy::parse(late)?, window);
    let clock = SliceClock::new(length(slice)?, window - 1, Duration::MAX).map_err(raised)?;
    let bar = progress_bar(data, progress)?;
    let reader = capsule::import(data)?;
    let field = reader.field();
    let DataType::Struct(fields) = field.data_type() else {
        let kind = field.data_type();
        return Err(PyValueError::new_err(format!(
            "data: must be a table, got a column of {kind}"
        )));
    };
    let columns = Columns::new(fields, time, source, destination)?;
    let table = Table { reader, columns, batch: None, rows: 0 };
    let state = State {
        table: Some(table),
        block: Rows::default(),
        next: 0,
        view,
        slicer: Slicer::new(clock),
        reports: VecDeque::new(),
        rows: 0,
        late,
        running: None,
        is_finished: false,
    };
    Ok(Scan { detector, state: Mutex::new(state), bar })
}

/// Returns the view that counts the peers of the hosts in the networks `inside`.
fn view(inside: Option<&Bound<'_, PyAny>>) -> PyResult<View> {
    let invalid = |error: &dyn std::fmt::Display| PyValueError::new_err(format!("inside: {error}"));
    let networks = inside.map(networks).transpose()?.unwrap_or_default();
    let networks = networks.iter().map(|network| parse_network(network));
    let inside = networks.collect::<Result<_, _>>().map_err(|error| invalid(&error))?;
    View::new(&ViewOptions { inside, ..ViewOptions::default() }).map_err(|error| invalid(&error))
}

/// Reads the argument `inside`. A single str is rejected, because Python would treat it as a list of its characters.
fn networks(inside: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let kind = inside.get_type().name()?;
    let rule = || format!("inside: must be a list of networks as str, got {kind}");
    inside.extract().map_err(|_| PyTypeError::new_err(rule()))
}

/// An iterator over the reports of a scan.
#[pyclass(frozen, module = "srlg")]
pub(crate) struct Scan {
    /// The detector that receives the pairs.
    #[pyo3(get)]
    detector: Py<Detector>,
    state: Mutex<State>,
    bar: Option<Py<PyAny>>,
}

struct State {
    /// The table, or `None` if all rows were read.
    table: Option<Table>,
    block: Rows,
    /// Index of the next row to feed, in `block`.
    next: usize,
    view: View,
    slicer: Slicer,
    reports: VecDeque<SliceReport>,
    /// Number of rows that were fed to the detector.
    rows: u64,
    late: LateRows,
    /// The running slice of the detector after the previous step.
    running: Option<u64>,
    /// Whether the scan has ended, after the last slice or after an error.
    is_finished: bool,
}

struct Table {
    reader: ArrayStreamReader,
    columns: Columns,
    /// The remaining rows of the current batch.
    batch: Option<RecordBatch>,
    /// Number of rows that were read.
    rows: u64,
}

#[pymethods]
impl Scan {
    /// The number of rows that have been fed to the detector.
    #[getter]
    fn rows(&self) -> PyResult<u64> {
        Ok(self.lock()?.rows)
    }

    /// The number of rows that were dropped because they were late by at least a whole window.
    #[getter]
    fn too_late(&self) -> PyResult<u64> {
        Ok(self.lock()?.late.count())
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Report>> {
        let mut state = self.lock()?;
        loop {
            if let Some(report) = state.reports.pop_front() {
                let start = state.slicer.clock().bounds(report.slice).start;
                return Ok(Some(Report::new(report, i64::try_from(start).ok())));
            }
            if state.is_finished {
                if let Some(bar) = &self.bar {
                    bar.call_method0(py, "close")?;
                }
                return Ok(None);
            }
            let before = state.rows;
            if let Err(error) = state.step(py, self.detector.get()) {
                // If the detector was busy, the scan continues with the next call.
                if !error.is_instance_of::<BusyError>(py) {
                    state.end();
                }
                return Err(error);
            }
            if let Some(bar) = &self.bar {
                bar.call_method1(py, "update", (state.rows - before,))?;
            }
            py.check_signals()?;
        }
    }
}

impl Drop for Scan {
    /// Issues the warning about dropped rows if the scan has not reached its end.
    fn drop(&mut self) {
        let Ok(State { late, rows, slicer, is_finished: false, .. }) = self.state.get_mut() else {
            return;
        };
        Python::try_attach(|py| {
            // If Python is handling an exception, the warning must not replace it.
            let pending = PyErr::take(py);
            if let Err(error) = late.warn(py, *rows, slicer.clock()) {
                error.write_unraisable(py, None);
            }
            if let Some(pending) = pending {
                pending.restore(py);
            }
        });
    }
}

impl Scan {
    fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => busy("scan"),
            TryLockError::Poisoned(_) => broken("scan"),
        })
    }
}

impl State {
    fn end(&mut self) {
        self.table = None;
        self.block = Rows::default();
        self.is_finished = true;
    }

    /// Performs one step. Before the last slice closes, the dropped rows are reported, because a caller that takes the
    /// last report might not ask for another one.
    fn step(&mut self, py: Python<'_>, detector: &Detector) -> PyResult<()> {
        if self.table.is_none() && self.next == self.block.times.len() {
            self.late.report(py, self.rows, self.slicer.clock())?;
        }
        py.detach(|| self.advance(detector))
    }

    /// Feeds rows of the block, reads the next block, or closes the last slice.
    fn advance(&mut self, detector: &Detector) -> PyResult<()> {
        if self.next < self.block.times.len() {
            return self.change(detector, Self::feed);
        }
        let Some(table) = &mut self.table else {
            self.change(detector, Self::finish)?;
            self.end();
            return Ok(());
        };
        let block = table.next_block()?;
        if block.is_none() {
            self.table = None;
        }
        (self.block, self.next) = (block.unwrap_or_default(), 0);
        if let Some(&time_ns) = self.block.times.first().filter(|_| self.rows == 0) {
            self.late.start(time_ns);
        }
        Ok(())
    }

    /// Runs `work` with exclusive access to the detector. Returns an error if the running slice has changed outside the
    /// scan, because rows would be counted in the wrong slices.
    fn change(
        &mut self,
        detector: &Detector,
        work: impl FnOnce(&mut Self, &mut SlidingDetector) -> Result<(), Error>,
    ) -> PyResult<()> {
        detector.change_alone(|detector| {
            let (running, expected) = (detector.slice(), self.running);
            if let Some(expected) = expected.filter(|&expected| expected != running) {
                return Err(ModuleError::new_err(format!(
                    "cannot continue the scan: its detector is at slice {running} instead of {expected}; only the scan may close slices of the detector"
                )));
            }
            work(self, detector).map_err(raised)?;
            self.running = Some(detector.slice());
            Ok(())
        })
    }

    /// Feeds rows of the block to the detector until there is a report or the block ends.
    fn feed(&mut self, detector: &mut SlidingDetector) -> Result<(), Error> {
        let Self { block, next, view, slicer, reports, late, .. } = self;
        let mut sink = Reports { detector: &mut *detector, reports: &mut *reports };
        let Rows { times, sources, destinations } = &*block;
        let rows = times.iter().zip(sources).zip(destinations).skip(*next);
        let first = *next;
        for ((&time_ns, &source), &destination) in rows {
            *next += 1;
            let contact = Contact::new(time_ns, source, destination);
            slicer.place(time_ns, view.pairs(&contact), &mut sink)?;
            if !sink.reports.is_empty() {
                break;
            }
        }
        if slicer.clock().too_late() > late.count() {
            // The last row may have closed the slice that was running before it.
            let running = reports.front().map_or(detector.slice(), |report| report.slice);
            late.add(&times[first..*next], running, slicer.clock());
        }
        self.rows += (self.next - first) as u64;
        Ok(())
    }

    /// Closes the last slice, if the table had any rows.
    fn finish(&mut self, detector: &mut SlidingDetector) -> Result<(), Error> {
        if self.slicer.clock().is_running() {
            self.slicer.finish(&mut Reports { detector, reports: &mut self.reports })?;
            self.reports.push_back(detector.close_slice()?);
        }
        Ok(())
    }
}

impl Table {
    /// Reads the next block of rows. Returns `None` at the end of the table.
    fn next_block(&mut self) -> PyResult<Option<Rows>> {
        loop {
            let Some(batch) = self.batch.take().filter(|batch| batch.num_rows() > 0) else {
                match self.reader.next() {
                    None => return Ok(None),
                    Some(batch) => self.batch = Some(self.whole(&batch.map_err(unreadable)?)?),
                }
                continue;
            };
            let count = batch.num_rows().min(BLOCK);
            let rows = self.columns.read(&batch.slice(0, count), self.rows)?;
            self.batch = Some(batch.slice(count, batch.num_rows() - count));
            self.rows += count as u64;
            return Ok(Some(rows));
        }
    }

    /// Converts `structs` to a batch. Returns an error if a row is null as a whole.
    fn whole(&self, structs: &dyn Array) -> PyResult<RecordBatch> {
        if structs.null_count() > 0 {
            let row = (0..structs.len()).find(|&row| structs.is_null(row)).unwrap_or_default();
            let row = self.rows + row as u64;
            return Err(PyValueError::new_err(format!(
                "row {row}: null; drop rows with nulls first"
            )));
        }
        Ok(structs.as_struct().clone().into())
    }
}

struct Reports<'a> {
    detector: &'a mut SlidingDetector,
    reports: &'a mut VecDeque<SliceReport>,
}

impl SliceSink for Reports<'_> {
    type Error = Error;

    fn start(&mut self, slice: u64) -> Result<(), Error> {
        self.detector.skip_to(slice)
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<(), Error> {
        pairs.ingest_late(self.detector, slices_late)
    }

    fn advance_to(&mut self, slice: u64) -> Result<(), Error> {
        self.detector.advance_to(slice, |report| {
            self.reports.push_back(report);
            Ok(())
        })
    }
}

/// Returns a progress bar for `data` if `progress` is true. If `progress` is `None`, a bar is returned only in a
/// notebook and only if tqdm is installed.
fn progress_bar(data: &Bound<'_, PyAny>, progress: Option<bool>) -> PyResult<Option<Py<PyAny>>> {
    let py = data.py();
    let is_notebook = py.import("sys")?.getattr("modules")?.contains("ipykernel")?;
    let module = match progress.unwrap_or(is_notebook) {
        false => return Ok(None),
        true => py.import("tqdm.auto"),
    };
    let module = match module {
        Err(_) if progress.is_none() => return Ok(None),
        module => module?,
    };
    let options = PyDict::new(py);
    options.set_item("total", data.len().ok())?;
    options.set_item("unit", "row")?;
    options.set_item("unit_scale", true)?;
    Ok(Some(module.getattr("tqdm")?.call((), Some(&options))?.unbind()))
}

/// Parses a slice length such as "500ms".
fn length(text: &str) -> PyResult<Duration> {
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let unit_ns = match unit {
        "ns" => Some(1),
        "us" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        _ => None,
    };
    let length = number.parse::<u64>().ok().zip(unit_ns);
    let length = length.and_then(|(number, unit_ns): (u64, u64)| number.checked_mul(unit_ns));
    length.map(Duration::from_nanos).ok_or_else(|| {
        PyValueError::new_err(format!(
            "slice: must be a whole number of ns, us, ms, s, m or h, such as 500ms, got {text:?}"
        ))
    })
}

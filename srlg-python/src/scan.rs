//! The function `scan`, which detects super points in an Arrow table. The time column of the table determines the
//! slices.
//!
//! A step reads a block of rows, feeds rows of the block to the detector until there is a report, or closes the last
//! slice. A scan therefore copies only one block at a time and keeps only the reports of one step, regardless of the
//! table size.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use srlg::time::{DetectorSink, SliceClock, SliceSink, Slicer};
use srlg::{Error, SliceReport, SlidingDetector};

use crate::blocks::Blocks;
use crate::columns::Rows;
use crate::detector::Detector;
use crate::error::{Error as ModuleError, broken, raised};
use crate::grace::Grace;
use crate::late::{LatePolicy, LateRows};
use crate::report::Report;
use srlg_input::View;

/// Yields the reports of all slices in a table of contacts, in order.
///
/// `data` is a table of polars, pandas, pyarrow or DuckDB, any other object with `__arrow_c_stream__`, or an iterable
/// of such tables. `time`, `source` and `destination` name its columns: timestamps, and addresses as integers of 32 or
/// 64 bits, text, or 4 or 16 bytes. Options of the detector that need ports, TCP flags or packets read them from the
/// columns protocol, source_port, destination_port, tcp_flags and packets.
///
/// Rows should be sorted by time. A row is late if it comes after the report of its slice. A row that is late by less
/// than the window is counted in its own slice, but only in later reports. Other late rows are dropped. The scan counts
/// the former as `late` and the latter as `too_late`. With `grace`, a length as for `slice`, rows wait in memory until a
/// row comes that is newer by more than this time. Rows that are late by at most the grace are then in all reports.
///
/// If rows were late, LateRowsWarning is issued before the report of the last slice, or when the scan is discarded
/// earlier. If more than 1 % of the rows were late, LateRowsError is raised instead of that report. With
/// `late="drop"`, the warning replaces the exception. If at least 90 % of the rows were dropped and all of them are at
/// least a window older than the first row, the message names the first row.
///
/// `slice` is the length of a slice: a timedelta, or text such as "500ms", "1s", "5m" or "1d". Slice n starts n slice
/// lengths after the Unix epoch. Long periods without rows produce no reports.
///
/// `detector` receives the pairs. It may be queried between two reports, but only the scan may close its slices. By
/// default, a detector is created with the `options`. If `progress` is True, a progress bar is shown, which requires
/// tqdm. By default, the bar is shown in notebooks if tqdm is installed.
#[pyfunction]
#[pyo3(signature = (data, *, time="time", source="source", destination="destination", slice=None, detector=None, progress=None, late="raise", grace=None, **options), text_signature = "(data, *, time='time', source='source', destination='destination', slice='1s', detector=None, progress=None, late='raise', grace=None, **options)")]
#[expect(clippy::too_many_arguments, reason = "the arguments are keyword arguments in Python")]
pub(crate) fn scan<'py>(
    data: &Bound<'py, PyAny>,
    time: &str,
    source: &str,
    destination: &str,
    slice: Option<&Bound<'py, PyAny>>,
    detector: Option<Bound<'py, Detector>>,
    progress: Option<bool>,
    late: &str,
    grace: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Scan> {
    let py = data.py();
    let detector = match (detector, options) {
        (Some(detector), None) => detector,
        (None, options) => Detector::with_options(py, options)?,
        (Some(_), Some(options)) => {
            return Err(PyTypeError::new_err(format!(
                "cannot use detector together with {}: create the detector with these options",
                options.keys()
            )));
        }
    };
    let window = detector.get().window();
    let grace = grace.map_or(Ok(Duration::ZERO), |grace| length("grace", grace))?;
    let late = LateRows::new(LatePolicy::parse(late)?, window, grace);
    let slice = slice.map_or(Ok(Duration::from_secs(1)), |slice| length("slice", slice))?;
    let clock = SliceClock::new(slice, window - 1, Duration::MAX).map_err(raised)?;
    let bar = progress_bar(data, progress)?;
    let columns = detector.get().columns(Some(time), source, destination);
    let state = State {
        blocks: Some(Blocks::open(data, columns)?),
        grace: Grace::new(grace),
        block: Rows::default(),
        next: 0,
        slicer: Slicer::new(clock),
        reports: VecDeque::new(),
        rows: 0,
        late,
        has_warned_of_overload: false,
        running: None,
        is_finished: false,
    };
    Ok(Scan { detector: detector.unbind(), state: Mutex::new(state), bar })
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
    /// The rows that follow, or `None` if all rows were read.
    blocks: Option<Blocks>,
    grace: Grace,
    block: Rows,
    /// Index of the next row to feed, in `block`.
    next: usize,
    slicer: Slicer,
    reports: VecDeque<SliceReport>,
    /// Number of rows that were fed to the detector.
    rows: u64,
    late: LateRows,
    has_warned_of_overload: bool,
    /// The running slice of the detector after the previous step.
    running: Option<u64>,
    /// Whether the scan has ended, after the last slice or after an error.
    is_finished: bool,
}

#[pymethods]
impl Scan {
    /// The number of rows that have been fed to the detector.
    #[getter]
    fn rows(&self) -> PyResult<u64> {
        Ok(self.lock()?.rows)
    }

    /// The number of rows that came after the report of their slice and are counted in later reports only.
    #[getter]
    fn late(&self) -> PyResult<u64> {
        Ok(self.lock()?.late.counted())
    }

    /// The number of rows that were dropped because they were late by at least a whole window.
    #[getter]
    fn too_late(&self) -> PyResult<u64> {
        Ok(self.lock()?.late.dropped())
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Report>> {
        let mut state = self.lock()?;
        loop {
            if let Some(report) = state.reports.pop_front() {
                let start_ns = state.slicer.clock().bounds(report.slice).start;
                let names = self.detector.get().selection().names;
                let report = Report::new(report, Some(start_ns), names);
                if !state.has_warned_of_overload {
                    state.has_warned_of_overload = report.warn_of_overload(py)?;
                }
                return Ok(Some(report));
            }
            if state.is_finished {
                if let Some(bar) = &self.bar {
                    bar.call_method0(py, "close")?;
                }
                return Ok(None);
            }
            let before = state.rows;
            if let Err(error) = state.step(py, self.detector.get()) {
                state.end();
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
    /// Issues the warning about late rows if the scan has not reached its end.
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
            TryLockError::WouldBlock => {
                ModuleError::new_err("cannot read the scan: another thread is reading it")
            }
            TryLockError::Poisoned(_) => broken("scan"),
        })
    }
}

impl State {
    fn end(&mut self) {
        self.blocks = None;
        self.block = Rows::default();
        self.is_finished = true;
    }

    /// Performs one step. Before the last slice closes, the late rows are reported, because a caller that takes the
    /// last report might not ask for another one.
    fn step(&mut self, py: Python<'_>, detector: &Detector) -> PyResult<()> {
        if self.blocks.is_none() && self.next == self.block.len() {
            self.late.report(py, self.rows, self.slicer.clock())?;
        }
        py.detach(|| self.advance(detector))
    }

    /// Feeds rows of the block, reads the next block, or closes the last slice.
    fn advance(&mut self, detector: &Detector) -> PyResult<()> {
        if self.next < self.block.len() {
            let view = &detector.selection().view;
            return self.change(detector, |state, detector| state.feed(view, detector));
        }
        let Some(blocks) = &mut self.blocks else {
            self.change(detector, Self::finish)?;
            self.end();
            return Ok(());
        };
        self.block = match blocks.next_block()? {
            Some(block) => self.grace.order(block),
            None => {
                self.blocks = None;
                self.grace.rest()
            }
        };
        self.next = 0;
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
        detector.change_detached(|detector| {
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
    fn feed(&mut self, view: &View, detector: &mut SlidingDetector) -> Result<(), Error> {
        let Self { block, next, slicer, reports, late, .. } = self;
        let first = *next;
        for contact in block.contacts(first) {
            *next += 1;
            slicer.place(contact.time_ns, view.pairs(&contact), &mut sink(detector, reports))?;
            if !reports.is_empty() {
                break;
            }
        }
        // The last row may have closed the slice that was running before it.
        let running = reports.front().map_or(detector.slice(), |report| report.slice);
        late.add(&block.times[first..*next], running, slicer.clock());
        self.rows += (self.next - first) as u64;
        Ok(())
    }

    /// Closes the last slice, if the table had any rows.
    fn finish(&mut self, detector: &mut SlidingDetector) -> Result<(), Error> {
        if self.slicer.clock().is_running() {
            self.slicer.finish(&mut sink(detector, &mut self.reports))?;
            self.reports.push_back(detector.close_slice()?);
        }
        Ok(())
    }
}

/// Returns a sink that ingests into `detector` and collects its reports.
fn sink<'a>(
    detector: &'a mut SlidingDetector,
    reports: &'a mut VecDeque<SliceReport>,
) -> impl SliceSink<Error = Error> + 'a {
    DetectorSink::new(detector, |report| {
        reports.push_back(report);
        Ok(())
    })
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

/// Reads the argument `name`: a timedelta, or text such as "500ms".
fn length(name: &str, length: &Bound<'_, PyAny>) -> PyResult<Duration> {
    if let Ok(length) = length.extract::<Duration>() {
        return Ok(length);
    }
    let text = length.cast::<PyString>().ok().and_then(|text| text.to_str().ok());
    text.and_then(parsed).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{name}: must be a positive timedelta, or a whole number of ns, us, ms, s, m, h or d, such as 500ms, got {length}"
        ))
    })
}

fn parsed(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let unit_ns: u64 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit_ns).map(Duration::from_nanos)
}

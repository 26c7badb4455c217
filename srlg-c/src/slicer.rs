//! The functions of the header for slicers, which assign pairs to slices by their timestamps.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "`pointer` documents the contract")]

use std::collections::VecDeque;
use std::time::Duration;

use srlg_host::ingest::PairBatch;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer as LibrarySlicer};
use srlg_host::{IpPair, SliceReport};

use crate::detector::DETECTORS;
use crate::handle::Table;
use crate::pairs::{Pair4, Pair6, ipv4};
use crate::pointer::{elements, output};
use crate::report::REPORTS;
use crate::status::{Failure, Status, guard};
use crate::values::{Detector, Report};

static SLICERS: Table<DetectorSlicer> = Table::new(6, "srlg_slicer");

/// Maximum time by which a timestamp may be ahead of the system clock.
const SKEW: Duration = Duration::from_secs(86_400);

/// Handle to a slicer, which assigns pairs to slices by their timestamps and closes the slices of its detector.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slicer {
    /// Number of the handle. It is never 0.
    pub id: u64,
}

struct DetectorSlicer {
    slicer: LibrarySlicer,
    sink: Sink,
}

/// A sink that uses the detector only while it ingests or closes, and keeps the reports.
struct Sink {
    detector: Detector,
    reports: VecDeque<SliceReport>,
}

impl SliceSink for Sink {
    type Error = Failure;

    fn start(&mut self, slice: u64) -> Result<(), Failure> {
        DETECTORS.write(self.detector.id, |detector| Ok(detector.skip_to(slice)?))
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<(), Failure> {
        let ingest = |detector: &_| Ok(pairs.ingest_late(detector, slices_late)?);
        DETECTORS.read(self.detector.id, ingest)
    }

    fn advance_to(&mut self, slice: u64) -> Result<(), Failure> {
        let Self { detector, reports } = self;
        DETECTORS.write(detector.id, |detector| {
            detector.advance_to(slice, |report| {
                reports.push_back(report);
                Ok(())
            })
        })
    }
}

/// Creates a slicer for a detector. Slices are `slice_ns` nanoseconds long, and slice n starts n slice lengths after
/// the Unix epoch. A slice stays running for `grace_ns` nanoseconds after its end, so that late pairs still reach its
/// report. Only the slicer may close slices of the detector. The detector continues with its running slice or, if this
/// is slice 0, with the slice of the first timestamp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_slicer_new(
    detector: Detector,
    slice_ns: u64,
    grace_ns: u64,
    slicer: *mut Slicer,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let handle = unsafe { output(slicer, "slicer") }?;
        let (window, running) = DETECTORS
            .read(detector.id, |detector| Ok((detector.params().window(), detector.slice())))?;
        let length = Duration::from_nanos(slice_ns);
        let clock = SliceClock::new(length, window - 1, Duration::MAX)?
            .with_skew(SKEW)
            .with_grace(Duration::from_nanos(grace_ns));
        let start = clock.bounds(running).start;
        let mut slicer = LibrarySlicer::new(clock);
        let mut sink = Sink { detector, reports: VecDeque::new() };
        if running > 0 {
            slicer.start(start, &mut sink)?;
        }
        handle.write(Slicer { id: SLICERS.insert(DetectorSlicer { slicer, sink })? });
        Ok(())
    })
}

/// Records `count` pairs that were in contact at `time_ns`, in nanoseconds since the Unix epoch. Before that, closes
/// all slices whose grace has ended by this time. Pairs are dropped if their slice has left the window
/// (SRLG_STATUS_TOO_LATE), or if they are more than a day ahead of the system clock (SRLG_STATUS_FUTURE).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_slicer_ingest_ipv4(
    slicer: Slicer,
    time_ns: u64,
    pairs: *const Pair4,
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = unsafe { elements(pairs, count, "pairs") }?;
        place(slicer, time_ns, ipv4(pairs).iter().copied())
    })
}

/// Records `count` pairs in the same way as srlg_slicer_ingest_ipv4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_slicer_ingest_ipv6(
    slicer: Slicer,
    time_ns: u64,
    pairs: *const Pair6,
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = unsafe { elements(pairs, count, "pairs") }?;
        place(slicer, time_ns, pairs)
    })
}

fn place<P: Into<IpPair>>(
    slicer: Slicer,
    time_ns: u64,
    pairs: impl IntoIterator<Item = P>,
) -> Result<(), Failure> {
    let place = |it: &mut DetectorSlicer| it.slicer.place(time_ns, pairs, &mut it.sink);
    let dropped =
        |status, why| Err(Failure::new(status, format!("cannot ingest at {time_ns} ns: {why}")));
    match SLICERS.write(slicer.id, place)? {
        Placement::TooLate => dropped(Status::TooLate, "the slice has left the window"),
        Placement::Future => {
            dropped(Status::Future, "it is more than a day ahead of the system clock")
        }
        _ => Ok(()),
    }
}

/// Passes all waiting pairs to the detector, so that queries and deltas include them. Closes all slices whose grace has
/// ended by `now_ns`, in nanoseconds since the Unix epoch.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_slicer_advance(slicer: Slicer, now_ns: u64) -> Status {
    guard(|| {
        SLICERS.write(slicer.id, |DetectorSlicer { slicer, sink }| {
            slicer.advance(now_ns, sink)?;
            slicer.flush(sink)
        })
    })
}

/// Writes a handle to the oldest report that has not been taken, or a handle with number 0 if there is none. Call this
/// after each ingest or advance until there is none. Silent slices may have no report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_slicer_take_report(slicer: Slicer, report: *mut Report) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let handle = unsafe { output(report, "report") }?;
        let report = SLICERS.write(slicer.id, |slicer| Ok(slicer.sink.reports.pop_front()))?;
        let id = report.map(|report| REPORTS.insert(report)).transpose()?;
        handle.write(Report { id: id.unwrap_or(0) });
        Ok(())
    })
}

/// Frees a slicer as soon as no call uses it. Pairs that have not reached the detector are lost.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_slicer_free(slicer: Slicer) -> Status {
    guard(|| SLICERS.remove(slicer.id).map(drop))
}

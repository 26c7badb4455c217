//! The functions of the header for slicers, which assign pairs to slices by their timestamps.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "`pointer` documents the contract")]

use std::collections::VecDeque;
use std::time::Duration;

use srlg_host::ingest::PairBatch;
use srlg_host::time::{Placement, SliceClock, SliceSink, Slicer as LibrarySlicer};
use srlg_host::{IpPair, SliceReport, SlidingDetector};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::detector::DETECTORS;
use crate::handle::Table;
use crate::pairs::{Pair4, Pair6, ipv4};
use crate::pointer::{elements, input_struct, output};
use crate::report::REPORTS;
use crate::status::{Failure, Status, guard};
use crate::values::{Detector, Report, Versioned};

static SLICERS: Table<DetectorSlicer> = Table::new(6, "srlg_slicer");

/// Minimum of the skew that applies if the options have none. Synchronised clocks differ by less.
const LEAST_SKEW: Duration = Duration::from_secs(1);

/// Options of a slicer. If `grace_ns` or `skew_ns` is 0, its default applies.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
pub struct SlicerOptions {
    /// Size of this struct, in bytes.
    pub size: usize,
    /// Length of a slice, in nanoseconds. Slice n starts n slice lengths after the Unix epoch.
    pub slice_ns: u64,
    /// Time for which a slice stays running after its end, in nanoseconds, so that late pairs still reach its report.
    /// The default is 0.
    pub grace_ns: u64,
    /// Maximum time by which a timestamp may be ahead of the system clock, in nanoseconds. The default is `grace_ns`,
    /// but at least one second. With a larger value, a wrong clock may close slices before their pairs arrive.
    pub skew_ns: u64,
}

impl Versioned for SlicerOptions {
    const FIRST_SIZE: usize = 32;
}

/// Handle to a slicer, which assigns pairs to slices by their timestamps and closes the slices of its detector.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slicer {
    /// Number of the handle. It is never 0.
    pub id: u64,
}

struct DetectorSlicer {
    slicer: LibrarySlicer,
    skew: Duration,
    sink: Sink,
}

/// A sink that uses the detector only while it ingests or closes, and keeps the reports.
struct Sink {
    detector: Detector,
    /// The running slice, or `None` before the first timestamp.
    running: Option<u64>,
    /// Whether a slice was closed, so that a late pair may be missing from a report.
    has_closed: bool,
    reports: VecDeque<SliceReport>,
}

impl Sink {
    /// Returns an error if anything else has closed a slice, because pairs would be counted in the wrong slices.
    fn check(&self, detector: &SlidingDetector) -> Result<(), Failure> {
        let is = detector.slice();
        match self.running {
            Some(running) if running != is => Err(Failure::new(
                Status::Slice,
                format!(
                    "cannot use the slicer: its detector is at slice {is} instead of {running}; only the slicer may close slices of the detector"
                ),
            )),
            _ => Ok(()),
        }
    }
}

impl SliceSink for Sink {
    type Error = Failure;

    fn start(&mut self, slice: u64) -> Result<(), Failure> {
        DETECTORS.write(self.detector.id, |detector| Ok(detector.skip_to(slice)?))?;
        self.running = Some(slice);
        Ok(())
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<(), Failure> {
        DETECTORS.read(self.detector.id, |detector| {
            self.check(detector)?;
            Ok(pairs.ingest_late(detector, slices_late)?)
        })
    }

    fn advance_to(&mut self, slice: u64) -> Result<(), Failure> {
        DETECTORS.write(self.detector.id, |detector| {
            self.check(detector)?;
            let reports = &mut self.reports;
            let advanced = detector.advance_to(slice, |report| {
                reports.push_back(report);
                Ok(())
            });
            (self.running, self.has_closed) = (Some(detector.slice()), true);
            advanced
        })
    }
}

/// Creates a slicer for a detector. Only the slicer may close slices of the detector. The detector continues with its
/// running slice or, if this is slice 0, with the slice of the first timestamp, whose window no longer includes pairs
/// that were ingested before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_slicer_new(
    detector: Detector,
    options: *const SlicerOptions,
    slicer: *mut Slicer,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let options = unsafe { input_struct(options, "options") }?;
        // SAFETY: the contract of this call.
        let handle = unsafe { output(slicer, "slicer") }?;
        let (window, running) = DETECTORS
            .read(detector.id, |detector| Ok((detector.params().window(), detector.slice())))?;
        let grace = Duration::from_nanos(options.grace_ns);
        let skew = match options.skew_ns {
            0 => grace.max(LEAST_SKEW),
            skew_ns => Duration::from_nanos(skew_ns),
        };
        let clock =
            SliceClock::new(Duration::from_nanos(options.slice_ns), window - 1, Duration::MAX)?
                .with_skew(skew)
                .with_grace(grace);
        let start = clock.bounds(running).start;
        let mut slicer = LibrarySlicer::new(clock);
        let mut sink =
            Sink { detector, running: None, has_closed: false, reports: VecDeque::new() };
        if running > 0 {
            slicer.start(start, &mut sink)?;
        }
        handle.write(Slicer { id: SLICERS.insert(DetectorSlicer { slicer, skew, sink })? });
        Ok(())
    })
}

/// Records `count` pairs that were in contact at `time_ns`, in nanoseconds since the Unix epoch. Before that, closes
/// all slices whose grace has ended by this time. If the pairs are counted in their slice but missing from a report
/// that was created before, the status is SRLG_STATUS_LATE. Pairs are dropped if their slice has left the window
/// (SRLG_STATUS_TOO_LATE), or if they are ahead of the system clock by more than the skew (SRLG_STATUS_FUTURE).
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
    SLICERS.write(slicer.id, |DetectorSlicer { slicer, skew, sink }| {
        let (status, text) = match slicer.place(time_ns, pairs, sink)? {
            Placement::Late { slices } if sink.has_closed => {
                let text = format!("{slices} slices late, so that reports are missing its pairs");
                (Status::Late, text)
            }
            Placement::TooLate => {
                (Status::TooLate, "dropped: its slice has left the window".into())
            }
            Placement::Future => {
                let text = format!("dropped: it is more than {skew:?} ahead of the system clock");
                (Status::Future, text)
            }
            _ => return Ok(()),
        };
        Err(Failure::new(status, format!("timestamp {time_ns} ns is {text}")))
    })
}

/// Closes all slices whose grace has ended by `now_ns`, in nanoseconds since the Unix epoch. Then passes the waiting
/// pairs of the running slice and of earlier slices to the detector, so that queries, deltas and snapshots include
/// them. Pairs of later slices wait until their slice is running.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_slicer_advance(slicer: Slicer, now_ns: u64) -> Status {
    guard(|| {
        SLICERS.write(slicer.id, |DetectorSlicer { slicer, sink, .. }| {
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

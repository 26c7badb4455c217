//! [`SliceSink`]: a receiver of pairs, slice by slice, and [`DetectorSink`], which is enough for most programs.

use crate::detector::SlidingDetector;
use crate::error::Error;
use crate::ingest::batch::PairBatch;
use crate::report::SliceReport;

/// A receiver of pairs from a [`Slicer`](super::Slicer), slice by slice.
pub trait SliceSink {
    /// The error type of the sink.
    type Error;

    /// Starts the first slice, number `slice`.
    ///
    /// # Errors
    /// The slicer passes any error to its caller.
    fn start(&mut self, slice: u64) -> Result<(), Self::Error>;

    /// Ingests `pairs` of the slice that is `slices_late` slices before the running one.
    ///
    /// # Errors
    /// The slicer passes any error to its caller.
    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<(), Self::Error>;

    /// Closes the running slice and all slices between it and `slice`. After the call, `slice` is running.
    ///
    /// # Errors
    /// The slicer passes any error to its caller.
    fn advance_to(&mut self, slice: u64) -> Result<(), Self::Error>;
}

/// A sink that ingests pairs into a detector and passes each report to a function. A program that queries the detector
/// between the calls of a [`Slicer`](super::Slicer) creates a sink for each call.
pub struct DetectorSink<'a, F> {
    detector: &'a mut SlidingDetector,
    on_report: F,
}

impl<'a, F> DetectorSink<'a, F> {
    /// Creates a sink that passes the reports of `detector` to `on_report`, as
    /// [`advance_to`](SlidingDetector::advance_to) does.
    pub fn new<E>(detector: &'a mut SlidingDetector, on_report: F) -> Self
    where
        F: FnMut(SliceReport) -> Result<(), E>,
    {
        Self { detector, on_report }
    }
}

impl<E: From<Error>, F: FnMut(SliceReport) -> Result<(), E>> SliceSink for DetectorSink<'_, F> {
    type Error = E;

    fn start(&mut self, slice: u64) -> Result<(), E> {
        Ok(self.detector.skip_to(slice)?)
    }

    fn ingest(&mut self, pairs: &PairBatch, slices_late: u32) -> Result<(), E> {
        Ok(pairs.ingest_late(self.detector, slices_late)?)
    }

    fn advance_to(&mut self, slice: u64) -> Result<(), E> {
        self.detector.advance_to(slice, &mut self.on_report)
    }
}

impl<F> std::fmt::Debug for DetectorSink<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DetectorSink").field("detector", self.detector).finish_non_exhaustive()
    }
}

//! The functions of the header that create a detector, ingest into it, close its slices and query it.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "`pointer` documents the contract")]

use std::num::NonZeroUsize;

use srlg_host::SlidingDetector;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::handle::Table;
use crate::pairs::{Pair4, Pair6, in_blocks, ipv4};
use crate::pointer::{elements, input, input_struct, output, output_elements, output_struct};
use crate::report::REPORTS;
use crate::status::{Status, guard};
use crate::values::{Config, Detector, Estimate, Health, Host, Peers, Report};

pub(crate) static DETECTORS: Table<SlidingDetector> = Table::new(1, "srlg_detector");

/// Creates a detector from `config`. Slice 0 is running.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_new(
    config: *const Config,
    detector: *mut Detector,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let config = unsafe { input_struct(config, "config") }?;
        // SAFETY: the contract of this call.
        let handle = unsafe { output(detector, "detector") }?;
        let mut detector =
            SlidingDetector::new(config.library_config()?, config.library_device()?)?;
        if let Some(threads) = NonZeroUsize::new(config.close_threads as usize) {
            detector.set_close_threads(threads)?;
        }
        handle.write(Detector { id: DETECTORS.insert(detector)? });
        Ok(())
    })
}

/// Frees a detector as soon as no call uses it. Its feeds stay open, but ingesting into them returns
/// SRLG_STATUS_DETECTOR_FREED.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_detector_free(detector: Detector) -> Status {
    guard(|| DETECTORS.remove(detector.id).map(drop))
}

/// Records `count` pairs in the running slice. Any number of threads may ingest concurrently. All these threads wait
/// while a slice is being closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_ingest_ipv4(
    detector: Detector,
    pairs: *const Pair4,
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = ipv4(unsafe { elements(pairs, count, "pairs") }?);
        DETECTORS.read(detector.id, |detector| Ok(detector.ingest(pairs)?))
    })
}

/// Records `count` pairs in the same way as srlg_detector_ingest_ipv4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_ingest_ipv6(
    detector: Detector,
    pairs: *const Pair6,
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = unsafe { elements(pairs, count, "pairs") }?;
        DETECTORS.read(detector.id, |detector| {
            in_blocks(pairs, |block| detector.ingest(block).map(|()| block.len()))?;
            Ok(())
        })
    })
}

/// Closes the running slice and moves the window by one slice. Writes a handle to the report on the window that ends
/// with the closed slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_close_slice(
    detector: Detector,
    report: *mut Report,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let handle = unsafe { output(report, "report") }?;
        let report = DETECTORS.write(detector.id, |detector| Ok(detector.close_slice()?))?;
        handle.write(Report { id: REPORTS.insert(report)? });
        Ok(())
    })
}

/// A window that ends with a closing slice.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
pub struct Window {
    /// Length of the window, in slices, at most the window of the detector.
    pub slices: u32,
    /// Minimum number of peers of a reported host. A number below the threshold of the detector finds no more hosts.
    pub threshold: u32,
}

/// Closes the running slice in the same way as srlg_detector_close_slice. Writes handles to the reports on `count`
/// windows that end with the closed slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_close_slice_within(
    detector: Detector,
    windows: *const Window,
    count: usize,
    reports: *mut Report,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let windows = unsafe { elements(windows, count, "windows") }?;
        // SAFETY: the contract of this call.
        let handles = unsafe { output_elements(reports, count, "reports") }?;
        let (whole, lists) = DETECTORS.write(detector.id, |detector| {
            let mut closing = detector.begin_close()?;
            let lists = windows.iter().map(|&Window { slices, threshold }| {
                closing.super_points_within(slices, threshold.into())
            });
            let lists = lists.collect::<Result<Vec<_>, _>>()?;
            Ok((closing.end()?, lists))
        })?;
        for (handle, super_points) in handles.iter_mut().zip(lists) {
            let mut report = whole.clone();
            report.super_points = super_points;
            handle.write(Report { id: REPORTS.insert(report)? });
        }
        Ok(())
    })
}

/// Writes the number of the running slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_slice(detector: Detector, slice: *mut u64) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let slice = unsafe { output(slice, "slice") }?;
        slice.write(DETECTORS.read(detector.id, |detector| Ok(detector.slice()))?);
        Ok(())
    })
}

/// Moves the window forward until `slice` is running. No report is created. `slice` must not be before the running
/// slice, and may be any number of slices after it.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_detector_skip_to(detector: Detector, slice: u64) -> Status {
    guard(|| DETECTORS.write(detector.id, |detector| Ok(detector.skip_to(slice)?)))
}

/// Writes the estimated number of distinct peers of a host in the window that ends with the running slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_cardinality(
    detector: Detector,
    host: *const Host,
    estimate: *mut Estimate,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let host = unsafe { input(host, "host") }?.address();
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(estimate, "estimate") }?;
        DETECTORS.read(detector.id, |detector| {
            out.write(detector.cardinality(host)?);
            Ok(())
        })
    })
}

/// Writes the estimated number of distinct peers of a host in the last `window` slices, including the running slice.
/// After a close, the running slice is empty. To get an estimate for the window of the report, call this function
/// before the close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_cardinality_within(
    detector: Detector,
    host: *const Host,
    window: u32,
    estimate: *mut Estimate,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let host = unsafe { input(host, "host") }?.address();
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(estimate, "estimate") }?;
        DETECTORS.read(detector.id, |detector| {
            out.write(detector.cardinality_within(host, window)?);
            Ok(())
        })
    })
}

/// Writes a sample of a host's peers in the window that ends with the running slice. The host need not be a super
/// point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_sample_peers(
    detector: Detector,
    host: *const Host,
    peers: *mut Peers,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let host = unsafe { input(host, "host") }?.address();
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(peers, "peers") }?;
        DETECTORS.read(detector.id, |detector| {
            out.write(&*detector.sample_peers(host)?);
            Ok(())
        })
    })
}

/// Writes the health of the detector at its most recent close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_health(detector: Detector, health: *mut Health) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(health, "health") }?;
        DETECTORS.read(detector.id, |detector| {
            out.write(detector.health());
            Ok(())
        })
    })
}

//! The functions of the header that take, restore and merge the state of a detector.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "`pointer` documents the contract")]

use srlg_host::SlidingDetector;
use srlg_host::state::{Delta, SlicePairs, Snapshot};

use crate::detector::DETECTORS;
use crate::handle::Table;
use crate::pointer::{copy, elements, output, output_bytes};
use crate::status::{Status, guard};
use crate::values::{Bytes, Detector};

static BYTES: Table<Vec<u8>> = Table::new(4, "srlg_bytes");

/// Maximum number of pairs that are merged in one call.
const MOST_MERGED_PAIRS: usize = 1 << 22;

/// Creates a snapshot of the whole state of the detector. The snapshot contains a fingerprint of the seed, but never
/// the seed itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_snapshot(detector: Detector, bytes: *mut Bytes) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let handle = unsafe { output(bytes, "bytes") }?;
        let snapshot = DETECTORS.read(detector.id, |detector| Ok(detector.snapshot()?))?;
        handle.write(Bytes { id: BYTES.insert(snapshot.to_bytes()?)? });
        Ok(())
    })
}

/// Replaces the whole state of the detector, including the number of the running slice, with a snapshot of `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_restore(
    detector: Detector,
    snapshot: *const u8,
    len: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let bytes = unsafe { elements(snapshot, len, "snapshot") }?;
        let parse =
            |detector: &SlidingDetector| Ok(Snapshot::from_bytes(bytes, detector.params())?);
        let snapshot = DETECTORS.read(detector.id, parse)?;
        DETECTORS.write(detector.id, |detector| Ok(detector.restore(&snapshot)?))
    })
}

/// Merges a snapshot of `len` bytes from another detector. Snapshots may be merged late, repeatedly and in any order,
/// without changing the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_merge_snapshot(
    detector: Detector,
    snapshot: *const u8,
    len: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let bytes = unsafe { elements(snapshot, len, "snapshot") }?;
        let parse =
            |detector: &SlidingDetector| Ok(Snapshot::from_bytes(bytes, detector.params())?);
        let snapshot = DETECTORS.read(detector.id, parse)?;
        DETECTORS.write(detector.id, |detector| Ok(detector.merge_snapshot(&snapshot)?))
    })
}

/// Creates a delta of the last `slices` slices, including the running slice. A delta of a few slices is much smaller
/// than a snapshot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_delta(
    detector: Detector,
    slices: u32,
    bytes: *mut Bytes,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let handle = unsafe { output(bytes, "bytes") }?;
        let delta = DETECTORS.write(detector.id, |detector| Ok(detector.delta(slices)?))?;
        handle.write(Bytes { id: BYTES.insert(delta.to_bytes()?)? });
        Ok(())
    })
}

/// Merges a delta of `len` bytes from another detector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_merge_delta(
    detector: Detector,
    delta: *const u8,
    len: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let bytes = unsafe { elements(delta, len, "delta") }?;
        let parse = |detector: &SlidingDetector| Ok(Delta::from_bytes(bytes, detector.params())?);
        let delta = DETECTORS.read(detector.id, parse)?;
        DETECTORS.write(detector.id, |detector| Ok(detector.merge_delta(&delta)?))
    })
}

/// Merges the pairs of one slice, at most 2^22, that a Rust program has written with SlicePairs::to_bytes. The sizes and
/// the seed of the detector do not matter. Any number of threads may merge pairs concurrently.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_merge_pairs(
    detector: Detector,
    pairs: *const u8,
    len: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let bytes = unsafe { elements(pairs, len, "pairs") }?;
        let pairs = SlicePairs::from_bytes(bytes, MOST_MERGED_PAIRS)?;
        DETECTORS.read(detector.id, |detector| Ok(detector.merge_pairs(&pairs)?))
    })
}

/// Writes the number of bytes to `len` and the bytes to `data`. If `capacity` is too small, only `len` is written, and
/// the status is SRLG_STATUS_BUFFER. `data` may be null if `capacity` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_bytes_copy(
    bytes: Bytes,
    data: *mut u8,
    capacity: usize,
    len: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let data = unsafe { output_bytes(data, capacity, "data") }?;
        // SAFETY: the contract of this call.
        let len = unsafe { output(len, "len") }?;
        BYTES.read(bytes.id, |bytes| {
            len.write(bytes.len());
            copy(bytes, data)
        })
    })
}

/// Frees bytes as soon as no call uses them.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_bytes_free(bytes: Bytes) -> Status {
    guard(|| BYTES.remove(bytes.id).map(drop))
}

//! The functions of the header that take, restore and merge the state of a detector.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "`pointer` documents the contract")]

use srlg_host::ingest::PairBatch;
use srlg_host::state::{self, Delta, SlicePairs, Snapshot};
use srlg_host::{IpPair, SlidingDetector};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::detector::DETECTORS;
use crate::handle::Table;
use crate::pairs::{Pair4, Pair6, ipv4};
use crate::pointer::{copy, elements, output, output_elements, output_struct};
use crate::status::{Status, guard};
use crate::values::{Bytes, Detector, Versioned, out_of_range};

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

/// Merges the pairs of one slice, at most 2^22, that srlg_pairs_write has written. The sizes and the seed of the
/// detector do not matter. Any number of threads may merge pairs concurrently.
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

/// Creates a list of the pairs of slice number `slice`, at most 2^22, for srlg_detector_merge_pairs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_pairs_write(
    slice: u64,
    pairs4: *const Pair4,
    count4: usize,
    pairs6: *const Pair6,
    count6: usize,
    bytes: *mut Bytes,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs4 = unsafe { elements(pairs4, count4, "pairs4") }?;
        // SAFETY: the contract of this call.
        let pairs6 = unsafe { elements(pairs6, count6, "pairs6") }?;
        // SAFETY: the contract of this call.
        let handle = unsafe { output(bytes, "bytes") }?;
        let count = (pairs4.len() as u64).saturating_add(pairs6.len() as u64);
        if count > MOST_MERGED_PAIRS as u64 {
            return Err(out_of_range("number of pairs", count, MOST_MERGED_PAIRS as u64 + 1));
        }
        let mut batch = PairBatch::new();
        batch.extend(ipv4(pairs4).iter().copied());
        batch.extend(pairs6.iter().map(IpPair::from));
        let bytes = SlicePairs::new(&batch, slice)?.to_bytes()?;
        handle.write(Bytes { id: BYTES.insert(bytes)? });
        Ok(())
    })
}

/// Kind of a state.
#[repr(C)]
pub enum StateKind {
    /// A snapshot.
    Snapshot = 1,
    /// A delta.
    Delta = 2,
    /// A list of pairs.
    Pairs = 3,
    /// A kind for which this version has no name.
    Other = 255,
}

/// Header of a state: a snapshot, a delta or a list of pairs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
pub struct StateHeader {
    /// Size of this struct, in bytes.
    pub size: usize,
    /// The running slice of a snapshot, the last slice of a delta, or the slice of the pairs.
    pub slice: u64,
    /// Size of the body after decompression, in bytes.
    pub body_bytes: u64,
    /// Number of slices of a delta, 1 for pairs, or 0 for a snapshot.
    pub slices: u32,
    /// Kind of the state (a value of srlg_state_kind).
    pub kind: u32,
}

impl Versioned for StateHeader {
    const FIRST_SIZE: usize = 32;
}

impl From<state::StateHeader> for StateHeader {
    fn from(of: state::StateHeader) -> Self {
        let kind = match of.kind {
            state::StateKind::Snapshot => StateKind::Snapshot,
            state::StateKind::Delta => StateKind::Delta,
            state::StateKind::Pairs => StateKind::Pairs,
            _ => StateKind::Other,
        };
        let state::StateHeader { slice, slices, body_bytes, .. } = of;
        Self { size: size_of::<Self>(), slice, body_bytes, slices, kind: kind as u32 }
    }
}

/// Writes the header of a state of `len` bytes, whose checksum must be correct. The state may be from any detector.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_state_read_header(
    state: *const u8,
    len: usize,
    header: *mut StateHeader,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let bytes = unsafe { elements(state, len, "state") }?;
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(header, "header") }?;
        out.write(state::StateHeader::read(bytes)?);
        Ok(())
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
        let data = unsafe { output_elements(data, capacity, "data") }?;
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

//! The functions of the header. They turn pointers into references and slices, and contain the only unsafe code of this
//! crate.
//!
//! # Contract of a call
//!
//! A non-null pointer points to memory that is valid for its type until the call returns. The call reads through a
//! `const` pointer, and no thread writes to this memory during the call. The call writes through any other pointer, and
//! no other thread uses this memory during the call. Memory that the call writes to must not overlap an array that it
//! reads, or other memory that it writes to.
//!
//! The count, length or capacity that follows an array argument is the number of its elements. A struct with a `size`
//! member has `size` bytes. Handles, numbers and struct members can have any value, because they are checked.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "the module documents the contract")]

use std::ffi::c_char;
use std::iter::repeat;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::slice;

use srlg_host::ingest::{Feed as LibraryFeed, Taken};
use srlg_host::state::{Delta, SlicePairs, Snapshot};
use srlg_host::{Error, IpPair, Ipv4Pair, SliceReport, SlidingDetector};
use zerocopy::{FromBytes, transmute_ref};

use crate::handle::Table;
use crate::status::{Failure, Status, guard, with_last_error};
use crate::values::{
    Bytes, Config, Detector, Estimate, Feed, Health, Host, Peers, Report, Summary, SuperPoint,
    Versioned, out_of_range, pair_of,
};

/// Version of this header. It increases by one with every added function, member or status.
pub const SRLG_ABI_VERSION: u32 = 1;

/// Buffer size, in bytes, that is sufficient for the text of any address, including the terminating 0 byte.
pub const SRLG_HOST_TEXT: usize = 46;

static DETECTORS: Table<SlidingDetector> = Table::new(1, "srlg_detector");
static FEEDS: Table<LibraryFeed> = Table::new(2, "srlg_feed");
static REPORTS: Table<SliceReport> = Table::new(3, "srlg_report");
static BYTES: Table<Vec<u8>> = Table::new(4, "srlg_bytes");

/// Maximum `size` of any struct of this header, now and in later versions.
const LARGEST_STRUCT: usize = 1 << 16;

/// Maximum number of pairs that are merged in one call.
const MOST_MERGED_PAIRS: usize = 1 << 22;

/// Number of IPv6 pairs that are converted at a time. They occupy 8 kB of the stack.
const BLOCK: usize = 256;

/// Rejects `pointer` if it is null or misaligned.
fn check<T>(pointer: *const T, argument: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::new(Status::NullPointer, format!("{argument}: the pointer is null")));
    }
    if !pointer.is_aligned() {
        let align = align_of::<T>();
        let text = format!("{argument}: must be aligned to {align} bytes, got {pointer:p}");
        return Err(Failure::new(Status::Argument, text));
    }
    Ok(())
}

/// Returns the `count` elements at `first`. If `count` is 0, `first` may be null.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation) for the lifetime `'a`.
unsafe fn elements<'a, T: FromBytes>(
    first: *const T,
    count: usize,
    argument: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check(first, argument)?;
    let most = isize::MAX as usize / size_of::<T>();
    if count > most {
        return Err(out_of_range("count", count as u64, most as u64 + 1));
    }
    // SAFETY: the array has `count` elements, by the contract. The pointer and the length were checked.
    Ok(unsafe { slice::from_raw_parts(first, count) })
}

/// Returns the value at `pointer`.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation).
unsafe fn input<T: FromBytes + Copy>(pointer: *const T, argument: &str) -> Result<T, Failure> {
    check(pointer, argument)?;
    // SAFETY: the pointer was checked, and its value can be read, by the contract. Any bytes are a valid value.
    Ok(unsafe { pointer.read() })
}

/// Returns the memory at `pointer`, so that a result can be written to it.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation) for the lifetime `'a`.
unsafe fn output<'a, T>(
    pointer: *mut T,
    argument: &str,
) -> Result<&'a mut MaybeUninit<T>, Failure> {
    check(pointer, argument)?;
    // SAFETY: the pointer was checked, and this call alone uses it, by the contract.
    Ok(unsafe { &mut *pointer.cast::<MaybeUninit<T>>() })
}

/// Returns the `size` member of the struct at `pointer`, or an error if it is out of range.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation).
unsafe fn struct_size<T: Versioned>(pointer: *const T, argument: &str) -> Result<usize, Failure> {
    check(pointer, argument)?;
    // SAFETY: the pointer was checked, and a struct starts with its size, by the contract.
    let size = unsafe { pointer.cast::<usize>().read() };
    if !(T::FIRST_SIZE..=LARGEST_STRUCT).contains(&size) {
        let least = T::FIRST_SIZE;
        let text =
            format!("{argument}: set size to sizeof of the struct, at least {least}, got {size}");
        return Err(Failure::new(Status::StructSize, text));
    }
    Ok(size)
}

/// Returns the struct at `pointer`. Members that are missing from the caller's version are 0. Members that this library
/// does not know must be 0.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation).
unsafe fn input_struct<T: Versioned>(pointer: *const T, argument: &str) -> Result<T, Failure> {
    // SAFETY: the contract is the same.
    let size = unsafe { struct_size(pointer, argument) }?;
    // SAFETY: the struct has `size` bytes, by the contract, and none of them is padding.
    let bytes = unsafe { slice::from_raw_parts(pointer.cast::<u8>(), size) };
    let (known, unknown) = bytes.split_at(size.min(size_of::<T>()));
    if unknown.iter().any(|byte| *byte != 0) {
        let text = format!(
            "{argument}: the struct has nonzero members unknown to this library; update srlg, or set them to 0"
        );
        return Err(Failure::new(Status::StructSize, text));
    }
    let mut value = T::new_zeroed();
    value.as_mut_bytes()[..known.len()].copy_from_slice(known);
    Ok(value)
}

/// The caller's memory for a struct. Its size is the size of the caller's version of the struct.
struct StructOutput<'a, T> {
    bytes: &'a mut [MaybeUninit<u8>],
    of: PhantomData<T>,
}

impl<T: Versioned> StructOutput<'_, T> {
    /// Writes `value`. Members that are missing from the caller's version are left out. Members that this library does
    /// not know are set to 0. The `size` member is not changed.
    fn write(self, value: impl Into<T>) {
        let value = value.into();
        let bytes = value.as_bytes().iter().chain(repeat(&0));
        for (place, byte) in self.bytes.iter_mut().zip(bytes).skip(size_of::<usize>()) {
            place.write(*byte);
        }
    }
}

/// Returns the memory of the struct at `pointer`, so that a result can be written to it.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation) for the lifetime `'a`.
unsafe fn output_struct<'a, T: Versioned>(
    pointer: *mut T,
    argument: &str,
) -> Result<StructOutput<'a, T>, Failure> {
    // SAFETY: the contract is the same.
    let size = unsafe { struct_size(pointer.cast_const(), argument) }?;
    // SAFETY: the struct has `size` bytes, and only this call uses them, by the contract.
    let bytes = unsafe { slice::from_raw_parts_mut(pointer.cast(), size) };
    Ok(StructOutput { bytes, of: PhantomData })
}

/// Returns the `capacity` bytes at `first`, so that a result can be written to them. If `capacity` is 0, `first` may be
/// null.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation) for the lifetime `'a`.
unsafe fn output_bytes<'a>(
    first: *mut u8,
    capacity: usize,
    argument: &str,
) -> Result<&'a mut [MaybeUninit<u8>], Failure> {
    if capacity == 0 {
        return Ok(&mut []);
    }
    check(first, argument)?;
    if isize::try_from(capacity).is_err() {
        return Err(out_of_range("capacity", capacity as u64, isize::MAX as u64));
    }
    // SAFETY: the array has `capacity` bytes, and only this call uses them, by the contract.
    Ok(unsafe { slice::from_raw_parts_mut(first.cast(), capacity) })
}

/// Copies `from` to the start of `to`. If `to` is too short, copies nothing and returns an error.
fn copy(from: &[u8], to: &mut [MaybeUninit<u8>]) -> Result<(), Failure> {
    if to.len() < from.len() {
        let text = format!("capacity: must be at least {} bytes, got {}", from.len(), to.len());
        return Err(Failure::new(Status::Buffer, text));
    }
    for (place, byte) in to.iter_mut().zip(from) {
        place.write(*byte);
    }
    Ok(())
}

fn ipv4(pairs: &[[u32; 2]]) -> &[Ipv4Pair] {
    transmute_ref!(pairs)
}

/// Passes `pairs` to `ingest` in blocks, until a block is not fully accepted. Returns the number of accepted pairs.
fn in_blocks(
    pairs: &[[u8; 32]],
    mut ingest: impl FnMut(&[IpPair]) -> Result<usize, Error>,
) -> Result<usize, Error> {
    let mut block = [IpPair::default(); BLOCK];
    let mut all = 0;
    for bytes in pairs.chunks(BLOCK) {
        let block = &mut block[..bytes.len()];
        block.iter_mut().zip(bytes).for_each(|(pair, bytes)| *pair = pair_of(bytes));
        let taken = ingest(block)?;
        all += taken;
        if taken < block.len() {
            break;
        }
    }
    Ok(all)
}

/// Returns the SRLG_ABI_VERSION of the library, which can differ from that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_abi_version() -> u32 {
    SRLG_ABI_VERSION
}

/// Returns the error text of the last call that failed in this thread. The pointer is never null. It is valid until the
/// next call fails in this thread, or until the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_last_error() -> *const c_char {
    with_last_error(|text| text.as_ptr()).unwrap_or(c"".as_ptr())
}

/// Writes a random seed. A detector that may receive hostile traffic needs a random, secret seed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_random_seed(seed: *mut u64) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let seed = unsafe { output(seed, "seed") }?;
        seed.write(srlg_host::config::random_seed()?);
        Ok(())
    })
}

/// Converts an IPv4 address to a host. The address is in host byte order: 10.0.0.1 is 0x0a000001.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_host_from_ipv4(address: u32, host: *mut Host) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let host = unsafe { output(host, "host") }?;
        host.write(IpAddr::V4(address.into()).into());
        Ok(())
    })
}

/// Writes the address of a host as text. A buffer of SRLG_HOST_TEXT bytes is always large enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_host_format(
    host: *const Host,
    text: *mut c_char,
    capacity: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let host = unsafe { input(host, "host") }?;
        let address = host.address().to_string() + "\0";
        // SAFETY: the contract of this call; a `c_char` is a byte.
        let text = unsafe { output_bytes(text.cast(), capacity, "text") }?;
        copy(address.as_bytes(), text)
    })
}

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

/// Records `count` pairs in the running slice. A pair consists of an inside host and a peer. Addresses are in host byte
/// order: 10.0.0.1 is 0x0a000001. Any number of threads may ingest concurrently. All these threads wait while a slice
/// is being closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_ingest_ipv4(
    detector: Detector,
    pairs: *const [u32; 2],
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = ipv4(unsafe { elements(pairs, count, "pairs") }?);
        DETECTORS.read(detector.id, |detector| Ok(detector.ingest(pairs)?))
    })
}

/// Records `count` pairs of IPv6 addresses in the same way as srlg_detector_ingest_ipv4. A pair consists of two
/// addresses of 16 bytes in network byte order: the inside host and its peer. An IPv4-mapped address is the same host
/// as the IPv4 address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_detector_ingest_ipv6(
    detector: Detector,
    pairs: *const [u8; 32],
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

/// Merges the pairs of one slice, at most 2^22, that a Rust program has written with SlicePairs::to_bytes. The sizes
/// and the seed of the detector do not matter. Any number of threads may merge pairs concurrently.
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

/// Creates a feed for one receiving thread. While another thread closes a slice, the feed buffers up to `capacity`
/// pairs of each address family for the next slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_feed_new(
    detector: Detector,
    capacity: usize,
    feed: *mut Feed,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let handle = unsafe { output(feed, "feed") }?;
        let feed = DETECTORS.read(detector.id, |detector| Ok(detector.feed(capacity)?))?;
        handle.write(Feed { id: FEEDS.insert(feed)? });
        Ok(())
    })
}

/// Frees a feed as soon as no call uses it. Buffered pairs are not lost.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_feed_free(feed: Feed) -> Status {
    guard(|| FEEDS.remove(feed.id).map(drop))
}

/// Records `count` pairs in the same way as srlg_detector_ingest_ipv4. The call waits if the buffer is full during a
/// close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_feed_ingest_ipv4(
    feed: Feed,
    pairs: *const [u32; 2],
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = ipv4(unsafe { elements(pairs, count, "pairs") }?);
        FEEDS.write(feed.id, |feed| Ok(feed.ingest(pairs)?))
    })
}

/// Records `count` pairs in the same way as srlg_detector_ingest_ipv6. The call waits if the buffer is full during a
/// close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_feed_ingest_ipv6(
    feed: Feed,
    pairs: *const [u8; 32],
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = unsafe { elements(pairs, count, "pairs") }?;
        FEEDS.write(feed.id, |feed| {
            in_blocks(pairs, |block| feed.ingest(block).map(|()| block.len()))?;
            Ok(())
        })
    })
}

/// Records as many of `count` pairs as possible without waiting, and writes their number to `taken`. During a close,
/// pairs are left over if the buffer is full or another thread is ingesting from it. The caller can pass the remaining
/// pairs again or count them as lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_feed_try_ingest_ipv4(
    feed: Feed,
    pairs: *const [u32; 2],
    count: usize,
    taken: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = ipv4(unsafe { elements(pairs, count, "pairs") }?);
        // SAFETY: the contract of this call.
        let taken = unsafe { output(taken, "taken") }?;
        taken.write(FEEDS.write(feed.id, |feed| Ok(feed.try_ingest(pairs)?.0))?);
        Ok(())
    })
}

/// Records pairs of IPv6 addresses in the same way as srlg_feed_try_ingest_ipv4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_feed_try_ingest_ipv6(
    feed: Feed,
    pairs: *const [u8; 32],
    count: usize,
    taken: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = unsafe { elements(pairs, count, "pairs") }?;
        // SAFETY: the contract of this call.
        let taken = unsafe { output(taken, "taken") }?;
        let ingest = |feed: &mut LibraryFeed| {
            Ok(in_blocks(pairs, |block| feed.try_ingest(block).map(|Taken(taken)| taken))?)
        };
        taken.write(FEEDS.write(feed.id, ingest)?);
        Ok(())
    })
}

/// Writes the summary of a report: its slice, the numbers of super points and candidates, and the duration of the
/// close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_report_summary(report: Report, summary: *mut Summary) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(summary, "summary") }?;
        REPORTS.read(report.id, |report| {
            out.write(report);
            Ok(())
        })
    })
}

/// Writes the super point at `index`, which starts at 0. Super points are sorted by cardinality, largest first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_report_super_point(
    report: Report,
    index: u64,
    super_point: *mut SuperPoint,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(super_point, "super_point") }?;
        REPORTS.read(report.id, |report| {
            out.write(super_point_of(report, index)?);
            Ok(())
        })
    })
}

/// Writes the sampled peers of the super point at `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_report_peers(
    report: Report,
    index: u64,
    peers: *mut Peers,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(peers, "peers") }?;
        REPORTS.read(report.id, |report| {
            out.write(&*super_point_of(report, index)?.peers);
            Ok(())
        })
    })
}

fn super_point_of(report: &SliceReport, index: u64) -> Result<&srlg_host::SuperPoint, Failure> {
    let points = &report.super_points;
    let point = usize::try_from(index).ok().and_then(|index| points.get(index));
    point.ok_or_else(|| {
        let text = format!("index: the report has {} super points, got {index}", points.len());
        Failure::new(Status::Argument, text)
    })
}

/// Writes the health of the detector at the close of the report's slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_report_health(report: Report, health: *mut Health) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(health, "health") }?;
        REPORTS.read(report.id, |report| {
            out.write(&report.health);
            Ok(())
        })
    })
}

/// Frees a report as soon as no call uses it.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_report_free(report: Report) -> Status {
    guard(|| REPORTS.remove(report.id).map(drop))
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

#[cfg(test)]
mod tests {
    use srlg_host::{Config as LibraryConfig, Device as LibraryDevice};

    use super::*;

    #[test]
    fn blocks_are_all_pairs_in_their_order() {
        let pairs: Vec<[u8; 32]> = (0..3 * BLOCK as u32 + 1)
            .map(|number| {
                let mut bytes = [0x20; 32];
                bytes[28..].copy_from_slice(&number.to_be_bytes());
                bytes
            })
            .collect();
        let mut got = Vec::new();
        let all = in_blocks(&pairs, |block| {
            got.extend_from_slice(block);
            Ok(block.len())
        });
        assert_eq!(all.unwrap(), pairs.len());
        assert_eq!(got, pairs.iter().map(pair_of).collect::<Vec<_>>());
        // After the first pair that is not accepted, no other pair is offered. The returned number therefore shows
        // which pairs are left.
        let mut calls = 0;
        let taken = in_blocks(&pairs, |block| {
            calls += 1;
            Ok(if calls == 2 { 7 } else { block.len() })
        });
        assert_eq!((taken.unwrap(), calls), (BLOCK + 7, 2));
    }

    #[test]
    fn a_feed_takes_what_its_buffer_holds_while_a_slice_is_closed() {
        const CAPACITY: usize = BLOCK + 44;
        let sizes = LibraryConfig::for_load(100, 5, 100_000, 2_000_000).unwrap();
        let mut detector = SlidingDetector::new(sizes.config, LibraryDevice::Cpu).unwrap();
        let feed = Feed { id: FEEDS.insert(detector.feed(CAPACITY).unwrap()).unwrap() };
        let closing = detector.begin_close().unwrap();
        let (v4, v6) = ([[7; 2]; 1000], [[7; 32]; 1000]);
        let mut taken = [0; 2];
        // SAFETY: each pointer is to an array with that number of elements, or to a number.
        let status =
            unsafe { srlg_feed_try_ingest_ipv4(feed, v4.as_ptr(), 1000, &raw mut taken[0]) };
        assert_eq!(status, Status::Ok);
        // SAFETY: the same.
        let status =
            unsafe { srlg_feed_try_ingest_ipv6(feed, v6.as_ptr(), 1000, &raw mut taken[1]) };
        assert_eq!(status, Status::Ok);
        assert_eq!(taken, [CAPACITY; 2]);
        closing.end().unwrap();
        assert_eq!(srlg_feed_free(feed), Status::Ok);
    }
}

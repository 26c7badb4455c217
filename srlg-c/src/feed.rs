//! The functions of the header for feeds.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "`pointer` documents the contract")]

use srlg_host::ingest::{Arrival, Feed as LibraryFeed, Taken};

use crate::detector::DETECTORS;
use crate::handle::Table;
use crate::pairs::{Pair4, Pair6, in_blocks, ipv4};
use crate::pointer::{elements, output};
use crate::status::{Failure, Status, guard};
use crate::values::{Detector, Feed};

static FEEDS: Table<LibraryFeed> = Table::new(2, "srlg_feed");

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
    pairs: *const Pair4,
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
    pairs: *const Pair6,
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

/// Records `count` pairs in slice number `slice`, in the same way as srlg_feed_ingest_ipv4. The number is absolute: a
/// close during the call does not move the pairs to another slice. If the slice has left the window, the status is
/// SRLG_STATUS_TOO_LATE. If it is not yet running, the status is SRLG_STATUS_FUTURE, and the caller can pass the pairs
/// again later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_feed_ingest_at_ipv4(
    feed: Feed,
    slice: u64,
    pairs: *const Pair4,
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = ipv4(unsafe { elements(pairs, count, "pairs") }?);
        FEEDS.write(feed.id, |feed| check_arrival(feed.ingest_at(slice, pairs)?, slice))
    })
}

/// Records `count` pairs in the same way as srlg_feed_ingest_at_ipv4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_feed_ingest_at_ipv6(
    feed: Feed,
    slice: u64,
    pairs: *const Pair6,
    count: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let pairs = unsafe { elements(pairs, count, "pairs") }?;
        FEEDS.write(feed.id, |feed| {
            in_blocks(pairs, |block| {
                check_arrival(feed.ingest_at(slice, block)?, slice)?;
                Ok(block.len())
            })
            .map(drop)
        })
    })
}

fn check_arrival(arrival: Arrival, slice: u64) -> Result<(), Failure> {
    let cannot =
        |status, why| Err(Failure::new(status, format!("cannot ingest into slice {slice}: {why}")));
    match arrival {
        Arrival::TooLate => cannot(Status::TooLate, "it has left the window; drop the pairs"),
        Arrival::Future => {
            cannot(Status::Future, "it is not yet running; pass the pairs again later")
        }
        _ => Ok(()),
    }
}

/// Records as many of `count` pairs as possible without waiting, and writes their number to `taken`. During a close,
/// pairs are left over if the buffer is full or another thread is ingesting from it. The caller can pass the remaining
/// pairs again or count them as lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_feed_try_ingest_ipv4(
    feed: Feed,
    pairs: *const Pair4,
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
    pairs: *const Pair6,
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

#[cfg(test)]
mod tests {
    use srlg_host::{Config as LibraryConfig, Device as LibraryDevice, SlidingDetector};

    use super::*;
    use crate::pairs::BLOCK;

    #[test]
    fn a_feed_takes_what_its_buffer_holds_while_a_slice_is_closed() {
        const CAPACITY: usize = BLOCK + 44;
        let sizes = LibraryConfig::for_load(100, 5, 100_000, 2_000_000).unwrap();
        let mut detector = SlidingDetector::new(sizes.config, LibraryDevice::Cpu).unwrap();
        let feed = Feed { id: FEEDS.insert(detector.feed(CAPACITY).unwrap()).unwrap() };
        let closing = detector.begin_close().unwrap();
        let (v4, v6) = ([Pair4::default(); 1000], [Pair6::default(); 1000]);
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

//! [`Feed`]: the way in for a thread that receives packets while another closes slices.
//!
//! Closing takes the detector for itself: threads that borrow it wait for a lock of theirs.
//! A feed has a share of the backend instead, in a mutex that nobody else asks for but at the
//! ends of a close: first the [`Owner`] takes all shares back, so that the backend is its own;
//! then it hands them out again. Meanwhile a feed keeps what comes.
//!
//! Invariant: while an owner works alone, no inlet is open, and there is one reference to the
//! backend. Pairs that a feed took before are in it; pairs that come meanwhile are of the slice
//! that runs afterwards.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use srlg_core::{Ages, IpPair};

use crate::backend::Backend;
use crate::error::Error;

/// Ingests pairs from one thread, for as long as the detector is there; see
/// [`SlidingDetector::feed`](crate::SlidingDetector::feed).
pub struct Feed {
    inlet: Arc<Inlet>,
}

/// Pairs that are handed in while an inlet is locked: a close does not wait for long calls.
const PIECE: usize = 1 << 16;

/// What a feed and the owner of its backend share; in cache lines of its own.
#[repr(align(128))]
struct Inlet {
    state: Mutex<State>,
    /// Signalled when the way opens or ends.
    changed: Condvar,
}

struct State {
    way: Way,
    /// Pairs that came while the way was closed, at most `room`.
    kept: Vec<IpPair>,
    room: usize,
    /// Why pairs that were kept could not be ingested.
    failed: Option<Error>,
}

enum Way {
    Open(Arc<dyn Backend>),
    /// A slice is being closed.
    Closed,
    /// There is no detector any more.
    Ended,
}

impl Feed {
    /// Records that each pair was in contact in the running slice, as
    /// [`SlidingDetector::ingest`](crate::SlidingDetector::ingest) does.
    ///
    /// While a slice is being closed, pairs are kept for the next one; when there are more than
    /// the feed has room for, it waits.
    ///
    /// # Errors
    /// [`Error::DetectorDropped`], and what the device reports; the CPU reports none.
    pub fn ingest(&mut self, pairs: &[IpPair]) -> Result<(), Error> {
        pairs.chunks(PIECE).try_for_each(|pairs| self.hand_in(pairs))
    }

    fn hand_in(&self, mut pairs: &[IpPair]) -> Result<(), Error> {
        let mut state = self.inlet.lock();
        loop {
            if let Some(error) = state.failed.take() {
                return Err(error);
            }
            match &state.way {
                Way::Open(backend) => return backend.scan(pairs, Ages::default()),
                Way::Ended => return Err(Error::DetectorDropped),
                Way::Closed => {}
            }
            let room = state.room - state.kept.len();
            let (now, later) = pairs.split_at(room.min(pairs.len()));
            state.kept.extend_from_slice(now);
            if later.is_empty() {
                return Ok(());
            }
            pairs = later;
            let changed = self.inlet.changed.wait(state);
            state = changed.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Inlet {
    /// The state; it is whole whenever the lock is free, whoever panicked.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands in what was kept, and opens the way.
    fn open(&self, backend: &Arc<dyn Backend>) {
        let mut state = self.lock();
        // The feed hears of a failure: it is no failure of the close.
        state.failed = backend.scan(&state.kept, Ages::default()).err();
        state.kept.clear();
        state.way = Way::Open(Arc::clone(backend));
        self.changed.notify_all();
    }

    fn end(&self) {
        self.lock().way = Way::Ended;
        self.changed.notify_all();
    }
}

/// The backend of a detector, and the ways that lead to it.
pub(crate) struct Owner {
    backend: Arc<dyn Backend>,
    inlets: Mutex<Vec<Arc<Inlet>>>,
}

impl Owner {
    pub(crate) fn new(backend: Box<dyn Backend>) -> Self {
        Self { backend: Arc::from(backend), inlets: Mutex::default() }
    }

    /// The backend, for whatever any threads may do at once.
    pub(crate) fn shared(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Another feed, which keeps up to `room` pairs.
    pub(crate) fn feed(&self, room: usize) -> Result<Feed, Error> {
        let mut kept = Vec::new();
        kept.try_reserve_exact(room).map_err(|_| Error::FeedMemory { room })?;
        let way = Way::Open(Arc::clone(&self.backend));
        let state = Mutex::new(State { way, kept, room, failed: None });
        let inlet = Arc::new(Inlet { state, changed: Condvar::new() });
        let mut inlets = self.inlets.lock().unwrap_or_else(PoisonError::into_inner);
        inlets.retain(is_fed);
        inlets.push(Arc::clone(&inlet));
        Ok(Feed { inlet })
    }

    /// Does `work` while nobody else has the backend.
    pub(crate) fn alone<T, E>(
        &mut self,
        work: impl FnOnce(&mut dyn Backend) -> Result<T, E>,
    ) -> Result<T, E> {
        let inlets = self.inlets.get_mut().unwrap_or_else(PoisonError::into_inner);
        inlets.retain(is_fed);
        let closed = Closed(inlets);
        closed.0.iter().for_each(|inlet| inlet.lock().way = Way::Closed);
        let done = work(Arc::get_mut(&mut self.backend).expect("all shares were taken back"));
        closed.0.iter().for_each(|inlet| inlet.open(&self.backend));
        std::mem::forget(closed);
        done
    }
}

/// Whether the feed is still there; one that was dropped has left all that it ingested.
fn is_fed(inlet: &Arc<Inlet>) -> bool {
    Arc::strong_count(inlet) > 1
}

/// Inlets that are to be opened again. Dropped before, by a panic, it ends them: nobody shall wait
/// for ever.
struct Closed<'a>(&'a [Arc<Inlet>]);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|inlet| inlet.end());
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let inlets = self.inlets.get_mut().unwrap_or_else(PoisonError::into_inner);
        inlets.iter().for_each(|inlet| inlet.end());
    }
}

#[cfg(test)]
mod tests {
    use srlg_core::COUNTER;

    use super::*;
    use crate::{Config, Device, SlidingDetector};

    fn detector() -> SlidingDetector {
        let config = Config { threshold: 64, window: 8, ..Config::default() };
        SlidingDetector::new(config, Device::Cpu).unwrap()
    }

    fn pairs(aip: u32, peers: u32) -> Vec<IpPair> {
        (0..peers).map(|bip| IpPair { aip, bip: bip.wrapping_mul(0x9e37_79b9) }).collect()
    }

    #[test]
    fn pairs_of_feeds_are_those_of_the_detector() {
        let (mut fed, mut plain) = (detector(), detector());
        let mut feeds: Vec<Feed> = (0..3).map(|_| fed.feed(10).unwrap()).collect();
        for slice in 0..6 {
            std::thread::scope(|scope| {
                for (number, feed) in (0..).zip(&mut feeds) {
                    let pairs = pairs(number, 300 * (slice + 1));
                    plain.ingest(&pairs).unwrap();
                    scope.spawn(move || pairs.chunks(7).for_each(|p| feed.ingest(p).unwrap()));
                }
            });
            assert_eq!(fed.close_slice().unwrap(), plain.close_slice().unwrap());
            feeds.truncate(3 - slice as usize / 2);
        }
    }

    #[test]
    fn pairs_that_come_during_a_close_are_of_the_next_slice() {
        let (mut fed, mut plain) = (detector(), detector());
        let mut feed = fed.feed(5000).unwrap();
        feed.ingest(&pairs(1, 500)).unwrap();
        plain.ingest(&pairs(1, 500)).unwrap();
        let owner = fed.owner_mut();
        let during = owner.alone(|backend| {
            feed.ingest(&pairs(2, 500))?;
            backend.export(COUNTER)
        });
        assert_eq!(during.unwrap(), plain.owner_mut().shared().export(COUNTER).unwrap());
        plain.ingest(&pairs(2, 500)).unwrap();
        assert_eq!(fed.close_slice().unwrap(), plain.close_slice().unwrap());
    }

    #[test]
    fn feed_without_room_waits_until_the_slice_is_closed() {
        let (mut fed, mut plain) = (detector(), detector());
        let mut feed = fed.feed(100).unwrap();
        let receiver = fed
            .owner_mut()
            .alone(|_| {
                let receiver = std::thread::spawn(move || feed.ingest(&pairs(1, 500)));
                std::thread::sleep(std::time::Duration::from_millis(50));
                assert!(!receiver.is_finished());
                Ok::<_, Error>(receiver)
            })
            .unwrap();
        receiver.join().unwrap().unwrap();
        plain.ingest(&pairs(1, 500)).unwrap();
        assert_eq!(fed.close_slice().unwrap(), plain.close_slice().unwrap());
    }

    // However far time moves, what is fed meanwhile is of the slice that runs in the end.
    #[test]
    fn pairs_that_come_while_time_moves_on_are_of_the_slice_that_runs_then() {
        let mut fed = detector();
        let mut feed = fed.feed(5000).unwrap();
        let on_report = |_| feed.ingest(&pairs(1, 500));
        fed.advance_to(1000, on_report).unwrap();
        let report = fed.close_slice().unwrap();
        assert_eq!((report.slice, report.super_points[0].host.to_bits()), (1000, 1));
    }

    #[test]
    fn feeds_end_when_a_close_panics() {
        let mut fed = detector();
        let mut feed = fed.feed(10).unwrap();
        let work = std::panic::AssertUnwindSafe(|| {
            fed.owner_mut().alone(|_| -> Result<(), Error> { panic!("as a test") })
        });
        assert!(std::panic::catch_unwind(work).is_err());
        assert!(matches!(feed.ingest(&pairs(1, 500)), Err(Error::DetectorDropped)));
    }

    #[test]
    fn feed_of_a_dropped_detector_says_so() {
        let detector = detector();
        let mut feed = detector.feed(0).unwrap();
        drop(detector);
        assert!(matches!(feed.ingest(&pairs(1, 1)), Err(Error::DetectorDropped)));
    }

    #[test]
    fn too_much_room_is_an_error() {
        assert!(matches!(detector().feed(usize::MAX), Err(Error::FeedMemory { .. })));
    }
}

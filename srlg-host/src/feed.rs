//! [`Feed`]: the way in for a thread that receives packets while another closes slices.
//!
//! Closing takes the detector for itself: threads that borrow it wait for a lock of theirs.
//! A feed has a share of the backend instead, in a mutex that nobody else asks for but at the
//! ends of a close: first the [`Owner`] takes all shares back, so that the backend is its own;
//! then it hands them out again. Meanwhile a feed keeps what comes.
//!
//! Invariant: while an owner works alone, no inlet is open, and there is one reference to the
//! backend. Pairs that a feed took before the close are in it; pairs that come during it are of
//! the next slice.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use srlg_core::{Ages, IpPair};

use crate::backend::Backend;
use crate::error::Error;

/// Ingests pairs from one thread, for as long as the detector is there; see
/// [`SlidingDetector::feed`](crate::SlidingDetector::feed).
pub struct Feed {
    inlet: Arc<Inlet>,
}

/// What a feed and the owner of its backend share.
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
    pub fn ingest(&mut self, mut pairs: &[IpPair]) -> Result<(), Error> {
        let mut state = self.inlet.lock();
        loop {
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
            state = self.inlet.changed.wait(state).expect(NO_PANIC);
        }
    }
}

const NO_PANIC: &str = "nobody panics with an inlet";

impl Inlet {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(NO_PANIC)
    }

    /// Hands in what was kept, and opens the way.
    fn open(&self, backend: &Arc<dyn Backend>) -> Result<(), Error> {
        let mut state = self.lock();
        let scanned = backend.scan(&state.kept, Ages::default());
        state.kept.clear();
        state.way = Way::Open(Arc::clone(backend));
        self.changed.notify_all();
        scanned
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
        let state = Mutex::new(State { way, kept, room });
        let inlet = Arc::new(Inlet { state, changed: Condvar::new() });
        self.inlets.lock().expect(NO_PANIC).push(Arc::clone(&inlet));
        Ok(Feed { inlet })
    }

    /// Does `work` while nobody else has the backend.
    pub(crate) fn alone<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Backend) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let inlets = self.inlets.get_mut().expect(NO_PANIC);
        // A feed that was dropped has left all that it ingested.
        inlets.retain(|inlet| Arc::strong_count(inlet) > 1);
        inlets.iter().for_each(|inlet| inlet.lock().way = Way::Closed);
        let backend = Arc::get_mut(&mut self.backend).expect("all shares were taken back");
        let done = work(backend);
        let opened = inlets.iter().map(|inlet| inlet.open(&self.backend));
        // All are opened, whatever happens to one.
        let opened = opened.fold(Ok(()), Result::and);
        done.and_then(|done| opened.map(|()| done))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        for inlet in self.inlets.get_mut().into_iter().flatten() {
            inlet.lock().way = Way::Ended;
            inlet.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
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
            feed.ingest(&pairs(2, 500)).unwrap();
            backend.export()
        });
        assert_eq!(during.unwrap(), plain.owner_mut().shared().export().unwrap());
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
                Ok(receiver)
            })
            .unwrap();
        receiver.join().unwrap().unwrap();
        plain.ingest(&pairs(1, 500)).unwrap();
        assert_eq!(fed.close_slice().unwrap(), plain.close_slice().unwrap());
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

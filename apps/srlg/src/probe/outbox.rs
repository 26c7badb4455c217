//! Between measuring and sending: the spool, and who waits for what.
//!
//! Shape: one side [puts](Outbox::put) slices, the other takes them [from](Outbox::from) some slice
//! on and tells what became of them. Invariant: at most `keep` slices are in the spool, besides the one that
//! is being put. Beyond, measuring waits until the broker has the oldest one; where the input does not
//! wait either, the oldest one is given up, counted and told.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use srlg_input::Position;
use srlg_input::contact::Sampling;
use tokio::sync::{Notify, watch};
use tracing::{info, warn};

use super::spool::{Spool, SpoolEntry, SpoolError};
use crate::network::report::{SiteReport, SpoolState, Watchlist};
use crate::network::{NetworkVersion, VersionId};

/// Between two attempts to write to a disk that is full.
const RETRY: Duration = Duration::from_millis(500);

/// Whoever measures has to stop: the probe ends.
#[derive(Debug, thiserror::Error)]
#[error("the probe was stopped")]
pub(super) struct Interruption;

pub(super) struct Outbox {
    state: Mutex<State>,
    /// Room in the spool, or the end.
    room: Condvar,
    /// Something new for the one who sends.
    news: Notify,
    /// All that is in the spool is to be sent again.
    again: Notify,
    /// Slices that the spool keeps, if that is not the window.
    keep: Option<usize>,
    live: bool,
    /// The hosts that the collector asks about.
    pub(super) watchlist: watch::Sender<Option<Arc<Watchlist>>>,
    /// The reports of the last slice.
    pub(super) reports: watch::Sender<Vec<SiteReport>>,
}

struct State {
    spool: Spool,
    /// The most slices in the spool, besides the one that is being put.
    keep: usize,
    /// The broker has every slice up to this one.
    acked: Option<u64>,
    /// The collector has every slice up to this one on its disk.
    durable: Option<u64>,
    /// Slices that were given up.
    lost: u64,
    ended: bool,
    stopped: bool,
}

impl Outbox {
    /// Makes the outbox of `version` of the network, of `keep` slices or else of the window, for an input that may be `live`.
    pub(super) fn new(
        spool: Spool,
        version: &NetworkVersion,
        keep: Option<usize>,
        live: bool,
    ) -> Self {
        let state = State {
            spool,
            keep: keep.unwrap_or_else(|| window(version)),
            acked: None,
            durable: None,
            lost: 0,
            ended: false,
            stopped: false,
        };
        Self {
            state: Mutex::new(state),
            room: Condvar::new(),
            news: Notify::new(),
            again: Notify::new(),
            keep,
            live,
            watchlist: watch::Sender::new(None),
            reports: watch::Sender::new(Vec::new()),
        }
    }

    /// Starts with `version` of the network, whose slices may have other numbers. Waits as long as the disk is full.
    pub(super) fn begin(&self, version: &NetworkVersion) -> Result<(), Interruption> {
        let id = version.id;
        let what = format_args!("version {id} of the network waits");
        let (mut state, _) = self.write(&what, |spool| spool.begin(id))?;
        (state.acked, state.durable) = (None, None);
        state.keep = self.keep.unwrap_or_else(|| window(version));
        self.send_again();
        Ok(())
    }

    /// The hosts that the collector asks about, if it numbers views by that version of the network.
    pub(super) fn watchlist(&self, version: VersionId) -> Option<Arc<Watchlist>> {
        self.watchlist.borrow().clone().filter(|list| list.version == version)
    }

    /// Tries to `write` until the disk has room, and logs once `what` waits for that; also returns whether it has waited.
    fn write(
        &self,
        what: &fmt::Arguments<'_>,
        write: impl Fn(&mut Spool) -> Result<(), SpoolError>,
    ) -> Result<(MutexGuard<'_, State>, bool), Interruption> {
        let mut state = self.state();
        let mut has_waited = false;
        while let Err(error) = write(&mut state.spool) {
            if !has_waited {
                warn!("{error}; {what} until the spool can be written");
                has_waited = true;
            }
            state = self.room.wait_timeout(state, RETRY).expect(UNPOISONED).0;
            if state.stopped {
                return Err(Interruption);
            }
        }
        Ok((state, has_waited))
    }

    /// Lets all that is in the spool be sent again.
    pub(super) fn send_again(&self) {
        self.again.notify_one();
    }

    /// Waits until all that is in the spool is to be sent again.
    pub(super) async fn is_to_be_sent_again(&self) {
        self.again.notified().await;
    }

    /// The version of the network that its slices are of.
    pub(super) fn version(&self) -> VersionId {
        self.state().spool.version()
    }

    /// Puts a slice into the spool. It waits as long as there is no room, and as long as the disk is full.
    pub(super) fn put(
        &self,
        slice: u64,
        parts: &[Vec<u8>],
        sampling: Sampling,
    ) -> Result<(), Interruption> {
        let what = format_args!("slice {slice} stays in memory");
        let (state, has_waited) = self.write(&what, |spool| spool.put(slice, parts, sampling))?;
        if has_waited {
            info!("the spool can be written again: slice {slice} is in it");
        }
        self.news.notify_one();
        self.make_room(state)
    }

    /// Stores the position of the input before which all contacts are in the slices of the spool, or were in former ones. It waits
    /// as long as the disk is full.
    pub(super) fn put_position(&self, position: &Position) -> Result<(), Interruption> {
        let what = format_args!("the position in {} stays in memory", position.topic);
        self.write(&what, |spool| spool.put_position(position)).map(drop)
    }

    /// The position that was stored last.
    pub(super) fn position(&self) -> Option<Position> {
        self.state().spool.position().cloned()
    }

    fn make_room(&self, mut state: MutexGuard<'_, State>) -> Result<(), Interruption> {
        while state.spool.slices().len() > state.keep && !state.stopped {
            let Some(&oldest) = state.spool.slices().first() else { break };
            if state.acked < Some(oldest) {
                if !self.live {
                    state = self.room.wait(state).expect(UNPOISONED);
                    continue;
                }
                state.lost += 1;
                let (keep, lost) = (state.keep, state.lost);
                warn!(
                    "slice {oldest} is lost, {lost} so far: the broker is away for more than {keep} slices"
                );
            }
            remove(&mut state.spool, oldest);
        }
        if state.stopped { Err(Interruption) } else { Ok(()) }
    }

    /// Up to `most` slices from `first` on.
    pub(super) fn from(&self, first: u64, most: usize) -> Vec<u64> {
        self.state().spool.slices().range(first..).take(most).copied().collect()
    }

    /// What there is of a slice; no part where it is gone or damaged, which is told.
    pub(super) fn read(&self, slice: u64) -> Result<SpoolEntry, SpoolError> {
        match self.state().spool.read(slice) {
            Err(damaged @ SpoolError::Damaged { .. }) => {
                warn!("{damaged}");
                Ok(SpoolEntry::default())
            }
            read => read,
        }
    }

    /// Notes that the broker has every slice up to `slice` of that version of the network.
    pub(super) fn ack(&self, version: VersionId, slice: u64) {
        let mut state = self.state();
        if version != state.spool.version() {
            return;
        }
        state.acked = state.acked.max(Some(slice));
        state.forget();
        self.room.notify_all();
    }

    /// Notes that the collector has every slice up to `slice` of that version of the network on its disk.
    pub(super) fn durable(&self, version: VersionId, slice: u64) {
        let mut state = self.state();
        if version != state.spool.version() {
            return;
        }
        state.durable = state.durable.max(Some(slice));
        state.forget();
        self.room.notify_all();
        self.news.notify_one();
    }

    /// There will be no more slices.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.news.notify_one();
    }

    /// Whoever waits for room waits no more.
    pub(super) fn stop(&self) {
        self.state().stopped = true;
        self.room.notify_all();
    }

    /// Something has changed since the last call.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// Whether all is sent, as far as `next`, and on the collector's disk if that matters.
    pub(super) fn is_done(&self, next: u64, durably: bool) -> bool {
        let state = self.state();
        let mark = state.spool.mark();
        state.ended && mark < Some(next) && (!durably || state.durable >= mark)
    }

    /// The newest slice of that version of the network that was ever put here.
    pub(super) fn mark(&self, version: VersionId) -> Option<u64> {
        let state = self.state();
        state.spool.mark().filter(|_| state.spool.version() == version)
    }

    pub(super) fn len(&self) -> usize {
        self.state().spool.slices().len()
    }

    /// The state of the spool.
    pub(super) fn spool(&self) -> SpoolState {
        let state = self.state();
        let acked = state.acked_len();
        let slices = state.spool.slices().len();
        SpoolState { slices: slices as u64, unsent: (slices - acked) as u64, lost: state.lost }
    }

    /// Slices in the spool that the broker has.
    pub(super) fn acked_len(&self) -> usize {
        self.state().acked_len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }
}

impl State {
    fn acked_len(&self) -> usize {
        self.acked.map_or(0, |acked| self.spool.slices().range(..=acked).count())
    }

    /// Removes what is durable. Not before the broker has it: what it refused of the very first slices
    /// the collector has never heard of, and does not miss.
    fn forget(&mut self) {
        if let Some(slice) = self.durable.min(self.acked) {
            remove(&mut self.spool, slice);
        }
    }
}

/// Slices in the longest window, but at least the one before the running one.
fn window(version: &NetworkVersion) -> usize {
    version.network.window().max(2) as usize
}

const UNPOISONED: &str = "nobody panics while holding the spool";

/// Removes what nobody needs any more; what cannot be removed now is removed with a later slice.
fn remove(spool: &mut Spool, slice: u64) {
    if let Err(error) = spool.remove_up_to(slice) {
        warn!("{error}");
    }
}

#[cfg(test)]
mod tests;

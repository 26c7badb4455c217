//! Outbox of a probe, which connects counting and sending through the spool.
//!
//! The site [puts](Outbox::put) slices into the outbox. The publisher reads them, starting [from](Outbox::from)
//! a given slice, and reports which slices have been acknowledged.
//!
//! Invariant: the spool contains at most `keep` slices, in addition to the slice that is being added. If the spool is
//! full, counting waits until the broker has acknowledged the oldest slice. A live input cannot wait, so the oldest
//! slice is dropped instead, and the loss is logged.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use srlg_input::Position;
use srlg_input::contact::Sampling;
use tokio::sync::{Notify, watch};
use tracing::{info, warn};

use super::spool::{Spool, SpoolEntry, SpoolError};
use crate::network::connect::BACKOFF;
use crate::network::report::{LOSS_MS, SiteReport, SpoolState, Watchlist};
use crate::network::{NetworkVersion, VersionId};
use srlg_alerts::status::overview::ProbeOverview;
use srlg_system::now_ms;
use srlg_web::server::check_url;

/// Maximum time for which a call waits without showing that its thread is alive.
const BEAT: Duration = Duration::from_secs(1);

/// The error of a call that is interrupted because the probe is stopping.
#[derive(Debug, thiserror::Error)]
#[error("the probe was stopped")]
pub(super) struct Interruption;

pub(super) struct Outbox {
    state: Mutex<State>,
    /// Signal that the spool has room, or that the probe is stopping.
    room: Condvar,
    /// Signal that the publisher has new work.
    work: Notify,
    /// Signal that all slices of the spool must be sent again.
    again: Notify,
    /// Configured maximum number of slices in the spool, or `None` to use the length of the longest window.
    keep: Option<usize>,
    live: bool,
    /// Whether the thread that puts slices has shown that it is alive since the last look.
    is_alive: AtomicBool,
    pub(super) watchlist: watch::Sender<Option<Arc<Watchlist>>>,
    /// Reports about the last slice.
    pub(super) reports: watch::Sender<Vec<SiteReport>>,
}

struct State {
    spool: Spool,
    /// Maximum number of slices in the spool, in addition to the slice that is being added.
    keep: usize,
    /// Last slice that the broker has acknowledged, together with all earlier slices.
    acked: Option<u64>,
    /// Last slice that the collector has stored, together with all earlier slices.
    durable: Option<u64>,
    lost: u64,
    /// Time of the last loss, in milliseconds since the Unix epoch.
    lost_ms: Option<u64>,
    /// Error of the spool, while a call waits because of it.
    error: Option<String>,
    ended: bool,
    stopped: bool,
}

impl Outbox {
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
            lost_ms: None,
            error: None,
            ended: false,
            stopped: false,
        };
        Self {
            state: Mutex::new(state),
            room: Condvar::new(),
            work: Notify::new(),
            again: Notify::new(),
            keep,
            live,
            is_alive: AtomicBool::new(true),
            watchlist: watch::Sender::new(None),
            reports: watch::Sender::new(Vec::new()),
        }
    }

    /// Switches to network `version`, whose slices may be numbered differently. Waits while the spool cannot be
    /// written.
    pub(super) fn begin(&self, version: &NetworkVersion) -> Result<(), Interruption> {
        let id = version.id;
        let what = format_args!("network version {id} waits");
        let (mut state, _) = self.write(&what, |spool| spool.begin(id))?;
        (state.acked, state.durable) = (None, None);
        state.keep = self.keep.unwrap_or_else(|| window(version));
        self.send_again();
        Ok(())
    }

    /// Returns the collector's watch list, if it was made for network `version`.
    pub(super) fn watchlist(&self, version: VersionId) -> Option<Arc<Watchlist>> {
        self.watchlist.borrow().clone().filter(|list| list.version == version)
    }

    /// Returns the public URL of the collector's web page, if the collector has sent a valid one.
    fn collector(&self) -> Option<String> {
        self.watchlist.borrow().as_ref()?.page.clone().filter(|page| check_url(page).is_ok())
    }

    /// Repeats `write` until it succeeds, and returns whether a retry was necessary. Only the first error is logged,
    /// together with its effect `what`.
    fn write(
        &self,
        what: &fmt::Arguments<'_>,
        write: impl Fn(&mut Spool) -> Result<(), SpoolError>,
    ) -> Result<(MutexGuard<'_, State>, bool), Interruption> {
        let mut state = self.state();
        let (mut has_waited, mut backoff) = (false, BACKOFF);
        while let Err(error) = write(&mut state.spool) {
            if !has_waited {
                warn!("{error}; {what} until the spool can be written");
                has_waited = true;
            }
            state.error = Some(error.to_string());
            state = self.wait(state, backoff.delay())?;
        }
        state.error = None;
        Ok((state, has_waited))
    }

    /// Waits for `time`.
    pub(super) fn sleep(&self, time: Duration) -> Result<(), Interruption> {
        let end = Instant::now() + time;
        let left =
            || Some(end.saturating_duration_since(Instant::now())).filter(|it| !it.is_zero());
        let mut state = self.state();
        while let Some(left) = left() {
            state = self.wait(state, left)?;
        }
        Ok(())
    }

    /// Notes that the thread that puts slices is alive.
    pub(super) fn live(&self) {
        self.is_alive.store(true, Relaxed);
    }

    /// Returns whether the thread that puts slices has shown that it is alive since the last call. After the last
    /// slice, it need not be.
    pub(super) fn is_alive(&self) -> bool {
        self.is_alive.swap(false, Relaxed) || self.state().ended
    }

    /// Waits for room in the spool, but at most for `time` and [`BEAT`].
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        time: Duration,
    ) -> Result<MutexGuard<'a, State>, Interruption> {
        if state.stopped {
            return Err(Interruption);
        }
        self.live();
        let state = self.room.wait_timeout(state, time.min(BEAT)).expect(UNPOISONED).0;
        if state.stopped { Err(Interruption) } else { Ok(state) }
    }

    pub(super) fn send_again(&self) {
        self.again.notify_one();
    }

    /// Waits until all slices of the spool must be sent again.
    pub(super) async fn is_to_be_sent_again(&self) {
        self.again.notified().await;
    }

    pub(super) fn version(&self) -> VersionId {
        self.state().spool.version()
    }

    /// Puts a slice into the spool. Waits while the spool cannot be written. If the spool is full and the broker has
    /// not acknowledged the oldest slice, a live input loses this slice, and other inputs wait.
    pub(super) fn put(
        &self,
        slice: u64,
        parts: &[Vec<u8>],
        sampling: Sampling,
    ) -> Result<(), Interruption> {
        let what = format_args!("slice {slice} stays in memory");
        let (state, has_waited) = self.write(&what, |spool| spool.put(slice, parts, sampling))?;
        if has_waited {
            info!("the spool can be written again: slice {slice} is stored");
        }
        self.work.notify_one();
        self.make_room(state)
    }

    /// Stores a position of the input. Waits while the spool cannot be written.
    pub(super) fn put_position(&self, position: &Position) -> Result<(), Interruption> {
        let what = format_args!("the position in topic {} stays in memory", position.topic);
        self.write(&what, |spool| spool.put_position(position)).map(drop)
    }

    pub(super) fn position(&self) -> Option<Position> {
        self.state().spool.position().cloned()
    }

    fn make_room(&self, mut state: MutexGuard<'_, State>) -> Result<(), Interruption> {
        while state.spool.slices().len() > state.keep {
            let Some(&oldest) = state.spool.slices().first() else { break };
            if state.acked < Some(oldest) {
                if !self.live {
                    state = self.wait(state, BEAT)?;
                    continue;
                }
                state.lost += 1;
                state.lost_ms = Some(now_ms());
                let (keep, lost) = (state.keep, state.lost);
                warn!(
                    "lost slice {oldest} ({lost} so far): the spool is full with {keep} slices, and the broker has not acknowledged this slice"
                );
            }
            remove(&mut state.spool, oldest);
        }
        if state.stopped { Err(Interruption) } else { Ok(()) }
    }

    /// Returns the numbers of up to `most` slices in the spool, starting at `first`.
    pub(super) fn from(&self, first: u64, most: usize) -> Vec<u64> {
        self.state().spool.slices().range(first..).take(most).copied().collect()
    }

    /// Returns the content of a slice. If the slice was removed or is damaged, the content has no parts. Damage is
    /// logged.
    pub(super) fn read(&self, slice: u64) -> Result<SpoolEntry, SpoolError> {
        match self.state().spool.read(slice) {
            Err(damaged @ SpoolError::Damaged { .. }) => {
                warn!("{damaged}");
                Ok(SpoolEntry::default())
            }
            read => read,
        }
    }

    /// Notes that the broker has acknowledged every slice of network `version` up to `slice`.
    pub(super) fn ack(&self, version: VersionId, slice: u64) {
        let mut state = self.state();
        if version != state.spool.version() {
            return;
        }
        state.acked = state.acked.max(Some(slice));
        state.forget();
        self.room.notify_all();
    }

    /// Notes that the collector has stored every slice of network `version` up to `slice`.
    pub(super) fn durable(&self, version: VersionId, slice: u64) {
        let mut state = self.state();
        if version != state.spool.version() {
            return;
        }
        state.durable = state.durable.max(Some(slice));
        state.forget();
        self.room.notify_all();
        self.work.notify_one();
    }

    /// Notes that there will be no more slices.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.work.notify_one();
    }

    /// Interrupts all calls that wait for room or until the spool can be written.
    pub(super) fn stop(&self) {
        self.state().stopped = true;
        self.room.notify_all();
    }

    /// Waits until the publisher has new work.
    pub(super) async fn new_work(&self) {
        self.work.notified().await;
    }

    /// Returns whether the input has ended and all its slices come before `next`. If `durably` is set, the collector
    /// must also have stored all slices.
    pub(super) fn is_done(&self, next: u64, durably: bool) -> bool {
        let state = self.state();
        let mark = state.spool.mark();
        state.ended && mark < Some(next) && (!durably || state.durable >= mark)
    }

    /// Returns the newest slice in the spool, if the spool belongs to network `version`.
    pub(super) fn mark(&self, version: VersionId) -> Option<u64> {
        let state = self.state();
        state.spool.mark().filter(|_| state.spool.version() == version)
    }

    /// Returns the overview of the probe, to which everything but the state of the outbox is added.
    pub(super) fn overview(&self) -> ProbeOverview {
        let collector = self.collector();
        let state = self.state();
        let is_recent = |ms| now_ms().saturating_sub(ms) < LOSS_MS;
        ProbeOverview {
            collector,
            version: Some(state.spool.version().to_string()),
            newest: state.spool.mark(),
            durable: state.durable,
            spool: state.overview().into(),
            spool_error: state.error.clone(),
            is_losing: state.lost_ms.is_some_and(is_recent),
            ..ProbeOverview::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.state().spool.slices().len()
    }

    pub(super) fn spool(&self) -> SpoolState {
        self.state().overview()
    }

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

    fn overview(&self) -> SpoolState {
        let slices = self.spool.slices().len();
        let unsent = slices - self.acked_len();
        SpoolState { slices: slices as u64, unsent: unsent as u64, lost: self.lost }
    }

    /// Removes slices that are both acknowledged and durable. Durability alone is not enough: if the broker refuses the
    /// first slices, the collector does not notice the gap and reports later slices as durable.
    fn forget(&mut self) {
        if let Some(slice) = self.durable.min(self.acked) {
            remove(&mut self.spool, slice);
        }
    }
}

/// Returns the length of the longest window, in slices, but at least 2 to include the slice before the running one.
fn window(version: &NetworkVersion) -> usize {
    version.network.window().max(2) as usize
}

const UNPOISONED: &str = "no thread panics while it holds the lock of the spool";

/// Removes all slices up to `slice`, except the newest slice of the spool. If a file cannot be removed, the error is
/// logged and a later call tries again.
fn remove(spool: &mut Spool, slice: u64) {
    if let Err(error) = spool.remove_up_to(slice) {
        warn!("{error}");
    }
}

#[cfg(test)]
mod tests;

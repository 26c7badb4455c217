//! Between a sink's thread and everybody else: more notices, an end, and how the sink fares.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::show::board::SinkBoard;

/// The state that both sides share.
#[derive(Clone, Debug, Default)]
pub(super) struct Wake(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    is_woken: bool,
    until: Option<Instant>,
    board: SinkBoard,
}

impl Wake {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake(&self) {
        self.lock().is_woken = true;
        self.0.1.notify_all();
    }

    /// The thread ends when nothing waits, at the latest at `until`.
    pub(super) fn stop(&self, until: Instant) {
        self.lock().until = Some(until);
        self.0.1.notify_all();
    }

    /// Waits for [`wake`](Self::wake) or [`stop`](Self::stop), at most for `most`.
    pub(super) fn wait(&self, most: Duration) {
        let is_calm = |state: &mut State| !state.is_woken && state.until.is_none();
        let wait = self.0.1.wait_timeout_while(self.lock(), most, is_calm);
        wait.unwrap_or_else(PoisonError::into_inner).0.is_woken = false;
    }

    /// Waits for [`stop`](Self::stop), at most for `most`.
    pub(super) fn pause(&self, most: Duration) {
        let state = self.lock();
        let most = state
            .until
            .map_or(most, |until| most.min(until.saturating_duration_since(Instant::now())));
        let had_end = state.until.is_some();
        let wait =
            self.0.1.wait_timeout_while(state, most, |state| state.until.is_some() == had_end);
        drop(wait);
    }

    /// When to end, if anybody has said so.
    pub(super) fn until(&self) -> Option<Instant> {
        self.lock().until
    }

    pub(super) fn board(&self) -> SinkBoard {
        self.lock().board.clone()
    }

    pub(super) fn set_board(&self, board: SinkBoard) {
        self.lock().board = board;
    }
}

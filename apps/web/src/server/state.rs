//! The state that all requests share.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use tokio::sync::{Semaphore, watch};

use super::orders::Orders;
use crate::health::Status;
use srlg_alerts::status::board::Board;
use srlg_notify::store::Store;

/// A receiver of the latest board.
pub type Boards = watch::Receiver<Arc<Board>>;

/// Maximum number of alerts on the web page. `/api/v1/alerts` returns all alerts.
pub(super) const ALERTS: usize = 200;

/// Maximum number of pages that receive boards.
pub(super) const PAGES: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct WebState {
    pub(super) boards: Boards,
    pub(super) store: Store,
    /// Permits for pages that receive boards.
    pub(super) places: Arc<Semaphore>,
    pub(super) orders: Orders,
    /// The last board that was serialised, and its event.
    last: Arc<Mutex<Option<BoardEvent>>>,
}

/// A board, and the server-sent event that contains it.
type BoardEvent = (Arc<Board>, Bytes);

impl WebState {
    pub(super) fn new(boards: Boards, store: Store, orders: Orders) -> Self {
        let places = Arc::new(Semaphore::new(PAGES));
        Self { boards, store, places, orders, last: Arc::default() }
    }

    pub(super) fn board(&self) -> Arc<Board> {
        Arc::clone(&self.boards.borrow())
    }

    /// Returns the server-sent event that contains `board`, with at most [`ALERTS`] alerts.
    pub(super) fn event(&self, board: Arc<Board>) -> serde_json::Result<Bytes> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, event)) = last.as_ref().filter(|(sent, _)| Arc::ptr_eq(sent, &board)) {
            return Ok(event.clone());
        }
        let mut event = b"data: ".to_vec();
        serde_json::to_writer(&mut event, &Status::of(&board.with_alerts(ALERTS)))?;
        event.extend_from_slice(b"\n\n");
        let event = Bytes::from(event);
        *last = Some((board, event.clone()));
        Ok(event)
    }
}

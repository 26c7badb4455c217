//! State that all requests share.
//!
//! Invariant: the text of a board as an event is made once, however many pages are open.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::show::board::{Board, Boards};

/// Pages that are told of every board.
pub(super) const PAGES: usize = 64;

/// The state of the server that every handler of requests gets.
#[derive(Clone, Debug)]
pub(super) struct WebState {
    pub(super) boards: Boards,
    /// Places for pages that are told of every board.
    pub(super) places: Arc<Semaphore>,
    /// What was sent last.
    last: Arc<Mutex<Option<BoardEvent>>>,
}

/// A board, and its event.
type BoardEvent = (Arc<Board>, Bytes);

impl WebState {
    pub(super) fn new(boards: Boards) -> Self {
        Self { boards, places: Arc::new(Semaphore::new(PAGES)), last: Arc::default() }
    }

    pub(super) fn board(&self) -> Arc<Board> {
        Arc::clone(&self.boards.borrow())
    }

    /// Returns `board` as an event.
    pub(super) fn event(&self, board: Arc<Board>) -> serde_json::Result<Bytes> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, event)) = last.as_ref().filter(|(sent, _)| Arc::ptr_eq(sent, &board)) {
            return Ok(event.clone());
        }
        let mut event = b"data: ".to_vec();
        serde_json::to_writer(&mut event, &*board)?;
        event.extend_from_slice(b"\n\n");
        let event = Bytes::from(event);
        *last = Some((board, event.clone()));
        Ok(event)
    }
}

/// Refuses with `status`, and says why.
pub(super) fn error(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}

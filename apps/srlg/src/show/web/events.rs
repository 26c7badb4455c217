//! Every board as an event, for pages.
//!
//! Shape: a stream per page over the latest board; text is made once for all of them. Invariant: a page that reads slowly
//! misses boards, and holds up nobody.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::shared::{PAGES, WebState, error};

/// After so much silence a comment is sent, by which both sides see whether the other is there.
const SILENCE: Duration = Duration::from_secs(15);

/// What one page has.
struct Page {
    shared: WebState,
    _place: OwnedSemaphorePermit,
}

impl Page {
    /// The board, when it has changed, or a comment; nothing more when the program ends.
    async fn next(&mut self) -> Option<serde_json::Result<Bytes>> {
        match timeout(SILENCE, self.shared.boards.changed()).await {
            Err(_elapsed) => Some(Ok(Bytes::from_static(b":\n\n"))),
            Ok(Err(_ended)) => None,
            Ok(Ok(())) => {
                let board = Arc::clone(&self.shared.boards.borrow_and_update());
                Some(self.shared.event(board))
            }
        }
    }
}

/// Tells of the board, now and whenever it changes.
pub(super) async fn events(State(mut shared): State<WebState>) -> Response {
    let Ok(place) = Arc::clone(&shared.places).try_acquire_owned() else {
        let text = format!("{PAGES} pages are open, which is the most: close one");
        return error(StatusCode::SERVICE_UNAVAILABLE, &text);
    };
    shared.boards.mark_changed();
    let page = Page { shared, _place: place };
    let events =
        stream::unfold(page, async |mut page| page.next().await.map(|event| (event, page)));
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

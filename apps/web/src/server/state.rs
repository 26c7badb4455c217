//! The state that all requests share.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use tokio::sync::{Semaphore, watch};

use super::orders::Orders;
use crate::health::Status;
use srlg_alerts::status::overview::Overview;
use srlg_notify::store::Store;

/// A receiver of the latest overview.
pub type Overviews = watch::Receiver<Arc<Overview>>;

/// Maximum number of alerts on the web page. `/api/v1/alerts` returns all alerts.
pub(super) const ALERTS: usize = 200;

/// Maximum number of pages that receive overviews.
pub(super) const PAGES: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct WebState {
    pub(super) overviews: Overviews,
    pub(super) store: Store,
    /// Permits for pages that receive overviews.
    pub(super) places: Arc<Semaphore>,
    pub(super) orders: Orders,
    /// The last overview that was serialised, and its event.
    last: Arc<Mutex<Option<OverviewEvent>>>,
}

/// An overview, and the server-sent event that contains it.
type OverviewEvent = (Arc<Overview>, Bytes);

impl WebState {
    pub(super) fn new(overviews: Overviews, store: Store, orders: Orders) -> Self {
        let places = Arc::new(Semaphore::new(PAGES));
        Self { overviews, store, places, orders, last: Arc::default() }
    }

    pub(super) fn overview(&self) -> Arc<Overview> {
        Arc::clone(&self.overviews.borrow())
    }

    /// Returns the server-sent event that contains `overview`, with at most [`ALERTS`] alerts.
    pub(super) fn event(&self, overview: Arc<Overview>) -> serde_json::Result<Bytes> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, event)) = last.as_ref().filter(|(sent, _)| Arc::ptr_eq(sent, &overview)) {
            return Ok(event.clone());
        }
        let mut event = b"data: ".to_vec();
        serde_json::to_writer(&mut event, &Status::of(&overview, &overview.limited(ALERTS)))?;
        event.extend_from_slice(b"\n\n");
        let event = Bytes::from(event);
        *last = Some((overview, event.clone()));
        Ok(event)
    }
}

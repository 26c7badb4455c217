//! The publisher of overviews.
//!
//! The main loop publishes a complete [`Overview`] through a [`Publisher`], up to four times per second. Readers get
//! the latest overview. The loop and the readers never wait for each other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::sync::watch::{self, Sender};
use tracing::{info, warn};

use crate::problems::InputProblems;
use crate::recorder::Recorder;
use crate::server::orders::WaitingOrder;
use crate::server::{Visitors, Web};
use srlg_alerts::Tracker;
use srlg_alerts::digest::Digest;
use srlg_alerts::status::overview::Overview;
use srlg_alerts::status::recent::RecentRates;
use srlg_notify::store::Store;
use srlg_system::now_ms;
use srlg_system::pacing::{Every, OnChange};

/// Minimum time between two published overviews.
const OVERVIEW: Duration = Duration::from_millis(250);

/// A publisher of overviews.
pub struct Publisher {
    overviews: Sender<Arc<Overview>>,
    web: Option<Web>,
    recorder: Recorder,
    recent: RecentRates,
    publish: Every,
    lost: OnChange,
    full: OnChange,
    problems: InputProblems,
}

impl Publisher {
    /// Creates a publisher and, if there is an `address`, starts the web server for `visitors`. Values per minute are
    /// stored for the time `keep`.
    pub fn open(
        address: Option<SocketAddr>,
        visitors: Visitors,
        keep: Duration,
        store: &Store,
    ) -> Result<Self> {
        let (overviews, latest) = watch::channel(Arc::default());
        let web =
            address.map(|address| Web::start(address, visitors, latest, store)).transpose()?;
        if let Some(web) = &web {
            info!("the page is at http://{}/", web.address());
        }
        let (lost, full) = (OnChange::default(), OnChange::default());
        let problems = InputProblems::default();
        let recorder = Recorder::start(store.clone(), keep)?;
        let (recent, publish) = (RecentRates::default(), Every::new(OVERVIEW));
        Ok(Self { overviews, web, recorder, recent, publish, lost, full, problems })
    }

    pub(crate) fn next_order(&self) -> Option<WaitingOrder> {
        self.web.as_ref()?.next_order()
    }

    /// Publishes the overview that `make` returns, if an overview is due.
    pub fn publish(&mut self, make: impl FnOnce() -> Overview) {
        if self.publish.is_due() {
            let mut overview = make();
            overview.closed_ms = self.closed_ms(&overview);
            let alerts = overview.alerts.iter().map(|alert| &*alert.notification);
            overview.shared = Digest::new(alerts).shared();
            overview.exporter_count = overview.exporters.len();
            overview.can_act = self.web.as_ref().is_some_and(Web::can_be_acted_at);
            self.problems.update_overview(&mut overview, Instant::now());
            self.log_changes(&overview);
            self.recent.add(overview.counters(), overview.slice_ms);
            overview.recent = self.recent.clone();
            self.recorder.record(&overview);
            self.overviews.send_replace(Arc::new(overview));
        }
    }

    /// Returns the time at which the last slice of `overview` closed. It may be much later than the end of the slice.
    fn closed_ms(&self, overview: &Overview) -> u64 {
        let last = self.overviews.borrow();
        if overview.now_ms == last.now_ms { last.closed_ms } else { now_ms() }
    }

    /// Logs when input is missing or returns, and when hosts have no alert because of the alert limit.
    fn log_changes(&mut self, overview: &Overview) {
        match self.lost.change_to(overview.is_input_lost) {
            Some(true) if overview.probe.is_some() => {
                warn!("no data: the slices are empty until data arrives");
            }
            Some(true) => warn!("no data: alerts neither start nor end until data arrives"),
            Some(false) => info!("data arrives again"),
            None => {}
        }
        let left_out: usize = overview.views.iter().map(|view| view.left_out).sum();
        match self.full.change_to(left_out > 0) {
            Some(true) => warn!(
                "alert limit reached: {left_out} hosts over threshold not alerted, limit {} per view; raise the thresholds",
                Tracker::MOST_HOSTS
            ),
            Some(false) => {
                info!("alert limit no longer reached: all hosts over threshold have an alert");
            }
            None => {}
        }
    }
}

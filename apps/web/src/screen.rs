//! The publisher of boards.
//!
//! The main loop publishes a complete [`Board`] through a [`Screen`], up to four times per second. Readers get the
//! latest board. The loop and the readers never wait for each other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::sync::watch::{self, Sender};
use tracing::{info, warn};

use crate::problems::Problems;
use crate::recorder::Recorder;
use crate::server::orders::WaitingOrder;
use crate::server::{Visitors, Web};
use srlg_alerts::Tracker;
use srlg_alerts::status::board::Board;
use srlg_notify::store::Store;
use srlg_system::now_ms;
use srlg_system::pacing::{Every, OnChange};

/// Minimum time between two published boards.
const BOARD: Duration = Duration::from_millis(250);

/// A publisher of boards.
pub struct Screen {
    boards: Sender<Arc<Board>>,
    web: Option<Web>,
    recorder: Recorder,
    publish: Every,
    lost: OnChange,
    full: OnChange,
    problems: Problems,
}

impl Screen {
    /// Creates a screen and, if there is an `address`, starts the web server for `visitors`. Values per minute are
    /// stored for the time `keep`.
    pub fn open(
        address: Option<SocketAddr>,
        visitors: Visitors,
        keep: Duration,
        store: &Store,
    ) -> Result<Self> {
        let (boards, latest) = watch::channel(Arc::default());
        let web =
            address.map(|address| Web::start(address, visitors, latest, store)).transpose()?;
        if let Some(web) = &web {
            info!("the page is at http://{}/", web.address());
        }
        let (lost, full) = (OnChange::default(), OnChange::default());
        let problems = Problems::default();
        let recorder = Recorder::start(store.clone(), keep)?;
        let publish = Every::new(BOARD);
        Ok(Self { boards, web, recorder, publish, lost, full, problems })
    }

    pub(crate) fn next_order(&self) -> Option<WaitingOrder> {
        self.web.as_ref()?.next_order()
    }

    /// Publishes the board that `make` returns, if a board is due.
    pub fn show(&mut self, make: impl FnOnce() -> Board) {
        if self.publish.is_due() {
            let mut board = make();
            board.closed_ms = self.closed_ms(&board);
            board.can_act = self.web.as_ref().is_some_and(Web::can_be_acted_at);
            self.problems.show(&mut board, Instant::now());
            self.log_changes(&board);
            self.recorder.take(&board);
            self.boards.send_replace(Arc::new(board));
        }
    }

    /// Returns the time at which the last slice of `board` closed. It may be much later than the end of the slice.
    fn closed_ms(&self, board: &Board) -> u64 {
        let last = self.boards.borrow();
        if board.now_ms == last.now_ms { last.closed_ms } else { now_ms() }
    }

    /// Logs when input is missing or returns, and when hosts have no alert because of the alert limit.
    fn log_changes(&mut self, board: &Board) {
        match self.lost.change_to(board.is_input_lost) {
            Some(true) => warn!("no data: alerts neither start nor end until data arrives"),
            Some(false) => info!("data arrives again"),
            None => {}
        }
        let left_out: usize = board.views.iter().map(|view| view.left_out).sum();
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

//! The page with the latest board, and what the log tells of it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::watch::Sender;
use tracing::{info, warn};

use crate::alerts::{Every, OnChange, Tracker};
use crate::config::General;
use crate::show::board::Board;
use crate::show::web::Web;

/// The shortest time between two boards.
const BOARD: Duration = Duration::from_millis(250);

/// A publisher of boards.
pub(crate) struct Screen {
    boards: Sender<Arc<Board>>,
    /// Serves until it is dropped.
    _web: Option<Web>,
    publish: Every,
    lost: OnChange,
    full: OnChange,
}

impl Screen {
    /// Serves boards where `general` says.
    pub(crate) fn open(general: &General) -> Result<Self> {
        let (boards, latest) = tokio::sync::watch::channel(Arc::default());
        let web = general.http.map(|address| Web::start(address, general.http_public, latest));
        let web = web.transpose()?;
        if let Some(web) = &web {
            info!("the page is at http://{}/", web.address());
        }
        let (lost, full) = (OnChange::default(), OnChange::default());
        Ok(Self { boards, _web: web, publish: Every::new(BOARD), lost, full })
    }

    /// Shows the board that `make` makes, when one is due.
    pub(crate) fn show(&mut self, make: impl FnOnce() -> Board) {
        if self.publish.is_due() {
            let board = make();
            self.log_changes(&board);
            self.boards.send_replace(Arc::new(board));
        }
    }

    /// Logs when the input is lost and comes back, and when hosts are left without an alert.
    fn log_changes(&mut self, board: &Board) {
        match self.lost.change_to(board.is_input_lost) {
            Some(true) => warn!("the input is lost: until something comes no alert starts or ends"),
            Some(false) => info!("the input has come back"),
            None => {}
        }
        let left_out: usize = board.views.iter().map(|view| view.left_out).sum();
        match self.full.change_to(left_out > 0) {
            Some(true) => warn!(
                "{left_out} hosts at their threshold have no alert, as {} others of a view have one: give higher thresholds",
                Tracker::MOST_HOSTS
            ),
            Some(false) => info!("all hosts at their threshold have an alert again"),
            None => {}
        }
    }
}

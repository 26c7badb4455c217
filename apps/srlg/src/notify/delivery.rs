//! The way of notices: into the database, and from there to the sinks.
//!
//! While the disk of the database is full, notices of one site wait in memory, and sinks get them from there.

use std::time::Duration;

use anyhow::{Result, ensure};
use tracing::{info, warn};

use crate::alerts::desk::Desk;
use crate::alerts::{Every, OnChange};
use crate::notify::ledger::Ledger;
use crate::notify::notice::Notice;
use crate::notify::sinks::{SinkOptions, Sinks};
use crate::show::board::SinkBoard;

/// The most notices that wait while the database takes none.
const MOST_WAITING: usize = 100_000;

/// How long sinks have at the end.
const LAST: Duration = Duration::from_secs(5);

/// How often old notices are forgotten.
const FORGET: Duration = Duration::from_secs(60);

/// The database and the sinks.
pub(crate) struct Delivery {
    ledger: Ledger,
    sinks: Sinks,
    failing: OnChange,
    forget: Every,
}

impl Delivery {
    /// Starts the sinks of `options`, which go on where they were.
    pub(crate) fn start(ledger: Ledger, options: &[SinkOptions]) -> Result<Self> {
        let sinks = Sinks::start(options, ledger.store())?;
        let failing = OnChange::default();
        Ok(Self { ledger, sinks, failing, forget: Every::from_now(FORGET) })
    }

    /// Tells `notices`, when the database has them, with the alerts of `desk` at the same moment.
    pub(crate) fn tell(&mut self, desk: &Desk, notices: &[Notice]) -> Result<()> {
        for notice in notices {
            info!("{} {} {}: {}", notice.status, notice.severity, notice.id, notice.text);
        }
        if notices.is_empty() && self.waiting() == 0 {
            return Ok(());
        }
        let kept = self.ledger.keep(desk, notices);
        self.sinks.wake();
        match kept {
            Ok(()) => {
                if self.failing.change_to(false).is_some() {
                    info!("the database takes notices again");
                }
                Ok(())
            }
            Err(error) if self.ledger.is_strict() || self.waiting() > MOST_WAITING => Err(error),
            Err(error) => {
                if self.failing.change_to(true).is_some() {
                    warn!("the database takes no notices, which are sent from memory: {error:#}");
                }
                Ok(())
            }
        }
    }

    /// Returns how many notices the database has not taken.
    pub(crate) fn waiting(&self) -> usize {
        self.ledger.store().waiting_len()
    }

    /// Brings the alerts of `desk` into the database, with all notices that wait.
    pub(crate) fn save(&mut self, desk: &Desk) -> Result<()> {
        self.ledger.keep(desk, &[])?;
        self.sinks.wake();
        Ok(())
    }

    /// Does what is due now and then: forgets notices from before `before_ms`, and keeps the largest counts.
    pub(crate) fn look_around(&mut self, desk: &Desk, before_ms: u64) {
        if self.forget.is_due()
            && let Err(error) = self.ledger.store().forget(before_ms)
        {
            warn!("old notices are not forgotten: {error:#}");
        }
        self.ledger.keep_maxima(desk, false);
    }

    /// Returns how the sinks fare.
    pub(crate) fn boards(&self) -> Vec<SinkBoard> {
        self.sinks.boards()
    }

    /// Ends the sinks, and loses nothing.
    pub(crate) fn finish(mut self, desk: &Desk) -> Result<()> {
        self.tell(desk, &[])?;
        let kept = self.ledger.keep(desk, &[]);
        let left = self.waiting();
        self.ledger.keep_maxima(desk, true);
        self.sinks.finish(LAST);
        kept?;
        ensure!(left == 0, "{left} notices are lost, as the database took none");
        Ok(())
    }
}

//! Reporter of a probe, which receives the collector's watch list and sends reports about watched hosts, the input and
//! the spool.
//!
//! Watch lists and reports are core NATS messages, so a lost message is not sent again. No part of the program waits
//! for a report. Each report replaces the previous one.

use std::sync::Arc;

use anyhow::{Context, Result};
use async_nats::Subscriber;
use futures_util::StreamExt;
use tokio::sync::watch;
use tracing::warn;

use super::outbox::Outbox;
use crate::network::connect::Link;
use crate::network::report::SiteReport;
use crate::network::subjects::{self, WATCHLIST};
use srlg_system::pacing::LastError;

pub(super) struct Reporter {
    link: Link,
    subject: String,
    outbox: Arc<Outbox>,
    watchlists: Subscriber,
    reports: watch::Receiver<Vec<SiteReport>>,
    /// Last error from receiving a watch list.
    list_error: LastError,
    /// Last error from sending a report.
    last_error: LastError,
}

impl Reporter {
    /// Creates the reporter of `probe` and subscribes to watch lists.
    pub(super) async fn new(link: Link, probe: &str, outbox: Arc<Outbox>) -> Result<Self> {
        let watchlists = link.client.subscribe(WATCHLIST).await;
        let watchlists = watchlists.context("cannot subscribe to the collector's watch list")?;
        let (subject, reports) = (subjects::report(probe), outbox.reports.subscribe());
        let (list_error, last_error) = (LastError::default(), LastError::default());
        Ok(Self { link, subject, outbox, watchlists, reports, list_error, last_error })
    }

    /// Receives watch lists and sends reports until the connection is closed permanently.
    pub(super) async fn run(mut self) -> Result<()> {
        loop {
            tokio::select! {
                message = self.watchlists.next() => {
                    let message = message.context("the connection to the broker was closed permanently")?;
                    match serde_json::from_slice(&message.payload) {
                        Ok(watchlist) => {
                            self.list_error.end();
                            self.outbox.watchlist.send_replace(Some(Arc::new(watchlist)));
                        }
                        Err(error) => {
                            if let Some(error) = self.list_error.change_to(&error.into()) {
                                warn!("cannot read the collector's watch list: {error}");
                            }
                        }
                    }
                }
                // The outbox keeps the sender, so this channel never closes.
                _ = self.reports.changed() => match self.report().await {
                    Ok(()) => drop(self.last_error.end()),
                    Err(error) => {
                        if let Some(error) = self.last_error.change_to(&error) {
                            warn!("cannot send a report to the collector: {error}");
                        }
                    }
                }
            }
        }
    }

    async fn report(&mut self) -> Result<()> {
        let reports = self.reports.borrow_and_update().clone();
        // While the broker is unreachable, reports would only accumulate.
        if !self.link.state.borrow().up {
            return Ok(());
        }
        for report in reports {
            let payload = serde_json::to_vec(&report)?;
            self.link.client.publish(self.subject.clone(), payload.into()).await?;
        }
        Ok(())
    }
}

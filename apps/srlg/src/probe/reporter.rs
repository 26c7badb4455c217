//! [`Reporter`]: hears which hosts the collector asks about, and sends reports of these and of the spool.
//!
//! Both are core NATS and are never sent again: nothing waits for a report, and the next one replaces it.

use std::sync::Arc;

use anyhow::{Context, Result};
use async_nats::Subscriber;
use futures_util::StreamExt;
use tokio::sync::watch;
use tracing::warn;

use super::outbox::Outbox;
use crate::alerts::Trouble;
use crate::network::connect::Link;
use crate::network::report::SiteReport;
use crate::network::subjects::{self, WATCHLIST};

/// The reports of a probe.
pub(super) struct Reporter {
    link: Link,
    subject: String,
    outbox: Arc<Outbox>,
    watchlists: Subscriber,
    reports: watch::Receiver<Vec<SiteReport>>,
    /// The last errors of watch lists and of reports, which are logged once each.
    list_trouble: Trouble,
    trouble: Trouble,
}

impl Reporter {
    /// Makes the reporter of `probe`, which hears the collector from now on.
    pub(super) async fn new(link: Link, probe: &str, outbox: Arc<Outbox>) -> Result<Self> {
        let watchlists = link.client.subscribe(WATCHLIST).await;
        let watchlists = watchlists.context("cannot hear the collector's watch list")?;
        let (subject, reports) = (subjects::report(probe), outbox.reports.subscribe());
        let (list_trouble, trouble) = (Trouble::default(), Trouble::default());
        Ok(Self { link, subject, outbox, watchlists, reports, list_trouble, trouble })
    }

    /// Hears and reports for ever.
    pub(super) async fn run(mut self) -> Result<()> {
        loop {
            tokio::select! {
                message = self.watchlists.next() => {
                    let message = message.context("the connection to the broker is gone for good")?;
                    match serde_json::from_slice(&message.payload) {
                        Ok(watchlist) => {
                            self.list_trouble.end();
                            self.outbox.watchlist.send_replace(Some(Arc::new(watchlist)));
                        }
                        Err(error) => {
                            if let Some(error) = self.list_trouble.change_to(&error.into()) {
                                warn!("ignoring the collector's watch list: {error}");
                            }
                        }
                    }
                }
                // The outbox has its sender.
                _ = self.reports.changed() => match self.report().await {
                    Ok(()) => drop(self.trouble.end()),
                    Err(error) => {
                        if let Some(error) = self.trouble.change_to(&error) {
                            warn!("cannot send a report to the collector: {error}");
                        }
                    }
                }
            }
        }
    }

    async fn report(&mut self) -> Result<()> {
        let reports = self.reports.borrow_and_update().clone();
        // To a broker that is away, reports would only wait.
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

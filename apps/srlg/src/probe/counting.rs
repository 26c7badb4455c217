//! The loop of a probe over its input, in a thread of its own.
//!
//! Invariant: the same files always produce the same slices. Therefore a restarted probe can read its files again and
//! continue after the newest slice in its spool.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use srlg_input::{Contact, Input, InputOptions};
use tokio::sync::watch;
use tracing::{info, warn};

use super::operator::Counted;
use super::outbox::Outbox;
use super::site::ProbeSite;
use crate::console::log_input;
use crate::measure::drive::{EventConsumer, drive};
use crate::measure::pipeline::VIEW_BYTES;
use crate::service;
use srlg_alerts::exporters::ExporterNames;
use srlg_alerts::witnesses::LOOK;
use srlg_system::pacing::Every;

/// Time between two overviews.
const SHOW: Duration = Duration::from_millis(250);

/// A site, and what connects it to the other parts of the probe.
pub(super) struct Counting {
    site: ProbeSite,
    outbox: Arc<Outbox>,
    counted: watch::Sender<Counted>,
    names: watch::Receiver<ExporterNames>,
    /// Timer for the status of the input.
    look: Every,
    show: Every,
}

impl Counting {
    pub(super) fn new(
        site: ProbeSite,
        outbox: Arc<Outbox>,
        counted: watch::Sender<Counted>,
        names: watch::Receiver<ExporterNames>,
    ) -> Self {
        let (look, show) = (Every::new(LOOK), Every::new(SHOW));
        Self { site, outbox, counted, names, look, show }
    }

    /// Passes the whole input to the site, starting at the position in the spool if there is one.
    pub(super) fn run(mut self, source: &InputOptions) -> Result<()> {
        let (position, site) = (self.outbox.position(), &mut self.site);
        let mut input = Input::resume_with(source, position, &mut || Ok(site.pipeline()?))?;
        if source.is_live() {
            let memory = VIEW_BYTES as f64 / 1e6;
            info!("each reader thread uses up to {memory:.1} MB per view");
        }
        self.show(&input);
        let views = self.site.site.views.len();
        service::ready(&format!("{views} views"));
        drive(&mut input, &mut self)?;
        let totals = self.site.finish()?;
        self.show(&input);
        log_input(&input.status(), &self.names.borrow());
        info!("{totals}");
        Ok(())
    }

    fn show(&mut self, input: &Input) {
        let overview = self.site.overview(&input.status());
        let sent_bytes = self.site.site.consumer.totals.bytes;
        self.counted.send_replace(Counted { overview, sent_bytes });
    }
}

impl EventConsumer for Counting {
    fn ingest(&mut self, contacts: &[Contact]) -> Result<()> {
        self.site.ingest(contacts)
    }

    fn advance(&mut self, now_ns: u64, input: &Input) -> Result<()> {
        if self.look.is_due() {
            self.site.observe_input(&input.status(), now_ns);
        }
        if let Some(position) = input.position() {
            self.site.site.record_position(position);
        }
        self.site.advance(now_ns)
    }

    fn set_forward(&mut self, step: Duration, now_ns: u64) -> Result<()> {
        let seconds = step.as_secs();
        warn!("the system clock was set forward by {seconds} s: the skipped slices are not sent");
        self.site.set_forward(step, now_ns)
    }

    fn after_event(&mut self, input: &Input) -> Result<()> {
        self.outbox.live();
        if self.names.has_changed().unwrap_or(false) {
            let names = self.names.borrow_and_update().clone();
            self.site.site.exporters.set_names(names);
        }
        if self.show.is_due() {
            self.show(input);
        }
        Ok(())
    }
}

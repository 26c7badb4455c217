//! The loop of a probe, which passes its input to a [`ProbeSite`] and its state to a [`Console`].
//!
//! Invariant: the same files always produce the same slices. Therefore a restarted probe can read its files again and
//! continue after the newest slice in its spool.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use srlg_input::{Contact, Input, InputOptions, Status as InputStatus};
use tokio::sync::watch;
use tracing::{info, warn};

use super::outbox::Outbox;
use super::site::ProbeSite;
use crate::console::Console;
use crate::measure::alerting::LOST_MS;
use crate::measure::drive::{EventConsumer, drive};
use crate::measure::pipeline::VIEW_BYTES;
use crate::network::connect::LinkState;
use srlg_alerts::manager::AlertManager;
use srlg_alerts::status::overview::{Overview, ProbeOverview};
use srlg_system::now_ms;
use srlg_system::pacing::Every;

/// The loop of a probe.
pub(super) struct Counting {
    pub(super) site: ProbeSite,
    pub(super) console: Console,
    /// Manager without views, because a probe raises no alerts.
    pub(super) manager: AlertManager,
    /// Name of the probe and address of its broker.
    pub(super) probe: ProbeOverview,
    pub(super) outbox: Arc<Outbox>,
    pub(super) link: watch::Receiver<LinkState>,
    pub(super) input: InputStatus,
    /// Timer for the status of the input.
    pub(super) look: Every,
}

impl Counting {
    /// Passes the whole input to the site, starting at the position in the spool if there is one.
    pub(super) fn run(mut self, source: &InputOptions) -> Result<()> {
        let position = self.outbox.position();
        let site = &mut self.site;
        let mut input = Input::resume_with(source, position, &mut || Ok(site.pipeline()?))?;
        if source.is_live() {
            let memory = VIEW_BYTES as f64 / 1e6;
            info!("each reader thread uses up to {memory:.1} MB per view");
        }
        let Overview { views, memory_bytes, .. } = self.site.overview(&self.input);
        let (views, memory) = (views.len(), memory_bytes as f64 / 1e6);
        self.console.service.ready(&format!("{views} views, {memory:.1} MB"));
        drive(&mut input, &mut self)?;
        let totals = self.site.finish()?;
        self.console.log_input(&input.status());
        info!("{totals}");
        Ok(())
    }

    fn publish(&mut self, input: &Input) {
        let Self { site, console, probe, outbox, link, .. } = self;
        let started_ms = console.started_ms;
        console.publish(|| {
            let overview = site.overview(&input.status());
            let quiet_ms = now_ms().saturating_sub(site.newest_ms().max(started_ms));
            let (newest, durable) = outbox.progress();
            Overview {
                is_input_lost: overview.is_live && quiet_ms >= LOST_MS + overview.slice_ms,
                probe: Some(ProbeOverview {
                    is_connected: link.borrow().up,
                    collector: outbox.collector(),
                    version: outbox.version().to_string(),
                    newest,
                    durable,
                    sent_bytes: site.sent_bytes(),
                    spool: outbox.spool().into(),
                    ..probe.clone()
                }),
                ..overview
            }
        });
    }
}

impl EventConsumer for Counting {
    fn ingest(&mut self, contacts: &[Contact]) -> Result<()> {
        self.site.ingest(contacts)
    }

    fn advance(&mut self, now_ns: u64, input: &Input) -> Result<()> {
        if self.look.is_due() {
            self.input = input.status();
            self.site.observe_input(&self.input, now_ns);
        }
        if let Some(position) = input.position() {
            self.site.record_position(position);
        }
        self.site.advance(now_ns)
    }

    fn set_forward(&mut self, step: Duration, now_ns: u64) -> Result<()> {
        let seconds = step.as_secs();
        warn!("the system clock was set forward by {seconds} s: the skipped slices are not sent");
        self.site.set_forward(step, now_ns)
    }

    fn after_event(&mut self, input: &Input) -> Result<()> {
        let Self { site, console, manager, .. } = self;
        let name = |config: &crate::config::Config| site.set_names(config.names.exporters.clone());
        console.reload_if_requested(|_| Ok(()), name);
        console.maintain(manager, now_ms());
        self.publish(input);
        Ok(())
    }
}

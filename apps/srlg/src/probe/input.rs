//! Input of a probe: files, flow exports, an interface, a Kafka topic, or a NATS stream or subject.
//!
//! [`Args::read`] passes the whole input to a [`Site`]. Invariant: the same files always produce the same slices.
//! Therefore a restarted probe can read the input again and continue after the newest slice in its spool.

use std::time::Duration;

use anyhow::Result;
use clap::ArgGroup;
use srlg_input::{Contact, Input, InputOptions, Position};
use tracing::{info, warn};

use super::InputSummary;
use super::site::Site;
use crate::measure::drive::{EventConsumer, drive};
use crate::measure::pipeline::VIEW_BYTES;
use srlg_alerts::witnesses::LOOK;
use srlg_system::pacing::Every;

/// Input options of a probe.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group(ArgGroup::new("source").required(true).args(["input", "listen", "interface", "url"])))]
pub struct Args {
    /// Source of contacts.
    #[command(flatten)]
    pub source: InputOptions,
}

impl Args {
    /// Passes the input to the site, starting at `position` if it is given.
    pub(super) fn read(&self, position: Option<Position>, mut site: Site) -> Result<InputSummary> {
        let mut input = Input::resume_with(&self.source, position, &mut || Ok(site.pipeline()?))?;
        if self.source.is_live() {
            let memory = VIEW_BYTES as f64 / 1e6;
            info!("each reader thread uses up to {memory:.1} MB per view");
        }
        let mut reading = Reading { site, look: Every::new(LOOK) };
        drive(&mut input, &mut reading)?;
        Ok(InputSummary { totals: reading.site.finish()?, status: input.status() })
    }
}

/// A site, and the timer for the status of its input.
struct Reading {
    site: Site,
    look: Every,
}

impl EventConsumer for Reading {
    fn ingest(&mut self, contacts: &[Contact]) -> Result<()> {
        contacts.iter().try_for_each(|contact| self.site.ingest(contact))
    }

    fn advance(&mut self, now_ns: u64, input: &Input) -> Result<()> {
        if self.look.is_due() {
            self.site.observe_input(&input.status(), now_ns);
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
}

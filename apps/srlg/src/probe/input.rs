//! Input of a probe: files, flow exports, an interface, a Kafka topic, or a NATS stream or subject.
//!
//! [`Args::read`] passes the whole input to a [`ProbeSite`]. Invariant: the same files always produce the same slices.
//! Therefore a restarted probe can read the input again and continue after the newest slice in its spool.

use anyhow::Result;
use clap::ArgGroup;
use srlg_input::{Input, InputOptions, Position};
use tracing::info;

use super::InputSummary;
use super::site::ProbeSite;
use crate::measure::drive::drive;
use crate::measure::pipeline::VIEW_BYTES;

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
    pub(super) fn read(
        &self,
        position: Option<Position>,
        mut site: ProbeSite,
    ) -> Result<InputSummary> {
        let mut input = Input::resume_with(&self.source, position, &mut || Ok(site.pipeline()?))?;
        if self.source.is_live() {
            let memory = VIEW_BYTES as f64 / 1e6;
            info!("each reader thread uses up to {memory:.1} MB per view");
        }
        drive(&mut input, &mut site)?;
        Ok(InputSummary { totals: site.finish()?, status: input.status() })
    }
}

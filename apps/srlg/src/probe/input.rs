//! Input of a probe: files, flow exports, an interface, a Kafka topic, a NATS stream or subject, or generated traffic.
//!
//! [`Args::read`] passes the whole input to a [`Site`]. Invariant: the same files always produce the same slices.
//! Generated traffic always produces the same slices if its options are the same and include `--first-slice`. Therefore
//! a restarted probe can read the input again and continue after the newest slice in its spool.

use std::time::SystemTime;

use anyhow::Result;
use clap::ArgGroup;
use srlg_input::{Contact, Event, Input, InputOptions, LogLevel, LogLine, Position, Status};
use tracing::{info, warn};

use super::InputSummary;
use super::site::Site;
use super::traffic::Traffic;
use crate::measure::tap::VIEW_BYTES;
use srlg_alerts::witnesses::LOOK;
use srlg_system::pacing::Every;

/// Input options of a probe.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group(ArgGroup::new("source").required(true).args(["input", "listen", "interface", "kafka", "nats", "generate"])))]
pub struct Args {
    /// Source of contacts.
    #[command(flatten)]
    pub source: InputOptions,

    /// Generated traffic.
    #[command(flatten)]
    pub generated: Traffic,
}

impl Args {
    /// Passes the input to the site, starting at `position` if it is given. Generated slices have a length of
    /// `slice_ms` milliseconds.
    pub(super) fn read(
        &self,
        slice_ms: u64,
        position: Option<Position>,
        mut site: Site,
    ) -> Result<InputSummary> {
        if self.generated.generate.is_some() {
            return self.generate(slice_ms, site);
        }
        let mut input = Input::resume_with(&self.source, position, &mut || Ok(site.tap()?))?;
        if self.source.is_live() {
            let memory = VIEW_BYTES as f64 / 1e6;
            info!("each reader thread uses up to {memory:.1} MB per view");
        }
        let mut look = Every::new(LOOK);
        while let Some(event) = input.next_event()? {
            match event {
                Event::Contacts(contacts) => {
                    contacts.iter().try_for_each(|contact| site.take(contact))?;
                }
                Event::SetForward { step, now_ns } => {
                    let seconds = step.as_secs();
                    warn!(
                        "the system clock was set forward by {seconds} s: the skipped slices are not sent"
                    );
                    site.set_forward(step, now_ns)?;
                }
                Event::Time(now_ns) => {
                    if look.is_due() {
                        site.look_at(&input.status(), now_ns);
                    }
                    if let Some(position) = input.position() {
                        site.note_position(position);
                    }
                    site.pass(now_ns)?;
                }
                Event::Log(LogLine { level: LogLevel::Warning, text }) => warn!("{text}"),
                Event::Log(LogLine { level: LogLevel::Info, text }) => info!("{text}"),
                _ => {}
            }
        }
        Ok(InputSummary { totals: site.finish()?, status: input.status() })
    }

    fn generate(&self, slice_ms: u64, mut site: Site) -> Result<InputSummary> {
        let length = slice_ms * 1_000_000;
        let family = self.generated.family;
        let first = self.generated.first_slice.unwrap_or(now()? / length);
        for (slice, pairs) in (first..).zip(self.generated.slices()) {
            let start = slice.saturating_mul(length);
            // A slice without pairs must also be sent.
            site.pass(start)?;
            for (inside, opposite) in pairs.into_iter().map(|pair| family.hosts(pair)) {
                site.take(&Contact::new(start, opposite.into(), inside.into()))?;
            }
        }
        Ok(InputSummary { totals: site.finish()?, status: Status::default() })
    }
}

/// Returns the system time, in nanoseconds since the Unix epoch.
fn now() -> Result<u64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_nanos())?)
}

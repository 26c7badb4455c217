//! Where contacts come from: files, exports of flows, an interface, or generated traffic.
//!
//! Shape: [`Args::read`] drives a [`Measurement`] through the whole input. Invariant: equal files, or
//! equal options of generated traffic, give equal slices, so that a probe that is started again
//! on them goes on where it was.

use std::time::SystemTime;

use anyhow::Result;
use clap::ArgGroup;
use srlg_input::{Contact, Event, Input, InputOptions, LogLevel, LogLine, Status};
use tracing::{info, warn};

use super::InputSummary;
use super::measure::Measurement;
use super::traffic::Traffic;
use crate::network::Network;

/// Options of the input of a probe.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group(ArgGroup::new("source").required(true).args(["input", "listen", "interface", "generate"])))]
pub struct Args {
    /// Where contacts come from.
    #[command(flatten)]
    pub source: InputOptions,

    /// Generated traffic.
    #[command(flatten)]
    pub generated: Traffic,
}

impl Args {
    /// Takes the measurement through the whole input.
    pub(super) fn read(
        &self,
        network: &Network,
        mut measurement: Measurement,
    ) -> Result<InputSummary> {
        if self.generated.generate.is_some() {
            return self.generate(network, measurement);
        }
        let mut input = Input::open(&self.source)?;
        while let Some(event) = input.next_event()? {
            match event {
                Event::Contact(contact) => measurement.take(&contact)?,
                Event::Time(now_ns) => measurement.pass(now_ns)?,
                Event::Log(LogLine { level: LogLevel::Warning, text }) => warn!("{text}"),
                Event::Log(LogLine { level: LogLevel::Info, text }) => info!("{text}"),
                _ => {}
            }
        }
        Ok(InputSummary { totals: measurement.finish()?, status: input.status() })
    }

    fn generate(&self, network: &Network, mut measurement: Measurement) -> Result<InputSummary> {
        let length = network.slice_ms * 1_000_000;
        let family = self.generated.family;
        let first = self.generated.first_slice.unwrap_or(now()? / length);
        for (slice, pairs) in (first..).zip(self.generated.slices()) {
            let start = slice.saturating_mul(length);
            // A slice without any pair is a slice as well.
            measurement.pass(start)?;
            for (inside, opposite) in pairs.into_iter().map(|pair| family.hosts(pair)) {
                measurement.take(&Contact::new(start, opposite, inside))?;
            }
        }
        Ok(InputSummary { totals: measurement.finish()?, status: Status::default() })
    }
}

/// This machine's clock, nanoseconds since the Unix epoch.
fn now() -> Result<u64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_nanos())?)
}

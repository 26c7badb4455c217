//! Where contacts come from: files, exports of flows, an interface, or generated traffic.
//!
//! Shape: [`Args::read`] drives a [`Measurement`] through the whole input. Invariant: equal files, or
//! equal options of generated traffic, give equal slices, so that a probe that is started again
//! on them goes on where it was.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::ArgGroup;
use srlg_input::{Event, Input, InputOptions, LogLevel, LogLine, Status, View, ViewOptions};
use tracing::{info, warn};

use super::InputSummary;
use super::measure::{Lateness, Measurement};
use super::traffic::Traffic;
use crate::network::Network;

/// Slices that a packet may be late.
const LATE_PACKETS: u32 = 10;

/// Options of the input of a probe.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group(ArgGroup::new("source").required(true).args(["input", "listen", "interface", "generate"])))]
pub struct Args {
    /// Where contacts come from.
    #[command(flatten)]
    pub source: InputOptions,

    /// What is measured.
    #[command(flatten)]
    pub view: ViewOptions,

    /// How long after its end a slice of live input waits for contacts on their way
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = humantime::parse_duration)]
    pub grace: Duration,

    /// Slices that a contact may be late and still count in its own [default: 10 of packets, those of the window of flows]
    #[arg(long, value_name = "SLICES")]
    pub late: Option<u32>,

    /// Generated traffic.
    #[command(flatten)]
    pub generated: Traffic,
}

impl Args {
    /// When contacts may come, in a window of `window` slices.
    pub(super) fn lateness(&self, window: u32) -> Lateness {
        // Flows are exported when they have ended, or after minutes.
        let late = if self.source.is_exports() { window - 1 } else { LATE_PACKETS };
        let grace = if self.source.is_live() { self.grace } else { Duration::ZERO };
        Lateness { late: self.late.unwrap_or(late), grace }
    }

    /// Takes the measurement through the whole input.
    pub(super) fn read(
        &self,
        network: &Network,
        mut measurement: Measurement,
    ) -> Result<InputSummary> {
        if self.generated.generate.is_some() {
            return self.generate(network, measurement);
        }
        let view = View::new(&self.view)?;
        let mut input = Input::open(&self.source)?;
        while let Some(event) = input.next_event()? {
            match event {
                Event::Contact(contact) => {
                    measurement.take_contact(&contact, view.pairs(&contact))?;
                }
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
            measurement.take(start, pairs.into_iter().map(|pair| family.hosts(pair)))?;
        }
        Ok(InputSummary { totals: measurement.finish()?, status: Status::default() })
    }
}

/// This machine's clock, nanoseconds since the Unix epoch.
fn now() -> Result<u64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_nanos())?)
}

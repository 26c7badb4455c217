//! [`AlertOptions`]: when the collector alerts, and where to.

use std::path::PathBuf;
use std::time::Duration;

use crate::alerts::Terms;
use anyhow::{Context, Result, ensure};
use tracing::warn;

use super::{Follower, FollowerState};
use crate::collect::lines::Lines;
use crate::network::Network;

/// What a threshold is by default, as a multiple of θ. The count at which such an alert ends, 0.8 of its threshold, is above
/// θ, and so still reported.
const TIMES: f64 = 1.5;

/// Options of the alerts of a collector.
#[derive(Clone, Debug, clap::Args)]
pub struct AlertOptions {
    /// A line of JSON per start, update and end of an alert goes to this file, or to standard output
    #[arg(long, value_name = "FILE")]
    pub alerts: Option<PathBuf>,

    /// Opposite hosts that start an alert, in three of the last five slices [default: 1.5 times the network's θ]
    #[arg(long, value_name = "N", requires = "alerts")]
    pub alert_threshold: Option<u32>,

    /// Time below 0.8 of the threshold after which an alert ends
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "alerts", value_parser = humantime::parse_duration)]
    pub hold: Duration,

    /// Time after which an alert that goes on is told again
    #[arg(long, value_name = "TIME", default_value = "5m", requires = "alerts", value_parser = humantime::parse_duration)]
    pub repeat: Duration,
}

impl AlertOptions {
    /// Returns the terms for all hosts of `network`.
    pub(in crate::collect) fn terms(&self, network: &Network) -> Result<Terms> {
        let reported = network.config.threshold;
        let threshold = self.alert_threshold.map_or_else(|| f64::from(reported) * TIMES, f64::from);
        ensure!(
            threshold >= f64::from(reported),
            "--alert-threshold is {threshold}: hosts with fewer than {reported} opposite hosts, θ of network.json, are not \
             reported; give at least {reported}"
        );
        let terms = Terms {
            threshold,
            hold_ms: milliseconds("--hold", self.hold)?,
            repeat_ms: milliseconds("--repeat", self.repeat)?,
            ..Terms::default()
        };
        Ok(terms.checked()?)
    }

    /// Opens the file of alerts of `network`, if there is to be one, and goes on from what was `kept`.
    /// The file of reports is rejected.
    pub(in crate::collect) fn follower(
        &self,
        network: &Network,
        reports: &Lines,
        kept: Option<&FollowerState>,
    ) -> Result<Option<Follower>> {
        let Some(path) = &self.alerts else {
            if let Some(open) = kept.map(FollowerState::active).filter(|open| *open > 0) {
                warn!(
                    "{open} alerts go on, and are forgotten without --alerts: no end will be told"
                );
            }
            return Ok(None);
        };
        let terms = self.terms(network)?;
        let ends = terms.down * terms.threshold;
        let reported = network.config.threshold;
        if ends < f64::from(reported) {
            warn!(
                "alerts end below {ends:.0} opposite hosts, and fewer than {reported} are not reported: a host near {reported} \
                 may end and start again; give at least {} as --alert-threshold",
                (f64::from(reported) / terms.down).ceil()
            );
        }
        let lines = Lines::open("alert", path, kept.and_then(|kept| kept.file.as_ref()))?;
        ensure!(
            !lines.are_with(reports),
            "--alerts and --reports are both {}: give each a file of its own",
            path.display()
        );
        Ok(Some(Follower::new(terms, network.config.window, lines, kept)))
    }
}

fn milliseconds(option: &str, time: Duration) -> Result<u64> {
    u64::try_from(time.as_millis()).with_context(|| format!("{option} is {time:?}: give less"))
}

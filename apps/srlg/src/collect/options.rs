//! Options of the collector, and limits that follow from its configuration.

use std::path::PathBuf;
use std::time::Duration;

use super::rule::Limits;
use super::stream::Retention;
use crate::network::options::NetworkOptions;
use crate::network::{Network, NetworkVersion, VersionId};

/// Options of `srlg collect`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Configuration file with a `[network]` table
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// File to which one JSON line per view and slice is appended, or - for standard output; after a kill, the last
    /// lines are repeated
    #[arg(long, value_name = "FILE|-")]
    pub reports: Option<PathBuf>,

    /// Stop after this slice has closed
    #[arg(long, value_name = "SLICE")]
    pub until_slice: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Time between two checkpoints.
    checkpoint: Duration,
    pub(super) options: NetworkOptions,
    pub(super) version: VersionId,
    pub(super) network: Network,
}

impl Plan {
    pub(super) fn new(
        checkpoint: Duration,
        options: NetworkOptions,
        version: NetworkVersion,
    ) -> Self {
        let NetworkVersion { id: version, network, .. } = version;
        Self { checkpoint, options, version, network }
    }

    /// Returns the number of slices between two checkpoints.
    pub(super) fn every(&self) -> u64 {
        NetworkOptions::slices_of_checkpoint(self.checkpoint, self.network.slice())
    }

    pub(super) fn limits(&self) -> Limits {
        let window = u64::from(self.network.window());
        let NetworkOptions { deadline, max_skew, pending_mb, .. } = self.options;
        Limits {
            deadline,
            // A probe sends at least one message per slice.
            quiet: deadline + self.network.slice() * 2,
            max_skew: max_skew.unwrap_or((2 * window).max(3600)),
            max_pending: pending_mb << 20,
            window,
        }
    }

    /// Returns the maximum distance of a probe's report from the closing slice, in slices.
    pub(super) fn oldest_report(&self) -> u64 {
        let slices = self.options.deadline.as_millis() / self.network.slice().as_millis();
        u64::try_from(slices).unwrap_or(u64::MAX).saturating_add(2)
    }

    pub(super) fn retention(&self) -> Retention {
        let slice = self.network.slice();
        let least_age = self.options.least_age(self.checkpoint, slice);
        let window = slice * self.network.window();
        let age = (window * 2 + slice * 200).max(Duration::from_secs(86_400));
        let age = self.options.stream_age.unwrap_or(age.max(least_age));
        Retention { age, bytes: i64::from(self.options.stream_mb) << 20, least_age }
    }
}

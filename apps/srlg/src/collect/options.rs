//! [`Args`]: what the collector is told, and the limits that follow from its configuration.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::rule::Limits;
use super::stream::Retention;
use crate::config::Config;
use crate::network::Network;
use crate::network::connect::Access;
use crate::network::options::NetworkOptions;

/// Options of `srlg collect`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// File of the configuration, with the table `network`
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// A line of JSON per view and slice is added to this file, or to standard output where it is -; after a kill the last
    /// ones come again
    #[arg(long, value_name = "FILE|-")]
    pub reports: Option<PathBuf>,

    /// End after this slice has closed
    #[arg(long, value_name = "SLICE")]
    pub until_slice: Option<u64>,
}

/// A configuration, and the network that it is of.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) config: Config,
    pub(super) options: NetworkOptions,
    pub(super) network: Network,
}

impl Args {
    /// Reads the configuration, and the network in its folder.
    pub(super) fn plan(&self) -> Result<Plan> {
        let config = Config::read(&self.config)?;
        let Some(options) = config.network.clone() else {
            bail!(
                "{} has an input and no network: `srlg run` takes it, and a collector one with [network]",
                self.config.display()
            );
        };
        let network = Network::read(&options.folder)?;
        network.check_is_of(&config, &options)?;
        let plan = Plan { config, options, network };
        plan.check()?;
        Ok(plan)
    }
}

impl Plan {
    /// Refuses what cannot work.
    fn check(&self) -> Result<()> {
        let least = self.least_age();
        if let Some(age) = self.options.stream_age {
            ensure!(age >= least, "stream-age is {age:?}: give at least {least:?}");
        }
        Ok(())
    }

    pub(super) fn access(&self) -> Access {
        Access { folder: self.options.folder.clone(), broker: self.options.broker.clone() }
    }

    /// The folder of the state.
    pub(super) fn state(&self) -> Result<&PathBuf> {
        let state = self.config.general.state.as_ref();
        state.context("the configuration has no state, without which a collector would lose slices: give a folder")
    }

    /// Slices between two checkpoints.
    pub(super) fn every(&self) -> u64 {
        let slices = self.config.general.checkpoint.as_millis() / self.network.slice().as_millis();
        u64::try_from(slices).unwrap_or(u64::MAX).max(1)
    }

    pub(super) fn limits(&self) -> Limits {
        let window = u64::from(self.network.window());
        let NetworkOptions { deadline, max_skew, pending_mb, .. } = self.options;
        Limits {
            deadline,
            // Probes speak once per slice.
            quiet: deadline + self.network.slice() * 2,
            max_skew: max_skew.unwrap_or((2 * window).max(3600)),
            max_pending: pending_mb << 20,
            window,
        }
    }

    pub(super) fn retention(&self) -> Retention {
        let (slice, least_age) = (self.network.slice(), self.least_age());
        let window = slice * self.network.window();
        let age = (window * 2 + slice * 200).max(Duration::from_secs(86_400));
        let age = self.options.stream_age.unwrap_or(age.max(least_age));
        Retention { age, bytes: i64::from(self.options.stream_mb) << 20, least_age }
    }

    /// From the last checkpoint but one on: probes may have forgotten what the last one has.
    fn least_age(&self) -> Duration {
        let slices = u32::try_from(self.every().saturating_mul(2)).unwrap_or(u32::MAX);
        self.network.slice().saturating_mul(slices.saturating_add(2)) + self.options.deadline
    }
}

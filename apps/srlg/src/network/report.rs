//! The hosts that a collector asks about, and the reports of the probes: about these hosts, and about their spool.
//!
//! Both are JSON. A report of many hosts is sent as several, each of which fits into a message.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::VersionId;
use crate::alerts::details::HostDetails;
use crate::alerts::top::at_most;
use crate::alerts::witnesses::TableState;
use crate::show::board::SpoolBoard;

/// The most hosts of one report. With at most 7 kB each they fit into a message.
pub(crate) const HOSTS_PER_REPORT: usize = 64;

/// The most hosts of a watch list, of all views together.
pub(crate) const MOST_HOSTS: usize = 4096;

/// The most windows in which peers are counted.
pub(crate) const WINDOWS: usize = 32;

/// The hosts that a collector asks about: those that are about to have an alert, or have one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Watchlist {
    /// The version of the network that numbers the views.
    pub(crate) version: VersionId,
    /// The hosts of each view.
    pub(crate) views: Vec<WatchedView>,
}

/// The hosts of a view that a collector asks about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WatchedView {
    /// The windows in which peers are counted, in slices.
    pub(crate) windows: Vec<u32>,
    /// The hosts.
    pub(crate) hosts: BTreeSet<IpAddr>,
}

/// A report of a probe after a slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SiteReport {
    /// The version of the network that numbers slices and views.
    pub(crate) version: VersionId,
    /// The slice that has ended.
    pub(crate) slice: u64,
    /// The spool of the probe.
    pub(crate) spool: SpoolState,
    /// The exporters of the site, in the first report after a slice.
    pub(crate) exporters: Option<TableState>,
    /// Hosts of the watch list, at most [`HOSTS_PER_REPORT`].
    #[serde(deserialize_with = "at_most::<HOSTS_PER_REPORT, _, _>")]
    pub(crate) hosts: Vec<HostReport>,
}

/// The spool of a probe, in slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpoolState {
    /// All slices in the spool.
    pub(crate) slices: u64,
    /// Those of them that the broker has not acknowledged yet.
    pub(crate) unsent: u64,
    /// Slices that were given up because the spool was full.
    pub(crate) lost: u64,
}

impl From<SpoolState> for SpoolBoard {
    fn from(SpoolState { slices, unsent, lost }: SpoolState) -> Self {
        Self { slices, unsent, lost }
    }
}

/// A host, as one site saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostReport {
    /// Number of the view.
    pub(crate) view: u8,
    /// The host.
    pub(crate) host: IpAddr,
    /// Its peers within each window, by the length of the window in slices.
    #[serde(deserialize_with = "at_most::<WINDOWS, _, _>")]
    pub(crate) counts: Vec<(u32, f64)>,
    /// Its ports, prefixes, exporters and a sample of its peers.
    pub(crate) details: HostDetails,
}

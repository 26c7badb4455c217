//! Watch lists and reports. The collector sends watch lists, and each probe sends reports about the watched hosts, its
//! exporters and its spool.
//!
//! Watch lists and reports are JSON. A report about many hosts is split into several reports, each of which fits into
//! one message.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::VersionId;
use crate::measure::completeness::LOST_MS;
use srlg_alerts::details::HostDetails;
use srlg_alerts::status::overview::{DatagramCounts, SpoolOverview};
use srlg_alerts::top::at_most;
use srlg_alerts::witnesses::TableState;

/// Maximum number of hosts in a report. The data of a host takes at most 11 kB, so a report fits into one message.
pub(crate) const HOSTS_PER_REPORT: usize = 64;

/// Maximum number of hosts in a watch list, over all views.
pub(crate) const MOST_HOSTS: usize = 4096;

/// Time for which a lost slice is a problem, in milliseconds.
pub(crate) const LOSS_MS: u64 = 300_000;

/// Maximum number of windows in which the peers of a host are counted.
pub(crate) const WINDOWS: usize = 32;

/// Watch list of the collector: hosts that have an alert or may soon have one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Watchlist {
    /// Network version to which the view numbers belong.
    pub(crate) version: VersionId,
    pub(crate) views: Vec<WatchedView>,
    /// Public URL of the collector's web page, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WatchedView {
    /// Lengths of the windows in which peers are counted, in slices.
    pub(crate) windows: Vec<u32>,
    pub(crate) hosts: BTreeSet<IpAddr>,
}

/// A report that a probe sends after a slice has closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SiteReport {
    /// Network version to which the slice and view numbers belong.
    pub(crate) version: VersionId,
    pub(crate) slice: u64,
    pub(crate) spool: SpoolState,
    pub(crate) input: InputState,
    /// Exporters of the site; present only in the first report about a slice.
    pub(crate) exporters: Option<TableState>,
    /// Up to [`HOSTS_PER_REPORT`] hosts of the watch list.
    #[serde(deserialize_with = "at_most::<HOSTS_PER_REPORT, _, _>")]
    pub(crate) hosts: Vec<HostReport>,
}

/// State of a probe's input when a slice closes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputState {
    pub(crate) datagrams: DatagramCounts,
    /// Time of the newest contact, in milliseconds since the Unix epoch.
    pub(crate) newest_ms: u64,
    /// Whether no contact has arrived for a minute.
    pub(crate) is_lost: bool,
    /// End of the last slice in which the input was lost or had not begun, in milliseconds since the Unix epoch.
    pub(crate) seen_from_ms: u64,
}

impl InputState {
    /// Returns whether the input was lost in `slice`. The report may be about a later slice.
    pub(crate) const fn is_lost_in(self, slice: u64, slice_ms: u64) -> bool {
        let end_ms = slice.saturating_add(1).saturating_mul(slice_ms);
        self.is_lost && end_ms.saturating_sub(self.newest_ms) >= LOST_MS
    }

    /// Returns the number of slices up to `slice` since the last one in which the input was lost.
    pub(crate) fn whole_slices(self, slice: u64, slice_ms: u64) -> u32 {
        if self.is_lost {
            return 0;
        }
        let end_ms = slice.saturating_add(1).saturating_mul(slice_ms);
        u32::try_from(end_ms.saturating_sub(self.seen_from_ms) / slice_ms.max(1))
            .unwrap_or(u32::MAX)
    }
}

/// State of a probe's spool, counted in slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpoolState {
    pub(crate) slices: u64,
    /// Number of slices that the broker has not acknowledged yet.
    pub(crate) unsent: u64,
    /// Number of slices that were dropped because the spool was full.
    pub(crate) lost: u64,
}

impl From<SpoolState> for SpoolOverview {
    fn from(SpoolState { slices, unsent, lost }: SpoolState) -> Self {
        Self { slices, unsent, lost }
    }
}

/// Returns false if `json` is a report or a watch list that changes when it is written and read again. This function is
/// public for a fuzz target.
#[must_use]
pub fn is_same_when_written(json: &[u8]) -> bool {
    is_same::<SiteReport>(json) && is_same::<Watchlist>(json)
}

fn is_same<T: DeserializeOwned + PartialEq + Serialize>(json: &[u8]) -> bool {
    let Ok(read) = serde_json::from_slice::<T>(json) else { return true };
    let written = serde_json::to_vec(&read).and_then(|json| serde_json::from_slice::<T>(&json));
    written.is_ok_and(|written| written == read)
}

/// Data of one site about a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostReport {
    pub(crate) view: u8,
    pub(crate) host: IpAddr,
    /// Length of each window, in slices, and number of peers within it.
    #[serde(deserialize_with = "at_most::<WINDOWS, _, _>")]
    pub(crate) counts: Vec<(u32, f64)>,
    pub(crate) details: HostDetails,
}

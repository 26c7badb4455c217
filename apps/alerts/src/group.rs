//! Hosts of one network that pass their thresholds together and share one alert.
//!
//! Invariants: a host belongs to at most one group. If the start of a member's own alert was reported, the group never
//! ends that alert or suppresses its notifications. A member that becomes severe gets an alert of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::alert::{Severity, Why, WindowCount};
use crate::host::by_severity;
use crate::witnesses::SilentSource;

/// Maximum number of hosts of a network that get separate alerts if the alerts start within [`TOGETHER_MS`].
pub(crate) const MOST_ALONE: usize = 8;

/// Period within which starts of alerts in one network are counted together, in milliseconds.
pub(crate) const TOGETHER_MS: u64 = 60_000;

/// Maximum number of hosts that a notification names.
pub(crate) const NAMED: usize = 20;

/// Returns the network whose hosts can share one alert with `host`: an IPv4 /24 or an IPv6 /48.
pub(crate) fn network(host: IpAddr) -> IpNet {
    let length = if host.is_ipv4() { 24 } else { 48 };
    // The length is valid for the address family.
    IpNet::new_assert(host, length).trunc()
}

/// An alert of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) rule: String,
    pub(crate) start_ms: u64,
    pub(crate) severity: Severity,
    /// Largest counts of the members, by the length of the window in slices.
    windows: BTreeMap<u32, WindowCount>,
    pub(crate) members: BTreeSet<IpAddr>,
    /// Members whose own alerts have been reported, and are reported until they end.
    #[serde(default)]
    pub(crate) alone: BTreeSet<IpAddr>,
    /// Time since which the counts have been low for all members whose alerts have ended.
    pub(crate) until_ms: u64,
    /// Reason for the end: `Unconfirmed` if the alert of any member ended as `Unconfirmed`, otherwise the reason of the
    /// member whose alert ended last.
    pub(crate) end: Why,
    /// Silent witnesses of the members. The list is empty unless they prevent confirmation of the end.
    pub(crate) silent: Vec<SilentSource>,
    notified_ms: u64,
    notified_members: usize,
}

/// Silent witnesses of a group's members.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence {
    pub(crate) sources: Vec<SilentSource>,
    /// Whether every member has a silent witness, so that no end can be confirmed.
    pub(crate) is_of_all: bool,
}

/// Recent starts of host alerts, by network, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Starts(BTreeMap<IpNet, VecDeque<(u64, IpAddr)>>);

impl Starts {
    /// Forgets starts that are more than [`TOGETHER_MS`] before `now_ms`.
    pub(crate) fn forget_before(&mut self, now_ms: u64) {
        let first = now_ms.saturating_sub(TOGETHER_MS);
        self.0.retain(|_, starts| {
            starts.retain(|(start_ms, _)| *start_ms >= first);
            !starts.is_empty()
        });
    }

    pub(crate) fn add(&mut self, network: IpNet, now_ms: u64, host: IpAddr) {
        let starts = self.0.entry(network).or_default();
        // A host that starts repeatedly counts once.
        starts.retain(|(_, other)| *other != host);
        starts.push_back((now_ms, host));
    }

    /// Returns the networks that get a single alert, and the hosts whose alerts recently started there. For each
    /// network, `pending` contains the number of hosts that recently passed their threshold and have no alert.
    pub(crate) fn crowded(
        &self,
        pending: &BTreeMap<IpNet, usize>,
    ) -> Vec<(IpNet, BTreeSet<IpAddr>)> {
        let crowded = self.0.iter().filter(|(network, starts)| {
            starts.len() + pending.get(network).copied().unwrap_or(0) > MOST_ALONE
        });
        let hosts =
            |starts: &VecDeque<(u64, IpAddr)>| starts.iter().map(|(_, host)| *host).collect();
        crowded.map(|(network, starts)| (*network, hosts(starts))).collect()
    }
}

impl Group {
    pub(crate) fn new(rule: &str, now_ms: u64, members: BTreeSet<IpAddr>) -> Self {
        Self {
            rule: rule.to_owned(),
            start_ms: now_ms,
            severity: Severity::Warning,
            windows: BTreeMap::new(),
            notified_members: members.len(),
            members,
            alone: BTreeSet::new(),
            until_ms: now_ms,
            end: Why::Below,
            silent: Vec::new(),
            notified_ms: now_ms,
        }
    }

    pub(crate) fn set_forward(&mut self, step_ms: u64) {
        self.notified_ms += step_ms;
    }

    /// Returns whether `host` is a member that has no notifications of its own.
    pub(crate) fn speaks_for(&self, host: IpAddr) -> bool {
        self.members.contains(&host) && !self.alone.contains(&host)
    }

    /// Removes `host`, whose count has been low since `until_ms` and whose alert ended because of `why`.
    pub(crate) fn remove(&mut self, host: IpAddr, until_ms: u64, why: Why) {
        self.alone.remove(&host);
        if self.members.remove(&host) {
            self.until_ms = self.until_ms.max(until_ms);
            // A user who closed the alert of the last member did not close that of the network.
            let why = if why == Why::Closed { Why::Below } else { why };
            self.end = if self.end == Why::Unconfirmed { self.end } else { why };
        }
    }

    /// Updates the group with the largest peer counts, the highest severity and the silent witnesses of its members.
    /// Returns the reason for a report, if a report is due.
    pub(crate) fn step(
        &mut self,
        counts: &[WindowCount],
        severity: Severity,
        silence: Silence,
        repeat_ms: u64,
        now_ms: u64,
    ) -> Option<Why> {
        let is_any_silent = !silence.sources.is_empty();
        let is_unconfirmed = is_any_silent && silence.is_of_all;
        let silent = if is_unconfirmed { silence.sources } else { Vec::new() };
        let was_unconfirmed = !std::mem::replace(&mut self.silent, silent).is_empty();
        // A window without members keeps its peak.
        for former in self.windows.values_mut() {
            (former.cardinality, former.std_error) = (0.0, 0.0);
            (former.is_lower_bound, former.is_active) = (false, false);
        }
        for count in counts {
            self.windows.entry(count.slices).or_insert(*count).merge(count);
        }
        let why = if is_unconfirmed && !was_unconfirmed {
            Why::Unconfirmed
        } else if is_unconfirmed {
            return None;
        } else if severity > self.severity {
            Why::Severity
        } else if self.members.len() >= 2 * self.notified_members {
            Why::Peak
        } else if was_unconfirmed {
            match is_any_silent {
                false => Why::Resumed,
                true => Why::Above,
            }
        } else if now_ms.saturating_sub(self.notified_ms) >= repeat_ms {
            Why::Repeat
        } else {
            return None;
        };
        self.severity = self.severity.max(severity);
        (self.notified_ms, self.notified_members) =
            (now_ms, self.notified_members.max(self.members.len()));
        Some(why)
    }

    /// Returns the members' largest peer count within each window, sorted like
    /// [`Alert::windows`](crate::Alert::windows).
    pub(crate) fn counts(&self) -> Vec<WindowCount> {
        by_severity(self.windows.values().copied().collect())
    }
}

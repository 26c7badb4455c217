//! Hosts of one network that start together: one alert for all of them.
//!
//! Invariant: a host is in one group at most, and as long as it is there it has no notifications of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::alerts::alert::{Severity, Why, WindowCount};
use crate::alerts::host::by_severity;
use crate::alerts::witnesses::SilentSource;

/// The most hosts of a network that start within [`TOGETHER_MS`] and have an alert each.
pub(crate) const MOST_ALONE: usize = 8;

/// The time within which starts in one network are counted together.
pub(crate) const TOGETHER_MS: u64 = 60_000;

/// The most hosts that a notification names.
pub(crate) const NAMED: usize = 20;

/// Returns the network of `host` that may have one alert: a /24 of IPv4, a /48 of IPv6.
pub(crate) fn network(host: IpAddr) -> IpNet {
    let length = if host.is_ipv4() { 24 } else { 48 };
    // The length is one of the family.
    IpNet::new_assert(host, length).trunc()
}

/// An alert of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) rule: String,
    pub(crate) start_ms: u64,
    pub(crate) severity: Severity,
    /// The largest counts of members, by the length of the window in slices.
    windows: BTreeMap<u32, WindowCount>,
    pub(crate) members: BTreeSet<IpAddr>,
    /// The time until which the last member that ended had its count.
    pub(crate) until_ms: u64,
    /// The reason of the end: unconfirmed if any member ended so.
    pub(crate) end: Why,
    /// The silent witnesses of members, while no end can be confirmed.
    pub(crate) silent: Vec<SilentSource>,
    told_ms: u64,
    told_members: usize,
}

/// The silent witnesses of the members of a group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence {
    pub(crate) sources: Vec<SilentSource>,
    /// Whether each member has one of them, so that no end can be confirmed.
    pub(crate) is_of_all: bool,
}

/// The times at which hosts of networks started, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Starts(BTreeMap<IpNet, VecDeque<(u64, IpAddr)>>);

impl Starts {
    /// Forgets starts that are too long ago.
    pub(crate) fn forget_before(&mut self, now_ms: u64) {
        let first = now_ms.saturating_sub(TOGETHER_MS);
        self.0.retain(|_, starts| {
            starts.retain(|(start_ms, _)| *start_ms >= first);
            !starts.is_empty()
        });
    }

    pub(crate) fn add(&mut self, network: IpNet, now_ms: u64, host: IpAddr) {
        let starts = self.0.entry(network).or_default();
        // A host that starts again and again is one host.
        starts.retain(|(_, other)| *other != host);
        starts.push_back((now_ms, host));
    }

    /// Returns the networks that have one alert, and the hosts that started there. Of each network, `pending` is the number of
    /// hosts that are about to start.
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
            told_members: members.len(),
            members,
            until_ms: now_ms,
            end: Why::Below,
            silent: Vec::new(),
            told_ms: now_ms,
        }
    }

    /// Notes that the clock was set forward by `step_ms`: no report became due in the skipped time.
    pub(crate) fn set_forward(&mut self, step_ms: u64) {
        self.told_ms += step_ms;
    }

    /// Takes the largest counts of members, the highest severity of one, and their silent witnesses. Returns the reason to
    /// report that, if any.
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
        // A window in which no member is left keeps its peak.
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
        } else if self.members.len() >= 2 * self.told_members {
            Why::Peak
        } else if was_unconfirmed {
            match is_any_silent {
                false => Why::Resumed,
                true => Why::Above,
            }
        } else if now_ms.saturating_sub(self.told_ms) >= repeat_ms {
            Why::Repeat
        } else {
            return None;
        };
        self.severity = self.severity.max(severity);
        (self.told_ms, self.told_members) = (now_ms, self.told_members.max(self.members.len()));
        Some(why)
    }

    /// Returns the largest counts of members in each window, the most severe one first.
    pub(crate) fn counts(&self) -> Vec<WindowCount> {
        by_severity(self.windows.values().copied().collect())
    }
}

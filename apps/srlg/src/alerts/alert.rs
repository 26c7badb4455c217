//! Reports of alerts, and their names, which are the same after a restart.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::alerts::witnesses::SilentSource;

/// The status of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is new.
    Start,
    /// It goes on.
    Update,
    /// It is over.
    End,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The reason why an alert is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// The threshold was passed.
    Threshold,
    /// There are twice as many opposite hosts as were told last.
    Peak,
    /// It is more severe.
    Severity,
    /// The count within another window has passed its threshold.
    Window,
    /// It has not been told for long.
    Repeat,
    /// There are fewer opposite hosts, and have been for a while.
    Below,
    /// Many hosts of its network started: the alert of the network goes on for it.
    Group,
    /// No rule is about the host any more.
    Rule,
    /// There are fewer opposite hosts, but exporters or sites that saw the host are silent. An end with this reason comes when
    /// nobody has confirmed it for long.
    Unconfirmed,
    /// No exporter or site that saw the host is silent any more.
    Resumed,
    /// There are as many opposite hosts again, although exporters or sites that saw the host are silent.
    Above,
    /// A person works on it.
    Acknowledged,
    /// A person commented it.
    Comment,
    /// A person silenced it.
    Silenced,
    /// Its silence is over.
    Unsilenced,
    /// A person closed it.
    Closed,
}

/// The severity of an alert: how far the count is above the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// At the threshold or above.
    #[default]
    Warning,
    /// At 4 times the threshold or above.
    Major,
    /// At 16 times the threshold or above, or more than can be counted.
    Critical,
}

impl Severity {
    pub(crate) fn of(cardinality: f64, is_lower_bound: bool, threshold: f64) -> Self {
        match cardinality / threshold {
            _ if is_lower_bound => Self::Critical,
            times if times >= 16.0 => Self::Critical,
            times if times >= 4.0 => Self::Major,
            _ => Self::Warning,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The host or network of an alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// One host, as the view packs it.
    Host(IpAddr),
    /// Hosts of one network.
    Network {
        /// A /24 of IPv4, or a /48 of IPv6.
        network: IpNet,
        /// Hosts that are part of the alert.
        hosts: u32,
        /// Up to 20 of them, those with the most opposite hosts first, and how many those are.
        largest: Vec<(IpAddr, f64)>,
    },
}

/// A report of an alert that starts, is active, or ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// The same from start to end, and over restarts.
    pub id: AlertId,
    /// Whether it starts, is active or ends.
    pub status: Status,
    /// Why it is told.
    pub why: Why,
    /// Name of the tracker.
    pub view: String,
    /// Name of the rule.
    pub rule: String,
    /// Whom it is about.
    pub subject: Subject,
    /// How far above the threshold it is; never less than it was.
    pub severity: Severity,
    /// Milliseconds since the Unix epoch at which it started.
    pub start_ms: u64,
    /// The same, at which it is told.
    pub now_ms: u64,
    /// The same, up to which there were as many opposite hosts; of what ended.
    pub until_ms: Option<u64>,
    /// Exporters or sites that saw the host and are silent, while the end cannot be confirmed for that reason.
    pub silent: Vec<SilentSource>,
    /// Counts in the windows that have passed their threshold: active ones first, of these the most severe one. There is at
    /// least one.
    pub windows: Vec<WindowCount>,
}

/// The peers of a host within one window; of a network those of its largest host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowCount {
    /// Length of the window, in slices.
    pub slices: u32,
    /// Whether the window is active: at its threshold, or not below for long.
    pub is_active: bool,
    /// Peers now; 0 if there are fewer than are reported.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Whether there are more peers than can be counted.
    pub is_lower_bound: bool,
    /// θ of the rule for this window.
    pub threshold: f64,
    /// The highest severity within this window.
    pub severity: Severity,
    /// The largest count so far.
    pub peak: f64,
    /// The time of `peak`, milliseconds since the Unix epoch.
    pub peak_ms: u64,
}

impl WindowCount {
    /// Takes over the larger count, the larger peak and the higher severity of another host.
    pub(crate) fn merge(&mut self, other: &Self) {
        let severity = self.severity.max(other.severity);
        let is_active = self.is_active | other.is_active;
        let higher = if other.peak > self.peak { *other } else { *self };
        if other.cardinality > self.cardinality {
            *self = *other;
        }
        (self.peak, self.peak_ms) = (higher.peak, higher.peak_ms);
        (self.severity, self.is_active) = (severity, is_active);
    }
}

impl Alert {
    /// Returns the counts in the most severe active window, of several the shortest; without an active one, in the most
    /// severe.
    #[must_use]
    pub fn main(&self) -> WindowCount {
        // Only an alert that was changed outside has no window.
        self.windows.first().copied().unwrap_or_default()
    }
}

/// The id of an alert: a hash of its subject, its rule and its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct AlertId(u64);

impl AlertId {
    /// FNV-1a of the texts, which is the same on every machine and in every version.
    pub(crate) fn of(texts: &[&str], start_ms: u64) -> Self {
        let bytes =
            texts.iter().flat_map(|text| text.bytes().chain([0])).chain(start_ms.to_le_bytes());
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }
}

/// 16 digits of base 16.
impl fmt::Display for AlertId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for AlertId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_id = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_id);
        number.map(Self).ok_or("an alert's id is 16 digits of base 16")
    }
}

impl From<AlertId> for String {
    fn from(id: AlertId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for AlertId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::AlertId;

    #[test]
    fn ids_are_stable_and_tell_everything_apart() {
        let id = AlertId::of(&["fan-in", "default", "192.0.2.7"], 1_700_000_000_000);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id, AlertId::of(&["fan-in", "default", "192.0.2.7"], 1_700_000_000_000));
        for (texts, start) in [
            (["fan-in", "default", "192.0.2.7"], 1_700_000_000_001),
            (["fan-in", "default", "192.0.2.8"], 1_700_000_000_000),
            (["fan-in", "default1", "92.0.2.7"], 1_700_000_000_000),
            (["fan-out", "default", "192.0.2.7"], 1_700_000_000_000),
        ] {
            assert_ne!(AlertId::of(&texts, start), id);
        }
        for text in ["", "123", "+123456789abcdef", "0123456789abcdeg"] {
            assert!(text.parse::<AlertId>().is_err(), "{text}");
        }
    }
}

//! Alerts and their IDs, which stay the same after a restart.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::usual::Usual;
use crate::witnesses::SilentSource;

/// Status of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The alert is new.
    Start,
    /// The alert is active.
    Update,
    /// The alert is over.
    End,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Reason why an alert is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// The number of peers has reached the threshold.
    Threshold,
    /// The number of peers is at least twice the largest reported number.
    Peak,
    /// The severity has increased.
    Severity,
    /// A window that was not active has reached its threshold.
    Window,
    /// The rule's `repeat` has passed since the last report.
    Repeat,
    /// The number of peers has been below `down` times the threshold for at least the rule's `hold`.
    Below,
    /// No rule applies to the host any more, the last active window was removed from the rule, or the view no longer
    /// counts the host.
    Rule,
    /// The number of peers is low, but exporters or sites that saw the host are silent. The alert ends with this reason
    /// if its end stays unconfirmed for too long.
    Unconfirmed,
    /// All exporters and sites that saw the host are sending again.
    Resumed,
    /// The number of peers is high again, although exporters or sites that saw the host are silent.
    Above,
    /// Details have arrived and show another cause.
    Cause,
    /// More inside hosts scan the same port (worm).
    Spread,
    /// A user acknowledged the alert.
    Acknowledged,
    /// A user commented on the alert.
    Comment,
    /// A user silenced the alert.
    Silenced,
    /// The silence of the alert is over.
    Unsilenced,
    /// A user closed the alert.
    Closed,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Why {
    /// Returns whether the reason is an action of a user or the end of a silence.
    #[must_use]
    pub const fn is_action(self) -> bool {
        use Why::{Acknowledged, Closed, Comment, Silenced, Unsilenced};
        matches!(self, Acknowledged | Closed | Comment | Silenced | Unsilenced)
    }
}

/// Severity of an alert, which depends on its cause and on the ratio of the count to the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The host is busy, but probably not attacked or attacking.
    Info,
    /// The count is at least the threshold.
    #[default]
    Warning,
    /// The count is at least 4 times the threshold.
    Major,
    /// The count is at least 16 times the threshold, or too high to be measured.
    Critical,
}

impl Severity {
    /// All severities, in ascending order.
    pub const ALL: [Self; 4] = [Self::Info, Self::Warning, Self::Major, Self::Critical];

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

/// A report of an alert that starts, stays active or ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// ID of the alert, which stays the same after a restart.
    pub id: AlertId,
    /// Whether the alert starts, stays active or ends.
    pub status: Status,
    /// Reason for the report.
    pub why: Why,
    /// Name of the view.
    pub view: String,
    /// Name of the rule.
    pub rule: String,
    /// Host, in the packed form of its view.
    pub host: IpAddr,
    /// Highest severity so far.
    pub severity: Severity,
    /// Start of the alert, in milliseconds since the Unix epoch.
    pub start_ms: u64,
    /// Time of the report, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Time since which the number of peers has been low, in milliseconds since the Unix epoch. If the alert ended
    /// because of [`Why::Rule`], this is the time of the end. `None` if the alert has not ended.
    pub until_ms: Option<u64>,
    /// Silent exporters and sites that saw the host. The list is empty unless they prevent confirmation of the end.
    pub silent: Vec<SilentSource>,
    /// Counts within the windows that have reached their threshold; never empty. They are sorted by state (active
    /// windows first), then by descending severity, then by ascending length.
    pub windows: Vec<WindowCount>,
}

/// Number of peers of a host within one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowCount {
    /// Length of the window, in slices.
    pub slices: u32,
    /// Whether the window is active: it reached its threshold in enough slices and has not ended since.
    pub is_active: bool,
    /// Current number of peers; 0 if the host has too few peers to be reported.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Whether the host has more peers than can be measured.
    pub is_lower_bound: bool,
    /// Threshold θ of the rule for this window, raised to the multiple of what is usual that the rule demands.
    pub threshold: f64,
    /// Usual number of peers at this time, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual: Option<Usual>,
    /// Highest severity so far within this window.
    pub severity: Severity,
    /// Largest count so far.
    pub peak: f64,
    /// Time of `peak`, in milliseconds since the Unix epoch.
    pub peak_ms: u64,
}

impl Alert {
    /// Returns the count within the most severe active window, or within the most severe window if no window is
    /// active. If several windows are equally severe, the shortest one is used.
    #[must_use]
    pub fn main(&self) -> WindowCount {
        // `windows` is empty only if a caller of the library emptied it.
        self.windows.first().copied().unwrap_or_default()
    }
}

/// ID of an alert: a hash of its view, rule, host and start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct AlertId(u64);

impl AlertId {
    /// Hashes the texts and the start time with FNV-1a, which gives the same result on every machine and in every
    /// version.
    pub fn of(texts: &[&str], start_ms: u64) -> Self {
        let bytes =
            texts.iter().flat_map(|text| text.bytes().chain([0])).chain(start_ms.to_le_bytes());
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }

    /// Returns the bits of the hash.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }
}

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
        number.map(Self).ok_or("an incident ID must have 16 hexadecimal digits")
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

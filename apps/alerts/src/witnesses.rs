//! Sources that saw a host, and their ability to confirm the end of its alert.
//!
//! A [`WitnessTable`] records when each exporter of a machine last sent data. For a host, it returns the [`Witnesses`]:
//! the exporters that saw the host. If these exporters are not known, it returns all exporters that have sent data
//! since the start of the longest window before the alert. Witnesses of several sites can be merged.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub mod table;

pub use table::{TableState, WitnessTable};

/// Interval at which exporters are checked.
pub const LOOK: Duration = Duration::from_secs(1);

/// Maximum number of silent sources that are named.
const NAMED: usize = 8;

/// A silent exporter or site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentSource {
    /// Address of an exporter, name of a site, or both; `the input`, of a site or of all, if no source is known.
    pub source: String,
    /// Name of the exporter in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Time of the last data, in milliseconds since the Unix epoch.
    pub since_ms: u64,
}

impl fmt::Display for SilentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = std::time::UNIX_EPOCH + Duration::from_millis(self.since_ms);
        let since = humantime::format_rfc3339_seconds(since);
        match &self.name {
            Some(name) => write!(f, "{name} ({}) silent since {since}", self.source),
            None => write!(f, "{} silent since {since}", self.source),
        }
    }
}

impl SilentSource {
    /// Returns the address of the exporter, or `None` if a whole site or the whole input is silent.
    pub(crate) fn exporter(&self) -> Option<IpAddr> {
        // In a network of sites, the site's name follows the address.
        self.source.split(' ').next()?.parse().ok()
    }
}

/// Sources that saw a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witnesses {
    /// Time until which all sources have sent data, in milliseconds since the Unix epoch.
    pub seen_ms: u64,
    /// Number of slices since the last silence of any of the sources.
    pub whole_slices: u32,
    /// Up to 8 silent sources, the most recently seen first.
    pub silent: Vec<SilentSource>,
}

impl Default for Witnesses {
    /// Returns witnesses without a silent source or a data gap.
    fn default() -> Self {
        Self { seen_ms: u64::MAX, whole_slices: u32::MAX, silent: Vec::new() }
    }
}

impl Witnesses {
    /// Returns witnesses with one silent `source`, whose last data arrived at `since_ms`.
    #[must_use]
    pub fn silent(source: impl Into<String>, since_ms: u64) -> Self {
        let silent = vec![SilentSource { source: source.into(), name: None, since_ms }];
        Self { seen_ms: since_ms, whole_slices: 0, silent }
    }

    /// Returns witnesses that cannot confirm an end, because nothing is known about them.
    pub const fn unknown() -> Self {
        Self { seen_ms: 0, whole_slices: 0, silent: Vec::new() }
    }

    /// Merges `other`, the witnesses of a different site.
    pub fn merge(&mut self, other: Self) {
        self.seen_ms = self.seen_ms.min(other.seen_ms);
        self.whole_slices = self.whole_slices.min(other.whole_slices);
        self.silent.extend(other.silent);
        self.silent.sort_by(|a, b| (b.since_ms, &a.source).cmp(&(a.since_ms, &b.source)));
        self.silent.dedup();
        self.silent.truncate(NAMED);
    }
}

/// A host with an alert, whose witnesses are needed when a slice closes. All times are in milliseconds since the Unix
/// epoch.
#[derive(Clone, Copy, Debug)]
pub struct AlertedHost {
    pub host: IpAddr,
    pub start_ms: u64,
    /// Start of the longest window that ends at the start of the alert.
    pub since_ms: u64,
    /// End of the slice.
    pub now_ms: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct KnownExporters<'a> {
    pub(crate) exporters: &'a [IpAddr],
    /// Time from which the exporters are known, in milliseconds since the Unix epoch.
    pub(crate) since_ms: u64,
}

/// Maximum number of sources that a log line names.
const IN_LINE: usize = 3;

/// Returns the names of the first sources and the number of the remaining sources, or `None` if there are no sources.
pub fn named<T: fmt::Display + Ord>(sources: impl IntoIterator<Item = T>) -> Option<String> {
    let mut sources: Vec<T> = sources.into_iter().collect();
    sources.sort();
    let names: Vec<_> = sources.iter().take(IN_LINE).map(T::to_string).collect();
    let more = sources.len().saturating_sub(IN_LINE);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| names.join(", ") + &more)
}

#[cfg(test)]
mod tests {
    use super::SilentSource;

    #[test]
    fn an_exporter_is_shown_with_its_name_and_a_site_as_it_is() {
        let mut texts = String::new();
        for (source, name, exporter) in [
            ("192.0.2.1", Some("edge-1"), Some("192.0.2.1")),
            ("2001:db8::1 at fra", Some("edge-1"), Some("2001:db8::1")),
            ("192.0.2.1 at fra", None, Some("192.0.2.1")),
            ("site fra", None, None),
            ("the input", None, None),
        ] {
            let name = name.map(str::to_owned);
            let silent = SilentSource { source: source.to_owned(), name, since_ms: 0 };
            let found = silent.exporter().map(|it| it.to_string());
            assert_eq!(found.as_deref(), exporter, "{source}");
            texts += &format!("{silent}\n");
        }
        insta::assert_snapshot!(texts);
    }
}

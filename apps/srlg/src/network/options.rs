//! The tables `[network]` and `[probe]` of a configuration: the settings of a network's collector and of a probe.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::network::MOST_PAIRS;

/// Lowest value of `pending-mb` for lists of any usual length.
const LEAST_PENDING: usize = 64;

/// Highest value of `pending-mb`: a terabyte.
const MOST_PENDING: usize = 1 << 20;
#[cfg(feature = "network")]
use crate::network::connect;
use crate::network::subjects::check_name;

/// The table `[network]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NetworkOptions {
    /// Names of the probes. A name has 1 to 32 lower-case letters, digits and `-`; the name `collector` is reserved.
    pub probes: Vec<String>,
    /// Folder with the keys and certificates that `srlg setup` creates.
    #[cfg_attr(test, schemars(extend("x-form" = "folder")))]
    pub folder: PathBuf,
    /// Host of the NATS server, with a port if it is not 4222.
    #[cfg_attr(test, schemars(extend("x-form" = "host:port")))]
    pub broker: String,
    /// Time for which a slice stays open for the last probes after most probes have reached it; at most one day.
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "String", extend("x-form" = "time")))]
    pub deadline: Duration,
    /// Maximum number of slices by which a message may be ahead of the slice that most probes have reached. Messages
    /// that are further ahead are rejected. [default: two windows, at least 3600]
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub max_skew: Option<u64>,
    /// Maximum number of distinct pairs per view and slice that a probe lists and sends. A pair with an IPv6 address
    /// counts as four. If a slice has more pairs, the probe allocates a sketch as large as that of the collector and
    /// sends a delta. With 0, probes send only deltas.
    #[cfg_attr(test, schemars(range(max = 4194304)))]
    pub most_pairs: usize,
    /// Memory for states whose slice has not closed, in MB. If this limit is exceeded, the oldest slice closes early.
    /// Messages that are being decoded may use the same amount, and a message that needs more is rejected.
    #[cfg_attr(test, schemars(range(min = 64, max = 1048576)))]
    pub pending_mb: usize,
    /// Time for which the stream keeps messages, if the collector creates the stream. [default: two windows and 200
    /// slices, at least a day]
    #[serde(with = "humantime_serde")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("x-form" = "time")))]
    pub stream_age: Option<Duration>,
    /// Maximum size of the stream, in MB, if the collector creates the stream.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub stream_mb: u32,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            probes: Vec::new(),
            folder: ".".into(),
            broker: "localhost:4222".to_owned(),
            deadline: Duration::from_secs(10),
            max_skew: None,
            most_pairs: 100_000,
            pending_mb: 512,
            stream_age: None,
            stream_mb: 4096,
        }
    }
}

impl NetworkOptions {
    /// Returns the number of slices between two checkpoints of a collector, at least 1.
    pub(crate) fn slices_of_checkpoint(checkpoint: Duration, slice: Duration) -> u64 {
        let slices = checkpoint.as_millis() / slice.as_millis().max(1);
        u64::try_from(slices).unwrap_or(u64::MAX).max(1)
    }

    /// Returns the minimum time for which the stream must keep messages. The stream must reach back to the
    /// second-to-last checkpoint, because probes may already have deleted the slices that only the last checkpoint
    /// contains.
    pub(crate) fn least_age(&self, checkpoint: Duration, slice: Duration) -> Duration {
        let slices = Self::slices_of_checkpoint(checkpoint, slice).saturating_mul(2);
        let slices = u32::try_from(slices).unwrap_or(u32::MAX).saturating_add(2);
        slice.saturating_mul(slices).saturating_add(self.deadline)
    }

    /// Checks these options against the time between two checkpoints and the length of a slice, and returns each problem
    /// with its key.
    pub(crate) fn problems(
        &self,
        checkpoint: Duration,
        slice: Duration,
    ) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let mut check = |is_right: bool, key, text: String| {
            if !is_right {
                problems.push((key, text));
            }
        };
        let Self {
            probes, deadline, max_skew, most_pairs, pending_mb, stream_age, stream_mb, ..
        } = self;
        check(!probes.is_empty(), "probes", "probes: name at least one probe".to_owned());
        for (at, name) in probes.iter().enumerate() {
            if let Err(error) = check_name(name) {
                check(false, "probes", error.to_string());
            }
            let text = format!("probes: {name} is listed twice; give each probe its own name");
            check(!probes[..at].contains(name), "probes", text);
        }
        if let Err(text) = check_broker(&self.broker) {
            check(false, "broker", text);
        }
        let longest = Duration::from_secs(86_400);
        check(
            *deadline <= longest,
            "deadline",
            format!("deadline: must be at most a day, got {deadline:?}"),
        );
        check(*max_skew != Some(0), "max-skew", "max-skew: must be at least 1, got 0".to_owned());
        let least = self.least_age(checkpoint, slice);
        check(
            stream_age.is_none_or(|age| age >= least),
            "stream-age",
            format!(
                "stream-age: must be at least {least:?}, got {:?}",
                stream_age.unwrap_or_default()
            ),
        );
        let text = format!("most-pairs: must be at most {MOST_PAIRS}, got {most_pairs}");
        check(*most_pairs <= MOST_PAIRS, "most-pairs", text);
        // A message may contain the lists of a few views, and a list takes up to 32 bytes per pair.
        let pending = LEAST_PENDING.max(most_pairs >> 13)..=MOST_PENDING;
        let text = format!(
            "pending-mb: must be {} to {MOST_PENDING} with most-pairs = {most_pairs}, got {pending_mb}",
            pending.start()
        );
        check(pending.contains(pending_mb), "pending-mb", text);
        check(*stream_mb > 0, "stream-mb", "stream-mb: must be at least 1, got 0".to_owned());
        problems
    }
}

/// The table `[probe]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ProbeOptions {
    /// Name of the probe, which the collector's configuration lists in `probes`.
    pub name: String,
    /// Folder with `ca.pem` and `NAME.nk`, which `srlg setup` creates.
    #[cfg_attr(test, schemars(extend("x-form" = "folder")))]
    pub folder: PathBuf,
    /// Host of the NATS server, with a port if it is not 4222.
    #[cfg_attr(test, schemars(extend("x-form" = "host:port")))]
    pub broker: String,
    /// Maximum number of slices in the spool. [default: the length of the longest window]
    #[cfg_attr(test, schemars(range(min = 2)))]
    pub keep: Option<u32>,
    /// Pace at which a file is read: `"real"`, or a number of slices per second. [default: as fast as possible]
    #[serde(deserialize_with = "pace")]
    #[cfg_attr(test, schemars(with = "Option<String>", extend("x-form" = "`\"real\"` or number")))]
    pub pace: Option<Pace>,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        let NetworkOptions { folder, broker, .. } = NetworkOptions::default();
        Self { name: String::new(), folder, broker, keep: None, pace: None }
    }
}

impl ProbeOptions {
    /// Checks these options, and returns each problem with its key.
    pub(crate) fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        match check_name(&self.name) {
            _ if self.name.is_empty() => problems.push(("name", "missing key `name`".to_owned())),
            Err(error) => problems.push(("name", error.to_string())),
            Ok(()) => {}
        }
        if let Err(text) = check_broker(&self.broker) {
            problems.push(("broker", text));
        }
        if let Some(keep @ 0..2) = self.keep {
            problems.push(("keep", format!("keep: must be at least 2, got {keep}")));
        }
        problems
    }
}

/// Checks that `broker` is an address, with or without a port.
fn check_broker(broker: &str) -> Result<(), String> {
    #[cfg(feature = "network")]
    connect::address(broker).map_err(|error| format!("broker {broker:?}: {error}"))?;
    #[cfg(not(feature = "network"))]
    let _unused = broker;
    Ok(())
}

/// Pace of the slices of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Real time: each slice takes as long as the time that it covers.
    Real,
    /// A fixed number of slices per second.
    PerSecond(f64),
}

impl FromStr for Pace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "must be real, or a rate from 0.001 to 1000000 slices per second";
        match text {
            "real" => Ok(Self::Real),
            number => match number.parse() {
                Ok(rate) if (0.001..=1e6).contains(&rate) => Ok(Self::PerSecond(rate)),
                _ => Err(WRONG),
            },
        }
    }
}

fn pace<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Pace>, D::Error> {
    let value = toml::Value::deserialize(deserializer)?;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse().map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_paces_are_refused() {
        assert_eq!("real".parse(), Ok(Pace::Real));
        assert_eq!("2.5".parse(), Ok(Pace::PerSecond(2.5)));
        for text in ["", "0", "-1", "inf", "NaN", "fast"] {
            assert!(text.parse::<Pace>().is_err(), "{text}");
        }
    }
}

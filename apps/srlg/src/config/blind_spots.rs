//! Blind spots of a configuration: thresholds that no host can reach, and small contacts that sampling hides.
//!
//! A blind spot is not an error, because the other views and rules of the configuration still work.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use srlg_input::ViewOptions;
use srlg_input::contact::{PeerKey, Sampling, Side};
use tracing::warn;

use super::Config;
use super::peers::{Peers, Version, inside};
use super::thresholds::LEAST_THRESHOLD;
use srlg_alerts::Rule;
use srlg_alerts::manager::view::ViewConfig;

/// A valid part of a configuration that cannot find some or all of the attacks that it is meant for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BlindSpot {
    Unreachable(Unreachable),
    Sampled(Sampled),
}

/// Thresholds of a rule that exceed the number of different peers of a view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unreachable {
    pub(crate) view: String,
    pub(crate) rule: String,
    peers: Peers,
    /// The unreachable thresholds, each with the length of its window.
    thresholds: Vec<(Duration, f64)>,
    remedy: Remedy,
}

/// A change that makes thresholds reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// A threshold of at most this number.
    Threshold(u128),
    /// A longer prefix of the peers.
    Prefix(u8),
    /// There is no such change, because there are fewer peers than the smallest threshold that is accepted.
    Nothing,
}

/// A sampling rate, and the smallest threshold that applies to sampled packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sampled {
    /// N for one packet in N.
    rate: NonZeroU32,
    threshold: f64,
}

/// Returns the blind spots of `config`. Sampling rates that exporters send are unknown before they arrive (see
/// [`SamplingNotes`]).
pub(crate) fn blind_spots(config: &Config) -> Vec<BlindSpot> {
    let Config { views, general, source, .. } = config;
    let unreachable = views.iter().flat_map(|view| {
        let rules = view.rules.rules().iter();
        rules.flat_map(|rule| unreachable(view, rule, general.slice))
    });
    let sampled = source.decoding.sampling.and_then(|rate| Sampled::new(rate, views));
    let sampled = sampled.map(BlindSpot::Sampled);
    unreachable.map(BlindSpot::Unreachable).chain(sampled).collect()
}

/// Returns the thresholds of `rule` that no host of `view` can reach, for each IP version to which the rule applies.
fn unreachable(view: &ViewConfig, rule: &Rule, slice: Duration) -> Vec<Unreachable> {
    let options = &view.view;
    let versions: &[Option<Version>] = match options.peer {
        PeerKey::Port => &[None],
        _ => &[Some(Version::V4), Some(Version::V6)],
    };
    let versions = versions.iter().filter(|version| has_hosts(options, rule, **version));
    let unreachable = versions.filter_map(|version| {
        let peers = Peers::new(options, *version, None);
        let windows = rule.windows.iter();
        let windows = windows.filter(|(_, terms)| (peers.count as f64) < terms.threshold);
        let thresholds: Vec<_> =
            windows.map(|(slices, terms)| (slice * *slices, terms.threshold)).collect();
        // Without peers, the version is not in use.
        (peers.count > 0 && !thresholds.is_empty()).then(|| Unreachable {
            view: view.name.clone(),
            rule: rule.name.clone(),
            peers,
            remedy: remedy(options, peers, &thresholds),
            thresholds,
        })
    });
    unreachable.collect()
}

/// Returns whether `rule` applies to hosts that the view counts. Only hosts of the IP version `version` are considered,
/// or all hosts if it is `None`.
fn has_hosts(view: &ViewOptions, rule: &Rule, version: Option<Version>) -> bool {
    let inside = inside(view);
    let mut networks = rule.networks.iter().filter(|it| version.is_none_or(|of| of.has(it)));
    networks.any(|network| match view.measure {
        Side::Inside => inside.iter().any(|it| it.contains(network) || network.contains(it)),
        Side::Outside => !inside.iter().any(|it| it.contains(network)),
    })
}

fn remedy(view: &ViewOptions, peers: Peers, thresholds: &[(Duration, f64)]) -> Remedy {
    let highest = thresholds.iter().map(|(_, threshold)| *threshold).fold(0.0, f64::max);
    let (longest, least) = (peers.longest_prefix(), u128::from(LEAST_THRESHOLD));
    let most = Peers::new(view, peers.version, Some(longest)).count;
    if most as f64 >= highest || (peers.count < least && most >= least) {
        Remedy::Prefix(longest)
    } else if peers.count >= least {
        // A scan of half of the peers is then found.
        Remedy::Threshold((peers.count / 2).max(least))
    } else {
        Remedy::Nothing
    }
}

impl Sampled {
    /// Returns `None` if packets are not sampled or there is no threshold.
    fn new(rate: NonZeroU32, views: &[ViewConfig]) -> Option<Self> {
        let rules = views.iter().flat_map(|view| view.rules.rules());
        let terms = rules.flat_map(|rule| rule.windows.values());
        let threshold = terms.map(|terms| terms.threshold).reduce(f64::min)?;
        (rate > NonZeroU32::MIN).then_some(Self { rate, threshold })
    }
}

/// Notes about sampling rates that become known while srlg runs, each given once.
#[derive(Debug)]
pub(crate) struct SamplingNotes {
    /// Highest rate with a note, or 1.
    highest: NonZeroU32,
}

impl SamplingNotes {
    /// Creates the notes. `configured` is the rate that [`blind_spots`] has already considered.
    pub(crate) fn new(configured: Option<NonZeroU32>) -> Self {
        Self { highest: configured.unwrap_or(NonZeroU32::MIN) }
    }

    /// Logs a note for the rules of `views` if `sampling` contains the highest rate so far.
    pub(crate) fn log(&mut self, sampling: Sampling, views: &[ViewConfig]) {
        let rates = sampling.rates();
        if let Some(note) = rates.and_then(|(_, most)| self.take(most, views)) {
            warn!("{note}");
        }
    }

    fn take(&mut self, rate: NonZeroU32, views: &[ViewConfig]) -> Option<Sampled> {
        if rate <= self.highest {
            return None;
        }
        self.highest = rate;
        Sampled::new(rate, views)
    }
}

impl fmt::Display for BlindSpot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(it) => it.fmt(f),
            Self::Sampled(it) => it.fmt(f),
        }
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { view, rule, peers, thresholds, remedy } = self;
        let each = thresholds.iter().map(|(window, threshold)| {
            format!("{threshold} in {}", humantime::format_duration(*window))
        });
        let each = each.collect::<Vec<_>>().join(" or ");
        write!(
            f,
            "view {view}: a host can have at most {peers}, so it cannot reach the threshold of {each} (rule {rule})"
        )?;
        let over = peers.version.map_or_else(String::new, |version| format!(" over {version}"));
        write!(f, "{over}; ")?;
        match remedy {
            Remedy::Threshold(most) => {
                write!(f, "give the view a [[rule]] of its own with a threshold of at most {most}")
            }
            Remedy::Prefix(length) => {
                let number = if peers.version == Some(Version::V4) { 4 } else { 6 };
                write!(f, "set peer-prefix{number} = {length} in the view")
            }
            Remedy::Nothing => write!(
                f,
                "as thresholds must be at least {LEAST_THRESHOLD}, the view finds nothing{over}"
            ),
        }
    }
}

impl fmt::Display for Sampled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, threshold } = self;
        // A peer of one packet is seen with probability 1/N, so N·θ such peers are seen as θ on average.
        let peers = f64::from(rate.get()) * threshold;
        write!(
            f,
            "sampling 1:{rate}: a host needs about {peers:.0} peers of one packet each to reach the threshold of {threshold}; lower the thresholds or sample more packets"
        )
    }
}

#[cfg(test)]
mod tests;

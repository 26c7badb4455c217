//! Blind spots of a configuration: thresholds that no host can reach, small contacts that sampling hides, scans and
//! flow records that do not fit into the windows, floods from few sources, scans that no view counts, and hosts that are
//! counted in one direction only.
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

pub use few_sources::FewSources;
pub use one_way::OneWay;
pub use short_windows::ShortWindows;
pub use slow_scans::SlowScans;
pub use uncounted::{PortScans, ReplyScans};

mod few_sources;
mod least;
mod one_way;
mod short_windows;
mod slow_scans;
mod uncounted;

/// A valid part of a configuration that cannot find some or all of the attacks that it is meant for.
#[derive(Clone, Debug, PartialEq)]
pub enum BlindSpot {
    /// A threshold exceeds the number of different peers.
    Unreachable(Unreachable),
    /// Hosts are counted in one direction only.
    OneWay(OneWay),
    /// Floods from few sources are not found.
    FewSources(FewSources),
    /// Slow scans are not found.
    SlowScans(SlowScans),
    /// Scans of the ports of one host are not found.
    PortScans(PortScans),
    /// Scans from outside whose packets look like replies are not found.
    ReplyScans(ReplyScans),
    /// Windows are shorter than the time between two flow records.
    ShortWindows(ShortWindows),
    /// Sampling hides peers with few packets.
    Sampled(Sampled),
}

/// Thresholds of a rule that exceed the number of different peers of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreachable {
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
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// N for one packet in N.
    rate: NonZeroU32,
    /// Smallest threshold that a host can reach with peers of one packet each, or the smallest one if there is none.
    threshold: f64,
    /// Views whose hosts have too few peers of an IP version to reach a threshold with one packet each.
    too_small: Vec<(String, Option<Version>)>,
}

/// Returns the blind spots of `config`. Sampling rates that exporters send are unknown before they arrive.
#[must_use]
pub fn blind_spots(config: &Config) -> Vec<BlindSpot> {
    let Config { views, general, source, .. } = config;
    let unreachable = views.iter().flat_map(|view| {
        let rules = view.rules.rules().iter();
        rules.flat_map(|rule| unreachable(view, rule, general.slice))
    });
    let sampled = source.decoding.sampling.and_then(|rate| Sampled::new(rate, views));
    let short = source.is_exports().then(|| ShortWindows::of(views, general.slice)).flatten();
    let spots = unreachable.map(BlindSpot::Unreachable);
    let spots = spots.chain(OneWay::of(views).map(BlindSpot::OneWay));
    let spots = spots.chain(FewSources::of(views, general.slice).map(BlindSpot::FewSources));
    let spots = spots.chain(SlowScans::of(views, general.slice).map(BlindSpot::SlowScans));
    let spots = spots.chain(PortScans::of(views).map(BlindSpot::PortScans));
    let spots = spots.chain(ReplyScans::of(views).map(BlindSpot::ReplyScans));
    let spots = spots.chain(short.map(BlindSpot::ShortWindows));
    spots.chain(sampled.map(BlindSpot::Sampled)).collect()
}

/// Returns the thresholds of `rule` that no host of `view` can reach, for each IP version to which the rule applies.
fn unreachable(view: &ViewConfig, rule: &Rule, slice: Duration) -> Vec<Unreachable> {
    let options = &view.view;
    let unreachable = versions(options, rule).into_iter().filter_map(|version| {
        let peers = Peers::new(options, version, None);
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

/// Returns the IP versions of the peers of hosts to which `rule` applies, or `None` if peers are ports.
fn versions(view: &ViewOptions, rule: &Rule) -> Vec<Option<Version>> {
    let versions: &[Option<Version>] = match view.peer {
        PeerKey::Port => &[None],
        _ => &[Some(Version::V4), Some(Version::V6)],
    };
    versions.iter().copied().filter(|version| has_hosts(view, rule, *version)).collect()
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
        let (mut reachable, mut all) = (Vec::new(), Vec::new());
        let mut too_small = Vec::new();
        for ViewConfig { name, view, rules, .. } in views {
            for rule in rules.rules() {
                let least = rule.windows.values().map(|terms| terms.threshold).reduce(f64::min);
                for (version, least) in
                    versions(view, rule).into_iter().zip(least.into_iter().cycle())
                {
                    all.push(least);
                    let of = (name.clone(), version);
                    let peers = Peers::new(view, version, None).count as f64;
                    if peers >= least * f64::from(rate.get()) {
                        reachable.push(least);
                    } else if peers > 0.0 && !too_small.contains(&of) {
                        too_small.push(of);
                    }
                }
            }
        }
        let least = |thresholds: Vec<f64>| thresholds.into_iter().reduce(f64::min);
        let threshold = least(reachable).or_else(|| least(all))?;
        (rate > NonZeroU32::MIN).then_some(Self { rate, threshold, too_small })
    }

    /// Returns the number of peers of which `threshold` are expected to be sampled if each sends `packets` packets.
    fn peers(&self, packets: f64) -> f64 {
        // A peer is unseen if none of its packets is sampled.
        let seen = 1.0 - (1.0 - 1.0 / f64::from(self.rate.get())).powf(packets);
        self.threshold / seen
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
            Self::OneWay(it) => it.fmt(f),
            Self::FewSources(it) => it.fmt(f),
            Self::SlowScans(it) => it.fmt(f),
            Self::PortScans(it) => it.fmt(f),
            Self::ReplyScans(it) => it.fmt(f),
            Self::ShortWindows(it) => it.fmt(f),
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
        let Self { rate, threshold, too_small } = self;
        write!(
            f,
            "sampling 1:{rate}: to reach the threshold of {threshold} sampled peers, a host needs about {:.0} peers with one packet each, or {:.0} with {rate} packets each, if packets are sampled independently",
            self.peers(1.0),
            self.peers(rate.get().into())
        )?;
        for (view, version) in too_small {
            let over = version.map_or_else(String::new, |version| format!(" {version}"));
            write!(
                f,
                "; hosts of view {view} have too few{over} peers to be found by one packet each"
            )?;
        }
        f.write_str("; lower the thresholds or sample more packets")
    }
}

#[cfg(test)]
mod tests;

//! `srlg suggest`: suggests rules from the peer counts in a state folder.
//!
//! The rules are written as TOML, to replace the `[[rule]]` tables of the configuration: first one for each server, then
//! those of the configuration with other thresholds. A threshold is 1.5 times the count that hosts did not exceed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use srlg_alerts::Rule;
use srlg_alerts::manager::view::ViewConfig;
use srlg_alerts::notification::Kind;
use srlg_alerts::usual::{HourSeries, HourStore as _};
use srlg_input::contact::{ContactFilter, Name};
use srlg_notify::store::Store;
use srlg_notify::store::history::IncidentFilter;

use crate::config::{Config, LEAST_THRESHOLD, REPLIES, most_threshold};
use past::{HostPeak, Past};
use rule_text::RuleText;

mod past;
mod rule_text;

/// Share of the hosts that never exceeded the peer count on which a suggestion is based.
const PERCENTILE: f64 = 0.999;

/// Ratio of a suggested threshold to the peer count on which it is based, before rounding.
const ROOM: f64 = 1.5;

/// Minimum number of hosts for [`PERCENTILE`]. With fewer hosts, the largest peer count is used.
const HOSTS_OF_PERCENTILE: usize = 1_000;

/// Ratio of the counts of a few hosts to those of all others that makes them stand out.
const FAR: u32 = 3;

/// Maximum number of hosts that stand out.
const MOST_FAR: usize = 8;

/// Maximum number of incidents that are read.
const MOST_INCIDENTS: usize = 20_000;

/// Options of `srlg suggest`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Configuration file of the running srlg; its state folder must be set
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Hosts that have had an incident, and what they are if they were busy in any.
type Known = BTreeMap<Name, Option<&'static str>>;

/// Returns suggestions for all rules of the configuration in `args`.
pub fn suggest(args: &Args) -> Result<String> {
    let config = Config::read(&args.config)?;
    ensure!(!config.views.is_empty(), "cannot suggest rules: {}", config.task.mismatch());
    let Some(state) = &config.general.state else {
        bail!(
            "cannot suggest rules: {} has no state; set state and let srlg run for a week",
            args.config.display()
        );
    };
    let store = Store::read(state)?;
    let known = known(&store)?;
    let slice = config.general.slice;
    let views = by_rules(&config.views).into_iter();
    let views: Vec<_> =
        views.map(|views| Views::read(&store, views, slice)).collect::<Result<_>>()?;
    ensure!(
        views.iter().flat_map(|views| views.windows.values()).any(|past| !past.is_empty()),
        "cannot suggest rules: no peer counts in the state; let srlg run for a week"
    );
    Ok(views.iter().map(|views| views.suggest(&known)).collect::<Vec<_>>().join("\n"))
}

/// Returns the hosts of the last incidents in the history.
fn known(store: &Store) -> Result<Known> {
    let filter = IncidentFilter { limit: Some(MOST_INCIDENTS), ..IncidentFilter::default() };
    let mut known = Known::new();
    for (_, incident) in store.last_notifications(&filter)? {
        let what = match incident.kind {
            Kind::Server => Some("probably a server"),
            Kind::Resolver => Some("probably a resolver"),
            Kind::P2p => Some("probably a P2P host"),
            _ => None,
        };
        // A server that is attacked remains a server.
        let known = known.entry(incident.host).or_default();
        *known = known.or(what);
    }
    Ok(known)
}

/// Returns the views, together with the default view of their replies, because rules apply to both.
fn by_rules(views: &[ViewConfig]) -> Vec<Vec<&ViewConfig>> {
    let requests = |view: &ViewConfig| {
        let named = REPLIES.iter().find(|(replies, _)| *replies == view.name);
        named.filter(|_| view.view.only == ContactFilter::Replies).map(|(_, requests)| *requests)
    };
    let mut groups: Vec<Vec<&ViewConfig>> = Vec::new();
    let (replies, others): (Vec<_>, Vec<_>) =
        views.iter().partition(|view| requests(view).is_some());
    groups.extend(others.into_iter().map(|view| vec![view]));
    for view in replies {
        let group = groups.iter_mut().find(|group| Some(group[0].name.as_str()) == requests(view));
        match group {
            Some(group) => group.push(view),
            None => groups.push(vec![view]),
        }
    }
    groups
}

/// Views that have the same rules, and the past of each window.
struct Views<'a> {
    views: Vec<&'a ViewConfig>,
    slice: Duration,
    /// By the length of the window in slices.
    windows: BTreeMap<u32, Past>,
}

impl<'a> Views<'a> {
    fn read(store: &Store, views: Vec<&'a ViewConfig>, slice: Duration) -> Result<Self> {
        let mut windows: BTreeMap<u32, Past> = BTreeMap::new();
        for view in &views {
            for window in view.rules.windows() {
                let window_ms = u64::try_from((slice * window).as_millis())?;
                let series = HourSeries::new(&view.name, &view.view, window_ms);
                let past = windows.entry(window).or_default();
                // One hour at a time, because a month may have millions of counts.
                for hour in store.stored_hours(&series)? {
                    store.hours(&series, hour..=hour)?.iter().for_each(|peaks| past.add(peaks));
                }
            }
        }
        Ok(Self { views, slice, windows })
    }

    /// Returns the suggested rules as text: first those of servers, then those of the configuration.
    fn suggest(&self, known: &Known) -> String {
        let view = self.views[0];
        let names: Vec<String> = self.views.iter().map(|view| view.name.clone()).collect();
        let (mut of_hosts, mut of_others) = (BTreeMap::new(), Vec::new());
        let mut named = BTreeSet::new();
        for rule in view.rules.rules() {
            let text = || RuleText::new(rule, names.clone(), self.slice);
            let mut of_rule = text();
            for (window, terms) in &rule.windows {
                let hosts = HostsOfRule::new(view, self.peaks(rule, *window), known);
                let most = most_threshold(&view.view, &rule.networks);
                let threshold = base(&hosts.others).map(|base| threshold(base).min(most));
                of_rule.set(*window, threshold, &hosts.reason(view));
                let threshold = threshold.map_or(terms.threshold, f64::from);
                for NamedHost { peak, what } in &hosts.named {
                    let of_host = self::threshold(peak.most).min(most);
                    let address = view.rules.address(peak.host);
                    // Of the services of a host, the largest one comes first.
                    if f64::from(of_host) > threshold && named.insert((address, *window)) {
                        let text = of_hosts.entry(address).or_insert_with(|| {
                            let mut text = text();
                            text.be_of(address);
                            text
                        });
                        text.set(*window, Some(of_host), &format!("{what}: {peak}"));
                    }
                }
            }
            of_others.push(of_rule);
        }
        let mut text = String::new();
        for (window, past) in &self.windows {
            let window = humantime::format_duration(self.slice * *window);
            // Text that is written to a string cannot fail.
            let _ = writeln!(text, "# {}, window {window}: {past}", names.join(", "));
        }
        for rule in of_hosts.values().chain(&of_others) {
            let _ = write!(text, "\n{rule}");
        }
        text
    }

    /// Returns the peaks of the hosts of `rule` within `window`, the largest first.
    fn peaks(&self, rule: &Rule, window: u32) -> Vec<HostPeak> {
        let rules = &self.views[0].rules;
        // An ignored host has no rule. Rules of one name differ in their networks.
        let is_of = |host| rules.rule(host).is_some_and(|of| of == rule);
        let mut peaks = self.windows.get(&window).map(Past::peaks).unwrap_or_default();
        peaks.retain(|peak| is_of(peak.host));
        peaks
    }
}

/// The hosts of a rule: those that get a rule of their own if their counts are larger, and the others.
struct HostsOfRule {
    named: Vec<NamedHost>,
    /// Peaks of the other hosts, the largest first.
    others: Vec<HostPeak>,
    /// Number of hosts that are left out, because they were attacked or attacked others.
    left_out: usize,
}

/// A host, and what it is.
struct NamedHost {
    peak: HostPeak,
    what: &'static str,
}

impl HostsOfRule {
    /// `peaks` are sorted, the largest first.
    fn new(view: &ViewConfig, peaks: Vec<HostPeak>, known: &Known) -> Self {
        let (mut named, mut others, mut left_out) = (Vec::new(), Vec::new(), 0);
        for peak in peaks {
            match known.get(&view.rules.name(peak.host)) {
                Some(Some(what)) => named.push(NamedHost { peak, what }),
                Some(None) => left_out += 1,
                None => others.push(peak),
            }
        }
        let most = others.len().saturating_sub(1).min(MOST_FAR);
        let is_far = |count: &usize| others[count - 1].most / FAR >= others[*count].most.max(1);
        let count = (1..=most).rev().find(is_far).unwrap_or(0);
        let what = "this host stands out, and no incident tells why, so look at it first";
        let far = others.drain(..count);
        named.extend(far.map(|peak| NamedHost { peak, what }));
        Self { named, others, left_out }
    }

    /// Returns the reason for the threshold of the other hosts.
    fn reason(&self, view: &ViewConfig) -> String {
        let other = if self.named.is_empty() { "" } else { "other " };
        // Hosts with fewer peers are not recorded.
        let least = view.sizes.threshold;
        let reason = match (base(&self.others), self.others.len()) {
            (None, _) if view.pairs.is_none() && least > LEAST_THRESHOLD => format!(
                "no {other}host had {least} peers, so the threshold is unchanged; `learn = true` records smaller counts"
            ),
            (None, _) => format!("no {other}host had {least} peers, so the threshold is unchanged"),
            (Some(base), 1) => format!("the only {other}host had at most {base} peers"),
            (Some(base), hosts @ ..HOSTS_OF_PERCENTILE) => {
                format!("all {hosts} {other}hosts had at most {base} peers")
            }
            (Some(base), hosts) => {
                format!("99.9 % of {hosts} {other}hosts had at most {base} peers")
            }
        };
        match self.left_out {
            0 => reason,
            1 => format!("{reason}; 1 host with other incidents is left out"),
            hosts => format!("{reason}; {hosts} hosts with other incidents are left out"),
        }
    }
}

/// Returns the count that the hosts did not exceed, apart from one in a thousand if there are many. `peaks` are sorted,
/// the largest first.
fn base(peaks: &[HostPeak]) -> Option<u32> {
    let exceeding = match peaks.len() {
        ..HOSTS_OF_PERCENTILE => 0,
        hosts => (hosts as f64 * (1.0 - PERCENTILE)) as usize,
    };
    peaks.get(exceeding).map(|peak| peak.most)
}

/// Returns the threshold for hosts that had at most `base` peers: 1.5 times as many, rounded up to two digits.
fn threshold(base: u32) -> u32 {
    let value = (f64::from(base) * ROOM).max(LEAST_THRESHOLD.into());
    let mut unit = 1.0;
    while value / unit >= 100.0 {
        unit *= 10.0;
    }
    ((value / unit).ceil() * unit) as u32
}

#[cfg(test)]
mod tests;

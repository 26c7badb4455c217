//! Scans that are slower than the thresholds of a rule.

use std::fmt;
use std::time::Duration;

use srlg_input::ViewOptions;
use srlg_input::contact::{HostKey, PeerKey, Role};

use super::versions;
use crate::config::peers::{Peers, Version};
use srlg_alerts::Rule;
use srlg_alerts::manager::view::ViewConfig;

/// Length of a window that finds slow scans.
const LONG: Duration = Duration::from_secs(3_600);

/// Rules that find no slow scans because all their windows are short.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SlowScans {
    pub(super) slowest: Vec<SlowestScan>,
}

/// The slowest scan that a rule finds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SlowestScan {
    pub(super) rule: String,
    /// IP version of the rule's hosts, or `None` if they have both.
    version: Option<Version>,
    pub(super) views: Vec<String>,
    /// Number of hosts that the scan contacts within `window`.
    pub(super) threshold: f64,
    pub(super) window: Duration,
}

impl SlowScans {
    /// Returns `None` if each rule of the views that count scans has a window of an hour or more.
    pub(super) fn of(views: &[ViewConfig], slice: Duration) -> Option<Self> {
        let mut slowest: Vec<SlowestScan> = Vec::new();
        for scan in views.iter().flat_map(|view| slowest_scans(view, slice)) {
            match slowest.iter_mut().find(|it| it.has_same_terms(&scan)) {
                Some(same) => same.views.extend(scan.views),
                None => slowest.push(scan),
            }
        }
        (!slowest.is_empty()).then_some(Self { slowest })
    }
}

impl SlowestScan {
    /// Returns the slowest scan that `rule` finds in `view`, unless the rule has a long window. A long window of
    /// another rule finds no scans by the hosts of this one.
    fn new(view: &ViewConfig, rule: &Rule, slice: Duration) -> Option<Self> {
        let longest = slice * *rule.windows.keys().next_back()?;
        if longest >= LONG {
            return None;
        }
        let scans = rule.windows.iter().map(|(slices, terms)| (terms.threshold, slice * *slices));
        let (threshold, window) = scans.min_by(|a, b| per_second(*a).total_cmp(&per_second(*b)))?;
        let is_of = |version: &Version| rule.networks.iter().all(|network| version.has(network));
        Some(Self {
            rule: rule.name.clone(),
            version: Version::ALL.into_iter().find(is_of),
            views: vec![view.name.clone()],
            threshold,
            window,
        })
    }

    fn has_same_terms(&self, other: &Self) -> bool {
        let terms = |it: &Self| (it.version, it.threshold, it.window);
        self.rule == other.rule && terms(self) == terms(other)
    }
}

/// Returns the slowest scan that each rule of `view` without a long window finds. Rules without hosts or peers in the
/// view are left out, and so are all rules if the view does not count scans.
fn slowest_scans(view: &ViewConfig, slice: Duration) -> Vec<SlowestScan> {
    let options = &view.view;
    let is_used = |rule: &&Rule| {
        let mut versions = versions(options, rule).into_iter();
        versions.any(|version| Peers::new(options, version, None).count > 0)
    };
    let rules = view.rules.rules().iter().filter(|_| finds_scans(options)).filter(is_used);
    rules.filter_map(|rule| SlowestScan::new(view, rule, slice)).collect()
}

/// Returns whether `view` counts the hosts that a host contacts. Scans from a network have more than one source.
fn finds_scans(view: &ViewOptions) -> bool {
    let is_of_hosts = view.host == HostKey::Address && view.peer == PeerKey::Address;
    is_of_hosts && view.role == Role::Source && view.prefixes.host4 == 32
}

fn per_second((threshold, window): (f64, Duration)) -> f64 {
    threshold / window.as_secs_f64()
}

impl fmt::Display for SlowScans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scan is not found if it is slower than ")?;
        for (at, scan) in self.slowest.iter().enumerate() {
            let SlowestScan { rule, version, views, threshold, window } = scan;
            let or = if at > 0 { " or " } else { "" };
            let rate = per_second((*threshold, *window));
            let digits = if rate >= 1.0 { 1 } else { 3 };
            let window = humantime::format_duration(*window);
            let plural = if views.len() > 1 { "s" } else { "" };
            let views = views.join(", ");
            let over = version.map_or_else(String::new, |version| format!(" over {version}"));
            write!(
                f,
                "{or}{threshold} hosts in {window} ({rate:.digits$} per second; rule {rule}{over}, view{plural} {views})"
            )?;
        }
        let Some(SlowestScan { threshold, window, .. }) = self.slowest.first() else {
            return Ok(());
        };
        let window = humantime::format_duration(*window);
        write!(
            f,
            "; to find slower scans, add a longer window to the rules, such as thresholds = {{ {window} = {threshold}, 1h = {threshold} }}"
        )
    }
}

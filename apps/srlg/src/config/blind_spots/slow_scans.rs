//! Scans that are slower than the thresholds of a view.

use std::fmt;
use std::time::Duration;

use srlg_input::ViewOptions;
use srlg_input::contact::{HostKey, PeerKey, Role};

use srlg_alerts::manager::view::ViewConfig;

/// Length of a window that finds slow scans.
const LONG: Duration = Duration::from_secs(3_600);

/// Views that find no slow scans because all their windows are short.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SlowScans {
    slowest: Vec<SlowestScan>,
}

/// The slowest scan that views find.
#[derive(Clone, Debug, PartialEq)]
struct SlowestScan {
    views: Vec<String>,
    /// Number of hosts that the scan contacts within `window`.
    threshold: f64,
    window: Duration,
}

impl SlowScans {
    /// Returns `None` if each of `views` that counts the contacted hosts of hosts has a window of an hour or more.
    pub(super) fn of(views: &[ViewConfig], slice: Duration) -> Option<Self> {
        let mut slowest: Vec<SlowestScan> = Vec::new();
        for (name, scan) in
            views.iter().filter_map(|view| Some((&view.name, slowest_scan(view, slice)?)))
        {
            let (threshold, window) = scan;
            match slowest.iter_mut().find(|it| (it.threshold, it.window) == scan) {
                Some(same) => same.views.push(name.clone()),
                None => slowest.push(SlowestScan { views: vec![name.clone()], threshold, window }),
            }
        }
        (!slowest.is_empty()).then_some(Self { slowest })
    }
}

/// Returns the threshold and the window of the slowest scan that `view` finds, unless the view does not count scans or
/// has a long window.
fn slowest_scan(view: &ViewConfig, slice: Duration) -> Option<(f64, Duration)> {
    let longest = slice * view.rules.windows().last().copied()?;
    if !finds_scans(&view.view) || longest >= LONG {
        return None;
    }
    let windows = view.rules.rules().iter().flat_map(|rule| &rule.windows);
    let scans = windows.map(|(slices, terms)| (terms.threshold, slice * *slices));
    scans.min_by(|a, b| per_second(*a).total_cmp(&per_second(*b)))
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
        for (at, SlowestScan { views, threshold, window }) in self.slowest.iter().enumerate() {
            let or = if at > 0 { " or " } else { "" };
            let rate = per_second((*threshold, *window));
            let digits = if rate >= 1.0 { 1 } else { 3 };
            let window = humantime::format_duration(*window);
            let plural = if views.len() > 1 { "s" } else { "" };
            let views = views.join(", ");
            write!(
                f,
                "{or}{threshold} hosts in {window} ({rate:.digits$} per second; view{plural} {views})"
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

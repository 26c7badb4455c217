//! Scans that are slower than the thresholds of a rule.

use std::fmt;
use std::time::Duration;

use srlg_input::ViewOptions;
use srlg_input::contact::{HostKey, PeerKey, Role};

use super::least::LeastAttack;
use srlg_alerts::manager::view::ViewConfig;

/// Length of a window that finds slow scans.
const LONG: Duration = Duration::from_secs(3_600);

/// Rules that find no slow scans because all their windows are short.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowScans {
    /// The slowest scan that each rule finds.
    pub(super) slowest: Vec<LeastAttack>,
}

impl SlowScans {
    /// Returns `None` if each rule of the views that count scans has a window of an hour or more. A long window of
    /// another rule finds no scans by the hosts of this one.
    pub(super) fn of(views: &[ViewConfig], slice: Duration) -> Option<Self> {
        let slowest = LeastAttack::of(views, finds_scans, |rule| {
            let longest = slice * *rule.windows.keys().next_back()?;
            let scans =
                rule.windows.iter().map(|(slices, terms)| (terms.threshold, slice * *slices));
            let slowest = scans.min_by(|a, b| per_second(*a).total_cmp(&per_second(*b)));
            slowest.filter(|_| longest < LONG)
        });
        (!slowest.is_empty()).then_some(Self { slowest })
    }
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
            let LeastAttack { threshold, window, .. } = scan;
            let or = if at > 0 { " or " } else { "" };
            let rate = per_second((*threshold, *window));
            let digits = if rate >= 1.0 { 1 } else { 3 };
            let window = humantime::format_duration(*window);
            write!(f, "{or}{threshold} hosts in {window} ({rate:.digits$} per second; {scan})")?;
        }
        let Some(LeastAttack { threshold, window, .. }) = self.slowest.first() else {
            return Ok(());
        };
        let window = humantime::format_duration(*window);
        write!(
            f,
            "; to find slower scans, add a longer window to the rules, such as thresholds = {{ {window} = {threshold}, 1h = {threshold} }}"
        )
    }
}

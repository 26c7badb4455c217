//! Windows that are shorter than the time between two flow records of a pair.

use std::fmt;
use std::time::Duration;

use super::has_hosts;
use srlg_alerts::manager::view::ViewConfig;

/// Shortest active timeout that exporters commonly have. The default of most exporters is 60 s to 30 minutes.
const ACTIVE_TIMEOUT: Duration = Duration::from_secs(60);

/// Views of flow records with a rule whose longest window is shorter than the usual active timeout of exporters.
#[derive(Clone, Debug, PartialEq)]
pub struct ShortWindows {
    pub(super) views: Vec<String>,
    /// Shortest of the longest windows of the rules.
    pub(super) window: Duration,
}

impl ShortWindows {
    /// Returns `None` if no rule has short windows only.
    pub(super) fn of(views: &[ViewConfig], slice: Duration) -> Option<Self> {
        // A long window of another rule does not help the hosts of this one.
        let longest = |view: &ViewConfig| {
            let rules = view.rules.rules().iter().filter(|rule| has_hosts(&view.view, rule, None));
            rules.filter_map(|rule| Some(slice * *rule.windows.keys().next_back()?)).min()
        };
        let short = views.iter().filter_map(|view| Some((view, longest(view)?)));
        let short: Vec<_> = short.filter(|(_, window)| *window < ACTIVE_TIMEOUT).collect();
        let window = short.iter().map(|(_, window)| *window).min()?;
        Some(Self { views: short.iter().map(|(view, _)| view.name.clone()).collect(), window })
    }
}

impl fmt::Display for ShortWindows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { views, window } = self;
        let plural = if views.len() > 1 { "s" } else { "" };
        write!(
            f,
            "view{plural} {}: the window of {} is shorter than the active timeout of most exporters (60 s to 30 minutes), so pairs with continuous traffic leave it between two flow records; use a window of at least 2m and an active timeout of 60 s",
            views.join(", "),
            humantime::format_duration(*window)
        )
    }
}

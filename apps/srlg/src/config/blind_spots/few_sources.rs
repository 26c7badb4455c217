//! Floods from fewer sources than the thresholds of a rule.

use std::fmt;
use std::time::Duration;

use srlg_input::ViewOptions;
use srlg_input::contact::{HostKey, PeerKey, Role};

use super::least::LeastAttack;
use srlg_alerts::manager::view::ViewConfig;

/// Threshold that finds reflections by servers of little-used protocols.
const FEW: f64 = 128.0;

/// Rules that find no floods from few sources because all their thresholds are high.
#[derive(Clone, Debug, PartialEq)]
pub struct FewSources {
    /// The flood from the fewest sources that each rule finds.
    pub(super) least: Vec<LeastAttack>,
}

impl FewSources {
    /// Returns `None` if each rule of the views that count floods has a low threshold.
    pub(super) fn of(views: &[ViewConfig], slice: Duration) -> Option<Self> {
        let least = LeastAttack::of(views, finds_floods, |rule| {
            let windows = rule.windows.iter();
            let terms = windows.map(|(slices, terms)| (terms.threshold, slice * *slices));
            // The longest of the windows with the same threshold is the most sensitive one.
            let least = terms.rev().min_by(|(a, _), (b, _)| a.total_cmp(b));
            least.filter(|(threshold, _)| *threshold > FEW)
        });
        (!least.is_empty()).then_some(Self { least })
    }
}

/// Returns whether `view` counts the hosts that send to a host.
fn finds_floods(view: &ViewOptions) -> bool {
    let is_of_hosts = view.host == HostKey::Address && view.peer == PeerKey::Address;
    is_of_hosts && view.role == Role::Destination && view.prefixes.host4 == 32
}

impl fmt::Display for FewSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a flood or reflection is not found if it has fewer sources than ")?;
        for (at, flood) in self.least.iter().enumerate() {
            let LeastAttack { threshold, window, .. } = flood;
            let or = if at > 0 { " or " } else { "" };
            let window = humantime::format_duration(*window);
            write!(f, "{or}{threshold} in {window} ({flood})")?;
        }
        let Some(LeastAttack { window, .. }) = self.least.first() else {
            return Ok(());
        };
        let window = humantime::format_duration(*window);
        write!(
            f,
            "; to find floods from fewer sources, lower the thresholds of the rules, such as thresholds = {{ {window} = {FEW} }}"
        )
    }
}

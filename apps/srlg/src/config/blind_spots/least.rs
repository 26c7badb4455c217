//! The least attacks that the rules of views find.

use std::fmt;
use std::time::Duration;

use srlg_input::ViewOptions;

use super::versions;
use crate::config::peers::{Peers, Version};
use srlg_alerts::Rule;
use srlg_alerts::manager::view::ViewConfig;

/// The least attack of a kind that a rule finds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LeastAttack {
    pub(super) rule: String,
    /// IP version of the rule's hosts, or `None` if they have both.
    version: Option<Version>,
    pub(super) views: Vec<String>,
    /// Number of peers of the attack within `window`.
    pub(super) threshold: f64,
    pub(super) window: Duration,
}

impl LeastAttack {
    /// Returns the least attacks that the rules of the views find for which `finds` returns `true`. For each rule,
    /// `terms` returns its most sensitive threshold and window, or `None` if the rule is left out. Rules without hosts
    /// or peers in a view are left out, too.
    pub(super) fn of(
        views: &[ViewConfig],
        finds: impl Fn(&ViewOptions) -> bool,
        terms: impl Fn(&Rule) -> Option<(f64, Duration)>,
    ) -> Vec<Self> {
        let mut least: Vec<Self> = Vec::new();
        for view in views.iter().filter(|view| finds(&view.view)) {
            let is_used = |rule: &&Rule| {
                let mut versions = versions(&view.view, rule).into_iter();
                versions.any(|version| Peers::new(&view.view, version, None).count > 0)
            };
            for rule in view.rules.rules().iter().filter(is_used) {
                let Some(terms) = terms(rule) else { continue };
                let attack = Self::new(view, rule, terms);
                match least.iter_mut().find(|it| it.has_same_terms(&attack)) {
                    Some(same) => same.views.extend(attack.views),
                    None => least.push(attack),
                }
            }
        }
        least
    }

    fn new(view: &ViewConfig, rule: &Rule, (threshold, window): (f64, Duration)) -> Self {
        let is_of = |version: &Version| rule.networks.iter().all(|network| version.has(network));
        Self {
            rule: rule.name.clone(),
            version: Version::ALL.into_iter().find(is_of),
            views: vec![view.name.clone()],
            threshold,
            window,
        }
    }

    fn has_same_terms(&self, other: &Self) -> bool {
        let terms = |it: &Self| (it.version, it.threshold, it.window);
        self.rule == other.rule && terms(self) == terms(other)
    }
}

/// Names the rule and its views.
impl fmt::Display for LeastAttack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, version, views, .. } = self;
        let over = version.map_or_else(String::new, |version| format!(" over {version}"));
        let plural = if views.len() > 1 { "s" } else { "" };
        write!(f, "rule {rule}{over}, view{plural} {}", views.join(", "))
    }
}

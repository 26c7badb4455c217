//! A suggested `[[rule]]` table as text, with comments that give the reasons.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use srlg_alerts::{Rule, Terms};
use toml::Value;

use crate::config::all_hosts;

/// A `[[rule]]` table.
pub(super) struct RuleText {
    reasons: Vec<String>,
    name: String,
    views: Vec<String>,
    networks: Vec<String>,
    slice: Duration,
    /// Thresholds by the length of the window in slices.
    thresholds: BTreeMap<u32, f64>,
    terms: Terms,
}

impl RuleText {
    /// Creates the text of `rule` in `views`, with its own thresholds.
    pub(super) fn new(rule: &Rule, views: Vec<String>, slice: Duration) -> Self {
        let are_all = rule.networks == all_hosts();
        let networks = rule.networks.iter().filter(|_| !are_all).map(ToString::to_string);
        Self {
            reasons: Vec::new(),
            name: rule.name.clone(),
            views,
            networks: networks.collect(),
            slice,
            thresholds: rule.windows.iter().map(|(window, it)| (*window, it.threshold)).collect(),
            terms: rule.windows.values().next().copied().unwrap_or_default(),
        }
    }

    /// Makes this the rule of the host with the given address.
    pub(super) fn be_of(&mut self, address: IpAddr) {
        self.name = address.to_string();
        self.networks = vec![address.to_string()];
    }

    /// Sets the threshold of a window, unless it is `None`, and adds the reason.
    pub(super) fn set(&mut self, window: u32, threshold: Option<u32>, reason: &str) {
        if let Some(threshold) = threshold {
            self.thresholds.insert(window, threshold.into());
        }
        self.reasons.push(format!("{}: {reason}", self.window(window)));
    }

    fn window(&self, slices: u32) -> String {
        time(self.slice * slices)
    }
}

fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string().replace(' ', "")
}

/// Writes the reasons as comments, and the table with all keys that are not defaults.
impl fmt::Display for RuleText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reasons.iter().try_for_each(|reason| writeln!(f, "# {reason}"))?;
        let text = |text: &String| Value::String(text.clone());
        let list = |list: &[String]| Value::Array(list.iter().map(text).collect());
        writeln!(f, "[[rule]]\nname = {}\nviews = {}", text(&self.name), list(&self.views))?;
        if !self.networks.is_empty() {
            writeln!(f, "networks = {}", list(&self.networks))?;
        }
        let thresholds = self.thresholds.iter();
        let thresholds =
            thresholds.map(|(window, threshold)| format!("{} = {threshold}", self.window(*window)));
        writeln!(f, "thresholds = {{ {} }}", thresholds.collect::<Vec<_>>().join(", "))?;
        let (terms, default) = (&self.terms, Terms::default());
        let ms = |ms| time(Duration::from_millis(ms));
        for (key, is_default, value) in [
            (
                "above-usual",
                terms.above_usual.is_none(),
                terms.above_usual.map(|it| it.to_string()).unwrap_or_default(),
            ),
            ("down", terms.down == default.down, terms.down.to_string()),
            ("for", terms.for_slices == default.for_slices, terms.for_slices.to_string()),
            ("of", terms.of_slices == default.of_slices, terms.of_slices.to_string()),
            ("hold", terms.hold_ms == default.hold_ms, format!("{:?}", ms(terms.hold_ms))),
            ("repeat", terms.repeat_ms == default.repeat_ms, format!("{:?}", ms(terms.repeat_ms))),
            (
                "unconfirmed-after",
                terms.unconfirmed_after_ms == default.unconfirmed_after_ms.max(terms.hold_ms),
                format!("{:?}", ms(terms.unconfirmed_after_ms)),
            ),
        ] {
            if !is_default {
                writeln!(f, "{key} = {value}")?;
            }
        }
        Ok(())
    }
}

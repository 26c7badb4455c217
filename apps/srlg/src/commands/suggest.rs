//! `srlg suggest`: thresholds from the counts in a state folder.
//!
//! Shape: for each rule, window and view the largest counts of its hosts; a threshold that 99.9 % of them never reached,
//! and half as much again.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::alerts::maxima::Maxima;
use crate::config::{Config, ViewConfig};
use crate::notify::ledger::maxima_key;
use crate::notify::store::Store;

/// Of the hosts of a rule so many stay below.
const PERCENTILE: f64 = 0.999;

/// What is suggested is so much more than that.
const ROOM: f64 = 1.5;

/// Hosts that are named.
const NAMED: usize = 3;

/// Options of `srlg suggest`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Configuration file, with the state of the program that counts
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Returns the thresholds that `args` ask for.
pub fn suggest(args: &Args) -> Result<String> {
    let config = Config::read(&args.config)?;
    let Some(state) = &config.general.state else {
        bail!(
            "{} has no state, which thresholds are made of: set state, and run for a day",
            args.config.display()
        );
    };
    let store = Store::read(state)?;
    let mut text = String::new();
    for view in &config.views {
        for window in view.rules.windows() {
            let key = maxima_key(&view.name, window);
            let Some(maxima) = store.state(&key)? else { continue };
            let maxima: Maxima = serde_json::from_slice(&maxima)
                .with_context(|| format!("{key} in the database is damaged"))?;
            suggest_of(view, window, &config, &maxima, &mut text)?;
        }
    }
    if text.is_empty() {
        bail!("nothing has been counted yet: let srlg run for a day");
    }
    Ok(text)
}

fn suggest_of(
    view: &ViewConfig,
    window: u32,
    config: &Config,
    maxima: &Maxima,
    text: &mut String,
) -> Result<()> {
    let counts = maxima.counts();
    let length = humantime::format_duration(config.general.slice * window);
    let hours = maxima.until_ms.saturating_sub(maxima.since_ms) as f64 / 3.6e6;
    writeln!(
        text,
        "view {}, window {length}, {hours:.1} h of today and the day before:",
        view.name
    )?;
    for rule in view.rules.rules() {
        let Some(terms) = rule.windows.get(&window) else { continue };
        let is_of = |host| {
            let told = view.rules.explain(host).rule;
            told.is_some_and(|(of, _)| of.name == rule.name)
        };
        let mut of: Vec<_> = counts.iter().filter(|(host, _)| is_of(*host)).copied().collect();
        of.sort_by(|a, b| b.1.total_cmp(&a.1));
        let threshold = terms.threshold;
        if of.is_empty() {
            let least = view.rules.least(Some(window));
            writeln!(
                text,
                "  rule {}: no host had {least:.0}; its threshold is {threshold}, and may be less",
                rule.name
            )?;
            continue;
        }
        let at = ((of.len() as f64) * (1.0 - PERCENTILE)) as usize;
        let above = of.iter().filter(|(_, count)| *count >= threshold).count();
        let named: Vec<String> =
            of.iter().take(NAMED).map(|(host, count)| format!("{host} {count:.0}")).collect();
        writeln!(
            text,
            "  rule {}: {} hosts were reported, {above} of them above its threshold of {threshold}; the largest: {}",
            rule.name,
            of.len(),
            named.join(", ")
        )?;
        writeln!(
            text,
            "    99.9 % of them stayed at or below {:.0}: thresholds = {{ {} = {} }} would leave room",
            of[at].1,
            length.to_string().replace(' ', ""),
            round_up(of[at].1 * ROOM)
        )?;
    }
    Ok(())
}

/// To two digits, as people write thresholds.
fn round_up(value: f64) -> u64 {
    let mut unit = 1.0;
    while value / unit >= 100.0 {
        unit *= 10.0;
    }
    ((value / unit).ceil() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::round_up;

    #[test]
    fn thresholds_have_two_digits() {
        for (value, rounded) in
            [(7.2, 8), (99.5, 100), (101.0, 110), (1_536.0, 1_600), (45_001.0, 46_000)]
        {
            assert_eq!(round_up(value), rounded);
        }
    }
}

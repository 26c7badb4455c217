//! `srlg suggest`: suggests thresholds from the peer counts in a state folder.
//!
//! For each rule, window and view, the command evaluates the largest peer count of each host without an alert. The
//! suggested threshold is at least 50 % above a count that 99.9 % of these hosts never exceeded.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use srlg_input::contact::Name;

use crate::config::Config;
use srlg_alerts::Rule;
use srlg_alerts::manager::view::ViewConfig;
use srlg_alerts::maxima::Maxima;
use srlg_notify::alert_store::maxima_key;
use srlg_notify::store::Store;
use srlg_notify::store::history::IncidentFilter;

/// Share of a rule's hosts that never exceeded the peer count on which a suggestion is based.
const PERCENTILE: f64 = 0.999;

/// Ratio of a suggested threshold to the peer count on which it is based, before rounding.
const ROOM: f64 = 1.5;

/// Minimum number of hosts for [`PERCENTILE`]. With fewer hosts, the largest peer count is used.
const HOSTS_OF_PERCENTILE: usize = 1_000;

/// Duration of data below which a warning is printed: a day, minus an hour for restarts.
const DAY: Duration = Duration::from_secs(23 * 3600);

/// Maximum number of hosts that a line of the output names.
const NAMED: usize = 3;

/// Options of `srlg suggest`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Configuration file of the running srlg; its state folder must be set
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Returns suggestions for all thresholds of the configuration in `args`.
pub fn suggest(args: &Args) -> Result<String> {
    let config = Config::read(&args.config)?;
    ensure!(!config.views.is_empty(), "cannot suggest thresholds: {}", config.task.mismatch());
    let Some(state) = &config.general.state else {
        bail!(
            "cannot suggest thresholds: {} has no state; set state and let srlg run for a day",
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
                .with_context(|| format!("cannot decode {key} in the database"))?;
            let alerted = alerted_hosts(&store, &view.name, maxima.first_ms)?;
            let length = config.general.slice * window;
            Counts { view, window, length, maxima, alerted }.suggest(&mut text)?;
        }
    }
    if text.is_empty() {
        bail!("cannot suggest thresholds: no peer counts in the state; let srlg run for a day");
    }
    Ok(text)
}

/// Returns the hosts with alerts in `view` that were active at `since_ms` or later. Their peer counts are excluded,
/// because they are not typical.
fn alerted_hosts(store: &Store, view: &str, since_ms: u64) -> Result<HashSet<Name>> {
    let filter = IncidentFilter {
        from: Some(since_ms),
        view: Some(view.to_owned()),
        ..IncidentFilter::default()
    };
    let last = store.last_notifications(&filter)?.into_iter();
    Ok(last.map(|(_, notification)| notification.host).collect())
}

/// Largest peer counts of a view's hosts, for one length of the window.
struct Counts<'a> {
    view: &'a ViewConfig,
    /// Length of the window, in slices.
    window: u32,
    length: Duration,
    maxima: Maxima,
    /// Hosts whose peer counts are excluded.
    alerted: HashSet<Name>,
}

impl Counts<'_> {
    fn suggest(&self, text: &mut String) -> Result<()> {
        let Self { view, window, length, maxima, .. } = self;
        let (counted, length) = (maxima.counted(), humantime::format_duration(*length));
        let hours = counted.as_secs_f64() / 3600.0;
        writeln!(
            text,
            "view {}, window {length}, {hours:.1} h of data from the last two days:",
            view.name
        )?;
        if counted < DAY {
            writeln!(
                text,
                "  warning: less than a day of data; let srlg run longer before you use these thresholds"
            )?;
        }
        view.rules
            .rules()
            .iter()
            .filter(|rule| rule.windows.contains_key(window))
            .try_for_each(|rule| self.suggest_for(rule, text))
    }

    fn suggest_for(&self, rule: &Rule, text: &mut String) -> Result<()> {
        let Self { view, window, length, maxima, alerted } = self;
        let threshold = rule.windows[window].threshold;
        // An ignored host has no rule.
        let is_of = |host| view.rules.rule(host).is_some_and(|of| of.name == rule.name);
        let mut counts = maxima.counts();
        counts.retain(|(host, _)| is_of(*host));
        counts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (left_out, counts): (Vec<_>, Vec<_>) =
            counts.into_iter().partition(|(host, _)| alerted.contains(&view.rules.name(*host)));
        if !left_out.is_empty() {
            writeln!(
                text,
                "  rule {}: {} excluded because of alerts, the largest: {}",
                rule.name,
                hosts(left_out.len()),
                largest(view, &left_out)
            )?;
        }
        let Some((_, count)) = counts.get((counts.len() as f64 * (1.0 - PERCENTILE)) as usize)
        else {
            writeln!(
                text,
                "  rule {}: no host without an alert had enough peers to be recorded; try a lower threshold than {threshold}",
                rule.name
            )?;
            return Ok(());
        };
        let above = counts.iter().filter(|(_, count)| *count >= threshold).count();
        writeln!(
            text,
            "  rule {}: {} without an alert, {above} of them at or above the threshold of {threshold}, the largest: {}",
            rule.name,
            hosts(counts.len()),
            largest(view, &counts)
        )?;
        let part = if counts.len() < HOSTS_OF_PERCENTILE { "all" } else { "99.9 %" };
        writeln!(
            text,
            "    {part} of them stayed at or below {count:.0}; thresholds = {{ {} = {} }} adds a margin of 50 %",
            humantime::format_duration(*length).to_string().replace(' ', ""),
            round_up(count * ROOM)
        )?;
        Ok(())
    }
}

fn hosts(count: usize) -> String {
    if count == 1 { "1 host".to_owned() } else { format!("{count} hosts") }
}

/// Returns the first [`NAMED`] hosts in `counts` with their peer counts, as text.
fn largest(view: &ViewConfig, counts: &[(IpAddr, f64)]) -> String {
    let named = counts.iter().take(NAMED);
    let named = named.map(|(host, count)| format!("{} {count:.0}", view.rules.name(*host)));
    named.collect::<Vec<_>>().join(", ")
}

/// Rounds `value` up to an integer that has at most two significant digits.
fn round_up(value: f64) -> u64 {
    let mut unit = 1.0;
    while value / unit >= 100.0 {
        unit *= 10.0;
    }
    ((value / unit).ceil() * unit) as u64
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Returns the suggestions for `hours` hours of data about `hosts` hosts. Hosts are numbered from 0, and host N had
    /// N + 100 peers.
    fn suggestions(hours: u64, hosts: u32, alerted: &[u32]) -> String {
        let config = Config::parse(
            "slice = '60s'\n[[rule]]\nname = 'all'\nthresholds = { 10m = 1000 }\n\
                [[allow]]\nwhy = 'known'\nhosts = ['0.0.11.182']",
        );
        let view = &config.unwrap().views[0];
        let host = |number| IpAddr::from(Ipv4Addr::from_bits(number));
        let mut maxima = Maxima::default();
        for minute in 1..=hours * 60 {
            maxima.add_slice(minute * 60_000, 60_000);
        }
        (0..hosts).for_each(|number| maxima.add(host(number), f64::from(number + 100)));
        let alerted = alerted.iter().map(|it| host(*it).into()).collect();
        let length = Duration::from_secs(600);
        let mut text = String::new();
        Counts { view, window: 10, length, maxima, alerted }.suggest(&mut text).unwrap();
        text
    }

    #[test]
    fn counts_of_incidents_are_left_out_and_a_day_is_asked_for() {
        let texts = [
            suggestions(30, 3_000, &[2_999, 2_997]),
            suggestions(30, 20, &[]),
            suggestions(5, 20, &[19]),
            suggestions(24, 1, &[0]),
        ];
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn thresholds_have_two_digits() {
        for (value, rounded) in
            [(7.2, 8), (99.5, 100), (101.0, 110), (1_536.0, 1_600), (45_001.0, 46_000)]
        {
            assert_eq!(round_up(value), rounded);
        }
    }
}

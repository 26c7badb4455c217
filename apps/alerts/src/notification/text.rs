//! The facts in the sentence of a notification.

use std::time::{Duration, UNIX_EPOCH};

use crate::notification::{Context, Detail, MOSTLY, NotifiedSite, main_port};
use crate::{Alert, SilentSource, Status, Why, WindowCount};

/// Maximum number of sites that the text names.
const NAMED_SITES: usize = 3;

/// The last second of the year 9999, in milliseconds since the Unix epoch.
const MOST_MS: u64 = 253_402_300_799_000;

/// Returns the facts about `alert`. `sites` are the sites that saw the host, in descending order of their peer
/// counts. In a replay, the end of the slice follows, in UTC.
pub(super) fn facts(alert: &Alert, context: &Context, sites: &[NotifiedSite]) -> String {
    let facts = facts_without_time(alert, context, sites);
    if !context.is_replay {
        return facts;
    }
    // The largest time is in the year 9999, the last one that can be formatted.
    let time = UNIX_EPOCH + Duration::from_millis(alert.now_ms.min(MOST_MS));
    format!("{facts}; data of {}", humantime::format_rfc3339_seconds(time))
}

fn facts_without_time(alert: &Alert, context: &Context, sites: &[NotifiedSite]) -> String {
    let WindowCount { cardinality, std_error, threshold, is_lower_bound, usual, .. } = alert.main();
    let label = context.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
    let host = format!("{}{label}", context.host_packing.name(alert.host));
    let peers = context.unit();
    if alert.status == Status::End {
        let lasted = alert.until_ms.unwrap_or(alert.now_ms).saturating_sub(alert.start_ms) / 1_000;
        let peak = alert.windows.iter().map(|count| count.peak).fold(0.0, f64::max);
        let unconfirmed = match alert.why {
            Why::Unconfirmed => ", not confirmed",
            _ => "",
        };
        let rates = context.peak_rates;
        let rates = if rates.is_known() { format!(", {rates}") } else { String::new() };
        return format!(
            "{host}: ended after {lasted} s{unconfirmed}; peak: {peak:.0} {peers}{rates}"
        );
    }
    let seconds = u64::from(alert.main().slices) as f64 * context.slice_ms as f64 / 1e3;
    if !alert.silent.is_empty() {
        let silent: Vec<_> = alert.silent.iter().map(SilentSource::to_string).collect();
        return format!(
            "{host}: below the threshold of {threshold} {peers} in the last {seconds} s; cannot confirm the end: {}",
            silent.join(", ")
        );
    }
    // The count is too small to be reported, but the alert has not ended, because the window has a data gap.
    if cardinality == 0.0 && alert.status == Status::Update {
        return format!(
            "{host}: below the threshold of {threshold} {peers} in the last {seconds} s; the end is not confirmed yet"
        );
    }
    let at_least = if is_lower_bound { "at least " } else { "" };
    // In a view of ports or services, the peers or hosts already contain the port.
    let detail = context.evidence.detail.as_ref().filter(|_| !context.has_ports());
    let did = context.did();
    let usual = usual.map(|usual| format!(", usual at this time: up to {}", usual.most));
    let usual = usual.unwrap_or_default();
    let mostly = detail.map(mostly).unwrap_or_default();
    let rates = context.evidence.rates;
    let rates = if rates.is_known() { format!(", {rates}") } else { String::new() };
    format!(
        "{host} {did} {at_least}{cardinality:.0} ± {std_error:.0} {peers} in the last {seconds} s (threshold {threshold}{usual}){mostly}{rates}{}",
        at(sites)
    )
}

/// Returns the part of the text that names the source port and the destination port of most contacts.
fn mostly(detail: &Detail) -> String {
    let to = detail.ports.first().filter(|(_, share)| *share >= MOSTLY);
    match (main_port(&detail.source_ports), to) {
        (Some(from), Some((to, _))) => format!(", mostly from {from} to {to}"),
        (Some(from), None) => format!(", mostly from {from}"),
        (None, Some((to, _))) => format!(", mostly {to}"),
        (None, None) => String::new(),
    }
}

/// Returns the part of the text that names the sites with the largest peer counts.
fn at(sites: &[NotifiedSite]) -> String {
    let (named, others) = sites.split_at(sites.len().min(NAMED_SITES));
    let named: Vec<_> = named.iter().map(NotifiedSite::to_string).collect();
    match (named.is_empty(), others.len()) {
        (true, _) => String::new(),
        (false, 0) => format!(", at {}", named.join(", ")),
        (false, 1) => format!(", at {} and 1 other site", named.join(", ")),
        (false, more) => format!(", at {} and {more} other sites", named.join(", ")),
    }
}

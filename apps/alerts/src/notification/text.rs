//! The facts in the sentence of a notification.

use crate::notification::{Context, MOSTLY, NotifiedSite};
use crate::{Alert, SilentSource, Status, Why, WindowCount};

/// Maximum number of sites that the text names.
const NAMED_SITES: usize = 3;

/// Returns the facts about `alert`. `sites` are the sites that saw the host, in descending order of their peer
/// counts.
pub(super) fn facts(alert: &Alert, context: &Context, sites: &[NotifiedSite]) -> String {
    let WindowCount { cardinality, std_error, threshold, is_lower_bound, .. } = alert.main();
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
    let detail = context.evidence.detail.as_ref().filter(|_| context.kind_of_ports().is_none());
    let port = detail.and_then(|detail| detail.ports.first());
    let did = context.did();
    let mostly = port.filter(|(_, share)| *share >= MOSTLY);
    let mostly = mostly.map(|(port, _)| format!(", mostly {port}")).unwrap_or_default();
    let rates = context.evidence.rates;
    let rates = if rates.is_known() { format!(", {rates}") } else { String::new() };
    format!(
        "{host} {did} {at_least}{cardinality:.0} ± {std_error:.0} {peers} in the last {seconds} s (threshold {threshold}){mostly}{rates}{}",
        at(sites)
    )
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

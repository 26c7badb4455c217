//! The sampled peers of an incident, their networks, and its series, as CSV (RFC 4180).
//!
//! Invariant: a spreadsheet never interprets a cell as a formula. This matters because AS names come from third
//! parties.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::history::{with_incident, with_series};
use super::state::WebState;
use srlg_alerts::notification::Notification;
use srlg_alerts::origins::Origin;
use srlg_alerts::series::AlertSeries;
use srlg_alerts::{AlertId, Status};

pub(super) async fn peers(
    State(shared): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
) -> Response {
    let usage = "/api/v1/incidents/ID/peers.csv";
    with_incident(shared, asked, usage, |incident| {
        download(&incident.notifications, "peers", peer_rows)
    })
    .await
}

pub(super) async fn prefixes(
    State(shared): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
) -> Response {
    let usage = "/api/v1/incidents/ID/prefixes.csv";
    with_incident(shared, asked, usage, |incident| {
        download(&incident.notifications, "prefixes", prefix_rows)
    })
    .await
}

pub(super) async fn series(
    State(shared): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
) -> Response {
    let usage = "/api/v1/incidents/ID/series.csv";
    let work = |id, series: &AlertSeries| file(id, "series", &series_rows(series));
    with_series(&shared, asked, usage, work).await
}

/// Responds with a CSV file that contains the `rows` of the last detailed notification.
fn download(
    notifications: &[Notification],
    what: &str,
    rows: fn(&Notification) -> Vec<Vec<String>>,
) -> Response {
    // The end of an alert has no details.
    let detailed = notifications.iter().rfind(|notification| notification.status != Status::End);
    let Some(notification) = detailed.or(notifications.last()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    file(notification.id, what, &rows(notification))
}

/// Responds with a CSV file about an incident.
fn file(id: AlertId, what: &str, rows: &[Vec<String>]) -> Response {
    let name = format!("attachment; filename=\"srlg-{id}-{what}.csv\"");
    let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, &name)];
    let lines = rows.iter().map(|cells| {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        cells.join(",") + "\r\n"
    });
    (headers, lines.collect::<String>()).into_response()
}

fn peer_rows(notification: &Notification) -> Vec<Vec<String>> {
    let peers = notification.peers.iter().map(|peer| {
        let peer = peer.to_string();
        let origin = origin_cells(notification.origins.known.get(&peer));
        [&[peer], &origin[..]].concat()
    });
    [head(&["peer"])].into_iter().chain(peers).collect()
}

fn prefix_rows(notification: &Notification) -> Vec<Vec<String>> {
    let prefixes = notification.top_prefixes.iter().map(|(prefix, share)| {
        let prefix = prefix.to_string();
        let origin = origin_cells(notification.origins.known.get(&prefix));
        [&[prefix, share.to_string()], &origin[..]].concat()
    });
    [head(&["prefix", "share"])].into_iter().chain(prefixes).collect()
}

/// Returns the points of a series, oldest first. A missing value is empty.
fn series_rows(series: &AlertSeries) -> Vec<Vec<String>> {
    let head = ["time_ms", "peers", "packets_per_second", "bits_per_second"];
    let text = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let points = series.points().map(|point| {
        let values = [point.peers, point.packets_per_second, point.bits_per_second];
        [point.time_ms.to_string()].into_iter().chain(values.map(text)).collect()
    });
    [head.map(str::to_owned).to_vec()].into_iter().chain(points).collect()
}

fn head(first: &[&str]) -> Vec<String> {
    first.iter().chain(&["asn", "as_name", "country"]).map(ToString::to_string).collect()
}

fn origin_cells(origin: Option<&Origin>) -> [String; 3] {
    let Origin { asn, as_name, country } = origin.cloned().unwrap_or_default();
    let asn = asn.map(|asn| asn.to_string());
    [asn, as_name, country].map(Option::unwrap_or_default)
}

/// Returns `cell` quoted for CSV. An apostrophe precedes each part that a spreadsheet would interpret as a formula.
fn escape(cell: &str) -> String {
    let formula = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let is_formula = |part: &str| part.trim_start().starts_with(formula);
    // In some locales, spreadsheets also split cells at semicolons. Quotes then do not protect line breaks.
    let parts = cell.split_inclusive([';', '\t', '\r', '\n']);
    let marked = parts.map(|part| format!("{}{part}", if is_formula(part) { "'" } else { "" }));
    let cell: String = marked.collect();
    match cell.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn cells_are_quoted_and_are_no_formulas() {
        for (cell, expected) in [
            ("", ""),
            ("192.0.2.1 tcp/443", "192.0.2.1 tcp/443"),
            ("2001:db8::/64", "2001:db8::/64"),
            ("Example, Inc.", "\"Example, Inc.\""),
            ("the \"Net\"", "\"the \"\"Net\"\"\""),
            ("two\r\nlines", "\"two\r\nlines\""),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("  =1+1", "'  =1+1"),
            ("\t=1", "\t'=1"),
            ("\r1", "\"\r1\""),
            ("a; b", "a; b"),
            ("a;=1+1;b", "a;'=1+1;b"),
            ("a; -1", "a;' -1"),
            ("a\n@b", "\"a\n'@b\""),
            ("a\t+1", "a\t'+1"),
            ("＝1", "'＝1"),
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("a=b", "a=b"),
        ] {
            assert_eq!(escape(cell), expected);
        }
    }
}

//! Tests of the files of the web page, and of the files for Prometheus and Grafana.

use std::collections::BTreeSet;

use srlg_system::now_ms;

use super::made::{answer, get, overview, send, start};

const RULES: &str = include_str!("../../../service/alerts.rules.yml");
const DASHBOARD: &str = include_str!("../../../service/grafana.json");

#[test]
fn files_of_the_page_are_sent_again_only_when_they_change() {
    let (web, _overviews) = start(overview(now_ms()));
    let (_, _, page) = get(&web, "/");
    let (_, _, detail) = get(&web, "/incident/0123456789abcdef");
    let (_, _, wall) = get(&web, "/wall");
    let styles = ["/icon.svg", "/page.css", "/wall.css", "/uplot.css", "/uplot.js", "/common.js"];
    let scripts = [
        "/rules.js",
        "/incident.js",
        "/chart.js",
        "/history.js",
        "/events.js",
        "/page.js",
        "/wall.js",
        "/detail.js",
    ];
    let pages = ["/", "/wall", "/host/192.0.2.1"];
    for path in styles.into_iter().chain(scripts).chain(pages) {
        let name = format!("\"{}\"", &path[1..]);
        let is_used = page.contains(&name) || wall.contains(&name);
        let is_page = pages.contains(&path);
        assert!(is_page || is_used || detail.contains(&format!("\"..{path}\"")), "{path}");
        let (status, head, body) = get(&web, path);
        assert_eq!((status, body.is_empty()), (200, false), "{path}");
        assert!(head.contains("cache-control: no-cache"), "{head}");
        let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
        for (known, expected) in [(tag, 304), ("\"x\"", 200), (&format!("\"x\", {tag}"), 304)] {
            let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {known}");
            assert_eq!(answer(send(web.address(), &head)).0, expected, "{path} {known}");
        }
    }
}

#[test]
fn rules_and_dashboard_ask_for_metrics_that_there_are() {
    let text = super::all_metrics();
    let there: BTreeSet<&str> = text.split([' ', '{', '\n']).collect();
    for (name, file, least) in [("rules", RULES, 9), ("dashboard", DASHBOARD, 12)] {
        let asked: BTreeSet<&str> = file
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| word.starts_with("srlg_"))
            .collect();
        assert!(asked.len() >= least, "{name}: {asked:?}");
        let missing: Vec<&&str> = asked.difference(&there).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
    }
}

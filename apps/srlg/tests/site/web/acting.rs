//! Authentication of actions.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use srlg_alerts::status::overview::Overview;
use srlg_notify::store::Store;
use srlg_system::now_ms;
use srlg_web::server::{Visitors, Web};
use tokio::sync::watch::{Sender, channel};

use super::made::{answer, get, overview, send, start};

const ANN: &str = "0123456789abcdef0123456789abcdef";
const ID: &str = "0123456789abcdef";
const ACT: &str = r#"{"act": "acknowledge"}"#;

fn write_tokens(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

fn post(web: &Web, headers: &[&str], body: &str) -> (u16, String) {
    let head = format!(
        "POST /api/v1/incidents/{ID}/acts HTTP/1.1\r\nHost: localhost:{}\r\nContent-Length: {}\r\n{}",
        web.address().port(),
        body.len(),
        headers.join("\r\n")
    );
    let mut stream = send(web.address(), head.trim_end());
    // The request may be rejected before its body is read.
    let _refused = std::io::Write::write_all(&mut stream, body.as_bytes());
    let (status, _, body) = answer(stream);
    (status, body)
}

#[test]
fn actions_require_a_token_of_the_current_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    write_tokens(&path, &format!("ann {ANN}\n"));
    let visitors = Visitors { tokens: Some(path.clone()), ..Visitors::default() };
    let (_overviews, latest) = channel(Arc::new(overview(now_ms())));
    let store = Store::open(None).unwrap();
    let web = Web::start("127.0.0.1:0".parse().unwrap(), visitors, latest, &store).unwrap();
    let (token, json) = (format!("Authorization: Bearer {ANN}"), "Content-Type: application/json");
    let origin = format!("Origin: http://localhost:{}", web.address().port());
    let other = format!("Authorization: Bearer {ANN}0");
    let https = "X-Forwarded-Proto: https";

    let status = |headers: &[&str]| post(&web, headers, "nothing").0;
    // These requests pass all checks before the body.
    for headers in [
        &[&token, json][..],
        &[&token, json, &origin],
        &[&token, json, &origin, "Sec-Fetch-Site: same-origin"],
        &[&token, json, https],
        &[&token, "Content-Type: Application/JSON; charset=utf-8"],
        &[&token.replace("Bearer", "bearer"), json],
    ] {
        assert_eq!(status(headers), 400, "{headers:?}");
    }
    for (headers, expected) in [
        (&[json][..], 401),
        (&[&other, json], 401),
        (&["Authorization: Bearer", json], 401),
        (&["Authorization: Basic YW5uOmFubg==", json], 401),
        (&[&token], 403),
        (&[&token, "Content-Type: text/plain"], 403),
        (&[&token, "Content-Type: application/x-www-form-urlencoded"], 403),
        (&[&token, json, "Origin: http://elsewhere.example"], 403),
        (&[&token, json, "Origin: null"], 403),
        (&[&token, json, "Origin: http://localhost"], 403),
        (&[&token, json, "Sec-Fetch-Site: cross-site"], 403),
        (&[&token, json, "Sec-Fetch-Site: same-site"], 403),
        (&[&token, json, "X-Forwarded-Proto: http"], 403),
    ] {
        assert_eq!(status(headers), expected, "{headers:?}");
    }
    let denied = |reason: &str| {
        let line = format!("srlg_http_denied_total{{reason=\"{reason}\"}} ");
        let (_, _, text) = get(&web, "/metrics");
        text.lines().find_map(|it| it.strip_prefix(&line)?.parse::<u64>().ok())
    };
    assert_eq!(denied("missing-token"), Some(3));
    assert_eq!(denied("wrong-token"), Some(1));
    assert_eq!(denied("cross-site"), Some(8));
    assert_eq!(denied("plain"), Some(1));
    assert_eq!(denied("no-tokens"), Some(0));

    write_tokens(&path, &format!("bob {}\n", ANN.replace('0', "1")));
    assert_eq!(status(&[&token, json]), 401, "a removed token must be rejected");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(status(&[&token, json]), 500, "a world-readable token file must be rejected");
    assert_eq!(get(&web, &format!("/api/v1/incidents/{ID}/acts")).0, 405);
}

fn web_of_ann(folder: &Path) -> (Sender<Arc<Overview>>, Web) {
    let path = folder.join("tokens");
    write_tokens(&path, &format!("ann {ANN}\n"));
    let visitors = Visitors { tokens: Some(path), ..Visitors::default() };
    let (overviews, latest) = channel(Arc::new(overview(now_ms())));
    let store = Store::open(None).unwrap();
    (overviews, Web::start("127.0.0.1:0".parse().unwrap(), visitors, latest, &store).unwrap())
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_overviews, web) = web_of_ann(folder.path());
    let head = |token: &str| {
        format!(
            "POST /api/v1/incidents/{ID}/acts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\
             Content-Type: application/json\r\nAuthorization: Bearer {token}"
        )
    };
    // Without a valid token, the body is not read.
    for (token, expected) in [("nobody", 401), (ANN, 408)] {
        let (status, _, text) = answer(send(web.address(), &head(token)));
        assert_eq!(status, expected, "{text}");
    }
}

#[test]
fn unknown_actions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_overviews, web) = web_of_ann(folder.path());
    let (token, json) = (format!("Authorization: Bearer {ANN}"), "Content-Type: application/json");
    for (body, expected) in [
        ("", 400),
        ("[]", 400),
        (r#"{"act": "delete"}"#, 400),
        (r#"{"act": "comment"}"#, 400),
        (r#"{"act": "silence", "text": "why"}"#, 400),
        (r#"{"act": "silence", "for": "soon", "text": "why"}"#, 400),
        (r#"{"act": "close", "by": "somebody else"}"#, 400),
        (&"x".repeat(20_000), 413),
    ] {
        assert_eq!(post(&web, &[&token, json], body).0, expected, "{body:.40}");
    }
}

#[test]
fn actions_are_refused_without_a_token_file() {
    let (web, _overviews) = start(overview(now_ms()));
    let headers = [&format!("Authorization: Bearer {ANN}"), "Content-Type: application/json"];
    let (status, text) = post(&web, &headers, ACT);
    assert_eq!(status, 403);
    assert!(text.contains("http-tokens"), "{text}");
}

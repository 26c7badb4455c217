//! Who may ask, and what a browser may do with the answers.
//!
//! A page elsewhere may make a browser ask at a name that suddenly means this machine (DNS rebinding): such a request has
//! that name as its host, and is refused.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use super::shared::error;

/// Everything comes from here, and nothing is written within the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What all answers say.
const HEADERS: [(HeaderName, &str); 4] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    // A page elsewhere gets nothing of this into its own memory.
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Whether a request with `headers` calls this machine by its name or by an address of loopback.
fn is_local(headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(HOST).iter();
    let (Some(host), None) = (given.next(), given.next()) else { return false };
    let Ok(host) = Authority::try_from(host.as_bytes()) else { return false };
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    match name.parse::<IpAddr>() {
        // A number is no name that may suddenly mean another machine.
        Ok(ip) => ip.is_loopback(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    }
}

/// Refuses requests for other machines, unless the server is public and may have any name.
pub(super) async fn check(State(is_public): State<bool>, request: Request, next: Next) -> Response {
    let mut response = if is_public || is_local(request.headers()) {
        next.run(request).await
    } else {
        let host = request.headers().get(HOST);
        let host =
            host.map_or_else(String::new, |host| String::from_utf8_lossy(host.as_bytes()).into());
        let text =
            format!("host header {host:?} not allowed: ask at localhost or an address of loopback");
        error(StatusCode::MISDIRECTED_REQUEST, &text)
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

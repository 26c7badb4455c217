//! Who may ask, and what a browser may do with the answers.
//!
//! A page elsewhere may make a browser ask at a name that suddenly means this machine (DNS rebinding): such a request has
//! that name as its host, and is refused.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use super::WebOptions;
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

/// The names by which this machine may be asked.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    options: Arc<WebOptions>,
}

impl Hosts {
    pub(super) fn new(options: WebOptions) -> Self {
        Self { options: Arc::new(options) }
    }

    fn hold(&self, headers: &HeaderMap) -> bool {
        let WebOptions { address, is_public, names } = &*self.options;
        if *is_public && names.is_empty() {
            return true;
        }
        let mut given = headers.get_all(HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else { return false };
        let Ok(host) = Authority::try_from(host.as_bytes()) else { return false };
        let name = host.host().trim_start_matches('[').trim_end_matches(']');
        match name.parse::<IpAddr>() {
            Ok(ip) => {
                let is_any = *is_public && address.ip().is_unspecified();
                // A number is no name that may suddenly mean another machine.
                ip.is_loopback() || ip == address.ip() || is_any
            }
            Err(_) => ["localhost"]
                .into_iter()
                .chain(names.iter().map(String::as_str))
                .any(|it| it.eq_ignore_ascii_case(name)),
        }
    }
}

pub(super) async fn check(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let mut response = if hosts.hold(request.headers()) {
        next.run(request).await
    } else {
        let host = request.headers().get(HOST);
        let host =
            host.map_or_else(String::new, |host| String::from_utf8_lossy(host.as_bytes()).into());
        let text = format!(
            "the request is for the host {host:?}, which is no name of this monitor: ask at localhost, at its address, or at a name that it was given"
        );
        error(StatusCode::MISDIRECTED_REQUEST, &text)
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

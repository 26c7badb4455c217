//! The files of the page, which are part of the program.
//!
//! Invariant: a file is asked for again each time, and sent again only where the program has another.

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::shared::WebState;

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Path, type and text. uPlot is of the version that page/README.md names.
const FILES: [(&str, &str, &str); 6] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("/page.css", STYLE, include_str!("page/page.css")),
    ("/page.js", SCRIPT, include_str!("page/page.js")),
    ("/uplot.css", STYLE, include_str!("page/uPlot.min.css")),
    ("/uplot.js", SCRIPT, include_str!("page/uPlot.iife.min.js")),
];

pub(super) fn routes() -> Router<WebState> {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, text)| {
        router.route(path, get(async move |headers: HeaderMap| answer(kind, text, &headers)))
    })
}

fn answer(kind: &'static str, text: &'static str, asked: &HeaderMap) -> Response {
    let tag = format!("\"{:08x}\"", crc32fast::hash(text.as_bytes()));
    let mut known = asked.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let is_known = known.any(|tags| tags.split(',').any(|it| it.trim() == tag));
    // A new program may bring new files: ask each time.
    let headers = [(CACHE_CONTROL, "no-cache"), (ETAG, &tag)];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(CONTENT_TYPE, kind)], text).into_response()
}

//! A fuzz target that sends arbitrary requests to the API. If the first byte is even, the other bytes are the path and
//! the query of a GET request. Otherwise, they are the body of a user action.
#![no_main]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Request, Response, StatusCode, Uri};
use libfuzzer_sys::fuzz_target;
use srlg_alerts::status::overview::{Overview, ViewOverview};
use srlg_notify::store::Store;
use srlg_web::server::{Visitors, router_without_loop};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch::channel;
use tower::ServiceExt;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

const ACTS: &str = "/api/v1/incidents/000000000000002a/acts";

/// Maximum size of a response, in bytes. The largest response contains values per minute of one day.
const MOST_BYTES: usize = 1 << 20;

struct Server {
    runtime: Runtime,
    router: Router,
    _folder: TempDir,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("room for a folder");
    let tokens = folder.path().join("tokens");
    fs::write(&tokens, format!("ann {TOKEN}\n")).expect("room for a line");
    fs::set_permissions(&tokens, Permissions::from_mode(0o600)).expect("an own file");
    let view = ViewOverview { name: "fan-in".to_owned(), ..ViewOverview::default() };
    let overview = Overview { slice_ms: 1_000, views: vec![view], ..Overview::default() };
    let (_, overviews) = channel(Arc::new(overview));
    let store = Store::open(None).expect("a database in memory");
    let visitors = Visitors { tokens: Some(tokens), ..Visitors::default() };
    let router = router_without_loop(overviews, visitors, &store).expect("a database in memory");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    Server { runtime, router, _folder: folder }
});

fuzz_target!(|input: &[u8]| {
    let Some((selector, bytes)) = input.split_first() else { return };
    let request = if selector % 2 == 0 {
        let Ok(uri) = Uri::try_from(bytes) else { return };
        // The stream of overviews has no end.
        if uri.path().starts_with("/events") {
            return;
        }
        Request::get(uri).header(HOST, "localhost").body(Body::empty())
    } else {
        let request = Request::post(ACTS).header(HOST, "localhost");
        let request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}"));
        let request = request.header(CONTENT_TYPE, "application/json");
        request.body(Body::from(bytes.to_vec()))
    };
    let (status, body) = SERVER.runtime.block_on(answer(request.expect("a valid request")));
    // Actions are rejected with this status, because there is no loop that performs them.
    let is_act = selector % 2 == 1 && status == StatusCode::SERVICE_UNAVAILABLE;
    assert!(!status.is_server_error() || is_act, "{status} {}", String::from_utf8_lossy(&body));
    if status != StatusCode::OK {
        let error: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        assert!(error["error"].is_string(), "{error}");
    }
    if is_act {
        serde_json::from_slice::<srlg_alerts::Act>(bytes).expect("only actions wait");
    }
});

async fn answer(request: Request<Body>) -> (StatusCode, Vec<u8>) {
    let response: Response<Body> = match SERVER.router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let status = response.status();
    let body = to_bytes(response.into_body(), MOST_BYTES).await.expect("a short response");
    (status, body.into())
}

//! What others may look at over HTTP: the page, the metrics, the interface of programs.
//!
//! ```text
//! /             the page            /metrics           for Prometheus
//! /events       every board         /api/v1/status     the board
//! /healthz      is all of it used?  /api/v1/alerts     alerts that go on
//!                                   /api/v1/top?view=  super points
//! /incident/ID  the same of one     /api/v1/incidents  alerts in the database
//! /host/ADDRESS incident or host    /api/v1/hosts      what is known of a host
//!                                   /api/v1/series     values by the minute
//!                                   /api/v1/incidents/ID/acts  what people do, by POST
//!                                   /api/v1/incidents/ID/peers.csv, prefixes.csv  its peers
//! ```
//!
//! Shape: a thread with its own runtime, over the latest board.
//! Invariant: nobody who asks holds up the loop. Everybody who reaches the address may read, so it is one of loopback unless
//! somebody says otherwise; nobody acts without a token. A client that sends no request, or reads no answer, is
//! cut off; so a place comes free however many wait for one. A page elsewhere may make a browser ask at a name that suddenly means this machine (DNS rebinding): such
//! a request has that name as its host, and is refused. A file of the page is asked for again each time, and sent again
//! only where the program has another.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Extension, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HOST, HeaderName, HeaderValue,
    IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep;
use tokio_io_timeout::TimeoutStream;
use tracing::{debug, warn};

use crate::notify::store::Store;
use crate::show::board::Boards;
use acting::{BODY_BYTES, Orders, Peer, WaitingOrder};
use api::{WebState, error};

pub(crate) mod acting;
mod api;
mod csv;
mod history;
mod metrics;
pub(crate) mod tokens;

/// A web server, which stops when it is dropped.
#[derive(Debug)]
pub struct Web {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    orders: Receiver<WaitingOrder>,
    /// Whether there are tokens to act by.
    has_tokens: bool,
}

/// Who may ask a web server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visitors {
    /// Whether others than this machine may, although there are no accounts.
    pub is_public: bool,
    /// Names by which the server is asked, besides localhost and addresses.
    pub names: Vec<String>,
    /// File of the tokens by which people act; without one nobody does.
    pub tokens: Option<PathBuf>,
}

/// Checks that `address` is one that the page may be served at.
pub(crate) fn check(address: SocketAddr, is_public: bool) -> Result<()> {
    ensure!(
        is_public || address.ip().is_loopback(),
        "http is {address}, which others than this machine may reach, and there are no accounts: give an address as 127.0.0.1:{}, or set http-public, behind a proxy that authenticates",
        address.port()
    );
    Ok(())
}

/// Checks that `name` can be the host of a request.
pub(crate) fn check_name(name: &str) -> Result<()> {
    ensure!(
        Authority::try_from(name).is_ok_and(|authority| authority.host() == name),
        "http-names has {name:?}: give a name without a port, as srlg.example"
    );
    Ok(())
}

/// Checks that `url` can be the start of links to the page.
pub(crate) fn check_url(url: &str) -> Result<()> {
    let is_right = url.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && uri.query().is_none()
    });
    ensure!(
        is_right && !url.contains('#'),
        "url is {url:?}: give the public address of the page, as https://srlg.example"
    );
    Ok(())
}

/// Returns the host in `url`.
pub(crate) fn host_of(url: &str) -> Option<String> {
    Some(url.parse::<Uri>().ok()?.host()?.to_owned())
}

impl Web {
    /// Serves the latest of `boards` and the history in `store` to `visitors` at `address`; port 0 lets the system choose
    /// one.
    pub fn start(
        address: SocketAddr,
        visitors: Visitors,
        boards: Boards,
        store: &Store,
    ) -> Result<Self> {
        check(address, visitors.is_public)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime of the page")?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .with_context(|| format!("cannot listen at {address}"))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let has_tokens = visitors.tokens.is_some();
        let (sender, orders) = Orders::new(visitors.tokens.clone());
        let router = router(WebState::new(boards, store.reader()?, sender), visitors);
        let serving = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, router) => {}
                    // By an error, as the sender is dropped.
                    _dropped = stopped => {}
                }
            });
        };
        let thread = thread::Builder::new().name("web".to_owned()).spawn(serving);
        let thread = thread.context("cannot start a thread")?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread), orders, has_tokens })
    }

    /// Returns whether people may act here.
    pub(crate) const fn can_be_acted_at(&self) -> bool {
        self.has_tokens
    }

    /// Returns the next order of a person, if one waits.
    pub(crate) fn next_order(&self) -> Option<WaitingOrder> {
        self.orders.try_recv().ok()
    }

    /// Returns the address, with the port that the system has chosen.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has told so.
            let _told = thread.join();
        }
    }
}

fn router(shared: WebState, visitors: Visitors) -> Router {
    Router::new()
        .merge(files())
        .route("/metrics", get(metrics::metrics))
        .route("/healthz", get(api::health))
        .route("/events", get(api::events))
        .route("/api/v1/status", get(api::status))
        .route("/api/v1/alerts", get(api::alerts))
        .route("/api/v1/top", get(api::top))
        .route("/api/v1/incidents", get(history::incidents))
        .route("/api/v1/incidents/{id}", get(history::incident))
        .route("/api/v1/incidents/{id}/peers.csv", get(csv::peers))
        .route("/api/v1/incidents/{id}/prefixes.csv", get(csv::prefixes))
        .route("/api/v1/hosts/{address}", get(history::host))
        .route("/api/v1/series", get(history::series))
        .route(
            "/api/v1/incidents/{id}/acts",
            post(acting::act).layer(DefaultBodyLimit::max(BODY_BYTES)),
        )
        .fallback(api::unknown)
        .method_not_allowed_fallback(api::not_allowed)
        .layer(from_fn_with_state(Arc::new(visitors), guard))
        .with_state(shared)
}

/// Connections at once; more wait in the queue of the system.
const CONNECTIONS: usize = 256;

/// How long the head of a request may take, which is how long a connection may be idle, too.
const HEAD: Duration = Duration::from_secs(5);

/// How long a client may read nothing of what waits for it.
const READ: Duration = Duration::from_secs(10);

/// Bytes of the head of a request, and headers in it.
const HEAD_BYTES: usize = 16 << 10;
const HEADERS: usize = 64;

/// Bytes that wait for a client in this process: a board that it does not take is not read again for it.
const WAITING_BYTES: usize = 64 << 10;

/// Accepts connections at `listener` until dropped, and answers by `router`.
async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let router = router.clone().layer(Extension(Peer(peer)));
                tokio::spawn(async move {
                    connection(stream, router).await;
                    drop(place);
                });
            }
            // Gone before it was looked at.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
                ) => {}
            Err(error) => {
                warn!("http accepts no connection, and tries again in a second: {error}");
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, router: Router) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!("a connection of http waits for full packets: {error}");
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(READ));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_header_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .max_buf_size(WAITING_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router))
        .await;
    if let Err(error) = served {
        debug!("a connection of http was cut off: {error}");
    }
}

/// Everything comes from here, and nothing is written within the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What all answers say.
const SAFE_HEADERS: [(HeaderName, &str); 4] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    // A page elsewhere gets nothing of this into its own memory.
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Whether a request with `headers` calls this server by an address or a name that `visitors` may use.
fn is_expected(headers: &HeaderMap, visitors: &Visitors) -> bool {
    let mut given = headers.get_all(HOST).iter();
    let (Some(host), None) = (given.next(), given.next()) else { return false };
    let Ok(host) = Authority::try_from(host.as_bytes()) else { return false };
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    match name.parse::<IpAddr>() {
        // A number is no name that may suddenly mean another machine.
        Ok(ip) => visitors.is_public || ip.is_loopback(),
        Err(_) => {
            let mut names = visitors.names.iter().map(String::as_str).chain(["localhost"]);
            names.any(|known| name.eq_ignore_ascii_case(known))
        }
    }
}

/// Refuses requests for other machines.
async fn guard(State(visitors): State<Arc<Visitors>>, request: Request, next: Next) -> Response {
    let mut response = if is_expected(request.headers(), &visitors) {
        next.run(request).await
    } else {
        let host = request.headers().get(HOST);
        let host =
            host.map_or_else(String::new, |host| String::from_utf8_lossy(host.as_bytes()).into());
        let text = format!(
            "host header {host:?} not allowed: ask at localhost or an address, or give the name in http-names"
        );
        error(StatusCode::MISDIRECTED_REQUEST, &text)
    };
    let headers = response.headers_mut();
    for (name, value) in SAFE_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

const HTML: &str = "text/html; charset=utf-8";

/// An incident or a host, whose page finds out which.
const DETAIL: &str = include_str!("web/page/detail.html");

/// Path, type and text. uPlot is of the version that page/README.md names.
const FILES: [(&str, &str, &str); 14] = [
    ("/", HTML, include_str!("web/page/index.html")),
    ("/incident/{id}", HTML, DETAIL),
    ("/host/{address}", HTML, DETAIL),
    ("/icon.svg", "image/svg+xml", include_str!("web/page/icon.svg")),
    ("/page.css", STYLE, include_str!("web/page/page.css")),
    ("/common.js", SCRIPT, include_str!("web/page/common.js")),
    ("/acting.js", SCRIPT, include_str!("web/page/acting.js")),
    ("/incident.js", SCRIPT, include_str!("web/page/incident.js")),
    ("/chart.js", SCRIPT, include_str!("web/page/chart.js")),
    ("/history.js", SCRIPT, include_str!("web/page/history.js")),
    ("/page.js", SCRIPT, include_str!("web/page/page.js")),
    ("/detail.js", SCRIPT, include_str!("web/page/detail.js")),
    ("/uplot.css", STYLE, include_str!("web/page/uPlot.min.css")),
    ("/uplot.js", SCRIPT, include_str!("web/page/uPlot.iife.min.js")),
];

fn files() -> Router<WebState> {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, text)| {
        router.route(path, get(async move |headers: HeaderMap| file(kind, text, &headers)))
    })
}

fn file(kind: &'static str, text: &'static str, asked: &HeaderMap) -> Response {
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

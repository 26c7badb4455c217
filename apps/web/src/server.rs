//! The web server: the web page, the metrics and the JSON API.
//!
//! ```text
//! /              the web page
//! /wall          the page for a screen on a wall
//! /incident/ID   the page of an incident
//! /host/ADDRESS  the page of a host
//! /events        a stream of overviews
//! /healthz       the health of the program
//! /metrics       metrics for Prometheus
//!
//! /api/v1/status         the overview        /api/v1/incidents      stored alerts
//! /api/v1/alerts         active alerts    /api/v1/hosts/ADDRESS  a host and its incidents
//! /api/v1/top?view=NAME  super points     /api/v1/series         values per minute
//!
//! /api/v1/incidents/ID/acts          actions of users, by POST
//! /api/v1/incidents/ID/peers.csv     sampled peers
//! /api/v1/incidents/ID/prefixes.csv  networks of the peers
//! /api/v1/incidents/ID/series        counts and rates from start to end, also as series.csv
//! ```
//!
//! The server runs in its own thread and runtime. Requests read the latest overview, so they never delay the main loop.
//!
//! # Security
//!
//! Anyone who can reach the address can read everything. The address must therefore be a loopback address, unless the
//! configuration allows other addresses. Actions require a token. Clients that do not send a request, or do not
//! read the response, are disconnected, so that they cannot occupy all connections.
//!
//! With DNS rebinding, another site can make its own name resolve to this machine. Requests whose Host header contains
//! an unknown name are therefore rejected.
//!
//! Browsers revalidate the files of the web page at each load. An unchanged file is not downloaded again.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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

use acting::BODY_BYTES;
use orders::{Orders, Peer, WaitingOrder};
use responses::error;
use srlg_notify::store::Store;
use srlg_system::pacing::Every;
pub use state::Overviews;
use state::WebState;

pub(crate) mod acting;
mod api;
mod csv;
mod exposition;
mod history;
mod metrics;
pub(crate) mod orders;
mod recent;
mod responses;
mod state;
pub mod tokens;

/// A web server, which stops when it is dropped.
#[derive(Debug)]
pub struct Web {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    orders: Receiver<WaitingOrder>,
    has_tokens: bool,
}

/// Access rules of the web server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visitors {
    /// Whether other machines may connect, although there is no authentication.
    pub is_public: bool,
    /// Names that are accepted in the Host header, in addition to `localhost` and loopback addresses. If `is_public` is
    /// set, all IP addresses are accepted.
    pub names: Vec<String>,
    /// Token file of the users who may act. Without a file, actions are rejected.
    pub tokens: Option<PathBuf>,
}

/// Checks that `address` is a loopback address, unless `is_public` is set.
pub fn check(address: SocketAddr, is_public: bool) -> Result<()> {
    ensure!(
        is_public || address.ip().is_loopback(),
        "http: must be a loopback address, got {address}; use 127.0.0.1:{}, or set http-public if a proxy authenticates users",
        address.port()
    );
    Ok(())
}

/// Checks that `name` is a valid host name without a port.
pub fn check_name(name: &str) -> Result<()> {
    ensure!(
        Authority::try_from(name).is_ok_and(|authority| authority.host() == name),
        "http-names: must be host names without a port, such as srlg.example, got {name:?}"
    );
    Ok(())
}

/// Checks that `url` is a valid base for links to the web page.
pub fn check_url(url: &str) -> Result<()> {
    let is_right = url.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && uri.query().is_none()
    });
    ensure!(
        is_right && !url.contains('#'),
        "url: must be the public URL of the web page, such as https://srlg.example, got {url:?}"
    );
    Ok(())
}

pub fn host_of(url: &str) -> Option<String> {
    Some(url.parse::<Uri>().ok()?.host()?.to_owned())
}

impl Web {
    /// Starts a server at `address` that serves the latest overview and the history in `store`. If the port is 0, the
    /// system chooses one.
    pub fn start(
        address: SocketAddr,
        visitors: Visitors,
        overviews: Overviews,
        store: &Store,
    ) -> Result<Self> {
        check(address, visitors.is_public)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime of the web server")?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .with_context(|| format!("cannot listen on {address}"))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let has_tokens = visitors.tokens.is_some();
        let (sender, orders) = Orders::new(visitors.tokens.clone());
        let router = router(WebState::new(overviews, store.reader()?, sender), visitors);
        let serving = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, router) => {}
                    // The result is an error, because the sender is dropped.
                    _dropped = stopped => {}
                }
            });
        };
        let thread = thread::Builder::new().name("web".to_owned()).spawn(serving);
        let thread = thread.context("cannot start a thread")?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread), orders, has_tokens })
    }

    /// Returns whether users may act on incidents.
    pub(crate) const fn can_be_acted_at(&self) -> bool {
        self.has_tokens
    }

    /// Returns the next user action that waits for the main loop, if there is one.
    pub(crate) fn next_order(&self) -> Option<WaitingOrder> {
        self.orders.try_recv().ok()
    }

    /// Returns the address of the server, with its actual port.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been logged.
            let _joined = thread.join();
        }
    }
}

/// Returns the router of a server that has no listener and no main loop. All user actions are rejected, because no loop
/// performs them. This function is public for a fuzz target.
#[doc(hidden)]
pub fn router_without_loop(
    overviews: Overviews,
    visitors: Visitors,
    store: &Store,
) -> Result<Router> {
    let (orders, _) = Orders::new(visitors.tokens.clone());
    let router = router(WebState::new(overviews, store.reader()?, orders), visitors);
    Ok(router.layer(Extension(Peer((Ipv4Addr::LOCALHOST, 0).into()))))
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
        .route("/api/v1/incidents/{id}/series", get(history::incident_series))
        .route("/api/v1/incidents/{id}/series.csv", get(csv::series))
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

/// Maximum number of connections. Further clients wait in the listen backlog of the kernel.
const CONNECTIONS: usize = 256;

/// Time limit for the head of a request, which also limits the idle time of a connection.
const HEAD: Duration = Duration::from_secs(5);

/// Time limit for a client to read waiting data.
const READ: Duration = Duration::from_secs(10);

/// Maximum size of the head of a request, in bytes.
const HEAD_BYTES: usize = 16 << 10;
const HEADERS: usize = 64;

/// Size of the buffer per client, in bytes. While the buffer is full, the client receives no further overviews.
const WAITING_BYTES: usize = 64 << 10;

async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut log = Every::new(Duration::from_secs(60));
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
            // The client closed the connection before it was accepted.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
                ) => {}
            Err(error) => {
                if log.is_due() {
                    warn!("cannot accept HTTP connections: {error}; retrying every second");
                }
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, router: Router) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!("cannot set TCP_NODELAY for an HTTP connection: {error}");
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
        debug!("HTTP connection closed: {error}");
    }
}

/// Content security policy: all files come from this server, and the HTML has no inline scripts or styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SAFE_HEADERS: [(HeaderName, &str); 4] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    // Pages of other sites cannot load these responses into their process.
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Returns whether the Host header in `headers` is an address or name that `visitors` allow.
fn is_expected(headers: &HeaderMap, visitors: &Visitors) -> bool {
    let mut given = headers.get_all(HOST).iter();
    let (Some(host), None) = (given.next(), given.next()) else { return false };
    let Ok(host) = Authority::try_from(host.as_bytes()) else { return false };
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    match name.parse::<IpAddr>() {
        // DNS rebinding does not apply to addresses.
        Ok(ip) => visitors.is_public || ip.is_loopback(),
        Err(_) => {
            let mut names = visitors.names.iter().map(String::as_str).chain(["localhost"]);
            names.any(|known| name.eq_ignore_ascii_case(known))
        }
    }
}

/// Rejects requests whose Host header is not allowed and adds the security headers to all responses.
async fn guard(State(visitors): State<Arc<Visitors>>, request: Request, next: Next) -> Response {
    let mut response = if is_expected(request.headers(), &visitors) {
        next.run(request).await
    } else {
        let host = request.headers().get(HOST);
        let host =
            host.map_or_else(String::new, |host| String::from_utf8_lossy(host.as_bytes()).into());
        let text = format!(
            "host header {host:?} not allowed; use localhost, or add the name to http-names (IP addresses need http-public)"
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

/// The page of an incident or a host. The script of the page reads the URL to determine what to show.
const DETAIL: &str = include_str!("server/page/detail.html");

/// Path, content type and content of each file. `page/README.md` names the version of uPlot.
const FILES: [(&str, &str, &str); 19] = [
    ("/", HTML, include_str!("server/page/index.html")),
    ("/wall", HTML, include_str!("server/page/wall.html")),
    ("/incident/{id}", HTML, DETAIL),
    ("/host/{address}", HTML, DETAIL),
    ("/icon.svg", "image/svg+xml", include_str!("server/page/icon.svg")),
    ("/page.css", STYLE, include_str!("server/page/page.css")),
    ("/common.js", SCRIPT, include_str!("server/page/common.js")),
    ("/acting.js", SCRIPT, include_str!("server/page/acting.js")),
    ("/rules.js", SCRIPT, include_str!("server/page/rules.js")),
    ("/incident.js", SCRIPT, include_str!("server/page/incident.js")),
    ("/chart.js", SCRIPT, include_str!("server/page/chart.js")),
    ("/history.js", SCRIPT, include_str!("server/page/history.js")),
    ("/events.js", SCRIPT, include_str!("server/page/events.js")),
    ("/page.js", SCRIPT, include_str!("server/page/page.js")),
    ("/wall.css", STYLE, include_str!("server/page/wall.css")),
    ("/wall.js", SCRIPT, include_str!("server/page/wall.js")),
    ("/detail.js", SCRIPT, include_str!("server/page/detail.js")),
    ("/uplot.css", STYLE, include_str!("server/page/uPlot.min.css")),
    ("/uplot.js", SCRIPT, include_str!("server/page/uPlot.iife.min.js")),
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
    // A new version of the program may have new files, so browsers revalidate each time.
    let headers = [(CACHE_CONTROL, "no-cache"), (ETAG, &tag)];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(CONTENT_TYPE, kind)], text).into_response()
}

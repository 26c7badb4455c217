//! What others may look at over HTTP: the page, the metrics, the interface of programs.
//!
//! ```text
//! /             the page            /metrics           for Prometheus
//! /events       every board         /api/v1/status     the board
//! /healthz      does it count?      /api/v1/alerts     alerts that go on
//!                                   /api/v1/top?view=  super points
//! ```
//!
//! Shape: a thread with its own runtime, over the latest board.
//! Invariant: nobody who asks holds up the loop; there are no accounts, so the address is one of loopback unless
//! somebody says otherwise.

mod api;
mod assets;
mod events;
mod guard;
mod metrics;
mod serve;
mod shared;

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::show::board::Boards;
use shared::WebState;

/// A web server, which stops when it is dropped.
#[derive(Debug)]
pub struct Web {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
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

impl Web {
    /// Serves the latest of `boards` at `address`; port 0 lets the system choose one. Others than this machine may ask
    /// only where `is_public` says so: there are no accounts.
    pub fn start(address: SocketAddr, is_public: bool, boards: Boards) -> Result<Self> {
        check(address, is_public)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the runtime of the page")?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .with_context(|| format!("cannot listen at {address}"))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let router = router(WebState::new(boards), is_public);
        let serving = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve::serve(listener, router) => {}
                    // By an error, as the sender is dropped.
                    _dropped = stopped => {}
                }
            });
        };
        let thread = thread::Builder::new().name("web".to_owned()).spawn(serving);
        let thread = thread.context("cannot start a thread")?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
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

fn router(shared: WebState, is_public: bool) -> Router {
    Router::new()
        .merge(assets::routes())
        .route("/metrics", get(metrics::metrics))
        .route("/healthz", get(api::health))
        .route("/events", get(events::events))
        .route("/api/v1/status", get(api::status))
        .route("/api/v1/alerts", get(api::alerts))
        .route("/api/v1/top", get(api::top))
        .fallback(api::unknown)
        .method_not_allowed_fallback(api::not_allowed)
        .layer(from_fn_with_state(is_public, guard::check))
        .with_state(shared)
}

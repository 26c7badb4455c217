//! A check of whether tests can start a NATS broker.

use srlg_cli::network::broker::Broker;

/// Returns whether `nats-server` is installed. If `nats-server` is missing, prints a message, or panics if the
/// environment requires `nats-server`.
pub(crate) fn has_broker() -> bool {
    let is_installed = Broker::is_installed();
    if !is_installed {
        assert!(std::env::var_os("SRLG_REQUIRE_NATS").is_none(), "nats-server is not installed");
        eprintln!("SKIPPED: nats-server is not installed on PATH (apt-get install nats-server)");
    }
    is_installed
}

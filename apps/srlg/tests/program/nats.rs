//! Whether tests can start a broker.

use srlg_cli::network::broker::Broker;

/// Returns whether there is a `nats-server`. Says so where there is none, and fails where there must be one.
pub(crate) fn has_broker() -> bool {
    let is_installed = Broker::is_installed();
    if !is_installed {
        assert!(std::env::var_os("SRLG_REQUIRE_NATS").is_none(), "there is no nats-server");
        eprintln!("SKIPPED: there is no nats-server on PATH (apt-get install nats-server)");
    }
    is_installed
}

//! A check that `nats-server`, which some tests start, is installed.

use srlg_cli::network::broker::Broker;

/// Returns whether `nats-server` is installed. If it is missing, prints a message, or panics if `SRLG_REQUIRE_NATS` is
/// set.
pub(crate) fn has_broker() -> bool {
    let is_installed = Broker::is_installed();
    if !is_installed {
        assert!(std::env::var_os("SRLG_REQUIRE_NATS").is_none(), "nats-server is not installed");
        eprintln!("SKIPPED: nats-server is not installed on PATH (apt-get install nats-server)");
    }
    is_installed
}

//! A check that `nats-server`, which some tests start, is installed.

use srlg_cli::network::broker::Broker;
use srlg_traffic::skip::skip_or_fail;

/// Returns whether `nats-server` is installed. If it is missing, prints a message, or panics if `SRLG_REQUIRE_NATS` is
/// set.
pub(crate) fn has_broker() -> bool {
    let is_installed = Broker::is_installed();
    if !is_installed {
        skip_or_fail("SRLG_REQUIRE_NATS", "nats-server is missing; run scripts/nats.sh");
    }
    is_installed
}

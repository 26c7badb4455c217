//! What probes need not keep any longer.
//!
//! Shape: after each checkpoint, and every few seconds, a slice's number for each probe. They are not
//! stored: who is away misses one, and the next says at least as much. Invariant: only what is in a
//! checkpoint on disk is told.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tracing::warn;

use crate::connect::Link;
use crate::subjects;

/// Between two notices of the same.
const AGAIN: Duration = Duration::from_secs(2);

/// How long to wait for the broker at the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells probes what is durable, until nobody says so any more.
pub(super) async fn send(
    link: Link,
    probes: Vec<String>,
    mut durable: watch::Receiver<Vec<Option<u64>>>,
) {
    loop {
        let slices = durable.borrow_and_update().clone();
        // To a broker that is away, notices would only wait.
        if link.state.borrow().up {
            for (probe, slice) in probes.iter().zip(slices) {
                let Some(slice) = slice else { continue };
                let sent = link.client.publish(subjects::durable(probe), slice.to_string().into());
                if let Err(error) = sent.await {
                    warn!("no notice for {probe}: {error}");
                }
            }
        }
        if let Ok(Err(_ended)) = timeout(AGAIN, durable.changed()).await {
            break;
        }
    }
    // The last ones are on their way; probes that miss them keep what they have a little longer.
    let _flushed = timeout(PATIENCE, link.client.flush()).await;
}

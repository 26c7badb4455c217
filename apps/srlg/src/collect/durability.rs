//! Durability messages, which inform the probes of stored slices and ask them to send lost slices again.
//!
//! After each checkpoint and every few seconds, each probe receives the network version and the number of its last
//! durable slice. After the stream has lost messages, each probe receives [`AGAIN`]. The broker does not store either
//! message. A disconnected probe receives the number later, because the number is sent repeatedly. [`AGAIN`] is not
//! repeated, because a probe that reconnects sends all slices in its spool again. Invariant: only slices in a
//! checkpoint on disk are reported as durable.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{info, warn};

use super::reader::Loss;
use super::stream;
use crate::network::VersionId;
use crate::network::connect::Link;
use crate::network::subjects::{self, AGAIN};

/// Maximum time between two durability messages to a probe.
const REPEAT: Duration = Duration::from_secs(2);

/// Timeout for sending the last messages after the engine has stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends durability messages and requests for lost slices to the probes until the engine stops.
pub(super) async fn send(
    link: Link,
    version: VersionId,
    probes: Vec<String>,
    mut durable: watch::Receiver<Vec<Option<u64>>>,
    losses: watch::Receiver<Option<Loss>>,
) {
    let mut requests = Requests::default();
    loop {
        let slices = durable.borrow_and_update().clone();
        // While the broker is unreachable, messages would only accumulate.
        if link.state.borrow().up {
            let again = requests.are_due(*losses.borrow(), Instant::now());
            if again {
                info!("asking the probes to send the lost slices again");
            }
            for (probe, slice) in probes.iter().zip(slices) {
                if let Some(slice) = slice {
                    send_to(&link, probe, message(version, slice)).await;
                }
                if again {
                    send_to(&link, probe, AGAIN.to_owned()).await;
                }
            }
        }
        if let Ok(Err(_ended)) = timeout(REPEAT, durable.changed()).await {
            break;
        }
    }
    // The broker has received the last messages when it answers. Probes that miss them keep their slices a little longer.
    if link.state.borrow().up {
        let _answered = timeout(PATIENCE, stream::last(&link.client)).await;
    }
}

/// Returns the message to a probe whose slices up to `slice` are durable.
pub(super) fn message(version: VersionId, slice: u64) -> String {
    format!("{version} {slice}")
}

async fn send_to(link: &Link, probe: &str, message: String) {
    let sent = link.client.publish(subjects::durable(probe), message.into());
    if let Err(error) = sent.await {
        warn!("cannot send a durability message to probe {probe}: {error}");
    }
}

/// Schedule of requests for lost slices. A request is sent once the slices of the first loss can be sent again. If this
/// is too early for the slices of a later loss, a further request follows.
#[derive(Debug, Default)]
struct Requests {
    due: Option<Instant>,
    /// Time of the last request.
    cured: Option<Instant>,
}

impl Requests {
    fn are_due(&mut self, loss: Option<Loss>, now: Instant) -> bool {
        let Some(Loss { curable }) = loss else { return false };
        if self.cured >= Some(curable) {
            return false;
        }
        let due = *self.due.get_or_insert(curable);
        if now < due {
            return false;
        }
        (self.due, self.cured) = (None, Some(now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_is_asked_for_once_it_is_curable_and_many_at_once() {
        let (start, mut requests) = (Instant::now(), Requests::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut due = |curable: Option<u64>, now| {
            requests.are_due(curable.map(|curable| Loss { curable: at(curable) }), at(now))
        };
        assert!(!due(None, 0));
        assert!(!due(Some(120), 0));
        // A newer loss does not delay the request. It gets a separate request.
        assert!(!due(Some(200), 110));
        assert!(due(Some(200), 120));
        assert!(!due(Some(200), 121));
        assert!(due(Some(200), 200));
        assert!(!due(Some(200), 300));
    }
}

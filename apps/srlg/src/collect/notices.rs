//! What probes need not keep any longer, and what they have to send again.
//!
//! Shape: after each checkpoint, and every few seconds, the version and a slice's number for each probe; [`AGAIN`] after a
//! loss. They are not stored: who is away misses one, and the next says at least as much. Invariant: only what is
//! in a checkpoint on disk is called durable.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{info, warn};

use super::reader::Loss;
use crate::network::VersionId;
use crate::network::connect::Link;
use crate::network::subjects::{self, AGAIN};

/// Between two notices of the same.
const REPEAT: Duration = Duration::from_secs(2);

/// How long to wait for the broker at the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells probes what is durable and what is lost, until nobody says so any more.
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
        // To a broker that is away, notices would only wait.
        if link.state.borrow().up {
            let again = requests.are_due(*losses.borrow(), Instant::now());
            if again {
                info!("probes are asked to send the lost slices again");
            }
            for (probe, slice) in probes.iter().zip(slices) {
                if let Some(slice) = slice {
                    notify(&link, probe, format!("{version} {slice}")).await;
                }
                if again {
                    notify(&link, probe, AGAIN.to_owned()).await;
                }
            }
        }
        if let Ok(Err(_ended)) = timeout(REPEAT, durable.changed()).await {
            break;
        }
    }
    // The last ones are on their way; probes that miss them keep what they have a little longer.
    if link.state.borrow().up {
        let _flushed = timeout(PATIENCE, link.client.flush()).await;
    }
}

async fn notify(link: &Link, probe: &str, notice: String) {
    let sent = link.client.publish(subjects::durable(probe), notice.into());
    if let Err(error) = sent.await {
        warn!("cannot send a notice to the probe {probe}: {error}");
    }
}

/// When to ask for what was lost: once it is curable, and then no more than once for all losses until then.
#[derive(Debug, Default)]
struct Requests {
    due: Option<Instant>,
    /// The newest loss for which all was asked.
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
        // A newer loss does not put the request off, and is asked for by one of its own.
        assert!(!due(Some(200), 110));
        assert!(due(Some(200), 120));
        assert!(!due(Some(200), 121));
        assert!(due(Some(200), 200));
        assert!(!due(Some(200), 300));
    }
}

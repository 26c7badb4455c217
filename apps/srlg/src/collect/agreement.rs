//! The agreement of configuration, database and broker on one version of the network's description.
//!
//! Shape: [`agree`] finds the version that this configuration is, on the broker or in the database, or makes the next
//! one; [`keep`] puts it onto a broker that has lost it. Invariant: as long as the broker or the database has the last
//! version, a description that differs in anything has another number, by which its deltas are recognized.

use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use tracing::{info, warn};

use crate::alerts::Trouble;
use crate::config::Config;
use crate::network::connect::Link;
use crate::network::{Network, NetworkVersion, bucket};
use crate::notify::ledger::Ledger;

/// Where the version is in the database.
const KEY: &str = "network";

/// From a change until all probes measure by it: they ask for the description every few seconds.
const LEAD: Duration = Duration::from_secs(5);

/// Between two attempts.
const RETRY: Duration = Duration::from_millis(250);

/// Between two looks whether the broker has it still.
const LOOK: Duration = Duration::from_secs(2);

/// Returns the version of the network's description that `config` is. Waits for the broker, unless the database has it.
pub(super) async fn agree(link: &Link, ledger: &Ledger, config: &Config) -> Result<NetworkVersion> {
    let kept = ledger.store().state(KEY)?;
    let kept = kept.map(|json| NetworkVersion::from_json(&json, "the database")).transpose()?;
    let is_wanted =
        |version: &NetworkVersion| Network::of(config, version.network.seed()) == version.network;
    let mut trouble = Trouble::default();
    let found = loop {
        let kept_is_wanted = kept.as_ref().is_some_and(is_wanted);
        if !link.state.borrow().up {
            if kept_is_wanted {
                break None;
            }
        } else {
            match made_and_read(link).await {
                Ok(found) => break found,
                Err(error) if kept_is_wanted => {
                    warn!("the description of the network is that of the database: {error:#}");
                    break None;
                }
                Err(error) => {
                    if let Some(error) = trouble.change_to(&error) {
                        warn!("the collector waits for the broker: {error}");
                    }
                }
            }
        }
        tokio::time::sleep(RETRY).await;
    };
    let known = [&found, &kept].into_iter().flatten();
    let wanted = known.clone().filter(|version| is_wanted(version)).max_by_key(|it| it.number);
    let last = known.max_by_key(|version| version.number);
    let version = match (wanted, last) {
        (Some(wanted), Some(last)) if wanted.number == last.number => wanted.clone(),
        (_, last) => {
            let seed = last.map_or_else(|| ledger.seed(), |last| Ok(last.network.seed()))?;
            let network = Network::of(config, seed);
            network.check()?;
            next(network, last)
        }
    };
    if kept.as_ref() != Some(&version) {
        ledger.store().add(&[], &[(KEY.to_owned(), version.to_json()?)])?;
    }
    Ok(version)
}

/// Reads the description on the broker, from a bucket that is made where there is none.
async fn made_and_read(link: &Link) -> Result<Option<NetworkVersion>> {
    bucket::make(&link.client).await?;
    bucket::read(&link.client).await
}

/// Makes the version of `network` that follows `last`.
fn next(network: Network, last: Option<&NetworkVersion>) -> NetworkVersion {
    let Some(last) = last else {
        info!("this is the first version of the network");
        return NetworkVersion { number: 1, first_slice: 0, network };
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let first_slice = (now + LEAD).as_millis() as u64 / network.slice_ms + 1;
    let number = last.number + 1;
    warn!(
        "the views, their sizes or the slices are others than in version {} of the network: version {number} begins with \
         slice {first_slice}, and with an empty window",
        last.number
    );
    NetworkVersion { number, first_slice, network }
}

/// Puts `version` onto the broker where it has none, whenever that is. Ends where the broker has another one.
pub(super) async fn keep(link: Link, version: NetworkVersion) -> Result<()> {
    let mut trouble = Trouble::default();
    let mut is_first = true;
    loop {
        if link.state.borrow().up {
            match keep_once(&link, &version, is_first).await {
                Ok(()) => {
                    if trouble.end() {
                        info!("probes find the description of the network again");
                    }
                    is_first = false;
                }
                Err(Discord::Other(found)) => bail!(
                    "the broker has version {found} of the network, and this collector version {}: another collector runs, or \
                     its state is an older one; start it again to make its configuration count",
                    version.number
                ),
                Err(Discord::Broker(error)) => {
                    if let Some(error) = trouble.change_to(&error) {
                        warn!("probes may not find the description of the network: {error}");
                    }
                }
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The reason why the broker does not have this version.
enum Discord {
    Other(u32),
    Broker(anyhow::Error),
}

impl From<anyhow::Error> for Discord {
    fn from(error: anyhow::Error) -> Self {
        Self::Broker(error)
    }
}

/// The `first` time it takes the place of former ones.
async fn keep_once(link: &Link, version: &NetworkVersion, is_first: bool) -> Result<(), Discord> {
    match made_and_read(link).await? {
        Some(found) if found == *version => Ok(()),
        Some(found) if !is_first || found.number > version.number => {
            Err(Discord::Other(found.number))
        }
        _ => Ok(bucket::write(&link.client, version).await?),
    }
}

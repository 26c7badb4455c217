//! The agreement of configuration, database and broker on one version of the network's description.
//!
//! Shape: [`agree`] finds the version that this configuration is, on the broker or in the database, or makes the next
//! one; [`keep`] restores it on a broker that has lost it. Invariant: two descriptions that differ in anything have
//! different identities, by which their deltas are told apart.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use tracing::{info, warn};

use super::stream;
use crate::alerts::Trouble;
use crate::config::Config;
use crate::network::bucket::{self, Entry};
use crate::network::connect::Link;
use crate::network::{Network, NetworkError, NetworkVersion, VersionId};
use crate::notify::ledger::Ledger;

/// Where the version is in the database.
const KEY: &str = "network";

/// From a change until all probes measure by it: they ask for the description every few seconds.
const LEAD: Duration = Duration::from_secs(5);

/// Between two attempts.
const RETRY: Duration = Duration::from_millis(250);

/// Between two looks whether the broker has it still.
const LOOK: Duration = Duration::from_secs(2);

/// The version of a network that a collector and the broker have agreed on.
pub(super) struct Agreement {
    pub(super) version: NetworkVersion,
    /// The last message of the stream that is of a former version.
    pub(super) last_former: u64,
}

/// Returns the version of the network's description that `config` is. Waits for the broker, unless the database has it.
pub(super) async fn agree(link: &Link, ledger: &Ledger, config: &Config) -> Result<Agreement> {
    let kept = ledger.store().state(KEY)?;
    let kept = kept.map(|json| NetworkVersion::from_json(&json, "the database")).transpose();
    let kept = kept.context("start the program that wrote it, or set another state folder")?;
    let mut trouble = Trouble::default();
    loop {
        let wanted = kept.as_ref().filter(|kept| is_of(config, kept));
        if link.state.borrow().up {
            match agree_with_broker(link, ledger, config, kept.as_ref()).await {
                Ok(agreement) => {
                    let version = &agreement.version;
                    if kept.as_ref() != Some(version) {
                        ledger.store().add(&[], &[(KEY.to_owned(), version.to_json()?)])?;
                    }
                    return Ok(agreement);
                }
                Err(error) if error.is::<NetworkError>() => return Err(error),
                Err(error) => {
                    if let Some(kept) = wanted {
                        warn!("using the description of the network in the database: {error:#}");
                        return Ok(Agreement { version: kept.clone(), last_former: 0 });
                    }
                    if let Some(error) = trouble.change_to(&error) {
                        warn!("the collector waits for the broker: {error}");
                    }
                }
            }
        } else if let Some(kept) = wanted {
            return Ok(Agreement { version: kept.clone(), last_former: 0 });
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Returns the newest version that broker and database have, if `config` is that; else makes the next one. The broker has
/// it then.
async fn agree_with_broker(
    link: &Link,
    ledger: &Ledger,
    config: &Config,
    kept: Option<&NetworkVersion>,
) -> Result<Agreement> {
    let Link { client, .. } = link;
    bucket::make(client).await?;
    let entry = bucket::read(client).await?;
    let found = entry.as_ref().map(|entry| &entry.version);
    // Of two with the same number the last one, which is what probes have.
    let last = kept.into_iter().chain(found).max_by_key(|version| version.id.number);
    let is_new = last.is_none_or(|last| !is_of(config, last));
    let version = match last.filter(|_| !is_new) {
        Some(last) => last.clone(),
        None => next(config, ledger, last)?,
    };
    if found != Some(&version) {
        bucket::write(client, &version, entry.as_ref().map_or(0, |entry| entry.revision)).await?;
    }
    if !is_new {
        return Ok(Agreement { version, last_former: 0 });
    }
    tell_change(&version, last);
    let last_former = stream::purge(client).await.unwrap_or_else(|error| {
        warn!("deltas of the former version stay in the stream, and will be rejected: {error:#}");
        0
    });
    Ok(Agreement { version, last_former })
}

/// Whether `version` describes the network of `config`.
fn is_of(config: &Config, version: &NetworkVersion) -> bool {
    Network::of(config, version.network.seed()) == version.network
}

/// Makes the version of `config` that follows `last`.
fn next(config: &Config, ledger: &Ledger, last: Option<&NetworkVersion>) -> Result<NetworkVersion> {
    let id = VersionId::after(last.map(|last| last.id))?;
    let Some(last) = last else {
        let network = Network::of(config, ledger.seed()?);
        network.check()?;
        return Ok(NetworkVersion { id, first_slice: 0, network });
    };
    let network = Network::of(config, last.network.seed());
    network.check()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let first_slice = (now + LEAD).as_millis() as u64 / network.slice_ms + 1;
    Ok(NetworkVersion { id, first_slice, network })
}

fn tell_change(version: &NetworkVersion, last: Option<&NetworkVersion>) {
    let NetworkVersion { id, first_slice, .. } = version;
    match last {
        None => info!("made the first version of the network, {id}"),
        Some(NetworkVersion { id: last, .. }) => warn!(
            "views, sizes or slices differ from version {last} of the network: version {id} starts at slice {first_slice}, \
             with an empty window"
        ),
    }
}

/// Restores `version` on a broker that has lost it, whenever that happens. Ends where the broker has another one.
pub(super) async fn keep(link: Link, version: NetworkVersion) -> Result<()> {
    let mut trouble = Trouble::default();
    loop {
        if link.state.borrow().up {
            match keep_once(&link, &version).await {
                Ok(None) => {
                    if trouble.end() {
                        info!("probes find the description of the network again");
                    }
                }
                Ok(Some(found)) => bail!(
                    "the broker has version {found} of the network, and this collector version {}: stop the other collector, or \
                     start this one again to make its configuration count",
                    version.id
                ),
                Err(error) if error.is::<NetworkError>() => {
                    return Err(error.context("a later collector has changed the network"));
                }
                Err(error) => {
                    if let Some(error) = trouble.change_to(&error) {
                        warn!("probes may not find the description of the network: {error}");
                    }
                }
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Makes sure that the broker has `version`. Returns the version that it has in place of it, which is no older.
async fn keep_once(
    Link { client, .. }: &Link,
    version: &NetworkVersion,
) -> Result<Option<VersionId>> {
    bucket::make(client).await?;
    let entry = bucket::read(client).await?;
    match &entry {
        Some(Entry { version: found, .. }) if found == version => return Ok(None),
        Some(Entry { version: NetworkVersion { id, .. }, .. })
            if id.number >= version.id.number =>
        {
            return Ok(Some(*id));
        }
        _ => {}
    }
    bucket::write(client, version, entry.map_or(0, |entry| entry.revision)).await?;
    Ok(None)
}

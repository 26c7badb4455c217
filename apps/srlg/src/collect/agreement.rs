//! Agreement of the configuration, the database and the broker on one version of the network description.
//!
//! [`agree`] finds the version of this configuration on the broker or in the database, or creates the next one.
//! [`keep`] restores the version on a broker that has lost it. Invariant: two different descriptions have different
//! version IDs, so the states of different descriptions are never mixed.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use tracing::{info, warn};

use super::stream;
use crate::config::Config;
use crate::network::bucket::{self, Entry};
use crate::network::connect::{BACKOFF, Link};
use crate::network::{Network, NetworkError, NetworkVersion, VersionId};
use srlg_notify::alert_store::AlertStore;
use srlg_system::pacing::LastError;

/// Keys of the agreement in the database.
const VERSION: &str = "network";
const LAST_FORMER: &str = "network/last-former";

/// Minimum time from the creation of a version to its first slice, except for the first version. Connected probes
/// receive the version within this time, because they check for a new one every two seconds.
const LEAD: Duration = Duration::from_secs(5);

/// Time between two checks of the description on the broker.
const LOOK: Duration = Duration::from_secs(2);

/// The error of a collector if the broker has a different version that is not older than the one of this collector.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot continue: the broker has network version {found}, and this collector has {own}; stop the other collector, or restart this one to apply its configuration"
)]
pub struct Superseded {
    found: VersionId,
    own: VersionId,
}

#[derive(Clone, PartialEq)]
pub(super) struct Agreement {
    pub(super) version: NetworkVersion,
    /// Sequence number of the last message that belongs to a former version, or 0 if no such message is known.
    pub(super) last_former: u64,
}

impl Agreement {
    fn read(alert_store: &AlertStore) -> Result<Option<Self>> {
        let Some(json) = alert_store.store().state(VERSION)? else { return Ok(None) };
        let version = NetworkVersion::from_json(&json, "the database")
            .context("cannot use the last agreement: this version of srlg does not support it; use the version that wrote it, or set another state folder")?;
        let last_former =
            alert_store.store().state(LAST_FORMER)?.as_deref().map(serde_json::from_slice);
        let last_former = last_former.transpose().context(
            "cannot read the last agreement: the database is damaged; set another state folder",
        )?;
        let last_former = last_former.unwrap_or(0);
        Ok(Some(Self { version, last_former }))
    }

    fn write(&self, alert_store: &AlertStore) -> Result<()> {
        let Self { version, last_former } = self;
        let states = [
            (VERSION.to_owned(), version.to_json()?),
            (LAST_FORMER.to_owned(), serde_json::to_vec(last_former)?),
        ];
        alert_store.store().set(&states)
    }
}

/// Agrees with the broker on the network version of `config`. Waits for the broker, unless the database has this
/// version.
pub(super) async fn agree(
    link: &Link,
    alert_store: &AlertStore,
    config: &Config,
) -> Result<Agreement> {
    let kept = Agreement::read(alert_store)?;
    let (mut last_error, mut backoff) = (LastError::default(), BACKOFF);
    loop {
        let wanted = kept.as_ref().filter(|kept| is_of(config, &kept.version));
        if link.state.borrow().up {
            match agree_with_broker(link, alert_store, config, kept.as_ref()).await {
                Ok(agreement) => {
                    if kept.as_ref() != Some(&agreement) {
                        agreement.write(alert_store)?;
                    }
                    return Ok(agreement);
                }
                Err(error) if error.is::<NetworkError>() => return Err(error),
                Err(error) => {
                    if let Some(kept) = wanted {
                        warn!("using the network description in the database: {error:#}");
                        return Ok(kept.clone());
                    }
                    if let Some(error) = last_error.change_to(&error) {
                        warn!("cannot agree with the broker on the network version yet: {error}");
                    }
                }
            }
        } else if let Some(kept) = wanted {
            return Ok(kept.clone());
        }
        tokio::time::sleep(backoff.delay()).await;
    }
}

/// Uses the newest version in the database or on the broker if it describes `config`, and otherwise creates the next
/// version. On return, the broker has the returned version.
async fn agree_with_broker(
    link: &Link,
    alert_store: &AlertStore,
    config: &Config,
    kept: Option<&Agreement>,
) -> Result<Agreement> {
    let Link { client, .. } = link;
    bucket::make(client).await?;
    let entry = bucket::read(client).await?;
    let found = entry.as_ref().map(|entry| &entry.version);
    // If two versions have the same number, the broker's version is chosen, because probes use it.
    let known = kept.map(|kept| &kept.version).into_iter().chain(found);
    let last = known.max_by_key(|version| version.id.number);
    let is_new = last.is_none_or(|last| !is_of(config, last));
    let agreement = match (last.filter(|_| !is_new), kept) {
        (Some(last), Some(kept)) if *last == kept.version => kept.clone(),
        (Some(last), _) => Agreement { version: last.clone(), last_former: 0 },
        (None, _) => {
            let last_former = stream::last(client).await?;
            Agreement { version: next(config, alert_store, last)?, last_former }
        }
    };
    if found != Some(&agreement.version) {
        let revision = entry.as_ref().map_or(0, |entry| entry.revision);
        bucket::write(client, &agreement.version, revision).await?;
    }
    if is_new {
        log_change(&agreement.version, last);
    }
    Ok(agreement)
}

fn is_of(config: &Config, version: &NetworkVersion) -> bool {
    Network::of(config, version.network.seed()) == version.network
}

fn next(
    config: &Config,
    alert_store: &AlertStore,
    last: Option<&NetworkVersion>,
) -> Result<NetworkVersion> {
    let id = VersionId::after(last.map(|last| last.id))?;
    let Some(last) = last else {
        let network = Network::of(config, alert_store.seed()?);
        network.check()?;
        return Ok(NetworkVersion { id, first_slice: 0, network });
    };
    let network = Network::of(config, last.network.seed());
    network.check()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let first_slice = (now + LEAD).as_millis() as u64 / network.slice_ms + 1;
    Ok(NetworkVersion { id, first_slice, network })
}

fn log_change(version: &NetworkVersion, last: Option<&NetworkVersion>) {
    let NetworkVersion { id, first_slice, .. } = version;
    match last {
        None => info!("created the first network version, {id}"),
        Some(NetworkVersion { id: last, .. }) => warn!(
            "views, sizes or slices differ from network version {last}: version {id} starts at slice {first_slice}, with an empty window"
        ),
    }
}

/// Restores `version` whenever the broker has lost it. Fails if the broker has a different version that is not older
/// than `version`.
pub(super) async fn keep(link: Link, version: NetworkVersion) -> Result<()> {
    let mut last_error = LastError::default();
    loop {
        if link.state.borrow().up {
            match keep_once(&link, &version).await {
                Ok(None) => {
                    if last_error.end() {
                        info!("the broker has the network description again");
                    }
                }
                Ok(Some(found)) => return Err(Superseded { found, own: version.id }.into()),
                Err(error) if error.is::<NetworkError>() => {
                    return Err(error.context(
                        "a newer version of the collector has changed the network description",
                    ));
                }
                Err(error) => {
                    if let Some(error) = last_error.change_to(&error) {
                        warn!("cannot check the network description on the broker: {error}");
                    }
                }
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Ensures that the broker has `version`. If the broker has a different version with the same or a higher number,
/// returns the ID of that version.
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

//! AS and country of addresses, from databases in MaxMind's format.
//!
//! A database is read into memory and checked completely before the first lookup. Invariants: an address that no
//! database contains has no origin, and each name or code in an origin has at most 80 characters.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use ipnet::IpNet;
use maxminddb::{LookupResult, MaxMindDbError, Reader, WithinOptions, geoip2, path};
use serde::{Deserialize, Serialize};
use srlg_input::contact::Name;
use time::{Date, OffsetDateTime};
use tracing::{info, warn};

/// Maximum number of ASes, and also of countries, whose shares a notification contains.
const MOST_SHARES: usize = 8;

/// Maximum size of a database, in bytes. A database that covers all addresses is about 100 MB in size.
const MOST_BYTES: u64 = 1 << 30;

/// Maximum number of characters in a name or code. The limit keeps notifications small.
const MOST_CHARACTERS: usize = 80;

/// AS and country of an address, if known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Number of the AS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asn: Option<u32>,
    /// Name of the AS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_name: Option<String>,
    /// Two-letter ISO 3166 code of the country.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

/// An AS and its share of the sampled peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AsShare {
    /// Number of the AS.
    pub asn: u32,
    /// Name of the AS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_name: Option<String>,
    /// Share of the sample, from 0 to 1.
    pub share: f64,
}

impl fmt::Display for AsShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.as_name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        write!(f, "AS{}{name} ({:.0} %)", self.asn, self.share * 100.0)
    }
}

/// A country and its share of the sampled peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountryShare {
    /// Code of the country.
    pub country: String,
    /// Share of the sample, from 0 to 1.
    pub share: f64,
}

impl fmt::Display for CountryShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:.0} %)", self.country, self.share * 100.0)
    }
}

/// Origins of the peers and networks of a notification. Without a database, all fields are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerOrigins {
    /// Number of peers in the notification that have an address. All shares are fractions of this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_sample: Option<usize>,
    /// Up to 8 ASes with their shares, largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub top_as: Vec<AsShare>,
    /// Up to 8 countries with their shares, largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub top_countries: Vec<CountryShare>,
    /// Known origins. Each key is the text of a peer or of a network in `top_prefixes`.
    #[serde(rename = "origins", skip_serializing_if = "BTreeMap::is_empty")]
    pub known: BTreeMap<String, Origin>,
}

/// AS and country databases that the configuration names.
#[derive(Clone, Debug, Default)]
pub struct OriginLookup {
    databases: Arc<[Database]>,
}

impl OriginLookup {
    /// Reads the databases of ASes and of countries.
    pub fn open(as_file: Option<&Path>, country_file: Option<&Path>) -> Result<Self> {
        let mut databases = Vec::new();
        for (path, content) in [(as_file, Content::As), (country_file, Content::Country)] {
            if let Some(path) = path {
                let database = Database::open(path, content)?;
                info!("loaded {}: {database}", path.display());
                databases.push(database);
            }
        }
        Ok(Self { databases: databases.into() })
    }

    /// Returns the origin of `address`.
    #[must_use]
    pub fn get(&self, address: IpAddr) -> Origin {
        let mut origin = Origin::default();
        for database in &*self.databases {
            if let Err(error) = database.look_up(address, &mut origin) {
                warn!("cannot look up {address} in {}: {error}", database.path.display());
            }
        }
        origin
    }

    /// Returns the origins of the peers and networks of a notification. The origin of a network is the origin of its
    /// first address.
    #[must_use]
    pub fn of_peers(&self, peers: &[Name], prefixes: &[(IpNet, f64)]) -> PeerOrigins {
        if self.databases.is_empty() {
            return PeerOrigins::default();
        }
        let origin = |text: String, network: IpNet| (text, self.get(network.addr()));
        let sample =
            peers.iter().filter_map(|peer| Some(origin(peer.to_string(), peer.network()?)));
        let sample: Vec<(String, Origin)> = sample.collect();
        let origins = || sample.iter().map(|(_, origin)| origin);
        let as_share = |(asn, share)| {
            let of = origins().find(|origin| origin.asn == Some(asn));
            AsShare { asn, as_name: of.and_then(|origin| origin.as_name.clone()), share }
        };
        let top_as = shares(origins().filter_map(|it| it.asn), sample.len());
        let top_as = top_as.into_iter().map(as_share).collect();
        let countries = shares(origins().filter_map(|it| it.country.clone()), sample.len());
        let country = |(country, share)| CountryShare { country, share };
        let top_countries = countries.into_iter().map(country).collect();
        let origin_sample = Some(sample.len());
        let prefixes = prefixes.iter().map(|(prefix, _)| origin(prefix.to_string(), *prefix));
        let known = sample.into_iter().chain(prefixes);
        let known = known.filter(|(_, origin)| *origin != Origin::default()).collect();
        PeerOrigins { origin_sample, top_as, top_countries, known }
    }
}

/// Returns up to [`MOST_SHARES`] keys with their shares, most frequent first. The share of a key is its count divided
/// by `all`.
fn shares<K: Ord>(keys: impl Iterator<Item = K>, all: usize) -> Vec<(K, f64)> {
    let mut counts = BTreeMap::<K, usize>::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let counts = counts.into_iter().take(MOST_SHARES);
    counts.map(|(key, count)| (key, count as f64 / all as f64)).collect()
}

/// Kind of a database, which determines the fields that are read from it.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// AS number and name.
    As,
    /// Country code.
    Country,
}

impl Content {
    fn read(
        self,
        found: &LookupResult<'_, Vec<u8>>,
        origin: &mut Origin,
    ) -> Result<(), MaxMindDbError> {
        match self {
            Self::As => {
                if let Some(of) = found.decode::<geoip2::Asn<'_>>()? {
                    origin.asn = of.autonomous_system_number;
                    origin.as_name = of.autonomous_system_organization.map(cut);
                }
            }
            Self::Country => {
                origin.country = found.decode_path::<&str>(&path!["country", "iso_code"])?.map(cut);
            }
        }
        Ok(())
    }

    /// Returns the field that at least one record must have, and a description of a suitable database.
    const fn need(self) -> (&'static str, &'static str) {
        match self {
            Self::As => ("autonomous_system_number", "a database of ASes, such as GeoLite2-ASN"),
            Self::Country => {
                ("country.iso_code", "a database of countries, such as GeoLite2-Country")
            }
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}

pub struct Database {
    path: PathBuf,
    content: Content,
    reader: Reader<Vec<u8>>,
    bytes: usize,
    built: Date,
}

impl Database {
    pub fn open(path: &Path, content: Content) -> Result<Self> {
        let file = read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(path, content, file)
            .with_context(|| format!("cannot use {} as a database", path.display()))
    }

    fn parse(path: &Path, content: Content, file: Vec<u8>) -> Result<Self> {
        let bytes = file.len();
        let reader = Reader::from_source(file)?;
        reader.verify()?;
        let built = i64::try_from(reader.metadata().build_epoch)?;
        let built = OffsetDateTime::from_unix_timestamp(built)?.date();
        let mut has_field = false;
        for found in reader.networks(WithinOptions::default())? {
            let mut origin = Origin::default();
            content.read(&found?, &mut origin)?;
            has_field |= origin != Origin::default();
        }
        let (field, instead) = content.need();
        ensure!(has_field, "no record has {field}; use {instead}");
        Ok(Self { path: path.to_owned(), content, reader, bytes, built })
    }

    fn look_up(&self, address: IpAddr, origin: &mut Origin) -> Result<(), MaxMindDbError> {
        let address = address.to_canonical();
        // The reader returns an error for an IPv6 address if the database has only IPv4.
        if address.is_ipv6() && self.reader.metadata().ip_version == 4 {
            return Ok(());
        }
        self.content.read(&self.reader.lookup(address)?, origin)
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    ensure!(metadata.is_file(), "not a regular file");
    ensure!(metadata.len() <= MOST_BYTES, "larger than 1 GiB");
    Ok(fs::read(path)?)
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, megabytes) = (&self.reader.metadata().database_type, self.bytes as f64 / 1e6);
        write!(f, "{kind} of {}, {megabytes:.1} MB in memory", self.built)
    }
}

/// Formats only the path, because a database is large.
impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

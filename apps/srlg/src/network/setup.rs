//! The credentials of a network and the broker's configuration.
//!
//! [`make`] writes the authority's certificate, the broker's certificate and key, a key for each client, and
//! `nats.conf`. The broker's configuration grants each client only the permissions that it needs. [`add`] and
//! [`remove`] change the probes of a network.
//!
//! Invariants: no file except `nats.conf` is overwritten, and secret files are readable only by their owner. The
//! authority's private key is never written, so no further broker certificate can be signed with it.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer};
use rcgen::{KeyPair as TlsKey, KeyUsagePurpose};
use time::OffsetDateTime;

use crate::network::connect::{AUTHORITY_FILE, key_file};
use crate::network::setup::conf::{Account, Conf};
use crate::network::subjects::{COLLECTOR, check_name};
use srlg_system::secrets::write_secret;

mod conf;

/// Name of the broker's configuration file.
pub const CONF_FILE: &str = "nats.conf";

/// Validity period of the certificates.
const LIFE: time::Duration = time::Duration::days(3650);

/// Maximum size of a part, in bytes. A message that contains a part and its headers is at most 1 MiB, which is the
/// broker's default limit.
pub(crate) const PART_BYTES: usize = (1 << 20) - conf::HEADROOM;

/// Writes the broker's configuration and the credentials of the broker, the collector and `probes` into `folder`.
/// Clients reach the broker at `hosts` and `port`.
pub fn make(folder: &Path, probes: &[String], hosts: &[String], port: u16) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let certificates = Certificates::new(hosts)?;
    // This file is written first: if the folder already contains it, nothing is changed.
    write_new(&folder.join(AUTHORITY_FILE), &certificates.authority)?;
    let accounts = probes.iter().map(|probe| account(folder, probe)).collect::<Result<_>>()?;
    let conf = Conf::new(port, accounts, new_key(folder, COLLECTOR)?);
    write_new(&folder.join("server.pem"), &certificates.server)?;
    write_secret(&folder.join("server.key"), &certificates.key)?;
    write_new(&folder.join(CONF_FILE), &conf.to_string())
}

/// Adds an account for `probe` to the broker's configuration in `folder` and writes its key. The files of all other
/// probes do not change, and an error changes nothing.
pub fn add(folder: &Path, probe: &str) -> Result<()> {
    check_name(probe)?;
    let (path, file) = (folder.join(CONF_FILE), key_file(folder, probe));
    let mut conf = read(&path)?;
    let is_known = conf.probes.iter().any(|account| account.probe == probe);
    ensure!(!is_known, "cannot add {probe}: {} already has this probe", path.display());
    ensure!(
        !file.exists(),
        "cannot add {probe}: {} exists, but is not the key of a probe of this network; remove it",
        file.display()
    );
    let added = account(folder, probe).and_then(|account| {
        conf.probes.push(account);
        replace(&path, &conf.to_string())
    });
    added.inspect_err(|_| discard(&file))
}

/// Removes the account of `probe` from the broker's configuration in `folder`, and then its key.
pub fn remove(folder: &Path, probe: &str) -> Result<()> {
    check_name(probe)?;
    let path = folder.join(CONF_FILE);
    let mut conf = read(&path)?;
    let at = conf.probes.iter().position(|account| account.probe == probe);
    let at =
        at.with_context(|| format!("cannot remove {probe}: {} has no such probe", path.display()))?;
    conf.probes.remove(at);
    replace(&path, &conf.to_string())?;
    let file = key_file(folder, probe);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// Writes a new key for `probe` and returns its account.
fn account(folder: &Path, probe: &str) -> Result<Account> {
    Ok(Account { probe: probe.to_owned(), key: new_key(folder, probe)? })
}

/// Writes a new secret key for `client` and returns the public key.
fn new_key(folder: &Path, client: &str) -> Result<String> {
    let key = KeyPair::new_user();
    write_secret(&key_file(folder, client), &format!("{}\n", key.seed()?))?;
    Ok(key.public_key())
}

/// Reads the broker's configuration at `path`.
fn read(path: &Path) -> Result<Conf> {
    let text = fs::read_to_string(path);
    let text = text
        .with_context(|| format!("cannot read {}, which `srlg setup` creates", path.display()))?;
    Conf::parse(&text).with_context(|| {
        format!(
            "cannot change {}: its accounts were edited by hand or created by another version of srlg; \
             edit them by hand, or run `srlg setup` with a new folder",
            path.display()
        )
    })
}

/// Replaces the file at `path`, which keeps its permissions, in one step.
fn replace(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("conf.new");
    let write = || {
        let mut file = File::create(&new)?;
        file.set_permissions(fs::metadata(path)?.permissions())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    let written = write().inspect_err(|_| discard(&new));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Removes an incomplete file after an error. That error is reported instead of one of the removal.
fn discard(path: &Path) {
    let _first_error_counts = fs::remove_file(path);
}

/// The certificates of the authority and the broker, and the broker's key, as PEM.
struct Certificates {
    authority: String,
    server: String,
    key: String,
}

impl Certificates {
    fn new(hosts: &[String]) -> Result<Self> {
        let (authority, authority_key) = (authority_params()?, TlsKey::generate()?);
        let key = TlsKey::generate()?;
        let certificate = authority.self_signed(&authority_key)?;
        let issuer = Issuer::new(authority, authority_key);
        let server = server_params(hosts)?.signed_by(&key, &issuer)?;
        Ok(Self { authority: certificate.pem(), server: server.pem(), key: key.serialize_pem() })
    }
}

fn authority_params() -> Result<CertificateParams> {
    let mut params = params(&[], "srlg network authority")?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    Ok(params)
}

fn server_params(hosts: &[String]) -> Result<CertificateParams> {
    let mut params = params(hosts, "srlg broker")?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn params(hosts: &[String], name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(hosts).with_context(|| {
        format!("cannot create a broker certificate with the names {}", hosts.join(", "))
    })?;
    params.distinguished_name.push(DnType::CommonName, name);
    let now = OffsetDateTime::now_utc();
    // The clocks of clients may be slightly behind.
    (params.not_before, params.not_after) = (now - time::Duration::days(1), now + LIFE);
    Ok(params)
}

fn write_new(path: &Path, text: &str) -> Result<()> {
    let write = || File::create_new(path)?.write_all(text.as_bytes());
    let written = write();
    let is_taken = written.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists);
    let hint = if is_taken { " (set `folder` to a new folder)" } else { "" };
    written.with_context(|| format!("cannot write {}{hint}", path.display()))
}

#[cfg(test)]
mod tests;

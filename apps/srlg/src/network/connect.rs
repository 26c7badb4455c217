//! The way to the broker: TLS by the network's own authority, a key per client, for ever again.
//!
//! Shape: [`Access`] says where broker and secrets are, [`Access::connect`] makes a [`Link`].
//! Invariant: nothing is sent before the broker has shown a certificate of the network's
//! authority. A broker that is away is waited for, and this is told; a broker that refuses the key
//! at the start, or shows a certificate of another authority, is an error.

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use async_nats::rustls::pki_types::CertificateDer;
use async_nats::rustls::pki_types::pem::{self, PemObject as _};
use async_nats::rustls::{self, CertificateError};
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::network::subjects;

/// File of the authority that signs the broker's certificate.
pub const AUTHORITY_FILE: &str = "ca.pem";

/// The most messages of a subscription that wait: more than the consumer of the stream asks for at once.
const CAPACITY: usize = 1024;

/// Longest wait between two attempts to connect.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The address of the broker, and the folder of secrets.
#[derive(Clone, Debug, clap::Args)]
pub struct Access {
    /// Folder with ca.pem and NAME.nk, as `setup` has made them
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub folder: PathBuf,

    /// The broker; the port is 4222 where none is given, an IPv6 address goes in brackets
    #[arg(long, value_name = "HOST[:PORT]", default_value = "localhost:4222", value_parser = address)]
    pub broker: String,
}

/// A connection that comes back for ever.
#[derive(Clone, Debug)]
pub struct Link {
    /// The client of NATS.
    pub client: Client,
    /// How often it has connected so far, and whether it is connected now.
    pub state: watch::Receiver<LinkState>,
}

/// The state of a [`Link`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// How often the client has connected.
    pub connects: u64,
    /// Whether it is connected.
    pub up: bool,
}

/// File of the key of `client` in a folder that `setup` has made.
#[must_use]
pub fn key_file(folder: &Path, client: &str) -> PathBuf {
    folder.join(format!("{client}.nk"))
}

impl Access {
    /// Connects as `client`, whose key the folder has; where the broker is away, in the background.
    pub async fn connect(&self, client: &str) -> Result<Link> {
        let (sender, state) = watch::channel(LinkState::default());
        let first = self.options(client, sender.clone())?;
        let broker = &self.broker;
        let client = match first.connect(broker).await {
            Ok(client) => {
                // The state follows the connection by a moment.
                let mut state = state.clone();
                let _up = timeout(LONGEST_WAIT, state.wait_for(|state| state.up)).await;
                client
            }
            Err(error) => match error.kind() {
                ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                    bail!(
                        "the broker at {broker} refuses the key of {client}: use the key of this network"
                    )
                }
                ConnectErrorKind::ServerParse => bail!("{broker} is no HOST:PORT"),
                _ if is_of_other_authority(&error) => {
                    bail!(
                        "the certificate of the broker at {broker} is of another authority: use {AUTHORITY_FILE} of this network"
                    )
                }
                _ => {
                    warn!("no broker at {broker} yet: {error}");
                    let later = self.options(client, sender)?.retry_on_initial_connect();
                    later.connect(broker).await?
                }
            },
        };
        Ok(Link { client, state })
    }

    /// Returns the file of the authority, which has a certificate.
    pub(crate) fn authority(&self) -> Result<PathBuf> {
        let path = self.folder.join(AUTHORITY_FILE);
        CertificateDer::from_pem_file(&path).map_err(|error| match error {
            pem::Error::Io(error) => anyhow!("cannot read {}: {error}", path.display()),
            error => anyhow!("there is no certificate in {}: {error}", path.display()),
        })?;
        Ok(path)
    }

    /// Returns the key of `client`.
    pub(crate) fn key(&self, client: &str) -> Result<String> {
        Ok(srlg_input::nats::seed(&key_file(&self.folder, client))?)
    }

    fn options(&self, client: &str, state: watch::Sender<LinkState>) -> Result<ConnectOptions> {
        let (authority, key) = (self.authority()?, self.key(client)?);
        let told = AtomicBool::new(false);
        let options = ConnectOptions::with_nkey(key)
            .name(client)
            .require_tls(true)
            .subscription_capacity(CAPACITY)
            .add_root_certificates(authority)
            .custom_inbox_prefix(subjects::inbox_prefix(client))
            .ignore_discovered_servers()
            .max_reconnects(None)
            .reconnect_delay_callback(wait_before)
            .event_callback(move |event| {
                on_event(&event, &state, &told);
                std::future::ready(())
            });
        Ok(options)
    }
}

/// `broker.example`, `192.0.2.7:4222`, `[2001:db8::7]:4222`.
pub(crate) fn address(text: &str) -> Result<String, String> {
    // What may follow in the address of a page is none of a broker.
    let plain = !text.contains(['/', '@', '?', '#']);
    let broker = text.parse::<ServerAddr>().ok();
    if plain && broker.is_some_and(|broker| !broker.host().is_empty()) {
        return Ok(text.to_owned());
    }
    Err("give HOST or HOST:PORT, an IPv6 address in brackets, as in [2001:db8::7]:4222".to_owned())
}

/// The first attempt comes at once, later ones ever less often.
fn wait_before(attempt: usize) -> Duration {
    let doublings = u32::try_from(attempt).unwrap_or(u32::MAX).min(10);
    if attempt <= 1 {
        return Duration::ZERO;
    }
    Duration::from_millis(25).saturating_mul(1 << doublings).min(LONGEST_WAIT)
}

/// Returns whether the broker has shown a certificate that the authority of the network has not signed.
fn is_of_other_authority(error: &ConnectError) -> bool {
    let error = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let error = error.and_then(|error| error.get_ref()?.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(reason)) = error else { return false };
    matches!(reason, CertificateError::UnknownIssuer | CertificateError::BadSignature)
}

/// Keeps the state, and tells. Of the attempts of one outage only the first is `told`.
fn on_event(event: &Event, state: &watch::Sender<LinkState>, told: &AtomicBool) {
    match event {
        Event::Connected => {
            state
                .send_modify(|state| *state = LinkState { connects: state.connects + 1, up: true });
            told.store(false, Relaxed);
            info!("connected to the broker");
        }
        Event::Disconnected | Event::Closed => {
            state.send_modify(|state| state.up = false);
            warn!("the connection to the broker is gone");
        }
        Event::ServerError(error) => warn!("the broker reports an error: {error}"),
        Event::ClientError(error) => {
            if !told.swap(true, Relaxed) {
                warn!("cannot connect to the broker, which is tried again and again: {error}");
            }
        }
        other => info!("broker: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_below_two_seconds() {
        let waits: Vec<u128> = (0..6).map(|attempt| wait_before(attempt).as_millis()).collect();
        assert_eq!(waits, [0, 0, 100, 200, 400, 800]);
        assert_eq!([100, usize::MAX].map(wait_before), [LONGEST_WAIT; 2]);
    }

    #[test]
    fn a_broker_is_a_name_or_an_address_with_or_without_a_port() {
        for (text, host, port) in [
            ("broker.example", "broker.example", 4222),
            ("broker.example:7422", "broker.example", 7422),
            ("192.0.2.7", "192.0.2.7", 4222),
            ("[2001:db8::7]", "2001:db8::7", 4222),
            ("[2001:db8::7]:7422", "2001:db8::7", 7422),
        ] {
            let broker: ServerAddr = address(text).unwrap().parse().unwrap();
            assert_eq!((broker.host(), broker.port()), (host, port), "{text}");
        }
        for text in
            ["", ":4222", "2001:db8::7", "host:port", "host:65536", "tls://host", "a@b", "a/b"]
        {
            let error = address(text).expect_err(text);
            assert!(error.contains("[2001:db8::7]:4222"), "{error}");
        }
    }

    #[test]
    fn the_state_tells_connects_and_whether_the_link_is_up() {
        let (sender, state) = watch::channel(LinkState::default());
        let mut seen = Vec::new();
        for event in [Event::Connected, Event::Disconnected, Event::Connected] {
            on_event(&event, &sender, &AtomicBool::new(false));
            seen.push((state.borrow().connects, state.borrow().up));
        }
        assert_eq!(seen, [(1, true), (1, false), (2, true)]);
    }
}

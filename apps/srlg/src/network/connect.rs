//! Connection to the broker over TLS. The network has its own certificate authority, and each client has its own key.
//! After a connection has failed, the client tries to reconnect until it succeeds.
//!
//! [`Access`] names the broker and the folder of secrets, and [`Access::connect`] returns a [`Link`].
//!
//! A [`Relay`] limits the size of the messages that the broker sends, because the client library does not.
//!
//! Invariant: nothing is sent before the broker has presented a certificate that the network's authority signed. If the
//! broker is unreachable, this is logged, and the client tries to connect again. At the first attempt to connect, a
//! rejected key, or a certificate from a different authority or with other names, is an error. Other problems of
//! certificates may be solved by a correct clock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_nats::rustls::{self, CertificateError};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use srlg_input::backoff::Backoff;
use srlg_input::credentials::read_certificates;
use srlg_input::nats::{DIAL_TIMEOUT, Relay, RelayCause, RelayError, tls};
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::network::subjects;

/// Delays between attempts to use the broker or the spool.
pub(crate) const BACKOFF: Backoff = Backoff::new(Duration::from_millis(250), LONGEST_WAIT);

/// Name of the file with the certificate of the authority that signed the broker's certificate.
pub const AUTHORITY_FILE: &str = "ca.pem";

/// Maximum number of messages that wait in a subscription. The consumer of the stream requests fewer messages at a
/// time.
const CAPACITY: usize = 1024;

/// Maximum wait between two attempts to connect.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Address of the broker, and folder with the secrets.
#[derive(Clone, Debug)]
pub struct Access {
    /// Folder with `ca.pem` and `NAME.nk`, which `srlg setup` creates.
    pub folder: PathBuf,

    /// Address of the broker, with a port if it is not 4222.
    pub broker: String,
}

/// A connection to the broker that is re-established after every failure.
#[derive(Clone, Debug)]
pub struct Link {
    /// NATS client.
    pub client: Client,
    /// Number of connections so far, and whether the client is connected now.
    pub state: watch::Receiver<LinkState>,
}

/// State of a [`Link`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// Number of times that the client has connected.
    pub connects: u64,
    /// Whether the client is connected.
    pub up: bool,
}

/// Returns the path of the key of `client` in a folder that `srlg setup` has created.
#[must_use]
pub fn key_file(folder: &Path, client: &str) -> PathBuf {
    folder.join(format!("{client}.nk"))
}

impl Access {
    /// Connects as `client`, whose key is in the folder. If the broker is unreachable, the client keeps trying to
    /// connect in the background.
    pub async fn connect(&self, client: &str) -> Result<Link> {
        let (sender, state) = watch::channel(LinkState::default());
        let broker = &self.broker;
        let Ok(address) = broker.parse::<ServerAddr>() else {
            bail!("broker: must be HOST:PORT, got {broker}")
        };
        let relay = Relay::start(&[address], Some(&tls(Some(&self.authority()?))?)).await;
        let relay = Arc::new(relay.context("cannot open a loopback port for the broker")?);
        let first = self.options(client, relay.clone(), sender.clone())?;
        let client = match first.connect(relay.addresses()).await {
            Ok(client) => {
                // The state is updated shortly after the connection.
                let mut state = state.clone();
                let _up = timeout(LONGEST_WAIT, state.wait_for(|state| state.up)).await;
                client
            }
            Err(error) => match error.kind() {
                ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                    bail!(
                        "cannot connect to the broker at {broker}: it rejects the key of {client}; use the key of this network"
                    )
                }
                _ => {
                    let failure = relay.take_failure();
                    if let Some(reason) = failure.as_ref().and_then(certificate_error) {
                        bail!("cannot connect to the broker at {broker}: {reason}")
                    }
                    let error = failure.map_or_else(|| error.to_string(), |it| it.to_string());
                    warn!("cannot connect to the broker at {broker} yet: {error}");
                    let options = self.options(client, relay.clone(), sender)?;
                    options.retry_on_initial_connect().connect(relay.addresses()).await?
                }
            },
        };
        Ok(Link { client, state })
    }

    /// Returns the path of the authority's certificate. Fails if the file contains no certificate.
    pub(crate) fn authority(&self) -> Result<PathBuf> {
        let path = self.folder.join(AUTHORITY_FILE);
        read_certificates(&path)?;
        Ok(path)
    }

    pub(crate) fn key(&self, client: &str) -> Result<String> {
        Ok(srlg_input::nats::seed(&key_file(&self.folder, client))?)
    }

    /// Returns the options of `client`, whose event callback owns the relay.
    fn options(
        &self,
        client: &str,
        relay: Arc<Relay>,
        state: watch::Sender<LinkState>,
    ) -> Result<ConnectOptions> {
        let is_logged = AtomicBool::new(false);
        let options = ConnectOptions::with_nkey(self.key(client)?)
            .name(client)
            // The relay reports why the broker does not answer before the client gives up.
            .connection_timeout(2 * DIAL_TIMEOUT)
            .subscription_capacity(CAPACITY)
            .custom_inbox_prefix(subjects::inbox_prefix(client))
            .ignore_discovered_servers()
            .max_reconnects(None)
            .reconnect_delay_callback(delay_before)
            .event_callback(move |event| {
                on_event(&event, &state, &is_logged, || relay.take_failure());
                std::future::ready(())
            });
        Ok(options)
    }
}

/// Checks the address of a broker, such as `broker.example`, `192.0.2.7:4222` or `[2001:db8::7]:4222`.
pub(crate) fn address(text: &str) -> Result<String, String> {
    // A `ServerAddr` may have a path, a user or a query, but the address of a broker must not.
    let plain = !text.contains(['/', '@', '?', '#']);
    let broker = text.parse::<ServerAddr>().ok();
    if plain && broker.is_some_and(|broker| !broker.host().is_empty()) {
        return Ok(text.to_owned());
    }
    Err("must be HOST or HOST:PORT, with an IPv6 address in brackets, such as [2001:db8::7]:4222"
        .to_owned())
}

/// Delays between attempts to connect.
const RECONNECTS: Backoff = Backoff::new(Duration::from_millis(100), LONGEST_WAIT);

/// Returns the delay before `attempt`. The first attempt after a connection is immediate.
fn delay_before(attempt: usize) -> Duration {
    let failures = attempt.saturating_sub(1);
    RECONNECTS.after(u32::try_from(failures).unwrap_or(u32::MAX))
}

/// Returns what is wrong with the certificate of the broker, if `error` says that it is that of another network or
/// host.
fn certificate_error(error: &RelayError) -> Option<String> {
    let RelayCause::Tls(error) = &error.cause else { return None };
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let rustls::Error::InvalidCertificate(reason) = error else { return None };
    match reason {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => Some(format!(
            "its certificate is from a different authority; use the {AUTHORITY_FILE} of this network"
        )),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Some("its certificate has other names; set `broker` to one of them".to_owned())
        }
        _ => None,
    }
}

/// Updates the state and logs the event. Of an outage, only the first failed attempt is logged, which `is_logged`
/// records. The relay's `failure` has the reason for most problems.
fn on_event(
    event: &Event,
    state: &watch::Sender<LinkState>,
    is_logged: &AtomicBool,
    failure: impl FnOnce() -> Option<RelayError>,
) {
    match event {
        Event::Connected => {
            state
                .send_modify(|state| *state = LinkState { connects: state.connects + 1, up: true });
            is_logged.store(false, Relaxed);
            info!("connected to the broker");
        }
        Event::Disconnected => {
            state.send_modify(|state| state.up = false);
            match failure() {
                Some(failure) => warn!("disconnected from the broker: {failure}"),
                None => warn!("disconnected from the broker"),
            }
        }
        // The program is stopping.
        Event::Closed => {}
        Event::ServerError(error) => warn!("the broker reports an error: {error}"),
        Event::ClientError(error) => {
            if !is_logged.swap(true, Relaxed) {
                let error = failure().map_or_else(|| error.to_string(), |it| it.to_string());
                warn!("cannot connect to the broker: {error}; trying again");
            }
        }
        other => info!("broker: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_attempt_is_immediate_and_later_ones_wait_up_to_two_seconds() {
        assert_eq!([0, 1].map(delay_before), [Duration::ZERO; 2]);
        for (attempt, ms) in [(2, 100), (3, 200), (4, 400), (5, 800), (usize::MAX, 2000)] {
            let delay = delay_before(attempt);
            let longest = Duration::from_millis(ms);
            assert!(longest / 2 <= delay && delay <= longest, "{delay:?} before {attempt}");
        }
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
    fn the_state_has_connects_and_whether_the_link_is_up() {
        let (sender, state) = watch::channel(LinkState::default());
        let mut seen = Vec::new();
        for event in [Event::Connected, Event::Disconnected, Event::Connected] {
            on_event(&event, &sender, &AtomicBool::new(false), || None);
            seen.push((state.borrow().connects, state.borrow().up));
        }
        assert_eq!(seen, [(1, true), (1, false), (2, true)]);
    }
}

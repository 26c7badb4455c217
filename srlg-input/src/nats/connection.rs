//! Connections to NATS servers.
//!
//! If a connection is lost, the reader drops the client and opens a new connection. The reader does not rely
//! on the client to reconnect, because the client would not report the cause of an error.

use std::path::Path;
use std::sync::Arc;

use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use nkeys::KeyPair;
use rustls::ClientConfig;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::credentials::read_secret;
use crate::error::InputError;
use crate::messages::{password, tls};
use crate::nats::relay::{DIAL_TIMEOUT, Relay};
use crate::nats::session::NatsError;
use crate::options::{BadUrl, BrokerOptions, NatsUrl};

/// Maximum number of unread messages of a subject. Above the limit, the client drops messages. The limit is far above
/// the number of messages that one read of the socket yields.
const CAPACITY: usize = 1 << 17;

/// The servers, and the settings for connecting to them.
pub(super) struct Access {
    servers: Vec<ServerAddr>,
    tls: Option<Arc<ClientConfig>>,
    identity: Identity,
}

/// A connection to a server.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) events: UnboundedReceiver<Event>,
    pub(super) relay: Arc<Relay>,
}

#[derive(Clone)]
enum Identity {
    Nobody,
    User { name: String, password: String },
    Key(String),
    Credentials(String),
}

impl Access {
    /// Creates the settings and reads the files that `options` name.
    pub(super) fn new(url: &NatsUrl, options: &BrokerOptions) -> Result<Self, InputError> {
        let BrokerOptions { ca, user, password: password_file, key, credentials, .. } = options;
        let tls = options.is_tls().then(|| tls(ca.as_deref())).transpose()?;
        let identity = match (user, password_file, key, credentials) {
            (Some(user), Some(path), ..) => {
                Identity::User { name: user.clone(), password: password(path)? }
            }
            (_, _, Some(path), _) => Identity::Key(seed(path)?),
            (.., Some(path)) => {
                let text = read_secret(path)?;
                ConnectOptions::with_credentials(&text).map_err(|error| {
                    InputError::BrokerFile { path: path.clone(), cause: error.to_string() }
                })?;
                Identity::Credentials(text)
            }
            _ => Identity::Nobody,
        };
        let servers = url.servers.iter().map(|server| format!("nats://{server}").parse());
        let servers = servers.collect::<Result<_, _>>();
        let servers = servers.map_err(|_| BadUrl(url.to_string()))?;
        Ok(Self { servers, tls, identity })
    }

    pub(super) async fn connect(&self) -> Result<Connection, NatsError> {
        let relay = Relay::start(&self.servers, self.tls.as_ref()).await;
        let relay = Arc::new(relay.map_err(NatsError::Relay)?);
        let (sender, events) = unbounded_channel();
        let options = match self.identity.clone() {
            Identity::Nobody => ConnectOptions::new(),
            Identity::User { name, password } => {
                ConnectOptions::with_user_and_password(name, password)
            }
            Identity::Key(seed) => ConnectOptions::with_nkey(seed),
            Identity::Credentials(text) => ConnectOptions::with_credentials(&text)?,
        };
        let kept = relay.clone();
        let options = options
            .name("srlg")
            .ignore_discovered_servers()
            .max_reconnects(self.servers.len())
            // The relay reports why a server does not answer before the client gives up.
            .connection_timeout(2 * DIAL_TIMEOUT)
            .subscription_capacity(CAPACITY)
            .event_callback(move |event| {
                // The callback lives until the client no longer connects, and so does the relay that it owns.
                let _relay = &kept;
                // Sending fails if the input has stopped, because there is no receiver then.
                let _ended = sender.send(event);
                std::future::ready(())
            });
        match options.connect(relay.addresses()).await {
            Ok(client) => Ok(Connection { client, events, relay }),
            Err(error) => Err(relay.take_failure().map_or_else(|| error.into(), NatsError::Server)),
        }
    }
}

/// Reads an `NKey` seed from a file.
///
/// # Errors
/// Returns [`InputError::Secret`] if other users can access the file or it cannot be read, and
/// [`InputError::BrokerFile`] if it contains no key.
pub fn seed(path: &Path) -> Result<String, InputError> {
    let seed = read_secret(path)?.trim().to_owned();
    KeyPair::from_seed(&seed).map_err(|error| InputError::BrokerFile {
        path: path.to_owned(),
        cause: format!("it contains no key: {error}"),
    })?;
    Ok(seed)
}

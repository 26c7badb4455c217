//! Connections to NATS servers.
//!
//! If a connection is lost, the reader drops the client and opens a new connection. The reader does not rely
//! on the client to reconnect, because the client would not report the cause of an error.

use std::path::{Path, PathBuf};

use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use nkeys::KeyPair;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::credentials::read_secret;
use crate::error::InputError;
use crate::messages::{password, tls};
use crate::nats::session::NatsError;
use crate::options::{BadUrl, BrokerOptions, NatsUrl};

/// Maximum number of unread messages of a subject. Above the limit, the client drops messages. The limit is far above
/// the number of messages that one read of the socket yields.
const CAPACITY: usize = 1 << 17;

/// The servers, and the settings for connecting to them.
pub(super) struct Access {
    servers: Vec<ServerAddr>,
    is_tls: bool,
    ca: Option<PathBuf>,
    identity: Identity,
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
        if options.is_tls() {
            // The client reads the certificates itself. They are also read here to detect errors early.
            tls(ca.as_deref())?;
        }
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
        Ok(Self { servers, is_tls: options.is_tls(), ca: ca.clone(), identity })
    }

    pub(super) async fn connect(&self) -> Result<(Client, UnboundedReceiver<Event>), NatsError> {
        let (sender, events) = unbounded_channel();
        let options = match self.identity.clone() {
            Identity::Nobody => ConnectOptions::new(),
            Identity::User { name, password } => {
                ConnectOptions::with_user_and_password(name, password)
            }
            Identity::Key(seed) => ConnectOptions::with_nkey(seed),
            Identity::Credentials(text) => ConnectOptions::with_credentials(&text)?,
        };
        let mut options = options
            .name("srlg")
            .require_tls(self.is_tls)
            .ignore_discovered_servers()
            .max_reconnects(self.servers.len())
            .subscription_capacity(CAPACITY)
            .event_callback(move |event| {
                // Sending fails if the input has stopped, because there is no receiver then.
                let _ended = sender.send(event);
                std::future::ready(())
            });
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone());
        }
        Ok((options.connect(&self.servers).await?, events))
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

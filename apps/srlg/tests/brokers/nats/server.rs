//! A NATS server and a producer for tests.

use std::fs;
use std::path::Path;

use async_nats::jetstream::stream::{Config, StorageType};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions};
use srlg_cli::network::broker::Broker;
use srlg_input::InputOptions;
use srlg_input::live::{BrokerOptions, MessageOptions};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::server::has_broker;

pub(crate) const STREAM: &str = "FLOWS";
pub(crate) const SUBJECT: &str = "flows.router";

/// A running server, which is killed when this value is dropped.
pub(crate) struct Server {
    pub(crate) broker: Broker,
    folder: TempDir,
    runtime: Runtime,
}

impl Server {
    /// Starts a server with JetStream and the configuration lines `settings`. Returns `None` if `nats-server` is not
    /// installed.
    pub(crate) fn start(settings: &str) -> Option<Self> {
        if !has_broker() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let conf = format!("jetstream {{ store_dir: \"store\" }}\n{settings}\n");
        fs::write(folder.path().join("nats.conf"), conf).unwrap();
        let broker = Broker::start(folder.path()).unwrap();
        let runtime = Runtime::new().unwrap();
        Some(Self { broker, folder, runtime })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `work` with a client.
    pub(crate) fn with<T>(&self, work: impl AsyncFnOnce(Client) -> T) -> T {
        self.runtime.block_on(async {
            let client = ConnectOptions::new().connect(self.broker.address()).await.unwrap();
            work(client).await
        })
    }

    pub(crate) fn make_stream(&self) {
        self.make_stream_with(|_| {});
    }

    pub(crate) fn make_stream_with(&self, change: impl FnOnce(&mut Config)) {
        self.with(async |client| {
            let mut config = Config {
                name: STREAM.to_owned(),
                subjects: vec!["flows.>".to_owned()],
                storage: StorageType::File,
                ..Config::default()
            };
            change(&mut config);
            jetstream::new(client).create_stream(config).await.unwrap();
        });
    }

    pub(crate) fn remove_stream(&self) {
        self.with(async |client| jetstream::new(client).delete_stream(STREAM).await.unwrap());
    }

    pub(crate) fn remove_message(&self, sequence: u64) {
        self.with(async |client| {
            let stream = jetstream::new(client).get_stream(STREAM).await.unwrap();
            assert!(stream.delete_message(sequence).await.unwrap());
        });
    }

    /// Publishes messages and waits until the stream has stored them.
    pub(crate) fn produce(&self, messages: Vec<Vec<u8>>) {
        self.with(async |client| produce(&jetstream::new(client), messages).await);
    }

    /// Publishes messages to the subject without JetStream, and waits until the server has read them.
    pub(crate) fn publish(&self, messages: Vec<Vec<u8>>) {
        self.with(async |client| {
            for message in messages {
                client.publish(SUBJECT, message.into()).await.unwrap();
            }
            // The server has read all messages when it answers. If the client stopped earlier, unread messages would
            // be lost.
            jetstream::new(client).get_stream("NONE").await.unwrap_err();
        });
    }

    /// Returns options for reading the stream from its first message.
    pub(crate) fn stream(&self) -> InputOptions {
        options(&format!("jetstream://{}/{STREAM}", self.broker.address()))
    }

    /// Returns options for reading the subjects `flows.*` without JetStream.
    pub(crate) fn subject(&self) -> InputOptions {
        let mut options = options(&format!("nats://{}/flows.*", self.broker.address()));
        options.messages.earliest = false;
        options
    }
}

async fn produce(context: &Context, messages: Vec<Vec<u8>>) {
    // The client allows only some thousand outstanding acknowledgements.
    for messages in messages.chunks(1_000) {
        let mut acks = Vec::new();
        for message in messages {
            acks.push(context.publish(SUBJECT, message.clone().into()).await.unwrap());
        }
        for ack in acks {
            ack.await.unwrap();
        }
    }
}

fn options(url: &str) -> InputOptions {
    InputOptions {
        broker: BrokerOptions { url: Some(url.parse().unwrap()), ..BrokerOptions::default() },
        messages: MessageOptions { earliest: true, ..MessageOptions::default() },
        ..InputOptions::default()
    }
}

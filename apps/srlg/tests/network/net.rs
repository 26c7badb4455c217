//! A network with a broker in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use async_nats::Client;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::{self, stream};
use srlg_cli::network::broker::Broker;
use srlg_cli::network::connect::{Access, Link};
use srlg_cli::network::payload::{Payload, SiteState};
use srlg_cli::network::setup;
use srlg_cli::network::subjects::{ALL_SLICES, STREAM};
use srlg_cli::network::{Network, NetworkVersion, bucket};
use srlg_system::secrets::write_secret;
use tempfile::TempDir;

use crate::nats::has_broker;
use crate::network_traffic::{PROBES, configuration_with, network, sizes, version};
use crate::probe::ProbeConfig;
use crate::process::{PATIENCE, Process};

/// Time between two requests to the broker.
const RETRY: Duration = Duration::from_millis(10);

pub struct Net {
    folder: TempDir,
    pub broker: Broker,
    pub network: Network,
}

impl Net {
    /// Starts a broker for a network of three probes and stores the first version of the network on it. If
    /// `nats-server` is missing, prints a message and returns `None`.
    pub fn start() -> Option<Self> {
        Self::of(network())
    }

    /// Like [`start`](Self::start), but the network has the views and rules in `rules`, and the seed `seed`.
    pub fn with_rules(rules: &str, seed: u64) -> Option<Self> {
        let text = configuration_with(Path::new("."), rules);
        let config = srlg_cli::config::Config::parse(&text).unwrap();
        Self::of(Network::of(&config, seed))
    }

    /// Like [`start`](Self::start), but for `network`.
    pub fn of(network: Network) -> Option<Self> {
        let (folder, broker) = start_broker(&PROBES.map(str::to_owned))?;
        let net = Self { folder, broker, network };
        run(async {
            let (client, start) = (net.link("collector").await.client, Instant::now());
            while let Err(error) = net.publish_version(&client).await {
                assert!(start.elapsed() < PATIENCE, "{error:#}");
                tokio::time::sleep(RETRY).await;
            }
        });
        Some(net)
    }

    /// Stores the first version of the network on the broker. Can be repeated if the broker does not answer in time.
    async fn publish_version(&self, client: &Client) -> anyhow::Result<()> {
        bucket::make(client).await?;
        if bucket::read(client).await?.is_none() {
            bucket::write(client, &self.version(), 0).await?;
        }
        Ok(())
    }

    /// Returns the first version of the network, which is stored on the broker.
    pub fn version(&self) -> NetworkVersion {
        version(self.network.clone())
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn spool(&self) -> PathBuf {
        self.folder().join("spool")
    }

    /// Starts probe `name` with the state folder `state`. `tables` contains further keys of `[probe]`, and tables.
    pub fn start_probe(&self, name: &str, state: &Path, tables: &str) -> Process {
        Process::start(&mut self.probe(name, state, "", tables))
    }

    /// Returns the command that starts probe `name`. `general` contains keys of the top level.
    pub fn probe(&self, name: &str, state: &Path, general: &str, tables: &str) -> Command {
        let (folder, broker) = (self.folder(), &self.broker.address());
        ProbeConfig { name, folder, broker, state, general, tables }.command()
    }

    pub fn access(&self) -> Access {
        Access { folder: self.folder().to_owned(), broker: self.broker.address() }
    }

    /// Connects to the broker as `client` and waits until the connection is established.
    pub async fn link(&self, client: &str) -> Link {
        let mut link = self.access().connect(client).await.unwrap();
        link.state.wait_for(|state| state.up).await.unwrap();
        link
    }

    /// Returns the stream. If the stream does not exist, it is created with the credentials of a collector.
    pub async fn stream(&self) -> stream::Stream {
        let (link, start) = (self.link("collector").await, Instant::now());
        let config = stream::Config {
            name: STREAM.to_owned(),
            subjects: vec![ALL_SLICES.to_owned()],
            // With a short duplicate window, messages that are sent again after a loss need not wait for two minutes.
            duplicate_window: Duration::from_millis(500),
            ..stream::Config::default()
        };
        let context = jetstream::new(link.client);
        loop {
            // A collector may create the stream between the two requests that this call consists of.
            match context.get_or_create_stream(config.clone()).await {
                Ok(stream) => return stream,
                Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Waits until the stream has received at least `count` messages.
    pub async fn wait_for_messages(&self, count: u64) {
        let (mut stream, start) = (self.stream().await, Instant::now());
        while stream.info().await.unwrap().state.last_sequence < count {
            assert!(start.elapsed() < PATIENCE, "fewer than {count} messages have arrived");
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Returns all messages of the stream, in order.
    async fn raw(&self) -> Vec<StreamMessage> {
        let mut stream = self.stream().await;
        let state = stream.info().await.unwrap().state.clone();
        let mut messages = Vec::new();
        for sequence in state.first_sequence.max(1)..=state.last_sequence {
            messages.push(stream.get_raw_message(sequence).await.unwrap());
        }
        messages
    }

    /// Returns the subject, the part header and the payload of each message.
    pub async fn messages(&self) -> Vec<(String, String, Vec<u8>)> {
        let message = |message: StreamMessage| {
            let part = message.headers.get("Srlg-Part").map(ToString::to_string);
            (message.subject.to_string(), part.unwrap_or_default(), message.payload.to_vec())
        };
        self.raw().await.into_iter().map(message).collect()
    }

    /// Returns the sampling header of each message.
    pub async fn samplings(&self) -> Vec<Option<String>> {
        let header =
            |message: &StreamMessage| message.headers.get("Srlg-Sampling").map(ToString::to_string);
        self.raw().await.iter().map(header).collect()
    }

    /// Returns the slices of `probe` in the stream, as payloads by slice and part. Repeated payloads must be equal.
    pub async fn slices(&self, probe: &str) -> BTreeMap<(u64, String), Vec<u8>> {
        let mut slices = BTreeMap::new();
        for (subject, part, payload) in self.messages().await {
            if subject != format!("srlg.slice.{probe}") {
                continue;
            }
            let slice = unpacked(&payload).0;
            let before = slices.insert((slice, part), payload.clone());
            assert!(before.is_none_or(|before| before == payload), "slice {slice} differs");
        }
        slices
    }
}

/// Creates the credentials of a network of three probes.
pub fn make_folder(folder: &Path) {
    make_folder_of(folder, &PROBES.map(str::to_owned));
}

fn make_folder_of(folder: &Path, probes: &[String]) {
    setup::make(folder, probes, &["localhost".to_owned()], 4222).unwrap();
}

/// Starts an empty broker for a network of `probes` and returns it with its folder. Returns `None` if `nats-server` is
/// missing.
pub fn start_broker(probes: &[String]) -> Option<(TempDir, Broker)> {
    has_broker().then(|| {
        let folder = tempfile::tempdir().unwrap();
        make_folder_of(folder.path(), probes);
        let broker = Broker::start(folder.path()).unwrap();
        (folder, broker)
    })
}

/// Stores `version` in the spool of probe `name`, as if the probe had received it from a broker.
pub fn keep(spool: &Path, name: &str, version: &NetworkVersion) {
    let folder = spool.join(name);
    fs::create_dir_all(&folder).unwrap();
    let json = String::from_utf8(version.to_json().unwrap()).unwrap();
    write_secret(&folder.join("network.json"), &json).unwrap();
}

/// Returns the slice and the states of a message.
pub fn unpacked(payload: &[u8]) -> (u64, Vec<SiteState>) {
    let params = sizes().validate().unwrap();
    let payload = Payload::unpack(bytes::Bytes::copy_from_slice(payload)).unwrap();
    let read = payload.states.iter().map(|state| {
        let kind = state.header().unwrap().kind;
        state.read(kind, &params, 1 << 20).unwrap()
    });
    (payload.slice, read.collect())
}

pub fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}

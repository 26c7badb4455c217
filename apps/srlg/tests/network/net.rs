//! A network with a broker, in a folder that goes away with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::{self, stream};
use srlg_cli::network::Network;
use srlg_cli::network::broker::Broker;
use srlg_cli::network::connect::{Access, Link};
use srlg_cli::network::setup;
use srlg_cli::network::subjects::{ALL_DELTAS, STREAM};
use srlg_host::Config;
use srlg_host::config::Scheme;
use tempfile::TempDir;

use crate::node::PATIENCE;

pub const PROBES: [&str; 3] = ["a", "b", "c"];

pub struct Net {
    folder: TempDir,
    pub broker: Broker,
    pub network: Network,
}

/// Detectors of some MB: a super point has 64 opposite hosts.
pub fn config() -> Config {
    Config {
        scheme: Scheme::Tagged { cell_bits: 14, lines: 4096, tags: 64 },
        threshold: 64,
        window: 20,
        linear_width: 1024,
        seed: 7,
        ..Config::default()
    }
}

impl Net {
    /// A network of three probes; none where there is no `nats-server`, which is told.
    pub fn start() -> Option<Self> {
        Self::of(Self::network())
    }

    pub fn network() -> Network {
        let probes = PROBES.map(str::to_owned).to_vec();
        Network { probes, slice_ms: 1000, part_bytes: 1 << 20, config: config() }
    }

    /// The same for any network.
    pub fn of(network: Network) -> Option<Self> {
        if !Broker::is_installed() {
            assert!(std::env::var_os("SRLG_REQUIRE_NATS").is_none(), "there is no nats-server");
            eprintln!("SKIPPED: there is no nats-server on PATH (apt-get install nats-server)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        setup::make(folder.path(), &network, &["localhost".to_owned()], 4222).unwrap();
        let broker = Broker::start(folder.path()).unwrap();
        Some(Self { folder, broker, network })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn spool(&self) -> PathBuf {
        self.folder().join("spool")
    }

    pub fn access(&self) -> Access {
        Access { folder: self.folder().to_owned(), broker: self.broker.address() }
    }

    /// Connects as `client`, and waits until it is connected.
    pub async fn link(&self, client: &str) -> Link {
        let mut link = self.access().connect(client).await.unwrap();
        link.state.wait_for(|state| state.up).await.unwrap();
        link
    }

    /// The stream, made if it is not there, as a collector does it.
    pub async fn stream(&self) -> stream::Stream {
        let link = self.link("collector").await;
        let config = stream::Config {
            name: STREAM.to_owned(),
            subjects: vec![ALL_DELTAS.to_owned()],
            // What is sent again after a loss need not wait for two minutes.
            duplicate_window: Duration::from_millis(500),
            ..stream::Config::default()
        };
        jetstream::new(link.client).get_or_create_stream(config).await.unwrap()
    }

    /// Waits until so many messages have come.
    pub async fn wait_for_messages(&self, count: u64) {
        let (mut stream, start) = (self.stream().await, Instant::now());
        while stream.info().await.unwrap().state.last_sequence < count {
            assert!(start.elapsed() < PATIENCE, "less than {count} messages have come");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// All messages of the stream, in order.
    async fn raw(&self) -> Vec<StreamMessage> {
        let mut stream = self.stream().await;
        let state = stream.info().await.unwrap().state.clone();
        let mut messages = Vec::new();
        for sequence in state.first_sequence.max(1)..=state.last_sequence {
            messages.push(stream.get_raw_message(sequence).await.unwrap());
        }
        messages
    }

    /// Subject, header of the part and payload of each message of the stream.
    pub async fn messages(&self) -> Vec<(String, String, Vec<u8>)> {
        let message = |message: StreamMessage| {
            let part = message.headers.get("Srlg-Part").map(ToString::to_string);
            (message.subject.to_string(), part.unwrap_or_default(), message.payload.to_vec())
        };
        self.raw().await.into_iter().map(message).collect()
    }

    /// The header of the sampling of each message of the stream.
    pub async fn samplings(&self) -> Vec<Option<String>> {
        let header =
            |message: &StreamMessage| message.headers.get("Srlg-Sampling").map(ToString::to_string);
        self.raw().await.iter().map(header).collect()
    }

    /// The deltas of `probe` in the stream: payloads by slice and part. What came twice was the same.
    pub async fn deltas(&self, probe: &str) -> BTreeMap<(u64, String), Vec<u8>> {
        let mut deltas = BTreeMap::new();
        for (subject, part, payload) in self.messages().await {
            if subject != format!("srlg.delta.{probe}") {
                continue;
            }
            let params = self.network.config.validate().unwrap();
            let slice = srlg_host::state::Delta::from_bytes(&payload, &params).unwrap().slice();
            let before = deltas.insert((slice, part), payload.clone());
            assert!(before.is_none_or(|before| before == payload), "slice {slice} differs");
        }
        deltas
    }
}

/// Runs asynchronous work to its end.
pub fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}

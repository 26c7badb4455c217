//! Where the description of the network is: a key of a key-value bucket on the broker, which is a stream of its own.
//! `nats kv get SRLG network` shows it.
//!
//! The collector alone writes it. A probe may ask for this one key, by the direct interface of streams, and for nothing
//! else (`setup`).

use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_nats::Client;
use async_nats::header::NATS_SEQUENCE;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, stream};

use super::NetworkVersion;

/// The stream that is the bucket, and the subjects of all keys.
const STREAM: &str = "KV_SRLG";
const ENTRIES: &str = "$KV.SRLG.>";

/// Where the description is asked for; the answer is the message that is stored.
pub const QUESTION: &str = "$JS.API.DIRECT.GET.KV_SRLG.$KV.SRLG.network";

/// Where the collector writes it.
pub const ENTRY: &str = "$KV.SRLG.network";

/// Timeout of a request to the broker.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes the bucket where there is none.
pub async fn make(client: &Client) -> Result<()> {
    // What makes a stream a bucket to other clients. `create_key_value` would ask for the limits of the account first, in
    // an answer that it cannot read from brokers before 2.10.
    let config = stream::Config {
        name: STREAM.to_owned(),
        subjects: vec![ENTRIES.to_owned()],
        max_messages_per_subject: 1,
        discard: stream::DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..stream::Config::default()
    };
    let made = context(client).get_or_create_stream(config).await;
    made.context("cannot make the bucket on the broker")?;
    Ok(())
}

/// The description that the bucket has.
pub struct Entry {
    /// The description.
    pub version: NetworkVersion,
    /// Number of the message, by which a writer names the entry that it replaces.
    pub revision: u64,
}

/// Reads the description; none where nothing is in the bucket. Where there is no bucket the broker does not answer.
/// A description that this program does not understand is a [`NetworkError`](super::NetworkError).
pub async fn read(client: &Client) -> Result<Option<Entry>> {
    let request = client.request(QUESTION, "".into());
    let asked = tokio::time::timeout(PATIENCE, request).await;
    let answer = asked
        .context("the broker does not answer, as if no collector had ever been connected to it")?;
    let answer = answer.context("cannot ask for the description of the network")?;
    match answer.status {
        None => {
            let headers = answer.headers.unwrap_or_default();
            let revision = headers.get_last(NATS_SEQUENCE).and_then(|it| it.as_str().parse().ok());
            let revision = revision.context("the answer of the broker has no sequence number")?;
            let version = NetworkVersion::from_json(&answer.payload, "the bucket on the broker")?;
            Ok(Some(Entry { version, revision }))
        }
        Some(async_nats::StatusCode::NOT_FOUND) => Ok(None),
        Some(status) => {
            bail!("the broker refuses to send the description of the network: {status}")
        }
    }
}

/// Writes the description into the bucket in place of the entry with that `revision`, or of none with 0. Fails where another
/// collector has been faster.
pub async fn write(client: &Client, version: &NetworkVersion, revision: u64) -> Result<()> {
    let message = PublishMessage::build()
        .payload(version.to_json()?.into())
        .expected_last_subject_sequence(revision);
    let failed = "cannot write the description of the network to the broker";
    let sent = context(client).send_publish(ENTRY, message).await;
    sent.context(failed)?.await.context(failed)?;
    Ok(())
}

fn context(client: &Client) -> jetstream::Context {
    jetstream::ContextBuilder::new().timeout(PATIENCE).build(client.clone())
}

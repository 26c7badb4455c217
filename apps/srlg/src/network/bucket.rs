//! Storage of the network description under one key of a key-value bucket on the broker. The command `nats kv get SRLG
//! network` prints the description.
//!
//! The bucket has its own stream, separate from the stream of slices. Only the collector writes to the bucket. Probes
//! only read it, through the direct get API of JetStream.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_nats::Client;
use async_nats::header::NATS_SEQUENCE;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, stream};

use super::NetworkVersion;

/// Stream that stores the bucket.
const STREAM: &str = "KV_SRLG";
/// Subjects of the keys in the bucket.
const ENTRIES: &str = "$KV.SRLG.>";

/// Subject of requests for the description. The reply is the stored message.
pub const QUESTION: &str = "$JS.API.DIRECT.GET.KV_SRLG.$KV.SRLG.network";

/// Subject to which the collector publishes the description.
pub const ENTRY: &str = "$KV.SRLG.network";

/// Timeout of a request to the broker.
const PATIENCE: Duration = Duration::from_secs(2);

/// Creates the bucket if it does not exist.
pub async fn make(client: &Client) -> Result<()> {
    // Other clients recognise the stream as a bucket by these settings. `create_key_value` would first request the
    // limits of the account, and it cannot parse the reply of brokers before 2.10.
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
    made.context("cannot create the bucket on the broker")?;
    Ok(())
}

/// The description in the bucket, with its revision.
pub struct Entry {
    /// Network version, which includes the description.
    pub version: NetworkVersion,
    /// Sequence number of the stored message. A writer must pass this number to replace the entry.
    pub revision: u64,
}

/// Returns the description, or `None` if the bucket is empty. If there is no bucket, the broker does not reply and the
/// request times out. If the description cannot be parsed or is invalid, the error is a
/// [`NetworkError`](super::NetworkError).
pub async fn read(client: &Client) -> Result<Option<Entry>> {
    let request = client.request(QUESTION, "".into());
    let asked = tokio::time::timeout(PATIENCE, request).await;
    let answer = asked
        .context("the broker does not reply; if no collector has connected to it yet, start one")?;
    let answer = answer.context("cannot request the network description")?;
    match answer.status {
        None => {
            let headers = answer.headers.unwrap_or_default();
            let revision = headers.get_last(NATS_SEQUENCE).and_then(|it| it.as_str().parse().ok());
            let revision = revision.context("the broker's reply has no sequence number")?;
            let version = NetworkVersion::from_json(&answer.payload, "the bucket on the broker")?;
            Ok(Some(Entry { version, revision }))
        }
        Some(async_nats::StatusCode::NOT_FOUND) => Ok(None),
        Some(status) => {
            bail!("the broker does not send the network description: {status}")
        }
    }
}

/// Writes `version` to the bucket. `version` replaces the entry that has `revision`, or becomes the first entry if
/// `revision` is 0. Fails if another collector has written an entry in the meantime.
pub async fn write(client: &Client, version: &NetworkVersion, revision: u64) -> Result<()> {
    let message = PublishMessage::build()
        .payload(version.to_json()?.into())
        .expected_last_subject_sequence(revision);
    let failed = "cannot write the network description to the broker";
    let sent = context(client).send_publish(ENTRY, message).await;
    sent.context(failed)?.await.context(failed)?;
    Ok(())
}

fn context(client: &Client) -> jetstream::Context {
    jetstream::ContextBuilder::new().timeout(PATIENCE).build(client.clone())
}

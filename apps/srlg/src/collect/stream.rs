//! The stream on the broker: its creation, and the check that it is still the same.
//!
//! [`open`] returns the stream, and [`Witness::check`] checks whether it is still the same. Invariant: reading never
//! continues from the old position if the stream was replaced, or if messages that were read are missing from its end.
//! Otherwise, messages would be skipped.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use async_nats::Client;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{self, stream};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::network::subjects::{ALL_SLICES, STREAM};

/// Timeout of a request to the broker.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Limits of the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retention {
    pub(super) age: Duration,
    pub(super) bytes: i64,
    /// Minimum value of `age` that lets a collector continue if its newest checkpoint is damaged.
    pub(super) least_age: Duration,
}

/// Last message that was read, which identifies the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Witness {
    /// Time at which the stream was created, in nanoseconds since the Unix epoch.
    pub(super) created: i64,
    pub(super) sequence: u64,
    /// Time at which the broker received the message, in nanoseconds since the Unix epoch.
    pub(super) time: i64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// Sequence number of the message after which reading continues.
    pub(super) sequence: u64,
    pub(super) witness: Option<Witness>,
}

/// Change of a stream since it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Same,
    Recreated,
    /// Messages that were read are missing from the end of the stream, or new messages have their sequence numbers.
    Truncated,
}

/// Opens the stream. If it does not exist, it is created.
pub(super) async fn open(context: &jetstream::Context, retention: Retention) -> Result<Stream> {
    let wanted = Config {
        name: STREAM.to_owned(),
        subjects: vec![ALL_SLICES.to_owned()],
        storage: StorageType::File,
        max_age: retention.age,
        max_bytes: retention.bytes,
        ..Config::default()
    };
    let stream = context.get_or_create_stream(wanted).await;
    let stream = stream.with_context(|| format!("cannot create or open the stream {STREAM}"))?;
    check(&stream.cached_info().config, retention)?;
    Ok(stream)
}

/// Returns the sequence number of the last message of the stream, or 0 if there is no stream.
pub(super) async fn last(client: &Client) -> Result<u64> {
    let context = jetstream::ContextBuilder::new().timeout(PATIENCE).build(client.clone());
    match context.get_stream(STREAM).await {
        Ok(stream) => Ok(stream.cached_info().state.last_sequence),
        Err(error) if is_not_found(&error) => Ok(0),
        Err(error) => Err(error).context("cannot open the stream"),
    }
}

fn is_not_found(error: &GetStreamError) -> bool {
    let GetStreamErrorKind::JetStream(error) = error.kind() else { return false };
    error.error_code() == ErrorCode::STREAM_NOT_FOUND
}

fn check(config: &Config, retention: Retention) -> Result<()> {
    let Config { subjects, storage, retention: policy, max_age, .. } = config;
    ensure!(
        subjects.iter().any(|subject| subject == ALL_SLICES),
        "cannot use the stream {STREAM}: it stores {subjects:?} and not {ALL_SLICES}; remove the stream, or add the subject {ALL_SLICES}"
    );
    ensure!(
        *storage == StorageType::File && *policy == RetentionPolicy::Limits,
        "cannot use the stream {STREAM}: it would lose slices; set its storage to file and its retention policy to `limits`"
    );
    if !max_age.is_zero() && *max_age < retention.least_age {
        let least = retention.least_age;
        warn!(
            "the stream {STREAM} keeps messages for only {max_age:?}; if the newest checkpoint is damaged, a collector needs those of the last {least:?}"
        );
    }
    Ok(())
}

impl Witness {
    /// Determines whether `stream` has changed since this message was read from it.
    pub(super) async fn check(&self, stream: &Stream) -> Result<Fate> {
        let info = stream.get_info().await?;
        if nanoseconds(info.created) != self.created {
            return Ok(Fate::Recreated);
        }
        if info.state.last_sequence < self.sequence {
            return Ok(Fate::Truncated);
        }
        // A message that has left the stream cannot be compared.
        if self.sequence == 0 || info.state.first_sequence > self.sequence {
            return Ok(Fate::Same);
        }
        match stream.get_raw_message(self.sequence).await {
            Ok(message) if nanoseconds(message.time) == self.time => Ok(Fate::Same),
            Ok(_) => Ok(Fate::Truncated),
            Err(error) if error.kind() == stream::LastRawMessageErrorKind::NoMessageFound => {
                Ok(Fate::Same)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns `time` in nanoseconds since the Unix epoch, which fits into 64 bits until the year 2262.
pub(super) fn nanoseconds(time: time::OffsetDateTime) -> i64 {
    i64::try_from(time.unix_timestamp_nanos()).unwrap_or(i64::MAX)
}

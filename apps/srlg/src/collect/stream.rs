//! The stream on the broker: made where there is none, and known again.
//!
//! Shape: [`open`] gives the stream, [`Witness::check`] says whether it still is what was read from.
//! Invariant: a stream that has lost what was read from it, or is another one of the same name, is
//! never read on from an old position, which would pass over messages.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use async_nats::Client;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{self, stream};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::network::subjects::{ALL_DELTAS, STREAM};

/// Timeout of a request to the broker.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The limits of the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retention {
    /// For how long.
    pub(super) age: Duration,
    pub(super) bytes: i64,
    /// Least age with which a collector can go on after its newest checkpoint is damaged.
    pub(super) least_age: Duration,
}

/// The last message that was read, by which a stream is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Witness {
    /// When the stream was made, in nanoseconds since 1970, as all times here.
    pub(super) created: i64,
    /// The message, and when the broker got it.
    pub(super) sequence: u64,
    pub(super) time: i64,
}

/// The position from which the stream is read further.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// The last message that was read or need not be.
    pub(super) sequence: u64,
    /// The last message that was read.
    pub(super) witness: Option<Witness>,
}

/// The fate of a stream since it was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Same,
    /// It was made again.
    Recreated,
    /// Messages that were read are gone from its end, or others have their numbers.
    Truncated,
}

/// The stream, made if it is not there.
pub(super) async fn open(context: &jetstream::Context, retention: Retention) -> Result<Stream> {
    let wanted = Config {
        name: STREAM.to_owned(),
        subjects: vec![ALL_DELTAS.to_owned()],
        storage: StorageType::File,
        max_age: retention.age,
        max_bytes: retention.bytes,
        ..Config::default()
    };
    let stream = context.get_or_create_stream(wanted).await;
    let stream = stream.with_context(|| format!("cannot make or open the stream {STREAM}"))?;
    check(&stream.cached_info().config, retention)?;
    Ok(stream)
}

/// Returns the number of the last message of the stream; 0 if there is no stream.
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

/// Whether a stream that somebody else has made will do.
fn check(config: &Config, retention: Retention) -> Result<()> {
    let Config { subjects, storage, retention: policy, max_age, .. } = config;
    ensure!(
        subjects.iter().any(|subject| subject == ALL_DELTAS),
        "the stream {STREAM} keeps the subjects {subjects:?} and not {ALL_DELTAS}: remove the stream, or let it keep {ALL_DELTAS}"
    );
    ensure!(
        *storage == StorageType::File && *policy == RetentionPolicy::Limits,
        "the stream {STREAM} would lose deltas: give the stream file storage and the retention policy `limits`"
    );
    if !max_age.is_zero() && *max_age < retention.least_age {
        let least = retention.least_age;
        warn!(
            "the stream {STREAM} keeps messages for {max_age:?}: a collector whose newest checkpoint is \
             damaged may need the messages of {least:?}"
        );
    }
    Ok(())
}

impl Witness {
    /// What has become of the stream that this was read from.
    pub(super) async fn check(&self, stream: &Stream) -> Result<Fate> {
        let info = stream.get_info().await?;
        if nanoseconds(info.created) != self.created {
            return Ok(Fate::Recreated);
        }
        if info.state.last_sequence < self.sequence {
            return Ok(Fate::Truncated);
        }
        // Long gone messages cannot testify.
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

/// Nanoseconds since 1970; streams are younger than 292 years.
pub(super) fn nanoseconds(time: time::OffsetDateTime) -> i64 {
    i64::try_from(time.unix_timestamp_nanos()).unwrap_or(i64::MAX)
}

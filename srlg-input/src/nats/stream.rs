//! An in-order reader of the messages in a JetStream stream.
//!
//! Each connection creates a consumer without acknowledgements, which starts at the reader's position. The reader
//! itself tracks its position, so the server does not have to store it.
//!
//! Invariant: every sequence number that the reader passes belongs to a message that was either read or counted as
//! deleted.

use std::time::Duration;

use async_nats::jetstream::consumer::pull::{Config, Stream as Messages};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::RetentionPolicy;
use async_nats::jetstream::{self, ErrorCode, Message};
use async_nats::{Client, Event};
use futures_util::StreamExt;
use futures_util::stream::ReadyChunks;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::unconstrained;

use crate::clock::now_ns;
use crate::nats::session::{Interruption, NatsError, Session};
use crate::position::Position;

/// Maximum number of messages in one request.
const BATCH: usize = 8_192;
const BATCH_BYTES: usize = 16 << 20;

/// Maximum number of messages that are decoded between two checks for a stop or a lost connection.
const CHUNK: usize = 1_024;

/// Time after which a request for messages expires.
const EXPIRES: Duration = Duration::from_secs(30);
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Time after which the server deletes an idle consumer.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Partition number under which a position stores the offset in a stream.
const PARTITION: i32 = 0;

/// A stream and the reader's position in it.
#[derive(Debug)]
pub(super) struct Cursor {
    name: String,
    is_earliest: bool,
    created_ns: Option<i64>,
    /// Sequence number of the next message.
    next: Option<u64>,
}

/// The starting point in a stream that has been opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opening {
    next: u64,
    /// Number of messages from `next` to the end of the stream.
    lag: u64,
    /// Number of messages that were deleted before they were read.
    expired: u64,
    is_renewed: bool,
}

/// The creation time of a stream, and its current range of sequence numbers.
#[derive(Clone, Copy, Debug)]
struct Extent {
    created_ns: i64,
    first: u64,
    last: u64,
}

impl Cursor {
    /// Creates the cursor of the stream `name`. If the position `start` belongs to this stream, the cursor starts
    /// there. If `start` belongs to a different stream or to a Kafka topic, it is ignored and a warning is returned.
    pub(super) fn new(
        name: &str,
        start: Option<Position>,
        is_earliest: bool,
    ) -> (Self, Option<String>) {
        let mut cursor = Self { name: name.to_owned(), is_earliest, created_ns: None, next: None };
        let Some(Position { topic, offsets, created_ns, .. }) = start else {
            return (cursor, None);
        };
        if topic == name && created_ns.is_some() {
            let next = offsets.get(&PARTITION).and_then(|next| u64::try_from(*next).ok());
            cursor.next = Some(next.unwrap_or(0));
            cursor.created_ns = created_ns;
            return (cursor, None);
        }
        let from = if is_earliest { "earliest message" } else { "end" };
        let warning = format!(
            "the state has a position in {topic}, not in the stream {name}; reading starts at the {from}"
        );
        (cursor, Some(warning))
    }

    /// Reads messages until the input is stopped or an error occurs, such as a lost connection.
    pub(super) async fn read(
        &mut self,
        client: Client,
        events: &mut UnboundedReceiver<Event>,
        session: &mut Session<'_>,
    ) -> Result<(), Interruption> {
        let context = jetstream::new(client);
        let opened = session.wait(self.open(&context), Some(events)).await?;
        let (mut messages, opening) = opened.map_err(Interruption::Error)?;
        session.request();
        session.reporter.status.lag = opening.lag;
        session.count_expired(opening.expired);
        session.log_losses();
        if opening.is_renewed {
            let source = &session.reporter.status.source;
            session.reporter.warn(format!(
                "{source} was recreated after the position was stored; continuing with its earliest message"
            ));
        }
        session.deliver(self.position())?;
        let mut sequence = 0;
        loop {
            let chunk = session.wait(unconstrained(messages.next()), Some(events)).await?;
            let chunk = chunk.ok_or(NatsError::Ended).map_err(Interruption::Error)?;
            let now_ns = now_ns();
            let mut failure = None;
            for message in chunk {
                let read = message.map_err(NatsError::from);
                let read =
                    read.and_then(|it| self.read_message(&it, &mut sequence, session, now_ns));
                if let Err(error) = read {
                    failure = Some(Interruption::Error(error));
                    break;
                }
            }
            session.deliver(self.position())?;
            failure.map_or(Ok(()), Err)?;
            session.confirm();
        }
    }

    /// Decodes a message. Returns [`NatsError::Missing`] if its consumer sequence number is not `sequence` + 1, or if
    /// its stream sequence number is below `self.next`.
    fn read_message(
        &mut self,
        message: &Message,
        sequence: &mut u64,
        session: &mut Session<'_>,
        now_ns: u64,
    ) -> Result<(), NatsError> {
        let info = message.info().map_err(|_| NatsError::NoSequence)?;
        let next = self.next.unwrap_or(0);
        if info.consumer_sequence != *sequence + 1 || info.stream_sequence < next {
            return Err(NatsError::Missing(next.saturating_sub(1)));
        }
        *sequence = info.consumer_sequence;
        session.count_expired(info.stream_sequence - next);
        self.next = Some(info.stream_sequence + 1);
        session.reporter.status.lag = info.pending;
        let stored_ns = u64::try_from(info.published.unix_timestamp_nanos()).unwrap_or(0);
        session.read(&message.payload, stored_ns, now_ns);
        Ok(())
    }

    /// Opens the stream and creates a consumer that starts at the next message to read.
    async fn open(
        &mut self,
        context: &jetstream::Context,
    ) -> Result<(ReadyChunks<Messages>, Opening), NatsError> {
        let stream = context.get_stream(&self.name).await.map_err(|error| match error.kind() {
            GetStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                NatsError::NoStream(self.name.clone())
            }
            _ => error.into(),
        })?;
        let info = stream.cached_info();
        if info.config.retention != RetentionPolicy::Limits {
            return Err(NatsError::Retention(self.name.clone()));
        }
        let created_ns = i64::try_from(info.created.unix_timestamp_nanos()).unwrap_or(i64::MAX);
        let (first, last) = (info.state.first_sequence, info.state.last_sequence);
        let opening = self.opening(Extent { created_ns, first, last });
        let consumer = stream
            .create_consumer(Config {
                deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: opening.next },
                ack_policy: AckPolicy::None,
                inactive_threshold: FORGOTTEN,
                memory_storage: true,
                num_replicas: 1,
                ..Config::default()
            })
            .await?;
        let messages = consumer.stream();
        let messages = messages.max_messages_per_batch(BATCH).max_bytes_per_batch(BATCH_BYTES);
        let messages = messages.expires(EXPIRES).heartbeat(HEARTBEAT).messages().await?;
        (self.next, self.created_ns) = (Some(opening.next), Some(created_ns));
        Ok((messages.ready_chunks(CHUNK), opening))
    }

    fn opening(&self, extent: Extent) -> Opening {
        let Extent { created_ns, first, last } = extent;
        let (first, end) = (first.max(1), last + 1);
        let (next, is_renewed) = match self.next {
            // The position 0 means that several views had positions in different streams of this name.
            Some(0) => (first, false),
            Some(next) if self.created_ns != Some(created_ns) || next > end => (first, true),
            Some(next) => (next, false),
            None if self.is_earliest => (first, false),
            None => (end, false),
        };
        let expired = first.saturating_sub(next);
        let next = next.max(first);
        Opening { next, lag: end.saturating_sub(next), expired, is_renewed }
    }

    fn position(&self) -> Position {
        let next = self.next.and_then(|next| i64::try_from(next).ok());
        Position {
            topic: self.name.clone(),
            offsets: next.map(|next| (PARTITION, next)).into_iter().collect(),
            created_ns: self.created_ns,
            ..Position::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_from_the_position_unless_its_messages_expired() {
        let cursor = |next: Option<u64>, is_earliest| Cursor {
            name: "FLOWS".to_owned(),
            is_earliest,
            created_ns: next.map(|_| 7),
            next,
        };
        let extent = |created_ns, first, last| Extent { created_ns, first, last };
        for (cursor, extent, expected) in [
            (cursor(None, false), extent(7, 3, 9), (10, 0, false)),
            (cursor(None, true), extent(7, 3, 9), (3, 0, false)),
            // The stream is empty.
            (cursor(None, true), extent(7, 0, 0), (1, 0, false)),
            (cursor(None, false), extent(7, 0, 0), (1, 0, false)),
            (cursor(Some(5), false), extent(7, 3, 9), (5, 0, false)),
            (cursor(Some(10), false), extent(7, 3, 9), (10, 0, false)),
            (cursor(Some(1), false), extent(7, 3, 9), (3, 2, false)),
            // All messages are deleted.
            (cursor(Some(5), false), extent(7, 10, 9), (10, 5, false)),
            // Several views have positions in different streams.
            (cursor(Some(0), false), extent(7, 3, 9), (3, 0, false)),
            // The stream was recreated, or it was restored from an older copy.
            (cursor(Some(5), false), extent(8, 1, 9), (1, 0, true)),
            (cursor(Some(11), false), extent(7, 3, 9), (3, 0, true)),
        ] {
            let Opening { next, lag, expired, is_renewed } = cursor.opening(extent);
            assert_eq!((next, expired, is_renewed), expected, "{cursor:?} {extent:?}");
            assert_eq!(next + lag, extent.last + 1);
        }
    }

    #[test]
    fn a_position_counts_in_its_stream_alone() {
        let position = |topic: &str, created_ns| Position {
            topic: topic.to_owned(),
            offsets: [(PARTITION, 5)].into(),
            created_ns,
            ..Position::default()
        };
        let start = position("FLOWS", Some(7));
        let (cursor, warning) = Cursor::new("FLOWS", Some(start.clone()), false);
        assert_eq!((cursor.position(), warning), (start, None));
        // These positions belong to another stream and to a Kafka topic.
        for start in [position("OTHER", Some(7)), position("FLOWS", None)] {
            let (cursor, warning) = Cursor::new("FLOWS", Some(start), false);
            assert_eq!((cursor.next, warning.is_some()), (None, true));
        }
    }
}

//! Progress of a reader in the stream, and the check that the stream is still the same.
//!
//! [`resume`](Place::resume) is called before a consumer is created, and [`advance`](Place::advance) is called with
//! each message of the consumer. Invariant: every skipped message causes a [`Loss`]. No message is processed twice,
//! unless the stream is read from its beginning again.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use async_nats::jetstream::message::Info;
use async_nats::jetstream::stream::Stream;
use tokio::sync::watch;
use tracing::warn;

use crate::collect::stream::{Fate, Position, Witness, nanoseconds};

#[derive(Debug)]
pub(super) struct Place {
    /// Sequence number of the last message that was read or skipped.
    position: u64,
    /// Number of messages received from the current consumer.
    delivered: u64,
    witness: Option<Witness>,
    losses: watch::Sender<Option<Loss>>,
    /// Time within which the broker drops a repeated message.
    duplicates: Duration,
}

/// Loss of messages from the stream, some of which may not have been read.
#[derive(Clone, Copy, Debug)]
pub(in crate::collect) struct Loss {
    /// Time from which the lost messages can be sent again. Before this time, the broker would drop them as duplicates.
    pub(in crate::collect) curable: Instant,
}

/// Result of [`Place::resume`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Resumption {
    /// Time at which the stream was created, in nanoseconds since the Unix epoch.
    pub(super) created: i64,
    /// Whether the stream is read from its beginning again, so that the sequence numbers of previous messages are no
    /// longer valid.
    pub(super) anew: bool,
}

impl Place {
    pub(super) fn new(position: Position) -> Self {
        let (losses, duplicates) = (watch::Sender::new(None), Duration::ZERO);
        let Position { sequence: position, witness } = position;
        Self { position, delivered: 0, witness, losses, duplicates }
    }

    pub(super) fn losses(&self) -> watch::Receiver<Option<Loss>> {
        self.losses.subscribe()
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Prepares to read `stream`. The next consumer must start after [`position`](Self::position).
    pub(super) async fn resume(&mut self, stream: &mut Stream) -> Result<Resumption> {
        let created = nanoseconds(stream.info().await?.created);
        self.duplicates = stream.cached_info().config.duplicate_window;
        let anew = self.must_begin_anew(stream).await?;
        if anew {
            self.position = 0;
            self.lost();
        }
        self.pass_over(stream.cached_info().state.first_sequence.saturating_sub(1));
        let known = self.witness.filter(|_| !anew);
        self.witness = Some(known.unwrap_or(Witness { created, sequence: 0, time: 0 }));
        self.delivered = 0;
        Ok(Resumption { created, anew })
    }

    async fn must_begin_anew(&self, stream: &Stream) -> Result<bool> {
        let Some(witness) = self.witness else { return Ok(false) };
        match witness.check(stream).await? {
            Fate::Same => return Ok(false),
            Fate::Recreated => warn!("the stream was created again: reading it from the beginning"),
            Fate::Truncated => warn!("the stream has lost messages: reading it from the beginning"),
        }
        Ok(true)
    }

    /// Returns whether `created` is the creation time of the stream that is being read.
    pub(super) fn is_in(&self, created: i64) -> bool {
        self.witness.is_some_and(|witness| witness.created == created)
    }

    /// Advances to a message. Returns `false` if the message was read or skipped before.
    pub(super) fn advance(&mut self, info: &Info<'_>) -> Result<bool> {
        self.delivered += 1;
        let (delivered, expected) = (info.consumer_sequence, self.delivered);
        ensure!(
            delivered == expected,
            "the broker delivered message {delivered} to this consumer instead of message {expected}"
        );
        let (sequence, time) = (info.stream_sequence, nanoseconds(info.published));
        if sequence <= self.position {
            return Ok(false);
        }
        self.pass_over(sequence - 1);
        self.position = sequence;
        if let Some(witness) = &mut self.witness {
            (witness.sequence, witness.time) = (sequence, time);
        }
        Ok(true)
    }

    /// Skips the messages up to and including `last`, because the stream no longer has them.
    fn pass_over(&mut self, last: u64) {
        if last > self.position {
            let gone = self.position + 1;
            warn!("messages {gone} to {last} left the stream before they were read");
            self.lost();
            self.position = last;
        }
    }

    fn lost(&self) {
        self.losses.send_replace(Some(Loss { curable: Instant::now() + self.duplicates }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(stream_sequence: u64, consumer_sequence: u64) -> Info<'static> {
        Info {
            domain: None,
            acc_hash: None,
            stream: "SRLG",
            consumer: "c",
            stream_sequence,
            consumer_sequence,
            delivered: 1,
            pending: 0,
            published: time::OffsetDateTime::UNIX_EPOCH,
            token: None,
        }
    }

    #[test]
    fn what_the_stream_has_dropped_is_a_loss_and_what_was_read_is_not_taken_again() {
        let mut place = Place::new(Position { sequence: 4, witness: None });
        let mut losses = place.losses();
        for (sequence, consumed, fresh, lost) in
            [(3, 1, false, false), (5, 2, true, false), (9, 3, true, true), (10, 4, true, false)]
        {
            assert_eq!(place.advance(&info(sequence, consumed)).unwrap(), fresh, "{sequence}");
            assert_eq!(losses.has_changed().unwrap(), lost, "{sequence}");
            losses.mark_unchanged();
        }
        assert_eq!(place.position(), 10);
    }

    #[test]
    fn a_message_that_the_consumer_left_out_is_no_loss_but_an_error() {
        let mut place = Place::new(Position { sequence: 4, witness: None });
        assert!(place.advance(&info(5, 1)).unwrap());
        insta::assert_snapshot!(place.advance(&info(7, 3)).unwrap_err());
        assert_eq!((place.position(), place.losses().has_changed().unwrap()), (5, false));
    }
}

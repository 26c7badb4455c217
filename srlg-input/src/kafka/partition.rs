//! A topic partition, whose messages are fetched from the partition's leader.

use std::time::Duration;

use rskafka::client::error::{Error as KafkaError, ProtocolError};
use rskafka::client::partition::{OffsetAt, PartitionClient};
use rskafka::record::RecordAndOffset;
use tokio::time::sleep;

use crate::backoff::Backoff;
use crate::kafka::cluster::{Cluster, ClusterError, patiently};
use crate::messages::BACKOFF;

/// Maximum time for which a broker waits for a message, in milliseconds.
const WAIT_MS: i32 = 500;

/// Number of consecutive empty responses after which an offset is skipped if later messages exist. An offset without a
/// message belongs to a transaction marker.
const EMPTY_ANSWERS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Earliest,
    /// The next message to be written.
    End,
    At(i64),
}

#[derive(Debug)]
pub(super) struct Partition {
    pub(super) number: i32,
    /// Offset of the next message to read, once it is known.
    offset: Option<i64>,
    start: Start,
    leader: Option<PartitionClient>,
    backoff: Backoff,
    /// Time to wait before the next fetch.
    delay: Duration,
    /// Number of consecutive empty responses.
    empty: u32,
}

#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) messages: Vec<RecordAndOffset>,
    /// Offset of the next message to read.
    pub(super) next: i64,
    /// Number of messages from offset `next` to the end of the partition, if the broker reported the end.
    pub(super) lag: Option<u64>,
    pub(super) gap: Option<Gap>,
}

/// The reason why reading continues with the earliest message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Kafka deleted this number of messages before they were read.
    Expired(u64),
    /// The partition ends before the read position, because the topic was recreated.
    Renewed,
}

impl Gap {
    pub(super) fn warning(self, partition: i32, topic: &str) -> String {
        match self {
            Self::Expired(messages) => format!(
                "{messages} messages of partition {partition} of {topic} lost: Kafka deleted them before they were read; continuing with the earliest message"
            ),
            Self::Renewed => format!(
                "partition {partition} of {topic} ends before the read position: the topic was recreated; continuing with its earliest message"
            ),
        }
    }
}

impl Partition {
    pub(super) fn new(number: i32, start: Start) -> Self {
        let offset = match start {
            Start::At(offset) => Some(offset),
            Start::Earliest | Start::End => None,
        };
        Self {
            number,
            offset,
            start,
            leader: None,
            backoff: BACKOFF,
            delay: Duration::ZERO,
            empty: 0,
        }
    }

    /// Lets the next fetch start at once, after a fetch that succeeded.
    pub(super) const fn succeed(&mut self) {
        self.backoff.reset();
        self.delay = Duration::ZERO;
    }

    /// Lets the next fetch wait, after a fetch that failed.
    pub(super) fn fail(&mut self) {
        self.delay = self.backoff.delay();
    }

    /// Fetches messages with a total size of up to `bytes`, and waits up to [`WAIT_MS`] if there are none. After a
    /// failed fetch, waits before sending the request.
    pub(super) async fn fetch(
        &mut self,
        cluster: &Cluster,
        topic: &str,
        bytes: i32,
    ) -> Result<Fetched, ClusterError> {
        sleep(self.delay).await;
        let leader = match self.leader.take() {
            Some(leader) => leader,
            None => cluster.leader(topic, self.number).await?,
        };
        let fetched = self.fetch_from(&leader, bytes).await?;
        // After an error, the connection is dropped, so that the next attempt looks up the leader again.
        self.leader = Some(leader);
        Ok(fetched)
    }

    async fn fetch_from(
        &mut self,
        leader: &PartitionClient,
        bytes: i32,
    ) -> Result<Fetched, ClusterError> {
        let Some(offset) = self.offset else {
            let earliest = self.start == Start::Earliest;
            let at = if earliest { OffsetAt::Earliest } else { OffsetAt::Latest };
            return Ok(self.go_to(offset_at(leader, at).await?, None));
        };
        let answer = patiently(async { Ok(leader.fetch_records(offset, 1..bytes, WAIT_MS).await) });
        match answer.await? {
            Ok((messages, end)) => {
                // Messages of an open transaction count in the end offset, but cannot be read yet.
                let is_stuck = messages.is_empty() && self.empty + 1 >= EMPTY_ANSWERS;
                let is_open = is_stuck && offset_at(leader, OffsetAt::Latest).await? <= offset;
                Ok(self.advance(offset, messages, if is_open { offset } else { end }))
            }
            Err(error) if is_out_of_range(&error) => {
                let earliest = offset_at(leader, OffsetAt::Earliest).await?;
                self.pass_gap(offset, earliest).ok_or_else(|| error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Moves the offset past the `messages` that were fetched from `offset`. `end` is the end of the partition.
    fn advance(&mut self, offset: i64, messages: Vec<RecordAndOffset>, end: i64) -> Fetched {
        let mut next = messages.last().map_or(offset, |last| last.offset + 1);
        self.empty = if messages.is_empty() && end > offset { self.empty + 1 } else { 0 };
        if self.empty == EMPTY_ANSWERS {
            (next, self.empty) = (offset + 1, 0);
        }
        self.offset = Some(next);
        Fetched { messages, next, lag: Some(u64::try_from(end - next).unwrap_or(0)), gap: None }
    }

    /// Continues at the `earliest` message, because `offset` is out of range. Returns `None` if both offsets are equal,
    /// because this is an error of the broker and not a gap.
    fn pass_gap(&mut self, offset: i64, earliest: i64) -> Option<Fetched> {
        let gap = match earliest.saturating_sub(offset) {
            0 => return None,
            deleted => u64::try_from(deleted).map_or(Gap::Renewed, Gap::Expired),
        };
        Some(self.go_to(earliest, Some(gap)))
    }

    fn go_to(&mut self, next: i64, gap: Option<Gap>) -> Fetched {
        self.offset = Some(next);
        Fetched { messages: Vec::new(), next, lag: None, gap }
    }
}

async fn offset_at(leader: &PartitionClient, at: OffsetAt) -> Result<i64, ClusterError> {
    patiently(async { Ok(leader.get_offset(at).await?) }).await
}

fn is_out_of_range(error: &KafkaError) -> bool {
    matches!(error, KafkaError::ServerError { protocol_error: ProtocolError::OffsetOutOfRange, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_without_a_message_is_passed_over_after_three_answers() {
        let mut partition = Partition::new(0, Start::At(7));
        let next = |partition: &mut Partition, end| {
            let offset = partition.offset.unwrap();
            let fetched = partition.advance(offset, Vec::new(), end);
            (fetched.next, fetched.lag.unwrap())
        };
        let answers = [9, 9, 9, 9].map(|end| next(&mut partition, end));
        assert_eq!(answers, [(7, 2), (7, 2), (8, 1), (8, 1)]);
        // The number of further messages is unknown before the next request.
        assert_eq!(partition.go_to(8, None).lag, None);
        // The partition has no further messages.
        let answers = [8, 8, 8, 8].map(|end| next(&mut partition, end));
        assert_eq!(answers, [(8, 0); 4]);
    }

    #[test]
    fn an_offset_that_is_not_there_is_left_for_the_earliest_one() {
        let mut partition = Partition::new(0, Start::At(7));
        let mut pass = |earliest| partition.pass_gap(7, earliest).map(|it| (it.next, it.gap));
        assert_eq!(pass(10), Some((10, Some(Gap::Expired(3)))));
        assert_eq!(pass(0), Some((0, Some(Gap::Renewed))));
        // An immediate retry would fail in the same way.
        assert_eq!(pass(7), None);
    }
}

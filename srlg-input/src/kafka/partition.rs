//! A partition of a topic, and the next messages of it.

use std::time::Duration;

use rskafka::client::error::{Error as KafkaError, ProtocolError};
use rskafka::client::partition::{OffsetAt, PartitionClient};
use rskafka::record::RecordAndOffset;
use tokio::time::sleep;

use crate::kafka::cluster::{Cluster, ClusterError, patiently};

/// Milliseconds that a broker waits for a message.
const WAIT_MS: i32 = 500;

/// The delay before the first retry, and the longest one.
const DELAYS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(15)];

/// Answers without a message, although there are some, after which an offset is passed over. It is that of a mark of a transaction.
const EMPTY_ANSWERS: u32 = 3;

/// Where a partition is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Earliest,
    /// After the last message that is there now.
    End,
    At(i64),
}

/// A partition that is read.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) number: i32,
    /// The offset of the next message, once it is known.
    offset: Option<i64>,
    start: Start,
    /// The connection to its leader.
    leader: Option<PartitionClient>,
    /// Failures in a row.
    pub(super) failures: u32,
    /// Answers without a message in a row.
    empty: u32,
}

/// What came of an attempt to read.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) messages: Vec<RecordAndOffset>,
    /// The offset after the messages.
    pub(super) next: i64,
    /// Messages of the partition from `next` on.
    pub(super) lag: u64,
    pub(super) gap: Option<Gap>,
}

/// Why reading went on at the earliest message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Kafka has deleted so many messages before they were read.
    Expired(u64),
    /// The partition ends before the position: the topic was made anew.
    Renewed,
}

impl Partition {
    pub(super) fn new(number: i32, start: Start) -> Self {
        let offset = match start {
            Start::At(offset) => Some(offset),
            Start::Earliest | Start::End => None,
        };
        Self { number, offset, start, leader: None, failures: 0, empty: 0 }
    }

    /// Reads up to `bytes` of messages, or waits for some; after a failure it pauses first.
    pub(super) async fn fetch(
        &mut self,
        cluster: &Cluster,
        topic: &str,
        bytes: i32,
    ) -> Result<Fetched, ClusterError> {
        if self.failures > 0 {
            sleep(delay(self.failures)).await;
        }
        let leader = match self.leader.take() {
            Some(leader) => leader,
            None => cluster.leader(topic, self.number).await?,
        };
        let fetched = self.fetch_from(&leader, bytes).await?;
        // Not after an error: the next attempt looks for the leader again.
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
            Ok((messages, end)) => Ok(self.take(offset, messages, end)),
            Err(error) if is_out_of_range(&error) => self.find_gap(offset, leader).await,
            Err(error) => Err(error.into()),
        }
    }

    fn take(&mut self, offset: i64, messages: Vec<RecordAndOffset>, end: i64) -> Fetched {
        let mut next = messages.last().map_or(offset, |last| last.offset + 1);
        self.empty = if messages.is_empty() && end > offset { self.empty + 1 } else { 0 };
        if self.empty == EMPTY_ANSWERS {
            (next, self.empty) = (offset + 1, 0);
        }
        self.offset = Some(next);
        Fetched { messages, next, lag: u64::try_from(end - next).unwrap_or(0), gap: None }
    }

    /// Finds out why there is no message of `offset`, and goes on at the earliest one.
    async fn find_gap(
        &mut self,
        offset: i64,
        leader: &PartitionClient,
    ) -> Result<Fetched, ClusterError> {
        let earliest = offset_at(leader, OffsetAt::Earliest).await?;
        let gap = match u64::try_from(earliest - offset) {
            Ok(deleted) if deleted > 0 => Gap::Expired(deleted),
            _ => Gap::Renewed,
        };
        Ok(self.go_to(earliest, Some(gap)))
    }

    fn go_to(&mut self, next: i64, gap: Option<Gap>) -> Fetched {
        self.offset = Some(next);
        Fetched { messages: Vec::new(), next, lag: 0, gap }
    }
}

async fn offset_at(leader: &PartitionClient, at: OffsetAt) -> Result<i64, ClusterError> {
    patiently(async { Ok(leader.get_offset(at).await?) }).await
}

fn is_out_of_range(error: &KafkaError) -> bool {
    matches!(error, KafkaError::ServerError { protocol_error: ProtocolError::OffsetOutOfRange, .. })
}

/// Returns the delay after so many failures in a row.
pub(super) fn delay(failures: u32) -> Duration {
    let [first, longest] = DELAYS;
    let doublings = failures.saturating_sub(1).min(10);
    (first * (1 << doublings)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_quarter_of_a_minute() {
        let seconds = [1, 2, 3, 4, 5, 6, 7, u32::MAX].map(|failures| delay(failures).as_secs_f64());
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]);
    }

    #[test]
    fn an_offset_without_a_message_is_passed_over_after_three_answers() {
        let mut partition = Partition::new(0, Start::At(7));
        let next = |partition: &mut Partition, end| {
            let offset = partition.offset.unwrap();
            let fetched = partition.take(offset, Vec::new(), end);
            (fetched.next, fetched.lag)
        };
        let answers = [9, 9, 9, 9].map(|end| next(&mut partition, end));
        assert_eq!(answers, [(7, 2), (7, 2), (8, 1), (8, 1)]);
        // Nothing is there.
        let answers = [8, 8, 8, 8].map(|end| next(&mut partition, end));
        assert_eq!(answers, [(8, 0); 4]);
    }
}

//! Positions in a Kafka topic or a NATS stream.

use std::collections::BTreeMap;

/// A position in a Kafka topic or a NATS stream.
///
/// A position contains the offset of the next message in each partition. A stream counts as one partition. The input
/// has already yielded all contacts of the messages before the position. If the results of these contacts are stored
/// together with the position, [`Input::resume`](crate::Input::resume) continues without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Position {
    /// Name of the topic or the stream.
    pub topic: String,
    /// Offset of the next message in each partition, by partition number.
    pub offsets: BTreeMap<i32, i64>,
    /// Schema of the messages, if the topic name contains a hash of the schema. If a topic with a new schema replaces
    /// this topic, the old schema is needed to read the messages that remain in this topic.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub schema: Option<String>,
    /// Time at which the stream was created, in nanoseconds since the Unix epoch, or `None` for a topic. Streams that
    /// have the same name but different creation times are different streams.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub created_ns: Option<i64>,
}

impl Position {
    /// Adopts the offsets of `next`, which was read after this position. If `next` has offsets of a different topic or
    /// stream, it replaces this position.
    pub(crate) fn advance(&mut self, mut next: Self) {
        if self.is_in_same(&next) {
            self.offsets.append(&mut next.offsets);
        } else if !next.offsets.is_empty() {
            *self = next;
        }
    }

    /// Returns a position with the lower offset of each partition that both positions contain. The result has no offset
    /// for a partition that only one position contains, and no offsets if the topics or streams differ. Partitions
    /// without an offset are read from their earliest message.
    #[must_use]
    pub fn before(&self, other: &Self) -> Self {
        let is_same = self.is_in_same(other);
        let offsets = self.offsets.iter().filter(|_| is_same);
        let offsets = offsets.filter_map(|(partition, offset)| {
            Some((*partition, *offset.min(other.offsets.get(partition)?)))
        });
        Self { offsets: offsets.collect(), ..self.clone() }
    }

    fn is_in_same(&self, other: &Self) -> bool {
        self.topic == other.topic && self.created_ns == other.created_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_offset_of_each_partition_counts() {
        let position = |topic: &str, offsets: &[(i32, i64)]| Position {
            topic: topic.to_owned(),
            offsets: offsets.iter().copied().collect(),
            ..Position::default()
        };
        let one = position("flows", &[(0, 10), (1, 20), (2, 30)]);
        let other = position("flows", &[(0, 11), (1, 19), (3, 1)]);
        assert_eq!(one.before(&other), position("flows", &[(0, 10), (1, 19)]));
        assert_eq!(one.before(&position("more", &[(0, 1)])), position("flows", &[]));
        // This stream has the same name but was created later.
        let later = Position { created_ns: Some(7), ..other };
        assert_eq!(one.before(&later).offsets, [].into());
    }

    #[test]
    fn offsets_of_another_topic_take_the_place_of_all() {
        let position = |topic: &str, offset| Position {
            topic: topic.to_owned(),
            offsets: [offset].into(),
            schema: Some(format!("schema of {topic}")),
            ..Position::default()
        };
        let mut read = position("flows-A", (0, 10));
        read.advance(position("flows-A", (1, 20)));
        read.advance(Position::default());
        assert_eq!(read.offsets, [(0, 10), (1, 20)].into());
        read.advance(position("flows-B", (1, 3)));
        assert_eq!(read, position("flows-B", (1, 3)));
    }
}

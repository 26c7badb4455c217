//! How far a topic has been read.

use std::collections::BTreeMap;

/// How far a topic of Kafka has been read: the offset of the next message of each partition.
///
/// A position belongs to the contacts that an input has yielded before it. Stored with them, it lets
/// [`Input::resume`](crate::Input::resume) continue without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Position {
    /// Name of the topic.
    pub topic: String,
    /// Offset of the next message, by partition.
    pub offsets: BTreeMap<i32, i64>,
}

impl Position {
    /// Sets the offset of the next message of `partition`.
    #[cfg(feature = "kafka")]
    pub(crate) fn set(&mut self, topic: &str, partition: i32, offset: i64) {
        if self.topic != topic {
            *self = Self { topic: topic.to_owned(), ..Self::default() };
        }
        self.offsets.insert(partition, offset);
    }

    /// Takes the offsets of `next`, which was read after this position.
    pub(crate) fn advance(&mut self, next: &mut Self) {
        if !next.offsets.is_empty() {
            self.topic.clone_from(&next.topic);
            self.offsets.append(&mut next.offsets);
        }
    }

    /// Returns the position before both: the earlier offset of each partition that both have. A partition that one of them lacks is
    /// read from its start, and so is everything if the topics differ.
    #[must_use]
    pub fn before(&self, other: &Self) -> Self {
        let is_same = self.topic == other.topic;
        let offsets = self.offsets.iter().filter(|_| is_same);
        let offsets = offsets.filter_map(|(partition, offset)| {
            Some((*partition, *offset.min(other.offsets.get(partition)?)))
        });
        Self { topic: self.topic.clone(), offsets: offsets.collect() }
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
        };
        let one = position("flows", &[(0, 10), (1, 20), (2, 30)]);
        let other = position("flows", &[(0, 11), (1, 19), (3, 1)]);
        assert_eq!(one.before(&other), position("flows", &[(0, 10), (1, 19)]));
        assert_eq!(one.before(&position("more", &[(0, 1)])), position("flows", &[]));
    }
}

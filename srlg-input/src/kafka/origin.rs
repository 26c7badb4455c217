//! The point at which reading a topic starts: a stored position, the earliest messages, or the next messages.

use crate::kafka::partition::Start;
use crate::messages::{Format, Layout, StatusReporter};
use crate::position::Position;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The offsets of the stored position. Partitions without a stored offset are new and are read from their earliest
    /// message.
    Position(Position),
    /// The earliest messages, because this topic replaces the topic of the stored position.
    Successor,
    /// The configured start, because the stored position belongs to a different topic. The first field is the name of
    /// that topic.
    Other(String, Start),
    New(Start),
}

impl Origin {
    /// Returns the origin for the topic `name`. `start` is the stored position, and `configured` is the name of the
    /// topic in the options.
    pub(super) fn of(
        start: Option<Position>,
        configured: &str,
        name: &str,
        is_earliest: bool,
    ) -> Self {
        let default = if is_earliest { Start::Earliest } else { Start::End };
        match start {
            None => Self::New(default),
            // A position with a creation time belongs to a NATS stream.
            Some(position) if position.topic == name && position.created_ns.is_none() => {
                Self::Position(position)
            }
            Some(position) => {
                if is_former(&position.topic, configured, name) {
                    Self::Successor
                } else {
                    Self::Other(position.topic, default)
                }
            }
        }
    }

    /// Returns the first message to read from `partition`. If a partition has no stored offset and was not found in the
    /// first lookup, it is read from its earliest message.
    pub(super) fn start(&self, partition: i32, is_first_look: bool) -> Start {
        match self {
            Self::Position(position) => {
                position.offsets.get(&partition).map_or(Start::Earliest, |it| Start::At(*it))
            }
            Self::Successor => Start::Earliest,
            Self::Other(_, start) | Self::New(start) if is_first_look => *start,
            Self::Other(..) | Self::New(_) => Start::Earliest,
        }
    }

    pub(super) fn warning(&self, name: &str) -> Option<String> {
        let Self::Other(other, start) = self else { return None };
        let from = if *start == Start::End { "end" } else { "earliest message" };
        Some(format!(
            "the state has a position in the topic {other}, not in {name}; reading starts at the {from}"
        ))
    }
}

/// If the topic of `format` has replaced the topic of the stored position `start`, returns the format of the replaced
/// topic. The replaced topic must first be read to its end.
pub(super) fn former(
    start: Option<&Position>,
    configured: &str,
    format: &Format,
    reporter: &StatusReporter<'_>,
) -> Option<Format> {
    let Position { topic, schema, .. } = start?;
    let name = format.topic(configured);
    if *topic == name || !is_former(topic, configured, &name) {
        return None;
    }
    let former = Layout::parse(schema.as_deref().unwrap_or_default());
    let former =
        former.ok().map(Format::Protobuf).filter(|former| former.topic(configured) == *topic);
    if former.is_none() {
        reporter.warn(format!(
            "cannot read the remaining messages of the topic {topic}, which {name} has replaced: the stored position lacks its schema"
        ));
    }
    former
}

/// Returns whether `topic` may be a former topic of `name`: both consist of `configured` and the hash of a schema.
fn is_former(topic: &str, configured: &str, name: &str) -> bool {
    let hash = topic.strip_prefix(configured);
    configured != name && hash.is_some_and(|hash| hash.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(topic: &str, is_earliest: bool) -> Origin {
        let mut position = Position { topic: topic.to_owned(), ..Position::default() };
        position.offsets.insert(1, 70);
        Origin::of(Some(position), "flows", "flows-B", is_earliest)
    }

    fn starts(origin: &Origin) -> [Start; 3] {
        [(1, true), (2, true), (3, false)].map(|(partition, first)| origin.start(partition, first))
    }

    #[test]
    fn a_position_belongs_to_its_topic_and_shows_what_is_new() {
        use Start::{At, Earliest, End};
        assert_eq!(starts(&origin("flows-B", false)), [At(70), Earliest, Earliest]);
        assert_eq!(origin("flows-A", false), Origin::Successor);
        assert_eq!(starts(&origin("flows-A", false)), [Earliest; 3]);
        assert_eq!(starts(&origin("other", false)), [End, End, Earliest]);
        assert_eq!(starts(&origin("other", true)), [Earliest; 3]);
        let new = |is_earliest| Origin::of(None, "flows", "flows", is_earliest);
        assert_eq!(starts(&new(false)), [End, End, Earliest]);
        assert_eq!(starts(&new(true)), [Earliest; 3]);
        assert!(origin("other", false).warning("flows-B").is_some());
        assert_eq!(origin("flows-A", false).warning("flows-B"), None);
    }
}

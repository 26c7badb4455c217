//! [`Queues`], the work that streams still have to do.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Weak};

use super::failure::Failure;
use crate::exec::{Launch, Shape};
use crate::isa::Entry;
use crate::memory::Words;

/// Address in device memory.
pub(super) type Address = u64;

/// Handle of a stream, an event, a module or a function.
pub(super) type Handle = usize;

/// The stream that exists without being created.
pub(super) const DEFAULT_STREAM: Handle = 0;

/// A place in pinned host memory, which the program may free before it is used.
#[derive(Clone, Debug)]
pub(super) struct Pinned {
    pub(super) memory: Weak<Words>,
    /// Distance from the start of the memory, in bytes.
    pub(super) at: usize,
}

/// Source of a copy to the device.
pub(super) enum Source {
    Pinned(Pinned),
    /// The driver copies memory that is not pinned before the call returns.
    Copied(Vec<u8>),
}

/// A piece of work.
pub(super) enum Work {
    Fill {
        to: Address,
        bytes: usize,
        value: u8,
    },
    Upload {
        from: Source,
        to: Address,
        bytes: usize,
    },
    Download {
        from: Address,
        to: Pinned,
        bytes: usize,
    },
    Launch {
        entry: Arc<Entry>,
        params: Vec<u8>,
        shape: Shape,
    },
    /// A launch that has started.
    Running(Box<Launch>),
    /// Record number `record` of an event is reached.
    Reach {
        event: Handle,
        record: u64,
    },
    /// The stream waits until record number `record` of an event is reached.
    Wait {
        event: Handle,
        record: u64,
    },
    Free(Address),
}

/// An event, which can be recorded several times.
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    /// Number of records.
    recorded: u64,
    /// The latest record that was reached, counted from 1.
    reached: u64,
}

/// Streams with their work, and events.
pub(super) struct Queues {
    streams: BTreeMap<Handle, VecDeque<Work>>,
    /// Events are never removed, because streams may wait for an event that the program has destroyed.
    events: HashMap<Handle, Event>,
}

impl Queues {
    /// Creates the default stream.
    pub(super) fn new() -> Self {
        let streams = BTreeMap::from([(DEFAULT_STREAM, VecDeque::new())]);
        Self { streams, events: HashMap::new() }
    }

    pub(super) fn add_stream(&mut self, stream: Handle) {
        self.streams.insert(stream, VecDeque::new());
    }

    pub(super) fn remove_stream(&mut self, stream: Handle) -> Result<(), Failure> {
        self.streams.remove(&stream).map(drop).ok_or(Failure::InvalidHandle)
    }

    pub(super) fn has_stream(&self, stream: Handle) -> bool {
        self.streams.contains_key(&stream)
    }

    /// Returns whether `stream` has no work. A stream that does not exist has none.
    pub(super) fn is_empty(&self, stream: Handle) -> bool {
        self.streams.get(&stream).is_none_or(VecDeque::is_empty)
    }

    /// Returns the number of pieces of work in all streams.
    pub(super) fn len(&self) -> usize {
        self.streams.values().map(VecDeque::len).sum()
    }

    /// Appends `work` to `stream`.
    pub(super) fn push(&mut self, stream: Handle, work: Work) -> Result<(), Failure> {
        self.streams.get_mut(&stream).ok_or(Failure::InvalidHandle)?.push_back(work);
        Ok(())
    }

    /// Puts `work` before all other work of `stream`.
    pub(super) fn put_back(&mut self, stream: Handle, work: Work) {
        self.streams.entry(stream).or_default().push_front(work);
    }

    /// Returns the streams whose first piece of work can be done now, in the order of their handles.
    pub(super) fn ready(&self) -> Vec<Handle> {
        let is_ready = |queue: &VecDeque<Work>| match queue.front() {
            Some(&Work::Wait { event, record }) => self.has_reached(event, record),
            first => first.is_some(),
        };
        let ready = self.streams.iter().filter(|(_, queue)| is_ready(queue));
        ready.map(|(&stream, _)| stream).collect()
    }

    /// Takes the first piece of work of `stream`.
    pub(super) fn take(&mut self, stream: Handle) -> Option<Work> {
        self.streams.get_mut(&stream)?.pop_front()
    }

    pub(super) fn add_event(&mut self, event: Handle) {
        self.events.insert(event, Event::default());
    }

    /// Records `event` once more, and returns the number of the record.
    pub(super) fn record(&mut self, event: Handle) -> Result<u64, Failure> {
        let event = self.events.get_mut(&event).ok_or(Failure::InvalidHandle)?;
        event.recorded += 1;
        Ok(event.recorded)
    }

    /// Returns the number of the last record of `event`, or 0 if it was not recorded.
    pub(super) fn last_record(&self, event: Handle) -> Result<u64, Failure> {
        self.events.get(&event).map(|event| event.recorded).ok_or(Failure::InvalidHandle)
    }

    /// Notes that record number `record` of `event` is reached.
    pub(super) fn reach(&mut self, event: Handle, record: u64) {
        if let Some(event) = self.events.get_mut(&event) {
            event.reached = event.reached.max(record);
        }
    }

    /// Returns whether record number `record` of `event` is reached. No stream waits for an event that does not exist.
    pub(super) fn has_reached(&self, event: Handle, record: u64) -> bool {
        self.events.get(&event).is_none_or(|event| event.reached >= record)
    }
}

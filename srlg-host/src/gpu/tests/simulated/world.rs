//! [`World`]: the state of a simulated GPU and its changes.

use std::collections::{HashMap, VecDeque};

use srlg_core::hash::{Key, KeySequence, hash, reduce};
use zerocopy::IntoBytes;

use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum Operation {
    Allocate,
    Pin,
    Launch,
    Upload,
    Download,
    Record,
    Wait,
    Finish,
    /// Waiting for the copies to and from pinned memory.
    Look,
}

/// The state of a simulated GPU. Bytes are stored in words of 8 bytes, so that all values are aligned.
pub(super) struct World {
    pub(super) chance: Chance,
    pub(super) memories: HashMap<usize, Vec<u64>>,
    /// Number of pending copies to and from each block of host memory.
    pub(super) copies: HashMap<usize, u32>,
    pub(super) queues: HashMap<usize, VecDeque<Work>>,
    /// For each mark, the number of calls of `record`, and the number of the last call whose point was reached.
    pub(super) marks: HashMap<usize, (u64, u64)>,
    next_id: usize,
    /// An operation that is to fail, and the number of calls that succeed before it fails.
    pub(super) fault: Option<(Operation, u32)>,
    pub(super) operations: HashMap<&'static str, u32>,
}

#[derive(Clone, Copy)]
pub(super) struct Chance {
    key: Key,
    throws: u32,
}

impl Chance {
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.throws += 1;
        reduce(hash(self.throws, self.key), count as u32) as usize
    }
}

pub(super) enum Work {
    Do(Box<dyn FnOnce(&mut World) + Send>),
    Reach { mark: usize, time: u64 },
    Wait { mark: usize, time: u64 },
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            chance: Chance { key: KeySequence::new(seed).next_key(), throws: 0 },
            memories: HashMap::new(),
            copies: HashMap::new(),
            queues: HashMap::new(),
            marks: HashMap::new(),
            next_id: 0,
            fault: None,
            operations: HashMap::new(),
        }
    }

    pub(super) fn id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn queue(&mut self, queue: usize) -> &mut VecDeque<Work> {
        self.queues.get_mut(&queue).unwrap()
    }

    pub(super) fn operate(
        &mut self,
        operation: Operation,
        name: &'static str,
    ) -> Result<(), Error> {
        *self.operations.entry(name).or_default() += 1;
        match &mut self.fault {
            Some((failing, after)) if *failing == operation => {
                *after = after.checked_sub(1).ok_or_else(|| failure(operation))?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn bytes(&mut self, id: usize) -> &mut [u8] {
        self.memories.get_mut(&id).unwrap().as_mut_bytes()
    }

    /// Chooses a random queue that is neither empty nor waiting, and runs its next piece of work. Returns false if all
    /// queues are empty or waiting.
    fn step(&mut self) -> bool {
        let ready = |queue: &VecDeque<Work>| match queue.front() {
            Some(Work::Wait { mark, time }) => self.marks[mark].1 >= *time,
            front => front.is_some(),
        };
        let mut ids: Vec<usize> =
            self.queues.iter().filter(|(_, q)| ready(q)).map(|(&id, _)| id).collect();
        ids.sort_unstable();
        if ids.is_empty() {
            return false;
        }
        let queue = ids[self.chance.below(ids.len())];
        match self.queue(queue).pop_front().unwrap() {
            Work::Do(work) => work(self),
            Work::Reach { mark, time } => self.marks.get_mut(&mark).unwrap().1 = time,
            Work::Wait { .. } => {}
        }
        true
    }

    pub(super) fn finish_copies(&mut self, host: usize) {
        if self.copies.get(&host).is_some_and(|&waiting| waiting > 0) {
            *self.operations.entry("trip").or_default() += 1;
        }
        self.run_until(|world| world.copies.get(&host).is_none_or(|&waiting| waiting == 0));
    }

    pub(super) fn run_until(&mut self, is_done: impl Fn(&Self) -> bool) {
        while !is_done(self) {
            assert!(self.step(), "all queues wait for each other");
        }
    }
}

fn failure(operation: Operation) -> Error {
    match operation {
        Operation::Allocate => Error::DeviceMemory { bytes: 1, free: 0 },
        Operation::Pin => Error::PinnedMemory { bytes: 1 },
        Operation::Launch => driver("launch a kernel"),
        Operation::Upload => driver("copy to the device"),
        Operation::Download => driver("copy from the device"),
        Operation::Record => driver("record an event"),
        Operation::Wait => driver("wait for an event"),
        Operation::Finish => driver("complete its work"),
        Operation::Look => driver("finish a copy"),
    }
}

fn driver(doing: &'static str) -> Error {
    Error::Driver { doing, name: "SIMULATED".into(), text: "asked to fail".into() }
}

//! [`PinnedPairs`]: pairs in memory that a GPU reads by itself.

use std::any::Any;
use std::fmt;

use srlg_core::IpPair;

use crate::error::Error;

/// A buffer of pairs that the detector's device reads fastest: page-locked memory for a GPU,
/// ordinary memory for a CPU.
///
/// Filling it waits until the device has read what was ingested from it before; so does its drop.
/// Two of them in turn keep a device busy.
pub struct PinnedPairs {
    memory: Box<dyn PairMemory>,
    len: usize,
}

/// The memory of one kind of device.
pub(crate) trait PairMemory: Any + Send + Sync {
    /// Looks at the pairs.
    fn read(&self, look: &mut dyn FnMut(&[IpPair])) -> Result<(), Error>;

    /// Changes the pairs.
    fn write(&mut self, change: &mut dyn FnMut(&mut [IpPair])) -> Result<(), Error>;
}

/// Ordinary memory.
impl PairMemory for Vec<IpPair> {
    fn read(&self, look: &mut dyn FnMut(&[IpPair])) -> Result<(), Error> {
        look(self);
        Ok(())
    }

    fn write(&mut self, change: &mut dyn FnMut(&mut [IpPair])) -> Result<(), Error> {
        change(self);
        Ok(())
    }
}

impl PinnedPairs {
    pub(crate) fn new(memory: impl PairMemory, len: usize) -> Self {
        Self { memory: Box::new(memory), len }
    }

    /// The memory, when it is of that kind.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn memory<M: PairMemory>(&self) -> Option<&M> {
        (&*self.memory as &dyn Any).downcast_ref()
    }

    /// Does with the pairs what an `ingest` of ordinary memory does.
    pub(crate) fn scan(
        &self,
        mut scan: impl FnMut(&[IpPair]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut scanned = Ok(());
        self.memory.read(&mut |pairs| scanned = scan(pairs))?;
        scanned
    }

    /// Calls `change` with all pairs, zeros at first, to fill in new ones.
    ///
    /// # Errors
    /// What the device reports.
    pub fn fill(&mut self, mut change: impl FnMut(&mut [IpPair])) -> Result<(), Error> {
        self.memory.write(&mut change)
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no pair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for PinnedPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedPairs").field("len", &self.len).finish_non_exhaustive()
    }
}

//! [`PinnedPairs`]: pairs in the memory that a device reads fastest.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use srlg_core::Ipv4Pair;
use zerocopy::IntoBytes;

use crate::error::Error;
use crate::ingest::bytes::{as_bytes, as_mut_pairs, as_pairs};
use crate::ingest::pairs::{Family, Pair, PairSlice};

/// Pairs in the memory that the detector's device reads fastest.
///
/// This is page-locked memory for a GPU and ordinary memory for a CPU.
///
/// Filling or dropping the buffer waits until the device has read the pairs ingested from it. Two buffers, used
/// alternately, keep a device busy.
pub struct PinnedPairs<P = Ipv4Pair> {
    memory: PinnedMemory,
    of: PhantomData<P>,
}

pub(crate) struct PinnedMemory {
    memory: Box<dyn PairMemory>,
    family: Family,
    /// Size of the pairs at the start of the memory, in bytes.
    bytes: usize,
}

/// Memory for pairs that one kind of device reads, aligned to 4 bytes.
pub(crate) trait PairMemory: Any + Send + Sync {
    fn read(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), Error>;

    fn write(&mut self) -> Result<&mut [u8], Error>;
}

/// Ordinary memory, for detectors on the CPU.
impl PairMemory for Vec<u64> {
    fn read(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        look(self.as_slice().as_bytes());
        Ok(())
    }

    fn write(&mut self) -> Result<&mut [u8], Error> {
        Ok(self.as_mut_slice().as_mut_bytes())
    }
}

impl PinnedMemory {
    #[cfg(any(feature = "cuda", test))]
    pub(crate) const fn family(&self) -> Family {
        self.family
    }

    /// Returns the memory and the size of its pairs in bytes, or `None` if the memory is not of type `M`.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn memory<M: PairMemory>(&self) -> Option<(&M, usize)> {
        let memory = (&*self.memory as &dyn Any).downcast_ref()?;
        Some((memory, self.bytes))
    }

    /// Passes the pairs to `scan` as a slice in ordinary memory.
    pub(crate) fn scan(
        &self,
        mut scan: impl FnMut(PairSlice<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut scanned = Ok(());
        self.memory.read(&mut |bytes| {
            scanned = scan(PairSlice::of_bytes(&bytes[..self.bytes], self.family));
        })?;
        scanned
    }
}

impl<P: Pair> PinnedPairs<P> {
    pub(crate) fn new(
        len: usize,
        pin: impl FnOnce(usize) -> Result<Box<dyn PairMemory>, Error>,
    ) -> Result<Self, Error> {
        let bytes = len.checked_mul(size_of::<P>());
        let bytes = bytes.ok_or(Error::PinnedMemory { bytes: usize::MAX })?;
        let memory = PinnedMemory { memory: pin(bytes)?, family: P::FAMILY.of(len), bytes };
        Ok(Self { memory, of: PhantomData })
    }

    pub(crate) fn memory(&self) -> &PinnedMemory {
        &self.memory
    }

    /// Passes all pairs to `change`, which can replace them. At first, all pairs are zero.
    ///
    /// # Errors
    /// Returns an error only if a GPU fails.
    pub fn fill(&mut self, change: impl FnOnce(&mut [P])) -> Result<(), Error> {
        let PinnedMemory { memory, bytes, .. } = &mut self.memory;
        let all = memory.write()?;
        change(as_mut_pairs(&mut all[..*bytes]));
        Ok(())
    }

    /// Appends `pair`. Returns false if the buffer is full.
    #[inline]
    pub(crate) fn push(&mut self, pair: P) -> Result<bool, Error> {
        let PinnedMemory { memory, family, bytes } = &mut self.memory;
        let Some(room) = memory.write()?.get_mut(*bytes..*bytes + size_of::<P>()) else {
            return Ok(false);
        };
        room.copy_from_slice(as_bytes(&[pair]));
        (*family, *bytes) = (P::FAMILY, *bytes + size_of::<P>());
        Ok(true)
    }

    pub(crate) const fn clear(&mut self) {
        (self.memory.family, self.memory.bytes) = (Family::V4, 0);
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&[P]) -> T) -> Result<T, Error> {
        let PinnedMemory { memory, bytes, .. } = &self.memory;
        let (mut look, mut looked) = (Some(look), None);
        memory.read(&mut |all| {
            looked = look.take().map(|look| look(as_pairs(&all[..*bytes])));
        })?;
        Ok(looked.expect("the memory was read"))
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.bytes / size_of::<P>()
    }

    /// Returns whether the buffer is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.memory.bytes == 0
    }
}

impl<P: Pair> fmt::Debug for PinnedPairs<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedPairs").field("len", &self.len()).finish_non_exhaustive()
    }
}

//! [`PinnedPairs`]: pairs in memory that a GPU reads by itself.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use srlg_core::IpPair;
use zerocopy::{FromBytes, IntoBytes};

use crate::error::Error;
use crate::ingest::pairs::{Family, Pair, PairSlice};

/// Pairs where the detector's device reads them fastest: in page-locked memory for a GPU, in
/// ordinary memory for a CPU.
///
/// Filling it waits until the device has read what was ingested from it before; so does its drop.
/// Two of them in turn keep a device busy.
pub struct PinnedPairs<P = IpPair> {
    memory: PinnedMemory,
    of: PhantomData<P>,
}

/// Memory that holds pairs of a family.
pub(crate) struct PinnedMemory {
    memory: Box<dyn PairMemory>,
    family: Family,
    /// Bytes of pairs, which the memory begins with.
    bytes: usize,
}

/// The memory of one kind of device, aligned to 4 bytes.
pub(crate) trait PairMemory: Any + Send + Sync {
    /// Looks at it.
    fn read(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), Error>;

    /// Lends it, to be changed.
    fn write(&mut self) -> Result<&mut [u8], Error>;
}

/// Ordinary memory.
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
    /// Which type the pairs are of.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) const fn family(&self) -> Family {
        self.family
    }

    /// The memory, when it is of that kind, and the bytes of pairs that it begins with.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn memory<M: PairMemory>(&self) -> Option<(&M, usize)> {
        let memory = (&*self.memory as &dyn Any).downcast_ref()?;
        Some((memory, self.bytes))
    }

    /// Does with the pairs what an `ingest` of ordinary memory does.
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
    /// `len` pairs, in what `pin` returns for as many bytes.
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

    /// Calls `change` with all pairs, zeros at first, to fill in new ones.
    ///
    /// # Errors
    /// What the device reports.
    #[expect(clippy::missing_panics_doc, reason = "the bytes are aligned whole pairs")]
    pub fn fill(&mut self, change: impl FnOnce(&mut [P])) -> Result<(), Error> {
        let PinnedMemory { memory, bytes, .. } = &mut self.memory;
        let all = memory.write()?;
        change(<[P]>::mut_from_bytes(&mut all[..*bytes]).expect("aligned whole pairs"));
        Ok(())
    }

    /// Adds `pair` behind the others, in the memory that there is for `len` pairs when it is made; whether there was room.
    #[inline]
    pub(crate) fn push(&mut self, pair: P) -> Result<bool, Error> {
        let PinnedMemory { memory, family, bytes } = &mut self.memory;
        let Some(room) = memory.write()?.get_mut(*bytes..*bytes + size_of::<P>()) else {
            return Ok(false);
        };
        room.copy_from_slice(pair.as_bytes());
        (*family, *bytes) = (P::FAMILY, *bytes + size_of::<P>());
        Ok(true)
    }

    /// Leaves no pair, but the memory of all.
    pub(crate) const fn clear(&mut self) {
        (self.memory.family, self.memory.bytes) = (Family::V4, 0);
    }

    /// Looks at all pairs.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&[P]) -> T) -> Result<T, Error> {
        let PinnedMemory { memory, bytes, .. } = &self.memory;
        let (mut look, mut looked) = (Some(look), None);
        memory.read(&mut |all| {
            let pairs = <[P]>::ref_from_bytes(&all[..*bytes]).expect("aligned whole pairs");
            looked = look.take().map(|look| look(pairs));
        })?;
        Ok(looked.expect("a look at memory that could be read"))
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.memory.bytes / size_of::<P>()
    }

    /// Returns whether there is no pair.
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

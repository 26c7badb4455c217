//! [`Space`], the allocations of a device.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::shadow::{Access, Checks, Shadow, Thread};
use super::words::Words;
use crate::random::Random;

/// Address of the first allocation.
const FIRST: u64 = 0x7_0000_0000;

/// Alignment of allocations, in bytes, which is that of the CUDA driver.
const ALIGNMENT: u64 = 256;

/// Value of bytes that were never written.
const UNWRITTEN: u8 = 0xa5;

/// An allocation of device memory.
#[derive(Debug)]
pub(crate) struct Alloc {
    /// Address of the first byte.
    pub(crate) base: u64,
    /// The content.
    pub(crate) words: Words,
    shadow: Shadow,
}

impl Alloc {
    fn new(base: u64, len: usize, checks: Checks) -> Self {
        Self { base, words: Words::new(len, UNWRITTEN), shadow: Shadow::new(len, checks) }
    }

    /// Returns whether `bytes` bytes from `address` on are within the allocation.
    #[inline(always)]
    pub(crate) fn has(&self, address: u64, bytes: usize) -> bool {
        let (at, len) = (address.wrapping_sub(self.base), self.words.len() as u64);
        at <= len && bytes as u64 <= len - at
    }

    /// Returns the position of `address`, which must be within the allocation.
    #[inline(always)]
    pub(crate) fn position(&self, address: u64) -> usize {
        (address - self.base) as usize
    }

    /// Records an access within the allocation. Returns false if it reads a byte that was never written.
    #[inline(always)]
    pub(crate) fn record(&self, access: &Access) -> bool {
        let at = self.position(access.address);
        if access.is_write {
            self.shadow.set_written(at, access.bytes);
            return true;
        }
        self.shadow.is_written(at, access.bytes)
    }

    /// Records an access of `thread` within the allocation, and returns whether it races with an earlier one. A thread
    /// of launch n can race only if `is_concurrent(n)`.
    pub(crate) fn races(
        &self,
        access: &Access,
        thread: Thread,
        is_concurrent: impl Fn(u32) -> bool,
    ) -> bool {
        self.shadow.races(self.position(access.address), access, thread, is_concurrent)
    }
}

/// The allocations of a [`Space`] at one time, in the order of their addresses.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) allocs: Arc<[Arc<Alloc>]>,
}

/// The error of an access that is not within one allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBounds {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub bytes: usize,
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, bytes } = self;
        write!(f, "{bytes} bytes at {address:#x} are not within an allocation")
    }
}

impl std::error::Error for OutOfBounds {}

/// The memory of a device.
#[derive(Debug)]
pub struct Space {
    allocs: BTreeMap<u64, Arc<Alloc>>,
    /// The last snapshot, unless allocations have changed since.
    snapshot: Option<Snapshot>,
    /// Address of the next allocation.
    next: u64,
    random: Random,
    checks: Checks,
    used: usize,
}

impl Space {
    /// Creates a space without allocations. The distances between allocations depend on `seed`.
    #[must_use]
    pub fn new(seed: u64, checks: Checks) -> Self {
        let (allocs, random) = (BTreeMap::new(), Random::new(seed));
        Self { allocs, snapshot: None, next: FIRST, random, checks, used: 0 }
    }

    /// Allocates `len` bytes and returns the address of the first one, which is a multiple of 256.
    pub fn allocate(&mut self, len: usize) -> u64 {
        let base = self.next;
        let gap = ALIGNMENT * (16 + self.random.below(64) as u64);
        self.next += (len as u64).next_multiple_of(ALIGNMENT) + gap;
        self.allocs.insert(base, Arc::new(Alloc::new(base, len, self.checks)));
        self.snapshot = None;
        self.used += len;
        base
    }

    /// Frees the allocation that starts at `base`, and returns whether there was one. Launches with an earlier snapshot
    /// still have it.
    pub fn free(&mut self, base: u64) -> bool {
        let Some(alloc) = self.allocs.remove(&base) else { return false };
        self.snapshot = None;
        self.used -= alloc.words.len();
        true
    }

    /// Returns the number of allocated bytes.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Returns the current allocations.
    pub fn snapshot(&mut self) -> Snapshot {
        let allocs = &self.allocs;
        let snapshot = || Snapshot { allocs: allocs.values().cloned().collect() };
        self.snapshot.get_or_insert_with(snapshot).clone()
    }

    /// Copies the bytes at `address` to `to`. Bytes that were never written may be copied.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not within one allocation.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Result<(), OutOfBounds> {
        let alloc = self.find(address, to.len())?;
        alloc.words.read(alloc.position(address), to);
        Ok(())
    }

    /// Copies `from` to the bytes at `address`.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not within one allocation.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfBounds> {
        let alloc = self.find(address, from.len())?;
        let at = alloc.position(address);
        alloc.shadow.set_written(at, from.len());
        alloc.words.write(at, from);
        Ok(())
    }

    /// Sets `bytes` bytes at `address` to `value`.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not within one allocation.
    pub fn fill(&mut self, address: u64, bytes: usize, value: u8) -> Result<(), OutOfBounds> {
        let alloc = self.find(address, bytes)?;
        let at = alloc.position(address);
        alloc.shadow.set_written(at, bytes);
        alloc.words.fill(at, bytes, value);
        Ok(())
    }

    fn find(&self, address: u64, bytes: usize) -> Result<&Alloc, OutOfBounds> {
        let found = self.allocs.range(..=address).next_back();
        let found = found.map(|(_, alloc)| &**alloc).filter(|alloc| alloc.has(address, bytes));
        found.ok_or(OutOfBounds { address, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_outside_of_an_allocation_are_found() {
        let mut space = Space::new(1, Checks::default());
        let (one, two) = (space.allocate(258), space.allocate(16));
        assert!(two - one >= 258 + 16 * ALIGNMENT);
        assert_eq!(space.write(one + 250, &[7; 8]), Ok(()));
        let error = OutOfBounds { address: one + 251, bytes: 8 };
        assert_eq!(space.write(one + 251, &[7; 8]), Err(error));
        let mut bytes = [0; 2];
        assert_eq!(space.read(one + 249, &mut bytes), Ok(()));
        assert_eq!(bytes, [UNWRITTEN, 7]);
        assert!(space.read(one - 1, &mut bytes).is_err());
    }

    #[test]
    fn freed_memory_is_found_and_never_allocated_again() {
        let mut space = Space::new(1, Checks::default());
        let address = space.allocate(16);
        let before = space.snapshot();
        assert!(space.free(address) && !space.free(address));
        assert_eq!((space.used(), space.snapshot().allocs.len()), (0, 0));
        assert_eq!(before.allocs.len(), 1);
        assert!(space.write(address, &[0]).is_err());
        assert!(space.allocate(16) > address);
    }
}

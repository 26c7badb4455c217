//! A [`Table`] of values, which C programs refer to by handles.
//!
//! A handle is a number and not an address, so looking up any number is safe. A handle has three parts:
//!
//! ```text
//! 63      56 55             32 31             0
//!    kind      generation          place
//! ```
//!
//! When a value is removed, the generation of its place increases by one, so that older handles no longer match. When
//! the generations of a place are used up, the place is never used again.
//!
//! Places are never freed or moved. They are allocated in chunks, and each chunk is twice as long as the previous one.
//! A look-up therefore takes only the lock of one place.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use crate::status::{Failure, Status};

/// Number of places in the first chunk.
const FIRST_CHUNK: u32 = 64;
/// Maximum number of chunks. Together, they have places for 67 million values.
const CHUNKS: usize = 20;
const LAST_GENERATION: u32 = (1 << 24) - 1;

pub(crate) struct Table<T> {
    /// Most significant byte of the handles of this table.
    kind: u8,
    /// Name of the type in C.
    name: &'static str,
    chunks: [OnceLock<Box<[Place<T>]>>; CHUNKS],
    free: Mutex<FreePlaces>,
}

struct FreePlaces {
    used_before: Vec<u32>,
    /// Number of the first place that has never been used.
    first_unused: u32,
}

/// A place for one value, behind a lock. Each place has its own pair of cache lines, because threads use neighbouring
/// places at the same time.
#[repr(align(128))]
struct Place<T>(RwLock<Occupant<T>>);

struct Occupant<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: u8, name: &'static str) -> Self {
        let free = FreePlaces { used_before: Vec::new(), first_unused: 0 };
        Self { kind, name, chunks: [const { OnceLock::new() }; CHUNKS], free: Mutex::new(free) }
    }

    pub(crate) fn insert(&self, value: T) -> Result<u64, Failure> {
        let number = self.free().take();
        let (chunk, place) = position(number);
        let Some(chunk) = self.chunks.get(chunk) else {
            let text = format!("cannot open another {}: too many are open", self.name);
            return Err(Failure::new(Status::Memory, text));
        };
        let len = FIRST_CHUNK << position(number).0;
        let chunk = chunk.get_or_init(|| (0..len).map(|_| Place::default()).collect());
        let mut occupant = chunk[place].0.write().unwrap_or_else(PoisonError::into_inner);
        occupant.value = Some(value);
        Ok(u64::from(self.kind) << 56 | u64::from(occupant.generation) << 32 | u64::from(number))
    }

    /// Passes the value of `handle` to `call`. Several threads may read the value concurrently.
    #[inline]
    pub(crate) fn read<R>(
        &self,
        handle: u64,
        call: impl FnOnce(&T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let occupant = self.place(handle)?.0.read().map_err(|_| self.panicked())?;
        call(occupant.of(handle).ok_or_else(|| self.no_handle(handle))?)
    }

    /// Passes the value of `handle` to `call` as soon as no other call uses the value.
    #[inline]
    pub(crate) fn write<R>(
        &self,
        handle: u64,
        call: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let mut occupant = self.place(handle)?.0.write().map_err(|_| self.panicked())?;
        call(occupant.of_mut(handle).ok_or_else(|| self.no_handle(handle))?)
    }

    /// Removes and returns the value of `handle` as soon as no call uses the value. If several threads try to remove
    /// the value, only one of them succeeds.
    pub(crate) fn remove(&self, handle: u64) -> Result<T, Failure> {
        let place = &self.place(handle)?.0;
        let mut occupant = place.write().unwrap_or_else(PoisonError::into_inner);
        let is_there = occupant.generation == generation(handle);
        let value = occupant.value.take_if(|_| is_there);
        let value = value.ok_or_else(|| self.no_handle(handle))?;
        occupant.generation += 1;
        let is_usable = occupant.generation <= LAST_GENERATION;
        place.clear_poison();
        drop(occupant);
        if is_usable {
            self.free().used_before.push(handle as u32);
        }
        Ok(value)
    }

    fn free(&self) -> MutexGuard<'_, FreePlaces> {
        // A poisoned lock is safe to use, because no code panics while the free places are in an inconsistent state.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn place(&self, handle: u64) -> Result<&Place<T>, Failure> {
        let (chunk, place) = position(handle as u32);
        let is_mine = (handle >> 56) as u8 == self.kind;
        let chunk = self.chunks.get(chunk).filter(|_| is_mine).and_then(OnceLock::get);
        chunk.map(|chunk| &chunk[place]).ok_or_else(|| self.no_handle(handle))
    }

    #[cold]
    fn no_handle(&self, handle: u64) -> Failure {
        let text = format!("{handle:#x} is not an {}: it was freed or never opened", self.name);
        Failure::new(Status::Handle, text)
    }

    #[cold]
    fn panicked(&self) -> Failure {
        let text = format!(
            "cannot use this {}: an earlier call panicked; free it, and open a new one",
            self.name
        );
        Failure::new(Status::Panic, text)
    }
}

impl FreePlaces {
    fn take(&mut self) -> u32 {
        self.used_before.pop().unwrap_or_else(|| {
            let number = self.first_unused;
            self.first_unused = number.saturating_add(1);
            number
        })
    }
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Self(RwLock::new(Occupant { generation: 1, value: None }))
    }
}

impl<T> Occupant<T> {
    fn of(&self, handle: u64) -> Option<&T> {
        self.value.as_ref().filter(|_| self.generation == generation(handle))
    }

    fn of_mut(&mut self, handle: u64) -> Option<&mut T> {
        self.value.as_mut().filter(|_| self.generation == generation(handle))
    }
}

const fn generation(handle: u64) -> u32 {
    (handle >> 32) as u32 & LAST_GENERATION
}

/// Returns the index of the chunk that contains place `number`, and the index of the place within the chunk.
const fn position(number: u32) -> (usize, usize) {
    let chunk = (number / FIRST_CHUNK + 1).ilog2();
    let before = FIRST_CHUNK as u64 * ((1 << chunk) - 1);
    (chunk as usize, (number as u64 - before) as usize)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    fn status<T>(result: Result<T, Failure>) -> Option<Status> {
        result.err().map(|failure| failure.status)
    }

    #[test]
    fn handles_find_their_values_in_every_chunk() {
        let table = Table::new(1, "number");
        let handles: Vec<u64> = (0..1000).map(|value| table.insert(value).unwrap()).collect();
        for (value, &handle) in handles.iter().enumerate() {
            assert_eq!(table.read(handle, |it| Ok(*it)).unwrap(), value);
        }
        assert_eq!(
            [0, 63, 64, 191, 192, 447, 448].map(position),
            [(0, 0), (0, 63), (1, 0), (1, 127), (2, 0), (2, 255), (3, 0)]
        );
    }

    #[test]
    fn other_numbers_are_no_handles() {
        let table = Table::new(1, "number");
        let handle = table.insert(7).unwrap();
        let others = [0, 1, u64::MAX, handle + 1, handle + 64, handle | 1 << 40, handle ^ 3 << 56];
        for other in others {
            assert_eq!(status(table.read(other, |_| Ok(()))), Some(Status::Handle), "{other:#x}");
            assert_eq!(status(table.write(other, |_| Ok(()))), Some(Status::Handle), "{other:#x}");
            assert_eq!(status(table.remove(other)), Some(Status::Handle), "{other:#x}");
        }
        assert_eq!(table.remove(handle).unwrap(), 7);
    }

    #[test]
    fn a_handle_is_not_used_again() {
        let table = Table::new(1, "number");
        let first = table.insert(7).unwrap();
        table.remove(first).unwrap();
        let second = table.insert(8).unwrap();
        assert_eq!(second as u32, first as u32); // the same place
        assert_eq!(status(table.read(first, |_| Ok(()))), Some(Status::Handle));
        assert_eq!(status(table.remove(first)), Some(Status::Handle));
        assert_eq!(table.read(second, |it| Ok(*it)).unwrap(), 8);
    }

    #[test]
    fn a_place_whose_generations_are_used_up_is_left() {
        let table = Table::new(1, "number");
        let first = table.insert(7).unwrap();
        table.place(first).unwrap().0.write().unwrap().generation = LAST_GENERATION;
        let last = 1 << 56 | u64::from(LAST_GENERATION) << 32;
        assert_eq!(table.remove(last).unwrap(), 7);
        assert_eq!(table.insert(8).unwrap() as u32, 1);
    }

    #[test]
    fn of_threads_that_remove_one_value_one_gets_it() {
        let table = Table::new(1, "number");
        for round in 0..200 {
            let (handle, barrier) = (table.insert(round).unwrap(), Barrier::new(3));
            let got = thread::scope(|scope| {
                let remove = || {
                    barrier.wait();
                    table.remove(handle).is_ok()
                };
                let threads = [(); 3].map(|()| scope.spawn(remove));
                threads.map(|thread| thread.join().unwrap())
            });
            assert_eq!(got.iter().filter(|got| **got).count(), 1);
        }
    }

    #[test]
    fn after_a_panic_a_value_can_only_be_removed() {
        let table = Table::new(1, "number");
        let handle = table.insert(7).unwrap();
        let call = || table.write(handle, |_| -> Result<(), Failure> { panic!("in a call") });
        catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(status(table.read(handle, |_| Ok(()))), Some(Status::Panic));
        assert_eq!(table.remove(handle).unwrap(), 7);
        let next = table.insert(8).unwrap();
        assert_eq!(table.read(next, |it| Ok(*it)).unwrap(), 8);
    }
}

//! [`Grid`]: the position of a thread in its launch.
//!
//! A launch has `blocks` blocks, and each block has `threads` threads. A launch usually has fewer threads than units of
//! work. Each thread therefore processes every n-th unit, where n is the number of threads in the launch.

/// Number of threads in each block of a launch on a GPU.
pub const THREADS: u32 = 256;

/// The position of one thread in its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Index of the thread's block in the launch.
    pub block: u32,
    /// Number of blocks in the launch.
    pub blocks: u32,
    /// Index of the thread in its block.
    pub thread: u32,
    /// Number of threads in each block.
    pub threads: u32,
}

impl Grid {
    /// Returns the index of the thread in its launch.
    #[inline(always)]
    #[must_use]
    pub fn number(self) -> usize {
        self.block as usize * self.threads as usize + self.thread as usize
    }

    /// Returns the indices in `0..len` that this thread processes if all threads of the launch share the work.
    #[inline(always)]
    pub fn of_all(self, len: usize) -> impl Iterator<Item = usize> {
        stride(self.number(), self.blocks as usize * self.threads as usize, len)
    }

    /// Returns the indices in `0..len` that this block processes if all blocks of the launch share the work. All
    /// threads of a block get the same indices.
    #[inline(always)]
    pub fn of_blocks(self, len: usize) -> impl Iterator<Item = usize> {
        stride(self.block as usize, self.blocks as usize, len)
    }

    /// Returns the indices in `0..len` that this thread processes if the threads of its block share the work.
    #[inline(always)]
    pub fn of_threads(self, len: usize) -> impl Iterator<Item = usize> {
        stride(self.thread as usize, self.threads as usize, len)
    }
}

/// Returns `first`, `first + step`, `first + 2 * step` and so on, up to `len` (exclusive).
#[inline(always)]
fn stride(first: usize, step: usize, len: usize) -> impl Iterator<Item = usize> {
    // This avoids `step_by`, which checks for a step of 0 and divides.
    core::iter::successors(Some(first), move |at| Some(at + step)).take_while(move |&at| at < len)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    fn grids(blocks: u32, threads: u32) -> impl Iterator<Item = Grid> {
        (0..blocks * threads).map(move |thread| {
            let (block, thread) = (thread / threads, thread % threads);
            Grid { block, blocks, thread, threads }
        })
    }

    #[test]
    fn threads_do_all_work_exactly_once() {
        for len in [0, 1, 11, 12, 13, 1000] {
            let mut all: Vec<usize> = grids(3, 4).flat_map(|grid| grid.of_all(len)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..len).collect::<Vec<_>>());
            let nested = |grid: Grid| {
                grid.of_blocks(len)
                    .flat_map(move |row| grid.of_threads(5).map(move |at| row * 5 + at))
            };
            let mut pairs: Vec<usize> = grids(3, 4).flat_map(nested).collect();
            pairs.sort_unstable();
            assert_eq!(pairs, (0..len * 5).collect::<Vec<_>>());
        }
    }
}

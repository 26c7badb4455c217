//! [`Grid`]: which thread of a launch this is.
//!
//! A launch has `blocks` of `threads` threads each, fewer than there is work: every thread goes
//! on in strides until nothing is left.

/// Threads of a block of a launch on a GPU.
pub const THREADS: u32 = 256;

/// Tells the place of one thread in its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of the thread's block.
    pub block: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Number of the thread in its block.
    pub thread: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl Grid {
    /// Returns the number of the thread in its launch.
    #[inline(always)]
    #[must_use]
    pub fn number(self) -> usize {
        self.block as usize * self.threads as usize + self.thread as usize
    }

    /// Returns the share of this thread of `0..len`, shared out among all threads.
    #[inline(always)]
    pub fn of_all(self, len: usize) -> impl Iterator<Item = usize> {
        stride(self.number(), self.blocks as usize * self.threads as usize, len)
    }

    /// Returns the share of this block of `0..len`, shared out among the blocks: all of its threads
    /// get the same.
    #[inline(always)]
    pub fn of_blocks(self, len: usize) -> impl Iterator<Item = usize> {
        stride(self.block as usize, self.blocks as usize, len)
    }

    /// Returns the share of this thread of `0..len`, shared out among the threads of its block.
    #[inline(always)]
    pub fn of_threads(self, len: usize) -> impl Iterator<Item = usize> {
        stride(self.thread as usize, self.threads as usize, len)
    }
}

/// `first`, `first + step`, ... below `len`.
#[inline(always)]
fn stride(first: usize, step: usize, len: usize) -> impl Iterator<Item = usize> {
    // `step_by` would check for a step of 0 and divide.
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
    fn threads_share_out_all_of_the_work_and_nothing_twice() {
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

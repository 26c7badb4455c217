//! [`Launch`], which decides in which order threads run.

use std::sync::Arc;

use super::access::View;
use super::fault::{Fault, FaultKind, LaneFault};
use super::grid::{End, Grid, Limits, Run, Shape};
use super::lanes::{ALL, WARP, lanes};
use super::warp::{Path, Warp};
use crate::isa::Entry;
use crate::memory::Snapshot;
use crate::random::Random;
use crate::stats::Counts;

/// Number of instructions of warps after which a launch counts as endless.
const MOST_INSTRUCTIONS: u64 = 1 << 40;

/// Maximum number of instructions that some threads of a warp execute in one go in the random order.
const MOST_IN_ONE_GO: u64 = 6;

/// Order in which threads run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Warps run one after the other. Threads of a warp that diverge meet again at the next post-dominator, as NVIDIA's
    /// assembler arranges it.
    #[default]
    Lockstep,
    /// A random warp executes a few instructions in random threads, again and again.
    Random {
        /// Number of warps that run at the same time. 0 counts as 1.
        warps: usize,
    },
}

/// Options of a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Order in which threads run.
    pub order: Order,
    /// Seed of random choices, and of registers that are not set.
    pub seed: u64,
    /// Whether sectors and conflicts are counted.
    pub measure: bool,
}

/// A launch of an entry point, which runs step by step.
pub struct Launch {
    grid: Grid,
    order: Order,
    random: Random,
    /// Numbers of the warps that have not started. The last one comes first.
    waiting: Vec<u32>,
    running: Vec<Warp>,
    /// Warps that have ended, whose memory is used again.
    idle: Vec<Warp>,
    /// Number of instructions that remain until the launch counts as endless.
    remaining: u64,
}

impl Launch {
    /// Creates a launch that sees the allocations in `memory`. Nothing runs yet.
    ///
    /// # Panics
    ///
    /// Panics if `params` does not have the size of the parameter of the entry point.
    #[must_use]
    pub fn new(
        entry: Arc<Entry>,
        params: Vec<u8>,
        shape: Shape,
        memory: Snapshot,
        options: Options,
    ) -> Self {
        assert_eq!(params.len(), entry.param_bytes, "size of the parameter of {}", entry.name);
        let Options { order, seed, measure } = options;
        let mut random = Random::new(seed);
        let mut waiting: Vec<u32> = (0..shape.warps()).rev().collect();
        if order != Order::Lockstep {
            for last in (1..waiting.len()).rev() {
                waiting.swap(last, random.below(last + 1));
            }
        }
        let view = View::new(memory, entry.clone(), shape.threads());
        let grid = Grid::new(entry, shape, params, view, measure);
        let (running, idle) = (Vec::new(), Vec::new());
        Self { grid, order, random, waiting, running, idle, remaining: MOST_INSTRUCTIONS }
    }

    pub(crate) fn entry(&self) -> &Arc<Entry> {
        &self.grid.entry
    }

    /// Returns the counts of all instructions that have run.
    pub(crate) fn counts(&self) -> &Counts {
        &self.grid.counts
    }

    /// Searches races from now on. `number` is the number of the launch, counted from 1, and `beside` has the numbers
    /// of the earlier launches that are running.
    pub(crate) fn search_races(&mut self, number: u32, beside: Vec<u32>) {
        self.grid.view.search_races(number, beside);
    }

    /// Returns the number of the launch, or `None` if races are not searched.
    pub(crate) fn number(&self) -> Option<u32> {
        self.grid.view.launch()
    }

    /// Runs the launch to its end.
    ///
    /// # Errors
    ///
    /// Returns the first fault of a thread. The launch cannot continue.
    pub fn run(&mut self) -> Result<(), Fault> {
        while !self.step(u64::MAX)? {}
        Ok(())
    }

    /// Runs about `count` instructions of warps, and returns whether the launch has ended.
    ///
    /// # Errors
    ///
    /// Returns the first fault of a thread. The launch cannot continue.
    pub fn step(&mut self, mut count: u64) -> Result<bool, Fault> {
        let most = match self.order {
            Order::Lockstep => 1,
            Order::Random { warps } => warps.max(1),
        };
        while count > 0 {
            while self.running.len() < most {
                let Some(number) = self.waiting.pop() else { break };
                let idle = self.idle.pop();
                self.running.push(self.grid.start(number, idle, &mut self.random));
            }
            if self.running.is_empty() {
                return Ok(true);
            }
            let at = match self.running.len() {
                1 => 0,
                running => self.random.below(running),
            };
            let mut warp = self.running.swap_remove(at);
            let executed = match self.order {
                Order::Lockstep => self.lockstep(&mut warp, count)?,
                Order::Random { .. } => self.random_threads(&mut warp)?,
            };
            count = count.saturating_sub(executed);
            self.remaining = self.remaining.saturating_sub(executed);
            if self.remaining == 0 {
                let pc = warp.pcs[warp.live.trailing_zeros() as usize % WARP] as usize;
                let fault = LaneFault { kind: FaultKind::Endless, lane: 0, address: 0 };
                return Err(self.grid.fault(&warp, fault, pc));
            }
            match warp.live {
                0 => self.idle.push(warp),
                _ => self.running.push(warp),
            }
        }
        Ok(self.running.is_empty() && self.waiting.is_empty())
    }

    /// Runs a warp in lockstep until it ends, or until `most` instructions have run. Returns their number.
    fn lockstep(&mut self, warp: &mut Warp, most: u64) -> Result<u64, Fault> {
        let mut executed = 0;
        while warp.live != 0 && executed < most {
            let Path { stop, pc, mask } = warp.paths.pop().expect("live threads are on a path");
            let mask = mask & warp.live;
            if mask == 0 || pc == stop {
                continue;
            }
            let limits = Limits { stop: stop as usize, most: most - executed };
            let run = self.grid.run(warp, pc as usize, mask, limits)?;
            executed += run.executed;
            match run.end {
                End::At(pc) => warp.paths.push(Path { stop, pc: pc as u32, mask }),
                End::Diverged { branch, to, taken } => {
                    let meet = self.grid.entry.meets[branch];
                    warp.paths.push(Path { stop, pc: meet, mask });
                    let (next, others) = (branch as u32 + 1, mask & !taken);
                    warp.paths.push(Path { stop: meet, pc: next, mask: others });
                    warp.paths.push(Path { stop: meet, pc: to as u32, mask: taken });
                }
            }
        }
        Ok(executed)
    }

    /// Runs a few instructions of random threads that are at the same instruction. Returns the number of instructions.
    fn random_threads(&mut self, warp: &mut Warp) -> Result<u64, Fault> {
        let chosen = self.random.below(warp.live.count_ones() as usize);
        let chosen =
            lanes(warp.live).nth(chosen).expect("the number is below that of live threads");
        let pc = warp.pcs[chosen];
        let random = self.random.next();
        // Besides the chosen thread, these are all other threads, none of them, or random ones.
        let others = match random >> 32 & 3 {
            0 => ALL,
            1 => 0,
            _ => random as u32,
        };
        let mut mask = 0;
        for lane in lanes(warp.live) {
            mask |= u32::from(warp.pcs[lane] == pc) << lane;
        }
        mask &= others | 1 << chosen;
        let most = 1 + (random >> 40) % MOST_IN_ONE_GO;
        let Run { executed, end } =
            self.grid.run(warp, pc as usize, mask, Limits { stop: usize::MAX, most })?;
        for lane in lanes(mask) {
            warp.pcs[lane] = match end {
                End::At(pc) => pc as u32,
                End::Diverged { to, taken, .. } if taken >> lane & 1 == 1 => to as u32,
                End::Diverged { branch, .. } => branch as u32 + 1,
            };
        }
        Ok(executed)
    }
}

//! [`Warp`], the registers and positions of 32 threads.

use super::lanes::{ALL, Lanes, WARP};
use crate::isa::{Class, Constant, DataReg, Entry, Width};
use crate::random::Random;

/// Threads that diverged at a branch, and have not met again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// The instruction before which the path ends.
    pub(super) stop: u32,
    /// The next instruction.
    pub(super) pc: u32,
    /// The threads on the path. Some of them may have ended.
    pub(super) mask: u32,
}

/// The state of a warp.
pub(super) struct Warp {
    /// Predicates, as sets of lanes.
    pub(super) predicates: Vec<u32>,
    pub(super) r16: Vec<Lanes<u16>>,
    pub(super) r32: Vec<Lanes<u32>>,
    pub(super) r64: Vec<Lanes<u64>>,
    /// The next instruction of each thread. Only the random order uses it.
    pub(super) pcs: Lanes<u32>,
    /// The paths to execute, of which the last one comes first. Only the lockstep order uses it.
    pub(super) paths: Vec<Path>,
    /// The threads that have not ended.
    pub(super) live: u32,
    /// Number of the warp's block.
    pub(super) block: u32,
    /// Number of the first thread in its block.
    pub(super) first_thread: u32,
}

impl Warp {
    /// Creates a warp without threads. No register is set except constants, so the others have random contents.
    pub(super) fn new(entry: &Entry, random: &mut Random) -> Self {
        let [predicates, r16, r32, r64] = entry.registers;
        let mut word = || random.next();
        let mut warp = Self {
            predicates: (0..predicates).map(|_| word() as u32).collect(),
            r16: (0..r16).map(|_| [word() as u16; WARP]).collect(),
            r32: (0..r32).map(|_| [word() as u32; WARP]).collect(),
            r64: (0..r64).map(|_| [word(); WARP]).collect(),
            pcs: [0; WARP],
            paths: Vec::new(),
            live: 0,
            block: 0,
            first_thread: 0,
        };
        for &Constant { class, reg, value } in &entry.constants {
            let reg = usize::from(reg);
            match class {
                Class::Predicate => warp.predicates[reg] = if value == 1 { ALL } else { 0 },
                Class::Data(Width::W16) => warp.r16[reg] = [value as u16; WARP],
                Class::Data(Width::W32) => warp.r32[reg] = [value as u32; WARP],
                Class::Data(Width::W64) => warp.r64[reg] = [value; WARP],
            }
        }
        warp
    }

    /// Starts `threads` threads at the first instruction. Registers keep their contents.
    pub(super) fn start(&mut self, block: u32, first_thread: u32, threads: u32) {
        self.block = block;
        self.first_thread = first_thread;
        self.live = ALL >> (WARP as u32 - threads);
        self.pcs = [0; WARP];
        self.paths.clear();
        self.paths.push(Path { stop: u32::MAX, pc: 0, mask: ALL });
    }

    /// Returns the content of a register in one lane.
    #[inline(always)]
    pub(super) fn get(&self, DataReg { width, reg }: DataReg, lane: usize) -> u64 {
        let reg = usize::from(reg);
        match width {
            Width::W16 => self.r16[reg][lane].into(),
            Width::W32 => self.r32[reg][lane].into(),
            Width::W64 => self.r64[reg][lane],
        }
    }

    /// Sets a register in one lane to the low bits of `value`.
    #[inline(always)]
    pub(super) fn set(&mut self, DataReg { width, reg }: DataReg, lane: usize, value: u64) {
        let reg = usize::from(reg);
        match width {
            Width::W16 => self.r16[reg][lane] = value as u16,
            Width::W32 => self.r32[reg][lane] = value as u32,
            Width::W64 => self.r64[reg][lane] = value,
        }
    }

    /// Sets a predicate in the lanes of `mask` to `x`.
    #[inline(always)]
    pub(super) fn put_predicate(&mut self, d: u16, mask: u32, x: u32) {
        let d = &mut self.predicates[usize::from(d)];
        *d = *d & !mask | x & mask;
    }
}

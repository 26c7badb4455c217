//! [`Grid`], which executes the instructions of a launch.

use std::sync::Arc;

use super::access::{Load, Store, Update, View, cost};
use super::arithmetic::Regs;
use super::fault::{Fault, FaultKind, LaneFault};
use super::lanes::{ALL, WARP, extended, lanes, put};
use super::warp::Warp;
use crate::isa::{Address, DataReg, Entry, Guard, Op, Reg, Special};
use crate::random::Random;
use crate::stats::Counts;

/// Number of blocks and threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    blocks: u32,
    threads: u32,
}

impl Shape {
    /// Creates the shape of `blocks` blocks with `threads` threads each. Returns `None` if the device cannot launch so
    /// many: 1 to 1,024 threads, 1 to 2^31 - 1 blocks, and less than 2^32 threads in all blocks.
    #[must_use]
    pub fn new(blocks: u32, threads: u32) -> Option<Self> {
        let are_possible = (1..=1024).contains(&threads) && blocks > 0 && blocks <= i32::MAX as u32;
        (are_possible && blocks.checked_mul(threads).is_some()).then_some(Self { blocks, threads })
    }

    /// Returns the number of threads in a block.
    pub(super) fn threads(self) -> u32 {
        self.threads
    }

    /// Returns the number of threads in all blocks.
    pub(super) fn all_threads(self) -> u64 {
        u64::from(self.blocks) * u64::from(self.threads)
    }

    /// Returns the number of warps in all blocks.
    pub(super) fn warps(self) -> u32 {
        self.blocks * self.warps_of_block()
    }

    fn warps_of_block(self) -> u32 {
        self.threads.div_ceil(WARP as u32)
    }
}

/// The end of a run of instructions.
pub(super) enum End {
    /// All threads are before this instruction.
    At(usize),
    /// The threads diverged at a branch. Those in `taken` are at `to`, and the others behind the branch.
    Diverged { branch: usize, to: usize, taken: u32 },
}

/// A run of instructions that the same threads of a warp executed.
pub(super) struct Run {
    /// Number of instructions.
    pub(super) executed: u64,
    pub(super) end: End,
}

/// Limits of a run of instructions.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The instruction before which the run ends.
    pub(super) stop: usize,
    /// Maximum number of instructions.
    pub(super) most: u64,
}

/// The blocks of a launch.
pub(super) struct Grid {
    pub(super) entry: Arc<Entry>,
    shape: Shape,
    params: Vec<u8>,
    pub(super) view: View,
    pub(super) counts: Counts,
    /// Whether the costs of accesses are counted.
    is_measured: bool,
}

impl Grid {
    /// Creates the blocks of a launch with parameters of the right size.
    pub(super) fn new(
        entry: Arc<Entry>,
        shape: Shape,
        params: Vec<u8>,
        view: View,
        is_measured: bool,
    ) -> Self {
        let mut counts = Counts::new(entry.code.len());
        (counts.launches, counts.threads) = (1, shape.all_threads());
        Self { entry, shape, params, view, counts, is_measured }
    }

    /// Starts warp `number` of the launch. `idle` has a warp of the launch that has ended, if there is one.
    pub(super) fn start(&self, number: u32, idle: Option<Warp>, random: &mut Random) -> Warp {
        let mut warp = idle.unwrap_or_else(|| Warp::new(&self.entry, random));
        let of_block = self.shape.warps_of_block();
        let first_thread = number % of_block * WARP as u32;
        let threads = (self.shape.threads - first_thread).min(WARP as u32);
        warp.start(number / of_block, first_thread, threads);
        warp
    }

    /// Executes instructions from `pc` on in the lanes of `mask`, until the limits are reached, a thread ends, or the
    /// threads diverge.
    pub(super) fn run(
        &mut self,
        warp: &mut Warp,
        pc: usize,
        mask: u32,
        limits: Limits,
    ) -> Result<Run, Fault> {
        let entry = self.entry.clone();
        let (mut pc, mut executed) = (pc, 0);
        while executed < limits.most && pc != limits.stop {
            let inst = &entry.code[pc];
            executed += 1;
            self.counts.warps[pc] += 1;
            let active = match inst.guard {
                None => mask,
                Some(Guard { predicate, negated }) => {
                    let negation = if negated { ALL } else { 0 };
                    mask & (warp.predicates[usize::from(predicate)] ^ negation)
                }
            };
            self.counts.lanes[pc] += u64::from(active.count_ones());
            match inst.op {
                Op::Bra(to) if active == mask => pc = to,
                Op::Bra(_) if active == 0 => pc += 1,
                Op::Bra(to) => {
                    let end = End::Diverged { branch: pc, to, taken: active };
                    return Ok(Run { executed, end });
                }
                Op::Exit => {
                    warp.live &= !active;
                    pc += 1;
                    // The caller chooses the next threads.
                    break;
                }
                _ if active == 0 => pc += 1,
                _ => {
                    let result = self.execute(warp, &inst.op, active, pc);
                    result.map_err(|fault| self.fault(warp, fault, pc))?;
                    pc += 1;
                }
            }
        }
        Ok(Run { executed, end: End::At(pc) })
    }

    /// Returns the fault of a lane at instruction `pc`.
    pub(super) fn fault(&self, warp: &Warp, fault: LaneFault, pc: usize) -> Fault {
        let LaneFault { kind, lane, address } = fault;
        let origin = &self.entry.origins[pc];
        Fault {
            kind,
            entry: self.entry.name.clone(),
            line: origin.line,
            opcode: origin.opcode.clone(),
            block: warp.block,
            blocks: self.shape.blocks,
            thread: warp.first_thread + lane as u32,
            threads: self.shape.threads,
            address,
            near: self.view.near(address),
        }
    }

    /// Executes instruction `pc` in the lanes of `mask`. It is neither a branch nor an exit.
    #[inline(always)]
    fn execute(&mut self, warp: &mut Warp, op: &Op, mask: u32, pc: usize) -> Result<(), LaneFault> {
        match *op {
            Op::Alu { width, alu, d, a, b } => return warp.alu(width, alu, Regs { d, a, b }, mask),
            Op::Shift { width, shift, d, a, b } => warp.shift(width, shift, Regs { d, a, b }, mask),
            Op::Unary { width, unary, d, a } => warp.unary(width, unary, d, a, mask),
            Op::Count { width, count, d, a } => warp.count(width, count, d, a, mask),
            Op::Mad { width, d, a, b, c } => {
                warp.multiply_and_add(width, Regs { d, a, b }, c, mask);
            }
            Op::MulWide { signed, d, a, b } => warp.wide_product(signed, Regs { d, a, b }, mask),
            Op::Funnel { left, wrap, d, a, b, c } => {
                warp.funnel(left, wrap, Regs { d, a, b }, c, mask);
            }
            Op::Bfe { width, signed, d, a, b, c } => {
                warp.bit_field(width, signed, Regs { d, a, b }, c, mask);
            }
            Op::SetP { width, compare, d, a, b } => {
                warp.set_predicate(width, compare, Regs { d, a, b }, mask);
            }
            Op::SelP { width, d, a, b, p } => warp.select(width, Regs { d, a, b }, p, mask),
            Op::PredicateLogic { logic, d, a, b } => {
                warp.predicate_logic(logic, Regs { d, a, b }, mask);
            }
            Op::PredicateMov { negated, d, a } => warp.predicate_mov(negated, d, a, mask),
            Op::Cvt { to, from, d, a } => warp.convert(to, from, d, a, mask),
            Op::Unpack { from, d, a } => warp.unpack(from, d, a, mask),
            Op::Pack { to, d, a } => warp.pack(to, d, a, mask),
            Op::Special { d, special } => self.special(warp, d, special, mask),
            Op::Param { bytes, signed, d, at } => self.param(warp, bytes, signed, d, at, mask),
            Op::Load { bytes, signed, ref d, address, weak } => {
                self.measure(warp, address, bytes * d.len(), mask, pc);
                return self.view.load(warp, Load { bytes, signed, d, address, weak }, mask, pc);
            }
            Op::Store { bytes, ref a, address, weak } => {
                self.measure(warp, address, bytes * a.len(), mask, pc);
                return self.view.store(warp, Store { bytes, a, address, weak }, mask, pc);
            }
            Op::Atom { op, width, d, address, b, c } => {
                self.measure(warp, address, width.bytes(), mask, pc);
                let update = Update { op, width, d, address, b, c };
                return self.view.update(warp, update, mask, pc);
            }
            Op::Fence => {}
            Op::Trap => {
                let lane = mask.trailing_zeros() as usize;
                return Err(LaneFault { kind: FaultKind::Trap, lane, address: 0 });
            }
            Op::Bra(_) | Op::Exit => unreachable!("the caller executes branches and exits"),
        }
        Ok(())
    }

    #[inline(always)]
    fn special(&self, warp: &mut Warp, d: Reg, special: Special, mask: u32) {
        let mut x = [match special {
            Special::Tid => warp.first_thread,
            Special::Ntid => self.shape.threads,
            Special::Ctaid => warp.block,
            Special::Nctaid => self.shape.blocks,
            Special::Zero => 0,
            Special::One => 1,
        }; WARP];
        if special == Special::Tid {
            (0..).zip(&mut x).for_each(|(lane, x)| *x += lane);
        }
        put(&mut warp.r32[usize::from(d)], mask, x);
    }

    /// Loads `bytes` bytes from byte `at` of the parameter.
    #[inline(always)]
    fn param(&self, warp: &mut Warp, bytes: usize, signed: bool, d: DataReg, at: usize, mask: u32) {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&self.params[at..at + bytes]);
        let x = extended(u64::from_le_bytes(value), bytes as u32 * 8, signed);
        for lane in lanes(mask) {
            warp.set(d, lane, x);
        }
    }

    fn measure(&mut self, warp: &Warp, address: Address, bytes: usize, mask: u32, pc: usize) {
        if self.is_measured {
            let cost = cost(warp, address, bytes, mask);
            self.counts.sectors[pc] += cost.sectors;
            self.counts.conflicts[pc] += cost.conflicts;
        }
    }
}

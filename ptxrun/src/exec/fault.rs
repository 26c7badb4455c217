//! [`Fault`], the reason why a launch failed.

use std::fmt;

/// A rule that a thread violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The thread executed a trap.
    Trap,
    /// The thread accessed an address outside of all allocations.
    OutOfBounds,
    /// The thread accessed an address that is not a multiple of the size of the access.
    Misaligned,
    /// The thread read a byte that was never written. This check is optional.
    Uninitialised,
    /// The thread divided by zero.
    DivisionByZero,
    /// The launch executed so many instructions that it probably never ends.
    Endless,
}

/// A fault of a thread, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The violated rule.
    pub kind: FaultKind,
    /// Name of the entry point.
    pub entry: String,
    /// Line of the instruction in the text of the module, counted from 1.
    pub line: u32,
    /// The instruction.
    pub opcode: String,
    /// Number of the thread's block.
    pub block: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// Number of the thread in its block.
    pub thread: u32,
    /// Number of threads in a block.
    pub threads: u32,
    /// Address of the access, or 0 if the instruction does not access memory.
    pub address: u64,
    /// The nearest allocation that starts at or before the address.
    pub near: Option<Near>,
}

/// An allocation near the address of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// Distance from the start of the allocation to the address, in bytes.
    pub byte: u64,
    /// Size of the allocation, in bytes.
    pub len: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, entry, line, opcode, block, blocks, thread, threads, address, near } =
            self;
        write!(f, "{kind:?} in {entry}, line {line} ({opcode}), block {block} of {blocks}, ")?;
        write!(f, "thread {thread} of {threads}, address {address:#x}")?;
        match near {
            Some(Near { byte, len }) => write!(f, ", byte {byte} of an allocation of {len}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

/// A fault of a lane of the running warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneFault {
    pub(super) kind: FaultKind,
    pub(super) lane: usize,
    /// Address of the access, or 0 if the instruction does not access memory.
    pub(super) address: u64,
}

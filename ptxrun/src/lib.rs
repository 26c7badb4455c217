//! An interpreter of NVIDIA PTX, which runs GPU kernels on a machine without a GPU.
//!
//! [`parse()`] turns the text of a PTX module into instructions. A [`Launch`] executes an entry point of the module in
//! warps of 32 threads. A [`Space`] is the memory of the device, and checks every access. Built as `libcuda.so`, the
//! crate also exports the functions of the CUDA driver that the crate cudarc calls, so that programs run unchanged.
//!
//! The interpreter rejects everything that it does not implement. It never guesses.

mod driver;
mod exec;
mod isa;
mod memory;
mod parse;
mod random;
mod stats;

pub use exec::{Fault, FaultKind, Launch, Options, Order, Shape};
pub use isa::{Entry, Module};
pub use memory::{Checks, OutOfBounds, Snapshot, Space};
pub use parse::{Cause, ParseError, parse};

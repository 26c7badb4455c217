//! GPU kernels of srlg: every body is a few lines over srlg-core, which has all of the maths.
//!
//! A kernel is an ordinary function that many threads call at once with the same arguments but
//! for its [`Grid`], which says which of them it is. So the host can run it too, and tests do.
//! On `nvptx64-nvidia-cuda` the entry points of `entry.rs` take [`args`], make slices of their
//! pointers, and call the bodies; elsewhere there are none.
//!
//! Invariant: whatever several threads may write is an atomic, all accesses are relaxed, and
//! all that a kernel makes of them (minima, sums, lists in any order) is the same for every
//! order of the threads. Kernels follow each other; none waits for another thread.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx))]

pub mod args;
pub mod change;
#[cfg(target_arch = "nvptx64")]
mod entry;
mod grid;
mod list;
pub mod regain;
pub mod scan;
pub mod survey;
pub mod tally;

pub use grid::Grid;
pub use list::{Entry, List, complete, filled};

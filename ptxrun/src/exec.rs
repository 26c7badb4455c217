//! Execution of launches.
//!
//! A [`Launch`] decides which threads run next. A grid executes their instructions, a warp has their registers, and a
//! view gives them access to memory.

mod access;
mod arithmetic;
mod fault;
mod grid;
mod lanes;
mod launch;
mod warp;
mod word;

pub use fault::{Fault, FaultKind};
pub use grid::Shape;
pub use launch::{Launch, Options, Order};

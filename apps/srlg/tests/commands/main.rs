//! `srlg detect` and `srlg contacts` as a user runs them.

mod contacts;
mod detect;
#[path = "../program/mod.rs"]
mod program;

use program::{srlg, steady};

#![doc = include_str!("../README.md")]

pub use srlg_host::*;

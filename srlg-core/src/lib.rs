//! Estimator maths of srlg.
#![no_std]
#![forbid(unsafe_code)]

mod pair;

pub use pair::{ADDRESS_BITS, Address, IpPair};

//! A test suite for every device. A detector on the device must equal, bit for bit, a detector on the CPU that ingests
//! one pair at a time from one thread. Its reports must be close to the exact answer.
//!
//! Tests are functions of a device, and run as `NAME::cpu` and `NAME::cuda`. On the CPU, the two detectors also ingest
//! in different ways. Otherwise they would be identical, and no test could fail. Without a GPU, `NAME::cuda` prints
//! `skipped`, unless
//! `SRLG_REQUIRE_CUDA=1` is set.

#[macro_use]
mod device;
mod feed;
mod traffic;

mod anything;
mod families;
mod ingest;
mod merging;
mod overload;
mod recorded;
mod refusals;
#[cfg(feature = "cuda")]
mod resident;
mod several;
mod sizes;
mod truth;
mod windows;

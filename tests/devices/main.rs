//! One test suite for every device. A detector on the device has the same bits as one on the CPU that ingests one pair
//! at a time from one thread. Its reports are near the exact answer.
//!
//! Tests are functions of a device, and run as `NAME::cpu` and `NAME::cuda`. On the CPU, too, the two sides ingest in
//! different ways, so that every test can fail. Without a GPU, `NAME::cuda` prints `skipped`, unless
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

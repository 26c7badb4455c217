//! One suite for every device: a detector on it gives the bits of one on the CPU that one
//! thread feeds one pair at a time, and what it reports is near the exact truth.
//!
//! Shape: tests are functions of a device, and run as `NAME::cpu` and `NAME::cuda`. Invariant:
//! on the CPU, too, the two sides differ in how pairs come, so that every test can fail.
//! Where there is no GPU `NAME::cuda` says `skipped`, unless `SRLG_REQUIRE_CUDA=1` is set.

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

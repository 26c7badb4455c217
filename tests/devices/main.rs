//! A test suite for every device. Detectors on the device must equal, bit for bit, a CPU detector that ingests one pair
//! at a time from one thread. The reports must be close to the exact answer.
//!
//! Each test is a function of a device, and runs as `NAME::cpu` and `NAME::cuda`. On the CPU, the tested detector and
//! the reference ingest in different ways, because no test could fail if both ingested in the same way. If there is no
//! GPU, `NAME::cuda` fails if `SRLG_REQUIRE_CUDA=1` is set, and prints `skipped` otherwise.

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

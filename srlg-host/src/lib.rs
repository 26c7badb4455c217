//! Detector.
pub use srlg_core::IpPair;

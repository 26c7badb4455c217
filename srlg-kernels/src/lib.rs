//! GPU kernels.
#![no_std]

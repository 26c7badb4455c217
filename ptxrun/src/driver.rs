//! The driver `libcuda.so` with one device, on top of the interpreter.
//!
//! A device performs work at once or later, as the settings require. The C functions translate its results into the
//! status codes of CUDA.

mod api;
mod device;
mod failure;
mod queues;
mod settings;

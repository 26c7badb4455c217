//! The GPU backend: recorders in the memory of a device.

pub(crate) mod device;
pub(crate) mod kernel;

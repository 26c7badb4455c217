//! Creation of a backend for a device.

use srlg_core::Params;

use crate::backend::Backend;
use crate::cpu;
use crate::device::Device;
use crate::error::Error;
#[cfg(feature = "cuda")]
use crate::gpu::{self, cuda::Cuda};

pub(crate) fn backend(device: Device, params: Params) -> Result<Box<dyn Backend>, Error> {
    backend_or(device, params, cpu::backend)
}

/// Creates a backend on `device`. If the device is the CPU, calls `on_cpu`.
pub(crate) fn backend_or(
    device: Device,
    params: Params,
    on_cpu: impl FnOnce(Params) -> Result<Box<dyn Backend>, Error>,
) -> Result<Box<dyn Backend>, Error> {
    match device {
        Device::Cpu => on_cpu(params),
        Device::Cuda(ordinal) => on_gpu(ordinal, params),
        Device::Auto => match on_gpu(0, params) {
            Err(error) if is_absence(&error) => on_cpu(params),
            backend => backend,
        },
    }
}

/// Returns whether `error` means that the machine has no usable GPU, or that CUDA is not built in. After any other
/// error, a detector on [`Device::Auto`] is not created, so that it does not silently run on the CPU.
fn is_absence(error: &Error) -> bool {
    use Error::{ComputeCapability, NoDriver, NoSuchDevice, UnfitDriver, WithoutCuda};
    matches!(
        error,
        NoDriver
            | NoSuchDevice { .. }
            | ComputeCapability { .. }
            | UnfitDriver { .. }
            | WithoutCuda
    )
}

#[cfg(feature = "cuda")]
fn on_gpu(ordinal: u32, params: Params) -> Result<Box<dyn Backend>, Error> {
    gpu::backend(Cuda::open(ordinal)?, Device::Cuda(ordinal), params)
}

#[cfg(not(feature = "cuda"))]
fn on_gpu(_ordinal: u32, _params: Params) -> Result<Box<dyn Backend>, Error> {
    Err(Error::WithoutCuda)
}

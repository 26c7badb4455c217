//! [`Cuda`]: an NVIDIA GPU, used through its driver, which is loaded at run time.
//!
//! When the GPU is opened, the driver compiles the PTX of srlg-kernels for it. All resources are in the device's
//! primary context, which the CUDA runtime, cudarc and cust also use. Each call makes this context current on the
//! calling thread.

mod copies;
mod driver;
#[cfg_attr(
    not(any(feature = "cudarc", feature = "cust")),
    allow(unreachable_pub, reason = "public if the feature `cudarc` or `cust` is enabled")
)]
pub(crate) mod pairs;
#[cfg(test)]
mod tests;

use std::ffi::CStr;
use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError};
use srlg_kernels::Kernel;

use super::device::{Gpu, On, Part, Scan};
use crate::error::Error;
use driver::{Code, CudaHostMemory, CudaMemory};
use pairs::{DevicePairs, PairsView};

const PTX: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../../../ptx/srlg.ptx"), "\0").as_bytes(),
) {
    Ok(ptx) => ptx,
    Err(_) => panic!("the PTX contains a NUL"),
};

/// Minimum compute capability that the PTX supports.
const CAPABILITY: (i32, i32) = (7, 0);

/// CUDA driver functions that must exist, because cudarc panics when it calls a missing function.
///
/// The last function is never called. Its presence shows that the driver supports CUDA 11.2, which introduced an
/// attribute that cudarc reads from every device.
#[rustfmt::skip]
const FUNCTIONS: &[&str] = &[
    "cuGetErrorName", "cuGetErrorString", "cuInit", "cuDeviceGet", "cuDeviceGetAttribute",
    "cuDeviceGetCount", "cuDeviceGetName", "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxSynchronize",
    "cuModuleLoadData", "cuModuleGetFunction", "cuModuleUnload", "cuLaunchKernel",
    "cuMemAlloc_v2", "cuMemFree_v2", "cuMemGetInfo_v2", "cuMemHostAlloc", "cuMemFreeHost",
    "cuMemsetD8Async", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuPointerGetAttribute",
    "cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamWaitEvent",
    "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventDestroy_v2",
    "cuMemAllocAsync",
];

pub(crate) struct Cuda {
    context: Arc<CudaContext>,
    code: Code,
    processors: u32,
}

impl Cuda {
    /// Opens the GPU to which CUDA assigns the number `ordinal`, and loads the kernels.
    pub(crate) fn open(ordinal: u32) -> Result<Self, Error> {
        let count = count()?;
        if ordinal >= count {
            return Err(Error::NoSuchDevice { ordinal, count });
        }
        let context = driver::context(ordinal as usize).doing("open the device")?;
        let (major, minor) = context.compute_capability().doing("read the compute capability")?;
        if (major, minor) < CAPABILITY {
            let name = context.name().doing("read the name of the device")?;
            return Err(Error::ComputeCapability { name, major, minor });
        }
        let processors = context
            .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .doing("count the multiprocessors of the device")?;
        let code = Code::load(&context, PTX).map_err(refusal)?;
        Ok(Self { context, code, processors: processors as u32 })
    }
}

fn count() -> Result<u32, Error> {
    if let Some(name) = driver::missing(FUNCTIONS)? {
        let text = "the driver has no such function".into();
        return Err(Error::UnfitDriver { name: name.into(), text });
    }
    match CudaContext::device_count() {
        Err(error) if error.0 == CUresult::CUDA_ERROR_NO_DEVICE => Ok(0),
        // The CUDA toolkit has a stub of the driver for linking.
        Err(error) if error.0 == CUresult::CUDA_ERROR_STUB_LIBRARY => Err(Error::NoDriver),
        count => Ok(count.doing("initialise the driver")?.try_into().unwrap_or(0)),
    }
}

impl Gpu for Cuda {
    type Memory = CudaMemory;
    type HostMemory = CudaHostMemory;
    type Queue = Arc<CudaStream>;
    type Mark = CudaEvent;

    fn processors(&self) -> u32 {
        self.processors
    }

    fn allocate(&self, bytes: usize) -> Result<CudaMemory, Error> {
        CudaMemory::allocate(&self.context, bytes).or_else(|error| {
            if !is_full(error) {
                return Err(error).doing("allocate memory on the device");
            }
            let free = self.context.mem_get_info().map_or(0, |(free, _)| free);
            Err(Error::DeviceMemory { bytes, free })
        })
    }

    fn pin(&self, bytes: usize) -> Result<CudaHostMemory, Error> {
        CudaHostMemory::allocate(&self.context, bytes).or_else(|error| match is_full(error) {
            true => Err(Error::PinnedMemory { bytes }),
            false => Err(error).doing("allocate page-locked memory"),
        })
    }

    fn queue(&self) -> Result<Arc<CudaStream>, Error> {
        self.context.new_stream().doing("create a stream")
    }

    fn mark(&self) -> Result<CudaEvent, Error> {
        self.context.new_event(None).doing("create an event")
    }

    fn fill(
        &self,
        queue: &Arc<CudaStream>,
        part: Part<'_, CudaMemory>,
        byte: u8,
    ) -> Result<(), Error> {
        CudaMemory::fill(part, queue, byte).doing("fill memory on the device")
    }

    fn upload(
        &self,
        queue: &Arc<CudaStream>,
        from: &CudaHostMemory,
        start: usize,
        to: Part<'_, CudaMemory>,
    ) -> Result<(), Error> {
        from.upload(queue, start, to)
    }

    fn download(
        &self,
        queue: &Arc<CudaStream>,
        from: Part<'_, CudaMemory>,
        to: &CudaHostMemory,
        start: usize,
    ) -> Result<(), Error> {
        to.download(queue, from, start)
    }

    fn launch<K: Kernel<Place = On<Self>> + 'static>(
        &self,
        queue: &Arc<CudaStream>,
        blocks: u32,
        kernel: K,
    ) -> Result<(), Error> {
        self.code.launch(queue, blocks, kernel).doing(K::NAME)
    }

    fn lend(
        queue: &Arc<CudaStream>,
        pairs: &dyn DevicePairs,
        scan: Scan<'_, CudaMemory>,
    ) -> Result<(), Error> {
        match pairs.view() {
            PairsView::Cudarc(view) => driver::lend(&view, queue, scan),
            PairsView::Cudarc6(view) => driver::lend(&view, queue, scan),
            #[cfg(feature = "cust")]
            PairsView::Cust(slice) => driver::lend_cust(slice, queue, scan),
            #[cfg(feature = "cust")]
            PairsView::Cust6(slice) => driver::lend_cust(slice, queue, scan),
        }
    }

    fn record(&self, queue: &Arc<CudaStream>, mark: &CudaEvent) -> Result<(), Error> {
        mark.record(queue).doing("record an event")
    }

    fn wait(&self, queue: &Arc<CudaStream>, mark: &CudaEvent) -> Result<(), Error> {
        queue.wait(mark).doing("wait for an event")
    }

    fn finish(&self, mark: &CudaEvent) -> Result<(), Error> {
        mark.synchronize().doing("complete its work")
    }
}

trait DriverResult<T> {
    /// Converts a driver error to an [`Error`] that names the failed operation `doing`.
    fn doing(self, doing: &'static str) -> Result<T, Error>;
}

impl<T> DriverResult<T> for Result<T, DriverError> {
    fn doing(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(|error| {
            let (name, text) = words(error);
            Error::Driver { doing, name, text }
        })
    }
}

/// Converts an error that occurred while the driver loaded the kernels. The driver may be too old or lack a PTX
/// compiler.
fn refusal(error: DriverError) -> Error {
    let (name, text) = words(error);
    match error.0 {
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => Error::UnfitDriver { name, text },
        CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        | CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED => Error::NoPtxCompiler { name, text },
        _ => Error::Driver { doing: "load the kernels", name, text },
    }
}

fn is_full(error: DriverError) -> bool {
    error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY
}

/// Returns the name and the description that the driver has for `error`.
fn words(error: DriverError) -> (String, String) {
    let owned = |text: &CStr| text.to_string_lossy().into_owned();
    // A driver that failed to start may not have descriptions of errors either.
    let name = error.error_name().map_or_else(|_| format!("error {}", error.0 as u32), owned);
    (name, error.error_string().map_or_else(|_| "the driver gives no reason".into(), owned))
}

//! The C functions of `libcuda.so`, including all unsafe code of this crate.
//!
//! These are the functions that the crate cudarc calls. Their names and arguments are those of the CUDA driver API. If
//! earlier work has failed, most functions return its failure.
//!
//! Arguments that C programs pass as pointers have the types [`Out`], [`Text`], [`Input`], [`Output`] and
//! [`Parameters`], which answer for the use of the pointer.
#![allow(unsafe_code, reason = "functions of the driver exchange raw addresses with C programs")]
#![allow(non_snake_case, reason = "these are the names in the CUDA driver API")]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::device::{Device, MEMORY, log};
use super::failure::{Failure, SUCCESS, Status, status, words};
use super::queues::{Address, Handle};
use super::settings::{InvalidSetting, Settings};
use crate::exec::Shape;
use crate::stats;

/// Version of CUDA that the driver reports: 12.0.
const VERSION: c_int = 12_000;

/// Handle of the only context.
const CONTEXT: usize = 0x1000;

/// Flag of streams that do not wait for the default stream.
const NON_BLOCKING: c_uint = 1;

/// Name of the device, by which tests recognise the interpreter.
const NAME: &CStr = c"ptxrun";

thread_local! {
    /// The context of the calling thread, or 0.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The driver of the process.
struct Driver {
    settings: Settings,
    device: Mutex<Device>,
}

static DRIVER: OnceLock<Result<Driver, InvalidSetting>> = OnceLock::new();

/// Returns the driver. The first call reads the settings, and logs a setting that is invalid.
fn driver() -> Result<&'static Driver, Failure> {
    let driver = DRIVER.get_or_init(|| {
        let settings = Settings::read(|name| std::env::var(name).ok());
        let settings = settings.inspect_err(|invalid| log(invalid))?;
        let device = Mutex::new(Device::new(settings.clone()));
        Ok(Driver { settings, device })
    });
    driver.as_ref().map_err(|_| Failure::NotInitialized)
}

impl Driver {
    fn device(&self) -> MutexGuard<'_, Device> {
        // A panic in a C function aborts the process, so the device is never left half changed.
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `work` with the device, unless earlier work has failed or the thread has no context.
fn with_device(work: impl FnOnce(&mut Device) -> Result<(), Failure>) -> Status {
    let call = || {
        let mut device = driver()?.device();
        device.check()?;
        if CURRENT.get() != CONTEXT {
            return Err(Failure::InvalidContext);
        }
        work(&mut device)
    };
    status(call())
}

/// Place for a result.
#[repr(transparent)]
struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Sets the result, or fails if the pointer is null.
    fn set(self, value: T) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err(Failure::InvalidValue);
        }
        // SAFETY: by the contract of each function, a pointer for a result is valid for a write of its type.
        unsafe { self.0.write(value) };
        Ok(())
    }
}

/// Text that ends with NUL.
#[repr(transparent)]
struct Text<'c>(*const c_char, PhantomData<&'c CStr>);

impl<'c> Text<'c> {
    /// Returns the text, or fails if the pointer is null.
    fn get(self) -> Result<&'c CStr, Failure> {
        if self.0.is_null() {
            return Err(Failure::InvalidValue);
        }
        // SAFETY: by the contract of each function, a pointer to text is valid until the call returns, and the text
        // ends with NUL.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

/// Host memory that the driver reads.
#[repr(transparent)]
struct Input<'c>(*const u8, PhantomData<&'c [u8]>);

impl<'c> Input<'c> {
    fn address(&self) -> usize {
        self.0 as usize
    }

    /// Returns the memory, or fails if the pointer is null.
    fn bytes(self, bytes: usize) -> Result<&'c [u8], Failure> {
        match (bytes, self.0.is_null()) {
            (0, _) => Ok(&[]),
            (_, true) => Err(Failure::InvalidValue),
            // SAFETY: by the contract of copies, the source has this number of bytes, and the program does not change
            // them until the call returns.
            _ => Ok(unsafe { from_raw_parts(self.0, bytes) }),
        }
    }
}

/// Host memory that the driver writes.
#[repr(transparent)]
struct Output<'c>(*mut u8, PhantomData<&'c mut [u8]>);

impl<'c> Output<'c> {
    fn address(&self) -> usize {
        self.0 as usize
    }

    /// Returns the memory, or fails if the pointer is null.
    fn bytes(self, bytes: usize) -> Result<&'c mut [u8], Failure> {
        match (bytes, self.0.is_null()) {
            (0, _) => Ok(&mut []),
            (_, true) => Err(Failure::InvalidValue),
            // SAFETY: by the contract of the functions, the destination has this number of bytes, and the program does
            // not use them until the call returns. Programs receive initialised bytes, and never rely on others.
            _ => Ok(unsafe { from_raw_parts_mut(self.0, bytes) }),
        }
    }
}

/// Pointers to the parameters of a kernel.
#[repr(transparent)]
struct Parameters<'c>(*const *const u8, PhantomData<&'c [u8]>);

impl<'c> Parameters<'c> {
    /// Returns the first parameter, which has `bytes` bytes, or fails if a pointer is null.
    fn first(self, bytes: usize) -> Result<&'c [u8], Failure> {
        if self.0.is_null() {
            return Err(Failure::InvalidValue);
        }
        // SAFETY: by the contract of launches, the array has a pointer for each parameter of the kernel. The parser
        // accepts only kernels with exactly one parameter.
        let first = unsafe { self.0.read() };
        Input(first, PhantomData).bytes(bytes)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> Status {
    status(driver().map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn cuDriverGetVersion(version: Out<c_int>) -> Status {
    status(version.set(VERSION))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetCount(count: Out<c_int>) -> Status {
    status(count.set(1))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) -> Status {
    status(if ordinal == 0 { device.set(0) } else { Err(Failure::InvalidDevice) })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetName(name: Output<'_>, len: c_int, _device: c_int) -> Status {
    let text = NAME.to_bytes_with_nul();
    if usize::try_from(len).is_ok_and(|len| len >= text.len()) {
        return status(name.bytes(text.len()).map(|name| name.copy_from_slice(text)));
    }
    Failure::InvalidValue as Status
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_uint, _device: c_int) -> Status {
    let call = || {
        let answer = match attribute {
            // The numbers are CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, WARP_SIZE, MULTIPROCESSOR_COUNT,
            // COMPUTE_CAPABILITY_MAJOR and _MINOR, and MEMORY_POOLS_SUPPORTED.
            1 => 1024,
            10 => 32,
            16 => driver()?.settings.processors,
            75 => 7,
            76 => 0,
            115 => 1,
            _ => {
                log(format_args!("attribute {attribute} of the device is not supported"));
                return Err(Failure::NotSupported);
            }
        };
        value.set(answer)
    };
    status(call())
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRetain(context: Out<usize>, device: c_int) -> Status {
    status(if device == 0 { context.set(CONTEXT) } else { Err(Failure::InvalidDevice) })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetCurrent(context: Out<usize>) -> Status {
    status(context.set(CURRENT.get()))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: usize) -> Status {
    CURRENT.set(context);
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> Status {
    with_device(Device::synchronize)
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadData(module: Out<Handle>, image: Text<'_>) -> Status {
    with_device(|device| {
        let text = image.get()?.to_str().map_err(|_| Failure::InvalidPtx)?;
        module.set(device.load(text)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleGetFunction(function: Out<Handle>, module: Handle, name: Text<'_>) -> Status {
    with_device(|device| {
        let name = name.get()?.to_str().map_err(|_| Failure::NotFound)?;
        function.set(device.function(module, name)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: Handle) -> Status {
    status(driver().and_then(|driver| driver.device().unload(module)))
}

#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernel(
    function: Handle,
    blocks: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    shared: c_uint,
    stream: Handle,
    parameters: Parameters<'_>,
    extra: *mut *mut c_void,
) -> Status {
    let mut launch = None;
    let started = with_device(|device| {
        let is_flat = [blocks_y, blocks_z, threads_y, threads_z] == [1; 4];
        if !is_flat || shared != 0 || !extra.is_null() {
            return Err(Failure::NotSupported);
        }
        let shape = Shape::new(blocks, threads).ok_or_else(|| {
            log(format_args!("cannot launch {blocks} blocks of {threads} threads"));
            Failure::InvalidValue
        })?;
        let entry = device.entry(function)?;
        let params = parameters.first(entry.param_bytes)?.to_vec();
        launch = device.launch(entry, params, shape, stream)?;
        Ok(())
    });
    if let (Some(mut launch), Ok(driver)) = (launch, driver()) {
        // The device is not locked here, so launches of several threads run at the same time.
        let outcome = launch.run();
        driver.device().finish(&launch, outcome);
    }
    started
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAlloc_v2(address: Out<Address>, bytes: usize) -> Status {
    with_device(|device| address.set(device.allocate(bytes)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAllocAsync(address: Out<Address>, bytes: usize, _stream: Handle) -> Status {
    cuMemAlloc_v2(address, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: Address) -> Status {
    with_device(|device| device.free(address))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeAsync(address: Address, stream: Handle) -> Status {
    with_device(|device| device.free_in(address, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> Status {
    with_device(|device| {
        free.set(device.free_bytes())?;
        total.set(MEMORY)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostAlloc(host: Out<*mut c_void>, bytes: usize, _flags: c_uint) -> Status {
    with_device(|device| host.set(device.allocate_pinned(bytes)?.host_address()))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(host: *mut c_void) -> Status {
    with_device(|device| device.free_pinned(host as usize))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(to: Address, value: u8, bytes: usize, stream: Handle) -> Status {
    with_device(|device| device.fill(to, bytes, value, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoDAsync_v2(
    to: Address,
    from: Input<'_>,
    bytes: usize,
    stream: Handle,
) -> Status {
    with_device(|device| match device.pinned(from.address(), bytes) {
        Some(from) => device.upload_pinned(from, to, bytes, stream),
        None => device.upload(from.bytes(bytes)?, to, stream),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoHAsync_v2(
    to: Output<'_>,
    from: Address,
    bytes: usize,
    stream: Handle,
) -> Status {
    with_device(|device| match device.pinned(to.address(), bytes) {
        Some(to) => device.download_pinned(from, to, bytes, stream),
        None => device.download(from, to.bytes(bytes)?, stream),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuPointerGetAttribute(_: *mut c_void, _: c_uint, _: Address) -> Status {
    Failure::NotSupported as Status
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreate(stream: Out<Handle>, flags: c_uint) -> Status {
    with_device(|device| {
        if flags != NON_BLOCKING {
            log("streams that wait for the default stream are not supported");
            return Err(Failure::NotSupported);
        }
        stream.set(device.create_stream())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: Handle) -> Status {
    with_device(|device| device.destroy_stream(stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: Handle) -> Status {
    with_device(|device| device.synchronize_stream(stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamQuery(stream: Handle) -> Status {
    with_device(|device| device.query_stream(stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) -> Status {
    with_device(|device| device.wait_event(stream, event))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(event: Out<Handle>, _flags: c_uint) -> Status {
    with_device(|device| event.set(device.create_event()))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> Status {
    with_device(|device| device.record_event(event, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: Handle) -> Status {
    with_device(|device| device.synchronize_event(event))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: Handle) -> Status {
    with_device(|device| device.query_event(event))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: Handle) -> Status {
    with_device(|device| device.destroy_event(event))
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(code: Status, text: Out<*const c_char>) -> Status {
    status(text.set(words(code).name.as_ptr()))
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorString(code: Status, text: Out<*const c_char>) -> Status {
    status(text.set(words(code).description.as_ptr()))
}

// SAFETY: the loader calls each function in this section when the process ends. The function has the type that the
// loader expects.
#[unsafe(link_section = ".fini_array")]
#[used]
static AT_EXIT: extern "C" fn() = write_report;

/// Writes the report if a program used the driver and asked for it.
extern "C" fn write_report() {
    let Some(Ok(Driver { settings, .. })) = DRIVER.get() else { return };
    let Some(path) = &settings.report else { return };
    if let Err(error) = std::fs::write(path, stats::report(settings.detail)) {
        log(format_args!("cannot write {}: {error}", path.display()));
    }
}

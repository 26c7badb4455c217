//! Calls to the CUDA driver, including all unsafe code of this crate.
//!
//! [`Code`], [`CudaMemory`] and [`CudaHostMemory`] own resources in the primary context of one device, and keep this
//! context open. Work in a queue can still run after the call that started it has returned. Each of these types
//! therefore waits for the work that uses a resource before it frees the resource. If waiting fails, the device is
//! lost, and resources that it may still use are not freed.
//!
//! Errors during a drop stay in the context until the next call that uses the context reports them.
#![allow(unsafe_code, reason = "functions of the driver use raw addresses and handles")]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::Arc;

#[cfg(feature = "cust")]
use cudarc::driver::sys::CUpointer_attribute;
use cudarc::driver::{CudaContext, CudaStream, CudaView, DevicePtr, DeviceSlice, DriverError};
use cudarc::driver::{result, sys};
use srlg_kernels::scan::{AlignedPair, AlignedPair6};
use srlg_kernels::{Kernel, THREADS, for_each_entry_point};

use super::copies::{Copies, Direction, when_done};
use super::{Cuda, DriverResult, words};
use crate::error::Error;
use crate::gpu::device::{self, Memory as _, On, Part};

/// Returns the first of `functions` that the driver lacks.
pub(super) fn missing<'a>(functions: &[&'a str]) -> Result<Option<&'a str>, Error> {
    // SAFETY: this loads libcuda, whose initialisers run in every program that uses the driver.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver);
    }
    // SAFETY: the type is not that of a function, and no function is called through it.
    let has = |name: &str| unsafe { sys::culib().get::<*const ()>(name.as_bytes()).is_ok() };
    Ok(functions.iter().copied().find(|name| !has(name)))
}

pub(super) fn context(ordinal: usize) -> Result<Arc<CudaContext>, DriverError> {
    let context = CudaContext::new(ordinal)?;
    // SAFETY: this handle of the context has no `CudaSlice`s, and users have their own handles.
    unsafe { context.disable_event_tracking() };
    Ok(context)
}

pub(super) struct Code {
    context: Arc<CudaContext>,
    module: sys::CUmodule,
    /// Kernel functions, keyed by name and width.
    functions: HashMap<[&'static str; 2], sys::CUfunction>,
}

// SAFETY: these are handles of a driver that any thread may call.
unsafe impl Send for Code {}
// SAFETY: these are handles of a driver that any thread may call.
unsafe impl Sync for Code {}

impl Code {
    pub(super) fn load(context: &Arc<CudaContext>, ptx: &CStr) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        // SAFETY: the text ends with NUL.
        let module = unsafe { result::module::load_data(ptx.as_ptr().cast()) }?;
        let mut code = Self { context: context.clone(), module, functions: HashMap::new() };
        let mut names = Vec::new();
        for_each_entry_point::<On<Cuda>>(|entry| names.push([entry.name, entry.width]));
        for name in names {
            let entry = CString::new(name.concat()).expect("names do not contain NUL");
            // SAFETY: the module stays loaded until `code` is dropped.
            let function = unsafe { result::module::get_function(module, entry) }?;
            code.functions.insert(name, function);
        }
        Ok(code)
    }

    pub(super) fn launch<K: Kernel<Place = On<Cuda>>>(
        &self,
        queue: &CudaStream,
        blocks: u32,
        mut kernel: K,
    ) -> Result<(), DriverError> {
        kernel.check();
        self.context.bind_to_thread()?;
        let function = self.functions[&[K::NAME, K::WIDTH]];
        let (grid, block) = ((blocks, 1, 1), (THREADS, 1, 1));
        let (stream, parameters) = (queue.cu_stream(), &mut [(&raw mut kernel).cast()]);
        // SAFETY: the function takes one parameter, a `K` with an address and a 32-bit length for each buffer. The
        // driver copies it before it returns. This fulfils the contract of a launch of srlg-kernels:
        //
        // - Each buffer is in memory of at least its length, and no drop frees that memory before the device is idle.
        // - Each buffer starts at a multiple of the size of its elements within memory that the driver aligns to 256
        //   bytes. Lent pairs are the exception, and their address is checked.
        // - Params come only from `Config::validate`.
        // - Words that are not atomic are written only by work of the same queue that runs before or after the kernel.
        //   This includes ageing, because scans in other queues have been joined and wait for it.
        unsafe { result::launch_kernel(function, grid, block, 0, stream, parameters) }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the module is loaded once and unloaded once, and none of its kernels is running.
        let unload = || unsafe { result::module::unload(self.module) };
        when_done(&self.context, || self.context.synchronize(), unload);
    }
}

pub(crate) struct CudaMemory {
    address: sys::CUdeviceptr,
    bytes: usize,
    /// The context in which the memory was allocated, or `None` if the memory is lent.
    owner: Option<Arc<CudaContext>>,
}

impl CudaMemory {
    pub(super) fn allocate(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        // SAFETY: all readers of the memory accept any bytes.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }?;
        Ok(Self { address, bytes, owner: Some(context.clone()) })
    }

    pub(super) fn fill(
        part: Part<'_, Self>,
        stream: &CudaStream,
        to: u8,
    ) -> Result<(), DriverError> {
        stream.context().bind_to_thread()?;
        // SAFETY: the part is within memory that no drop frees before the device is idle, and all its readers accept
        // any bytes.
        unsafe { result::memset_d8_async(part.address(), to, part.bytes, stream.cu_stream()) }
    }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        if let Some(context) = &self.owner {
            // SAFETY: the memory is allocated once and freed once, and no work uses it.
            let free = || unsafe { result::free_sync(self.address) };
            when_done(context, || context.synchronize(), free);
        }
    }
}

impl device::Memory for CudaMemory {
    type Address = sys::CUdeviceptr;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn address(&self, start: usize) -> sys::CUdeviceptr {
        self.address + start as u64
    }
}

impl Part<'_, CudaMemory> {
    pub(super) fn address(self) -> sys::CUdeviceptr {
        let CudaMemory { address, bytes, .. } = self.memory;
        assert!(
            self.start <= *bytes && self.bytes <= bytes - self.start,
            "the part is outside its memory"
        );
        address + self.start as u64
    }
}

/// Page-locked host memory.
pub(crate) struct CudaHostMemory {
    context: Arc<CudaContext>,
    address: *mut u8,
    bytes: usize,
    copies: Copies,
}

// SAFETY: these are plain bytes, which the driver frees in any thread.
unsafe impl Send for CudaHostMemory {}
// SAFETY: `copies` separates copies and reads, and changes need `&mut`.
unsafe impl Sync for CudaHostMemory {}

impl CudaHostMemory {
    pub(super) fn allocate(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        // The memory is portable, because detectors on several devices may share a process. It is not write-combined,
        // because the host reads results of the device from it.
        // SAFETY: all bytes are set below.
        let address = unsafe { result::malloc_host(bytes.max(1), sys::CU_MEMHOSTALLOC_PORTABLE) }?;
        let address: *mut u8 = address.cast();
        // SAFETY: at least `bytes` bytes were allocated, and no other code has their address.
        unsafe { address.write_bytes(0, bytes) };
        Ok(Self { context: context.clone(), address, bytes, copies: Copies::none() })
    }

    /// Returns the host address of byte `start`. Panics if the memory ends before byte `start + bytes`.
    fn at(&self, start: usize, bytes: usize) -> *mut c_void {
        assert!(
            start <= self.bytes && bytes <= self.bytes - start,
            "the part is outside its memory"
        );
        self.address.wrapping_add(start).cast()
    }

    /// Starts filling `to` with the bytes of this memory from byte `start` on.
    pub(super) fn upload(
        &self,
        stream: &CudaStream,
        start: usize,
        to: Part<'_, CudaMemory>,
    ) -> Result<(), Error> {
        let (host, device, bytes) = (self.at(start, to.bytes), to.address(), to.bytes);
        // SAFETY: both ranges have `bytes` bytes, and no drop frees them before the copy is complete. `copies` prevents
        // changes of the host's bytes until then.
        let copy = || unsafe { sys::cuMemcpyHtoDAsync_v2(device, host, bytes, stream.cu_stream()) };
        self.copies.start(stream, Direction::Upload, copy)
    }

    /// Starts copying `from` to this memory, beginning at byte `start`.
    pub(super) fn download(
        &self,
        stream: &CudaStream,
        from: Part<'_, CudaMemory>,
        start: usize,
    ) -> Result<(), Error> {
        let (host, device, bytes) = (self.at(start, from.bytes), from.address(), from.bytes);
        // SAFETY: both ranges have `bytes` bytes, and no drop frees them before the copy is complete. `copies` prevents
        // changes and reads of the host's bytes until then.
        let copy = || unsafe { sys::cuMemcpyDtoHAsync_v2(host, device, bytes, stream.cu_stream()) };
        self.copies.start(stream, Direction::Download, copy)
    }
}

impl device::HostMemory for CudaHostMemory {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn read<T>(&self, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        // SAFETY: all `bytes` bytes are set. No copy is in progress, and changes need `&mut self`.
        self.copies.none_while(|| look(unsafe { from_raw_parts(self.address, self.bytes) }))
    }

    fn write(&mut self) -> Result<&mut [u8], Error> {
        self.copies.finish()?;
        // SAFETY: all `bytes` bytes are set. Copies and reads need `self`, which is borrowed exclusively while the
        // bytes are lent.
        Ok(unsafe { from_raw_parts_mut(self.address, self.bytes) })
    }
}

impl Drop for CudaHostMemory {
    fn drop(&mut self) {
        // SAFETY: the memory is allocated once and freed once, and no copy is in progress.
        self.copies.end(&self.context, || unsafe { result::free_host(self.address.cast()) });
    }
}

/// Operation named in errors that occur while waiting for lent pairs.
const WAIT: &str = "wait for pairs on the device";

/// Returns an error if `address` is not aligned for pairs of `words` 32-bit words.
pub(super) fn check_alignment(address: sys::CUdeviceptr, words: usize) -> Result<(), Error> {
    let alignment = match words * size_of::<u32>() {
        bytes if bytes == size_of::<AlignedPair>() => align_of::<AlignedPair>(),
        _ => align_of::<AlignedPair6>(),
    };
    match address.is_multiple_of(alignment as u64) {
        true => Ok(()),
        false => Err(Error::UnalignedPairs { address, alignment }),
    }
}

/// Lends pairs to `scan`. Work that `scan` starts in `queue` runs after all earlier work in the pairs' stream and
/// before all later work in that stream.
pub(super) fn lend<T, const WORDS: usize>(
    pairs: &CudaView<'_, [u32; WORDS]>,
    queue: &CudaStream,
    scan: impl FnOnce(Part<'_, CudaMemory>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (stream, theirs) = (pairs.stream(), pairs.stream().context());
    if theirs != queue.context() {
        return Err(other_device(queue, theirs.ordinal()));
    }
    // An earlier error in that context is not an error of the detector.
    theirs.check_err().map_err(lender)?;
    // A stream's handle of the context determines whether cudarc records uses of memory, and the detector's handle does
    // not record them. The queue is therefore wrapped as a stream of the pairs' handle.
    // SAFETY: both handles have the same context, `queue` outlives this, and the order of work is described above.
    let queue = unsafe { theirs.wrap_borrowed_stream(queue.cu_stream()) };
    queue.join(stream).doing(WAIT)?;
    let (address, reading) = pairs.device_ptr(&queue);
    theirs.check_err().doing(WAIT)?;
    let bytes = pairs.len() * size_of::<[u32; WORDS]>();
    let memory = CudaMemory { address, bytes, owner: None };
    let scanned = check_alignment(address, WORDS).and_then(|()| scan(memory.all()));
    drop(reading);
    let ordered = stream.join(&queue).and_then(|()| theirs.check_err()).doing(WAIT);
    scanned.and_then(|scanned| ordered.map(|()| scanned))
}

/// Lends pairs that have no stream. Waits for the device before the call to `scan`, and for `queue` after it.
#[cfg(feature = "cust")]
pub(super) fn lend_cust<T, P: cust::memory::DeviceCopy>(
    pairs: &cust::memory::DeviceSlice<P>,
    queue: &CudaStream,
    scan: impl FnOnce(Part<'_, CudaMemory>) -> Result<T, Error>,
) -> Result<T, Error> {
    if pairs.is_empty() {
        return scan(CudaMemory { address: 0, bytes: 0, owner: None }.all());
    }
    queue.context().synchronize().doing(WAIT)?;
    let address = pairs.as_device_ptr().as_raw();
    let (mut context, mut ordinal): (sys::CUcontext, _) = (std::ptr::null_mut(), 0i32);
    let ask = |data, attribute| {
        // SAFETY: the calls below pass `data` of the types of the attributes.
        unsafe { sys::cuPointerGetAttribute(data, attribute, address) }.result().map_err(lender)
    };
    ask((&raw mut context).cast(), CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT)?;
    ask((&raw mut ordinal).cast(), CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)?;
    // Pool memory does not belong to a context.
    let is_ours = context.is_null() || context == queue.context().cu_ctx();
    if !is_ours || ordinal as usize != queue.context().ordinal() {
        return Err(other_device(queue, ordinal as usize));
    }
    check_alignment(address, size_of::<P>() / size_of::<u32>())?;
    let memory = CudaMemory { address, bytes: pairs.len() * size_of::<P>(), owner: None };
    let scanned = scan(memory.all());
    queue.synchronize().doing(WAIT).and(scanned)
}

/// Converts an error that earlier calls left in the context of a user's pairs.
fn lender(error: DriverError) -> Error {
    let (name, text) = words(error);
    Error::PairsContext { name, text }
}

fn other_device(queue: &CudaStream, theirs: usize) -> Error {
    let ours = format!("the primary context of CUDA device {}", queue.context().ordinal());
    Error::OtherDevice { ours, theirs: theirs as u32 }
}

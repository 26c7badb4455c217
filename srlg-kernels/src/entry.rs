//! The entry points, which convert addresses to slices. This module contains all unsafe code of this crate.
//!
//! # Contract of a launch
//! Every buffer in the arguments is device memory that stays allocated while the kernel runs. The buffer is aligned for
//! its elements and contains the stated number of them. The elements may have any bit pattern. `params` come from
//! `Config::validate`. Data that is not atomic is not written while the kernel runs.
//!
//! Concurrent kernels may access the recorders of an array in two ways: each at its own width, or packed in 32-bit
//! words. The memory system performs each of these accesses atomically on aligned 32-bit words, or on aligned 64-bit
//! words if the recorders have 64 bits. The crate srlg-host calls [`Kernel::check`] before every launch.
#![allow(unsafe_code, reason = "a kernel gets its memory as pointers")]

use core::arch::nvptx::{_block_dim_x, _block_idx_x, _grid_dim_x, _thread_idx_x, trap};
use core::slice::from_raw_parts;

use crate::{Carry, Element, Grid, Kernel, Length, Place, Slices, all_entry_points};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: a trap ends the kernel, and the host sees that it failed.
    unsafe { trap() }
}

fn grid() -> Grid {
    // SAFETY: these calls read registers that every thread has.
    let numbers = unsafe { [_block_idx_x(), _grid_dim_x(), _thread_idx_x(), _block_dim_x()] };
    let [block, blocks, thread, threads] = numbers.map(|number| number as u32);
    Grid { block, blocks, thread, threads }
}

/// The [`Place`] whose buffers are pointers to device memory.
struct DevicePointers;

impl Place for DevicePointers {
    type Buffer<T: Element> = Buffer<T>;
}

#[repr(C)]
struct Buffer<T> {
    first: *const T,
    len: u32,
}

// SAFETY: a buffer is only an address. Slices of it are made by `Launch`, from elements that are `Sync`.
unsafe impl<T: Element> Send for Buffer<T> {}
// SAFETY: the reason is the same as for `Send`.
unsafe impl<T: Element> Sync for Buffer<T> {}

impl<T> Length for Buffer<T> {
    fn len(&self) -> usize {
        self.len as usize
    }
}

/// The conversion of device pointers to slices. Only entry points use this conversion.
struct Launch;

impl<'a> Carry<'a, DevicePointers, Slices<'a>> for Launch {
    #[inline(always)]
    fn reads<T: Element>(&mut self, buffer: &'a mut Buffer<T>) -> &'a [T] {
        // SAFETY: the contract of a launch guarantees this. The arguments live as long as their kernel runs.
        unsafe { from_raw_parts(buffer.first, buffer.len as usize) }
    }

    #[inline(always)]
    fn writes<T: Element>(&mut self, buffer: &'a mut Buffer<T>) -> &'a [T] {
        self.reads(buffer)
    }
}

macro_rules! entry_points {
    ($([$name:literal $kernel:ident $($bits:tt)*])*) => {
        $(entry_point!($name $kernel $($bits)*);)*
    };
}

macro_rules! entry_point {
    ($name:literal $kernel:ident) => {
        entry_point!(@ $name, crate::$kernel<DevicePointers>);
    };
    ($name:literal $kernel:ident $($bits:tt)+) => {
        $(entry_point!(@ concat!($name, $bits), crate::$kernel<DevicePointers, recorder!($bits)>);)+
    };
    (@ $name:expr, $kernel:ty) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "ptx-kernel" fn entry(mut arguments: $kernel) {
                <$kernel as Kernel>::run(&arguments.carry(&mut Launch), grid());
            }
        };
    };
}

all_entry_points!();

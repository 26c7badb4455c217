//! Pointers of C, which this module turns into references and slices.
//!
//! # Contract of a call
//!
//! A non-null pointer points to memory that is valid for its type until the call returns. The call reads through a
//! `const` pointer, and no thread writes to this memory during the call. The call writes through any other pointer, and
//! no other thread uses this memory during the call. Memory that the call writes to must not overlap an array that it
//! reads, or other memory that it writes to.
//!
//! The count, length or capacity that follows an array argument is the number of its elements. A struct with a `size`
//! member has `size` bytes. A text ends with a 0 byte. Handles, numbers and struct members can have any value, because
//! they are checked.
#![allow(unsafe_code, reason = "C passes pointers")]

use std::ffi::{CStr, c_char};
use std::iter::repeat;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

use zerocopy::FromBytes;

use crate::status::{Failure, Status};
use crate::values::{Versioned, out_of_range};

/// Maximum `size` of any struct of this header, now and in later versions.
const LARGEST_STRUCT: usize = 1 << 16;

/// Rejects `pointer` if it is null or misaligned.
fn check<T>(pointer: *const T, argument: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::new(Status::NullPointer, format!("{argument}: the pointer is null")));
    }
    if !pointer.is_aligned() {
        let align = align_of::<T>();
        let text = format!("{argument}: must be aligned to {align} bytes, got {pointer:p}");
        return Err(Failure::new(Status::Argument, text));
    }
    Ok(())
}

/// Rejects an array of `count` elements at `first` if it is null, misaligned or too large for an address space.
fn check_array<T>(first: *const T, count: usize, argument: &str) -> Result<(), Failure> {
    check(first, argument)?;
    let end = isize::MAX as u64 / size_of::<T>() as u64 + 1;
    if count as u64 >= end {
        return Err(out_of_range(&format!("length of {argument}"), count as u64, end));
    }
    Ok(())
}

/// Returns the `count` elements at `first`. If `count` is 0, `first` may be null.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation) for the lifetime `'a`.
pub(crate) unsafe fn elements<'a, T: FromBytes>(
    first: *const T,
    count: usize,
    argument: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check_array(first, count, argument)?;
    // SAFETY: the array has `count` elements, by the contract. The pointer and the length were checked.
    Ok(unsafe { slice::from_raw_parts(first, count) })
}

/// Returns the value at `pointer`.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation).
pub(crate) unsafe fn input<T: FromBytes + Copy>(
    pointer: *const T,
    argument: &str,
) -> Result<T, Failure> {
    check(pointer, argument)?;
    // SAFETY: the pointer was checked, and its value can be read, by the contract. Any bytes are a valid value.
    Ok(unsafe { pointer.read() })
}

/// Returns the memory at `pointer`, so that a result can be written to it.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation) for the lifetime `'a`.
pub(crate) unsafe fn output<'a, T>(
    pointer: *mut T,
    argument: &str,
) -> Result<&'a mut MaybeUninit<T>, Failure> {
    check(pointer, argument)?;
    // SAFETY: the pointer was checked, and this call alone uses it, by the contract.
    Ok(unsafe { &mut *pointer.cast::<MaybeUninit<T>>() })
}

/// Returns the `size` member of the struct at `pointer`, or an error if it is out of range.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation).
unsafe fn struct_size<T: Versioned>(pointer: *const T, argument: &str) -> Result<usize, Failure> {
    check(pointer, argument)?;
    // SAFETY: the pointer was checked, and a struct starts with its size, by the contract.
    let size = unsafe { pointer.cast::<usize>().read() };
    if !(T::FIRST_SIZE..=LARGEST_STRUCT).contains(&size) {
        let least = T::FIRST_SIZE;
        let text =
            format!("{argument}: set size to sizeof of the struct, at least {least}, got {size}");
        return Err(Failure::new(Status::StructSize, text));
    }
    Ok(size)
}

/// Returns the struct at `pointer`. Members that are missing from the caller's version are 0. Members that this library
/// does not know must be 0.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation).
pub(crate) unsafe fn input_struct<T: Versioned>(
    pointer: *const T,
    argument: &str,
) -> Result<T, Failure> {
    // SAFETY: the contract is the same.
    let size = unsafe { struct_size(pointer, argument) }?;
    // SAFETY: the struct has `size` bytes, by the contract, and none of them is padding.
    let bytes = unsafe { slice::from_raw_parts(pointer.cast::<u8>(), size) };
    let (known, unknown) = bytes.split_at(size.min(size_of::<T>()));
    if unknown.iter().any(|byte| *byte != 0) {
        let text = format!(
            "{argument}: the struct has nonzero members unknown to this library; update srlg, or set them to 0"
        );
        return Err(Failure::new(Status::StructSize, text));
    }
    let mut value = T::new_zeroed();
    value.as_mut_bytes()[..known.len()].copy_from_slice(known);
    Ok(value)
}

/// The caller's memory for a struct. Its size is the size of the caller's version of the struct.
pub(crate) struct StructOutput<'a, T> {
    bytes: &'a mut [MaybeUninit<u8>],
    of: PhantomData<T>,
}

impl<T: Versioned> StructOutput<'_, T> {
    /// Writes `value`. Members that are missing from the caller's version are left out. Members that this library does
    /// not know are set to 0. The `size` member is not changed.
    pub(crate) fn write(self, value: impl Into<T>) {
        let value = value.into();
        let bytes = value.as_bytes().iter().chain(repeat(&0));
        for (place, byte) in self.bytes.iter_mut().zip(bytes).skip(size_of::<usize>()) {
            place.write(*byte);
        }
    }
}

/// Returns the memory of the struct at `pointer`, so that a result can be written to it.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation) for the lifetime `'a`.
pub(crate) unsafe fn output_struct<'a, T: Versioned>(
    pointer: *mut T,
    argument: &str,
) -> Result<StructOutput<'a, T>, Failure> {
    // SAFETY: the contract is the same.
    let size = unsafe { struct_size(pointer.cast_const(), argument) }?;
    // SAFETY: the struct has `size` bytes, and only this call uses them, by the contract.
    let bytes = unsafe { slice::from_raw_parts_mut(pointer.cast(), size) };
    Ok(StructOutput { bytes, of: PhantomData })
}

/// Returns the memory of `count` elements at `first`, so that results can be written to it. If `count` is 0, `first`
/// may be null.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation) for the lifetime `'a`.
pub(crate) unsafe fn output_elements<'a, T>(
    first: *mut T,
    count: usize,
    argument: &str,
) -> Result<&'a mut [MaybeUninit<T>], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_array(first, count, argument)?;
    // SAFETY: the array has `count` elements, and only this call uses them, by the contract.
    Ok(unsafe { slice::from_raw_parts_mut(first.cast(), count) })
}

/// Returns the text at `pointer`, which ends with a 0 byte.
///
/// # Safety
/// The caller must uphold the contract of a call (see the module documentation) for the lifetime `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, argument: &str) -> Result<&'a CStr, Failure> {
    check(pointer, argument)?;
    // SAFETY: the pointer was checked, and a text ends with a 0 byte, by the contract.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// Copies `from` to the start of `to`. If `to` is too short, copies nothing and returns an error.
pub(crate) fn copy(from: &[u8], to: &mut [MaybeUninit<u8>]) -> Result<(), Failure> {
    if to.len() < from.len() {
        let text = format!("capacity: must be at least {} bytes, got {}", from.len(), to.len());
        return Err(Failure::new(Status::Buffer, text));
    }
    for (place, byte) in to.iter_mut().zip(from) {
        place.write(*byte);
    }
    Ok(())
}

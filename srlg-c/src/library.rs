//! The functions of the header that need no handle.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "`pointer` documents the contract")]

use std::ffi::c_char;
use std::net::IpAddr;

use crate::pointer::{copy, input, output, output_elements};
use crate::status::{Status, guard, with_last_error};
use crate::values::Host;

/// Version of this header. It increases by one with every added function, member or status.
pub const SRLG_ABI_VERSION: u32 = 1;

/// Buffer size, in bytes, that is sufficient for the text of any address, including the terminating 0 byte.
pub const SRLG_HOST_TEXT: usize = 46;

/// Returns the SRLG_ABI_VERSION of the library, which can differ from that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_abi_version() -> u32 {
    SRLG_ABI_VERSION
}

/// Returns the error text of the last call that failed in this thread. The pointer is never null. It is valid until the
/// next call fails in this thread, or until the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_last_error() -> *const c_char {
    with_last_error(|text| text.as_ptr()).unwrap_or(c"".as_ptr())
}

/// Writes a random seed. A detector that may receive hostile traffic needs a random, secret seed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_random_seed(seed: *mut u64) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let seed = unsafe { output(seed, "seed") }?;
        seed.write(srlg_host::config::random_seed()?);
        Ok(())
    })
}

/// Converts an IPv4 address to a host. The address is in host byte order: 10.0.0.1 is 0x0a000001.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_host_from_ipv4(address: u32, host: *mut Host) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let host = unsafe { output(host, "host") }?;
        host.write(IpAddr::V4(address.into()).into());
        Ok(())
    })
}

/// Writes the address of a host as text. A buffer of SRLG_HOST_TEXT bytes is always large enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_host_format(
    host: *const Host,
    text: *mut c_char,
    capacity: usize,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let host = unsafe { input(host, "host") }?;
        let address = host.address().to_string() + "\0";
        // SAFETY: the contract of this call; a `c_char` is a byte.
        let text = unsafe { output_elements(text.cast(), capacity, "text") }?;
        copy(address.as_bytes(), text)
    })
}

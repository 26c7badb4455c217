//! [`Failure`], an error of the CUDA driver.

use std::ffi::{CStr, c_uint};

/// Result of a C function: 0, or the code of a [`Failure`].
pub(super) type Status = c_uint;

/// Status of a function that succeeds.
pub(super) const SUCCESS: Status = 0;

/// An error, with the code that CUDA gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Failure {
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    InvalidDevice = 101,
    InvalidContext = 201,
    InvalidPtx = 218,
    InvalidHandle = 400,
    NotFound = 500,
    NotReady = 600,
    IllegalAddress = 700,
    MisalignedAddress = 716,
    LaunchFailed = 719,
    NotSupported = 801,
}

/// Returns the status of `result`.
pub(super) fn status(result: Result<(), Failure>) -> Status {
    result.err().map_or(SUCCESS, |failure| failure as Status)
}

/// Name and description of a status.
pub(super) struct Words {
    pub(super) name: &'static CStr,
    pub(super) description: &'static CStr,
}

/// Returns the name and the description that CUDA gives to `status`.
pub(super) fn words(status: Status) -> Words {
    let failure = ALL.into_iter().find(|&failure| failure as Status == status);
    let (name, description) = match failure {
        None if status == SUCCESS => (c"CUDA_SUCCESS", c"no error"),
        None => (c"CUDA_ERROR_UNKNOWN", c"unknown error"),
        Some(failure) => match failure {
            Failure::InvalidValue => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
            Failure::OutOfMemory => (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
            Failure::NotInitialized => (c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
            Failure::InvalidDevice => (c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
            Failure::InvalidContext => (c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
            Failure::InvalidPtx => (c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
            Failure::InvalidHandle => (c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
            Failure::NotFound => (c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
            Failure::NotReady => (c"CUDA_ERROR_NOT_READY", c"device not ready"),
            Failure::IllegalAddress => {
                (c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered")
            }
            Failure::MisalignedAddress => (c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
            Failure::LaunchFailed => (c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
            Failure::NotSupported => (c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
        },
    };
    Words { name, description }
}

const ALL: [Failure; 13] = [
    Failure::InvalidValue,
    Failure::OutOfMemory,
    Failure::NotInitialized,
    Failure::InvalidDevice,
    Failure::InvalidContext,
    Failure::InvalidPtx,
    Failure::InvalidHandle,
    Failure::NotFound,
    Failure::NotReady,
    Failure::IllegalAddress,
    Failure::MisalignedAddress,
    Failure::LaunchFailed,
    Failure::NotSupported,
];

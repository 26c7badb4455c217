//! [`Doing`]: errors of the driver become ours.

use std::ffi::CStr;

use cudarc::driver::{DriverError, sys::CUresult};

use crate::error::Error;

/// A call of the driver that may have failed.
pub(super) trait Doing<T> {
    /// Says what the call was for.
    fn doing(self, doing: &'static str) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, DriverError> {
    fn doing(self, doing: &'static str) -> Result<T, Error> {
        self.map_err(|error| {
            let (name, text) = words(error);
            Error::Driver { doing, name, text }
        })
    }
}

/// Why the driver does not take the kernels: its age, what it lacks, or something else.
pub(super) fn refusal(error: DriverError) -> Error {
    let (name, text) = words(error);
    match error.0 {
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => Error::UnfitDriver { name, text },
        CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
        | CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED => Error::NoPtxCompiler { name, text },
        _ => Error::Driver { doing: "load the kernels", name, text },
    }
}

/// What the context of somebody's pairs had kept of earlier calls.
pub(super) fn lender(error: DriverError) -> Error {
    let (name, text) = words(error);
    Error::PairsContext { name, text }
}

/// Whether there is no memory left.
pub(super) fn is_full(error: DriverError) -> bool {
    error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY
}

/// The name of `error`, and what the driver says about it.
fn words(error: DriverError) -> (String, String) {
    let owned = |text: &CStr| text.to_string_lossy().into_owned();
    // A driver that failed to begin with may have no words either.
    let name = error.error_name().map_or_else(|_| format!("error {}", error.0 as u32), owned);
    (name, error.error_string().map_or_else(|_| "the driver does not say why".into(), owned))
}

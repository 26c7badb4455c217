//! The [`Status`] that a call returns, and the text of a thread's last error.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::CString;
use std::iter::successors;
use std::panic::{AssertUnwindSafe, catch_unwind};

use srlg_host::Error;

/// Result of a call. `srlg_last_error` returns the text of an error. Later versions may add statuses with higher
/// numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// A pointer is null.
    NullPointer = 1,
    /// A number, length or index is out of range, or a pointer is misaligned.
    Argument = 2,
    /// The `size` of a struct is too small or too large, or a nonzero member is unknown to this library.
    StructSize = 3,
    /// The handle was freed, or was never a handle of this kind.
    Handle = 4,
    /// The library panicked in this call, or in an earlier call with the same handle. This is a bug. Free the handle.
    Panic = 5,
    /// The configuration is invalid.
    Config = 6,
    /// The system or the GPU does not have enough memory, or too many handles of this kind are open.
    Memory = 7,
    /// The device cannot be used, or has failed.
    Device = 8,
    /// The buffer is too short. If the call has a `len` argument, the required length was written to it.
    Buffer = 9,
    /// The bytes are not a snapshot, a delta or a list of pairs that this library can read.
    Format = 10,
    /// The snapshot or delta is from a detector that has different sizes, a different window or a different hash.
    /// The thresholds of both detectors must lie between the same powers of two, such as 1024 to 2047.
    OtherSizes = 11,
    /// The snapshot or delta is from a detector with a different seed.
    OtherSeed = 12,
    /// The slice is later than the running slice, or the timestamp is too far in the future.
    Future = 13,
    /// The slice has left the window.
    TooLate = 14,
    /// The slice is already closed, or it has the highest possible number.
    Slice = 15,
    /// The detector of this feed was freed, or closing a slice panicked. The pairs were not ingested.
    DetectorFreed = 16,
    /// An error that has no status of its own. The error text describes it.
    Other = 17,
    /// The pairs were ingested, but they are missing from a report that was created before.
    Late = 18,
    /// This or another process already uses the folder of checkpoints.
    InUse = 19,
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    text: String,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("the panic has no message");
        Self::new(Status::Panic, format!("srlg panicked, which is a bug: {text}"))
    }

    /// Stores the text for `srlg_last_error` and returns the status.
    fn report(self) -> Status {
        let text = CString::new(self.text.replace('\0', " ")).unwrap_or_default();
        // If the thread is ending, its storage for the text may be gone. In this case, only the status is returned.
        let _ = LAST_ERROR.try_with(|last| last.replace(text));
        self.status
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Config(_) => Status::Config,
            Error::OutOfMemory { .. }
            | Error::DeviceMemory { .. }
            | Error::PinnedMemory { .. }
            | Error::FeedMemory { .. }
            | Error::Compress { .. } => Status::Memory,
            Error::NoDriver
            | Error::WithoutCuda
            | Error::NoSuchDevice { .. }
            | Error::ComputeCapability { .. }
            | Error::UnfitDriver { .. }
            | Error::NoPtxCompiler { .. }
            | Error::Driver { .. }
            | Error::DeviceLost => Status::Device,
            Error::QueryWindow { .. } | Error::SliceLength { .. } => Status::Argument,
            Error::OtherSizes { .. } => Status::OtherSizes,
            Error::OtherSeed { .. } => Status::OtherSeed,
            Error::FromFuture { .. } => Status::Future,
            Error::OlderThanWindow { .. } => Status::TooLate,
            Error::Format(_) | Error::Version { .. } | Error::FormerVersion { .. } => {
                Status::Format
            }
            Error::SliceInPast { .. } | Error::LastSlice { .. } => Status::Slice,
            Error::DetectorDropped => Status::DetectorFreed,
            Error::CheckpointsInUse { .. } => Status::InUse,
            _ => Status::Other,
        };
        Self::new(status, with_sources(&error))
    }
}

/// Returns the text of `error` and of its sources, which the text of an error does not repeat.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let sources = successors(error.source(), |source| source.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs a call. Converts a failure or a panic to a status and stores its text.
pub(crate) fn guard(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    // If the call could change its value, a panic poisons the lock of the value (see `handle`). If the call only shared
    // it, later calls rely on the locks and atomic integers of the library, in the same way as after a panic in Rust.
    let result = catch_unwind(AssertUnwindSafe(call));
    match result.unwrap_or_else(|payload| Err(Failure::of_panic(&*payload))) {
        Ok(()) => Status::Ok,
        Err(failure) => failure.report(),
    }
}

/// Passes the error text of the last call that failed in this thread to `read`. Before the first failure, the text is
/// empty.
pub(crate) fn with_last_error<T>(read: impl FnOnce(&CString) -> T) -> Option<T> {
    LAST_ERROR.try_with(|last| read(&last.borrow())).ok()
}

#[cfg(test)]
mod tests {
    use srlg_host::state::Checkpoints;

    use super::*;

    fn last_error() -> String {
        with_last_error(|text| text.to_str().unwrap().to_owned()).unwrap()
    }

    #[test]
    fn a_panic_is_a_status_with_its_text() {
        assert_eq!(guard(|| panic!("a rule of {}", 7)), Status::Panic);
        assert!(last_error().ends_with("a rule of 7"));
        assert_eq!(guard(|| std::panic::panic_any(7)), Status::Panic);
        assert!(last_error().ends_with("the panic has no message"));
    }

    #[test]
    fn texts_are_those_of_the_library_and_of_their_thread() {
        let error = || Error::NoDriver;
        assert_eq!(guard(|| Err(error().into())), Status::Device);
        assert_eq!(guard(|| Ok(())), Status::Ok);
        assert_eq!(last_error(), error().to_string());
        assert_eq!(std::thread::spawn(last_error).join().unwrap(), "");
    }

    #[test]
    fn a_text_has_the_sources_of_its_error() {
        let path = std::env::temp_dir().join(format!("srlg-c-{}-file", std::process::id()));
        std::fs::write(&path, "").unwrap();
        let error = Checkpoints::open(path.join("folder")).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        let expected = format!("{error}: {source}");
        assert_eq!(guard(|| Err(error.into())), Status::Other);
        assert_eq!(last_error(), expected);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_text_may_hold_a_nul() {
        assert_eq!(guard(|| Err(Failure::new(Status::Other, "a\0b"))), Status::Other);
        assert_eq!(last_error(), "a b");
    }
}

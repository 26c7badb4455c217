//! The functions of the header for checkpoints.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "`pointer` documents the contract")]

use std::ffi::{OsStr, c_char};
use std::os::unix::ffi::OsStrExt;

use srlg_host::state::{Checkpoints as LibraryCheckpoints, DamagedCheckpoint};

use crate::detector::DETECTORS;
use crate::handle::Table;
use crate::pointer::{output, text};
use crate::status::{Failure, Status, guard, with_sources};
use crate::values::Detector;

static CHECKPOINTS: Table<LibraryCheckpoints> = Table::new(5, "srlg_checkpoints");

/// Handle to a folder of checkpoints, which survive a crash of the process or the machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoints {
    /// Number of the handle. It is never 0.
    pub id: u64,
}

/// Opens `folder` for checkpoints and creates it if necessary. The folder cannot be opened again until the handle is
/// freed or the process ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_checkpoints_open(
    folder: *const c_char,
    checkpoints: *mut Checkpoints,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let folder = unsafe { text(folder, "folder") }?;
        // SAFETY: the contract of this call.
        let handle = unsafe { output(checkpoints, "checkpoints") }?;
        let checkpoints = LibraryCheckpoints::open(OsStr::from_bytes(folder.to_bytes()))?;
        handle.write(Checkpoints { id: CHECKPOINTS.insert(checkpoints)? });
        Ok(())
    })
}

/// Saves the state of the detector. When the call returns, the checkpoint is durable. The newest two checkpoints are
/// kept.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_checkpoints_save(checkpoints: Checkpoints, detector: Detector) -> Status {
    guard(|| {
        let snapshot = DETECTORS.read(detector.id, |detector| Ok(detector.snapshot()?))?;
        CHECKPOINTS
            .write(checkpoints.id, |checkpoints| Ok(checkpoints.save(&snapshot).map(drop)?))
    })
}

/// Restores the newest checkpoint. Writes 1 to `restored`, or 0 if there is no checkpoint. If the newest checkpoint is
/// damaged, it is renamed, and the status is SRLG_STATUS_FORMAT. The next call then restores an older checkpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_checkpoints_restore(
    checkpoints: Checkpoints,
    detector: Detector,
    restored: *mut u32,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let restored = unsafe { output(restored, "restored") }?;
        let params = DETECTORS.read(detector.id, |detector| Ok(*detector.params()))?;
        let latest =
            CHECKPOINTS.write(checkpoints.id, |checkpoints| Ok(checkpoints.latest(&params)?))?;
        if !latest.damaged.is_empty() {
            let texts = latest.damaged.iter().map(|DamagedCheckpoint { path, why, .. }| {
                format!("{} is damaged: {}", path.display(), with_sources(why))
            });
            return Err(Failure::new(Status::Format, texts.collect::<Vec<_>>().join("; ")));
        }
        if let Some(snapshot) = &latest.snapshot {
            DETECTORS.write(detector.id, |detector| Ok(detector.restore(snapshot)?))?;
        }
        restored.write(latest.snapshot.is_some().into());
        Ok(())
    })
}

/// Frees checkpoints as soon as no call uses them.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_checkpoints_free(checkpoints: Checkpoints) -> Status {
    guard(|| CHECKPOINTS.remove(checkpoints.id).map(drop))
}

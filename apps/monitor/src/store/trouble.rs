//! What is wrong with a database, and the way out.

use std::path::Path;

use rusqlite::ErrorCode;

/// Says of `error` which database it is about, and what to do.
pub(super) fn tell(error: anyhow::Error, path: Option<&Path>) -> anyhow::Error {
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    let way_out = match code {
        Some(ErrorCode::DiskFull) => "; free space where it is",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "; end the program that holds it, as one that makes a copy"
        }
        Some(ErrorCode::NotADatabase) => "; give another folder with --state",
        Some(ErrorCode::DatabaseCorrupt) => {
            "; move it away, and get what is left of it by `sqlite3 monitor.sqlite .recover`"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "; give a folder of a monitor, as a user who may use it"
        }
        _ => "",
    };
    error.context(match path {
        Some(path) => format!("cannot use the database {}{way_out}", path.display()),
        None => format!("cannot use the database in memory{way_out}"),
    })
}

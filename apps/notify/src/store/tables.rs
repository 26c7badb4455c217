//! Tables of the database, and checks of its version and application ID.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Result, bail, ensure};
use rusqlite::Connection;

/// Version of the tables below and of the notifications in them.
const VERSION: i64 = 11;

/// SQLite application ID of the databases of this program: the letters `srlg` in ASCII.
const APPLICATION: i64 = 0x73_72_6c_67;

const TABLES: &str = "
    CREATE TABLE notifications (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        now_ms INTEGER NOT NULL,
        json TEXT NOT NULL
    );
    CREATE INDEX notifications_by_time ON notifications (now_ms);
    CREATE INDEX notifications_by_alert ON notifications (id, number);
    CREATE TABLE alerts (
        first INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        last INTEGER NOT NULL,
        is_end INTEGER NOT NULL,
        start_ms INTEGER NOT NULL,
        end_ms INTEGER,
        severity INTEGER NOT NULL,
        kind TEXT NOT NULL,
        view TEXT NOT NULL,
        rule TEXT NOT NULL,
        host TEXT NOT NULL,
        low BLOB,
        high BLOB,
        label TEXT,
        unit TEXT NOT NULL,
        window_ms INTEGER NOT NULL,
        threshold REAL NOT NULL,
        peak REAL NOT NULL,
        ports TEXT NOT NULL
    );
    CREATE INDEX alerts_by_last ON alerts (last);
    CREATE INDEX alerts_by_address ON alerts (low, high);
    CREATE INDEX alerts_that_go_on ON alerts (last) WHERE NOT is_end;
    CREATE TABLE states (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE sinks (
        name TEXT PRIMARY KEY,
        done INTEGER NOT NULL,
        sent INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        dropped INTEGER NOT NULL,
        held TEXT NOT NULL,
        early TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE hours (
        series TEXT NOT NULL,
        hour INTEGER NOT NULL,
        counted_ms INTEGER NOT NULL,
        peaks BLOB NOT NULL,
        PRIMARY KEY (series, hour)
    );
    CREATE TABLE alert_series (id INTEGER PRIMARY KEY, points BLOB NOT NULL);
    CREATE TABLE series_names (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE series (
        series INTEGER NOT NULL,
        minute INTEGER NOT NULL,
        value REAL NOT NULL,
        PRIMARY KEY (series, minute)
    ) WITHOUT ROWID;
";

/// Creates the tables if the database is empty, and checks the database otherwise.
pub(super) fn make(connection: &mut Connection) -> Result<()> {
    let count = "SELECT count(*) FROM sqlite_master";
    if connection.query_row(count, [], |row| row.get::<_, i64>(0))? > 0 {
        return check(connection);
    }
    ensure_version(value(connection, "user_version")?, 0)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

/// Checks that a database belongs to this program and has the supported version.
pub(super) fn check(connection: &Connection) -> Result<()> {
    check_numbers(value(connection, "user_version")?, value(connection, "application_id")?)
}

/// Performs the checks of [`check`] on the header of the file `path`. An empty file is valid, because it is a database
/// without tables.
pub(super) fn check_header(path: &Path) -> Result<()> {
    let mut header = Vec::new();
    File::open(path)?.take(72).read_to_end(&mut header)?;
    if header.is_empty() {
        return Ok(());
    }
    let number = |at: usize| {
        let bytes = header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(|bytes| i64::from(i32::from_be_bytes(bytes)))
    };
    let (true, Some(version), Some(application)) =
        (header.starts_with(b"SQLite format 3\0"), number(60), number(68))
    else {
        bail!("the file is not a database; give another folder with --state");
    };
    check_numbers(version, application)
}

fn check_numbers(version: i64, application: i64) -> Result<()> {
    ensure_version(version, VERSION)?;
    ensure!(
        application == APPLICATION,
        "the database belongs to another program; give another folder with --state"
    );
    Ok(())
}

fn value(connection: &Connection, pragma: &str) -> Result<i64> {
    Ok(connection.pragma_query_value(None, pragma, |row| row.get(0))?)
}

fn ensure_version(version: i64, expected: i64) -> Result<()> {
    ensure!(
        version == expected,
        "database version {version} is not supported, because srlg requires version {VERSION}; give another folder with --state"
    );
    Ok(())
}

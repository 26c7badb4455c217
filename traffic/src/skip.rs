//! Tests that cannot run, because this machine lacks a program, a device or recorded traffic.

use std::io::{self, Write};

/// Reports on standard error that the running test is skipped. The line consists of `skipped: `, the name of the test,
/// and `reason`, which says what is missing and how to get it.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: {reason}\n", thread.name().unwrap_or("unknown test"));
    // The line is written directly, because the test harness captures printed output. A test does not fail because
    // nobody reads standard error.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Reports that the running test is skipped, as [`skip`] does.
///
/// # Panics
///
/// Panics with `reason` if the environment variable `required` is set, because the test must then run.
pub fn skip_or_fail(required: &str, reason: &str) {
    assert!(std::env::var_os(required).is_none(), "{required} is set, but {reason}");
    skip(reason);
}

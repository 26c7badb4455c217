//! A test in a network namespace: its program runs once more, under `unshare --net`, for this test alone.
//!
//! Invariant: a test passes only if its body ran, or if it said what is missing and nobody requires it.

use std::process::Command;

/// Set in the second run, to the name of the test.
const INSIDE: &str = "SRLG_LIVE_TEST";
/// Set by who wants a failure where something is missing.
const REQUIRED: &str = "SRLG_REQUIRE_LIVE";

/// Runs `body` as root of a network of its own; `test` is the path of the test function.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    run(test, &[], body);
}

/// The same, without the permission to capture.
pub(crate) fn without_permission(test: &str, body: impl FnOnce()) {
    run(test, &["setpriv", "--bounding-set", "-net_raw"], body);
}

fn run(test: &str, prefix: &[&str], body: impl FnOnce()) {
    if std::env::var(INSIDE).is_ok_and(|name| name == test) {
        return body();
    }
    if let Some(missing) = missing() {
        assert!(std::env::var(REQUIRED).is_err(), "{test} needs {missing}, and {REQUIRED} is set");
        println!("{test}: skipped, it needs {missing}");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.arg("--net").args(prefix).arg(program);
    command.args(["--exact", test, "--nocapture", "--include-ignored"]).env(INSIDE, test);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} fails in its namespace");
    // A name that is not that of a test would run none, and well.
    assert!(said.contains("test result: ok. 1 passed"), "{test} is no test");
}

/// The first thing that the tests need and that is not there.
fn missing() -> Option<&'static str> {
    let needs: [(&[&str], _); 4] = [
        (&["unshare", "--net", "true"], "root, and unshare of util-linux"),
        (&["setpriv", "--version"], "setpriv of util-linux"),
        (&["ip", "-Version"], "ip of iproute2"),
        (&["tcpreplay", "--version"], "tcpreplay"),
    ];
    let runs = |words: &[&str]| {
        let output = Command::new(words[0]).args(&words[1..]).output();
        output.is_ok_and(|output| output.status.success())
    };
    needs.into_iter().find(|(words, _)| !runs(words)).map(|(_, name)| name)
}

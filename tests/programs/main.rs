//! Whole processes: the examples as a user runs them, and one that is killed while it saves.

mod checkpoints;
mod contacts;
mod detect_cli;
mod examples;

use std::process::Command;

/// The example of this name beside this test's own binary: cargo builds it before it runs all tests.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/test");
    let path = profile.join("examples").join(name);
    assert!(path.exists(), "not built yet: cargo build --examples");
    Command::new(path)
}

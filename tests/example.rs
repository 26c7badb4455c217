//! The examples as processes.

use std::process::Command;

/// The example of this name beside this test's own binary: cargo builds it before it runs all tests.
pub(crate) fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/test");
    let path = profile.join("examples").join(name);
    assert!(path.exists(), "not built yet: cargo build --examples");
    Command::new(path)
}

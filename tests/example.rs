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

/// What an example prints, when it succeeds with these arguments, and what it tells.
pub(crate) fn output(name: &str, args: &[&str]) -> (String, String) {
    let output = example(name).args(args).output().expect("the example starts");
    let text = |bytes| String::from_utf8(bytes).expect("examples print text");
    let (printed, told) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{name} {args:?}: {told}");
    (printed, told)
}

/// `text` without what differs from run to run and between machines: decimal fractions, which are times, rates and the
/// memory of a process, the folder of the test's files, and the device.
pub(crate) fn steady(text: &str) -> String {
    let text = text.replace(env!("CARGO_TARGET_TMPDIR"), "TMP").replace(" cuda:0,", " cpu,");
    let is_fraction = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let steady = |word: &str| match is_fraction(word.trim_end()) {
        true => word.replace(word.trim_end(), "#"),
        false => word.to_owned(),
    };
    text.split_inclusive(' ').map(steady).collect()
}

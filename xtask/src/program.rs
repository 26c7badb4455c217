//! Programs that are built as users build them, regardless of compiler flags in the environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

const ARGUMENTS: [&str; 6] = [
    "build",
    "--locked",
    "--release",
    "--package=srlg-benches",
    "--message-format=json-render-diagnostics",
    "--quiet",
];

/// Prefixes of environment variables that would change the compiled code. For example, they could select AVX-512 code,
/// which fails under valgrind.
const OUTSIDE: [&str; 4] =
    ["CARGO_BUILD_RUSTFLAGS", "CARGO_ENCODED_", "CARGO_PROFILE_", "RUSTFLAGS"];

/// Returns a command that runs cargo. If cargo started this program, the command runs the same cargo.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
}

/// Returns a command that runs cargo in `root`, without compiler flags from the environment.
pub(crate) fn clean_cargo(root: &Path) -> Command {
    let mut command = cargo();
    for (name, _) in std::env::vars_os() {
        if OUTSIDE.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.current_dir(root);
    command
}

/// Builds the program `name` of srlg-benches, and returns its path.
pub(crate) fn build(root: &Path, name: &str) -> Result<PathBuf> {
    let mut command = clean_cargo(root);
    command.args(ARGUMENTS).args(["--bin", name]).stderr(Stdio::inherit());
    let output = command.output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cannot build the program {name} of srlg-benches");
    executable(&String::from_utf8_lossy(&output.stdout))
        .context("the output of cargo does not name an executable")
}

/// Calls `run` with one round and with two rounds. Both calls run in parallel, because each uses only one processor.
pub(crate) fn one_and_two<T: Send>(run: impl Fn(u32) -> Result<T> + Sync) -> Result<(T, T)> {
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| run(1));
        let two = run(2);
        (one.join().expect("a run must not panic"), two)
    });
    Ok((one?, two?))
}

/// Returns the executable that cargo reports in `messages`, which contains one JSON object per line.
fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_in_the_output_of_cargo() {
        let messages = r#"{"reason":"compiler-artifact","executable":null}
{"reason":"compiler-artifact","executable":"/target/release/instructions"}
{"reason":"build-finished","success":true}"#;
        let expected = PathBuf::from("/target/release/instructions");
        assert_eq!(executable(messages), Some(expected));
        assert_eq!(executable("{\"reason\":\"build-finished\",\"success\":true}"), None);
    }
}

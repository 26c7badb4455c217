//! Functions that run the program under test and check its files and error messages.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn program(line: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_srlg-lab"));
    program.args(line.split(' '));
    program
}

pub(crate) fn run(line: &str) -> Output {
    program(line).output().unwrap()
}

/// Runs the program with `--json` and returns the objects that it prints.
pub(crate) fn objects(program: &mut Command) -> Vec<Value> {
    let output = program.arg("--json").output().unwrap();
    // A progress bar would be useless in a pipe, so it must not be drawn.
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a command and returns the page that it wrote into `folder`. Checks the tables, the plots and the commands on
/// the page.
pub(crate) fn page(line: &str, folder: &Path, sweeps: &[(&str, &[&str])]) -> String {
    let output = program(line).arg("--output").arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(folder.join("README.md")).unwrap();
    for (sweep, plots) in sweeps {
        assert!(text.contains(&format!("<!-- table: {sweep} -->")));
        for plot in *plots {
            let file = format!("{sweep}-{plot}.svg");
            assert!(text.contains(&file), "{file} is shown");
            assert!(fs::read_to_string(folder.join(file)).unwrap().starts_with("<svg"));
        }
    }
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("cargo run")).collect();
    insta::assert_snapshot!(format!("commands_of_{}", sweeps[0].0), lines.join("\n"));
    // The printed text must have the same tables as the page.
    let tables = |text: &str| text.lines().filter(|line| line.starts_with('|')).count();
    assert_eq!(tables(&String::from_utf8(output.stdout).unwrap()), tables(&text));
    text
}

/// Removes the file or folder `name` from cargo's folder for test files, and returns its path.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    let _ = fs::remove_dir_all(&path);
    path
}

/// Returns the error message of a failed run. In the message, `TMP` replaces the path of cargo's folder for test files.
/// Asserts that the exit status is 2 and that the message is a single line.
pub(crate) fn failure(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    error.replace(env!("CARGO_TARGET_TMPDIR"), "TMP")
}

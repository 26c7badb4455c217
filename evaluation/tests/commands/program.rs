//! The program under test, its files and its failures.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program with the arguments of a command line.
pub(crate) fn program(line: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_srlg-evaluation"));
    program.args(line.split(' '));
    program
}

pub(crate) fn run(line: &str) -> Output {
    program(line).output().unwrap()
}

/// The objects that a run with `--json` prints, which succeeds.
pub(crate) fn objects(program: &mut Command) -> Vec<Value> {
    let output = program.arg("--json").output().unwrap();
    // Nobody watches a progress bar in a pipe.
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a command that succeeds, and returns its page in `folder`, which has a table of each sweep and shows its plots. A
/// snapshot has the command lines of the page.
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
    // What is printed has the same tables.
    let tables = |text: &str| text.lines().filter(|line| line.starts_with('|')).count();
    assert_eq!(tables(&String::from_utf8(output.stdout).unwrap()), tables(&text));
    text
}

/// A name in cargo's folder for the files of tests, with nothing under it.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    let _ = fs::remove_dir_all(&path);
    path
}

/// The line with which a run fails, and its exit status is 2. The folder of the tests' files is not in it.
pub(crate) fn failure(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    error.replace(env!("CARGO_TARGET_TMPDIR"), "TMP")
}

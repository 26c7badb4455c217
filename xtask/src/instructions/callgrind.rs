//! Instruction counts of a program, measured with valgrind's tool callgrind.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};

const INSTALL: &str = "cannot run valgrind; install it, on Debian with scripts/valgrind.sh";

/// Checks that valgrind is installed and works.
pub(super) fn find() -> Result<()> {
    let output = Command::new("valgrind").arg("--version").output().context(INSTALL)?;
    succeeded(&output).context("valgrind does not work on this machine")
}

/// Returns the number of instructions that `program` executes for `rounds` rounds of `work`, including start-up, and
/// the number of units in a round.
///
/// The output file of callgrind is kept in the folder of the program, where `callgrind_annotate` can read it.
pub(super) fn count(program: &Path, work: &str, rounds: u32) -> Result<(u64, u64)> {
    let profile = program.with_extension(format!("{work}.{rounds}.callgrind"));
    let mut file = std::ffi::OsString::from("--callgrind-out-file=");
    file.push(&profile);
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--tool=callgrind"]).arg(file).arg(program);
    command.args([work, &rounds.to_string()]);
    let output = command.output().context(INSTALL)?;
    succeeded(&output).with_context(|| format!("cannot run {work} under valgrind"))?;
    let units = String::from_utf8_lossy(&output.stdout).trim().parse();
    let units = units.with_context(|| format!("{work} did not print a number of units"))?;
    let text = fs::read_to_string(&profile)
        .with_context(|| format!("cannot read callgrind's profile {}", profile.display()))?;
    Ok((instructions(&text)?, units))
}

fn succeeded(output: &Output) -> Result<()> {
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}", output.status, said.trim());
    }
    Ok(())
}

/// Returns the total number of instructions in a profile, or an error if the profile also counts other events.
fn instructions(profile: &str) -> Result<u64> {
    let events = field(profile, "events:")?;
    ensure!(
        events == "Ir",
        "callgrind counts {events} instead of only Ir; remove its options from the environment"
    );
    field(profile, "summary:")?.parse().context("the summary of callgrind is not a number")
}

/// Returns the text after `name` in the first line that starts with `name`.
fn field<'a>(profile: &'a str, name: &str) -> Result<&'a str> {
    let value = profile.lines().find_map(|line| line.strip_prefix(name));
    value.map(str::trim).with_context(|| format!("the file of callgrind has no line {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and the last lines of a profile that valgrind 3.19 wrote.
    const PROFILE: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n\
        positions: line\nevents: Ir\nsummary: 83199632\n\n\nob=(3) /usr/lib/libc.so.6\n\
        fn=(1) main\n0 3\n\ntotals: 83199632\n";

    #[test]
    fn instructions_are_the_summary_of_the_profile() {
        assert_eq!(instructions(PROFILE).expect("a summary"), 83_199_632);
    }

    #[test]
    fn a_profile_without_an_instruction_count_is_an_error() {
        let reason = |profile: &str| instructions(profile).expect_err("a fault").to_string();
        let cached = PROFILE.replace("events: Ir", "events: Ir Dr");
        let broken = PROFILE.replace("83199632", "?");
        insta::assert_snapshot!(["events: Ir\n", &cached, &broken].map(reason).join("\n"));
    }
}

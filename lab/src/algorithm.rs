//! The command `algorithm`, which draws the pictures of docs/algorithm.md from the arrays of a small detector.
//!
//! [`state`] generates the traffic, fills the arrays, and recovers the values that the pictures show. [`pictures`]
//! draws the pictures. The pictures depend only on the seed, so the same seed always produces the same bytes.
//! docs/algorithm.md quotes the numbers for the default seed.

mod pictures;
mod state;
mod svg;

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use srlg_input::number;

use state::State;

#[derive(Args)]
pub(crate) struct Algorithm {
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "4", value_parser = number::integer)]
    seed: u64,
    /// Repeat the example with this many seeds, and compare its estimates with the true values
    #[arg(long, default_value = "0", value_parser = number::integer)]
    trials: u64,
    /// Folder for cells.svg, line.svg and survival.svg
    #[arg(long, default_value = "docs/algorithm")]
    write: PathBuf,
}

pub(crate) fn run(options: &Algorithm) -> Result<()> {
    let state = State::new(options.seed)?;
    fs::create_dir_all(&options.write)
        .with_context(|| format!("cannot create the folder {}", options.write.display()))?;
    for (name, svg) in pictures::all(&state) {
        let path = options.write.join(name);
        fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut text = state.summary();
    if options.trials > 0 {
        text += &trials(options.trials)?;
    }
    writeln!(io::stdout(), "{text}").context("cannot write to standard output")
}

fn trials(trials: u64) -> Result<String> {
    let (mut sum, mut squares, mut std_errors, mut covered) = (0.0, 0.0, 0.0, 0);
    for seed in 1..=trials {
        let state = State::new(seed)?;
        let (n, std_error) = state.estimate_by_steps();
        let error = n - state.subject().truth as f64;
        sum += error;
        squares += error * error;
        std_errors += std_error;
        covered += u32::from(error.abs() <= 1.96 * std_error);
    }
    let count = trials as f64;
    Ok(format!(
        "\n{trials} seeds: mean error {:+.1}, RMSE {:.1}, mean standard error {:.1}, \
         95 % intervals that hold the truth: {covered}",
        sum / count,
        (squares / count).sqrt(),
        std_errors / count
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn steps_of_the_picture_give_the_estimate_of_the_detector() {
        for seed in 1..20 {
            let state = State::new(seed).unwrap();
            let (n, std_error) = state.estimate_by_steps();
            let estimate = state.subject().estimate;
            approx::assert_relative_eq!(n, estimate.cardinality, max_relative = 1e-9);
            approx::assert_relative_eq!(std_error, estimate.std_error, max_relative = 1e-9);
        }
    }

    #[test]
    fn pictures_of_the_page_are_those_of_the_default_seed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/algorithm");
        for (name, svg) in pictures::all(&State::new(4).unwrap()) {
            let written = fs::read_to_string(folder.join(name)).unwrap();
            assert_eq!(svg, written, "run `cargo lab algorithm`");
        }
    }
}

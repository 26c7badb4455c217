//! Chores of the workspace, run as `cargo xtask <chore>`.
//!
//! A chore finds its files from the root of the workspace, whatever the current directory and
//! `CARGO_TARGET_DIR` are. It fails with one line that names what is wrong and the way out.

mod circles;
mod documents;
mod gpu_model;
mod instructions;
mod links;
mod messages;
mod program;
mod ptx;
mod sources;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

/// Chores of the srlg workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Find files of one crate that import each other.
    Circles,
    /// Find public items whose documentation lacks a verb, a parameter or its errors.
    Documents,
    /// Count what the GPU kernels take of a GPU, by an interpreter of their PTX.
    GpuModel(gpu_model::Arguments),
    /// Count the instructions of ingest and close, under valgrind.
    Instructions(instructions::Arguments),
    /// Find links of documents that lead nowhere.
    Links,
    /// Print a table of all messages that people may read.
    Messages,
    /// Turn srlg-kernels into srlg-host/ptx/srlg.ptx.
    Ptx(ptx::Arguments),
}

fn main() -> ExitCode {
    let result = match Chore::parse() {
        Chore::Circles => circles::run(root()),
        Chore::Documents => documents::run(root()),
        Chore::GpuModel(arguments) => gpu_model::run(&arguments, root()),
        Chore::Instructions(arguments) => instructions::run(&arguments, root()),
        Chore::Links => links::run(root()),
        Chore::Messages => messages::run(root()),
        Chore::Ptx(arguments) => ptx::run(&arguments, root()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

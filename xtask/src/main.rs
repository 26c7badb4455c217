//! Chores of the workspace, run as `cargo xtask <chore>`.
//!
//! A chore finds its files relative to the root of the workspace, regardless of the current directory and
//! `CARGO_TARGET_DIR`. If it fails, its last message gives the cause and, in most cases, the remedy.

mod api;
mod dist;
mod gpu_model;
mod instructions;
mod links;
mod program;
mod ptx;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

/// Chores of the srlg workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// List the public items of the crate srlg in docs/api.txt.
    Api(api::Arguments),
    /// Write the packages of a release to target/dist.
    Dist(dist::Arguments),
    /// Count the GPU resources that the kernels use, with a PTX interpreter.
    GpuModel(gpu_model::Arguments),
    /// Count the CPU instructions of ingest and close, with valgrind.
    Instructions(instructions::Arguments),
    /// Find dead links in Markdown files.
    Links,
    /// Compile srlg-kernels to srlg-host/ptx/srlg.ptx.
    Ptx(ptx::Arguments),
}

fn main() -> ExitCode {
    let result = match Chore::parse() {
        Chore::Api(arguments) => api::run(&arguments, root()),
        Chore::Dist(arguments) => dist::run(&arguments, root()),
        Chore::GpuModel(arguments) => gpu_model::run(&arguments, root()),
        Chore::Instructions(arguments) => instructions::run(&arguments, root()),
        Chore::Links => links::run(root()),
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

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

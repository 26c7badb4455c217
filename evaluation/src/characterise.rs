//! `characterise`: how the error depends on cardinality, load, memory, window and tags.
//!
//! Shape: [`sweeps`] lists what is measured, [`trial`] measures, [`document`] makes a table
//! and two charts of every sweep. Invariant: everything follows from the options; one thing
//! varies along a sweep, and its series see the same packets.

mod document;
mod sweeps;
mod trial;
mod variations;

use crate::number;
use crate::page::{self, Page};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use sweeps::Sweep;
use trial::Row;

#[derive(Args)]
pub(crate) struct Characterise {
    /// Streams of every setting: the more, the shorter the bars of the plots
    #[arg(long, default_value = "3", value_parser = number::count)]
    streams: u32,
    /// Seed of the first stream and its hashes; the next streams have the next ones
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Tiny sizes, to see that it works: the figures mean nothing
    #[arg(long)]
    quick: bool,
    /// Folder for README.md and the plots [default: docs/characterise, none with --json]
    #[arg(long)]
    output: Option<PathBuf>,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

/// A sweep and what came out.
struct Results {
    sweep: Sweep,
    rows: Vec<Row>,
}

pub(crate) fn run(options: &Characterise) -> Result<()> {
    let last = options.seed.checked_add(options.streams.into());
    ensure!(last.is_some(), "--seed is too large");
    let sweeps = sweeps::all(options.quick)?;
    let target = options.target();
    let page = target.map(|target| open(target, &sweeps)).transpose()?;
    let mut results = Vec::new();
    for sweep in sweeps {
        let rows = trial::run(&sweep, options.seed, options.streams)?;
        results.push(Results { sweep, rows });
    }
    if let Some((target, page)) = target.zip(page) {
        write(target, page, options, &results)?;
    }
    print(options, &results).context("cannot write to the standard output")
}

fn open(target: &Path, sweeps: &[Sweep]) -> Result<Page> {
    fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    let sections: Vec<_> = ["setup"].into_iter().chain(sweeps.iter().map(|it| it.name)).collect();
    Page::open_or_begin(&target.join("README.md"), document::TITLE, &sections)
}

fn write(target: &Path, mut page: Page, options: &Characterise, results: &[Results]) -> Result<()> {
    page.fill("setup", &document::setup(options))?;
    for result in results {
        for plot in document::plots(result) {
            page::write(&target.join(&plot.file), &plot.chart.svg()?)?;
        }
        page.fill(result.sweep.name, &document::section(result))?;
    }
    page.write()
}

fn print(options: &Characterise, results: &[Results]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for result in results {
        if options.json {
            for object in document::metrics(options, result) {
                writeln!(out, "{object}")?;
            }
        } else {
            writeln!(out, "{}\n\n{}", result.sweep.heading, document::table(result))?;
        }
    }
    Ok(())
}

impl Characterise {
    /// The folder to write to.
    fn target(&self) -> Option<&Path> {
        let default = (!self.json).then_some(Path::new("docs/characterise"));
        self.output.as_deref().or(default)
    }

    /// The command that repeats the results.
    fn command(&self) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        let Self { streams, seed, .. } = self;
        format!(
            "cargo run --release -p srlg-evaluation -- characterise \
             --streams {streams} --seed {seed}{quick}"
        )
    }
}

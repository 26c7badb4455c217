//! `plans`: whether detectors keep what [`Config::for_load`] promises; and a table of its plans.
//!
//! Shape: [`grid`] lists plans, [`trial`] measures one in [`traffic`] of exactly its load, [`tables`] tells what came
//! of all; [`sizes`] is the table of plans. Invariant: everything follows from the options; planted hosts are part of the load, and a plan is
//! judged by what it says itself.

mod grid;
mod sizes;
mod tables;
mod traffic;
mod trial;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use srlg_core::Config;

use crate::page::Page;
use crate::study::CommandLine;
use crate::{number, progress};
use grid::Row;

/// What went wrong where nothing could be printed.
const UNTOLD: &str = "cannot write to the standard output";

#[derive(Args)]
pub(crate) struct Plans {
    /// Thresholds
    #[arg(long, value_delimiter = ',', default_value = "8,32,64,200,1024,10k,100k", value_parser = number::count)]
    thresholds: Vec<u32>,
    /// Distinct pairs per window
    #[arg(long, value_delimiter = ',', default_value = "100k,1M,5M,20M", value_parser = number::count)]
    loads: Vec<u32>,
    /// Bytes of recorders
    #[arg(long, value_delimiter = ',', default_value = "500k,1M,2M,4M,8M,31700k,60M", value_parser = number::count)]
    memories: Vec<u32>,
    /// Slices in the window; each plan has one of them in turn, so that all go with all else
    #[arg(long, value_delimiter = ',', default_value = "1,10,300", value_parser = number::count)]
    windows: Vec<u32>,
    /// Hosts of 2θ, and as many of θ and of θ/2, to plant per plan and traffic, if --work allows
    #[arg(long, default_value = "1k", value_parser = number::count)]
    hosts: u32,
    /// Pairs to ingest per plan and traffic, at most; a pass over 800 bytes of recorders counts as one. Two windows at
    /// least
    #[arg(long, default_value = "80M", value_parser = number::integer)]
    work: u64,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Print the table of plans by memory, load and threshold, and measure nothing
    #[arg(long, conflicts_with = "json")]
    table: bool,
    /// Print one JSON object per plan and traffic
    #[arg(long)]
    json: bool,
    /// Put the table between its line `<!-- table: NAME -->` and the next `<!-- end -->` of this page: sizes with
    /// --table; without, plans, a row for each threshold
    #[arg(long)]
    write: Option<PathBuf>,
}

/// What is asked of the planner.
#[derive(Clone, Copy)]
struct Place {
    threshold: u32,
    window: u32,
    load: u32,
    memory: u32,
}

pub(crate) fn run(options: &Plans, line: CommandLine) -> Result<()> {
    ensure!(options.hosts <= 1 << 20, "--hosts must be at most 1048576");
    let place = if options.table { "sizes" } else { "plans" };
    let page = options.write.as_ref().map(|page| Page::open(page, &[place])).transpose()?;
    let command = format!("`{}`", line(&[]));
    if options.table {
        let sizes = format!("{command}\n\n{}", sizes::tables(options));
        return tell(page, place, [&sizes, &sizes], false);
    }
    let places = grid::places(options);
    let bar = progress::bar(places.len() as u64, "plans");
    let mut rows = Vec::new();
    for place in places {
        for row in measured(options, &place)? {
            if options.json {
                // A long run is worth something wherever it ends.
                writeln!(io::stdout(), "{}", row.json(options)).context(UNTOLD)?;
            }
            rows.push(row);
        }
        bar.inc(1);
    }
    drop(bar);
    let summary = format!("{command}\n\n{}", tables::summary(&rows));
    let all = format!("{summary}\n{}", tables::all(&rows));
    tell(page, place, [&summary, &all], options.json)?;
    let broken = rows.iter().filter(|row| row.is_broken()).count();
    ensure!(broken == 0, "{broken} plans do not keep what they promise");
    Ok(())
}

/// A row for each traffic, or one of a refusal.
fn measured(options: &Plans, place: &Place) -> Result<Vec<Row>> {
    let Place { threshold, window, load, memory } = *place;
    let plan = match Config::for_load(threshold, window, load.into(), memory as usize) {
        Ok(plan) => plan,
        Err(refusal) => return Ok(vec![Row::refused(*place, refusal)]),
    };
    let measure = |background| {
        let outcome = trial::run(options, place, &plan, background)?;
        Ok(Row::measured(*place, plan, background, outcome))
    };
    traffic::Background::ALL.into_iter().map(measure).collect()
}

/// Writes the first text to the page, and prints the second, unless JSON was.
fn tell(
    page: Option<Page>,
    place: &str,
    [written, printed]: [&str; 2],
    is_json: bool,
) -> Result<()> {
    if let Some(mut page) = page {
        page.fill(place, written)?;
        page.write()?;
    }
    if is_json {
        return Ok(());
    }
    writeln!(io::stdout(), "{}", printed.trim_end()).context(UNTOLD)
}

//! What a study of several sweeps tells: a page with charts, tables, or JSON.
//!
//! Shape: a study [opens](open) its page before it measures, so that it fails early where it may
//! not write; makes a [`Told`] of each sweep; [tells](tell) them.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::page::{self, Page};
use crate::plot::Plot;
use crate::table::Table;

/// The file of a study's page, in its folder.
const PAGE: &str = "README.md";

/// What is told of a sweep.
pub(crate) struct Told {
    /// The place in the page.
    pub(crate) name: &'static str,
    pub(crate) heading: &'static str,
    /// What the page says there.
    pub(crate) section: String,
    pub(crate) table: Table,
    pub(crate) plots: Vec<Plot>,
    pub(crate) metrics: Vec<Value>,
}

/// The page in the folder `target`, begun if there is none, with a place for each of `sweeps`.
pub(crate) fn open(
    target: &Path,
    title: &str,
    sweeps: impl IntoIterator<Item = &'static str>,
) -> Result<Page> {
    fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    let places: Vec<_> = ["setup"].into_iter().chain(sweeps).collect();
    Page::open_or_begin(&target.join(PAGE), title, &places)
}

/// Writes the page, if there is one, with its charts; prints tables, or JSON.
pub(crate) fn tell(
    page: Option<(&Path, Page)>,
    setup: &str,
    told: &[Told],
    json: bool,
) -> Result<()> {
    if let Some((target, page)) = page {
        write(target, page, setup, told)?;
    }
    print(told, json).context("cannot write to the standard output")
}

fn write(target: &Path, mut page: Page, setup: &str, told: &[Told]) -> Result<()> {
    page.fill("setup", setup)?;
    for sweep in told {
        for plot in &sweep.plots {
            page::write(&target.join(&plot.file), &plot.chart.svg()?)?;
        }
        page.fill(sweep.name, &sweep.section)?;
    }
    page.write()
}

fn print(told: &[Told], json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for sweep in told {
        if json {
            sweep.metrics.iter().try_for_each(|object| writeln!(out, "{object}"))?;
        } else {
            writeln!(out, "{}\n\n{}", sweep.heading, sweep.table)?;
        }
    }
    Ok(())
}

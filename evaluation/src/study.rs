//! One engine for all studies: pages with tables and charts, and tables or JSON on the standard
//! output.
//!
//! Shape: a study opens a [`StudyOutput`] before it measures, so that it fails early where it may
//! not write; makes [`Results`] of each sweep, [`Row`]s of [`Cell`]s under [`Column`]s; and
//! [tells](StudyOutput::tell) them. Invariant: everything written comes from the results.

mod column;
mod results;

pub(crate) use column::{Cell, Column, Details};
pub(crate) use results::{Results, Row};

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::page::Page;

/// The place of what holds for all results of a page.
const SETUP: &str = "setup";

/// Gives the command line that repeats the results, with all options that they depend on; an option
/// that `instead` names has the value that stands there.
pub(crate) type CommandLine = fn(instead: &[(&str, &str)]) -> String;

/// Options of a study with a folder of its own.
#[derive(Args)]
pub(crate) struct FolderOptions {
    /// Folder for README.md and the plots [default: the study's under docs/, none with --json]
    #[arg(long, alias = "out")]
    output: Option<PathBuf>,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

/// Options of a study with places in a page of other content.
#[derive(Args)]
pub(crate) struct PageOptions {
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
    /// Put each table between its line `<!-- table: NAME -->` and the next `<!-- end -->` of this
    /// page; an error tells the NAMEs that it lacks
    #[arg(long)]
    write: Option<PathBuf>,
}

/// Where a study tells its results.
pub(crate) struct StudyOutput {
    page: Option<Page>,
    json: bool,
}

impl StudyOutput {
    /// The page of a folder, by default `folder`, with places for the setup and each of `places`;
    /// it begins with `title` where there is none.
    pub(crate) fn in_folder<'a>(
        options: &FolderOptions,
        folder: &str,
        title: &str,
        places: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self> {
        let json = options.json;
        let default = (!json).then(|| folder.into());
        let Some(folder) = options.output.clone().or(default) else {
            return Ok(Self { page: None, json });
        };
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let places: Vec<_> = [SETUP].into_iter().chain(places).collect();
        let page = Page::open_or_begin(&folder.join("README.md"), title, &places)?;
        Ok(Self { page: Some(page), json })
    }

    /// The page that the options name, if they do, which has all `places`.
    pub(crate) fn in_page(options: &PageOptions, places: &[String]) -> Result<Self> {
        let page = options.write.as_ref().map(|page| Page::open(page, places)).transpose()?;
        Ok(Self { page, json: options.json })
    }

    /// Begins the page with the command `line`, and `text`.
    pub(crate) fn set_up(&mut self, line: CommandLine, text: &str) -> Result<()> {
        let Some(page) = &mut self.page else { return Ok(()) };
        page.fill(SETUP, &format!("```sh\n{}\n```\n\n{text}", line(&[])))
    }

    /// Writes the page, if there is one, with the charts; prints tables, or JSON.
    pub(crate) fn tell(&mut self, results: &[Results]) -> Result<()> {
        if let Some(page) = &mut self.page {
            write(page, results)?;
        }
        self.print(results).context("cannot write to the standard output")
    }

    fn print(&self, results: &[Results]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for result in results {
            if self.json {
                result.metrics().try_for_each(|object| writeln!(out, "{object}"))?;
            } else {
                writeln!(out, "{}\n\n{}\n", result.heading, result.text(false).trim_end())?;
            }
        }
        Ok(())
    }
}

/// Results of one place stand there under headings of their own.
fn write(page: &mut Page, results: &[Results]) -> Result<()> {
    for plot in results.iter().flat_map(Results::plots) {
        page.write_beside(&plot.file, &plot.chart.svg()?)?;
    }
    for parts in results.chunk_by(|one, next| one.place == next.place) {
        let part = |part: &Results| match parts.len() {
            1 => part.text(true),
            _ => format!("### {}\n\n{}", part.heading, part.text(true)),
        };
        page.fill(&parts[0].place, &parts.iter().map(part).collect::<String>())?;
    }
    page.write()
}

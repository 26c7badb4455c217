//! `report`: takes the figures of docs/ again, each by its command, and writes them where they stand.
//!
//! Shape: [`SECTIONS`] name what can be taken again; a section is commands that write their own pages, or commands
//! whose [rows](rows) make a table of docs/measurements.md, below the command lines. Invariant: a section is written
//! when all of its commands have succeeded; the page is the old one or the new one, never a part; prose stays.

mod rows;
mod sections;

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::page::Page;
use crate::table::{Table, machine};
use sections::{SECTIONS, Section};

/// The page of all tables that have no page of their own, from the root of the repository.
const MEASUREMENTS: &str = "docs/measurements.md";

#[derive(Args)]
pub(crate) struct Report {
    /// Sections to take again [default: all]
    sections: Vec<String>,
    /// List the sections with their commands, and run none
    #[arg(long)]
    list: bool,
    /// Folder of recorded traffic, for the section `traces`
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: String,
}

pub(crate) fn run(options: &Report) -> Result<()> {
    let chosen = chosen(&options.sections)?;
    if options.list {
        return list(&chosen, options).context("cannot write to the standard output");
    }
    ensure!(
        Path::new(MEASUREMENTS).exists(),
        "there is no {MEASUREMENTS} here: run this command in the root of the repository"
    );
    // Before hours of work: a page without the place fails at once.
    let places: Vec<&str> = chosen.iter().filter(|it| it.is_table()).map(|it| it.name).collect();
    Page::open(Path::new(MEASUREMENTS), &places)?;
    // Before the first section changes a page.
    let commit = commit()?;
    let mut failed = Vec::new();
    for section in chosen {
        let begun = Instant::now();
        let outcome = take(section, options, &commit);
        let told = match &outcome {
            Ok(()) => "written".to_owned(),
            Err(error) => format!("failed: {error:#}"),
        };
        writeln!(io::stderr(), "{}: {told} after {} s", section.name, begun.elapsed().as_secs())
            .context("cannot write to the standard error")?;
        if outcome.is_err() {
            failed.push(section.name);
        }
    }
    ensure!(failed.is_empty(), "sections that failed: {}", failed.join(", "));
    Ok(())
}

/// The sections of these names, all of them for no name.
fn chosen(names: &[String]) -> Result<Vec<&'static Section>> {
    if names.is_empty() {
        return Ok(SECTIONS.iter().collect());
    }
    let section = |name: &String| {
        SECTIONS.iter().find(|section| section.name == name).with_context(|| {
            let known: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
            format!("{name:?} is no section: give some of {}", known.join(", "))
        })
    };
    names.iter().map(section).collect()
}

fn list(sections: &[&Section], options: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for section in sections {
        writeln!(out, "{}: {}", section.name, section.what)?;
        for line in section.lines(&options.data) {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

/// Runs the commands of a section, and writes what they came to.
fn take(section: &Section, options: &Report, commit: &str) -> Result<()> {
    let mut table: Option<Table> = None;
    for line in section.lines(&options.data) {
        writeln!(io::stderr(), "{}: {line}", section.name)
            .context("cannot write to the standard error")?;
        let output = output(&line).with_context(|| format!("cannot run {line}"))?;
        if section.is_table() {
            rows::add(&mut table, &output).with_context(|| format!("of what {line} printed"))?;
        }
    }
    let Some(table) = table else { return Ok(()) };
    let text =
        format!("```sh\n{}\n```\n\n{table}\n{}, {commit}.", section.lines.join("\n"), machine());
    let mut page = Page::open(Path::new(MEASUREMENTS), &[section.name])?;
    page.fill(section.name, &text)?;
    page.write()
}

/// What a command prints on its standard output, when it succeeds.
fn output(line: &str) -> Result<String> {
    let output = Command::new("sh").args(["-c", line]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the command ended with {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The commit that is measured, and whether files differ from it.
fn commit() -> Result<String> {
    let git = Command::new("git").args(["describe", "--always", "--dirty=, changed"]).output();
    let git = git.context("cannot run git, which tells the commit that is measured")?;
    ensure!(git.status.success(), "git does not tell the commit: run this command in a checkout");
    Ok(format!("commit {}", String::from_utf8_lossy(&git.stdout).trim()))
}

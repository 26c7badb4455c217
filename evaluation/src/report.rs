//! `report`: takes the figures of docs/ again, each by its command, and writes them where they stand.
//!
//! [`SECTIONS`] name what can be taken again: a section is commands that write their own pages, or commands whose rows make
//! a table of docs/measurements.md, below the command lines. A section is written when all of its commands have succeeded.

mod sections;

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::output::{Page, UNWRITTEN};
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
        return list(&chosen, options).context(UNWRITTEN);
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
            add_rows(&mut table, &output).with_context(|| format!("of what {line} printed"))?;
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

/// Headings of what benchmarks print.
const BENCHMARK: [&str; 3] = ["benchmark", "ns", "±"];

/// Adds the rows in what a command prints to the table, which the first of them begins: lines that begin with `|`, and those
/// of benchmarks (`test NAME ... bench: N ns/iter`). All rows have the same headings, whichever command they are of.
fn add_rows(table: &mut Option<Table>, output: &str) -> Result<()> {
    let (mut found, mut columns) = (false, None);
    let mut lines = output.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        if let Some(cells) = benchmark(line) {
            begin(table, &BENCHMARK)?.row(cells.to_vec());
            found = true;
        } else if line.starts_with('|') && lines.next_if(|below| below.starts_with("|--")).is_some()
        {
            let headings = cells(line);
            begin(table, &headings)?;
            columns = Some(headings.len());
        } else if let (true, Some(columns), Some(table)) =
            (line.starts_with('|'), columns, table.as_mut())
        {
            // Tests that take long say so between two rows.
            let row = cells(line);
            ensure!(row.len() == columns, "a row has other columns than its headings");
            table.row(row.into_iter().map(str::to_owned).collect());
            found = true;
        }
    }
    ensure!(found, "there is no row of a table");
    Ok(())
}

/// The table, begun with these headings, or checked to have them.
fn begin<'a>(table: &'a mut Option<Table>, headings: &[&str]) -> Result<&'a mut Table> {
    let table = table.get_or_insert_with(|| Table::new(headings));
    ensure!(table.has_headings(headings), "the headings {headings:?} are not those of rows before");
    Ok(table)
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Name, nanoseconds and their deviation of a line that a benchmark prints.
fn benchmark(line: &str) -> Option<[String; 3]> {
    let (name, figures) = line.strip_prefix("test ")?.split_once(" ... bench:")?;
    let (nanoseconds, deviation) = figures.split_once("ns/iter (+/-")?;
    Some([name, nanoseconds, deviation.trim_end_matches(')')].map(|cell| cell.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_several_outputs_are_one_table() {
        let mut table = None;
        add_rows(
            &mut table,
            "running 1 test\n| a | b |\n|---|--:|\n| x | 1 |\nit runs\n| z | 2 |\n",
        )
        .unwrap();
        add_rows(&mut table, "test it ... \n| a | b |\n|---|---|\n| y |  |\n").unwrap();
        let lines = ["| a | b |", "|---|--:|", "| x | 1 |", "| z | 2 |", "| y |   |"];
        assert!(table.unwrap().to_string().lines().eq(lines));
    }

    #[test]
    fn benchmarks_are_rows() {
        let mut table = None;
        add_rows(&mut table, "test delta/make ... bench:     2,100,345 ns/iter (+/- 1,234)\n")
            .unwrap();
        assert!(table.unwrap().to_string().contains("| 2,100,345 | 1,234 |"));
    }

    #[test]
    fn nothing_and_other_headings_are_refused() {
        let error =
            |table: &mut Option<Table>, output| add_rows(table, output).unwrap_err().to_string();
        assert_eq!(error(&mut None, "no table\n"), "there is no row of a table");
        assert_eq!(error(&mut None, "| a |\n|---|\n"), "there is no row of a table");
        let mut table = Some(Table::new(&["b"]));
        let other = error(&mut table, "| a |\n|---|\n| x |\n");
        assert_eq!(other, "the headings [\"a\"] are not those of rows before");
        let uneven = error(&mut None, "| a |\n|---|\n| x | y |\n");
        assert_eq!(uneven, "a row has other columns than its headings");
    }
}

//! The command `report`, which measures the figures in docs/ again and writes them into their pages.
//!
//! [`SECTIONS`] lists the figures. Some commands write their pages themselves. If the commands of a section only print
//! rows, the rows become a table in docs/measurements.md, below the command lines. The table is written only if all
//! commands of the section succeed.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::output::{Page, UNWRITTEN};
use crate::table::{Table, machine};

/// Path of the page for the tables that `report` writes itself, relative to the root of the repository.
const MEASUREMENTS: &str = "docs/measurements.md";

#[derive(Args)]
pub(crate) struct Report {
    /// Sections to measure again [default: all]
    sections: Vec<String>,
    /// List the sections with their commands, without running them
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(options: &Report) -> Result<()> {
    let chosen = chosen(&options.sections)?;
    if options.list {
        return list(&chosen).context(UNWRITTEN);
    }
    ensure!(
        Path::new(MEASUREMENTS).exists(),
        "cannot find {MEASUREMENTS}; run this command in the root of the repository"
    );
    // A page that lacks a required place is rejected here, before hours of work.
    let places: Vec<&str> = chosen.iter().filter(|it| it.is_table).map(|it| it.name).collect();
    Page::open(Path::new(MEASUREMENTS), &places)?;
    // The commit is read before the first section changes a page.
    let commit = commit()?;
    let mut failed = Vec::new();
    for section in chosen {
        let begun = Instant::now();
        let outcome = take(section, &commit);
        let result = match &outcome {
            Ok(()) => "written".to_owned(),
            Err(error) => format!("failed: {error:#}"),
        };
        writeln!(io::stderr(), "{}: {result} after {} s", section.name, begun.elapsed().as_secs())
            .context("cannot write to standard error")?;
        if outcome.is_err() {
            failed.push(section.name);
        }
    }
    ensure!(failed.is_empty(), "failed sections: {}", failed.join(", "));
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Section>> {
    if names.is_empty() {
        return Ok(SECTIONS.iter().collect());
    }
    let section = |name: &String| {
        SECTIONS.iter().find(|section| section.name == name).with_context(|| {
            let known: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
            format!("unknown section {name:?}: must be one of {}", known.join(", "))
        })
    };
    names.iter().map(section).collect()
}

fn list(sections: &[&Section]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for section in sections {
        writeln!(out, "{}: {}", section.name, section.what)?;
        for line in section.lines {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

/// Runs the commands of a section, and writes the rows that they print if the section is a table.
fn take(section: &Section, commit: &str) -> Result<()> {
    let mut table: Option<Table> = None;
    for line in section.lines {
        let line = with_data(line)?;
        writeln!(io::stderr(), "{}: {line}", section.name)
            .context("cannot write to standard error")?;
        let output = output(&line).with_context(|| format!("cannot run {line}"))?;
        if section.is_table {
            add_rows(&mut table, &output)
                .with_context(|| format!("cannot use the output of {line}"))?;
        }
    }
    let Some(table) = table else { return Ok(()) };
    let text = format!(
        "```sh\n{}\n```\n\n{table}\nMeasured on {} at {commit}.",
        section.lines.join("\n"),
        machine()
    );
    let mut page = Page::open(Path::new(MEASUREMENTS), &[section.name])?;
    page.fill(section.name, &text)?;
    page.write()
}

/// Replaces `DIR` in a command with the folder of recorded traffic, which the environment variable `SRLG_DATA` names.
fn with_data(line: &str) -> Result<String> {
    if !line.contains("DIR") {
        return Ok(line.to_owned());
    }
    let data = std::env::var("SRLG_DATA")
        .context("set SRLG_DATA to the folder of recorded traffic, which this section reads")?;
    Ok(line.replace("DIR", &data))
}

fn output(line: &str) -> Result<String> {
    let output = Command::new("sh").args(["-c", line]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the command ended with {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the name of the measured commit, with a note if files differ from the commit. Files in docs/ are not
/// compared, because this command changes them.
fn commit() -> Result<String> {
    let git = |args: &[&str]| {
        Command::new("git")
            .args(args)
            .output()
            .context("cannot run git to find the measured commit")
    };
    let name = git(&["describe", "--always"])?;
    ensure!(
        name.status.success(),
        "cannot find the measured commit: git describe failed; run this command in a checkout"
    );
    let name = String::from_utf8_lossy(&name.stdout).trim().to_owned();
    let is_same = git(&["diff", "--quiet", "HEAD", "--", ".", ":!docs"])?.status.success();
    Ok(format!("commit {name}{}", if is_same { "" } else { ", changed" }))
}

const BENCHMARK: [&str; 3] = ["benchmark", "ns", "±"];

/// Adds the rows that a command printed to the table. Rows are lines that start with `|`, and benchmark lines
/// (`test NAME ... bench: N ns/iter`). The first headings start the table, and all later headings must be equal to
/// them.
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
            // Slow tests may print other lines between two rows.
            let row = cells(line);
            ensure!(row.len() == columns, "a row and its headings differ in the number of columns");
            table.row(row.into_iter().map(str::to_owned).collect());
            found = true;
        }
    }
    ensure!(found, "cannot find a table row");
    Ok(())
}

/// Starts the table with `headings`, or checks that an existing table has these headings.
fn begin<'a>(table: &'a mut Option<Table>, headings: &[&str]) -> Result<&'a mut Table> {
    let table = table.get_or_insert_with(|| Table::new(headings));
    ensure!(
        table.has_headings(headings),
        "the headings {headings:?} differ from those of earlier rows"
    );
    Ok(table)
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Parses a benchmark line into the name of the benchmark, the nanoseconds, and their deviation.
fn benchmark(line: &str) -> Option<[String; 3]> {
    let (name, figures) = line.strip_prefix("test ")?.split_once(" ... bench:")?;
    let (nanoseconds, deviation) = figures.split_once("ns/iter (+/-")?;
    Some([name, nanoseconds, deviation.trim_end_matches(')')].map(|cell| cell.trim().to_owned()))
}

struct Section {
    /// Name of the section and, for a table, of its place in docs/measurements.md.
    name: &'static str,
    what: &'static str,
    /// Whether `report` writes the printed rows as a table. If not, the commands write a page themselves.
    is_table: bool,
    /// Command lines, in which `DIR` stands for the folder that contains recorded traffic.
    lines: &'static [&'static str],
}

impl Section {
    const fn page(name: &'static str, what: &'static str, lines: &'static [&'static str]) -> Self {
        Self { name, what, is_table: false, lines }
    }

    const fn table(name: &'static str, what: &'static str, lines: &'static [&'static str]) -> Self {
        Self { name, what, is_table: true, lines }
    }
}

/// The sections, with tables before pages. Commands are written as a reader would type them in the root of the
/// repository.
#[rustfmt::skip] // tables of commands
const SECTIONS: &[Section] = &[
    Section::table("decoding", "exported flow records decoded per second, compared with bare parsers", &[
        "cargo test --release -p srlg-input --test speed exports -- --ignored --nocapture --test-threads 1",
    ]),
    Section::table("state", "sizes and times of snapshots and deltas", &[
        "cargo bench -p srlg-benches --bench state -- --output-format bencher",
    ]),
    Section::table("hash", "ingest rate by scheme, address family and hash", &[
        "cargo bench -p srlg-benches --bench ingest -- --output-format bencher",
    ]),
    Section::table("deltas", "delta sizes of a single node and of a node in a mesh, in the first slice and after three windows", &[
        "cargo test --release --test behaviour growth_of_deltas -- --ignored --nocapture",
    ]),
    Section::table("network", "deltas that a collector merges per second, and messages that a broker stores per second", &[
        "cargo test --release -p srlg-cli --lib engine -- --ignored --nocapture --test-threads=1",
        "cargo test --release -p srlg-cli --test network rate -- --ignored --nocapture --test-threads=1",
    ]),
    Section::table("captured-packet", "time per captured packet, with one and two threads", &[
        "cargo test --release -p srlg-cli --features live --test load captured -- --ignored --nocapture --test-threads=1",
    ]),
    Section::table("monitor-throughput", "records per second that `srlg run` receives over loopback", &[
        "SRLG_RATES=50000,500000,1000000,2000000,3000000,3500000 cargo test --release -p srlg-cli --test load records_of_netflow -- --ignored --nocapture --test-threads=1",
    ]),
    Section::table("monitor-memory", "memory of `srlg run` during a replayed hour", &[
        "cargo test --release -p srlg-cli --test load an_hour -- --ignored --nocapture --test-threads=1",
    ]),
    Section::table("monitor-attacks", "alerts for recorded attacks that softflowd exports", &[
        "SRLG_DATA=DIR SRLG_REQUIRE_EXPORTERS=1 cargo test -p srlg-cli --test site attacks -- --nocapture",
    ]),
    Section::table("speed", "ingest rates and close times, compared with common alternatives", &[
        "cargo lab speed --device cpu --loads 2M,5M,10M",
    ]),
    Section::table("accuracy", "errors of the default scheme under load", &[
        "cargo lab accuracy --load 2M --windows 4 --stride 100 --streams 3 --row",
        "cargo lab accuracy --load 5M --windows 3 --stride 100 --streams 3 --row",
        "cargo lab accuracy --load 10M --windows 2 --stride 100 --streams 3 --row",
        "cargo lab accuracy --load 20M --windows 2 --stride 50 --streams 3 --row",
        "cargo lab accuracy --memory 8M --load 2M --windows 4 --stride 100 --streams 3 --row",
    ]),
    Section::table("models", "errors of the default scheme by traffic model", &[
        "cargo lab accuracy --traffic backbone --load 10M --windows 16 --row",
        "cargo lab accuracy --traffic metro --load 10M --windows 16 --row",
        "cargo lab accuracy --traffic flood --load 10M --windows 16 --row",
        "cargo lab accuracy --traffic slow-scan --load 10M --windows 16 --row",
        "cargo lab accuracy --traffic flash-crowd --load 10M --windows 16 --row",
        "cargo lab accuracy --traffic metro --load 20M --windows 8 --row",
        "cargo lab accuracy --traffic flood --load 20M --windows 8 --row",
        "cargo lab accuracy --traffic persistent --load 10M --windows 1 --window 10 --streams 17 --row",
    ]),
    Section::table("families", "errors with IPv4, IPv6 and mixed traffic", &[
        "cargo lab accuracy --family 4 --load 2M --windows 4 --stride 100 --streams 12 --row",
        "cargo lab accuracy --family 6 --load 2M --windows 4 --stride 100 --streams 12 --row",
        "cargo lab accuracy --family mixed --load 2M --windows 4 --stride 100 --streams 12 --row",
        "cargo lab accuracy --family 4 --load 20M --windows 1 --stride 13 --streams 3 --row",
        "cargo lab accuracy --family 6 --load 20M --windows 1 --stride 13 --streams 3 --row",
        "cargo lab accuracy --family mixed --load 20M --windows 1 --stride 13 --streams 3 --row",
    ]),
    Section::table("giants", "errors for hosts with 1,024 to ten million peers", &[
        "cargo lab giants --trials 100 --load 2M",
        "cargo lab giants --trials 100 --load 10M",
        "cargo lab giants --trials 100 --load 2M --memory 8M",
        "cargo lab giants --trials 1000 --load 6M --lines 26041 --linear-width 4096 --cardinalities 1024,4096",
    ]),
    Section::table("alike", "misses and close times if all hosts have about the same number of peers", &[
        "cargo lab alike",
        "cargo lab alike --hosts 4G --loads 20M,60M",
        "cargo lab alike --hosts 16M --loads 100M --memory 316000000 --planted 6000",
        "cargo lab alike --hosts 16M --loads 300M --memory 950000000 --planted 18000",
    ]),
    Section::page("picture", "the picture of README.md", &[
        "cargo lab picture",
    ]),
    Section::page("algorithm", "the pictures of docs/algorithm.md", &[
        "cargo lab algorithm",
    ]),
    Section::page("scale", "docs/scaling: the cost of many nodes", &[
        "cargo lab scale",
    ]),
    Section::page("peers", "docs/peers.md: common alternatives", &[
        "cargo lab peers --load 2M --write docs/peers.md",
        "cargo lab regimes --memory 2M --loads 250k,1M,2M --write docs/peers.md",
        "cargo lab regimes --memory 8M --loads 1M,4M,10M --write docs/peers.md",
        "cargo lab regimes --memory 31600k --loads 4M,15M,30M --streams 3 --write docs/peers.md",
        "cargo lab regimes --memory 8M --loads 1M,5M --hosts 1k --write docs/peers.md",
        "cargo lab regimes --memory 4M --loads 2M,5M --window 1 --write docs/peers.md",
    ]),
    Section::page("paper", "docs/paper: the paper's experiments", &[
        "cargo lab paper",
    ]),
    Section::page("characterise", "docs/characterise: errors by parameter", &[
        "cargo lab characterise",
    ]),
    Section::page("traces", "docs/real-traffic.md: errors on recorded traffic", &[
        "cargo lab traces --data DIR --cut 300x1 --write docs/real-traffic.md",
        "cargo lab traces --data DIR --cut 1x300 --stride 10 --write docs/real-traffic.md",
    ]),
    Section::page("plans", "docs/sizing.md: plans and their checks", &[
        "cargo lab plans --table --thresholds 8,32,64,200,1024,10k,100k --loads 100k,1M,5M,20M,100M --memories 500k,2M,8M,31700k,120M --windows 300,1 --write docs/sizing.md",
        "cargo lab plans --write docs/sizing.md",
        "cargo lab plans --least --family 6 --write docs/sizing.md",
    ]),
    Section::page("growth", "docs/growth: time and memory", &[
        "cargo lab growth",
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Page;
    use std::path::Path;

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
    fn empty_and_unknown_headings_are_refused() {
        let error =
            |table: &mut Option<Table>, output| add_rows(table, output).unwrap_err().to_string();
        let errors = [
            error(&mut None, "no table\n"),
            error(&mut None, "| a |\n|---|\n"),
            error(&mut Some(Table::new(&["b"])), "| a |\n|---|\n| x |\n"),
            error(&mut None, "| a |\n|---|\n| x | y |\n"),
        ];
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn every_table_has_its_place() {
        let page = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/measurements.md"));
        let places: Vec<_> =
            SECTIONS.iter().filter(|it| it.is_table).map(|section| section.name).collect();
        Page::open(page, &places).map(drop).unwrap();
    }

    #[test]
    fn names_are_of_one_section_each() {
        for (number, section) in SECTIONS.iter().enumerate() {
            assert!(SECTIONS[..number].iter().all(|other| other.name != section.name));
        }
    }
}

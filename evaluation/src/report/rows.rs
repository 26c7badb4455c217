//! Tables in what a command prints.
//!
//! Shape: [`add`] takes the lines that begin with `|`, and those of benchmarks (`test NAME ... bench: N ns/iter`),
//! and leaves all others. Invariant: all rows of a table have the same headings, whichever command they are of.

use anyhow::{Result, ensure};

use crate::table::Table;

/// Headings of what benchmarks print.
const BENCHMARK: [&str; 3] = ["benchmark", "ns", "±"];

/// Adds the rows of `output` to the table, which the first of them begins.
pub(super) fn add(table: &mut Option<Table>, output: &str) -> Result<()> {
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
        add(&mut table, "running 1 test\n| a | b |\n|---|--:|\n| x | 1 |\nit runs\n| z | 2 |\n")
            .unwrap();
        add(&mut table, "test it ... \n| a | b |\n|---|---|\n| y |  |\n").unwrap();
        let lines = ["| a | b |", "|---|--:|", "| x | 1 |", "| z | 2 |", "| y |   |"];
        assert!(table.unwrap().to_string().lines().eq(lines));
    }

    #[test]
    fn benchmarks_are_rows() {
        let mut table = None;
        add(&mut table, "test delta/make ... bench:     2,100,345 ns/iter (+/- 1,234)\n").unwrap();
        assert!(table.unwrap().to_string().contains("| 2,100,345 | 1,234 |"));
    }

    #[test]
    fn nothing_and_other_headings_are_refused() {
        let error = |table: &mut Option<Table>, output| add(table, output).unwrap_err().to_string();
        assert_eq!(error(&mut None, "no table\n"), "there is no row of a table");
        assert_eq!(error(&mut None, "| a |\n|---|\n"), "there is no row of a table");
        let mut table = Some(Table::new(&["b"]));
        let other = error(&mut table, "| a |\n|---|\n| x |\n");
        assert_eq!(other, "the headings [\"a\"] are not those of rows before");
        let uneven = error(&mut None, "| a |\n|---|\n| x | y |\n");
        assert_eq!(uneven, "a row has other columns than its headings");
    }
}

//! Tables in Markdown, on the standard output and in the pages of docs/.
//!
//! Shape: [`Table`], headings and rows, aligned so that they read well as they are.
//! Invariant: all rows have as many cells as there are headings.

use std::fmt;
use std::fs;

/// Rows of text under headings.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// No row yet. The first column is for names, the others for figures.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|&heading| heading.to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.rows[0].len(), "a cell for every heading");
        self.rows.push(cells);
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<_> = (0..self.rows[0].len()).map(|column| self.width(column)).collect();
        for (number, row) in self.rows.iter().enumerate() {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(out, "| {cell:<width$} |")?,
                    _ => write!(out, " {cell:>width$} |")?,
                }
            }
            writeln!(out)?;
            if number == 0 {
                write!(out, "|{:-<1$}|", "", widths[0] + 2)?;
                widths[1..].iter().try_for_each(|width| write!(out, "{:-<1$}:|", "", width + 1))?;
                writeln!(out)?;
            }
        }
        Ok(())
    }
}

/// Percent, with more digits where they are few.
pub(crate) fn percent(percent: f64) -> String {
    match percent {
        0.0 => "0".to_owned(),
        ..9.995 => format!("{percent:.2} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// Cores and kind of this machine, for every page with times on it.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    let model = line.and_then(|line| line.split_once(": ")).map_or("unknown CPU", |pair| pair.1);
    format!("{cores} cores of {model}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let mut table = Table::new(&["host", "θ"]);
        table.row(vec!["a".to_owned(), "1024".to_owned()]);
        let lines = ["| host |    θ |", "|------|-----:|", "| a    | 1024 |"];
        assert!(table.to_string().lines().eq(lines), "{table}");
    }

    #[test]
    fn small_shares_have_more_digits() {
        let shares = [0.0, 0.123, 9.994, 9.996, 250.0];
        let texts = ["0", "0.12 %", "9.99 %", "10 %", "250 %"];
        assert_eq!(shares.map(percent), texts);
    }
}

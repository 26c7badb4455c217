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

    /// Whether these are the headings.
    pub(crate) fn has_headings(&self, headings: &[&str]) -> bool {
        self.rows[0].iter().eq(headings)
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<_> = (0..self.rows[0].len()).map(|column| self.width(column)).collect();
        for (number, row) in self.rows.iter().enumerate() {
            writeln!(out, "{}", line(row, &widths))?;
            if number == 0 {
                writeln!(out, "{}", rule(&widths))?;
            }
        }
        Ok(())
    }
}

/// Lines of a table that are written one by one, each as soon as it is known.
pub(crate) struct Lines<const COLUMNS: usize> {
    headings: [&'static str; COLUMNS],
}

impl<const COLUMNS: usize> Lines<COLUMNS> {
    /// The first column is for names, the others for figures.
    pub(crate) const fn new(headings: [&'static str; COLUMNS]) -> Self {
        Self { headings }
    }

    /// The headings, and the line below them.
    pub(crate) fn head(&self) -> String {
        let headings = self.headings.map(str::to_owned);
        format!("{}\n{}", self.row(&headings), rule(&self.widths()))
    }

    /// A line of figures, under their headings where these are as wide.
    pub(crate) fn row(&self, cells: &[String; COLUMNS]) -> String {
        line(cells, &self.widths())
    }

    fn widths(&self) -> [usize; COLUMNS] {
        self.headings.map(|heading| heading.chars().count())
    }
}

/// A line of cells: the first is a name, the others are figures.
fn line(cells: &[String], widths: &[usize]) -> String {
    let cells = cells.iter().zip(widths).enumerate().map(|(column, (cell, &width))| {
        if column == 0 { format!(" {cell:<width$} |") } else { format!(" {cell:>width$} |") }
    });
    format!("|{}", cells.collect::<String>())
}

/// The line below headings.
fn rule(widths: &[usize]) -> String {
    let figures = widths[1..].iter().map(|width| format!("{:-<1$}:|", "", width + 1));
    format!("|{:-<1$}|{2}", "", widths[0] + 2, figures.collect::<String>())
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
    fn lines_stand_under_their_headings() {
        let lines = Lines::new(["host", "θ"]);
        assert_eq!(lines.head(), "| host | θ |\n|------|--:|");
        assert_eq!(lines.row(&["a".to_owned(), "1".to_owned()]), "| a    | 1 |");
    }

    #[test]
    fn small_shares_have_more_digits() {
        let shares = [0.0, 0.123, 9.994, 9.996, 250.0];
        let texts = ["0", "0.12 %", "9.99 %", "10 %", "250 %"];
        assert_eq!(shares.map(percent), texts);
    }
}

//! Markdown tables that are aligned for readable source text, and number formats for them.

use std::fmt;
use std::fs;

/// A table of texts. The first row contains the headings.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table that has only headings. The first column contains names, and the other columns contain figures.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|&heading| heading.to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.rows[0].len(), "a row must have a cell for every heading");
        self.rows.push(cells);
    }

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

/// Formats a row. The first cell is left-aligned, because it is a name. All other cells are right-aligned.
pub(crate) fn line(cells: &[String], widths: &[usize]) -> String {
    let cells = cells.iter().zip(widths).enumerate().map(|(column, (cell, &width))| {
        if column == 0 { format!(" {cell:<width$} |") } else { format!(" {cell:>width$} |") }
    });
    format!("|{}", cells.collect::<String>())
}

/// Returns the line that separates the headings from the rows.
pub(crate) fn rule(widths: &[usize]) -> String {
    let figures = widths[1..].iter().map(|width| format!("{:-<1$}:|", "", width + 1));
    format!("|{:-<1$}|{2}", "", widths[0] + 2, figures.collect::<String>())
}

/// Formats `number` as options accept it, with the largest suffix that represents it exactly.
pub(crate) fn short(number: u32) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let unit = units.into_iter().find(|&(unit, _)| number > 0 && number.is_multiple_of(unit));
    let (unit, suffix) = unit.unwrap_or((1, ""));
    format!("{}{suffix}", number / unit)
}

/// Formats a percentage. Values below 10 have two decimals, except for 0.
pub(crate) fn percent(percent: f64) -> String {
    match percent {
        0.0 => "0".to_owned(),
        ..9.995 => format!("{percent:.2} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// Returns the number of cores and the CPU model of this machine, for pages that contain times.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    let model = line.and_then(|line| line.split_once(": ")).map_or("unknown CPU", |pair| pair.1);
    format!("{cores} {model} cores")
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

    #[test]
    fn short_numbers_are_read_back_as_they_were() {
        let numbers = [0, 60, 1024, 500_000, 2_000_000, 2_500_000, 3_000_000_000];
        let texts = ["0", "60", "1024", "500k", "2M", "2500k", "3G"];
        assert_eq!(numbers.map(short), texts);
        assert_eq!(
            texts.map(|text| srlg_input::number::integer(text).unwrap()),
            numbers.map(u64::from)
        );
    }
}

//! Columns of figures, and the cells under them.
//!
//! Shape: a [`Column`] says how its [`Cell`]s are written in a table, what they are called in JSON
//! and which chart they have. Invariant: a cell holds its value in the unit of the JSON; what there
//! is no value of is null there, a text in the table, and no point in a chart.

use crate::plot::Scale;
use crate::table::percent;
use serde_json::Value;

/// Named values of a JSON object.
pub(crate) type Details = Vec<(&'static str, Value)>;

/// How all cells of a column are written.
#[derive(Clone, Copy)]
enum Style {
    Decimals(usize),
    /// From bytes, to a tenth of 10^6.
    Megabytes,
    Percent,
    /// Percent with a sign.
    Signed,
}

/// What all cells of a column have in common.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(super) heading: &'static str,
    style: Style,
    /// Name and unit in JSON; none where a table alone has it.
    pub(super) metric: Option<(&'static str, &'static str)>,
    pub(super) curve: Option<Curve>,
}

/// A chart of a column.
#[derive(Clone, Copy)]
pub(crate) struct Curve {
    /// End of the name of its file.
    pub(crate) file: &'static str,
    /// What the y axis shows.
    pub(super) label: &'static str,
    pub(super) scale: Scale,
}

impl Column {
    const fn new(heading: &'static str, style: Style) -> Self {
        Self { heading, style, metric: None, curve: None }
    }

    /// Figures with this number of decimals, or words.
    pub(crate) const fn decimals(decimals: usize, heading: &'static str) -> Self {
        Self::new(heading, Style::Decimals(decimals))
    }

    pub(crate) const fn megabytes(heading: &'static str) -> Self {
        Self::new(heading, Style::Megabytes)
    }

    pub(crate) const fn percent(heading: &'static str) -> Self {
        Self::new(heading, Style::Percent)
    }

    /// Percent with a sign.
    pub(crate) const fn signed(heading: &'static str) -> Self {
        Self::new(heading, Style::Signed)
    }

    /// One with an object in JSON for each cell.
    pub(crate) const fn metric(self, name: &'static str, unit: &'static str) -> Self {
        Self { metric: Some((name, unit)), ..self }
    }

    /// One with a chart, whose axis is logarithmic and says what the heading says.
    pub(crate) const fn chart(self, file: &'static str) -> Self {
        self.chart_of(file, self.heading, Scale::Logarithmic)
    }

    /// One with a chart.
    pub(crate) const fn chart_of(
        self,
        file: &'static str,
        label: &'static str,
        scale: Scale,
    ) -> Self {
        Self { curve: Some(Curve { file, label, scale }), ..self }
    }

    /// The chart, if the column has one.
    pub(crate) const fn curve(&self) -> Option<Curve> {
        self.curve
    }

    /// The cell as tables show it.
    pub(super) fn text(&self, cell: &Cell) -> String {
        let Some(value) = cell.value else { return cell.text.clone() };
        match self.style {
            Style::Decimals(decimals) => format!("{value:.decimals$}"),
            Style::Megabytes => format!("{:.1}", self.charted(value)),
            Style::Percent => percent(value),
            Style::Signed => format!("{value:+.2} %"),
        }
    }

    /// The value in the unit of tables and charts.
    pub(super) fn charted(&self, value: f64) -> f64 {
        if matches!(self.style, Style::Megabytes) { value / 1e6 } else { value }
    }
}

/// A figure of a row, or words.
pub(crate) struct Cell {
    pub(crate) value: Option<f64>,
    /// Half the length of the interval around the value; 0 for none.
    pub(super) half: f64,
    /// What tables say where there is no value.
    text: String,
    /// What its object in JSON has besides.
    pub(super) details: Details,
}

impl Cell {
    /// A share as a figure of percent.
    pub(crate) fn ratio(ratio: Option<f64>) -> Self {
        ratio.map(|ratio| 100.0 * ratio).into()
    }

    /// A value in the middle of an interval, whose half is `half`.
    pub(crate) fn within(self, half: f64) -> Self {
        Self { half, ..self }
    }

    /// `text` where there is no value.
    pub(crate) fn or(self, text: String) -> Self {
        Self { text, ..self }
    }

    pub(crate) fn details(self, details: Details) -> Self {
        Self { details, ..self }
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        Self { value, half: 0.0, text: "-".to_owned(), details: Vec::new() }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Some(value).into()
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::from(None).or(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_written_as_their_column_says() {
        let columns = [
            Column::decimals(2, ""),
            Column::megabytes(""),
            Column::percent(""),
            Column::signed(""),
        ];
        let texts = |value: Option<f64>| columns.map(|column| column.text(&value.into()));
        assert_eq!(texts(Some(1_234_567.891)), ["1234567.89", "1.2", "1234568 %", "+1234567.89 %"]);
        assert_eq!(texts(None), ["-"; 4]);
        assert_eq!(columns[0].text(&Cell::from("yes".to_owned())), "yes");
        assert_eq!(columns[2].text(&Cell::ratio(Some(0.015)).or("none".to_owned())), "1.50 %");
    }
}

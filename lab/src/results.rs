//! Rows of figures, and the tables, charts and JSON objects that are generated from them.
//!
//! [`Results`] consist of [`Row`]s of [`Cell`]s under [`Column`]s. A column defines the format of its cells in a table,
//! their name in JSON, and their chart. A cell stores its value in the unit of the JSON output. A missing value is null
//! in JSON and a text in the table, and the chart omits it. Equal results produce identical output.

use serde_json::{Value, json};

use crate::plot::{Axis, Chart, Plot, Point, Scale, Series};
use crate::table::{self, Table, percent};

/// Names and values of JSON fields.
pub(crate) type Details = Vec<(&'static str, Value)>;

/// Creates [`Details`] from named fields of structures, followed by other values: `details!(options => seed, quick;
/// "sweep": place)`.
macro_rules! details {
    ($($($of:ident).+ => $($field:ident),+;)* $($name:literal: $value:expr),* $(,)?) => {
        [
            $(details!(@of $($of).+ => $($field),+),)*
            vec![$(($name, serde_json::json!($value))),*],
        ]
        .concat()
    };
    (@of $of:expr => $($field:ident),+) => {
        vec![$((stringify!($field), serde_json::json!($of.$field))),+]
    };
}
pub(crate) use details;

#[derive(Clone, Copy)]
enum Style {
    Decimals(usize),
    /// A number of bytes, formatted in units of 10^6 with one decimal.
    Megabytes,
    Percent,
    Signed,
}

#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) heading: &'static str,
    style: Style,
    /// Name and unit in JSON, or `None` if the JSON output omits the column.
    pub(crate) metric: Option<Metric>,
    pub(crate) curve: Option<Curve>,
}

#[derive(Clone, Copy)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
}

/// A chart of a column.
#[derive(Clone, Copy)]
pub(crate) struct Curve {
    /// Last part of the file name of the chart, without `.svg`.
    pub(crate) file: &'static str,
    y: Axis,
}

impl Column {
    const fn new(heading: &'static str, style: Style) -> Self {
        Self { heading, style, metric: None, curve: None }
    }

    /// Creates a column of texts, or of figures with this number of decimals.
    pub(crate) const fn decimals(decimals: usize, heading: &'static str) -> Self {
        Self::new(heading, Style::Decimals(decimals))
    }

    pub(crate) const fn megabytes(heading: &'static str) -> Self {
        Self::new(heading, Style::Megabytes)
    }

    pub(crate) const fn percent(heading: &'static str) -> Self {
        Self::new(heading, Style::Percent)
    }

    /// Creates a column of percentages that have a plus or minus sign.
    pub(crate) const fn signed(heading: &'static str) -> Self {
        Self::new(heading, Style::Signed)
    }

    pub(crate) const fn metric(self, name: &'static str, unit: &'static str) -> Self {
        Self { metric: Some(Metric { name, unit }), ..self }
    }

    /// Adds a chart with a logarithmic y axis. The heading becomes the label of the axis.
    pub(crate) const fn chart(self, file: &'static str) -> Self {
        self.chart_of(file, self.heading, Scale::Logarithmic)
    }

    pub(crate) const fn chart_of(
        self,
        file: &'static str,
        label: &'static str,
        scale: Scale,
    ) -> Self {
        Self { curve: Some(Curve { file, y: Axis { label, scale } }), ..self }
    }

    fn text(&self, cell: &Cell) -> String {
        let Some(value) = cell.value else { return cell.text.clone() };
        match self.style {
            Style::Decimals(decimals) => format!("{value:.decimals$}"),
            Style::Megabytes => format!("{:.1}", self.charted(value)),
            Style::Percent => percent(value),
            Style::Signed => format!("{value:+.2} %"),
        }
    }

    /// Converts the value to the unit of tables and charts.
    fn charted(&self, value: f64) -> f64 {
        if matches!(self.style, Style::Megabytes) { value / 1e6 } else { value }
    }
}

pub(crate) struct Cell {
    pub(crate) value: Option<f64>,
    /// Half the length of the interval around the value, or 0 if no interval is set.
    half: f64,
    /// Text in tables if there is no value.
    text: String,
    /// Additional fields of the cell's JSON object.
    pub(crate) details: Details,
}

impl Cell {
    /// Creates a percentage from a ratio.
    pub(crate) fn ratio(ratio: Option<f64>) -> Self {
        ratio.map(|ratio| 100.0 * ratio).into()
    }

    /// Sets an interval of ±`half` around the value.
    pub(crate) fn within(self, half: f64) -> Self {
        Self { half, ..self }
    }

    /// Sets the text that replaces a missing value.
    pub(crate) fn or(self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self }
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

macro_rules! cell_from {
    ($($number:ty),+) => {
        $(impl From<$number> for Cell {
            #[allow(clippy::cast_lossless, reason = "one macro body converts all number types")]
            fn from(value: $number) -> Self {
                Some(value as f64).into()
            }
        })+
    };
}
cell_from!(f64, u32, u64, usize);

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::from(None) }
    }
}

/// The results of a sweep, which form a table.
#[derive(Default)]
pub(crate) struct Results {
    /// Name of the place in the page, which is also the first part of the file names of charts.
    pub(crate) place: String,
    pub(crate) heading: String,
    pub(crate) setting: String,
    pub(crate) above: String,
    pub(crate) below: String,
    /// Headings of the columns that name the rows. The second one is the label of the x axis.
    pub(crate) names: Vec<&'static str>,
    pub(crate) columns: &'static [Column],
    pub(crate) rows: Vec<Row>,
    /// Charts in addition to the charts of the columns.
    pub(crate) plots: Vec<Plot>,
    /// Fields that all JSON objects share.
    pub(crate) details: Details,
}

pub(crate) struct Row {
    /// Cells that identify the row, such as the system and the value of the varied parameter.
    pub(crate) names: Vec<String>,
    /// Position on the x axis, if there are charts.
    pub(crate) x: f64,
    pub(crate) cells: Vec<Cell>,
    /// Additional fields of the row's JSON objects.
    pub(crate) details: Details,
    /// Whether tables and charts omit the row.
    pub(crate) json_only: bool,
}

impl Row {
    pub(crate) fn new(names: Vec<String>, cells: Vec<Cell>, details: Details) -> Self {
        Self { names, x: 0.0, cells, details, json_only: false }
    }

    pub(crate) fn at(self, x: impl Into<f64>) -> Self {
        Self { x: x.into(), ..self }
    }
}

impl Results {
    /// Returns the results as Markdown: the setting, `above`, the charts if `images` is set, the table, and `below`.
    pub(crate) fn text(&self, images: bool) -> String {
        let image = |plot: Plot| format!("![{}]({})\n\n", plot.chart.y.label, plot.file);
        let plots = if images { self.plots() } else { Vec::new() };
        let images: String = plots.into_iter().map(image).collect();
        let Self { setting, above, below, .. } = self;
        let [above, below] = [above, below].map(|text| {
            if text.is_empty() { String::new() } else { format!("{}\n\n", text.trim_end()) }
        });
        format!("{setting}.\n\n{above}{images}{}\n{below}", self.table())
    }

    fn headings(&self) -> Vec<&'static str> {
        self.names.iter().copied().chain(self.columns.iter().map(|it| it.heading)).collect()
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let cells = self.columns.iter().zip(&row.cells).map(|(column, cell)| column.text(cell));
        row.names.iter().cloned().chain(cells).collect()
    }

    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new(&self.headings());
        self.shown().for_each(|row| table.row(self.cells(row)));
        table
    }

    /// Returns the first two lines of a table that is printed line by line. The columns are as wide as their headings.
    pub(crate) fn head(&self) -> String {
        let headings: Vec<_> = self.headings().into_iter().map(str::to_owned).collect();
        format!("{}\n{}", table::line(&headings, &self.widths()), table::rule(&self.widths()))
    }

    pub(crate) fn line(&self, row: &Row) -> String {
        table::line(&self.cells(row), &self.widths())
    }

    fn widths(&self) -> Vec<usize> {
        self.headings().iter().map(|heading| heading.chars().count()).collect()
    }

    fn shown(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.json_only)
    }

    /// Returns the charts of the columns, followed by the additional charts.
    pub(crate) fn plots(&self) -> Vec<Plot> {
        let of_columns = (0..self.columns.len()).filter_map(|column| self.plot(column));
        of_columns.chain(self.plots.iter().cloned()).collect()
    }

    fn plot(&self, number: usize) -> Option<Plot> {
        let column = &self.columns[number];
        let curve = column.curve?;
        let points = self.shown().filter_map(|row| {
            let Cell { value, half, .. } = row.cells[number];
            let y = column.charted(value?);
            Some((row.names[0].clone(), Point { x: row.x, y, error: half }))
        });
        Some(self.plot_of(curve.file, curve.y, Series::by_name(points)))
    }

    pub(crate) fn plot_of(&self, file: &str, y: Axis, series: Vec<Series>) -> Plot {
        let x = Axis { label: self.names[1], scale: Scale::Logarithmic };
        let title = format!("{}: {}", self.heading, self.setting);
        Plot { file: format!("{}-{file}.svg", self.place), chart: Chart { title, x, y, series } }
    }

    /// Returns a JSON object for each cell of the columns that have a metric. The object includes all settings that the
    /// cell depends on.
    pub(crate) fn figures(&self) -> impl Iterator<Item = Value> {
        self.rows.iter().flat_map(move |row| {
            let cells = self.columns.iter().zip(&row.cells);
            cells.filter_map(move |(column, cell)| {
                let Metric { name, unit } = column.metric?;
                let mut object = json!({ "metric": name, "value": cell.value, "unit": unit });
                for (name, value) in self.details.iter().chain(&row.details).chain(&cell.details) {
                    object[*name] = value.clone();
                }
                Some(object)
            })
        })
    }

    /// Returns a JSON object for a row, with a field for each column that has a metric. Figures without decimals are
    /// integers.
    pub(crate) fn object(&self, row: &Row) -> Value {
        let figures = self.columns.iter().zip(&row.cells).filter_map(|(column, cell)| {
            let value = match column.style {
                Style::Decimals(0) => json!(cell.value.map(|value| value as u64)),
                _ => json!(cell.value),
            };
            Some((column.metric?.name, value))
        });
        let details = self.details.iter().chain(&row.details).cloned();
        figures.chain(details).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column::percent("TFR").metric("tfr", "%").chart("tfr"),
        Column::megabytes("memory, MB").metric("memory_bytes", "bytes").chart("memory"),
        Column::decimals(0, "hosts"),
    ];

    fn results() -> Results {
        let row = |series: &str, x: f64, ratio| {
            let cells = vec![Cell::ratio(ratio), 2e6.into(), 7.0.into()];
            Row::new(vec![series.to_owned(), format!("{x}")], cells, details!("series": series))
                .at(x)
        };
        let rows = [row("a", 1.0, Some(0.5)), row("b", 1.0, None), row("a", 2.0, Some(0.25))];
        Results {
            place: "sweep".to_owned(),
            heading: "Errors".to_owned(),
            setting: "One thread".to_owned(),
            names: vec!["series", "x"],
            columns: COLUMNS,
            rows: rows.into(),
            details: details!("seed": 1),
            ..Results::default()
        }
    }

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
        assert_eq!(columns[0].text(&"yes".to_owned().into()), "yes");
        assert_eq!(columns[2].text(&Cell::ratio(Some(0.015)).or("none")), "1.50 %");
    }

    #[test]
    fn rows_of_one_name_make_a_line_and_a_value_that_is_not_there_no_point() {
        let plots = results().plots();
        let files: Vec<_> = plots.iter().map(|plot| plot.file.as_str()).collect();
        assert_eq!(files, ["sweep-tfr.svg", "sweep-memory.svg"]);
        let lines = |plot: &Plot| {
            let line = |line: &Series| line.points.iter().map(|it| (it.x, it.y)).collect();
            plot.chart.series.iter().map(line).collect::<Vec<Vec<_>>>()
        };
        assert_eq!(lines(&plots[0]), [[(1.0, 50.0), (2.0, 25.0)]]);
        assert_eq!(lines(&plots[1]), [vec![(1.0, 2.0), (2.0, 2.0)], vec![(1.0, 2.0)]]);
    }

    #[test]
    fn the_text_is_the_setting_the_charts_and_the_table() {
        let mut results = results();
        results.rows[0].json_only = true;
        results.below = "Left out: c.\n".to_owned();
        let table = "| series | x |  TFR | memory, MB | hosts |\n\
                     |--------|--:|-----:|-----------:|------:|\n\
                     | b      | 1 |    - |        2.0 |     7 |\n\
                     | a      | 2 | 25 % |        2.0 |     7 |\n";
        let images = "![TFR](sweep-tfr.svg)\n\n![memory, MB](sweep-memory.svg)\n\n";
        assert_eq!(results.text(false), format!("One thread.\n\n{table}\nLeft out: c.\n\n"));
        assert!(results.text(true).starts_with(&format!("One thread.\n\n{images}{table}")));
    }

    #[test]
    fn lines_stand_under_their_headings() {
        let results = results();
        let head =
            "| series | x | TFR | memory, MB | hosts |\n|--------|--:|----:|-----------:|------:|";
        assert_eq!(results.head(), head);
        assert_eq!(results.line(&results.rows[1]), "| b      | 1 |   - |        2.0 |     7 |");
    }

    #[test]
    fn every_metric_of_every_row_is_an_object_with_its_settings() {
        let objects: Vec<_> = results().figures().collect();
        assert_eq!(objects.len(), 6);
        let tfr = json!({ "metric": "tfr", "value": null, "unit": "%", "seed": 1, "series": "b" });
        assert_eq!(objects[2], tfr);
        assert_eq!(objects[1]["value"], 2e6);
        let results = results();
        let row = json!({ "tfr": 50.0, "memory_bytes": 2e6, "seed": 1, "series": "a" });
        assert_eq!(results.object(&results.rows[0]), row);
    }
}

//! Tables, charts and JSON of rows of figures.
//!
//! Shape: [`Results`], columns and [`Row`]s, from which all follows. Invariant: a row has a cell for
//! each column, and equal results give equal bytes.

use super::column::{Cell, Column, Details};
use crate::plot::{Axis, Chart, Plot, Point, Scale, Series};
use crate::table::Table;
use serde_json::{Value, json};

/// What came out of a sweep, a table.
#[derive(Default)]
pub(crate) struct Results {
    /// The place in the page, and the begin of the names of the charts' files.
    pub(crate) place: String,
    pub(crate) heading: String,
    /// What all rows have in common.
    pub(crate) setting: String,
    /// Text above and below the table, with a line break at its end.
    pub(crate) above: String,
    pub(crate) below: String,
    /// Headings of the names of rows; the second one is the label of the x axis.
    pub(crate) names: Vec<&'static str>,
    pub(crate) columns: &'static [Column],
    pub(crate) rows: Vec<Row>,
    /// Charts beside those of the columns.
    pub(crate) plots: Vec<Plot>,
    /// What all objects in JSON have.
    pub(crate) details: Details,
}

/// A system, or one place of one series.
#[derive(Default)]
pub(crate) struct Row {
    /// Its first cells: the system or series, and the place.
    pub(crate) names: Vec<String>,
    /// The place on the x axis, where there are charts.
    pub(crate) x: f64,
    pub(crate) cells: Vec<Cell>,
    /// What its objects in JSON have.
    pub(crate) details: Details,
    /// Whether tables and charts leave it out.
    pub(crate) json_only: bool,
}

impl Results {
    /// The setting, with `images` the charts, and the table.
    pub(super) fn text(&self, images: bool) -> String {
        let image =
            |plot: Plot| format!("![{}: {}]({})\n\n", self.heading, plot.chart.y.label, plot.file);
        let plots = if images { self.plots() } else { Vec::new() };
        let images: String = plots.into_iter().map(image).collect();
        let Self { setting, above, below, .. } = self;
        let [above, below] = [above, below].map(|text| {
            if text.is_empty() { String::new() } else { format!("{}\n\n", text.trim_end()) }
        });
        format!("{setting}.\n\n{above}{images}{}\n{below}", self.table())
    }

    fn table(&self) -> Table {
        let headings = self.columns.iter().map(|column| column.heading);
        let headings: Vec<_> = self.names.iter().copied().chain(headings).collect();
        let mut table = Table::new(&headings);
        for row in self.shown() {
            let cells = self.columns.iter().zip(&row.cells).map(|(column, cell)| column.text(cell));
            table.row(row.names.iter().cloned().chain(cells).collect());
        }
        table
    }

    fn shown(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.json_only)
    }

    /// The charts of the columns, and the others.
    pub(super) fn plots(&self) -> Vec<Plot> {
        let of_columns = (0..self.columns.len()).filter_map(|column| self.plot(column));
        of_columns.chain(self.plots.iter().cloned()).collect()
    }

    /// The chart of a column, if it has one: a line for each series.
    fn plot(&self, number: usize) -> Option<Plot> {
        let column = &self.columns[number];
        let curve = column.curve?;
        let points = self.shown().filter_map(|row| {
            let Cell { value, half, .. } = row.cells[number];
            let y = column.charted(value?);
            Some((row.names[0].clone(), Point { x: row.x, y, error: half }))
        });
        let y = Axis { label: curve.label, scale: curve.scale };
        Some(self.plot_of(curve.file, y, Series::by_name(points)))
    }

    /// A chart along the sweep.
    pub(crate) fn plot_of(&self, file: &str, y: Axis, series: Vec<Series>) -> Plot {
        let x = Axis { label: self.names[1], scale: Scale::Logarithmic };
        let title = format!("{}: {}", self.heading, self.setting);
        Plot { file: format!("{}-{file}.svg", self.place), chart: Chart { title, x, y, series } }
    }

    /// An object for each value, with everything that it depends on.
    pub(super) fn metrics(&self) -> impl Iterator<Item = Value> {
        self.rows.iter().flat_map(move |row| {
            let cells = self.columns.iter().zip(&row.cells);
            cells.filter_map(move |(column, cell)| self.object(column, row, cell))
        })
    }

    fn object(&self, column: &Column, row: &Row, cell: &Cell) -> Option<Value> {
        let (metric, unit) = column.metric?;
        let mut object = json!({ "metric": metric, "value": cell.value, "unit": unit });
        for (name, value) in self.details.iter().chain(&row.details).chain(&cell.details) {
            object[*name] = value.clone();
        }
        Some(object)
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
        let row = |series: &str, x: f64, ratio| Row {
            names: vec![series.to_owned(), format!("{x}")],
            x,
            cells: vec![Cell::ratio(ratio), 2e6.into(), 7.0.into()],
            details: vec![("series", series.into())],
            ..Row::default()
        };
        let rows = [row("a", 1.0, Some(0.5)), row("b", 1.0, None), row("a", 2.0, Some(0.25))];
        Results {
            place: "sweep".to_owned(),
            heading: "Errors".to_owned(),
            setting: "One thread".to_owned(),
            names: vec!["series", "x"],
            columns: COLUMNS,
            rows: rows.into(),
            details: vec![("seed", 1.into())],
            ..Results::default()
        }
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
        let images = "![Errors: TFR](sweep-tfr.svg)\n\n![Errors: memory, MB](sweep-memory.svg)\n\n";
        assert_eq!(results.text(false), format!("One thread.\n\n{table}\nLeft out: c.\n\n"));
        assert!(results.text(true).starts_with(&format!("One thread.\n\n{images}{table}")));
    }

    #[test]
    fn every_metric_of_every_row_is_an_object_with_its_settings() {
        let objects: Vec<_> = results().metrics().collect();
        assert_eq!(objects.len(), 6);
        let tfr = json!({ "metric": "tfr", "value": null, "unit": "%", "seed": 1, "series": "b" });
        assert_eq!(objects[2], tfr);
        assert_eq!(objects[1]["value"], 2e6);
    }
}

//! Line charts as SVG.
//!
//! A chart has the same bytes on every machine, because this module does not measure text widths, which depend on the
//! installed fonts. Values that an axis cannot show are omitted: infinite values, NaN, and non-positive values on a
//! logarithmic axis.

use std::ops::Range;

use anyhow::{Context, Result};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;

const SIZE: (u32, u32) = (860, 460);
/// Height of the title and the legend above the plot, in pixels.
const HEAD: i32 = 62;
/// Approximate width of a letter in the legend, in pixels.
const LETTER: i32 = 8;
/// Colours that colour-blind readers can distinguish (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// Maximum number of points in a series that is drawn with marks.
const MOST_MARKS: usize = 40;

#[derive(Clone)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// The series in drawing order. The first six have distinct colours.
    pub(crate) series: Vec<Series>,
}

#[derive(Clone)]
pub(crate) struct Plot {
    pub(crate) file: String,
    pub(crate) chart: Chart,
}

#[derive(Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    pub(crate) scale: Scale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Logarithmic,
}

#[derive(Clone)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Half the length of the vertical error bar, or 0 if there is no error bar.
    pub(crate) error: f64,
}

impl Series {
    /// Returns a series for each name, in the order in which the names first appear.
    pub(crate) fn by_name(points: impl IntoIterator<Item = (String, Point)>) -> Vec<Self> {
        let mut lines = Vec::new();
        points.into_iter().for_each(|(name, point)| Self::add(&mut lines, &name, point));
        lines
    }

    pub(crate) fn add(lines: &mut Vec<Self>, name: &str, point: Point) {
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Self { name: name.to_owned(), points: vec![point] }),
        }
    }
}

impl Point {
    /// Returns the lower and upper end of the error bar. If a logarithmic axis cannot show the lower end, the bar
    /// starts at the point.
    fn bar(self, scale: Scale) -> [f64; 2] {
        let low = self.y - self.error;
        [if scale.shows(low) { low } else { self.y }, self.y + self.error]
    }
}

impl Chart {
    pub(crate) fn svg(&self) -> Result<String> {
        let mut text = String::new();
        self.draw(&mut text).context("cannot draw the chart")?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> Result<()> {
        let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (head, body) = root.split_vertically(HEAD);
        self.draw_head(&head)?;
        let (x, y) = (self.horizontal(), self.vertical());
        let mut plot = ChartBuilder::on(&body)
            .margin_left(10)
            .margin_right(24)
            .margin_bottom(6)
            .x_label_area_size(48)
            .y_label_area_size(58)
            .build_cartesian_2d(x, y)?;
        plot.configure_mesh()
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .label_style(("sans-serif", 15))
            .axis_desc_style(("sans-serif", 17))
            .draw()?;
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let points = self.shown(series);
            let line = points.iter().map(|point| (point.x, point.y));
            plot.draw_series(LineSeries::new(line.clone(), colour.stroke_width(2)))?;
            let marks = line.filter(|_| points.len() <= MOST_MARKS);
            plot.draw_series(marks.map(|place| Circle::new(place, 3, colour.filled())))?;
            let bars = points.iter().filter(|point| point.error > 0.0);
            plot.draw_series(bars.map(|point| {
                let ends = point.bar(self.y.scale).map(|end| (point.x, end));
                PathElement::new(ends, colour.mix(0.5))
            }))?;
        }
        drop(plot);
        Ok(root.present()?)
    }

    fn draw_head(&self, head: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<()> {
        head.draw(&Text::new(self.title.as_str(), (68, 10), ("sans-serif", 20)))?;
        let mut left = 68;
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let line = [(left, 47), (left + 24, 47)];
            head.draw(&PathElement::new(line, colour.stroke_width(3)))?;
            head.draw(&Text::new(series.name.as_str(), (left + 30, 40), ("sans-serif", 16)))?;
            left += 54 + LETTER * series.name.chars().count() as i32;
        }
        Ok(())
    }

    fn shown(&self, series: &Series) -> Vec<Point> {
        let shown = |point: &&Point| self.x.scale.shows(point.x) && self.y.scale.shows(point.y);
        series.points.iter().filter(shown).copied().collect()
    }

    fn horizontal(&self) -> Span {
        let points = self.series.iter().flat_map(|series| self.shown(series));
        Span::around(self.x.scale, points.map(|point| point.x))
    }

    /// Returns the span of the y axis. A linear y axis includes 0, so that heights are proportional to values.
    fn vertical(&self) -> Span {
        let scale = self.y.scale;
        let points = self.series.iter().flat_map(|series| self.shown(series));
        let ends = points.flat_map(|point| point.bar(scale));
        Span::around(scale, ends.chain((scale == Scale::Linear).then_some(0.0)))
    }
}

impl Scale {
    fn shows(self, value: f64) -> bool {
        value.is_finite() && (self == Self::Linear || value > 0.0)
    }
}

/// Maximum number of labels on a linear axis.
const MOST_LABELS: usize = 10;
/// Maximum number of evenly spaced labels on a logarithmic axis that has fewer than three round labels.
const FEW_LABELS: usize = 6;
/// Maximum length, in decades, of a logarithmic axis that also has labels at 2 and 5 times powers of ten.
const FEW_DECADES: f64 = 3.0;

#[derive(Clone, Debug)]
pub(super) struct Span {
    scale: Scale,
    range: Range<f64>,
}

impl Span {
    /// Returns the span of `values`, all of which `scale` can show. Without values, the span is arbitrary.
    pub(super) fn around(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().reduce(f64::min).unwrap_or(1.0);
        let high = values.reduce(f64::max).unwrap_or(1.0);
        let range = match scale {
            Scale::Linear if low < high => {
                let margin = (high - low) / 20.0;
                // An axis that starts at 0 has a label there.
                if low < 0.0 { low - margin..high + margin } else { low..high + margin }
            }
            Scale::Linear => low..high + 1.0,
            Scale::Logarithmic => low / 1.2..high * 1.2,
        };
        Self { scale, range }
    }

    /// Returns the position of `value` along the axis, from 0 at its start to 1 at its end.
    fn share(&self, value: f64) -> f64 {
        let place = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => libm::log10(value),
        };
        let (start, end) = (place(self.range.start), place(self.range.end));
        (place(value) - start) / (end - start)
    }

    /// Returns the multiples of a round step in the span. The step is the smallest that gives at most `most` labels.
    fn even_labels(&self, most: usize) -> Vec<f64> {
        let length = self.range.end - self.range.start;
        let mut steps = round_numbers(libm::floor(libm::log10(length)) as i32 - 2);
        let Some(step) = steps.find(|step| length / step < most as f64) else { return Vec::new() };
        let first = libm::ceil(self.range.start / step) as i64;
        let multiples = (first..).map(|multiple| multiple as f64 * step);
        multiples.take_while(|&value| value <= self.range.end).collect()
    }

    /// Returns the round numbers in the span, or only the powers of ten if the span is longer than [`FEW_DECADES`].
    fn decade_labels(&self) -> Vec<f64> {
        let first = libm::floor(libm::log10(self.range.start)) as i32;
        let decades = libm::log10(self.range.end / self.range.start);
        let every = if decades <= FEW_DECADES { 1 } else { 3 };
        let labels = round_numbers(first).step_by(every);
        let labels = labels.take_while(|&value| value <= self.range.end);
        labels.filter(|&value| value >= self.range.start).collect()
    }
}

/// Returns 1, 2 and 5 times the powers of ten, starting at 10 to the power of `decade`.
fn round_numbers(decade: i32) -> impl Iterator<Item = f64> {
    (decade..)
        .flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * libm::pow(10.0, decade.into())))
}

impl Ranged for Span {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + libm::round(self.share(*value) * f64::from(limit.1 - limit.0)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.scale {
            Scale::Linear => self.even_labels(hint.max_num_points().clamp(2, MOST_LABELS)),
            Scale::Logarithmic => {
                let labels = self.decade_labels();
                if labels.len() < 3 { self.even_labels(FEW_LABELS) } else { labels }
            }
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Span {
    /// Formats a value without trailing zeros after the decimal point. Values of 10,000 or more have the suffix k or M.
    fn format(value: &f64) -> String {
        let (value, suffix) = match value.abs() {
            1e6.. => (value / 1e6, "M"),
            1e4.. => (value / 1e3, "k"),
            _ => (*value, ""),
        };
        let digits = format!("{value:.6}");
        format!("{}{suffix}", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale, points: &[(f64, f64)]) -> Chart {
        let point = |&(x, y): &(f64, f64)| Point { x, y, error: 0.0 };
        Chart {
            title: "a <title>".into(),
            x: Axis { label: "the x", scale: Scale::Linear },
            y: Axis { label: "the y", scale },
            series: vec![
                Series { name: "first".into(), points: points.iter().map(point).collect() },
                Series { name: "second".into(), points: Vec::new() },
            ],
        }
    }

    fn marks(svg: &str) -> usize {
        svg.matches("<circle").count()
    }

    #[test]
    fn names_and_labels_are_texts_of_a_whole_document() {
        let svg = chart(Scale::Linear, &[(1.0, 2.0), (2.0, 3.0)]).svg().unwrap();
        for text in ["first", "second", "the x", "the y", "a &lt;title&gt;"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn values_without_a_place_are_left_out() {
        let points = [(1.0, 2.0), (2.0, 0.0), (3.0, f64::NAN), (f64::INFINITY, 1.0), (4.0, 1.0)];
        assert_eq!(marks(&chart(Scale::Linear, &points).svg().unwrap()), 3);
        assert_eq!(marks(&chart(Scale::Logarithmic, &points).svg().unwrap()), 2);
        for scale in [Scale::Linear, Scale::Logarithmic] {
            assert_eq!(marks(&chart(scale, &[]).svg().unwrap()), 0);
        }
    }

    #[test]
    fn a_long_series_is_a_line_without_marks() {
        let points: Vec<_> = (0..=MOST_MARKS).map(|x| (x as f64, 1.0)).collect();
        assert_eq!(marks(&chart(Scale::Linear, &points).svg().unwrap()), 0);
        assert_eq!(marks(&chart(Scale::Linear, &points[1..]).svg().unwrap()), MOST_MARKS);
    }

    #[test]
    fn errors_are_bars_that_the_axis_has_room_for() {
        let bare = chart(Scale::Linear, &[(1.0, 2.0), (2.0, 3.0)]);
        let mut barred = chart(Scale::Linear, &[(1.0, 2.0), (2.0, 3.0)]);
        barred.series[0].points[0].error = 7.0;
        let lines = |chart: &Chart| chart.svg().unwrap().matches("<polyline").count();
        assert!(lines(&barred) > lines(&bare));
        let range = barred.vertical().range();
        assert!(range.start <= -5.0 && range.end >= 9.0, "{range:?}");
        barred.y.scale = Scale::Logarithmic;
        assert!(barred.vertical().range().start > 1.0, "a bar below 0 does not stretch the axis");
    }

    fn labels(scale: Scale, values: [f64; 2]) -> Vec<String> {
        let points = Span::around(scale, values.into_iter()).key_points(100_usize);
        points.iter().map(Span::format).collect()
    }

    #[test]
    fn labels_are_round_and_few() {
        assert_eq!(
            labels(Scale::Linear, [0.0, 0.9]).join(" "),
            "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9"
        );
        assert_eq!(labels(Scale::Linear, [300.0, 599.0]).join(" "), "300 350 400 450 500 550 600");
        assert_eq!(labels(Scale::Linear, [-3.0, 2.0]).join(" "), "-3 -2 -1 0 1 2");
        assert_eq!(labels(Scale::Logarithmic, [0.1, 9.0]).join(" "), "0.1 0.2 0.5 1 2 5 10");
        assert_eq!(labels(Scale::Logarithmic, [0.55, 0.8]).join(" "), "0.5 0.6 0.7 0.8 0.9");
        assert_eq!(labels(Scale::Logarithmic, [64.0, 2e6]).join(" "), "100 1000 10k 100k 1M");
    }

    #[test]
    fn ends_lie_at_the_ends_and_decades_are_equally_long() {
        let span = Span { scale: Scale::Logarithmic, range: 1.0..10_000.0 };
        let places = [1.0, 10.0, 100.0, 10_000.0].map(|value| span.map(&value, (400, 0)));
        assert_eq!(places, [400, 300, 200, 0]);
        let span = Span { scale: Scale::Linear, range: -1.0..3.0 };
        assert_eq!([-1.0, 0.0, 3.0].map(|value| span.map(&value, (0, 400))), [0, 100, 400]);
    }

    #[test]
    fn one_value_alone_has_a_span() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let span = Span::around(scale, [5.0].into_iter());
            assert!(span.range.start <= 5.0 && 5.0 < span.range.end);
            let span = Span::around(scale, std::iter::empty());
            assert!(span.range.start < span.range.end);
        }
    }
}

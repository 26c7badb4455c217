//! Where values lie on an axis, and which of them are labelled.
//!
//! Shape: [`Span`], the coordinate of both kinds of axes. Invariant: its ends differ, and
//! are positive on a logarithmic axis, so that every value has a place; labels are 1, 2 or 5
//! times a power of ten.

use super::Scale;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Labels of an axis at most.
const MOST_LABELS: usize = 10;
/// Labels at most of a logarithmic axis that is shorter than its decades.
const FEW_LABELS: usize = 6;
/// Decades of a logarithmic axis at most in which 2 and 5 are labelled.
const FEW_DECADES: f64 = 3.0;

/// From the smallest to the largest value of an axis.
#[derive(Clone, Debug)]
pub(super) struct Span {
    scale: Scale,
    range: Range<f64>,
}

impl Span {
    /// The span of `values`, all of which `scale` can show; without values, some span.
    pub(super) fn around(scale: Scale, values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().reduce(f64::min).unwrap_or(1.0);
        let high = values.reduce(f64::max).unwrap_or(1.0);
        let range = match scale {
            Scale::Linear if low < high => {
                let margin = (high - low) / 20.0;
                // An axis that begins at 0 says so.
                if low < 0.0 { low - margin..high + margin } else { low..high + margin }
            }
            Scale::Linear => low..high + 1.0,
            Scale::Logarithmic => low / 1.2..high * 1.2,
        };
        Self { scale, range }
    }

    /// Share of the axis before `value`.
    fn share(&self, value: f64) -> f64 {
        let place = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => libm::log10(value),
        };
        let (start, end) = (place(self.range.start), place(self.range.end));
        (place(value) - start) / (end - start)
    }

    /// Multiples of the smallest round step of which few enough fit.
    fn even_labels(&self, most: usize) -> Vec<f64> {
        let length = self.range.end - self.range.start;
        let mut steps = round_numbers(libm::floor(libm::log10(length)) as i32 - 2);
        let Some(step) = steps.find(|step| length / step < most as f64) else { return Vec::new() };
        let first = libm::ceil(self.range.start / step) as i64;
        let multiples = (first..).map(|multiple| multiple as f64 * step);
        multiples.take_while(|&value| value <= self.range.end).collect()
    }

    /// Round numbers; where the span has many decades, powers of ten alone.
    fn decade_labels(&self) -> Vec<f64> {
        let first = libm::floor(libm::log10(self.range.start)) as i32;
        let decades = libm::log10(self.range.end / self.range.start);
        let every = if decades <= FEW_DECADES { 1 } else { 3 };
        let labels = round_numbers(first).step_by(every);
        let labels = labels.take_while(|&value| value <= self.range.end);
        labels.filter(|&value| value >= self.range.start).collect()
    }
}

/// 1, 2 and 5 times the powers of ten from 10 to the `decade` on.
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
    /// With a suffix from 10,000 on, and no digits that say nothing.
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

//! An SVG picture that consists of shapes and texts. Its colours are legible on light and dark pages.

use std::fmt::{Display, Write as _};

/// Colour of texts and frames.
pub(super) const TEXT: &str = "#757d86";
/// Colour of the subject.
pub(super) const OWN: &str = "#d55e00";
/// Colour of other hosts.
pub(super) const OTHER: &str = "#2f81c7";

/// Width of all pictures, in pixels.
pub(super) const WIDTH: u32 = 860;

pub(super) struct Svg {
    height: u32,
    body: String,
}

impl Svg {
    pub(super) fn new(height: u32) -> Self {
        Self { height, body: String::new() }
    }

    pub(super) fn add(&mut self, element: impl Display) {
        let _ = writeln!(self.body, "{element}");
    }

    pub(super) fn text(&mut self, x: f64, y: f64, text: impl Display) {
        self.add(format_args!("<text x=\"{x}\" y=\"{y}\">{text}</text>"));
    }

    pub(super) fn styled(&mut self, x: f64, y: f64, style: &str, text: impl Display) {
        self.add(format_args!("<text x=\"{x}\" y=\"{y}\" {style}>{text}</text>"));
    }

    /// Adds a row of texts, each of which ends at its `x` coordinate.
    pub(super) fn row(&mut self, y: f64, style: &str, columns: &[(f64, String)]) {
        for (x, text) in columns {
            self.styled(*x, y, &format!("text-anchor=\"end\" {style}"), text);
        }
    }

    pub(super) fn rect(&mut self, [x, y, width, height]: [f64; 4], style: &str) {
        self.add(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {style}/>"
        ));
    }

    pub(super) fn path(&mut self, path: &str, style: &str) {
        self.add(format_args!("<path d=\"{path}\" {style}/>"));
    }

    pub(super) fn finish(self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" \
             font-family=\"sans-serif\" font-size=\"12\" fill=\"{TEXT}\">\n{}</svg>\n",
            self.height, self.body
        )
    }
}

pub(super) fn filled(colour: &str, opacity: f64) -> String {
    format!("fill=\"{colour}\" fill-opacity=\"{opacity:.2}\"")
}

pub(super) fn stroked(colour: &str, width: f64) -> String {
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"")
}

//! When an alert starts, and when it ends.

use serde::{Deserialize, Serialize};

/// The terms by which an alert starts, ends and is reported again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// θ: opposite hosts at which an alert starts. A count is compared less its standard error, so that noise alone
    /// starts none.
    pub threshold: f64,
    /// The part of `threshold` below which an alert ends, above 0 and below 1; less where that is not four standard errors
    /// below `threshold`.
    pub down: f64,
    /// Slices at or above `threshold`, of the last `of_slices`, that start an alert.
    pub for_slices: u32,
    /// See `for_slices`; 1 to 32.
    pub of_slices: u32,
    /// Milliseconds below `down` after which an alert ends.
    pub hold_ms: u64,
    /// Milliseconds after which an alert that goes on is told again.
    pub repeat_ms: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            threshold: 1024.0,
            down: 0.8,
            for_slices: 3,
            of_slices: 5,
            hold_ms: 60_000,
            repeat_ms: 300_000,
        }
    }
}

/// A value of [`Terms`] that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}: give a number {range}")]
pub struct BadTerms {
    /// Name of the field.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// What it may be.
    pub range: &'static str,
}

impl Terms {
    /// Checks all numbers, and returns the terms.
    pub fn checked(self) -> Result<Self, BadTerms> {
        let Self { threshold, down, for_slices, of_slices, .. } = self;
        for (name, value, is_good, range) in [
            ("threshold", threshold, threshold >= 1.0 && threshold.is_finite(), "of at least 1"),
            ("down", down, down > 0.0 && down < 1.0, "above 0 and below 1"),
            ("of_slices", f64::from(of_slices), (1..=32).contains(&of_slices), "from 1 to 32"),
            (
                "for_slices",
                f64::from(for_slices),
                (1..=of_slices).contains(&for_slices),
                "from 1 to of_slices",
            ),
        ] {
            if !is_good {
                return Err(BadTerms { name, value, range });
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Terms;

    #[test]
    fn terms_out_of_range_are_named() {
        let terms = Terms::default();
        let errors = [
            (Terms { threshold: 0.0, ..terms }, "threshold"),
            (Terms { threshold: f64::NAN, ..terms }, "threshold"),
            (Terms { down: 1.0, ..terms }, "down"),
            (Terms { of_slices: 33, ..terms }, "of_slices"),
            (Terms { for_slices: 6, ..terms }, "for_slices"),
            (Terms { for_slices: 0, ..terms }, "for_slices"),
        ]
        .map(|(bad, name)| {
            let error = bad.checked().unwrap_err();
            assert_eq!(error.name, name);
            format!("{error}\n")
        });
        insta::assert_snapshot!(errors.concat());
        assert_eq!(terms.checked(), Ok(terms));
    }
}

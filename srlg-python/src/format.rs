//! How reports and tables write intervals and names.

use std::fmt::Debug;

/// Number of standard errors between an estimate and each end of the 95 % interval.
pub(crate) const SIGMAS: f64 = 1.96;

/// Returns the name of an enum variant in `kebab-case`. The variant must not have fields.
pub(crate) fn kebab_case(variant: impl Debug) -> String {
    let mut name = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

//! Features that a build of this program may lack.

/// Returns the error about `what`, which needs the feature `feature` of the package `srlg-cli`.
#[must_use]
pub fn missing(what: &str, feature: &str) -> String {
    format!(
        "{what}: this program was built without the feature {feature}; use a package of srlg, or build with `cargo build --release -p srlg-cli --features {feature}`"
    )
}

//! [`ConfigError`]: which rule a configuration breaks.

use core::fmt;

/// Names a rule that a [`Config`](super::Config) breaks, with its values and the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum ConfigError {
    #[error("threshold is {threshold}: give at least width {width} of the RSRA")]
    Threshold { threshold: u32, width: u32 },
    #[error("window is {window} slices: give 1 to {max}, below the largest age of a recorder")]
    Window { window: u32, max: u32 },
    #[error(
        "column_bits of the RSRA are {bits}: give 12 to 24 (the table that regains hosts has 2^(32 - column_bits) entries)"
    )]
    RoughColumnBits { bits: u32 },
    #[error("rows of the RSRA are {rows}: give 3 to 16")]
    RoughRows { rows: u32 },
    #[error("width of the RSRA is {width}: give 2, 4 or 8")]
    RoughWidth { width: u32 },
    #[error("bit_stride of the RSRA is {stride}: give at least 1 and less than column_bits {bits}")]
    BitStride { stride: u32, bits: u32 },
    #[error(
        "rows of the RSRA cover {covered} address bits, need 32: raise rows, bit_stride or column_bits"
    )]
    UncoveredBits { covered: u32 },
    #[error("cell_bits are {bits}: give 12 to 24")]
    CellBits { bits: u32 },
    #[error("threshold is {threshold}: give at least {least}")]
    CellsThreshold { threshold: u32, least: u32 },
    #[error("rows of the linear estimator array are {rows}: give 1 to 8")]
    LinearRows { rows: u32 },
    #[error("columns of the linear estimator array are 0: give at least 1")]
    LinearColumns,
    #[error(
        "stride of the linear estimator array is {stride}: give at least 1 and at most linear_width {width}"
    )]
    LinearStride { stride: u32, width: u32 },
    #[error("linear_width is {width}: give at least 8, and at least half of threshold {threshold}")]
    LinearWidth { width: u32, threshold: u32 },
    #[error(
        "{recorders} recorders in the linear estimator array, at most 2^32 - 1: lower its columns, stride, rows or lines"
    )]
    TooManyRecorders { recorders: u64 },
    #[error("tags are {tags}: give 64 to 16383")]
    Tags { tags: u32 },
    #[error("lines are {lines}: give at least linear_width / 32 = {least}")]
    Lines { lines: u32, least: u32 },
    #[error("threshold is {threshold}: give at most {max} with tagged recorders")]
    TaggedThreshold { threshold: u32, max: u32 },
    #[error("linear_width is {width}: give a multiple of 32, at most {max}, with tagged recorders")]
    TaggedWidth { width: u32, max: u32 },
    #[error("{memory} bytes hold no linear estimator: give at least {least}")]
    Memory { memory: usize, least: usize },
    #[error(
        "{} cells miss {missed} of 10,000 hosts with {threshold} peers: a plan may miss 80, {}",
        1_u64 << .cell_bits, WayOut(.least)
    )]
    PlanCells { cell_bits: u32, threshold: u32, missed: u32, least: Option<usize> },
    #[error(
        "{distinct_pairs} distinct pairs may make so many hosts near threshold {threshold} that {limit} candidates leave out more than 5 of 10,000 hosts of twice the threshold: {}",
        WayOut(.least)
    )]
    PlanCandidates { distinct_pairs: u64, threshold: u32, limit: u32, least: Option<usize> },
    #[error(
        "{distinct_pairs} distinct pairs are more than 5 for each of {recorders} recorders of the linear estimator array: {}",
        WayOut(.least)
    )]
    PlanLoad { distinct_pairs: u64, recorders: u64, least: Option<usize> },
    #[error(
        "the standard error of a host of {hosts} opposite hosts would be {percent} % of threshold {threshold}: a plan may have {most} %, {}",
        WayOut(.least)
    )]
    PlanError { hosts: u32, percent: u64, threshold: u32, most: u32, least: Option<usize> },
    #[error("hot_limit of the RSRA is 0: give at least 1")]
    HotLimit,
    #[error("candidate_limit is {limit}: give 1 to {max}")]
    CandidateLimit { limit: u32, max: u32 },
}

/// What to do where a memory is too small for a plan.
struct WayOut<'a>(&'a Option<usize>);

impl fmt::Display for WayOut<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(least) => write!(out, "give at least {least} bytes or a larger threshold"),
            None => out.write_str("no memory is enough, give a larger threshold"),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::mem::discriminant;
    use std::collections::HashSet;
    use std::format;
    use std::string::String;

    use super::ConfigError::*;

    #[test]
    fn texts_of_errors() {
        let least = Some(5_650_432);
        let errors = [
            Threshold { threshold: 7, width: 8 },
            Window { window: 65_535, max: 65_534 },
            RoughColumnBits { bits: 11 },
            RoughRows { rows: 17 },
            RoughWidth { width: 16 },
            BitStride { stride: 17, bits: 17 },
            UncoveredBits { covered: 29 },
            CellBits { bits: 25 },
            CellsThreshold { threshold: 7, least: 8 },
            LinearRows { rows: 9 },
            LinearColumns,
            LinearStride { stride: 0, width: 16_384 },
            LinearWidth { width: 16_384, threshold: 32_769 },
            TooManyRecorders { recorders: 1 << 32 },
            Tags { tags: 63 },
            Lines { lines: 767, least: 768 },
            TaggedThreshold { threshold: 114_689, max: 114_688 },
            TaggedWidth { width: 16_400, max: 57_344 },
            Memory { memory: 57_343, least: 57_344 },
            PlanCells { cell_bits: 13, threshold: 64, missed: 3935, least },
            PlanCells { cell_bits: 24, threshold: 8, missed: 130, least: None },
            PlanCandidates { distinct_pairs: 100, threshold: 64, limit: 9, least },
            PlanLoad { distinct_pairs: 100, recorders: 10, least },
            PlanError { hosts: 128, percent: 38, threshold: 64, most: 30, least },
            HotLimit,
            CandidateLimit { limit: 0, max: 65_536 },
        ];
        let variants: HashSet<_> = errors.iter().map(discriminant).collect();
        let attributes =
            include_str!("error.rs").lines().filter(|it| it.starts_with("    #[error("));
        assert_eq!(variants.len(), attributes.count(), "a variant is not in the list");
        let texts = errors.iter().map(|error| format!("{error:?}\n    {error}\n"));
        insta::assert_snapshot!(texts.collect::<String>());
    }
}

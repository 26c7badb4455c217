//! [`ConfigError`]: a rule that a configuration breaks.

use core::fmt;

/// A rule that a [`Config`](super::Config) breaks, with the values that break it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each message states the rule and names its fields")]
pub enum ConfigError {
    /// The threshold is below the width of the RSRA, the finder of the paper's scheme.
    #[error("threshold must be at least {width}, the width of the RSRA, got {threshold}")]
    #[non_exhaustive]
    Threshold { threshold: u32, width: u32 },
    /// The window is empty or too long.
    #[error("window must be 1 to {max} slices, got {window}")]
    #[non_exhaustive]
    Window { window: u32, max: u32 },
    /// `RsraSizes::column_bits` is out of range.
    #[error("column_bits of the RSRA must be 12 to 24, got {bits}")]
    #[non_exhaustive]
    RoughColumnBits { bits: u32 },
    /// `RsraSizes::rows` is out of range.
    #[error("rows of the RSRA must be 3 to 16, got {rows}")]
    #[non_exhaustive]
    RoughRows { rows: u32 },
    /// `RsraSizes::width` is not 2, 4 or 8.
    #[error("width of the RSRA must be 2, 4 or 8, got {width}")]
    #[non_exhaustive]
    RoughWidth { width: u32 },
    /// `RsraSizes::bit_stride` is out of range.
    #[error(
        "bit_stride of the RSRA must be at least 1 and less than column_bits {bits}, got {stride}"
    )]
    #[non_exhaustive]
    BitStride { stride: u32, bits: u32 },
    /// The rows of the RSRA do not cover all bits of an address.
    #[error(
        "rows of the RSRA must cover 32 address bits, got {covered}; raise rows, bit_stride or column_bits"
    )]
    #[non_exhaustive]
    UncoveredBits { covered: u32 },
    /// The number of cells is out of range.
    #[error("cell_bits must be 12 to 24, got {bits}")]
    #[non_exhaustive]
    CellBits { bits: u32 },
    /// The threshold is too small for the default scheme.
    #[error("threshold must be at least {least}, got {threshold}")]
    #[non_exhaustive]
    CellsThreshold { threshold: u32, least: u32 },
    /// The number of rows of the paper's counter is out of range.
    #[error("rows of the linear estimator array must be 1 to 8, got {rows}")]
    #[non_exhaustive]
    LinearRows { rows: u32 },
    /// The paper's counter has no columns.
    #[error("columns of the linear estimator array must be at least 1, got 0")]
    LinearColumns,
    /// The stride of the paper's counter is out of range.
    #[error("stride of the linear estimator array must be 1 to linear_width {width}, got {stride}")]
    #[non_exhaustive]
    LinearStride { stride: u32, width: u32 },
    /// `Config::linear_width` is below 8 or too small for the threshold.
    #[error(
        "linear_width must be at least 8 and at least half of threshold {threshold}, got {width}"
    )]
    #[non_exhaustive]
    LinearWidth { width: u32, threshold: u32 },
    /// The counter has too many recorders.
    #[error(
        "the linear estimator array must have at most 2^32 - 1 recorders, got {recorders}; lower its columns, stride, rows or lines"
    )]
    #[non_exhaustive]
    TooManyRecorders { recorders: u64 },
    /// The recorders need more memory than a process can address, which is possible only on 32-bit machines.
    #[error(
        "the recorders must fit into the address space of a process, got {bytes} bytes; lower the sizes of the arrays"
    )]
    #[non_exhaustive]
    AddressSpace { bytes: u64 },
    /// The number of tags is out of range.
    #[error("tags must be 64 to 16383, got {tags}")]
    #[non_exhaustive]
    Tags { tags: u32 },
    /// The counter has too few lines for `Config::linear_width`.
    #[error("lines must be at least {least} for this linear_width, got {lines}")]
    #[non_exhaustive]
    Lines { lines: u32, least: u32 },
    /// The threshold is too large for the default scheme.
    #[error("threshold must be at most {max} with tagged recorders, got {threshold}")]
    #[non_exhaustive]
    TaggedThreshold { threshold: u32, max: u32 },
    /// `Config::linear_width` is too large or not a multiple of 32.
    #[error(
        "linear_width must be a multiple of 32 and at most {max} with tagged recorders, got {width}"
    )]
    #[non_exhaustive]
    TaggedWidth { width: u32, max: u32 },
    /// A full linear estimator of `Config::linear_width` recorders may yield an estimate below the threshold, so the
    /// largest hosts might not be reported.
    #[error(
        "linear_width must be at least {least} for threshold {threshold} with tagged recorders, got {width}; raise linear_width or lower the threshold"
    )]
    #[non_exhaustive]
    FullEstimator { width: u32, threshold: u32, least: u32 },
    /// `Config::share` is not a power of two, or so large that too few peers of a host with θ peers would be counted.
    #[error("share must be a power of two from 1 to {max}, got {share}")]
    #[non_exhaustive]
    Share { share: u32, max: u32 },
    /// The memory of a plan is too small for the shortest linear estimator.
    #[error("memory must be at least {least} bytes, got {memory}")]
    #[non_exhaustive]
    Memory { memory: usize, least: usize },
    /// The finder of a plan would miss too many hosts.
    #[error(
        "{} cells would miss {missed} of 10,000 hosts with {threshold} peers (at most 80 are allowed); {}",
        1_u64 << .cell_bits, WayOut(.least)
    )]
    #[non_exhaustive]
    PlanCells { cell_bits: u32, threshold: u32, missed: u32, least: Option<usize> },
    /// The candidate limit of a plan would exclude too many hosts with 2θ peers.
    #[error(
        "with {distinct_pairs} distinct pairs, {limit} candidates may exclude more than 5 of 10,000 hosts with twice the threshold {threshold}; {}",
        WayOut(.least)
    )]
    #[non_exhaustive]
    PlanCandidates { distinct_pairs: u64, threshold: u32, limit: u32, least: Option<usize> },
    /// A plan would have too many touches per recorder.
    #[error(
        "{distinct_pairs} distinct pairs are too many for the {recorders} recorders of the linear estimator array (at most 2.7 each); {}",
        WayOut(.least)
    )]
    #[non_exhaustive]
    PlanLoad { distinct_pairs: u64, recorders: u64, least: Option<usize> },
    /// The standard error of a plan would be too large.
    #[error(
        "the standard error for a host with {hosts} peers would be {percent} % of threshold {threshold} (at most {most} % is allowed); {}",
        WayOut(.least)
    )]
    #[non_exhaustive]
    PlanError { hosts: u32, percent: u64, threshold: u32, most: u32, least: Option<usize> },
    /// No plan has a standard error as small as the one that was asked for. `least` is rounded up.
    #[error(
        "the standard error for a host with {threshold} peers must be at least {least}, the smallest that is possible in any memory"
    )]
    #[non_exhaustive]
    PlanStdError { threshold: u32, least: u32 },
    /// `RsraSizes::hot_limit` is 0.
    #[error("hot_limit of the RSRA must be at least 1, got 0")]
    HotLimit,
    /// `Config::candidate_limit` is out of range.
    #[error("candidate_limit must be 1 to {max}, got {limit}")]
    #[non_exhaustive]
    CandidateLimit { limit: u32, max: u32 },
}

/// The advice in the error for a plan that needs more memory or a larger threshold.
struct WayOut<'a>(&'a Option<usize>);

impl fmt::Display for WayOut<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(least) => write!(out, "use at least {least} bytes or a larger threshold"),
            None => out.write_str("use a larger threshold (no amount of memory is enough)"),
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
            AddressSpace { bytes: 1 << 32 },
            Tags { tags: 63 },
            Lines { lines: 767, least: 768 },
            TaggedThreshold { threshold: 114_689, max: 114_688 },
            TaggedWidth { width: 16_400, max: 57_344 },
            FullEstimator { width: 32, threshold: 64, least: 64 },
            Share { share: 3, max: 32 },
            Memory { memory: 57_343, least: 57_344 },
            PlanCells { cell_bits: 13, threshold: 64, missed: 3935, least },
            PlanCells { cell_bits: 24, threshold: 8, missed: 130, least: None },
            PlanCandidates { distinct_pairs: 100, threshold: 64, limit: 9, least },
            PlanLoad { distinct_pairs: 100, recorders: 10, least },
            PlanError { hosts: 128, percent: 38, threshold: 64, most: 30, least },
            PlanStdError { threshold: 64, least: 3 },
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

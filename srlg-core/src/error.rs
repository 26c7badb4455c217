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
    #[error(
        "linear_width is {width}: give a multiple of 32, at most {max}, with tagged recorders (and a threshold of \
         at most {})", 2 * max
    )]
    TaggedWidth { width: u32, max: u32 },
    #[error("{memory} bytes hold no linear estimator: give at least {least}")]
    Memory { memory: usize, least: usize },
    #[error(
        "{} cells miss {missed} of 10,000 hosts of {hosts} opposite hosts, twice the threshold: a plan may miss 5, {}",
        1_u64 << .cell_bits, WayOut(.least)
    )]
    PlanCells { cell_bits: u32, hosts: u32, missed: u32, least: Option<usize> },
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

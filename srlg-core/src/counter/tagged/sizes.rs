//! Fixed sizes of the tagged counter.

use crate::epoch::LARGEST_AGE;

/// Number of recorders in a line. A line has 64 bytes, which is the size of a cache line on most CPUs.
pub const LINE: u32 = 32;

/// Maximum number of positions in a fine region. Tags depend on the low 16 bits of a position, so the positions of a
/// fine region have different tags.
pub(crate) const MOST_POSITIONS: u32 = (1 << 16) - (1 << 13);

/// Number of ages that a tally distinguishes. A window always has fewer ages.
pub const AGES: usize = 512;

/// Minimum number of tags. With fewer tags, a tally would have too few bins for all ages.
pub(crate) const LEAST_TAGS: u32 = (LARGEST_AGE + 1) / (2 * AGES as u32);

/// Maximum number of tags. With more tags, the ages of touches and echoes would not fit into 16 bits.
pub(crate) const MOST_TAGS: u32 = LARGEST_AGE / 4;

//! Epochs: the unit of ages.
//!
//! An age has too few bits to count every slice of a long window, so ages count epochs of one or more slices. The
//! finder and the counter have separate epoch lengths:
//! [`FinderPart::epoch_slices`](crate::finder::FinderPart::epoch_slices) and
//! [`CounterSizes::epoch_slices`](crate::CounterSizes). Epochs are aligned to absolute slice numbers, so that all nodes
//! age their recorders at the same time.
//!
//! If a window does not start at an epoch boundary, it contains only a part of its oldest epoch. A [`Span`] contains
//! the number of slices in that part, and an estimate counts the epoch in proportion. The finder counts the whole
//! epoch, which can only add candidates.

/// Largest age of a 16-bit recorder, which means "long ago, or never".
pub(crate) const LARGEST_AGE: u32 = u16::MAX as u32;

/// The age of an event, in epochs of the finder and of the counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ages {
    /// Age in epochs of the finder.
    pub finder: u32,
    /// Age in epochs of the counter.
    pub counter: u32,
}

impl Ages {
    /// Ages that no recorder can represent.
    pub const FOREVER: Self = Self { finder: u32::MAX, counter: u32::MAX };
}

/// A window in epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Span {
    /// Number of ages that the finder's recorders can have in the window: 0 to `finder_ages - 1`.
    pub finder_ages: u32,
    /// Number of slices in the finder's youngest epoch that are in the window. It is at least 1.
    pub finder_youngest: u32,
    /// Number of slices in the finder's oldest epoch that are in the window. It is at least 1.
    pub finder_oldest: u32,
    /// Number of ages that the counter's recorders can have in the window: 0 to `ages - 1`. The oldest age may be only
    /// partly in the window.
    pub ages: u32,
    /// Number of slices in the counter's oldest epoch that are in the window. It is at least 1.
    pub oldest_slices: u32,
    /// Number of slices in the counter's oldest epoch. If this is the running epoch, only the slices so far are
    /// counted.
    pub oldest_length: u32,
}

/// Returns the maximum number of ages in a window of `window` slices. If epochs have several slices, the result is
/// `window / epoch`, rounded up, plus 1, because both ends of the window may cut an epoch.
pub(crate) const fn window_ages(window: u32, epoch: u32) -> u32 {
    if epoch == 1 { window } else { window.div_ceil(epoch) + 1 }
}

/// Returns the minimum number of slices per epoch at which a window of `window` slices contains at most `most_ages`
/// ages. `most_ages` must be 2 or more.
pub(crate) const fn shortest_epoch(window: u32, most_ages: u32) -> u32 {
    if window <= most_ages { 1 } else { window.div_ceil(most_ages - 1) }
}

impl Span {
    /// Creates the span of `ages` whole epochs of `slices` slices, for both the finder and the counter.
    #[must_use]
    pub const fn whole(ages: u32, slices: u32) -> Self {
        Self {
            finder_ages: ages,
            finder_youngest: slices,
            finder_oldest: slices,
            ages,
            oldest_slices: slices,
            oldest_length: slices,
        }
    }

    /// Returns the share of the counter's epoch with this `age` that is in the window.
    pub(crate) fn share(self, age: usize) -> f64 {
        if age + 1 < self.ages as usize {
            return 1.0;
        }
        f64::from(self.oldest_slices) / f64::from(self.oldest_length)
    }
}

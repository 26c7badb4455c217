//! Epochs: the unit of ages.
//!
//! An age of few bits cannot count every slice of a long window, so ages count epochs of several slices. The finder and
//! the counter have their own epochs, [`FinderPart::epoch_slices`](crate::finder::FinderPart::epoch_slices) and
//! [`CounterSizes::epoch_slices`](crate::CounterSizes). Epochs are aligned to the absolute number of a slice, so that
//! all nodes age their recorders at the same time.
//!
//! If a window does not start with an epoch, it contains only a part of its oldest epoch. A [`Span`] holds the number
//! of slices of that part, and an estimate counts the epoch in proportion. The finder counts the whole epoch: it may
//! offer too many candidates, but never too few.

/// Largest age of a recorder of 16 bits, which means "long ago, or never".
pub(crate) const LARGEST_AGE: u32 = u16::MAX as u32;

/// The age of an event, in the epochs of each array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ages {
    /// Age in epochs of the finder.
    pub finder: u32,
    /// Age in epochs of the counter.
    pub counter: u32,
}

impl Ages {
    /// An age that is beyond the memory of every recorder.
    pub const FOREVER: Self = Self { finder: u32::MAX, counter: u32::MAX };
}

/// A window in epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Span {
    /// Number of ages of the finder's recorders that may be in the window: 0 to `finder_ages - 1`.
    pub finder_ages: u32,
    /// Number of slices of the finder's youngest age in the window, at least 1.
    pub finder_youngest: u32,
    /// Number of slices of the finder's oldest age in the window, at least 1.
    pub finder_oldest: u32,
    /// Number of ages of the counter's recorders in the window: 0 to `ages - 1`. The oldest may be only partly in the
    /// window.
    pub ages: u32,
    /// Number of slices of the oldest epoch in the window, at least 1.
    pub oldest_slices: u32,
    /// Number of slices of the oldest epoch. For the running epoch, only the slices so far count.
    pub oldest_length: u32,
}

/// Returns the most ages that a window of `window` slices can contain. If epochs have several slices, this is one more
/// than the whole epochs, because both ends may be cut.
pub(crate) const fn window_ages(window: u32, epoch: u32) -> u32 {
    if epoch == 1 { window } else { window.div_ceil(epoch) + 1 }
}

/// Returns the fewest slices per epoch with which a window contains at most `most_ages` ages, where `most_ages` is 2 or
/// more.
pub(crate) const fn shortest_epoch(window: u32, most_ages: u32) -> u32 {
    if window <= most_ages { 1 } else { window.div_ceil(most_ages - 1) }
}

impl Span {
    /// Returns a window of `ages` whole epochs of `slices` slices, for the finder and the counter.
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

    /// Returns the share of the counter's epoch of that `age` that is in the window.
    pub(crate) fn share(self, age: usize) -> f64 {
        if age + 1 < self.ages as usize {
            return 1.0;
        }
        f64::from(self.oldest_slices) / f64::from(self.oldest_length)
    }
}

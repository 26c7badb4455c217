//! Epochs: the unit of ages.
//!
//! An age of few bits cannot count every slice of a long window, so ages count epochs of
//! several slices; the finder and the counter have epochs of their own,
//! [`FinderPart::epoch_slices`](crate::finder::FinderPart::epoch_slices) and
//! [`CounterSizes::epoch_slices`](crate::CounterSizes). Epochs are aligned to the absolute number of a slice, so
//! that all nodes age their recorders at the same time. A window that does not begin with an
//! epoch holds a part of its oldest one: a [`Span`] says how many of its slices, and an
//! estimate counts that epoch pro rata. The finder takes it as a whole: it may offer a
//! candidate too many, never one too few.

/// Largest age of a recorder of 16 bits: 'long ago, or never'.
pub(crate) const LARGEST_AGE: u32 = u16::MAX as u32;

/// Tells how long ago something was, in the epochs of either array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ages {
    /// Epochs of the finder.
    pub finder: u32,
    /// Epochs of the counter.
    pub counter: u32,
}

impl Ages {
    /// So long ago that no recorder remembers it.
    pub const FOREVER: Self = Self { finder: u32::MAX, counter: u32::MAX };
}

/// Describes a window in epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Span {
    /// Ages of the finder's recorders that may be in the window: 0 to `finder_ages - 1`.
    pub finder_ages: u32,
    /// Slices of the finder's youngest age that are in the window, at least 1.
    pub finder_youngest: u32,
    /// Slices of the finder's oldest age that are in the window, at least 1.
    pub finder_oldest: u32,
    /// Ages of the counter's recorders in the window: 0 to `ages - 1`, the oldest of which may be
    /// there in part.
    pub ages: u32,
    /// Slices of the oldest epoch that are in the window, at least 1.
    pub oldest_slices: u32,
    /// Slices that the oldest epoch has, or has had so far if it is the running one.
    pub oldest_length: u32,
}

/// The most ages that a window of `window` slices can hold: where epochs have several slices,
/// one more than whole epochs, as both ends may be cut.
pub(crate) const fn window_ages(window: u32, epoch: u32) -> u32 {
    if epoch == 1 { window } else { window.div_ceil(epoch) + 1 }
}

/// The fewest slices per epoch for which a window holds no more than `most_ages`, at least 2.
pub(crate) const fn shortest_epoch(window: u32, most_ages: u32) -> u32 {
    if window <= most_ages { 1 } else { window.div_ceil(most_ages - 1) }
}

impl Span {
    /// Returns a window of `ages` whole epochs of `slices` slices, the same for finder and counter.
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

    /// Share of the counter's epoch of that `age` that is in the window.
    pub(crate) fn share(self, age: usize) -> f64 {
        if age + 1 < self.ages as usize {
            return 1.0;
        }
        f64::from(self.oldest_slices) / f64::from(self.oldest_length)
    }
}

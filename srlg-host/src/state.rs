//! [`State`] and [`Delta`]: what a detector has seen, as plain integers.

/// A copy of a detector's recorders, to be merged into another detector.
///
/// Merging keeps the more recent of two recorders. It is commutative, associative and
/// idempotent, so the states of any number of nodes, in any order and any number of
/// times, give the answer of one node that saw everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub(crate) fingerprint: u64,
    pub(crate) slice: u64,
    pub(crate) words: Words,
}

/// The words of both arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// Of the RSRA, 8 bits or 16.
    pub(crate) rough: Vec<u16>,
    /// Of the SLEA.
    pub(crate) linear: Vec<u16>,
}

/// What the last slices of a detector touched: the recorders and their words.
///
/// A detector that merges the deltas of all slices of another one, each in its slice or later,
/// gives the answers that it would give had it merged the states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    pub(crate) fingerprint: u64,
    pub(crate) slice: u64,
    pub(crate) touched: Touched,
}

/// Some recorders of both arrays: number above word, 32 bits each, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Of the RSRA.
    pub(crate) rough: Vec<u64>,
    /// Of the SLEA.
    pub(crate) linear: Vec<u64>,
}

/// A recorder and its word, as in [`Touched`].
pub(crate) fn entry(recorder: usize, word: u32) -> u64 {
    (recorder as u64) << 32 | u64::from(word)
}

impl State {
    /// Names the sizes and keys that the state belongs to.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The slice that was running when the state was taken.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }
}

impl Delta {
    /// Names the sizes and keys that the delta belongs to.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The slice that was running when the delta was taken.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// Recorders in it.
    #[must_use]
    pub fn recorders(&self) -> usize {
        self.touched.rough.len() + self.touched.linear.len()
    }
}

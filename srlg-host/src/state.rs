//! [`State`]: everything that a detector has seen, as plain integers.

/// A copy of a detector's recorders, to be merged into another detector.
///
/// Merging keeps the more recent of two recorders. It is commutative, associative and
/// idempotent, so the states of any number of nodes, in any order and any number of
/// times, give the answer of one node that saw everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub(crate) fingerprint: u64,
    pub(crate) slice: u64,
    pub(crate) rough: Vec<u16>,
    pub(crate) linear: Vec<u16>,
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

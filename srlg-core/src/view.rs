//! [`ArrayView`]: the recorders of an array with their params.

/// The params of an array, which determine the number of its recorders.
pub trait ArrayParams {
    /// Returns the number of recorders.
    fn recorders(&self) -> usize;
}

/// The recorders of an array, with the params that define their meaning. The view consists of two references, so it is
/// cheap to copy.
#[derive(Debug)]
pub struct ArrayView<'a, P, R> {
    pub(crate) params: &'a P,
    pub(crate) recorders: &'a [R],
}

impl<P, R> Clone for ArrayView<'_, P, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, R> Copy for ArrayView<'_, P, R> {}

impl<'a, P: ArrayParams, R> ArrayView<'a, P, R> {
    /// Creates a view of `recorders` with `params`.
    ///
    /// # Panics
    /// Panics if the number of recorders is not `params.recorders()`.
    #[must_use]
    pub fn new(params: &'a P, recorders: &'a [R]) -> Self {
        assert_eq!(
            recorders.len(),
            params.recorders(),
            "the number of recorders must match the params"
        );
        Self { params, recorders }
    }
}

impl<'a, P, R> ArrayView<'a, P, R> {
    /// Returns the recorders.
    #[inline(always)]
    #[must_use]
    pub const fn recorders(self) -> &'a [R] {
        self.recorders
    }
}

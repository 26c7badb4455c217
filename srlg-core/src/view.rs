//! [`ArrayView`]: the recorders of an array, seen with the params that say what they mean.

/// Marks the params of an array, which tell the number of its recorders.
pub trait ArrayParams {
    /// Returns the number of recorders.
    fn recorders(&self) -> usize;
}

/// The recorders of an array, with the params that say what their words mean; a copy copies two pointers.
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
    /// Returns a view of `recorders` as those of `params`.
    ///
    /// # Panics
    /// When they are not as many as `params` say.
    #[must_use]
    pub fn new(params: &'a P, recorders: &'a [R]) -> Self {
        assert_eq!(recorders.len(), params.recorders(), "recorders of an array");
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

//! [`Pages`]: recorders on huge pages where the system has them.
//!
//! A pair touches recorders all over 31.6 MB; on 4 KB pages every touch also misses the
//! TLB. The recorders therefore live in an anonymous mapping that asks for huge pages.
//! A mapping lends bytes; [`self_cell`] ties the recorders, which are those same bytes
//! seen as atomics, to the mapping that they borrow from.

use memmap2::MmapMut;
use self_cell::{MutBorrow, self_cell};
use srlg_core::{Age16, FrozenAge16, Recorder};
use zerocopy::FromBytes;

use crate::error::Error;

type Recorders<'a> = &'a mut [Age16];

self_cell!(
    struct Mapped {
        owner: MutBorrow<MmapMut>,
        #[covariant]
        dependent: Recorders,
    }
);

/// A fixed number of recorders, untouched at first.
pub(crate) struct Pages {
    mapped: Mapped,
}

impl Pages {
    /// Maps `recorders` untouched recorders.
    pub(crate) fn new(recorders: usize) -> Result<Self, Error> {
        let bytes = recorders * size_of::<Age16>();
        let out_of_memory = |source| Error::OutOfMemory { bytes, source };
        let map = MmapMut::map_anon(bytes).map_err(out_of_memory)?;
        ask_for_huge_pages(&map);
        let mapped = Mapped::try_new(MutBorrow::new(map), |map| {
            let bytes: &mut [u8] = map.borrow_mut();
            <[Age16]>::mut_from_bytes(bytes).map_err(|_| Error::OutOfMemory {
                bytes: recorders * size_of::<Age16>(),
                source: std::io::Error::other("the mapping does not hold whole recorders"),
            })
        })?;
        let mut pages = Self { mapped };
        pages.forget();
        Ok(pages)
    }

    /// The recorders, for touches and reads by any number of threads.
    pub(crate) fn shared(&self) -> &[Age16] {
        self.mapped.borrow_dependent()
    }

    /// The recorders as plain integers, while nobody can touch them.
    pub(crate) fn frozen(&mut self) -> &[FrozenAge16] {
        self.mapped.with_dependent_mut(|_, recorders| Age16::freeze(recorders))
    }

    /// Ages every recorder by `slices`.
    pub(crate) fn grow(&mut self, slices: u32) {
        self.exclusive(|recorders| recorders.iter_mut().for_each(|recorder| recorder.grow(slices)));
    }

    /// Makes every recorder untouched.
    pub(crate) fn forget(&mut self) {
        self.exclusive(|recorders| {
            recorders.iter_mut().for_each(|recorder| *recorder = Age16::new(Age16::UNTOUCHED));
        });
    }

    fn exclusive(&mut self, change: impl FnOnce(&mut [Age16])) {
        self.mapped.with_dependent_mut(|_, recorders| change(recorders));
    }
}

// Huge pages are a matter of speed alone, and a kernel without them refuses: carry on.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(map: &MmapMut) {
    let _refused = map.advise(memmap2::Advice::HugePage);
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_map: &MmapMut) {}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_core::Reading;

    #[test]
    fn pages_start_untouched_and_keep_what_is_stored() {
        let mut pages = Pages::new(3_000_000).unwrap();
        assert!(pages.shared().iter().all(|recorder| recorder.word() == Age16::UNTOUCHED));
        pages.shared()[2_999_999].touch(0);
        pages.grow(3);
        assert_eq!(pages.shared()[2_999_999].word(), 3);
        assert_eq!(pages.frozen()[0].word(), Age16::UNTOUCHED);
        pages.forget();
        assert_eq!(pages.shared()[2_999_999].word(), Age16::UNTOUCHED);
    }
}

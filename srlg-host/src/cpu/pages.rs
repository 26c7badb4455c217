//! [`Pages`]: recorders on huge pages, if the system has them.
//!
//! By default, touches are scattered over 31.6 MB of memory. With pages of 4 KB, most touches would miss the TLB. The
//! recorders are therefore stored in an anonymous mapping for which huge pages are requested. A mapping provides only
//! bytes. [`self_cell`] stores the mapping together with a view of its bytes as atomic recorders.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use memmap2::MmapMut;
use prefetch_index::prefetch_index;
use self_cell::{MutBorrow, self_cell};
use srlg_core::{RecentRange, Recorder, Recorder8, Recorder16, Recorder32, Recorder64};
use zerocopy::FromBytes;

use super::sweep::{self, RECORDERS_PER_CHUNK};
use crate::error::Error;
use crate::share::share_chunks;
use crate::state::{Coder, Section, StateWord, Words, code};

/// A recorder that can be stored in a mapping.
pub(crate) trait Mappable: Recorder<Word: StateWord> + 'static {
    /// A mapping and a view of its bytes as recorders.
    type Mapping: Send + Sync;

    /// Views the bytes of `map` as recorders. Returns an error if the length is not a multiple of the size of a
    /// recorder.
    fn map(map: MmapMut) -> std::io::Result<Self::Mapping>;

    fn shared(mapped: &Self::Mapping) -> &[Self];

    fn exclusive<T>(mapped: &mut Self::Mapping, change: impl FnOnce(&mut [Self]) -> T) -> T;
}

// A macro is needed because self_cell does not support generic types.
macro_rules! mappable {
    ($recorder:ident, $mapped:ident, $slice:ident) => {
        type $slice<'a> = &'a mut [$recorder];

        self_cell!(
            pub(crate) struct $mapped {
                owner: MutBorrow<MmapMut>,
                #[covariant]
                dependent: $slice,
            }
        );

        impl Mappable for $recorder {
            type Mapping = $mapped;

            fn map(map: MmapMut) -> std::io::Result<$mapped> {
                $mapped::try_new(MutBorrow::new(map), |map| {
                    <[$recorder]>::mut_from_bytes(map.borrow_mut())
                        .map_err(|_| std::io::Error::other("the mapping ends within a recorder"))
                })
            }

            fn shared(mapped: &$mapped) -> &[$recorder] {
                mapped.borrow_dependent()
            }

            fn exclusive<T>(mapped: &mut $mapped, change: impl FnOnce(&mut [$recorder]) -> T) -> T {
                mapped.with_dependent_mut(|_, recorders| change(recorders))
            }
        }
    };
}

mappable!(Recorder8, Mapping8, Slice8);
mappable!(Recorder16, Mapping16, Slice16);
mappable!(Recorder32, Mapping32, Slice32);
mappable!(Recorder64, Mapping64, Slice64);

/// A fixed number of recorders, which are all untouched at first.
pub(crate) struct Pages<R: Mappable>(R::Mapping);

impl<R: Mappable> Pages<R> {
    pub(crate) fn new(recorders: usize) -> Result<Self, Error> {
        let bytes = recorders * size_of::<R>();
        let map = || {
            let map = MmapMut::map_anon(bytes)?;
            ask_for_huge_pages(&map);
            R::map(map)
        };
        let mut pages = Self(map().map_err(|source| Error::OutOfMemory { bytes, source })?);
        R::exclusive(&mut pages.0, |recorders| {
            recorders.iter_mut().for_each(|recorder| *recorder = R::new(R::UNTOUCHED));
        });
        Ok(pages)
    }

    pub(crate) fn shared(&self) -> &[R] {
        R::shared(&self.0)
    }

    pub(crate) fn exclusive<T>(&mut self, change: impl FnOnce(&mut [R]) -> T) -> T {
        R::exclusive(&mut self.0, change)
    }

    /// Calls `look` with the words of the recorders, while no thread can touch them.
    pub(crate) fn frozen<T>(&mut self, look: impl FnOnce(&[R::Word]) -> T) -> T {
        R::exclusive(&mut self.0, |recorders| look(R::freeze(recorders)))
    }

    /// Ages every recorder by `step`, on up to `threads` threads. Returns the number of words that were below `limit`
    /// before ageing.
    pub(crate) fn age_by(&mut self, step: R::Word, limit: R::Word, threads: usize) -> u32 {
        let sum = AtomicU32::new(0);
        R::exclusive(&mut self.0, |recorders| {
            share_chunks(threads, recorders, RECORDERS_PER_CHUNK, |_, chunk| {
                sum.fetch_add(sweep::age_by(chunk, step, limit), Relaxed);
            });
        });
        sum.into_inner()
    }
}

pub(super) trait WordArray {
    fn words(&self) -> Words;

    fn gather(&self, places: &[u32]) -> Words;

    /// Ages `words` by `step`. Each recorder then keeps the smaller of its own word and the aged word.
    fn merge(&mut self, words: &Words, step: u64);

    /// Writes the recorders within `range` to `coder`.
    fn recent(&mut self, range: RecentRange, coder: &mut Coder);

    /// Merges the words in `section` like [`merge`](Self::merge).
    fn apply(&mut self, section: &Section<'_>, step: u64);
}

impl<R: Mappable> WordArray for Pages<R> {
    fn words(&self) -> Words {
        R::Word::wrap(self.shared().iter().map(R::word).collect())
    }

    fn gather(&self, places: &[u32]) -> Words {
        let recorders = self.shared();
        R::Word::wrap(places.iter().map(|&place| recorders[place as usize].word()).collect())
    }

    fn merge(&mut self, words: &Words, step: u64) {
        let (words, step) = (R::Word::of(words), R::saturated(step));
        self.exclusive(|recorders| {
            assert_eq!(recorders.len(), words.len(), "snapshots of equal sizes have equal lengths");
            for (ours, &word) in R::freeze(recorders).iter_mut().zip(words) {
                *ours = (*ours).min(R::aged(word, step));
            }
        });
    }

    fn recent(&mut self, range: RecentRange, coder: &mut Coder) {
        self.frozen(|words| code(words, range, coder));
    }

    fn apply(&mut self, section: &Section<'_>, step: u64) {
        let step = R::saturated(step);
        self.exclusive(|recorders| {
            let ours = R::freeze(recorders);
            let merged = section.walk(|places, words| {
                // The recorders are rarely in a cache, so all lines of the block are requested at once.
                places.iter().for_each(|&place| prefetch_index(&*ours, place as usize));
                for (&place, &word) in places.iter().zip(words) {
                    let (ours, word) = (&mut ours[place as usize], R::aged(word, step));
                    if word < *ours {
                        *ours = word;
                    }
                }
            });
            merged.expect("sections are checked when they are read");
        });
    }
}

// Huge pages affect only speed, so a refusal by the kernel is ignored.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(map: &MmapMut) {
    let _refused = map.advise(memmap2::Advice::HugePage);
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_map: &MmapMut) {}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_core::ReadRecorder;

    #[test]
    fn pages_start_untouched_and_keep_what_is_stored() {
        let mut pages = Pages::<Recorder16>::new(3_000_000).unwrap();
        assert!(pages.shared().iter().all(|recorder| recorder.word() == u16::MAX));
        pages.shared()[2_999_999].fetch_min(0);
        assert_eq!((pages.age_by(3, 1, 2), pages.age_by(0, 3, 1)), (1, 0));
        assert_eq!(pages.shared()[2_999_999].word(), 3);
        assert_eq!(pages.frozen(|recorders| recorders[0].word()), u16::MAX);
        assert_eq!(Pages::<Recorder8>::new(5).unwrap().shared().len(), 5);
        let mut wide = Pages::<Recorder64>::new(5).unwrap();
        wide.shared()[4].fetch_min(u64::MAX - 7);
        assert_eq!(wide.age_by(1 << 60, u64::MAX, 1), 1);
        assert!(wide.shared().iter().all(|recorder| recorder.word() == u64::MAX));
        assert_eq!(Pages::<Recorder32>::new(5).unwrap().shared()[4].word(), u32::MAX);
    }
}

//! Tests of the kernels that touch the arrays of a scheme.

use srlg_core::counter::{Lines, Rows};
use srlg_core::finder::cells::CellArray;
use srlg_core::finder::{CellsFinder, Finder, Rsra};
use srlg_core::{ArrayParams, BATCH, Ipv4Pair, Params, Recorder16, Recorder64};
use srlg_kernels::scan::{AlignedPair, AlignedPair6};
use srlg_kernels::{Slices, Touch, Touch6, TouchPaper};

use super::{Contacts, launch, recorders_of, swapped, untouched, words};

fn of_age<P: Copy, A>(contacts: &[(P, u32)], age: u32, aligned: impl Fn(P) -> A) -> Vec<A> {
    contacts.iter().filter(|contact| contact.1 == age).map(|contact| aligned(contact.0)).collect()
}

/// Touches cells and lines with srlg-core, one pair at a time, and returns both arrays. Asserts that the kernels
/// produce the same arrays as srlg-core, and that whole batches produce the same cells as single pairs. The age of a
/// touch in a line is twice its age in a cell.
pub(crate) fn touched_tagged(
    params: &Params,
    contacts: &Contacts,
    seed: u64,
) -> (Vec<Recorder64>, Vec<Recorder16>) {
    let finder = *CellsFinder::params(params.finder());
    let counter = *params.counter().tagged().unwrap();
    let [one_by_one, in_batches, cells] =
        [(); 3].map(|()| untouched::<Recorder64>(finder.recorders()));
    let linear = untouched::<Recorder16>(counter.recorders());
    let [one, batches] = [&one_by_one, &in_batches].map(|cells| CellArray::new(&finder, cells));
    let expected = Lines::new(&counter, &linear);
    for &(pair, age) in &contacts.short {
        one.touch(&pair, age);
        batches.find_touches(&[pair; BATCH], age, |touch| batches.apply(&[touch]));
        expected.touch(&[pair], 2 * age);
    }
    for &(pair, age) in &contacts.long {
        one.touch(&finder.ids(pair), age);
        let pairs = [finder.ids(pair); BATCH];
        batches.find_touches(&pairs, age, |touch| batches.apply(&[touch]));
        expected.touch(&[counter.ids(pair)], 2 * age);
    }
    let lines = swapped::<Recorder16>(linear.len());
    for cells_age in 0..7 {
        let (lines_age, cells, lines) = (2 * cells_age, &cells[..], &lines[..]);
        let pairs = &of_age(&contacts.short, cells_age, AlignedPair::from)[..];
        let touch =
            Touch::<Slices<'_>> { finder, counter, cells_age, lines_age, pairs, cells, lines };
        launch(seed, &touch);
        let pairs = &of_age(&contacts.long, cells_age, AlignedPair6::from)[..];
        let touch =
            Touch6::<Slices<'_>> { finder, counter, cells_age, lines_age, pairs, cells, lines };
        launch(seed, &touch);
    }
    assert_eq!(words(&cells), words(&one_by_one));
    assert_eq!(words(&in_batches), words(&one_by_one));
    assert_eq!(words(&recorders_of::<Recorder16>(lines, linear.len())), words(&linear));
    (one_by_one, linear)
}

/// Touches the RSRA and the rows with srlg-core on one thread, and returns both arrays. Asserts that the kernel
/// produces the same arrays as srlg-core.
pub(crate) fn touched_paper(
    params: &Params,
    contacts: &[(Ipv4Pair, u32)],
    seed: u64,
) -> (Vec<Recorder16>, Vec<Recorder16>) {
    let (finder, counter) = (*params.finder().rsra().unwrap(), *params.counter().rows().unwrap());
    let [rough, linear] = [finder.recorders(), counter.recorders()].map(untouched::<Recorder16>);
    for &(pair, age) in contacts {
        Rsra::new(&finder, &rough).touch(&pair, age);
        Rows::new(&counter, &linear).touch(&pair, age);
    }
    let [by_kernel, linear_by_kernel] =
        [&rough, &linear].map(|recorders| swapped::<Recorder16>(recorders.len()));
    for age in 0..7 {
        let pairs = &of_age(contacts, age, AlignedPair::from)[..];
        let (rough, linear) = (&by_kernel[..], &linear_by_kernel[..]);
        launch(seed, &TouchPaper::<Slices<'_>> { finder, counter, age, pairs, rough, linear });
    }
    assert_eq!(words(&recorders_of::<Recorder16>(by_kernel, rough.len())), words(&rough));
    assert_eq!(words(&recorders_of::<Recorder16>(linear_by_kernel, linear.len())), words(&linear));
    (rough, linear)
}

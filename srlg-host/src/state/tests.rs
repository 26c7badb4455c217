//! Tests that sections of every width are read as written and have the bytes documented in docs/format.md.

use proptest::prelude::*;
use srlg_core::{ArrayShape, ReadRecorder, RecentRange, Width};

use zerocopy::IntoBytes;

use super::section::{self, DENSE, Fold, SPARSE, SectionHeader};
use super::words::{StateWord, with_width};
use super::{Coder, Section, code};
use crate::error::{FormatError, wrong};

/// Generates touched recorders, each as the gap before it and its 64-bit word.
fn touched() -> impl Strategy<Value = Vec<(usize, u64)>> {
    let word = prop_oneof![0u64..3, 0u64..1000, any::<u64>()];
    // For small gaps, a bitmap is shorter. For gaps in the hundreds, a list of gaps is shorter.
    let gap = prop_oneof![Just(0usize..3), Just(200..900)];
    gap.prop_flat_map(move |gaps| prop::collection::vec((gaps, word.clone()), 0..200))
}

fn assert_round_trip<W: StateWord>(touched: &[(usize, u64)]) {
    let mut words = Vec::new();
    for &(gap, word) in touched {
        words.resize(words.len() + gap, W::MAX);
        // The largest word marks a recorder that was never touched.
        words.push(W::saturated(word % W::MAX.into()));
    }
    let shape = ArrayShape { recorders: words.len() + 5, width: W::WIDTH };
    let mut coder = Coder::new(shape, Fold::default());
    code(&words, RecentRange { recent: W::MAX.into(), echo: 0 }, &mut coder);
    let mut body = Vec::new();
    coder.finish(&mut body);
    assert!(body.len() <= section::most(shape));

    let expected = || (0u32..).zip(&words).filter(|&(_, &word)| word != W::MAX);
    let plane = |byte: usize| expected().map(|(_, word)| word.byte(byte)).collect::<Vec<u8>>();
    let planes: Vec<Vec<u8>> = (0..W::WIDTH.bytes()).map(plane).collect();
    let is_there = |plane: &Vec<u8>| plane.iter().any(|&byte| byte != 0);
    let bits = (0..).zip(&planes).map(|(bit, plane)| u8::from(is_there(plane)) << bit);
    assert_eq!(body[17], bits.sum::<u8>());
    let there: Vec<u8> = planes.iter().filter(|plane| is_there(plane)).flatten().copied().collect();
    assert!(body.ends_with(&there));

    let mut rest = &body[..];
    let section = Section::take(&mut rest, shape).unwrap();
    assert!(rest.is_empty());
    assert_eq!(section.list::<W>().unwrap(), expected().map(|(at, &word)| (at, word)).unzip());
    for width in [Width::W8, Width::W16, Width::W32, Width::W64] {
        let fits = body[17] >> (width.bytes() - 1) <= 1;
        assert_eq!(Section::take(&mut &body[..], ArrayShape { width, ..shape }).is_ok(), fits);
    }
}

proptest! {
    #[test]
    fn sections_of_every_width_are_read_as_they_are_written(touched in touched()) {
        for width in [Width::W8, Width::W16, Width::W32, Width::W64] {
            with_width!(width, W => assert_round_trip::<W>(&touched));
        }
    }
}

/// Returns the layout of a section in which every `step`-th recorder is touched.
fn layout(step: usize) -> u8 {
    let words: Vec<u64> =
        (0..10_000).map(|at| if at % step == 0 { at as u64 } else { u64::MAX }).collect();
    let shape = ArrayShape { recorders: words.len(), width: Width::W64 };
    let mut coder = Coder::new(shape, Fold::default());
    code(&words, RecentRange { recent: u64::MAX, echo: 0 }, &mut coder);
    let mut body = Vec::new();
    coder.finish(&mut body);
    body[16]
}

#[test]
fn few_recorders_are_written_as_gaps_and_many_as_a_bitmap() {
    assert_eq!([layout(2), layout(100)], [DENSE, SPARSE]);
}

/// Reads a section whose words are all 1, and visits its recorders.
fn walk(
    shape: ArrayShape,
    count: u32,
    first: u32,
    layout: u8,
    places: &[u8],
) -> Result<(), FormatError> {
    let header = SectionHeader {
        count: count.into(),
        first: first.into(),
        places: (places.len() as u32).into(),
        fold: Fold::default(),
        layout,
        planes: 1,
        reserved: 0.into(),
    };
    let body = [header.as_bytes(), places, &vec![1; count as usize]].concat();
    Section::take(&mut &body[..], shape)?.walk(|_, _: &[u16]| ())
}

#[test]
fn places_that_take_more_room_than_a_writer_needs_are_refused() {
    let shape = ArrayShape { recorders: 10_000, width: Width::W16 };
    for (count, layout, places, is_taken) in [
        (0, SPARSE, &[][..], true),
        (0, SPARSE, &[0], false),
        (0, DENSE, &[], false),
        (0, DENSE, &[0; 1_000], false),
        (2, DENSE, &[3], true),
        (2, DENSE, &[0, 3], true),
        (2, DENSE, &[3, 0], false),
        (2, DENSE, &[3; 1_251], false),
        (1_251, SPARSE, &[0; 1_250], true),
        (1_252, SPARSE, &[0; 1_251], false),
    ] {
        let walked = walk(shape, count, 0, layout, places);
        assert_eq!(walked.is_ok(), is_taken, "{count} recorders, layout {layout}: {walked:?}");
    }
}

#[test]
fn positions_that_do_not_fit_the_number_of_recorders_are_refused() {
    let shape = ArrayShape { recorders: 10_000, width: Width::W16 };
    const WRONG_GAP: Result<(), FormatError> =
        Err(wrong("a section has a gap that is truncated or too long"));
    const WRONG_COUNT: Result<(), FormatError> =
        Err(wrong("a section has different numbers of positions and recorders"));
    const OUTSIDE: Result<(), FormatError> =
        Err(wrong("a section has a recorder outside its array"));
    for (count, layout, places, expected) in [
        (1_001, SPARSE, &[0; 1_000][..], Ok(())),
        (1_000, SPARSE, &[0; 1_000], WRONG_COUNT),
        (1_002, SPARSE, &[0; 1_000], WRONG_COUNT),
        (2, SPARSE, &[0x85, 0x80, 0x80, 0x80, 0], Ok(())),
        (2, SPARSE, &[0x85, 0x80, 0x80, 0x80, 0x80, 0], WRONG_GAP),
        (2, SPARSE, &[0x80; 1_000], WRONG_GAP),
        (2, SPARSE, &[0, 0x80], WRONG_GAP),
        (2, SPARSE, &[0x8e, 0x4e], Ok(())),
        (2, SPARSE, &[0x8f, 0x4e], OUTSIDE),
        (2, SPARSE, &[0x80, 0x80, 0x80, 0x80, 0x10], OUTSIDE),
        (8_000, DENSE, &[0xff; 1_000], Ok(())),
        (7_999, DENSE, &[0xff; 1_000], WRONG_COUNT),
        (8_001, DENSE, &[0xff; 1_000], WRONG_COUNT),
    ] {
        let walked = walk(shape, count, 0, layout, places);
        assert_eq!(walked, expected, "{count} recorders, layout {layout}, {}", places.len());
    }
}

#[test]
fn words_too_large_for_their_array_are_refused() {
    let shape = ArrayShape { recorders: 10_000, width: Width::W16 };
    // From 1 on, a number stands for a word that is larger by 64,999.
    let fold = Fold::of(Width::W16, RecentRange { recent: 1, echo: 65_000 });
    for (number, expected) in [
        (0, Ok(0)),
        (1, Ok(65_000)),
        (536, Ok(65_535)),
        (537, Err(wrong("a section has a word too large for its array"))),
    ] {
        let [low, high] = u16::to_le_bytes(number);
        let (count, zero) = (1.into(), 0.into());
        let (first, places, reserved, layout, planes) = (zero, zero, 0.into(), SPARSE, 3);
        let header = SectionHeader { count, first, places, fold, layout, planes, reserved };
        let body = [header.as_bytes(), &[low, high]].concat();
        let mut found = Vec::new();
        let section = Section::take(&mut &body[..], shape).unwrap();
        let walked = section.walk(|_, words: &[u16]| found.extend_from_slice(words));
        assert_eq!(walked.map(|()| found[0]), expected, "{number}");
    }
}

// On a 32-bit machine, these positions exceed `usize::MAX` before they are compared with the length of the array.
#[test]
fn positions_beyond_the_numbers_of_the_machine_are_refused() {
    let shape = ArrayShape { recorders: 10_000, width: Width::W16 };
    let largest_gap = [0xff, 0xff, 0xff, 0xff, 0x0f];
    for (count, first, layout, places) in [
        (2, 7, SPARSE, &largest_gap[..]),
        (1, u32::MAX, SPARSE, &[]),
        (1, u32::MAX, DENSE, &[0x80]),
        (1, u32::MAX, DENSE, &[0, 0, 0, 0, 0, 0, 0, 0, 1]),
    ] {
        let walked = walk(shape, count, first, layout, places);
        let outside = wrong("a section has a recorder outside its array");
        assert_eq!(walked, Err(outside), "{count} recorders from {first}, layout {layout}");
    }
}

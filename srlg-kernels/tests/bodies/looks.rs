//! Tests of the kernels that tally the hosts in a list and record the hosts that may be super points.

use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use srlg_core::counter::tagged::{Grouping, Histograms, bound, glimpse};
use srlg_core::counter::{Counter, Lines, TaggedCounter, TaggedParams, Tally};
use srlg_core::finder::cells::SLOTS;
use srlg_core::finder::{CellsFinder, Finder};
use srlg_core::{ArrayParams, HostId, Params, ReadRecorder, Recorder16, Recorder64, Span};
use srlg_kernels as kernels;
use srlg_kernels::{Glimpse, Reach, Record, Regroup, Slices, filled};

use super::{launch, untouched, words};

fn zeros(len: usize) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(0)).collect()
}

fn loaded(counts: &[AtomicU32]) -> Vec<u32> {
    counts.iter().map(|count| count.load(Relaxed)).collect()
}

/// The recorders of the counter, the hosts, and the indices of the hosts to tally.
#[derive(Clone, Copy)]
struct List<'a> {
    linear: &'a [Recorder16],
    hosts: &'a [HostId],
    numbers: &'a [u32],
}

/// Returns the bins that the tally kernel writes for up to `room` hosts of `list`, starting at entry `skip`.
fn bins(
    params: &TaggedParams,
    list: List<'_>,
    grouping: Grouping,
    positions: Range<u32>,
    skip: u32,
    room: usize,
    seed: u64,
) -> Vec<u32> {
    let List { linear, hosts, numbers } = list;
    let bins = zeros(room * grouping.bin_words());
    let asked = kernels::Tally::<Slices<'_>> {
        params: *params,
        grouping,
        first: positions.start,
        positions: positions.end - positions.start,
        skip,
        hosts,
        numbers,
        count: &[numbers.len() as u32],
        linear,
        bins: &bins,
    };
    launch(seed, &asked);
    loaded(&bins)
}

/// Asserts that the kernel and srlg-core return the same tallies. The kernel tallies the hosts in reverse order and in
/// two runs.
pub(crate) fn assert_tallies(
    params: &TaggedParams,
    linear: &[Recorder16],
    hosts: &[HostId],
    span: Span,
    positions: Range<u32>,
    seed: u64,
) {
    let (lines, ages) = (Lines::new(params, linear), Grouping::of_ages(span));
    let numbers: Vec<u32> = (0..hosts.len() as u32).rev().collect();
    for (skip, room) in [(0, 3), (3, hosts.len())] {
        let list = List { linear, hosts, numbers: &numbers };
        let bins = bins(params, list, ages, positions.clone(), skip as u32, room, seed);
        for (bins, &number) in bins.chunks(ages.bin_words()).zip(&numbers[skip..]) {
            let host = hosts[number as usize];
            let expected = TaggedCounter::tally(lines, host, span, positions.clone());
            assert_eq!(Tally::Visible(Histograms::of_bins(span, bins)), expected);
        }
        let unused = bins.chunks(ages.bin_words()).skip(hosts.len() - skip);
        assert!(unused.flatten().all(|&word| word == 0), "beyond the list");
    }
}

/// Returns a function that counts the positions of a given kind and group in `tally`.
fn by_group(tally: Tally, span: Span) -> impl Fn(usize, usize) -> u32 {
    let Tally::Visible(histograms) = tally else { panic!("a tally of the tagged counter") };
    move |kind, group| {
        let ages = Grouping::for_bound(span).ages_of(group);
        let sum = |bins: &[u32]| bins[ages.clone()].iter().sum::<u32>();
        let (own, hidden) = (sum(&histograms.own), sum(&histograms.hidden));
        let (hidden_twice, excluded_twice) =
            (sum(&histograms.hidden_twice), sum(&histograms.excluded_twice));
        let excluded = sum(&histograms.all) - own - hidden - excluded_twice;
        [excluded, hidden - hidden_twice, own, excluded_twice, hidden_twice][kind]
    }
}

/// Asserts that the kernels select and record the same hosts as srlg-core. The kernels record the hosts in two runs.
pub(crate) fn assert_looks(
    all: &Params,
    linear: &[Recorder16],
    cells: &[Recorder64],
    hosts: &[HostId],
    span: Span,
    seed: u64,
) {
    let params = *all.counter().tagged().unwrap();
    let lines = Lines::new(&params, linear);
    let tally = |host, positions| TaggedCounter::tally(lines, host, span, 0..positions);
    let (ages, groups) = (Grouping::of_ages(span), Grouping::for_bound(span));
    let numbers: Vec<u32> = (0..hosts.len() as u32).rev().collect();
    let (stages, room) = (glimpse::stages(&params), hosts.len());
    let list = List { linear, hosts, numbers: &numbers };
    let starts = iter::once(0).chain(stages);
    let added = |(start, end): (u32, u32)| bins(&params, list, groups, start..end, 0, room, seed);
    let seen: Vec<u32> = starts.zip(stages).flat_map(added).collect();
    let (left, left_count) = (zeros(hosts.len()), zeros(1));
    for (count, expected) in [(hosts.len() as u32, hosts.len()), (hosts.len() as u32 + 1, 0)] {
        // If the list is incomplete, the kernel must not select any host.
        left_count[0].store(0, Relaxed);
        let (numbers, count, bins) = (&numbers[..], &[count][..], &seen[..]);
        let (left, left_count) = (&left[..], &left_count[..]);
        launch(
            seed,
            &Glimpse::<Slices<'_>> { params, span, numbers, count, bins, left, left_count },
        );
        let mut listed = loaded(filled(left, left_count[0].load(Relaxed)));
        listed.sort_unstable();
        let stays = |&number: &usize| {
            let may_reach = |&positions: &u32| {
                let count = by_group(tally(hosts[number], positions), span);
                glimpse::may_reach(&params, &span, positions, count)
            };
            stages.iter().all(may_reach)
        };
        let stay: Vec<u32> = (0..expected).filter(stays).map(|number| number as u32).collect();
        assert_eq!(listed, stay);
    }

    let skip = hosts.len() / 2;
    for (skip, room) in [(0, skip), (skip, hosts.len())] {
        let bins = bins(&params, list, ages, 0..params.width(), skip as u32, room, seed);
        let (numbers, count, bins) = (&numbers[..], &[numbers.len() as u32][..], &bins[..]);
        let grouped = zeros(room * groups.bin_words());
        let skip = skip as u32;
        launch(seed, &Regroup::<Slices<'_>> { span, skip, numbers, count, bins, groups: &grouped });
        let (grouped, reached, reached_count) = (loaded(&grouped), zeros(room), zeros(1));
        launch(
            seed,
            &Reach::<Slices<'_>> {
                params,
                span,
                skip,
                numbers,
                count,
                bins: &grouped,
                reached: &reached,
                reached_count: &reached_count,
            },
        );
        let (reached, reached_count) = (loaded(&reached), loaded(&reached_count));
        let part: Vec<u32> = numbers.iter().skip(skip as usize).take(room).copied().collect();
        let mut expected: Vec<u32> = part
            .iter()
            .copied()
            .filter(|&number| {
                bound::may_reach(
                    &params,
                    &span,
                    by_group(tally(hosts[number as usize], params.width()), span),
                )
            })
            .collect();
        assert_eq!(reached_count[0] as usize, expected.len());

        // The first record is left out.
        let first = 1.min(reached_count[0]);
        let records = expected.len() + 1 - first as usize;
        let recorded = zeros(records);
        let tallies = zeros(records * ages.bin_words());
        let peers = untouched::<Recorder64>(records * SLOTS as usize);
        let cells_params = *CellsFinder::params(all.finder());
        launch(
            seed,
            &Record::<Slices<'_>> {
                params: cells_params,
                span,
                skip,
                first,
                hosts,
                numbers,
                reached: &reached,
                reached_count: &reached_count,
                bins,
                cells,
                recorded: &recorded,
                peers: &peers,
                tallies: &tallies,
            },
        );
        let (recorded, tallies, peers) = (loaded(&recorded), loaded(&tallies), words(&peers));
        let left_out = expected.len() - (records - 1);
        let mut recorded_numbers = recorded[..records - 1].to_vec();
        for (record, &number) in recorded_numbers.iter().enumerate() {
            let words = &tallies[record * ages.bin_words()..][..ages.bin_words()];
            let found = Tally::Visible(Histograms::of_bins(span, words));
            assert_eq!(found, tally(hosts[number as usize], params.width()));
            let host = hosts[number as usize].lo;
            let spots = cells_params.spots(host).map(|spot| cells[spot.place as usize].word());
            assert_eq!(peers[record * SLOTS as usize..][..SLOTS as usize], spots);
        }
        assert_eq!(
            tallies[(records - 1) * ages.bin_words()..],
            vec![0; ages.bin_words()],
            "no record"
        );
        recorded_numbers.extend(reached[..left_out].iter().map(|&at| part[at as usize]));
        recorded_numbers.sort_unstable();
        expected.sort_unstable();
        assert_eq!(recorded_numbers, expected);
    }
    assert_eq!(cells.len(), CellsFinder::params(all.finder()).recorders());
}

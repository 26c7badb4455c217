//! Tests and timings of searches in full arrays in which every host holds few cells.

use std::time::Instant;

use srlg_core::finder::cells::CellArray;
use srlg_core::{Config, IpPair, ReadRecorder, Recorder, Recorder64, Scheme};

use super::*;

/// Returns an array filled by hosts of one family, each of which has `contacts` contacts.
///
/// There are five contacts per cell, so one cell in 150 stays free.
fn full(params: &CellsParams, contacts: u32, is_v6: bool) -> Vec<Recorder64> {
    let cells: Vec<Recorder64> =
        (0..params.recorders()).map(|_| Recorder64::new(Recorder64::UNTOUCHED)).collect();
    for number in 0..5 * cells.len() as u32 {
        let host = number / contacts;
        let inside = if is_v6 { [0x2001_0db8, host, 0, 1] } else { [0, 0, 0xffff, host] };
        let pair = IpPair { inside, peer: [0, 0, 0xffff, number] };
        CellArray::new(params, &cells).touch(&params.ids(pair), 0);
    }
    cells
}

#[test]
fn threads_that_share_a_search_find_what_one_finds() {
    let config = Config { threshold: 32, linear_width: 512, ..Config::default() };
    let config =
        Config { scheme: Scheme::Tagged { cell_bits: 18, lines: 2000, tags: 64 }, ..config };
    let all = config.validate().unwrap();
    for is_v6 in [false, true] {
        let cells = full(all.finder().cells().unwrap(), 20, is_v6);
        let words: Vec<u64> = cells.iter().map(ReadRecorder::word).collect();
        // The search object is also reused with fewer threads.
        let mut search = CellSearch::new(&all);
        let [one, four, three, again] = [1, 4, 3, 1].map(|threads| {
            let (mut hosts, health) =
                search.candidates(&words, all.span(0, 1), all.candidate_limit(), threads);
            hosts.sort_unstable();
            (hosts, health)
        });
        assert!(one.0.len() > 1000, "{} hosts are found", one.0.len());
        assert!(four == one && three == one && again == one);
    }
}

/// Prints search times. Run with `cargo test --release -p srlg-host times_of_searches -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn times_of_searches_where_hosts_of_few_cells_hold_all() {
    let families = [false, true];
    for (cell_bits, is_v6) in
        [12, 18, 20, 22].into_iter().flat_map(|it| families.map(|is_v6| (it, is_v6)))
    {
        // At θ = 32, every pair is sampled.
        let scheme = Scheme::Tagged { cell_bits, lines: 2000, tags: 64 };
        let config = Config { scheme, threshold: 32, linear_width: 512, ..Config::default() };
        let all = config.validate().unwrap();
        for contacts in [5, 10, 15, 20, 40] {
            let cells = full(all.finder().cells().unwrap(), contacts, is_v6);
            let words: Vec<u64> = cells.iter().map(ReadRecorder::word).collect();
            let mut search = CellSearch::new(&all);
            let took = (0..5).map(|_| {
                let start = Instant::now();
                let (found, _) =
                    search.candidates(&words, all.span(0, 1), all.candidate_limit(), 1);
                (start.elapsed(), found.len())
            });
            let (took, found) = took.min().unwrap();
            println!(
                "2^{cell_bits} cells, IPv6: {is_v6}, {contacts} contacts each: {found} found, {took:?}"
            );
        }
    }
}

//! What is common to all devices that search cells: from the ages of all cells, and the owners of some,
//! to candidates.
//!
//! Where there are more candidates than the limit, those with most cells stay: the large super points are still
//! found, in bounded time, and the quality says so.

use srlg_core::finder::CellsParams;
use srlg_core::finder::cells::Owner;
use srlg_core::finder::cells::chance::{ACCEPTED_MISS, AgeHistogram, Asked};
use srlg_core::{Address, Span};

use super::quality::Quality;
use super::{FinderHealth, Overload};

/// Returns the hosts that have at least `c_min` of `owners`, [`AgeHistogram::c_min`] of `histogram`, those with most first, no more than
/// the limit; and their quality. `histogram` counts all cells in the window by their age; `owners` are those
/// of cells in the window, and all of those of each host with so many. Reorders `owners`.
pub(super) fn candidates(
    params: &CellsParams,
    (histogram, c_min): (AgeHistogram<'_>, u32),
    owners: &mut [Owner],
) -> (Vec<Address>, Quality) {
    owners.sort_unstable();
    let runs = owners.chunk_by(|a, b| a == b).map(|run| (run.len() as u32, run[0]));
    // Fingerprints are of IPv6 hosts, whose pairs no detector takes yet.
    let is_candidate = |&(cells, owner): &(u32, Owner)| cells >= c_min && !owner.is_fingerprint();
    let mut found: Vec<(u32, Owner)> = runs.filter(is_candidate).collect();
    // Owners are hashes: which of those with as many cells come first is up to chance, but always the same.
    found.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let asked = limited(&mut found, c_min, params.candidate_limit() as usize);
    let hosts = found.into_iter().filter_map(|(_, owner)| params.host(owner)).collect();
    (hosts, quality(histogram, asked, c_min))
}

/// Leaves those of `found`, by falling numbers of cells, that the limit accepts. Returns what was asked of them,
/// `c_min` cells where all stay.
fn limited(found: &mut Vec<(u32, Owner)>, c_min: u32, limit: usize) -> Asked {
    let Some(&(border, _)) = found.get(limit) else { return c_min.into() };
    let first = found.partition_point(|&(cells, _)| cells > border);
    let end = found.partition_point(|&(cells, _)| cells >= border);
    found.truncate(limit);
    match limit - first {
        0 => (border + 1).into(),
        kept => Asked { cells: border, share: kept as f64 / (end - first) as f64 },
    }
}

/// The quality where nothing was touched, over a `span` of one age.
pub(super) fn untouched_quality(params: &CellsParams, span: Span) -> Quality {
    let histogram = AgeHistogram::new(params, &[0], span);
    let c_min = histogram.c_min();
    quality(histogram, c_min.into(), c_min)
}

fn quality(histogram: AgeHistogram<'_>, asked: Asked, c_min: u32) -> Quality {
    let threshold = histogram.threshold();
    let miss_probability = histogram.miss(threshold, asked);
    let is_raised = asked != c_min.into() && miss_probability > ACCEPTED_MISS;
    let overload = match () {
        () if is_raised => Some(Overload::Raised),
        () if histogram.is_crowded() => Some(Overload::Crowded),
        () => None,
    };
    Quality {
        finder: FinderHealth::Cells { c_min: asked.cells, in_use: histogram.share_in_use() },
        miss_probability,
        burst_miss_probability: histogram.burst_miss(threshold, asked),
        found_from: histogram.found_from(asked),
        overload,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_core::Config;

    /// Owners of `cells` cells each, by some image of a host.
    fn found(cells: &[u32]) -> Vec<(u32, Owner)> {
        let params = Config::default().validate().unwrap();
        let cells_params = params.finder().cells().unwrap();
        let owner = |number| cells_params.owner(number, 0);
        (0..).zip(cells).map(|(number, &cells)| (cells, owner(number))).collect()
    }

    #[test]
    fn a_limit_is_filled_up_by_those_with_most_cells_and_the_share_of_the_last_is_told() {
        let all = [9, 8, 8, 7, 7, 7, 7, 5];
        for (limit, cells, share) in [
            (9, 4, 1.0),
            (8, 4, 1.0),
            (7, 6, 1.0),
            (6, 7, 0.75),
            (4, 7, 0.25),
            (3, 8, 1.0),
            (2, 8, 0.5),
            (1, 9, 1.0),
        ] {
            let mut found = found(&all);
            assert_eq!(limited(&mut found, 4, limit), Asked { cells, share }, "limit {limit}");
            assert_eq!(found.len(), limit.min(all.len()), "limit {limit}");
        }
    }
}

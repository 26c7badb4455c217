//! Tests of sizes at the limits of a configuration. The tests use both hash families, IPv4 and IPv6 hosts, and every
//! way to ingest pairs on a device.

use approx::assert_abs_diff_eq;
use srlg::config::{HashFamily, Scheme};
use srlg::ingest::Pair;
use srlg::report::EstimateRange;
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_traffic::family::{Family, FamilyPairs};

use crate::device::detector;
use crate::feed::{assert_equal_recorders, pinned};
use crate::traffic::{contacts, small};

on_every_device!(
    odd_numbers_of_lines,
    few_cells_and_many,
    thresholds_with_and_without_glimpses,
    hosts_that_use_up_their_fine_region,
    windows_of_more_than_511_slices,
);

/// Maximum number of pairs per call. It is prime, so that the calls are not aligned with blocks of threads.
const PIECE: usize = 337;

fn every_way<P: Pair>(
    detector: &SlidingDetector,
    pairs: &[P],
    resident: fn(&SlidingDetector, &[P]),
) {
    for (number, piece) in pairs.chunks(PIECE).enumerate() {
        match number % 3 {
            0 => detector.ingest(piece).unwrap(),
            1 => drop(pinned(detector, piece)),
            _ => resident(detector, piece),
        }
    }
}

fn take(detector: &SlidingDetector, FamilyPairs { v4, v6 }: &FamilyPairs) {
    #[cfg(feature = "cuda")]
    if detector.device() != Device::Cpu {
        every_way(detector, v4, crate::resident::short);
        return every_way(detector, v6, crate::resident::long);
    }
    every_way(detector, v4, |detector, piece| detector.ingest(piece).unwrap());
    every_way(detector, v6, |detector, piece| detector.ingest(piece).unwrap());
}

/// Asserts that a detector on `device` has the same reports and recorders as a CPU detector that ingests one pair at a
/// time. Both detectors advance by `jump` slices after each item of `slices`. Returns the number of super points in all
/// reports.
fn check(device: Device, config: Config, slices: &[Vec<Ipv4Pair>], jump: u64) -> usize {
    let (mut super_points, mut pairs) = (0, FamilyPairs::default());
    for hash in [HashFamily::Murmur, HashFamily::HalfSip13] {
        let config = Config { hash, ..config };
        let (mut tested, mut one) = (detector(device, config), detector(Device::Cpu, config));
        for (number, slice) in (1..).zip(slices) {
            Family::Mixed.split(slice, &mut pairs);
            take(&tested, &pairs);
            pairs.v6.iter().for_each(|&pair| one.ingest(&[pair]).unwrap());
            pairs.v4.iter().for_each(|&pair| one.ingest(&[pair]).unwrap());
            let report = one.close_slice().unwrap();
            assert_eq!(tested.close_slice().unwrap(), report, "{config:?}");
            super_points += report.super_points.len();
            tested.skip_to(number * jump).unwrap();
            one.skip_to(number * jump).unwrap();
        }
        assert_equal_recorders(&mut tested, &mut one);
    }
    super_points
}

fn slices(peers: u32) -> Vec<Vec<Ipv4Pair>> {
    let pairs = contacts(8, peers);
    pairs.chunks(pairs.len().div_ceil(3)).map(<[_]>::to_vec).collect()
}

fn sized(config: Config, cell_bits: u32, lines: u32) -> Config {
    Config { scheme: Scheme::Tagged { cell_bits, lines, tags: 64 }, ..config }
}

// A host has 32 lines, including coarse ones. The tested numbers of lines are one more than that, and two larger odd
// numbers, one of which is prime.
fn odd_numbers_of_lines(device: Device) {
    for lines in [33, 121, 4099] {
        let found = check(device, sized(small(), 12, lines), &slices(300), 1);
        assert!(found > 8 || lines < 100, "{found} with {lines} lines");
    }
}

// The tested numbers of bits are the minimum, an odd number, and one more than the default.
fn few_cells_and_many(device: Device) {
    for cell_bits in [12, 13, 19] {
        let found = check(device, sized(small(), cell_bits, 1201), &slices(200), 1);
        assert!(found > 8, "{found} with {cell_bits} bits");
    }
}

fn thresholds_with_and_without_glimpses(device: Device) {
    for (threshold, has_glimpses) in [(16, false), (64, false), (300, true)] {
        let config = Config { threshold, ..sized(small(), 13, 1201) };
        let params = config.validate().unwrap();
        assert_eq!(params.glimpse_stages().is_some(), has_glimpses, "{threshold}");
        let found = check(device, config, &slices(2 * threshold), 1);
        assert!(found > 8, "{found} with {threshold}");
    }
}

// About 512 ln 512 = 3,194 peers use up 512 fine positions, and 7,098 peers use up 1,024. In the first case, a host has
// one coarse region, and in the second case two.
fn hosts_that_use_up_their_fine_region(device: Device) {
    for (linear_width, regions, truth) in [(512, 2, 12_000), (1024, 3, 24_000)] {
        let config = Config { linear_width, ..sized(small(), 12, 40_001) };
        assert_eq!(config.validate().unwrap().regions().count(), regions);
        let pairs = contacts(1, truth);
        assert_eq!(check(device, config, std::slice::from_ref(&pairs), 1), 2);
        let mut tested = detector(device, config);
        tested.ingest(&pairs).unwrap();
        let report = tested.close_slice().unwrap();
        let [point] = report.super_points.as_slice() else { panic!("{report:?}") };
        assert_eq!(point.range, EstimateRange::Within);
        // The bound is five stated standard errors.
        let bound = 5.0 * point.std_error;
        assert_abs_diff_eq!(point.cardinality, f64::from(truth), epsilon = bound);
    }
}

// Ages are in epochs of several slices. Because the step is prime, it ends at every position in an epoch. The 4 × 61
// slices are within the window.
fn windows_of_more_than_511_slices(device: Device) {
    let config = Config { window: 600, ..sized(small(), 13, 1201) };
    assert!(config.validate().unwrap().counter_sizes().epoch_slices > 1);
    let found = check(device, config, &[slices(300), slices(150)].concat(), 61);
    assert!(found > 8, "{found}");
}

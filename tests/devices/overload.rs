//! Tests on any device with more hot columns or candidates than the limits allow, and with more pairs than cells.

use srlg::config::Scheme;
use srlg::report::{FinderFill, Overload};
use srlg::{Config, Device, SliceReport};

use crate::device::detector;
use crate::feed::{one_at_a_time, whole};
use crate::traffic::{Slice, backbone, contacts, limited, presets, small, small_odd, small_paper};

on_every_device!(
    too_many_hot_columns,
    crowded_cells,
    too_many_candidates,
    saturated_arrays,
    tiny_cells_of_many_super_points,
    as_many_candidates_as_the_limit,
);

/// Returns the report on `slice` and asserts that a CPU detector that ingests one pair at a time returns the same
/// report.
fn report(device: Device, config: Config, slice: &Slice) -> SliceReport {
    let (mut tested, mut reference) = (detector(device, config), detector(Device::Cpu, config));
    whole(&tested, slice);
    one_at_a_time(&reference, slice);
    let report = reference.close_slice().unwrap();
    assert_eq!(tested.close_slice().unwrap(), report);
    assert_eq!(tested.health(), &report.health);
    report
}

fn slice() -> Slice {
    let mut pairs = backbone(31, 1, 150_000).concat();
    pairs.extend(contacts(3, 5000));
    Slice { pairs, late: Vec::new() }
}

/// Returns the hot weight and the share of hot columns in row 0.
fn hot(report: &SliceReport) -> (u32, f64) {
    match &report.health.finder.fill {
        FinderFill::Rsra { hot_weight, hot_shares, .. } => (*hot_weight, hot_shares[0]),
        other => panic!("{other:?}"),
    }
}

fn too_many_hot_columns(device: Device) {
    let [_, config] = presets(5);
    let calm = report(device, config, &slice());
    assert_eq!(calm.health.finder.overload, None);
    let (hot_weight, share) = hot(&calm);
    let columns = (share * f64::from(1 << 17)) as u32;
    let report = report(device, limited(config, columns / 2, 1 << 16), &slice());
    assert_eq!(report.health.finder.overload, Some(Overload::Raised));
    assert!(hot(&report).0 > hot_weight);
    assert!(report.super_points.len() >= 3);
}

fn crowded_cells(device: Device) {
    let [config, _] = presets(5);
    let calm = report(device, config, &slice());
    assert_eq!(calm.health.finder.overload, None);
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 461_600, tags: 64 };
    let report = report(device, Config { scheme, ..config }, &slice());
    assert_eq!(report.health.finder.overload, Some(Overload::Crowded));
    assert!(report.health.finder.miss_probability > calm.health.finder.miss_probability);
    assert!(report.health.finder.found_from > calm.health.finder.found_from);
    assert!(report.super_points.len() >= 3);
}

fn too_many_candidates(device: Device) {
    for config in presets(5) {
        let calm = report(device, config, &slice());
        for limit in [1, calm.candidates as u32 - 1] {
            let config = Config { candidate_limit: limit, ..config };
            let report = report(device, config, &slice());
            assert!(report.health.finder.miss_probability > calm.health.finder.miss_probability);
            assert!(report.candidates <= limit as usize);
            // If only one host is left out, less than 0.00013 of the hosts with θ peers may be missed, which is not an
            // overload.
            assert!(report.health.finder.overload.is_some() || limit > 1);
        }
    }
}

fn as_many_candidates_as_the_limit(device: Device) {
    for config in presets(5) {
        let calm = report(device, config, &slice());
        let config = Config { candidate_limit: calm.candidates as u32, ..config };
        assert_eq!(report(device, config, &slice()), calm);
    }
}

fn saturated_arrays(device: Device) {
    for config in [small_odd(), small_paper()] {
        let config = Config { threshold: 16, ..limited(config, 2, 2) };
        let slice = Slice { pairs: contacts(4000, 60), late: Vec::new() };
        let report = report(device, config, &slice);
        assert_eq!(report.health.finder.overload, Some(Overload::Saturated));
        assert_eq!((report.super_points.len(), report.health.finder.miss_probability), (0, 1.0));
    }
}

// Each of 4000 hosts touches 64 of only 4096 cells.
fn tiny_cells_of_many_super_points(device: Device) {
    let config = Config { threshold: 16, candidate_limit: 2, ..small() };
    let slice = Slice { pairs: contacts(4000, 60), late: Vec::new() };
    let report = report(device, config, &slice);
    assert!(report.health.finder.overload.is_some());
    assert!(report.candidates <= 2, "{}", report.candidates);
}

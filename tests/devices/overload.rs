//! More hot columns or candidates than the limits accept, on any device.

use srlg::{Config, Device, Overload, SliceReport};

use crate::device::detector;
use crate::feed::{one_at_a_time, whole};
use crate::traffic::{Slice, backbone, contacts, presets, small, small_paper};

on_every_device!(
    too_many_hot_columns,
    too_many_candidates,
    saturated_arrays,
    as_many_candidates_as_the_limit,
);

/// The report on one slice; asserts that it is that of the CPU, fed one pair at a time.
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

fn too_many_hot_columns(device: Device) {
    for config in presets(5) {
        let calm = report(device, config, &slice());
        assert_eq!(calm.health.overload, None);
        let hot = (calm.health.hot_shares[0] * f64::from(1 << config.rough_column_bits)) as u32;
        let report = report(device, Config { hot_limit: hot / 2, ..config }, &slice());
        assert_eq!(report.health.overload, Some(Overload::RaisedHotWeight));
        assert!(report.health.hot_weight > calm.health.hot_weight);
        assert!(report.super_points.len() >= 3);
    }
}

fn too_many_candidates(device: Device) {
    for config in presets(5) {
        let calm = report(device, config, &slice());
        for limit in [1, calm.candidates as u32 - 1] {
            let config = Config { candidate_limit: limit, ..config };
            let report = report(device, config, &slice());
            assert!(report.health.overload.is_some());
            assert!(report.candidates <= limit as usize);
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
    for config in [small(), small_paper()] {
        let config = Config { hot_limit: 2, candidate_limit: 2, threshold: 16, ..config };
        let slice = Slice { pairs: contacts(4000, 60), late: Vec::new() };
        let report = report(device, config, &slice);
        assert_eq!(report.health.overload, Some(Overload::Saturated));
        assert_eq!((report.super_points.len(), report.health.miss_probability), (0, 1.0));
    }
}

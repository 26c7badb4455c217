use std::collections::BTreeMap;

use srlg_core::{Recorder8, Recorder16};
use srlg_kernels::args::{self, Arguments, NAMES};

use super::*;

/// What the PTX declares: per entry point the alignment and the bytes of its parameters.
fn declared() -> BTreeMap<&'static str, Vec<(usize, usize)>> {
    let entries = PTX.to_str().unwrap().split(".visible .entry ").skip(1);
    entries
        .map(|entry| entry.split_once('(').unwrap())
        .map(|(name, rest)| (name, sizes(rest)))
        .collect()
}

/// Of `.param .align 8 .b8 scan_param_0[312]` the 8 and the 312.
fn sizes(entry: &str) -> Vec<(usize, usize)> {
    let parameters = entry.split_once(')').unwrap().0.split(".param ").skip(1);
    let size = |parameter: &str| {
        let (align, bytes) = parameter.strip_prefix(".align ")?.split_once(" .b8 ")?;
        let (_, bytes) =
            bytes.trim_end().trim_end_matches(',').strip_suffix(']')?.split_once('[')?;
        Some((align.parse().ok()?, bytes.parse().ok()?))
    };
    parameters.map(|parameter| size(parameter).expect(parameter)).collect()
}

fn passed<A: Arguments>() -> (&'static str, Vec<(usize, usize)>) {
    (A::NAME, vec![(align_of::<A>(), size_of::<A>())])
}

#[test]
fn every_entry_point_is_in_the_ptx_and_no_other() {
    let mut names = NAMES.to_vec();
    names.sort_unstable();
    assert_eq!(declared().into_keys().collect::<Vec<_>>(), names);
}

#[test]
fn host_and_device_agree_on_what_a_launch_passes() {
    let passed = BTreeMap::from([
        passed::<args::Scan>(),
        passed::<args::ScanRows>(),
        passed::<args::Survey<Recorder8>>(),
        passed::<args::Survey<Recorder16>>(),
        passed::<args::Weigh>(),
        passed::<args::Hot>(),
        passed::<args::Regain>(),
        passed::<args::Tally>(),
        passed::<args::Union>(),
        passed::<args::Age<Recorder8>>(),
        passed::<args::Age<Recorder16>>(),
        passed::<args::Merge<Recorder8>>(),
        passed::<args::Merge<Recorder16>>(),
        passed::<args::ExtractRough<Recorder8>>(),
        passed::<args::ExtractRough<Recorder16>>(),
        passed::<args::ExtractLinear>(),
        passed::<args::Apply<Recorder8>>(),
        passed::<args::Apply<Recorder16>>(),
    ]);
    assert_eq!(passed, declared());
}

// Whatever this machine has, it is no panic.
#[test]
fn without_a_driver_opening_a_device_says_so() {
    let error = Cuda::open(u32::MAX).err().expect("no machine has so many devices");
    if driver::missing(&[]).is_ok() {
        eprintln!("skipped: this machine has a driver ({error})");
        return;
    }
    assert!(matches!(error, Error::NoDriver), "{error}");
}

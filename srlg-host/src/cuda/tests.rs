use std::collections::BTreeMap;

use srlg_kernels::for_each_entry_point;

use super::*;

/// What the PTX declares: per entry point the alignment and the bytes of its parameters.
fn declared() -> BTreeMap<String, Vec<(usize, usize)>> {
    let entries = PTX.to_str().unwrap().split(".visible .entry ").skip(1);
    entries
        .map(|entry| entry.split_once('(').unwrap())
        .map(|(name, rest)| (name.into(), sizes(rest)))
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

#[test]
fn the_ptx_has_every_entry_point_with_the_arguments_that_a_launch_passes() {
    let mut passed = BTreeMap::new();
    for_each_entry_point::<On<Cuda>>(|entry| {
        let arguments = (entry.arguments.align(), entry.arguments.size());
        passed.insert([entry.name, entry.width].concat(), vec![arguments]);
    });
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

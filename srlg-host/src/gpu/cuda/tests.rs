use std::collections::BTreeMap;
use std::process::Command;

use srlg_core::{Config, FINDER, Ipv4Pair};
use srlg_kernels::for_each_entry_point;
use srlg_traffic::skip::skip;

use super::*;
use crate::detector::SlidingDetector;
use crate::device::Device;
use crate::gpu::backend;

/// Returns the entry points in the PTX, with the alignment and size of their parameters.
fn declared() -> BTreeMap<String, Vec<(usize, usize)>> {
    let entries = PTX.to_str().unwrap().split(".visible .entry ").skip(1);
    entries
        .map(|entry| entry.split_once('(').unwrap())
        .map(|(name, rest)| (name.into(), sizes(rest)))
        .collect()
}

/// Returns the alignment and size of each parameter, for example 8 and 312 for `.param .align 8 .b8 scan_param_0[312]`.
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

// The addresses are within memory that is aligned to 256 bytes, as the driver's memory is.
#[test]
fn pairs_that_a_thread_cannot_load_at_once_are_refused() {
    for (at, words, bytes) in [(0x104, 2, 8), (0x108, 8, 16), (0x10c, 8, 16)] {
        let error = driver::check_alignment(at, words).unwrap_err();
        let is_right = matches!(error, Error::UnalignedPairs { address, alignment } if (address, alignment) == (at, bytes));
        assert!(is_right, "{error}");
    }
    for (address, words) in [(0x100, 2), (0x108, 2), (0x110, 8), (0, 8)] {
        driver::check_alignment(address, words).unwrap();
    }
}

// Opening the device must not panic on any machine.
#[test]
fn opening_an_unknown_device_returns_an_error() {
    let error = Cuda::open(u32::MAX).err().expect("no machine has so many devices");
    match driver::missing(FUNCTIONS) {
        Err(_) => assert!(matches!(error, Error::NoDriver), "{error}"),
        Ok(Some(_)) => assert!(matches!(error, Error::UnfitDriver { .. }), "{error}"),
        // The driver may also fail to start.
        Ok(None) => assert!(
            matches!(error, Error::NoSuchDevice { .. } | Error::Driver { .. } | Error::NoDriver),
            "{error}"
        ),
    }
}

/// Environment variable that is set in the process in which the device fails.
const FAILS: &str = "SRLG_TEST_DEVICE_FAILS";

// A kernel that reads beyond its recorders traps, and the process loses everything that it has on the device. The test
// therefore runs in a separate process. Only this test passes such a position to a kernel.
#[test]
fn a_trapped_device_returns_an_error_and_the_process_can_exit() {
    if std::env::var_os(FAILS).is_some() {
        return let_it_trap();
    }
    if let Err(absence) = Cuda::open(0) {
        let is_required = std::env::var_os("SRLG_REQUIRE_CUDA").is_some_and(|value| value == "1");
        assert!(!is_required, "SRLG_REQUIRE_CUDA is set, but {absence}");
        skip(&format!("no GPU: {absence}"));
        return;
    }
    let name = std::thread::current().name().expect("the name of the test").to_owned();
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(FAILS, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}: {said}", run.status);
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
}

fn let_it_trap() {
    let params = Config::default().validate().unwrap();
    let lost = backend(Cuda::open(0).unwrap(), Device::Cuda(0), params).unwrap();
    let mut other = SlidingDetector::new(Config::default(), Device::Cuda(0)).unwrap();
    other.ingest(&[Ipv4Pair { inside: 1, peer: 2 }]).unwrap();
    other.flush().unwrap();
    let recorders = u32::try_from(params.arrays()[FINDER].recorders).unwrap();
    assert!(lost.gather(FINDER, &[recorders - 1]).is_ok());
    let error = lost.gather(FINDER, &[recorders]).err();
    assert!(matches!(error, Some(Error::Driver { .. })), "{error:?}");
    for _ in 0..2 {
        assert!(matches!(lost.flush(), Err(Error::DeviceLost)));
        assert!(matches!(lost.gather(FINDER, &[0]), Err(Error::DeviceLost)));
    }
    // The driver also reports the failure to the other detector of the process.
    let error = other.close_slice().err();
    assert!(matches!(error, Some(Error::Driver { .. })), "{error:?}");
    for _ in 0..2 {
        assert!(matches!(other.close_slice(), Err(Error::DeviceLost)));
        assert!(matches!(other.flush(), Err(Error::DeviceLost)));
    }
    drop(lost);
    drop(other);
    // It depends on the driver whether the process gets an error or can use the device again.
    match SlidingDetector::new(Config::default(), Device::Cuda(0)) {
        Ok(_) => println!("a new detector works in the same process"),
        Err(Error::Driver { doing, name, .. }) => println!("no new detector: {doing}, {name}"),
        Err(error) => panic!("{error}"),
    }
}

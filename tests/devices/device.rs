//! Helpers that run a test on each device.

use srlg::{Config, Device, Error, SlidingDetector};
use srlg_traffic::skip::skip;

/// Generates a test for each device from each function that accepts a [`Device`].
macro_rules! on_every_device {
    ($($name:ident),+ $(,)?) => { $(
        mod $name {
            #[test]
            fn cpu() {
                super::$name(srlg::Device::Cpu);
            }

            #[test]
            fn cuda() {
                crate::device::on_gpu(super::$name);
            }
        }
    )+ };
}

const GPU: Device = Device::Cuda(0);

/// Runs `test` on the GPU. If there is no usable GPU, panics if one is required, and prints a message otherwise.
pub(crate) fn on_gpu(test: impl Fn(Device)) {
    match absence() {
        None => test(GPU),
        Some(absence) if is_required() => panic!("SRLG_REQUIRE_CUDA is set, but {absence}"),
        Some(absence) => skip(&format!("no GPU: {absence}")),
    }
}

/// Returns the error that explains why there is no usable GPU, or `None` if there is one. Panics on any other error,
/// so that a GPU failure is not mistaken for a missing GPU.
fn absence() -> Option<Error> {
    match SlidingDetector::new(Config::default(), GPU) {
        Ok(_) => None,
        Err(
            error @ (Error::NoDriver
            | Error::WithoutCuda
            | Error::NoSuchDevice { .. }
            | Error::ComputeCapability { .. }
            | Error::UnfitDriver { .. }),
        ) => Some(error),
        Err(error) => panic!("the GPU cannot be used: {error}"),
    }
}

fn is_required() -> bool {
    std::env::var_os("SRLG_REQUIRE_CUDA").is_some_and(|value| !value.is_empty() && value != "0")
}

pub(crate) fn detector(device: Device, config: Config) -> SlidingDetector {
    let detector = SlidingDetector::new(config, device).unwrap();
    assert_eq!(detector.device(), device);
    detector
}

//! Tests of the GPU backend on a simulated device. The results must equal those of the CPU backend, bit for bit. Some
//! tests make the device fail.

mod batches;
mod equality;
mod faults;
mod odd;
mod search;
mod several;
mod simulated;

use srlg_core::{Config, Ipv4Pair, RsraSizes, Scheme};

use super::backend;
use crate::detector::SlidingDetector;
use crate::device::Device;
use crate::error::Error;
use simulated::SimulatedGpu;

/// Returns a detector configuration with so few recorders that estimators and lists overflow.
fn small() -> Config {
    Config {
        threshold: 64,
        window: 4,
        scheme: Scheme::Tagged { cell_bits: 12, lines: 120, tags: 64 },
        linear_width: 512,
        ..Config::default()
    }
}

const ROUGH: RsraSizes = RsraSizes { rows: 4, column_bits: 12, bit_stride: 10, ..RsraSizes::PAPER };

fn small_paper() -> Config {
    let scheme = Scheme::Paper { finder: ROUGH, rows: 3, columns: 40, stride: 8 };
    Config { scheme, linear_width: 128, ..small() }
}

fn on(gpu: &SimulatedGpu, config: Config) -> Result<SlidingDetector, Error> {
    let params = config.validate()?;
    let backend = backend(gpu.clone(), Device::Cuda(0), params)?;
    Ok(SlidingDetector::with_backend(params, backend))
}

fn cpu(config: Config) -> SlidingDetector {
    SlidingDetector::new(config, Device::Cpu).unwrap()
}

fn contacts(hosts: u32, peers: u32) -> Vec<Ipv4Pair> {
    let pair = |contact: u32| Ipv4Pair {
        inside: (contact % hosts).wrapping_mul(0x0101_3501),
        peer: contact.wrapping_mul(0x9e37_79b9),
    };
    (0..hosts * peers).map(pair).collect()
}

//! Tests of a device that refuses memory or fails. Each failure must return the correct error variant, and neither
//! pairs nor memory may be lost silently.

use super::simulated::{Operation, SimulatedGpu};
use super::{contacts, on, small};
use crate::detector::SlidingDetector;
use crate::device::Device;
use crate::error::Error;

#[test]
fn failed_allocations_are_errors_and_leak_nothing() {
    for operation in [Operation::Allocate, Operation::Pin] {
        let mut after = 0;
        loop {
            let gpu = SimulatedGpu::new(3);
            gpu.fail(operation, after);
            match on(&gpu, small()) {
                Ok(_) => break,
                Err(Error::DeviceMemory { .. }) if operation == Operation::Allocate => {}
                Err(Error::PinnedMemory { .. }) if operation == Operation::Pin => {}
                Err(error) => panic!("{operation:?}: {error}"),
            }
            assert_eq!(gpu.memories(), 0, "{operation:?} number {after}");
            after += 1;
        }
        assert!(after >= 6, "{operation:?}: {after} were refused");
    }
}

#[test]
fn a_later_failure_to_pin_memory_is_harmless() {
    let gpu = SimulatedGpu::new(4);
    let mut detector = on(&gpu, small()).unwrap();
    detector.ingest(&contacts(3, 200)).unwrap();
    gpu.fail(Operation::Pin, 0);
    let error = detector.pinned_pairs::<srlg_core::Ipv4Pair>(100).unwrap_err();
    assert!(matches!(error, Error::PinnedMemory { .. }), "{error}");
    let mut cpu = SlidingDetector::new(small(), Device::Cpu).unwrap();
    cpu.ingest(&contacts(3, 200)).unwrap();
    assert_eq!(detector.close_slice().unwrap(), cpu.close_slice().unwrap());
}

// Wherever the device fails, the call reports the failure, and all later calls report that the state is lost.
#[test]
fn a_failed_device_returns_an_error() {
    use Operation::{Download, Finish, Launch, Look, Record, Upload, Wait};
    for operation in [Launch, Upload, Download, Record, Wait, Finish, Look] {
        let mut after = 0;
        loop {
            let gpu = SimulatedGpu::new(5);
            let mut detector = on(&gpu, small()).unwrap();
            gpu.fail(operation, after);
            let mut a_slice = || -> Result<(), Error> {
                detector.ingest(&contacts(5, 200))?;
                detector.flush()?;
                detector.ingest_pinned(&detector.pinned_pairs::<srlg_core::Ipv4Pair>(60)?)?;
                detector.cardinality([10, 0, 0, 1].into())?;
                let (state, delta) = (detector.snapshot()?, detector.delta(1)?);
                detector.merge_snapshot(&state)?;
                detector.merge_delta(&delta)?;
                detector.close_slice().map(drop)
            };
            let Err(error) = a_slice() else { break };
            assert!(matches!(error, Error::Driver { .. }), "{error}");
            for _ in 0..2 {
                assert!(matches!(detector.close_slice(), Err(Error::DeviceLost)));
                assert!(matches!(detector.ingest(&contacts(1, 1)), Err(Error::DeviceLost)));
                assert!(matches!(
                    detector.cardinality([10, 0, 0, 1].into()),
                    Err(Error::DeviceLost)
                ));
                assert!(matches!(detector.snapshot(), Err(Error::DeviceLost)));
            }
            drop(detector);
            assert_eq!(gpu.memories(), 0);
            after += 1;
        }
        assert!(after > 0, "{operation:?} never failed");
    }
}

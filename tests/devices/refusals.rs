//! Tests that failed memory allocations return errors, and that detectors still work afterwards.

use srlg::{Device, Error, Ipv4Pair};

use crate::device::detector;
use crate::traffic::{contacts, small};

on_every_device!(pinned_memory_that_is_refused);

// No machine has 2^50 bytes of memory, and no process can address them.
fn pinned_memory_that_is_refused(device: Device) {
    let mut tested = detector(device, small());
    tested.ingest(&contacts(3, 200)).unwrap();
    let error = tested.pinned_pairs::<Ipv4Pair>(1 << 47).unwrap_err();
    assert!(matches!(error, Error::PinnedMemory { bytes, .. } if bytes == 1 << 50), "{error}");
    // The size of this buffer in bytes exceeds the range of `usize`.
    assert!(matches!(tested.pinned_pairs::<Ipv4Pair>(usize::MAX), Err(Error::PinnedMemory { .. })));
    assert_eq!(tested.close_slice().unwrap().super_points.len(), 3);
}

#[cfg(feature = "cuda")]
mod memory_of_the_device_that_is_refused {
    use srlg::config::Scheme;
    use srlg::gpu::cudarc::driver::CudaContext;
    use srlg::{Config, Device, Error, SlidingDetector};
    use srlg_traffic::skip::skip;

    use crate::device::detector;
    use crate::traffic::{contacts, small};

    /// GPU memory that is left free for parallel tests, in bytes. It must be less than the 8.6 GB that the lines in
    /// this test need.
    const LEFT: usize = 7 << 30;

    #[test]
    fn cuda() {
        crate::device::on_gpu(check);
    }

    fn check(device: Device) {
        let context = CudaContext::new(0).unwrap();
        if context.name().unwrap() == "ptxrun" {
            skip("an interpreter reports the memory of the host");
            return;
        }
        let (free, _) = context.mem_get_info().unwrap();
        if free <= LEFT {
            skip(&format!("{free} bytes are free, and the test leaves {LEFT}"));
            return;
        }
        let stream = context.default_stream();
        let held = stream.alloc_zeros::<u8>(free - LEFT).unwrap();
        stream.synchronize().unwrap();
        // The lines have 2^32 - 32 recorders of 2 bytes each.
        let scheme = Scheme::Tagged { cell_bits: 18, lines: (1 << 27) - 1, tags: 64 };
        let error = SlidingDetector::new(Config { scheme, ..Config::default() }, device).err();
        let Some(Error::DeviceMemory { bytes, free, .. }) = error else { panic!("{error:?}") };
        assert_eq!(bytes, ((1 << 32) - 32) * 2);
        assert!(free < bytes, "{free}");
        // A detector that fits into the remaining memory still works.
        let mut tested = detector(device, small());
        tested.ingest(&contacts(3, 200)).unwrap();
        assert_eq!(tested.close_slice().unwrap().super_points.len(), 3);
        drop(held);
    }
}

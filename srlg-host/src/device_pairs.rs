//! [`DevicePairs`]: pairs that are on a GPU already.

use cudarc::driver::{CudaSlice, CudaView};

/// Pairs in the memory of a CUDA device: `[aip, bip]` each.
///
/// - `CudaSlice<[u32; 2]>` and `CudaView<[u32; 2]>` of cudarc, without a copy and without waiting: their stream waits for
///   the detector, and the detector for their stream. What other streams wrote before is waited
///   for when cudarc keeps events, as it does unless told otherwise.
/// - `DeviceSlice<IpPair>`, hence `DeviceBuffer<IpPair>`, of cust, with the feature `cust`. They
///   know of no stream, so all work of the device is waited for before and after.
///
/// All of them in the primary context of the detector's device, which is where cudarc and cust
/// allocate by default. This trait cannot be implemented elsewhere.
///
/// The types are those of cudarc 0.19 as [`srlg_host::cudarc`](crate::cudarc) has it. A crate with
/// a dependency on cudarc of its own should leave the choice of the CUDA version to that one:
/// cudarc does not build for two.
pub trait DevicePairs: Sealed {}

/// Keeps [`DevicePairs`] from being implemented elsewhere.
pub trait Sealed {
    /// The pairs, under the name of their crate.
    fn view(&self) -> View<'_>;
}

/// Pairs of one crate or another.
#[derive(Debug)]
pub enum View<'a> {
    /// Of cudarc.
    Cudarc(CudaView<'a, [u32; 2]>),
    /// Of cust.
    #[cfg(feature = "cust")]
    Cust(&'a cust::memory::DeviceSlice<srlg_core::IpPair>),
}

impl DevicePairs for CudaSlice<[u32; 2]> {}

impl Sealed for CudaSlice<[u32; 2]> {
    fn view(&self) -> View<'_> {
        View::Cudarc(self.as_view())
    }
}

impl DevicePairs for CudaView<'_, [u32; 2]> {}

impl Sealed for CudaView<'_, [u32; 2]> {
    fn view(&self) -> View<'_> {
        View::Cudarc(self.slice(..))
    }
}

#[cfg(feature = "cust")]
impl DevicePairs for cust::memory::DeviceSlice<srlg_core::IpPair> {}

#[cfg(feature = "cust")]
impl Sealed for cust::memory::DeviceSlice<srlg_core::IpPair> {
    fn view(&self) -> View<'_> {
        View::Cust(self)
    }
}

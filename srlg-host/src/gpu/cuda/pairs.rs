//! [`DevicePairs`]: pairs that are on a GPU already.

use cudarc::driver::{CudaSlice, CudaView};

use crate::ingest::pairs::Family;

/// Marks types of pairs in the memory of a CUDA device: `[inside, opposite]` each, of one word each, or of four for an
/// [`Ip6Pair`](crate::ingest::Ip6Pair).
///
/// - `CudaSlice` and `CudaView` of cudarc, of `[u32; 2]` or `[u32; 8]`, without a copy and without waiting: their stream waits for
///   the detector, and the detector for their stream. What other streams wrote before is waited
///   for when cudarc keeps events, as it does unless told otherwise.
/// - `DeviceSlice`, hence `DeviceBuffer`, of cust, of `IpPair` or `Ip6Pair`, with the feature `cust`. They
///   know of no stream, so all work of the device is waited for before and after.
///
/// All of them in the primary context of the detector's device, which is where cudarc and cust
/// allocate by default. This trait cannot be implemented elsewhere.
///
/// The types are those of cudarc 0.19 as `srlg::gpu::cudarc` has it. A crate with
/// a dependency on cudarc of its own should leave the choice of the CUDA version to that one:
/// cudarc does not build for two.
pub trait DevicePairs: Sealed {}

/// Keeps [`DevicePairs`] from being implemented elsewhere.
pub trait Sealed {
    /// Returns the pairs, under the name of their crate.
    fn view(&self) -> PairsView<'_>;
}

/// Holds pairs in the memory of a device, as a type of one crate or another.
#[derive(Debug)]
pub enum PairsView<'a> {
    /// Of cudarc, of IPv4.
    Cudarc(CudaView<'a, [u32; 2]>),
    /// Of cudarc, of any two addresses.
    Cudarc6(CudaView<'a, [u32; 8]>),
    /// Of cust, of IPv4.
    #[cfg(feature = "cust")]
    Cust(&'a cust::memory::DeviceSlice<srlg_core::IpPair>),
    /// Of cust, of any two addresses.
    #[cfg(feature = "cust")]
    Cust6(&'a cust::memory::DeviceSlice<srlg_core::Ip6Pair>),
}

impl PairsView<'_> {
    pub(crate) fn family(&self) -> Family {
        match self {
            Self::Cudarc(_) => Family::V4,
            Self::Cudarc6(pairs) => Family::V6.of(pairs.len()),
            #[cfg(feature = "cust")]
            Self::Cust(_) => Family::V4,
            #[cfg(feature = "cust")]
            Self::Cust6(pairs) => Family::V6.of(pairs.len()),
        }
    }
}

/// Implements [`DevicePairs`] for types of device memory.
macro_rules! device_pairs {
    ($($type:ty: $variant:ident, |$self:ident| $view:expr;)*) => {
        $(
            impl DevicePairs for $type {}

            impl Sealed for $type {
                fn view(&self) -> PairsView<'_> {
                    let $self = self;
                    PairsView::$variant($view)
                }
            }
        )*
    };
}

device_pairs! {
    CudaSlice<[u32; 2]>: Cudarc, |pairs| pairs.as_view();
    CudaView<'_, [u32; 2]>: Cudarc, |pairs| pairs.slice(..);
    CudaSlice<[u32; 8]>: Cudarc6, |pairs| pairs.as_view();
    CudaView<'_, [u32; 8]>: Cudarc6, |pairs| pairs.slice(..);
}

#[cfg(feature = "cust")]
device_pairs! {
    cust::memory::DeviceSlice<srlg_core::IpPair>: Cust, |pairs| pairs;
    cust::memory::DeviceSlice<srlg_core::Ip6Pair>: Cust6, |pairs| pairs;
}

//! [`DevicePairs`]: pairs that are already on a GPU.

use cudarc::driver::{CudaSlice, CudaView};

use crate::ingest::pairs::Family;

/// Pairs in the memory of a CUDA device.
///
/// Each pair is `[inside, opposite]`. Each host takes one word, or four words in an
/// [`Ip6Pair`](crate::ingest::Ip6Pair).
///
/// - Pairs of cudarc (`CudaSlice` and `CudaView` of `[u32; 2]` or `[u32; 8]`) are used without a copy. Their stream and
///   the detector wait for each other on the device. If cudarc records events, which is its default, the detector also
///   waits for earlier writes in other streams.
/// - Pairs of cust (`DeviceSlice` and `DeviceBuffer` of `IpPair` or `Ip6Pair`) need the feature `cust`. They have no
///   stream, so the call waits for all work on the device before and after it uses them.
///
/// All pairs must be in the primary context of the detector's device, in which cudarc and cust allocate by default.
/// This trait is sealed and cannot be implemented outside this crate.
///
/// The types belong to cudarc 0.19, re-exported as `srlg::gpu::cudarc`. A crate with its own dependency on cudarc
/// should not select a CUDA version, because cudarc cannot be built for two versions.
pub trait DevicePairs: Sealed {}

/// The supertrait that seals [`DevicePairs`].
pub trait Sealed {
    /// Returns the pairs as a type of cudarc or cust.
    fn view(&self) -> PairsView<'_>;
}

/// Pairs in the memory of a device, as a type of cudarc or cust.
#[derive(Debug)]
pub enum PairsView<'a> {
    /// IPv4 pairs in a type of cudarc.
    Cudarc(CudaView<'a, [u32; 2]>),
    /// Pairs of any two addresses in a type of cudarc.
    Cudarc6(CudaView<'a, [u32; 8]>),
    /// IPv4 pairs in a type of cust.
    #[cfg(feature = "cust")]
    Cust(&'a cust::memory::DeviceSlice<srlg_core::IpPair>),
    /// Pairs of any two addresses in a type of cust.
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

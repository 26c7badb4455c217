//! [`DevicePairs`]: pairs that are already on a GPU.

use cudarc::driver::{CudaSlice, CudaView};

use crate::ingest::pairs::Family;

/// Pairs in the memory of a CUDA device.
///
/// Each pair is `[inside, peer]`. An address consists of one 32-bit word, or of four words in an
/// [`IpPair`](crate::IpPair). The detector reads the pairs without copying them.
///
/// - Pairs in cudarc types (`CudaSlice` and `CudaView` of `[u32; 2]` or `[u32; 8]`) have a stream. This stream and the
///   detector wait for each other on the device. If cudarc tracks events, as it does by default, the detector also
///   waits for earlier writes to the pairs in other streams.
/// - Pairs in cust types (`DeviceSlice` and `DeviceBuffer` of `Ipv4Pair` or `IpPair`) need the feature `cust` and have
///   no stream. An ingest therefore waits for all work on the device before it reads the pairs, and returns only after
///   they have been read.
///
/// All pairs must be in the primary context of the detector's device, in which cudarc and cust allocate by default.
/// This trait is sealed and cannot be implemented outside this crate.
///
/// The cudarc types are those of cudarc 0.19, which is re-exported as `srlg::gpu::cudarc`. A crate that depends on
/// cudarc directly should not select a CUDA version, because cudarc cannot be built for two CUDA versions.
pub trait DevicePairs: Sealed {}

/// The supertrait that seals [`DevicePairs`].
pub trait Sealed {
    /// Returns the pairs in a cudarc or cust type.
    fn view(&self) -> PairsView<'_>;
}

/// Pairs in the memory of a device, in a cudarc or cust type.
#[derive(Debug)]
pub enum PairsView<'a> {
    /// IPv4 pairs in a cudarc type.
    Cudarc(CudaView<'a, [u32; 2]>),
    /// Pairs of any two addresses in a cudarc type.
    Cudarc6(CudaView<'a, [u32; 8]>),
    /// IPv4 pairs in a cust type.
    #[cfg(feature = "cust")]
    Cust(&'a cust::memory::DeviceSlice<srlg_core::Ipv4Pair>),
    /// Pairs of any two addresses in a cust type.
    #[cfg(feature = "cust")]
    Cust6(&'a cust::memory::DeviceSlice<srlg_core::IpPair>),
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
    cust::memory::DeviceSlice<srlg_core::Ipv4Pair>: Cust, |pairs| pairs;
    cust::memory::DeviceSlice<srlg_core::IpPair>: Cust6, |pairs| pairs;
}

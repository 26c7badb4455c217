//! The structs of the header, without padding, and their conversion to and from the types of the library.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;

use srlg_host::config::{ConfigError, HashFamily as LibraryHash};
use srlg_host::report::{EstimateRange, FinderFill, Overload as LibraryOverload, SamplePeer};
use srlg_host::{Config as LibraryConfig, Device as LibraryDevice, SliceReport, report};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::status::{Failure, Status};

/// A struct that starts with its size, so that later versions can append members.
pub(crate) trait Versioned: FromBytes + IntoBytes + Immutable {
    /// Size of the first version of the struct, in bytes.
    const FIRST_SIZE: usize;
}

/// Handle to a detector, which finds super points in a sliding window.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detector {
    /// Number of the handle. It is never 0.
    pub id: u64,
}

/// Handle to a feed, through which a receiving thread ingests while another thread closes slices.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feed {
    /// Number of the handle. It is never 0.
    pub id: u64,
}

/// Handle to a report on a closed slice.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of the handle. It is never 0.
    pub id: u64,
}

/// Handle to the bytes of a snapshot, a delta or a list of pairs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Number of the handle. It is never 0.
    pub id: u64,
}

/// Family of hash functions.
#[repr(C)]
pub enum HashFamily {
    /// Murmur hash, which is fast. Anyone who knows the seed can choose traffic that misleads the detector.
    Murmur = 0,
    /// HalfSipHash, which is slower but safe for hostile traffic. It needs a secret seed; see srlg_random_seed.
    HalfSip13 = 1,
}

/// Device on which a detector runs. Reports are the same on all devices.
#[repr(C)]
pub enum Device {
    /// The first NVIDIA GPU, or the CPU if that GPU is not usable.
    Auto = 0,
    /// The CPU.
    Cpu = 1,
    /// The NVIDIA GPU with the number `cuda_device`.
    Cuda = 2,
}

/// Configuration of a detector. If a member other than `size` is 0, its default applies.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
pub struct Config {
    /// Size of this struct, in bytes.
    pub size: usize,
    /// Memory limit for which the sizes of the detector are planned, in bytes. If `memory` and `pairs` are both 0, the
    /// detector uses 31.6 MB.
    pub memory: u64,
    /// Number of distinct pairs per window for which the sizes of the detector are planned. Set both `memory` and
    /// `pairs`, or neither.
    pub pairs: u64,
    /// Seed of every hash. Detectors whose states are merged need the same seed.
    pub seed: u64,
    /// Minimum number of peers of a reported host. The default is 1024.
    pub threshold: u32,
    /// Length of the window, in slices. The default is 300.
    pub window: u32,
    /// Family of hash functions (a value of srlg_hash).
    pub hash: u32,
    /// Device (a value of srlg_device).
    pub device: u32,
    /// Number of the GPU, starting at 0, if `device` is SRLG_DEVICE_CUDA.
    pub cuda_device: u32,
    /// Maximum number of threads that close a slice. The default is 1.
    pub close_threads: u32,
}

impl Versioned for Config {
    const FIRST_SIZE: usize = 56;
}

impl Config {
    pub(crate) fn library_config(&self) -> Result<LibraryConfig, Failure> {
        let defaults = LibraryConfig::default();
        let or = |number: u32, default| NonZeroU32::new(number).map_or(default, NonZeroU32::get);
        let (threshold, window) =
            (or(self.threshold, defaults.threshold), or(self.window, defaults.window));
        let sizes = match (self.memory, self.pairs) {
            (0, 0) => {
                let config = LibraryConfig { threshold, window, ..defaults };
                if let Err(ConfigError::LinearWidth { .. } | ConfigError::FullEstimator { .. }) =
                    config.validate()
                {
                    let text = format!(
                        "threshold: too large for the default sizes, got {threshold}; set memory and pairs"
                    );
                    return Err(Failure::new(Status::Config, text));
                }
                config
            }
            (0, _) | (_, 0) => {
                let text = format!(
                    "memory and pairs: must both be zero or both be positive, got {} bytes and {} pairs",
                    self.memory, self.pairs
                );
                return Err(Failure::new(Status::Argument, text));
            }
            (memory, pairs) => {
                let memory = usize::try_from(memory).unwrap_or(usize::MAX);
                let plan = LibraryConfig::for_load(threshold, window, pairs, memory);
                plan.map_err(srlg_host::Error::from)?.config
            }
        };
        Ok(LibraryConfig { hash: self.library_hash()?, seed: self.seed, ..sizes })
    }

    fn library_hash(&self) -> Result<LibraryHash, Failure> {
        [LibraryHash::Murmur, LibraryHash::HalfSip13]
            .into_iter()
            .nth(self.hash as usize)
            .ok_or_else(|| out_of_range("hash", self.hash, 2))
    }

    pub(crate) fn library_device(&self) -> Result<LibraryDevice, Failure> {
        [LibraryDevice::Auto, LibraryDevice::Cpu, LibraryDevice::Cuda(self.cuda_device)]
            .into_iter()
            .nth(self.device as usize)
            .ok_or_else(|| out_of_range("device", self.device, 3))
    }
}

pub(crate) fn out_of_range(name: &str, got: impl Into<u64>, end: u64) -> Failure {
    let text = format!("{name}: must be below {end}, got {}", got.into());
    Failure::new(Status::Argument, text)
}

/// Address of a host: 16 bytes in network byte order, as inet_pton writes it for AF_INET6. The address 10.0.0.1 is
/// stored as ::ffff:10.0.0.1.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Host {
    /// Bytes of the address.
    pub bytes: [u8; 16],
}

impl Host {
    pub(crate) fn address(self) -> IpAddr {
        IpAddr::V6(self.ipv6()).to_canonical()
    }

    pub(crate) fn ipv6(self) -> Ipv6Addr {
        self.bytes.into()
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        let address = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        Self { bytes: address.octets() }
    }
}

/// Meaning of a cardinality.
#[repr(C)]
pub enum Range {
    /// An estimate with a standard error.
    Within = 0,
    /// An estimate of 0, because the expected touches of other hosts exceed the observed touches.
    ClampedToZero = 1,
    /// A lower bound, because the estimator is full.
    Beyond = 2,
    /// A range for which this version has no name.
    Other = 255,
}

fn range(range: EstimateRange) -> u32 {
    let range = match range {
        EstimateRange::Within => Range::Within,
        EstimateRange::ClampedToZero => Range::ClampedToZero,
        EstimateRange::Beyond => Range::Beyond,
        _ => Range::Other,
    };
    range as u32
}

/// Number of standard errors between the cardinality and each end of the 95 % interval.
const SIGMAS: f64 = 1.96;

/// Estimated number of distinct peers of a host.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
pub struct Estimate {
    /// Size of this struct, in bytes.
    pub size: usize,
    /// Estimated number of distinct peers.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Lower end of the 95 % interval.
    pub lower: f64,
    /// Upper end of the 95 % interval. It is infinite if `range` is SRLG_RANGE_BEYOND.
    pub upper: f64,
    /// Meaning of `cardinality` (a value of srlg_range).
    pub range: u32,
    /// Reserved member. It is always 0.
    pub reserved: u32,
}

impl Versioned for Estimate {
    const FIRST_SIZE: usize = 48;
}

impl From<report::Estimate> for Estimate {
    fn from(of: report::Estimate) -> Self {
        Self {
            size: size_of::<Self>(),
            cardinality: of.cardinality,
            std_error: of.std_error,
            lower: of.lower(SIGMAS),
            upper: of.upper(SIGMAS),
            range: range(of.range),
            reserved: 0,
        }
    }
}

/// A host whose estimated number of distinct peers in the window is at least the threshold.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
pub struct SuperPoint {
    /// Size of this struct, in bytes.
    pub size: usize,
    /// The inside host.
    pub host: Host,
    /// Estimated number of distinct peers.
    pub cardinality: f64,
    /// Standard error of `cardinality`.
    pub std_error: f64,
    /// Lower end of the 95 % interval.
    pub lower: f64,
    /// Upper end of the 95 % interval. It is infinite if `range` is SRLG_RANGE_BEYOND.
    pub upper: f64,
    /// Meaning of `cardinality` (a value of srlg_range).
    pub range: u32,
    /// Reserved member. It is always 0.
    pub reserved: u32,
}

impl Versioned for SuperPoint {
    const FIRST_SIZE: usize = 64;
}

impl From<&srlg_host::SuperPoint> for SuperPoint {
    fn from(of: &srlg_host::SuperPoint) -> Self {
        Self {
            size: size_of::<Self>(),
            host: of.host.into(),
            cardinality: of.cardinality,
            std_error: of.std_error,
            lower: of.lower(SIGMAS),
            upper: of.upper(SIGMAS),
            range: range(of.range),
            reserved: 0,
        }
    }
}

/// Maximum number of peers in a sample.
pub const SRLG_PEERS: usize = 64;

/// A sampled peer of a host.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Peer {
    /// The peer.
    pub host: Host,
    /// Slice of the last contact. In long windows, this is the last slice of the epoch that contains the contact, or
    /// the last slice of the window if that is earlier.
    pub last_seen: u64,
}

/// A sample of the peers of a host, sorted by their last contact, most recent first. The sample of an IPv6 host is
/// empty.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
pub struct Peers {
    /// Size of this struct, in bytes.
    pub size: usize,
    /// Number of elements of `peers` that are in use.
    pub count: u64,
    /// The peers.
    pub peers: [Peer; SRLG_PEERS],
}

impl Versioned for Peers {
    const FIRST_SIZE: usize = 1552;
}

impl From<&[SamplePeer]> for Peers {
    fn from(sample: &[SamplePeer]) -> Self {
        let mut peers = [Peer::default(); SRLG_PEERS];
        for (peer, of) in peers.iter_mut().zip(sample) {
            *peer = Peer { host: of.host.into(), last_seen: of.last_seen };
        }
        Self { size: size_of::<Self>(), count: sample.len().min(SRLG_PEERS) as u64, peers }
    }
}

/// Summary of a report.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
pub struct Summary {
    /// Size of this struct, in bytes.
    pub size: usize,
    /// Number of the closed slice. The window ends with this slice.
    pub slice: u64,
    /// Number of super points.
    pub super_points: u64,
    /// Number of distinct candidates: the hosts that the finder returned, and the super points of the previous report
    /// and of merged snapshots.
    pub candidates: u64,
    /// Duration of the close, in nanoseconds.
    pub nanoseconds: u64,
}

impl Versioned for Summary {
    const FIRST_SIZE: usize = 40;
}

impl From<&SliceReport> for Summary {
    fn from(of: &SliceReport) -> Self {
        Self {
            size: size_of::<Self>(),
            slice: of.slice,
            super_points: of.super_points.len() as u64,
            candidates: of.candidates as u64,
            nanoseconds: u64::try_from(of.stages.total().as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

/// Overload of a detector. If a detector is overloaded, super points may be missing.
#[repr(C)]
pub enum Overload {
    /// The detector is not overloaded.
    None = 0,
    /// There are too many pairs for the memory. Small super points may be missing.
    Crowded = 1,
    /// The number of candidates exceeds the limit. Small super points may be missing.
    Raised = 2,
    /// There are too many pairs to find any super point.
    Saturated = 3,
    /// An overload for which this version has no name.
    Other = 255,
}

/// Health of a detector at the close of a slice.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
pub struct Health {
    /// Size of this struct, in bytes.
    pub size: usize,
    /// Number of distinct pairs in the window, divided by the number of recorders of the counter. Errors of estimates
    /// grow with this load.
    pub load: f64,
    /// Share of the cells that were touched in the window.
    pub cells_in_use: f64,
    /// Share of the cells that were touched in the window and are held by IPv6 hosts.
    pub cells_in_use_v6: f64,
    /// Probability of missing an IPv4 host whose number of peers equals the threshold and whose contacts are evenly
    /// spread.
    pub miss_probability: f64,
    /// The same probability as `miss_probability`, but for an IPv6 host.
    pub miss_probability_v6: f64,
    /// Probability of missing an IPv4 host whose number of peers equals the threshold and whose contacts are all in the
    /// oldest epoch of the window.
    pub burst_miss_probability: f64,
    /// The same probability as `burst_miss_probability`, but for an IPv6 host.
    pub burst_miss_probability_v6: f64,
    /// Minimum number of peers at which 99 % of IPv4 hosts are found. It is infinite if no number is sufficient.
    pub found_from: f64,
    /// Minimum number of peers at which 99 % of IPv6 hosts are found. It is infinite if no number is sufficient.
    pub found_from_v6: f64,
    /// Expected standard error, in peers, of the estimate for a host at the threshold, at this load.
    pub std_error: f64,
    /// Whether 95 % intervals cover the true value in 88 to 97 % of cases, for hosts with 100 peers or more (1 or 0).
    pub errors_hold: u32,
    /// Overload of the finder (a value of srlg_overload).
    pub overload: u32,
    /// Minimum number of cells that a host must hold to be a candidate.
    pub least_cells: u32,
    /// Number of pairs of which one was counted, the largest in the window.
    pub share: u32,
}

impl Versioned for Health {
    const FIRST_SIZE: usize = 104;
}

impl From<&report::Health> for Health {
    fn from(of: &report::Health) -> Self {
        let finder = &of.finder;
        // The paper's finder does not have these numbers. It cannot occur here, because no `Config` of this interface
        // creates it.
        let (least_cells, cells_in_use, cells_in_use_v6) = match finder.fill {
            FinderFill::Cells { c_min, in_use, in_use_v6, .. } => (c_min, in_use, in_use_v6),
            _ => (0, f64::NAN, f64::NAN),
        };
        let overload = match finder.overload {
            None => Overload::None,
            Some(LibraryOverload::Crowded) => Overload::Crowded,
            Some(LibraryOverload::Raised) => Overload::Raised,
            Some(LibraryOverload::Saturated) => Overload::Saturated,
            Some(_) => Overload::Other,
        };
        Self {
            size: size_of::<Self>(),
            load: of.load,
            cells_in_use,
            cells_in_use_v6,
            miss_probability: finder.miss_probability,
            miss_probability_v6: finder.miss_probability_v6.unwrap_or(f64::NAN),
            burst_miss_probability: finder.burst_miss_probability,
            burst_miss_probability_v6: finder.burst_miss_probability_v6.unwrap_or(f64::NAN),
            found_from: finder.found_from,
            found_from_v6: finder.found_from_v6.unwrap_or(f64::NAN),
            std_error: of.std_error.unwrap_or(f64::NAN),
            errors_hold: of.errors_hold.into(),
            overload: overload as u32,
            least_cells,
            share: of.share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateHeader;

    #[test]
    fn sizes_of_the_first_version_are_those_of_today() {
        fn sizes<T: Versioned>() -> (usize, usize) {
            (size_of::<T>(), T::FIRST_SIZE)
        }
        let all = [
            sizes::<Config>(),
            sizes::<Estimate>(),
            sizes::<SuperPoint>(),
            sizes::<Peers>(),
            sizes::<Summary>(),
            sizes::<Health>(),
            sizes::<StateHeader>(),
        ];
        for (today, first) in all {
            assert_eq!(today, first);
        }
    }

    #[test]
    fn members_of_a_config_reach_the_library() {
        let config = Config {
            seed: 5,
            threshold: 100,
            window: 7,
            hash: HashFamily::HalfSip13 as u32,
            device: Device::Cuda as u32,
            cuda_device: 3,
            ..Config::default()
        };
        let LibraryConfig { seed, threshold, window, hash, .. } = config.library_config().unwrap();
        assert_eq!((seed, threshold, window, hash), (5, 100, 7, LibraryHash::HalfSip13));
        assert_eq!(config.library_device().unwrap(), LibraryDevice::Cuda(3));
        let config = Config { pairs: 100_000, memory: 2_000_000, ..config };
        let LibraryConfig { seed, threshold, window, hash, .. } = config.library_config().unwrap();
        assert_eq!((seed, threshold, window, hash), (5, 100, 7, LibraryHash::HalfSip13));
    }
}

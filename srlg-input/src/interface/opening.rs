//! A function that opens an interface with libpcap, and the errors of captures.
//!
//! libpcap reports the cause of an error only as text. Therefore the list of interfaces is checked to identify common
//! causes.
//!
//! Invariant: an opened handle is non-blocking, applies the filter, and yields frames that [`headers`] can parse.

use std::fmt::Display;
use std::ops::RangeInclusive;

use pcap::{Active, Capture, Device, Linktype, Precision};

use crate::options::CaptureOptions;
use crate::packet::{Skip, headers};

/// The reason why a capture on an interface cannot start or has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A size in [`CaptureOptions`](crate::live::CaptureOptions) is out of range.
    #[error("{option}: must be {least} to {most}, got {value}")]
    Size {
        /// Field of `CaptureOptions`.
        option: &'static str,
        /// Value of the option.
        value: u32,
        /// Smallest valid value.
        least: u32,
        /// Largest valid value.
        most: u32,
    },
    /// The system has no interface with this name.
    #[error("interface {interface:?} not found; available interfaces are {}", listed(.present))]
    NoInterface {
        /// Requested name.
        interface: String,
        /// Names of all interfaces.
        present: Vec<String>,
    },
    /// The program lacks the permission to capture.
    #[error(
        "cannot capture on {interface}: no permission ({reason}); run `setcap cap_net_raw+ep PROGRAM` as root, or start the program as root"
    )]
    Permission {
        /// Name of the interface.
        interface: String,
        /// The cause, as libpcap reports it.
        reason: String,
    },
    /// The interface exists, but is down.
    #[error("interface {interface} is down; run `ip link set dev {interface} up`, then retry")]
    Down {
        /// Name of the interface.
        interface: String,
    },
    /// The interface was deleted during the capture.
    #[error(
        "interface {interface} disappeared during the capture; retry when {interface} is back, or use another interface"
    )]
    Gone {
        /// Name of the interface.
        interface: String,
    },
    /// The frames of the interface cannot be parsed.
    #[error(
        "cannot parse frames of {interface} with link type {number} ({name}); use an interface with Ethernet, raw IP, \
         PPP, 802.11, loopback or Linux cooked frames"
    )]
    LinkType {
        /// Name of the interface.
        interface: String,
        /// Number of the link type in libpcap, that is, its `DLT_` value.
        number: i32,
        /// Name of the link type in libpcap.
        name: String,
    },
    /// The system cannot share the packets of the interface among several captures.
    #[error("cannot share the packets of {interface} among capture threads: {reason}")]
    Share {
        /// Name of the interface.
        interface: String,
        /// The cause, as the system reports it.
        reason: String,
    },
    /// A capture thread cannot run on the given CPU.
    #[error("cannot run a capture thread on CPU {cpu}: {reason}")]
    Cpu {
        /// Number of the CPU.
        cpu: u32,
        /// The cause, as the system reports it.
        reason: String,
    },
    /// The number of CPUs in the options differs from the number of capture threads.
    #[error("capture_cpus: must name one CPU for each of {threads} capture threads, got {cpus}")]
    CpuCount {
        /// Number of CPUs in the options.
        cpus: usize,
        /// Number of capture threads.
        threads: u32,
    },
    /// libpcap rejects the filter.
    #[error("cannot use filter {filter:?}: {reason}; see man 7 pcap-filter for valid expressions")]
    Filter {
        /// The filter expression.
        filter: String,
        /// The cause, as libpcap reports it.
        reason: String,
    },
    /// libpcap or the system failed for another reason.
    #[error("capture on {interface} failed: {reason}; open {interface} again")]
    Failed {
        /// Name of the interface.
        interface: String,
        /// The cause, as libpcap or the system reports it.
        reason: String,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "unknown, because the list is empty".to_owned()
    } else {
        names.join(", ")
    }
}

/// Precision of timestamps. On Linux, libpcap provides nanoseconds for all interfaces since version 1.5. On other
/// systems, libpcap may silently fall back to microseconds, so microseconds are requested there.
const PRECISION: Precision =
    if cfg!(target_os = "linux") { Precision::Nano } else { Precision::Micro };
/// Nanoseconds per unit of a timestamp's fractional part.
pub(crate) const TICK_NS: u64 = if cfg!(target_os = "linux") { 1 } else { 1_000 };
/// Maximum time for which the kernel keeps a packet in a block that is not full, in milliseconds. A shorter time would
/// reduce the delay, but more blocks would contain only a few packets.
const BLOCK_MS: i32 = 20;
/// Name that stands for all interfaces on Linux. In promiscuous mode, libpcap opens this interface with a warning,
/// which the crate `pcap` treats as an error.
const ANY: &str = "any";

/// Opens `interface` and returns its handle and the link type of its frames, numbered as in capture files.
pub(crate) fn open(
    interface: &str,
    options: &CaptureOptions,
) -> Result<(Capture<Active>, u16), LiveError> {
    let CaptureOptions { filter, snap_length, capture_buffer, not_promiscuous, .. } = options;
    let snap_length = size("snap_length", *snap_length, CaptureOptions::SNAP_LENGTHS)?;
    let capture_buffer = size("capture_buffer", *capture_buffer, CaptureOptions::BUFFERS)?;
    let mut handle = Capture::from_device(interface)
        .and_then(|inactive| {
            inactive
                .snaplen(snap_length)
                .buffer_size(capture_buffer)
                .promisc(!not_promiscuous && interface != ANY)
                .precision(PRECISION)
                .timeout(BLOCK_MS)
                .open()
        })
        .and_then(Capture::setnonblock)
        .map_err(|error| refused(interface, &error))?;
    if let Some(error) = problem(interface, false) {
        return Err(error);
    }
    let link_type = link_type(interface, handle.get_datalink())?;
    // If there is no filter, an empty one is set, because the kernel truncates packets to the snap length only if a
    // filter is set.
    let filter = filter.as_deref().unwrap_or_default();
    let refused =
        |error| LiveError::Filter { filter: filter.to_owned(), reason: reason_of(&error) };
    handle.filter(filter, true).map_err(refused)?;
    Ok((handle, link_type))
}

/// Converts a size to the type that libpcap expects. A value out of range is an error, because libpcap would silently
/// replace it.
pub(crate) fn size(
    option: &'static str,
    value: u32,
    range: RangeInclusive<u32>,
) -> Result<i32, LiveError> {
    let (least, most) = (*range.start(), *range.end());
    let size = i32::try_from(value).ok().filter(|_| range.contains(&value));
    size.ok_or(LiveError::Size { option, value, least, most })
}

/// Converts libpcap's number for a link type to the number in capture files. For every supported link type except raw
/// IP, the two numbers are equal.
fn link_type(interface: &str, of_libpcap: Linktype) -> Result<u16, LiveError> {
    let number = match of_libpcap.0 {
        12 | 14 => Some(101),
        other => u16::try_from(other).ok(),
    };
    let is_understood = |number: &u16| headers(*number, &[]).err() != Some(Skip::LinkType);
    number.filter(is_understood).ok_or_else(|| LiveError::LinkType {
        interface: interface.to_owned(),
        number: of_libpcap.0,
        name: of_libpcap.get_name().unwrap_or_else(|_| "unnamed".to_owned()),
    })
}

/// Returns the error for an interface that libpcap cannot open.
fn refused(interface: &str, error: &pcap::Error) -> LiveError {
    let reason = reason_of(error);
    let is_permission = || {
        let lower = reason.to_lowercase();
        ["cap_net_raw", "permission", "permitted"].iter().any(|word| lower.contains(word))
    };
    match problem(interface, false) {
        Some(error) => error,
        None if is_permission() => {
            LiveError::Permission { interface: interface.to_owned(), reason }
        }
        None => LiveError::Failed { interface: interface.to_owned(), reason },
    }
}

/// Returns an error if `interface` does not exist or is down.
pub(crate) fn problem(interface: &str, was_open: bool) -> Option<LiveError> {
    // If interfaces cannot be listed, this one is assumed to be up.
    let devices = Device::list().ok()?;
    let owned = interface.to_owned();
    match devices.iter().find(|device| device.name == interface) {
        Some(device) if device.flags.is_up() || interface == ANY => None,
        Some(_) => Some(LiveError::Down { interface: owned }),
        None if was_open => Some(LiveError::Gone { interface: owned }),
        None => {
            let present = devices.into_iter().map(|device| device.name).collect();
            Some(LiveError::NoInterface { interface: owned, present })
        }
    }
}

/// Returns libpcap's error text without the prefix that the crate `pcap` adds.
pub(crate) fn reason_of(error: &pcap::Error) -> String {
    match error {
        pcap::Error::PcapError(reason) if reason.is_empty() => "libpcap gives no reason".to_owned(),
        pcap::Error::PcapError(reason) => reason.clone(),
        other => (other as &dyn Display).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use pcap::Linktype;

    use super::{LiveError, link_type, size};
    use crate::options::CaptureOptions;

    #[test]
    fn link_types_get_the_numbers_of_capture_files_or_are_refused_by_name() {
        for (of_libpcap, of_files) in [(1, 1), (12, 101), (14, 101), (113, 113), (276, 276)] {
            assert_eq!(link_type("eth0", Linktype(of_libpcap)), Ok(of_files));
        }
        for (number, name) in [(189, "USB_LINUX"), (65_537, "unnamed")] {
            let (interface, name) = ("usbmon0".to_owned(), name.to_owned());
            let refused = link_type("usbmon0", Linktype(number));
            assert_eq!(refused, Err(LiveError::LinkType { interface, number, name }));
        }
    }

    #[test]
    fn sizes_out_of_range_are_refused_with_the_range() {
        let defaults = CaptureOptions::default();
        let snap_length = |value| size("snap_length", value, CaptureOptions::SNAP_LENGTHS);
        let buffer = |value| size("capture_buffer", value, CaptureOptions::BUFFERS);
        assert_eq!(snap_length(defaults.snap_length), Ok(256));
        assert_eq!(buffer(defaults.capture_buffer), Ok(33_554_432));
        for value in [0, 61, 262_145, u32::MAX] {
            let (option, least, most) = ("snap_length", 62, 262_144);
            let expected = LiveError::Size { option, value, least, most };
            assert_eq!(snap_length(value), Err(expected));
        }
        for value in [0, 524_287, 1 << 31] {
            let (option, least, most) = ("capture_buffer", 524_288, 2_147_483_647);
            assert_eq!(buffer(value), Err(LiveError::Size { option, value, least, most }));
        }
        assert_eq!((snap_length(62), buffer(524_288)), (Ok(62), Ok(524_288)));
    }
}

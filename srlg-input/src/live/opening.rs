//! From the name of an interface to a handle of libpcap that is ready, or to the error that says what to mend.
//!
//! Shape: libpcap's reasons are texts alone here, so the list of interfaces is asked first.
//! Invariant: a handle that leaves this file does not block, has its filter, and has frames that [`headers`] can take apart.

use std::fmt::Display;
use std::ops::RangeInclusive;

use pcap::{Active, Capture, Device, Linktype, Precision};

use crate::options::CaptureOptions;
use crate::packet::{Skip, headers};

/// The reason why a capture on an interface cannot start, or has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// A size of [`CaptureOptions`](crate::live::CaptureOptions) is out of range.
    #[error("{option} is {value}: give {least} to {most}")]
    Size {
        /// Field of `CaptureOptions`.
        option: &'static str,
        /// What was given.
        value: u32,
        /// Least value.
        least: u32,
        /// Largest value.
        most: u32,
    },
    /// The system has no interface of this name.
    #[error("there is no interface {interface:?}: give one of {}", listed(.present))]
    NoInterface {
        /// Name that was asked for.
        interface: String,
        /// Names of the interfaces that there are.
        present: Vec<String>,
    },
    /// The program may not capture.
    #[error(
        "no permission to capture on {interface} ({reason}): run `setcap cap_net_raw+ep PROGRAM` as root, or start the program as root"
    )]
    Permission {
        /// Name of the interface.
        interface: String,
        /// What libpcap says.
        reason: String,
    },
    /// The interface is there, but not up.
    #[error(
        "interface {interface} is down: run `ip link set dev {interface} up`, then open it again"
    )]
    Down {
        /// Name of the interface.
        interface: String,
    },
    /// The interface was deleted while it was captured on.
    #[error(
        "interface {interface} disappeared while it was captured: open {interface} again when it is back, or another interface"
    )]
    Gone {
        /// Name of the interface.
        interface: String,
    },
    /// Frames of the interface cannot be taken apart.
    #[error(
        "frames of {interface} are of link type {number} ({name}), which is not understood: capture on an interface of Ethernet, raw IP, \
         PPP, Cisco HDLC, loopback or Linux cooked frames"
    )]
    LinkType {
        /// Name of the interface.
        interface: String,
        /// libpcap's number of the link type (`DLT_`).
        number: i32,
        /// libpcap's name of the link type.
        name: String,
    },
    /// The system does not share the packets of the interface among captures.
    #[error("cannot share the packets of {interface} among capture threads: {reason}")]
    Share {
        /// Name of the interface.
        interface: String,
        /// What the system says.
        reason: String,
    },
    /// A capture thread cannot run on the CPU that was given.
    #[error("cannot run a capture thread on CPU {cpu}: {reason}")]
    Cpu {
        /// Number of the CPU.
        cpu: u32,
        /// What the system says.
        reason: String,
    },
    /// There is not one CPU for each capture thread.
    #[error("{cpus} CPUs are given for {threads} capture threads: give one for each thread")]
    CpuCount {
        /// Number of CPUs.
        cpus: usize,
        /// Number of capture threads.
        threads: u32,
    },
    /// libpcap does not take the filter.
    #[error(
        "filter {filter:?} is refused ({reason}): give an expression as man 7 pcap-filter describes it"
    )]
    Filter {
        /// Expression that was given.
        filter: String,
        /// What libpcap says.
        reason: String,
    },
    /// libpcap or the system fails otherwise.
    #[error("capturing on {interface} failed ({reason}): open {interface} again")]
    Failed {
        /// Name of the interface.
        interface: String,
        /// What libpcap or the system says.
        reason: String,
    },
}

/// Names between commas.
fn listed(names: &[String]) -> String {
    if names.is_empty() { "none, as none can be listed".to_owned() } else { names.join(", ") }
}

/// Linux gives nanoseconds for all network interfaces since libpcap 1.5. libpcap falls back to microseconds without a word that
/// the crate `pcap` would pass on, hence they are asked for where nanoseconds are not certain.
const PRECISION: Precision =
    if cfg!(target_os = "linux") { Precision::Nano } else { Precision::Micro };
/// Nanoseconds of the unit in which time stamps count fractions of a second.
pub(crate) const TICK_NS: u64 = if cfg!(target_os = "linux") { 1 } else { 1_000 };
/// How long the kernel keeps a packet in a block that is not full. Less would be less delay, and more blocks that are taken up by
/// few packets.
const BLOCK_MS: i32 = 20;
/// All interfaces of Linux at once. libpcap opens it with a warning in promiscuous mode, and the crate `pcap` takes that for an error.
const ANY: &str = "any";

/// Opens `interface`; returns its handle, and the link type of its frames by the numbers of capture files.
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
    if let Some(error) = trouble(interface, false) {
        return Err(error);
    }
    let link_type = link_type(interface, handle.get_datalink())?;
    // Without a filter of the caller's an empty one is set, so that the kernel, which cuts packets by the filter, copies no more of each
    // than the snap length.
    let filter = filter.as_deref().unwrap_or_default();
    let refused =
        |error| LiveError::Filter { filter: filter.to_owned(), reason: reason_of(&error) };
    handle.filter(filter, true).map_err(refused)?;
    Ok((handle, link_type))
}

/// A size as libpcap takes it, which would replace one out of range by one of its own.
pub(crate) fn size(
    option: &'static str,
    value: u32,
    range: RangeInclusive<u32>,
) -> Result<i32, LiveError> {
    let (least, most) = (*range.start(), *range.end());
    let size = i32::try_from(value).ok().filter(|_| range.contains(&value));
    size.ok_or(LiveError::Size { option, value, least, most })
}

/// The number in capture files of libpcap's number of a link type. They differ where systems had numbers of their own: of those
/// that are understood, raw IP.
fn link_type(interface: &str, of_libpcap: Linktype) -> Result<u16, LiveError> {
    let number = match of_libpcap.0 {
        12 | 14 => Some(101),
        other => u16::try_from(other).ok(),
    };
    let is_understood = |number: &u16| headers(*number, &[]).err() != Some(Skip::LinkType);
    number.filter(is_understood).ok_or_else(|| LiveError::LinkType {
        interface: interface.to_owned(),
        number: of_libpcap.0,
        name: of_libpcap.get_name().unwrap_or_else(|_| "without a name".to_owned()),
    })
}

/// The error of an interface that libpcap does not open.
fn refused(interface: &str, error: &pcap::Error) -> LiveError {
    let reason = reason_of(error);
    let is_permission = || {
        let lower = reason.to_lowercase();
        ["cap_net_raw", "permission", "permitted"].iter().any(|word| lower.contains(word))
    };
    match trouble(interface, false) {
        Some(error) => error,
        None if is_permission() => {
            LiveError::Permission { interface: interface.to_owned(), reason }
        }
        None => LiveError::Failed { interface: interface.to_owned(), reason },
    }
}

/// Looks whether `interface` is there and up; `was_open` says that it has been.
pub(crate) fn trouble(interface: &str, was_open: bool) -> Option<LiveError> {
    // Where they cannot be listed, nothing is known against this one.
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

/// What libpcap says, without the words of the crate around it.
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
        for (number, name) in [(105, "IEEE802_11"), (65_537, "without a name")] {
            let (interface, name) = ("wlan0".to_owned(), name.to_owned());
            let refused = link_type("wlan0", Linktype(number));
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

//! Why an interface cannot be captured on, or no longer.
//!
//! Shape: one variant for each thing that a caller can mend; [`LiveError::Failed`] is for all else.
//! Invariant: each displays as one line that names the rule, the value and the way out.

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

//! Why a packet is not counted as a contact: [`Skip`].

/// The reason why a packet or a row is not a contact, or not a datagram where datagrams are read. The first reason that applies
/// counts, in the order: record (`NoInterface`, `NoTime`, `BadTime`), link type, headers from outside in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Skip {
    /// The frame carries no IP: ARP, LLC, a payload of MPLS that is neither IPv4 nor IPv6.
    NotIp,
    /// Frames of this link type cannot be taken apart.
    LinkType,
    /// Fewer bytes were captured than the headers up to and including the fixed one of IP need, 20
    /// bytes of IPv4 or 40 of IPv6. Options, extension headers and payload may be missing.
    CutHeader,
    /// A header lies: IP version other than announced, an IPv4 header length below 20 bytes or a
    /// total length below the header length, a pcapng packet larger than its block.
    BadHeader,
    /// The record has no time stamp: a pcapng simple packet block, a row of a log without one.
    NoTime,
    /// The time stamp is impossible: a fraction of a whole second or more, before 1970, or beyond
    /// the 64 bit of nanoseconds that end in the year 2554.
    BadTime,
    /// A pcapng packet names an interface that its section has not described, or one past the
    /// first 65,536.
    NoInterface,
    /// A CSV row that is not `time_ms,src,dst` or is longer than 1,024 bytes; a row of a log that cannot be read or is longer than
    /// 65,536 bytes.
    BadRow,
    /// No datagram, where datagrams are asked for: the packet carries another protocol than UDP.
    NotUdp,
    /// No whole datagram: a fragment of one.
    Fragment,
    /// No whole datagram: bytes of its payload were not captured.
    CutPayload,
    /// A direction of a logged conversation, or a flow, without packets.
    NoPackets,
    /// A row of a log that names no two hosts.
    NoHosts,
    /// A record of Suricata about something else than a flow.
    OtherEvent,
}

impl Skip {
    /// All reasons, in the order in which summaries list them.
    pub const ALL: [Self; 14] = [
        Self::NotIp,
        Self::LinkType,
        Self::CutHeader,
        Self::BadHeader,
        Self::NoTime,
        Self::BadTime,
        Self::NoInterface,
        Self::BadRow,
        Self::NotUdp,
        Self::Fragment,
        Self::CutPayload,
        Self::NoPackets,
        Self::NoHosts,
        Self::OtherEvent,
    ];

    /// Returns the name of the reason in summaries; stable between versions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotIp => "not-ip",
            Self::LinkType => "link-type",
            Self::CutHeader => "cut-header",
            Self::BadHeader => "bad-header",
            Self::NoTime => "no-time",
            Self::BadTime => "bad-time",
            Self::NoInterface => "no-interface",
            Self::BadRow => "bad-row",
            Self::NotUdp => "not-udp",
            Self::Fragment => "fragment",
            Self::CutPayload => "cut-payload",
            Self::NoPackets => "no-packets",
            Self::NoHosts => "no-hosts",
            Self::OtherEvent => "other-event",
        }
    }
}

//! [`Format`]: what an input is.

/// Names the format of a capture, list, log or file of exports, found by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Classic pcap of any byte order and time unit.
    Pcap,
    /// pcapng.
    PcapNg,
    /// IPFIX messages one after another (RFC 5655): exports of flows, no packets.
    IpfixFile,
    /// Lines of `time_ms,src,dst`.
    Csv,
    /// Zeek's conn.log of fields between separators.
    Zeek,
    /// Flow log of an AWS VPC.
    VpcFlowLog,
    /// JSON lines: Zeek's conn.log, Suricata's EVE log.
    JsonLines,
}

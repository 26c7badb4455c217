//! The formats of files.

/// The format of a capture, contact list, log or IPFIX file, detected from the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Classic pcap in any byte order and time unit.
    Pcap,
    /// pcapng.
    PcapNg,
    /// IPFIX messages in sequence (RFC 5655), which are flow exports rather than packets.
    IpfixFile,
    /// Contact list with the header `time_ms,src,dst`.
    Csv,
    /// Zeek's conn.log with separated fields.
    Zeek,
    /// AWS VPC flow log.
    VpcFlowLog,
    /// JSON lines: Zeek's conn.log or Suricata's EVE log.
    JsonLines,
}

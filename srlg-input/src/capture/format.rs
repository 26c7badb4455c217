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
    /// AWS flow log of a VPC or a transit gateway, as text or as JSON of CloudWatch Logs.
    VpcFlowLog,
    /// Azure flow log of a virtual network or a network security group.
    AzureFlowLog,
    /// JSON lines: Zeek's conn.log, Suricata's EVE log, a flow log of Google Cloud or Oracle Cloud, flows of Hubble, or
    /// events in the Elastic Common Schema. The first row of one of these logs decides which log it is.
    JsonLines,
}

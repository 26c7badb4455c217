//! [`Format`]: what an input is.

/// Format of a capture, list or log, found by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Classic pcap of any byte order and time unit.
    Pcap,
    /// pcapng.
    PcapNg,
    /// Lines of `time_ms,src,dst`.
    Csv,
    /// Zeek's conn.log of fields between separators.
    Zeek,
    /// Flow log of an AWS VPC.
    VpcFlowLog,
    /// JSON lines: Zeek's conn.log, Suricata's EVE log.
    JsonLines,
}

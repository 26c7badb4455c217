//! The reader: finds the format, drives its decoder, keeps the counts.
//!
//! Shape: decoders turn a [`Stream`] into packets and know nothing of counts; this module is the
//! only one that counts and that remembers how reading ended.
//! Invariant: once reading has ended, well or not, no further byte is read.

use std::fmt;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU8, NonZeroU64};

use crate::capture::counts::PacketCounts;
use crate::capture::csv::{BYTE_ORDER_MARK, Csv};
use crate::capture::error::{CaptureError, Halt, Truncation};
use crate::capture::ipfix;
use crate::capture::lines;
#[cfg(feature = "logs")]
use crate::capture::logs::Logs;
use crate::capture::pcap::Pcap;
use crate::capture::pcapng::PcapNg;
use crate::capture::stream::Stream;
use crate::contact::Contact;
use crate::options::Tunnels;
use crate::packet::ip::Headers;
use crate::packet::{Skip, Transport};

/// Bytes at the front of a text that decide on its format.
const HEAD: usize = 4096;

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

/// Holds a whole UDP datagram: when and between whom it went, and what was in it; or a message of an IPFIX file, which does not
/// tell who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagram<'a> {
    /// Nanoseconds since the Unix epoch. Of a message of an IPFIX file: the time of export in its header, in whole seconds.
    pub time_ns: u64,
    /// Sender; `0.0.0.0:0` of a message of an IPFIX file.
    pub source: SocketAddr,
    /// Receiver; `0.0.0.0:0` of a message of an IPFIX file.
    pub destination: SocketAddr,
    /// At most 65,535 bytes.
    pub payload: &'a [u8],
}

impl Datagram<'_> {
    /// A message of an IPFIX file that was exported at `time_ns`, before its payload is known.
    pub(crate) const fn of_file(time_ns: u64) -> Self {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self { time_ns, source: nowhere, destination: nowhere, payload: &[] }
    }
}

/// What a decoder makes of one packet's time, in nanoseconds since the Unix epoch, and headers.
pub(crate) trait See<T>: FnOnce(u64, Headers<'_>) -> Result<T, Skip> {}

impl<T, F: FnOnce(u64, Headers<'_>) -> Result<T, Skip>> See<T> for F {}

/// Adds the contact of a packet to `contacts`, or those of a packet and of the one that it carries. The outcome of the former is yet to
/// be counted.
#[inline(always)]
pub(crate) fn push_packet(
    time_ns: u64,
    headers: Headers<'_>,
    tunnels: Tunnels,
    contacts: &mut Vec<Contact>,
    counts: &mut PacketCounts,
) -> Result<(), Skip> {
    if tunnels == Tunnels::Outer {
        contacts.push(packet_contact(time_ns, headers));
        return Ok(());
    }
    let innermost = headers.innermost();
    if tunnels == Tunnels::Inner {
        contacts.push(packet_contact(time_ns, innermost?.unwrap_or(headers)));
        return Ok(());
    }
    contacts.push(packet_contact(time_ns, headers));
    if let Some(inner) = innermost.transpose() {
        counts.record(inner.map(|inner| contacts.push(packet_contact(time_ns, inner))));
    }
    Ok(())
}

/// Makes the contact of a packet.
#[inline(always)]
fn packet_contact(time_ns: u64, headers: Headers<'_>) -> Contact {
    let Transport { protocol, tcp_flags, destination_port } = headers.transport();
    let [source, destination] = headers.hosts();
    let mut contact = Contact::new(time_ns, source, destination);
    contact.packets = Some(NonZeroU64::MIN);
    contact.octets = headers.octets();
    contact.protocol = protocol;
    contact.tcp_flags = tcp_flags.and_then(NonZeroU8::new);
    contact.destination_port = destination_port;
    contact
}

enum Decoder {
    Packets(Packets),
    IpfixFile,
    Csv(Csv),
    #[cfg(feature = "logs")]
    Logs(Box<Logs>),
}

enum Packets {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

/// Contacts that are read at once, of some 24 KB.
const BLOCK: usize = 256;

/// Streams the contacts or the datagrams of one capture.
pub struct Reader {
    decoder: Decoder,
    progress: Progress,
    contacts: Vec<Contact>,
    tunnels: Tunnels,
    /// Of the last datagram.
    payload: Vec<u8>,
}

/// How far the input has been read.
struct Progress {
    input: Stream,
    counts: PacketCounts,
    ended: bool,
    truncation: Option<Truncation>,
    /// An error that came after contacts, which come first.
    failure: Option<CaptureError>,
}

impl Reader {
    /// Starts reading `input`: peeks at the content, unwraps gzip, decides on the format.
    ///
    /// A header that is cut short is no error here but a [`Truncation`] at the first
    /// [`next_contacts`](Self::next_contacts).
    ///
    /// # Errors
    /// [`CaptureError`] when the input is empty, of no known format, or cannot be read.
    pub fn new(input: impl Read + Send + 'static) -> Result<Self, CaptureError> {
        let mut input = Stream::open(Box::new(input))?;
        let decoder = Decoder::detect(&mut input)?;
        let counts = PacketCounts::default();
        Ok(Self {
            decoder,
            progress: Progress { input, counts, ended: false, truncation: None, failure: None },
            contacts: Vec::new(),
            tunnels: Tunnels::Outer,
            payload: Vec::new(),
        })
    }

    /// Takes the hosts of packets in tunnels as `tunnels` says.
    #[must_use]
    pub fn with_tunnels(self, tunnels: Tunnels) -> Self {
        Self { tunnels, ..self }
    }

    /// Returns the format of the capture, inside gzip if there is any.
    pub fn format(&self) -> Format {
        match &self.decoder {
            Decoder::Packets(Packets::Pcap(_)) => Format::Pcap,
            Decoder::Packets(Packets::PcapNg(_)) => Format::PcapNg,
            Decoder::IpfixFile => Format::IpfixFile,
            Decoder::Csv(_) => Format::Csv,
            #[cfg(feature = "logs")]
            Decoder::Logs(logs) => logs.format(),
        }
    }

    /// Reads the next contacts in file order: those of some 256 packets, of a pipe those that have come; `None` at the end, and ever after.
    ///
    /// What is no contact is counted and passed over; a capture that stops early ends with its last contact, no error
    /// and a [`truncation`](Self::truncation).
    ///
    /// # Errors
    /// [`CaptureError::Read`] when the source fails, [`CaptureError::Exports`] of an IPFIX file; reading ends there.
    pub fn next_contacts(&mut self) -> Result<Option<&[Contact]>, CaptureError> {
        let Self { decoder, progress, contacts, tunnels, .. } = self;
        contacts.clear();
        // A loop for each format, as most of the time of a packet is spent here.
        match decoder {
            Decoder::Packets(Packets::Pcap(pcap)) => {
                progress.fill(contacts, |input, contacts, counts| {
                    pcap.next_packet(input, |time_ns, headers| {
                        push_packet(time_ns, headers, *tunnels, contacts, counts)
                    })
                })
            }
            Decoder::Packets(Packets::PcapNg(pcapng)) => {
                progress.fill(contacts, |input, contacts, counts| {
                    pcapng.next_packet(input, |time_ns, headers| {
                        push_packet(time_ns, headers, *tunnels, contacts, counts)
                    })
                })
            }
            Decoder::Csv(csv) => progress.fill(contacts, |input, contacts, _| {
                let row = csv.next_row(input)?;
                Ok(row.map(|row| row.map(|contact| contacts.push(contact))))
            }),
            #[cfg(feature = "logs")]
            Decoder::Logs(logs) => progress.fill(contacts, |input, contacts, _| {
                let row = logs.next_contact(input)?;
                Ok(row.map(|row| row.map(|contact| contacts.push(contact))))
            }),
            Decoder::IpfixFile if progress.ended => Ok(()),
            Decoder::IpfixFile => {
                progress.ended = true;
                Err(CaptureError::Exports)
            }
        }?;
        Ok((!contacts.is_empty()).then_some(contacts))
    }

    /// Returns the contacts that were read last.
    pub(crate) fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Returns the next whole UDP datagram in file order, its payload included; `None` at the end, and ever after.
    /// Exports of flows are such, in a capture of what a collector receives. The messages of an IPFIX file are datagrams from and to
    /// `0.0.0.0:0`, as the file does not tell who exported them, at the times of export in their headers.
    ///
    /// What is no datagram is counted and passed over. Fragments are not put together.
    ///
    /// # Errors
    /// [`CaptureError::Read`] when the source fails, [`CaptureError::NoPackets`] of a contact list or a log; reading ends there.
    pub fn next_datagram(&mut self) -> Result<Option<Datagram<'_>>, CaptureError> {
        let Self { decoder, progress, payload, .. } = self;
        progress.check()?;
        while !progress.ended {
            let input = &mut progress.input;
            let copy = |time_ns, headers: Headers<'_>| copy_datagram(time_ns, &headers, payload);
            let next = match decoder {
                Decoder::Packets(Packets::Pcap(pcap)) => pcap.next_packet(input, copy),
                Decoder::Packets(Packets::PcapNg(pcapng)) => pcapng.next_packet(input, copy),
                Decoder::IpfixFile => ipfix::next_message(input, payload),
                _ => {
                    progress.ended = true;
                    return Err(CaptureError::NoPackets);
                }
            };
            if let Some(datagram) = progress.record(next)? {
                return Ok(Some(Datagram { payload: &self.payload, ..datagram }));
            }
        }
        Ok(None)
    }

    /// Returns the counts of the packets read so far.
    pub fn counts(&self) -> &PacketCounts {
        &self.progress.counts
    }

    /// Returns where and why the capture stopped early; `None` while reading and after a good end.
    pub fn truncation(&self) -> Option<&Truncation> {
        self.progress.truncation.as_ref()
    }
}

impl Progress {
    /// Reads contacts by `next` until there is a block of them, or until more would be read of the source, which may wait.
    #[inline(always)]
    fn fill(
        &mut self,
        contacts: &mut Vec<Contact>,
        mut next: impl FnMut(
            &mut Stream,
            &mut Vec<Contact>,
            &mut PacketCounts,
        ) -> Result<Option<Result<(), Skip>>, Halt>,
    ) -> Result<(), CaptureError> {
        self.check()?;
        while !self.ended && contacts.len() < BLOCK {
            self.input.hold(!contacts.is_empty());
            let seen = next(&mut self.input, contacts, &mut self.counts);
            if matches!(seen, Err(Halt::Failed(_))) && self.input.is_held() {
                break;
            }
            if let Err(error) = self.record(seen) {
                self.failure = Some(error);
            }
        }
        self.input.hold(false);
        if contacts.is_empty() { self.check() } else { Ok(()) }
    }

    /// Returns the error that came after contacts, once.
    fn check(&mut self) -> Result<(), CaptureError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Counts what came, or remembers how reading ended.
    #[inline(always)]
    fn record<T>(
        &mut self,
        next: Result<Option<Result<T, Skip>>, Halt>,
    ) -> Result<Option<T>, CaptureError> {
        match next {
            Ok(Some(outcome)) => return Ok(self.counts.record(outcome)),
            Ok(None) => self.ended = true,
            Err(stop) => self.end_early(stop)?,
        }
        Ok(None)
    }

    #[cold]
    fn end_early(&mut self, stop: Halt) -> Result<(), CaptureError> {
        self.ended = true;
        match stop {
            Halt::Failed(error) => return Err(error),
            Halt::Truncated(truncation) => self.truncation = Some(truncation),
        }
        Ok(())
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Reader");
        shown.field("format", &self.format()).field("counts", self.counts());
        shown.field("truncation", &self.truncation()).finish_non_exhaustive()
    }
}

impl Decoder {
    /// The decoder that claims the first bytes. Texts are known by their first line.
    fn detect(input: &mut Stream) -> Result<Self, CaptureError> {
        let start = input.window(8)?;
        if let Some(pcap) = Pcap::detect(start) {
            return Ok(Self::Packets(Packets::Pcap(pcap)));
        }
        if PcapNg::detect(start) {
            return Ok(Self::Packets(Packets::PcapNg(PcapNg::default())));
        }
        let first = start[..start.len().min(8)].to_vec();
        if ipfix::detect(input)? {
            return Ok(Self::IpfixFile);
        }
        match (first.is_empty(), input.damage()) {
            (true, Some(cause)) => Err(CaptureError::Gzip { cause: cause.to_owned() }),
            (true, None) => Err(CaptureError::Empty),
            (false, _) if is_text(&first) => Self::of_text(&lines::peek(input, HEAD, b'#')?),
            (false, _) => Err(unknown_format(&first)),
        }
    }

    /// The decoder that claims the first `lines` of a text.
    fn of_text(lines: &[Vec<u8>]) -> Result<Self, CaptureError> {
        let line = &lines[0];
        let decoder = Csv::detect(line).map(Self::Csv);
        #[cfg(feature = "logs")]
        let decoder = decoder.or_else(|| Some(Self::Logs(Box::new(Logs::detect(lines)?))));
        decoder.ok_or_else(|| {
            let found = String::from_utf8_lossy(line).chars().take(64).collect();
            CaptureError::UnknownText { found }
        })
    }
}

/// Copies what the datagram at `headers` holds to `payload`; returns the datagram without it.
fn copy_datagram(
    time_ns: u64,
    headers: &Headers<'_>,
    payload: &mut Vec<u8>,
) -> Result<Datagram<'static>, Skip> {
    let segment = headers.segment().ok_or(Skip::CutHeader)?;
    let ([from, to], bytes) = segment.udp()?;
    payload.clear();
    payload.extend_from_slice(bytes);
    let [source, destination] = headers.hosts();
    let [source, destination] = [(source, from), (destination, to)]
        .map(|(host, port)| SocketAddr::new(IpAddr::from(host), port));
    Ok(Datagram { time_ns, source, destination, payload: &[] })
}

/// Whether the first bytes are text, so that the first line is worth a look.
fn is_text(start: &[u8]) -> bool {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    start.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n'))
}

fn unknown_format(first: &[u8]) -> CaptureError {
    let bytes: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    CaptureError::UnknownFormat { first_bytes: bytes.join(" ") }
}

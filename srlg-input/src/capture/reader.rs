//! A reader that detects the format, runs its decoder and counts packets.
//!
//! Decoders turn a [`Stream`] into packets and do not count them. This module counts packets and records how reading
//! ended.
//!
//! Invariant: after reading has ended, for whatever reason, no further byte is read.

use std::fmt;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU8, NonZeroU64};

use crate::capture::counts::PacketCounts;
use crate::capture::csv::{BYTE_ORDER_MARK, Csv};
use crate::capture::error::{CaptureError, Halt, Truncation};
use crate::capture::format::Format;
use crate::capture::frame::{Datagram, Frame};
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
use crate::packet::{Choice, Skip, Transport, frame};

/// Maximum number of bytes that are examined to detect the format of a text.
const HEAD: usize = 4096;

/// Adds the contacts of the packet in a frame to `contacts`, as `tunnels` specifies. The caller counts the returned
/// outcome. This function counts in `counts` what one outcome cannot state: a second contact, and a tunnel that was not
/// entered.
#[inline(always)]
pub(crate) fn push_packet(
    frame: &Frame<'_>,
    tunnels: Tunnels,
    contacts: &mut Vec<Contact>,
    counts: &mut PacketCounts,
) -> Result<(), Skip> {
    match frame::of_common(frame.link_type, frame.bytes) {
        Some(headers) => push_found(frame, headers, tunnels, contacts, counts),
        None => push_uncommon(frame, tunnels, contacts, counts),
    }
}

/// Adds the contacts of the packet in a frame of another kind. This is a function of its own, because a call in the code
/// for common frames would slow them down.
#[inline(never)]
fn push_uncommon(
    frame: &Frame<'_>,
    tunnels: Tunnels,
    contacts: &mut Vec<Contact>,
    counts: &mut PacketCounts,
) -> Result<(), Skip> {
    let headers = counts.headers(frame)?;
    push_found(frame, headers, tunnels, contacts, counts)
}

#[inline(always)]
fn push_found(
    frame: &Frame<'_>,
    headers: Headers<'_>,
    tunnels: Tunnels,
    contacts: &mut Vec<Contact>,
    counts: &mut PacketCounts,
) -> Result<(), Skip> {
    if tunnels == Tunnels::Outer {
        push_contact(frame, headers, headers, contacts);
        return Ok(());
    }
    push_chosen(frame, headers, tunnels, contacts, counts)
}

/// Adds the contacts of a packet that may be in tunnels. This is a function of its own for the same reason as
/// [`push_uncommon`].
#[cold]
#[inline(never)]
fn push_chosen(
    frame: &Frame<'_>,
    headers: Headers<'_>,
    tunnels: Tunnels,
    contacts: &mut Vec<Contact>,
    counts: &mut PacketCounts,
) -> Result<(), Skip> {
    let Choice { is_outer, inner, obstacle } = tunnels.choose(headers);
    if is_outer {
        push_contact(frame, headers, headers, contacts);
    }
    if let Some(inner) = inner {
        push_contact(frame, headers, inner, contacts);
        counts.contacts += u64::from(is_outer);
    }
    match obstacle {
        Some(reason) if !is_outer && inner.is_none() => return Err(reason),
        Some(reason) => counts.record_closed_tunnel(reason),
        None => {}
    }
    Ok(())
}

/// Adds the contact of the packet with `headers`, which is the packet `outer` or inside its tunnels.
#[inline(always)]
fn push_contact(
    frame: &Frame<'_>,
    outer: Headers<'_>,
    headers: Headers<'_>,
    contacts: &mut Vec<Contact>,
) {
    let Transport { protocol, tcp_flags, source_port, destination_port, icmp_type } =
        headers.transport();
    let [source, destination] = headers.hosts();
    let mut contact = Contact::new(frame.time_ns, source, destination);
    contact.packets = Some(NonZeroU64::MIN);
    contact.octets = headers.octets();
    contact.protocol = protocol;
    contact.tcp_flags = tcp_flags.and_then(NonZeroU8::new);
    contact.source_port = source_port;
    contact.destination_port = destination_port;
    contact.icmp_type = icmp_type;
    contacts.push(contact);
    // This is done last, because a call before it would slow down all packets by 5 %.
    if contact.octets.is_none() {
        set_rest(contacts, outer, headers, frame.uncaptured());
    }
}

/// Sets the length of the packet with `headers`, which states none, in the last contact. This is a function of its own,
/// because its code would slow down all packets by about 3 %.
#[cold]
#[inline(never)]
fn set_rest(contacts: &mut [Contact], outer: Headers<'_>, headers: Headers<'_>, uncaptured: u32) {
    if let Some(contact) = contacts.last_mut() {
        contact.octets = outer.rest_of_inner(headers, uncaptured);
    }
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

/// Number of contacts per read, which take about 24 KB.
const BLOCK: usize = 256;

/// A reader of the contacts or the datagrams of one capture.
pub struct Reader {
    decoder: Decoder,
    progress: Progress,
    contacts: Vec<Contact>,
    tunnels: Tunnels,
    payload: Vec<u8>,
}

struct Progress {
    input: Stream,
    counts: PacketCounts,
    ended: bool,
    truncation: Option<Truncation>,
    /// Error that is returned after the contacts that were read before it.
    failure: Option<CaptureError>,
}

impl Reader {
    /// Opens `input`. Detects the format from the content, and decompresses gzip.
    ///
    /// An incomplete header is not an error here. The first call to [`next_contacts`](Self::next_contacts) or
    /// [`next_datagram`](Self::next_datagram) records it as a [`Truncation`].
    ///
    /// # Errors
    /// Returns [`CaptureError`] if the input is empty, has an unknown format, or cannot be read.
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

    /// Sets which hosts of tunnelled packets are counted: the outer ones (default), the inner ones, or both.
    #[must_use]
    pub fn with_tunnels(self, tunnels: Tunnels) -> Self {
        Self { tunnels, ..self }
    }

    /// Returns the format of the capture, after decompression.
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

    /// Reads about 256 contacts in file order, or fewer if a pipe has no more data ready. At the end of the input, this
    /// call and all calls after it return `None`.
    ///
    /// Packets and rows that are not contacts are counted and skipped. If the capture ends early, reading ends after
    /// its last contact without an error, and [`truncation`](Self::truncation) returns the reason.
    ///
    /// # Errors
    /// Returns [`CaptureError::Read`] if the source fails, [`CaptureError::Exports`] for an IPFIX file, and
    /// [`CaptureError::UnknownJson`] for JSON of no known log. Reading ends after an error.
    pub fn next_contacts(&mut self) -> Result<Option<&[Contact]>, CaptureError> {
        let Self { decoder, progress, contacts, tunnels, .. } = self;
        contacts.clear();
        // Each format has its own loop for speed, because most of the time per packet is spent here.
        match decoder {
            Decoder::Packets(Packets::Pcap(pcap)) => {
                progress.fill(contacts, |input, contacts, counts| {
                    pcap.next_packet(input, |frame| push_packet(&frame, *tunnels, contacts, counts))
                })
            }
            Decoder::Packets(Packets::PcapNg(pcapng)) => {
                progress.fill(contacts, |input, contacts, counts| {
                    pcapng
                        .next_packet(input, |frame| push_packet(&frame, *tunnels, contacts, counts))
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

    /// Returns the contacts that the last call to [`next_contacts`](Self::next_contacts) read.
    pub(crate) fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Returns the next complete UDP datagram in file order, with its payload. At the end of the input, this call and
    /// all calls after it return `None`.
    ///
    /// In a capture of the traffic to a flow collector, the datagrams contain flow exports. A message of an IPFIX file
    /// is returned as a datagram from and to `0.0.0.0:0`, because the file does not name the exporter. Its time is the
    /// export time in the header of the message.
    ///
    /// Packets that are not datagrams are counted and skipped. Fragments are not reassembled.
    ///
    /// # Errors
    /// Returns [`CaptureError::Read`] if the source fails, and [`CaptureError::NoPackets`] for a contact list or a log.
    /// Reading ends after an error.
    pub fn next_datagram(&mut self) -> Result<Option<Datagram<'_>>, CaptureError> {
        let Self { decoder, progress, payload, .. } = self;
        progress.check()?;
        while !progress.ended {
            let Progress { input, counts, .. } = &mut *progress;
            let copy =
                |frame: Frame<'_>| copy_datagram(frame.time_ns, &counts.headers(&frame)?, payload);
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

    /// Returns the counters of the packets or rows read so far.
    pub fn counts(&self) -> &PacketCounts {
        &self.progress.counts
    }

    /// Returns where and why the capture ended early. Returns `None` before the end of reading, and if the capture is
    /// complete.
    pub fn truncation(&self) -> Option<&Truncation> {
        self.progress.truncation.as_ref()
    }
}

impl Progress {
    /// Reads contacts with `next` until a block is full, or until another read from the source might block.
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

    /// Returns the stored `failure`, if there is one, and clears it.
    fn check(&mut self) -> Result<(), CaptureError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Counts a packet and returns its result, or records how reading ended.
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
            (false, _) if is_text(&first) => {
                let lines = lines::peek(input, HEAD, b'#')?;
                Self::of_text(&lines, input)
            }
            (false, _) => Err(unknown_format(&first)),
        }
    }

    #[cfg_attr(
        not(feature = "logs"),
        expect(unused_variables, reason = "only logs need more bytes")
    )]
    fn of_text(lines: &[Vec<u8>], input: &mut Stream) -> Result<Self, CaptureError> {
        let line = &lines[0];
        let decoder = Csv::detect(line).map(Self::Csv);
        #[cfg(feature = "logs")]
        let decoder = match decoder {
            None => {
                // A program that writes objects one by one never starts with a bracket on its own line, so waiting for
                // more bytes delays no contact.
                let want = if line.trim_ascii().len() == 1 { HEAD } else { line.len() };
                let head = input.window(want)?;
                let logs = Logs::detect(lines, &head[..head.len().min(want)]);
                logs.map(|logs| Self::Logs(Box::new(logs)))
            }
            decoder => decoder,
        };
        decoder.ok_or_else(|| {
            let found = String::from_utf8_lossy(line).chars().take(64).collect();
            CaptureError::UnknownText { found }
        })
    }
}

/// Copies the UDP payload of a packet to `payload`. The returned datagram has an empty payload.
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

fn is_text(start: &[u8]) -> bool {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    start.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n'))
}

fn unknown_format(first: &[u8]) -> CaptureError {
    let bytes: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    CaptureError::UnknownFormat { first_bytes: bytes.join(" ") }
}

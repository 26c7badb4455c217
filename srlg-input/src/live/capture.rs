//! Contacts of a network interface as they happen, and the thread of an input that captures them.
//!
//! Shape: `opening` makes a handle of libpcap, [`Capture`] takes packets from it and waits for more; `drops` counts the lost ones.
//! Invariant: [`Capture::next_contacts`] returns after [`WAIT`] at the latest, whatever comes or not, and ends for good with its first error.

use std::fmt;
use std::time::{Duration, Instant};

use pcap::{Active, PacketHeader};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::capture::PacketCounts;
use crate::capture::reader::packet_contact;
use crate::contact::Contact;
use crate::error::InputError;
use crate::input::{LogLine, Status};
use crate::live::drops::{Drops, Sum};
use crate::live::opening::{self, LiveError, TICK_NS, reason_of, trouble};
use crate::options::CaptureOptions;
use crate::packet::{Skip, headers};

use super::{DRAIN, LOOK, Line, not_after, now_ns};

/// Packets that are taken at once.
const BLOCK: usize = 512;

/// How long a call waits for a packet.
const WAIT: Duration = Duration::from_millis(20);

/// A capture on a network interface, which yields the contacts of its packets.
///
/// ```no_run
/// use srlg_input::live::{Capture, CaptureOptions};
///
/// let filter = Some("tcp or udp".to_owned());
/// let mut capture = Capture::open("eth0", &CaptureOptions { filter, ..CaptureOptions::default() })?;
/// for _ in 0..1_000 {
///     for contact in capture.next_contacts()? {
///         println!("{} -> {}", contact.source, contact.destination);
///     }
/// }
/// let drops = capture.drops()?;
/// println!("{}; {} dropped", capture.counts(), drops.buffer_full);
/// # Ok::<(), srlg_input::live::LiveError>(())
/// ```
pub struct Capture {
    interface: String,
    handle: pcap::Capture<Active>,
    link_type: u16,
    counts: PacketCounts,
    contacts: Vec<Contact>,
    drops: [Sum; 2],
    /// When the interface is looked at next, if it is quiet then.
    next_look: Instant,
    /// How capturing ended.
    ended: Option<LiveError>,
}

impl Capture {
    /// Opens `interface` with `options`; packets from then on are kept for [`next_contacts`](Self::next_contacts).
    ///
    /// On Linux the program needs the capability `CAP_NET_RAW`.
    ///
    /// # Errors
    /// [`LiveError`] when a size is out of range, the interface does not exist or is down, the program may not capture, frames of
    /// the interface are not understood, or libpcap refuses the filter.
    pub fn open(interface: &str, options: &CaptureOptions) -> Result<Self, LiveError> {
        let (handle, link_type) = opening::open(interface, options)?;
        Ok(Self {
            interface: interface.to_owned(),
            handle,
            link_type,
            counts: PacketCounts::default(),
            contacts: Vec::new(),
            drops: Default::default(),
            next_look: Instant::now() + LOOK,
            ended: None,
        })
    }

    /// Returns the contacts of the packets that wait, up to 512; none where none came within 20 ms.
    ///
    /// A packet is returned within some 40 ms after it came, unless the caller is late. What is no contact is counted and
    /// passed over. Packets that the host itself sends are captured, too.
    ///
    /// # Errors
    /// [`LiveError::Gone`] when the interface was deleted, [`LiveError::Down`] within a second or so after it was set down,
    /// [`LiveError::Failed`] otherwise. Capturing ends there: later calls return the same error.
    pub fn next_contacts(&mut self) -> Result<&[Contact], LiveError> {
        self.contacts.clear();
        if self.ended.is_none() {
            self.ended = self.fill().err();
        }
        // The error comes after the contacts before it.
        match &self.ended {
            Some(error) if self.contacts.is_empty() => Err(error.clone()),
            _ => Ok(&self.contacts),
        }
    }

    /// Returns the counts of the packets that have been taken so far.
    pub fn counts(&self) -> &PacketCounts {
        &self.counts
    }

    /// Returns how many packets were lost since capturing began. Call it once in two minutes at least: libpcap counts in 32 bits,
    /// which 14.9 million packets a second fill to the half in 144 s.
    ///
    /// # Errors
    /// [`LiveError::Failed`] when libpcap cannot tell.
    pub fn drops(&mut self) -> Result<Drops, LiveError> {
        let stat = self.handle.stats().map_err(|error| self.failed(reason_of(&error)))?;
        let [buffer_full, interface] = &mut self.drops;
        let (buffer_full, interface) =
            (buffer_full.add(stat.dropped), interface.add(stat.if_dropped));
        Ok(Drops { buffer_full, interface })
    }

    /// Takes the packets that wait, and waits for one that is a contact.
    fn fill(&mut self) -> Result<(), LiveError> {
        let mut deadline = None;
        loop {
            let is_quiet = self.take_waiting()?;
            if !self.contacts.is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            let left = deadline.get_or_insert(now + WAIT).saturating_duration_since(now);
            if is_quiet {
                self.look(now)?;
            }
            if left.is_zero() {
                return Ok(());
            }
            if is_quiet {
                self.wait(left)?;
            }
        }
    }

    /// Takes up to [`BLOCK`] packets, and returns whether no more wait.
    fn take_waiting(&mut self) -> Result<bool, LiveError> {
        for _ in 0..BLOCK {
            match self.handle.next_packet() {
                Ok(packet) => {
                    let seen = time_ns(packet.header).and_then(|time_ns| {
                        let headers = headers(self.link_type, packet.data)?;
                        self.contacts.push(packet_contact(time_ns, headers));
                        Ok(())
                    });
                    self.counts.record(seen);
                }
                Err(pcap::Error::TimeoutExpired) => return Ok(true),
                Err(error) => {
                    let failed = || self.failed(reason_of(&error));
                    return Err(trouble(&self.interface, true).unwrap_or_else(failed));
                }
            }
        }
        Ok(false)
    }

    /// Waits until there are packets, `left` has passed, or the interface is in trouble, which the next packet tells.
    ///
    /// libpcap's own time limit is no help: on Linux the clock of a block starts with its first packet, so that a call on a quiet
    /// interface would not return.
    fn wait(&self, left: Duration) -> Result<(), LiveError> {
        // At most 20 ms.
        let limit = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        match rustix::event::poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(self.failed(error.to_string())),
        }
    }

    /// Looks once a second whether a quiet interface is still there and up: libpcap tells of one that is deleted, but not of one that is
    /// set down.
    fn look(&mut self, now: Instant) -> Result<(), LiveError> {
        if now < self.next_look {
            return Ok(());
        }
        self.next_look = now + LOOK;
        trouble(&self.interface, true).map_or(Ok(()), Err)
    }

    fn failed(&self, reason: String) -> LiveError {
        LiveError::Failed { interface: self.interface.clone(), reason }
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Capture");
        shown.field("interface", &self.interface).field("link_type", &self.link_type);
        shown.field("counts", &self.counts).field("ended", &self.ended).finish_non_exhaustive()
    }
}

/// Nanoseconds since the Unix epoch of a packet.
fn time_ns(header: &PacketHeader) -> Result<u64, Skip> {
    let seconds = u64::try_from(header.ts.tv_sec).ok();
    let fraction_ns = u64::try_from(header.ts.tv_usec).ok().map(|ticks| ticks * TICK_NS);
    let whole_ns = seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000));
    match (whole_ns, fraction_ns) {
        (Some(whole), Some(fraction)) if fraction < 1_000_000_000 => {
            whole.checked_add(fraction).ok_or(Skip::BadTime)
        }
        _ => Err(Skip::BadTime),
    }
}

/// The least interval between two warnings about dropped packets.
const MINUTE: Duration = Duration::from_secs(60);

/// The last warning about dropped packets.
#[derive(Default)]
struct DropWarning {
    drops: u64,
    at: Option<Instant>,
}

/// Starts the thread that captures.
pub(super) fn open(name: &str, options: &CaptureOptions, line: &Line) -> Result<(), InputError> {
    let capture = Capture::open(name, options)?;
    line.belt.log(LogLine::info(format!("captures packets of {name}")));
    line.spawn("capture", move |line| run(capture, line))
}

/// Captures until the end is asked for and no packet waits.
fn run(mut capture: Capture, line: &Line) -> Result<(), InputError> {
    let (mut looked, mut last) = (Instant::now(), DropWarning::default());
    let mut asked: Option<Instant> = None;
    loop {
        let contacts = capture.next_contacts()?;
        let is_quiet = contacts.is_empty();
        if !is_quiet && !line.belt.put(not_after(now_ns(), contacts)) {
            break;
        }
        if line.stop.is_asked() {
            let asked = *asked.get_or_insert_with(Instant::now);
            if is_quiet || asked.elapsed() >= DRAIN {
                break;
            }
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            look(&mut capture, line, &mut last)?;
        }
    }
    look(&mut capture, line, &mut last)
}

/// Updates the status, and warns of dropped packets.
fn look(capture: &mut Capture, line: &Line, last: &mut DropWarning) -> Result<(), InputError> {
    let drops = capture.drops()?;
    let drops = drops.buffer_full + drops.interface;
    line.set_status(Status {
        packets: Some(capture.counts().clone()),
        interface_drops: Some(drops),
        ..Status::default()
    });
    if drops > last.drops && last.at.is_none_or(|at| at.elapsed() >= MINUTE) {
        let more = drops - last.drops;
        line.belt.log(LogLine::warning(format!(
            "{more} packets were dropped, as this program was too slow for them: raise --capture-buffer, \
             or select packets by --filter"
        )));
        *last = DropWarning { drops, at: Some(Instant::now()) };
    }
    Ok(())
}

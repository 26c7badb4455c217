//! Contacts from a network interface, and the input threads that capture its packets.
//!
//! `opening` opens a libpcap handle, [`Capture`] reads packets from it and waits for more, and `drops` counts lost
//! packets.
//!
//! Invariant: [`Capture::next_contacts`] waits at most [`WAIT`] for packets. After its first error, every call returns
//! the same error.

use std::fmt;
use std::time::{Duration, Instant};

use pcap::{Active, PacketHeader};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::capture::PacketCounts;
use crate::capture::frame::Frame;
use crate::capture::reader::push_packet;
use crate::clock::now_ns;
use crate::contact::Contact;
use crate::drops::{Drops, Sum};
use crate::error::InputError;
use crate::event::LogLine;
use crate::interface::opening::{self, LiveError, TICK_NS, problem, reason_of};
use crate::options::{CaptureOptions, InputOptions, Tunnels};
use crate::packet::Skip;

use crate::status::Status;
use crate::threads::{CHECK_INTERVAL, ContactSender, ContactSenders, DRAIN};

/// Maximum number of packets that are read at a time.
const BLOCK: usize = 512;

/// Maximum time for which a call waits for packets.
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
    tunnels: Tunnels,
    counts: PacketCounts,
    contacts: Vec<Contact>,
    /// Time before which packets are skipped, because the captures did not share them yet. The first packet that is not
    /// skipped sets this time to 0.
    since_ns: u64,
    drops: [Sum; 2],
    /// Whether this is not the first of several captures. Only the first one counts the drops of the interface.
    is_further: bool,
    /// Time from which a quiet interface is checked again.
    next_check: Instant,
    ended: Option<LiveError>,
}

impl Capture {
    /// Opens `interface` with `options`. From this call on, packets are buffered for
    /// [`next_contacts`](Self::next_contacts).
    ///
    /// On Linux, the program needs the capability `CAP_NET_RAW`.
    ///
    /// # Errors
    /// Returns [`LiveError`] in these cases:
    /// - a size is out of range;
    /// - the interface does not exist or is down;
    /// - the program lacks the permission to capture;
    /// - the frames of the interface cannot be parsed;
    /// - libpcap rejects the filter;
    /// - libpcap fails for another reason.
    pub fn open(interface: &str, options: &CaptureOptions) -> Result<Self, LiveError> {
        let (handle, link_type) = opening::open(interface, options)?;
        Ok(Self {
            interface: interface.to_owned(),
            handle,
            link_type,
            tunnels: Tunnels::Outer,
            counts: PacketCounts::default(),
            contacts: Vec::new(),
            since_ns: 0,
            drops: Default::default(),
            is_further: false,
            next_check: Instant::now() + CHECK_INTERVAL,
            ended: None,
        })
    }

    /// Sets which hosts of tunnelled packets are counted: the outer hosts, the inner hosts, or both. If tunnels are
    /// nested, inner headers may need a larger [`snap_length`](CaptureOptions::snap_length) than the default.
    #[must_use]
    pub fn with_tunnels(self, tunnels: Tunnels) -> Self {
        Self { tunnels, ..self }
    }

    /// Opens one capture on `interface` for each capture thread in `options`. Each packet is delivered to exactly one
    /// of the captures.
    ///
    /// ```no_run
    /// use srlg_input::live::{Capture, CaptureOptions};
    ///
    /// let options = CaptureOptions { capture_threads: 4, ..CaptureOptions::default() };
    /// for mut capture in Capture::open_all("eth0", &options)? {
    ///     std::thread::spawn(move || capture.next_contacts().map(<[_]>::len));
    /// }
    /// # Ok::<(), srlg_input::live::LiveError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`LiveError`] in the cases that [`open`](Self::open) lists, and in these cases:
    /// - the number of threads is out of range;
    /// - `options` name CPUs, but not one for each thread;
    /// - the system cannot share packets among captures;
    /// - a thread cannot run on its CPU.
    pub fn open_all(interface: &str, options: &CaptureOptions) -> Result<Vec<Self>, LiveError> {
        let CaptureOptions { capture_threads: threads, capture_cpus: cpus, .. } = options;
        opening::size("capture_threads", *threads, CaptureOptions::THREADS)?;
        if !cpus.is_empty() && cpus.len() != *threads as usize {
            return Err(LiveError::CpuCount { cpus: cpus.len(), threads: *threads });
        }
        let mut captures = sharing::open(interface, options)?;
        if let [first, further @ ..] = &mut captures[..]
            && !further.is_empty()
        {
            let since_ns = now_ns();
            first.begin(since_ns)?;
            for capture in further {
                capture.is_further = true;
                capture.begin(since_ns)?;
            }
        }
        Ok(captures)
    }

    /// Makes the capture skip packets that arrived before `since_ns`, and ignore drops before this call.
    fn begin(&mut self, since_ns: u64) -> Result<(), LiveError> {
        self.since_ns = since_ns;
        let stat = self.handle.stats().map_err(|error| self.failed(reason_of(&error)))?;
        self.drops = [stat.dropped, stat.if_dropped].map(Sum::from);
        Ok(())
    }

    /// Returns the contacts of up to 512 waiting packets. The slice is empty if no packet with a contact arrives within
    /// 20 ms.
    ///
    /// If the caller keeps up, the contact of a packet is returned within about 40 ms of the arrival of the packet.
    /// Packets without a contact are counted and skipped. Packets that this machine sends are captured too.
    ///
    /// # Errors
    /// Returns [`LiveError::Gone`] if the interface was deleted, and [`LiveError::Down`] about a second after it was
    /// set down. For any other failure, returns [`LiveError::Failed`]. After an error, the capture has ended, and all
    /// later calls return the same error.
    pub fn next_contacts(&mut self) -> Result<&[Contact], LiveError> {
        self.contacts.clear();
        if self.ended.is_none() {
            self.ended = self.fill().err();
        }
        // Contacts are returned before an error that occurred after them.
        match &self.ended {
            Some(error) if self.contacts.is_empty() => Err(error.clone()),
            _ => Ok(&self.contacts),
        }
    }

    /// Returns the counters of the packets read so far.
    pub fn counts(&self) -> &PacketCounts {
        &self.counts
    }

    /// Returns the numbers of packets that were lost since the capture was opened. If [`open_all`](Self::open_all)
    /// opened several captures, only the first one counts the packets that the interface dropped.
    ///
    /// Call this method at least once every two minutes, because libpcap's counters have 32 bits. At 14.9 million drops
    /// per second, a counter passes half of its range in 144 s.
    ///
    /// # Errors
    /// Returns [`LiveError::Failed`] if libpcap cannot report the drops.
    pub fn drops(&mut self) -> Result<Drops, LiveError> {
        let stat = self.handle.stats().map_err(|error| self.failed(reason_of(&error)))?;
        let [buffer_full, interface] = &mut self.drops;
        let interface = interface.add(stat.if_dropped);
        Ok(Drops {
            buffer_full: buffer_full.add(stat.dropped),
            interface: if self.is_further { 0 } else { interface },
        })
    }

    fn status(&mut self) -> Result<Status, LiveError> {
        let (packets, drops) = (Some(self.counts.clone()), Some(self.drops()?));
        Ok(Status { packets, drops, ..Status::default() })
    }

    /// Reads the waiting packets. If none of them has a contact, waits up to [`WAIT`] for more packets.
    fn fill(&mut self) -> Result<(), LiveError> {
        let mut deadline = None;
        loop {
            let is_quiet = self.read_waiting()?;
            if !self.contacts.is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            let left = deadline.get_or_insert(now + WAIT).saturating_duration_since(now);
            if is_quiet {
                self.check_interface(now)?;
            }
            if left.is_zero() {
                return Ok(());
            }
            if is_quiet {
                self.wait(left)?;
            }
        }
    }

    /// Reads up to [`BLOCK`] packets. Returns `true` if it stopped because no packet was waiting.
    fn read_waiting(&mut self) -> Result<bool, LiveError> {
        let Self { handle, link_type, tunnels, counts, contacts, since_ns, .. } = self;
        let mut left = BLOCK;
        while left > 0 {
            let taken = handle.dispatch(Some(left), |packet| {
                let time_ns = time_ns(packet.header);
                if time_ns.is_ok_and(|time_ns| time_ns < *since_ns) {
                    return;
                }
                // The start time is needed only once. If the clock is set back later, packets must not be skipped
                // again.
                *since_ns = 0;
                let seen = time_ns.and_then(|time_ns| {
                    let original = packet.header.len;
                    let frame =
                        Frame { time_ns, link_type: *link_type, bytes: packet.data, original };
                    push_packet(&frame, *tunnels, contacts, counts)
                });
                counts.record(seen);
            });
            match taken {
                Ok(0) => return Ok(true),
                Ok(taken) => left -= taken,
                Err(error) => {
                    let failed = || self.failed(reason_of(&error));
                    return Err(problem(&self.interface, true).unwrap_or_else(failed));
                }
            }
        }
        Ok(false)
    }

    /// Waits until packets arrive, `left` has passed, or the interface fails. The next read reports the failure.
    ///
    /// The timeout of libpcap is not sufficient. On Linux, the timer of a block starts with its first packet, so a call
    /// on a quiet interface would not return.
    fn wait(&self, left: Duration) -> Result<(), LiveError> {
        let limit = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        match rustix::event::poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(self.failed(error.to_string())),
        }
    }

    /// Checks once a second whether a quiet interface still exists and is up, because libpcap does not report that an
    /// interface was set down.
    fn check_interface(&mut self, now: Instant) -> Result<(), LiveError> {
        if now < self.next_check {
            return Ok(());
        }
        self.next_check = now + CHECK_INTERVAL;
        problem(&self.interface, true).map_or(Ok(()), Err)
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

/// Returns the time of a packet in nanoseconds since the Unix epoch.
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

#[cfg(target_os = "linux")]
mod sharing {
    use std::io;
    use std::panic::resume_unwind;
    use std::thread;

    use super::{Capture, CaptureOptions, LiveError};
    use crate::interface::fanout::{join, pin_to};

    /// Opens captures that share the packets of `interface`. Each capture is opened on the CPU of its thread, so that
    /// its buffer is allocated in memory close to that CPU.
    pub(crate) fn open(
        interface: &str,
        options: &CaptureOptions,
    ) -> Result<Vec<Capture>, LiveError> {
        let CaptureOptions { capture_threads, capture_split, capture_cpus, .. } = options;
        let (mut captures, mut group) = (Vec::new(), None);
        for part in 0..*capture_threads as usize {
            let open = || {
                pin(capture_cpus, part)?;
                Capture::open(interface, options)
            };
            let opened = thread::scope(|scope| scope.spawn(open).join());
            let capture = opened.unwrap_or_else(|panic| resume_unwind(panic))?;
            if *capture_threads > 1 {
                let joined = join(&capture.handle, group, *capture_split);
                let reason = |error| io::Error::from(error).to_string();
                group = Some(joined.map_err(|error| LiveError::Share {
                    interface: interface.to_owned(),
                    reason: reason(error),
                })?);
            }
            captures.push(capture);
        }
        Ok(captures)
    }

    pub(super) fn pin(cpus: &[u32], part: usize) -> Result<(), LiveError> {
        let Some(&cpu) = cpus.get(part) else { return Ok(()) };
        pin_to(cpu).map_err(|error| LiveError::Cpu { cpu, reason: error.to_string() })
    }
}

#[cfg(not(target_os = "linux"))]
mod sharing {
    use super::{Capture, CaptureOptions, LiveError};

    pub(crate) fn open(
        interface: &str,
        options: &CaptureOptions,
    ) -> Result<Vec<Capture>, LiveError> {
        Ok(vec![Capture::open(interface, options)?])
    }

    pub(super) fn pin(cpus: &[u32], part: usize) -> Result<(), LiveError> {
        let Some(&cpu) = cpus.get(part) else { return Ok(()) };
        let reason = "this system cannot pin threads to a CPU".to_owned();
        Err(LiveError::Cpu { cpu, reason })
    }
}

pub(crate) fn open(
    name: &str,
    options: &InputOptions,
    senders: &mut ContactSenders<'_>,
) -> Result<(), InputError> {
    let InputOptions { capture: options, tunnels, .. } = options;
    senders.shared.queue.log(LogLine::info(format!("capturing packets on {name}")));
    for (part, capture) in Capture::open_all(name, options)?.into_iter().enumerate() {
        let (capture, cpus) = (capture.with_tunnels(*tunnels), options.capture_cpus.clone());
        senders.spawn(&format!("capture {part}"), move |sender| {
            sharing::pin(&cpus, part)?;
            run(capture, part, sender)
        })?;
    }
    Ok(())
}

/// Captures until the input is asked to stop. Then reads the waiting packets for at most [`DRAIN`].
fn run(mut capture: Capture, part: usize, sender: &mut ContactSender) -> Result<(), InputError> {
    let mut published = Instant::now();
    let mut asked: Option<Instant> = None;
    loop {
        let contacts = capture.next_contacts()?;
        let is_quiet = contacts.is_empty();
        if !is_quiet && !sender.deliver(contacts)? {
            break;
        }
        if sender.shared.stop.is_asked() {
            let asked = *asked.get_or_insert_with(Instant::now);
            if is_quiet || asked.elapsed() >= DRAIN {
                break;
            }
        }
        if published.elapsed() >= CHECK_INTERVAL {
            published = Instant::now();
            sender.shared.set_status(part, capture.status()?);
        }
    }
    sender.shared.set_status(part, capture.status()?);
    Ok(())
}

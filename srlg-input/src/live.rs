//! Live inputs: sockets that receive flow exports, network interfaces, growing files, and brokers.
//!
//! An [`Input`](crate::Input) reads any live input. With the feature `live`, `Capture` captures on an interface through
//! libpcap. A `Capture` yields the same contacts as an `Input`, but starts no reader thread.
//!
//! Linux removes the outermost VLAN tag of a received frame before it applies a capture filter. Therefore, `udp`
//! matches tagged and untagged packets. The filters `vlan` and `vlan 7` still match the tag.
//!
//! A capture buffer consists of blocks of 256 KiB, and a block closes 20 ms after its first packet. At low packet
//! rates, each block covers 20 ms. With a buffer of 32 MiB, the reader may therefore pause for 2.5 s before packets are
//! dropped. At high packet rates, the reader may pause until the buffer is full.

// Each reading thread has an `Outlet` for its contacts, which is either its own sink or the `Belt`. The caller takes
// log lines and positions from the belt and, if there are no sinks, also contacts. Invariant: a contact is never later
// than the time at which it was read.

mod belt;
#[cfg(feature = "live")]
mod capture;
#[cfg(feature = "flow")]
mod datagrams;
mod drops;
#[cfg(all(feature = "live", target_os = "linux"))]
mod fanout;
mod follow;
#[cfg(feature = "live")]
mod opening;
mod outlet;
#[cfg(feature = "flow")]
mod receive;
#[cfg(feature = "flow")]
mod sockets;
#[cfg(feature = "flow")]
mod udp_drops;

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::contact::Contact;
use crate::error::InputError;
#[cfg(not(feature = "flow"))]
use crate::exports::Sockets;
use crate::input::{Event, LogLine, Next, Status, Stop};
use crate::options::InputOptions;
use crate::position::Position;

use belt::Belt;
use drops::DropWarning;
#[cfg(feature = "messages")]
pub(crate) use outlet::Outlet;
pub(crate) use outlet::Outlets;
use outlet::{Deliveries, SinkMaker};
#[cfg(feature = "flow")]
use sockets::Sockets;

#[cfg(feature = "live")]
pub use capture::Capture;
pub use drops::Drops;
#[cfg(feature = "live")]
pub use opening::LiveError;
pub use outlet::{ContactSink, SinkError};
#[cfg(feature = "flow")]
pub use sockets::check_templates;

pub use crate::input::SocketStatus;
pub use crate::options::{
    BadTopic, BadUrl, CaptureOptions, CaptureSplit, KafkaOptions, Mechanism, MessageFormat,
    MessageOptions, NatsOptions, NatsSource, NatsUrl, SocketOptions, Topic,
};

/// Interval at which drops are counted, the status is updated and a quiet interface is checked.
const LOOK: Duration = Duration::from_secs(1);

/// Maximum time for which pending input is still read after a request to stop.
const DRAIN: Duration = Duration::from_secs(1);

/// Minimum forward step of the system clock that yields an event.
const STEP: Duration = Duration::from_secs(1);

/// Maximum time between the two readings of a [`ClockReading`].
const READING: Duration = Duration::from_millis(100);

/// Maximum time to wait for threads to stop. A thread that is blocked while it reads a pipe does not see the request to
/// stop.
const PATIENCE: Duration = Duration::from_secs(2);

const SECOND: u64 = 1_000_000_000;

/// The state that the threads of a live input share with the caller.
#[derive(Clone, Default)]
pub(crate) struct Line {
    pub(crate) belt: Arc<Belt>,
    deliveries: Arc<Deliveries>,
    pub(crate) stop: Stop,
    /// Latest status of each thread, by thread index.
    status: Arc<Mutex<BTreeMap<usize, Status>>>,
}

pub(crate) struct Live {
    line: Line,
    contacts: Vec<Contact>,
    /// Whether the contacts still have to be yielded.
    is_loaded: bool,
    /// Position in a Kafka topic or NATS stream after the contacts that have been yielded.
    position: Position,
    /// Position after the contacts that have not been yielded yet.
    next_position: Position,
    /// Tick to yield after the contacts.
    time: Option<u64>,
    /// Last tick that was yielded. The field `is_told` states whether the caller may still be handling it.
    told: u64,
    is_told: bool,
    watch: Watch,
    reading: ClockReading,
    log: VecDeque<LogLine>,
    failure: Option<InputError>,
    sockets: Option<Sockets>,
    drop_warning: DropWarning,
    looked: Instant,
    /// Time by which threads must stop, set after a request to stop.
    deadline: Option<Instant>,
}

impl Line {
    pub(crate) fn set_status(&self, part: usize, status: Status) {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).insert(part, status);
    }

    fn status(&self) -> Status {
        let parts = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let mut parts = parts.values();
        let mut all = parts.next().cloned().unwrap_or_default();
        parts.for_each(|part| all.add(part));
        all
    }
}

impl Live {
    pub(crate) fn open(
        options: &InputOptions,
        start: Option<Position>,
        stop: &Stop,
        sinks: Option<SinkMaker<'_>>,
    ) -> Result<Self, InputError> {
        let line = Line { stop: stop.clone(), ..Line::default() };
        // If an error follows, `live` is dropped, which stops the threads that have been started.
        let mut live = Self::of(line);
        let mut outlets = Outlets { line: live.line.clone(), sinks };
        if !options.sockets.listen.is_empty() {
            live.sockets = Some(Sockets::open(options, &mut outlets)?);
        } else if let Some(name) = &options.interface {
            #[cfg(feature = "live")]
            capture::open(name, options, &mut outlets)?;
            #[cfg(not(feature = "live"))]
            return Err(InputError::NoLive { interface: name.clone() });
        } else if let Some(topic) = &options.kafka.kafka {
            #[cfg(feature = "kafka")]
            {
                // The stored position remains valid until a message is read, even if no broker responds.
                live.position = start.clone().unwrap_or_default();
                crate::kafka::open(topic, options, start, &mut outlets)?;
            }
            #[cfg(not(feature = "kafka"))]
            {
                drop(start);
                return Err(InputError::NoKafka { topic: topic.to_string() });
            }
        } else if let Some(url) = &options.nats.nats {
            #[cfg(feature = "nats")]
            {
                live.position = start.clone().unwrap_or_default();
                crate::nats::open(url, options, start, &mut outlets)?;
            }
            #[cfg(not(feature = "nats"))]
            {
                drop(start);
                return Err(InputError::NoNats { url: url.to_string() });
            }
        } else {
            follow::open(options, &mut outlets)?;
        }
        Ok(live)
    }

    fn of(line: Line) -> Self {
        Self {
            line,
            contacts: Vec::new(),
            is_loaded: false,
            position: Position::default(),
            next_position: Position::default(),
            time: Some(now_ns()),
            told: 0,
            is_told: false,
            watch: Watch::default(),
            reading: ClockReading::now(),
            log: VecDeque::new(),
            failure: None,
            sockets: None,
            drop_warning: DropWarning::default(),
            looked: Instant::now(),
            deadline: None,
        }
    }

    /// Returns the next event, or `None` at the end of the input. Waits for at most 20 ms.
    pub(crate) fn advance(&mut self) -> Result<Option<Next>, InputError> {
        if mem::take(&mut self.is_told) {
            self.line.deliveries.pass();
        }
        loop {
            if mem::take(&mut self.is_loaded) {
                self.position.advance(mem::take(&mut self.next_position));
                if !self.contacts.is_empty() {
                    return Ok(Some(Next::Contacts));
                }
            }
            if let Some(now) = self.time.take() {
                (self.told, self.is_told) = (now, true);
                return Ok(Some(Next::Event(Event::Time(now))));
            }
            if let Some(line) = self.log.pop_front() {
                return Ok(Some(Next::Event(Event::Log(line))));
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.looked.elapsed() >= LOOK {
                self.looked = Instant::now();
                match &mut self.sockets {
                    Some(sockets) => self.log.extend(sockets.look()),
                    None => self.log.extend(self.drop_warning.of(self.line.status().drops)),
                }
                continue;
            }
            // The clock is read before the belt, so that everything read before this time is on the belt.
            let now = now_ns();
            self.log.extend(self.watch.take(now));
            let mut load = self.line.belt.take(mem::take(&mut self.contacts));
            let reading = ClockReading::now();
            let step = reading.set_forward_since(self.reading);
            self.reading = reading;
            self.log.extend(load.log);
            // A failure is reported after the contacts that were read before it.
            self.failure = self.failure.take().or(load.failures.pop());
            let is_read = load.contacts.is_empty() && load.position.offsets.is_empty();
            let is_empty = is_read && self.failure.is_none();
            if is_empty && self.has_ended(load.readers) {
                return self.finish();
            }
            (self.contacts, self.is_loaded) = (load.contacts, true);
            self.next_position.advance(load.position);
            // This event comes before the contacts, because their times would otherwise close all slices of the skipped
            // time.
            if step >= STEP {
                if let Some(sockets) = &self.sockets {
                    // Relative to the new time, the exporters' clocks seem to have been set back.
                    sockets.clock_was_set();
                }
                let event = Event::SetForward { step, now_ns: reading.time_ns };
                return Ok(Some(Next::Event(event)));
            }
            self.time = Some(self.line.deliveries.tick(now, self.told));
        }
    }

    pub(crate) fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Returns whether all threads have ended, or have had [`PATIENCE`] to end after a request to stop.
    fn has_ended(&mut self, readers: usize) -> bool {
        let deadline = || Instant::now() + PATIENCE;
        readers == 0
            || self.line.stop.is_asked()
                && Instant::now() >= *self.deadline.get_or_insert_with(deadline)
    }

    /// Returns the last log lines, one for each call.
    fn finish(&mut self) -> Result<Option<Next>, InputError> {
        if let Some(mut sockets) = self.sockets.take() {
            self.log.extend(sockets.finish());
            self.line.set_status(0, sockets.status());
        }
        self.log.extend(self.drop_warning.of(self.line.status().drops));
        Ok(self.log.pop_front().map(|line| Next::Event(Event::Log(line))))
    }

    pub(crate) fn position(&self) -> Option<&Position> {
        Some(&self.position).filter(|position| !position.offsets.is_empty())
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.as_ref().map(Sockets::addresses).unwrap_or_default()
    }

    pub(crate) fn status(&self) -> Status {
        match &self.sockets {
            Some(sockets) => sockets.status(),
            None => self.line.status(),
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.line.stop.stop();
        self.line.belt.leave();
        self.line.deliveries.leave();
    }
}

/// Returns the system time in nanoseconds since the Unix epoch, or 0 before 1970.
pub(crate) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// A reading of the system clock and of a monotonic clock.
#[derive(Clone, Copy)]
struct ClockReading {
    at: Instant,
    time_ns: u64,
}

impl ClockReading {
    /// Reads both clocks. If [`READING`] or more has passed between the two readings, reads both clocks again.
    fn now() -> Self {
        loop {
            let reading = Self { at: Instant::now(), time_ns: now_ns() };
            if reading.at.elapsed() < READING {
                return reading;
            }
        }
    }

    fn set_forward_since(self, before: Self) -> Duration {
        let time = Duration::from_nanos(self.time_ns.saturating_sub(before.time_ns));
        time.saturating_sub(self.at.saturating_duration_since(before.at))
    }
}

/// A monitor that detects when the system clock is set back.
#[derive(Default)]
struct Watch {
    last: u64,
}

impl Watch {
    /// Records the system time `now`. Returns a warning if the clock was set back by a second or more since the last
    /// call.
    fn take(&mut self, now: u64) -> Option<LogLine> {
        let back = self.last.saturating_sub(now);
        self.last = now;
        (back >= SECOND).then(|| {
            LogLine::warning(format!(
                "the system clock was set back by {} s: no slice closes until it catches up, and contacts read before then count as late; restart the program if this takes too long",
                back / SECOND
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::outlet::Outlet;
    use super::*;
    use crate::input::LogLevel;

    fn live(work: impl FnOnce(&mut Outlet) -> Result<(), InputError> + Send + 'static) -> Live {
        let line = Line::default();
        Outlets { line: line.clone(), sinks: None }.spawn("read", work).unwrap();
        Live::of(line)
    }

    fn is_time(next: Option<&Next>) -> bool {
        matches!(next, Some(Next::Event(Event::Time(_))))
    }

    #[test]
    fn a_thread_that_panics_is_an_error_and_the_end() {
        let (mut live, started) = (live(|_| panic!("this is part of the test")), Instant::now());
        let error = loop {
            assert!(started.elapsed() < Duration::from_secs(60), "the panic was not reported");
            match live.advance() {
                Ok(next) => assert!(is_time(next.as_ref()), "{next:?}"),
                Err(error) => break error,
            }
        };
        assert!(matches!(&error, InputError::Panic { thread } if thread == "read"), "{error}");
        while live.advance().unwrap().is_some() {}
    }

    #[test]
    fn a_clock_that_is_set_forward_is_measured_however_late_it_is_read() {
        let start = Instant::now();
        let reading = |passed_s, system_s: u64| ClockReading {
            at: start + Duration::from_secs(passed_s),
            time_ns: (1_000 + system_s) * SECOND,
        };
        let readings = [
            reading(0, 0),
            reading(1, 1),
            // A minute has passed, and the clock is correct.
            reading(61, 61),
            reading(62, 3_662),
            reading(63, 3_663),
            // The clock is set back, runs, and is then correct again.
            reading(64, 100),
            reading(65, 101),
            reading(66, 202),
            reading(66, 207),
        ];
        let steps = readings.windows(2).map(|pair| pair[1].set_forward_since(pair[0]).as_secs());
        assert_eq!(steps.collect::<Vec<_>>(), [0, 0, 3_600, 0, 0, 0, 100, 5]);
    }

    #[test]
    fn a_step_of_some_seconds_is_an_event_before_the_contacts_that_wait() {
        let contact = Contact::new(0, [192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        for (step_s, expected) in [(3_600, Some(3_600)), (5, Some(5)), (2, Some(2)), (0, None)] {
            let line = Line::default();
            line.belt.put([contact]);
            let mut live = Live::of(line);
            assert!(is_time(live.advance().unwrap().as_ref()));
            live.reading.time_ns -= step_s * SECOND;
            let mut next = live.advance().unwrap();
            if let Some(Next::Event(Event::SetForward { step, now_ns })) = next {
                assert_eq!(Some(step.as_secs_f64().round() as u64), expected);
                assert!(now_ns.abs_diff(super::now_ns()) < 60 * SECOND);
                next = live.advance().unwrap();
            } else {
                assert_eq!(expected, None);
            }
            assert!(matches!(next, Some(Next::Contacts)), "{next:?}");
            assert_eq!(live.contacts(), [contact]);
        }
    }

    #[test]
    fn a_clock_that_is_put_back_is_told_once() {
        let mut watch = Watch::default();
        let mut take = |seconds: u64| watch.take(seconds * SECOND);
        assert_eq!([take(5_000), take(5_000), take(9_000)], [None, None, None]);
        let told = take(5_400).unwrap();
        assert_eq!(told.level, LogLevel::Warning);
        insta::assert_snapshot!(told.text);
        assert_eq!([take(5_401), take(9_001)], [None, None]);
        assert_eq!(watch.take(9_001 * SECOND - SECOND + 1), None, "less than a second");
    }
}

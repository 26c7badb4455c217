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

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::clock::{ClockReading, Watch, now_ns};
use crate::contact::Contact;
use crate::drops::DropWarning;
use crate::error::InputError;
use crate::event::{Event, LogLine, Next};
#[cfg(not(feature = "flow"))]
use crate::exports::Sockets;
use crate::position::Position;
#[cfg(feature = "flow")]
use crate::sockets::Sockets;
use crate::status::Status;
use crate::threads::{CHECK_INTERVAL, SharedState};

pub use crate::broker::check_broker;
pub use crate::connections::{CloseReason, ConnectionCounts};
pub use crate::drops::Drops;
#[cfg(feature = "live")]
pub use crate::interface::{Capture, LiveError};
pub use crate::options::{
    BadUrl, BrokerOptions, BrokerUrl, CaptureOptions, CaptureSplit, Mechanism, MessageFormat,
    MessageOptions, NatsSource, NatsUrl, SocketOptions, Topic, mask_user,
};
pub use crate::sink::{ContactSink, SinkError};
#[cfg(feature = "flow")]
pub use crate::sockets::check_templates;
pub use crate::status::SocketStatus;

/// Minimum forward step of the system clock that yields an event.
const STEP: Duration = Duration::from_secs(1);

/// Maximum time to wait for threads to stop. A thread that is blocked while it reads a pipe does not see the request to
/// stop.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct Live {
    shared: SharedState,
    contacts: Vec<Contact>,
    /// Whether the contacts still have to be yielded.
    is_loaded: bool,
    /// Position in a Kafka topic or NATS stream after the contacts that have been yielded.
    position: Position,
    /// Position after the contacts that have not been yielded yet.
    next_position: Position,
    /// Tick to yield after the contacts.
    time: Option<u64>,
    /// Last tick that was yielded.
    last_tick: u64,
    /// Whether the caller may still be handling the last tick.
    is_tick_pending: bool,
    watch: Watch,
    reading: ClockReading,
    log: VecDeque<LogLine>,
    failure: Option<InputError>,
    sockets: Option<Sockets>,
    drop_warning: DropWarning,
    last_check: Instant,
    /// Time by which threads must stop, set after a request to stop.
    deadline: Option<Instant>,
}

impl Live {
    pub(crate) fn of(shared: SharedState) -> Self {
        Self {
            shared,
            contacts: Vec::new(),
            is_loaded: false,
            position: Position::default(),
            next_position: Position::default(),
            time: Some(now_ns()),
            last_tick: 0,
            is_tick_pending: false,
            watch: Watch::default(),
            reading: ClockReading::now(),
            log: VecDeque::new(),
            failure: None,
            sockets: None,
            drop_warning: DropWarning::default(),
            last_check: Instant::now(),
            deadline: None,
        }
    }

    pub(crate) fn shared(&self) -> SharedState {
        self.shared.clone()
    }

    pub(crate) fn set_sockets(&mut self, sockets: Sockets) {
        self.sockets = Some(sockets);
    }

    /// Sets the stored position, which remains valid until a message is read, even if no broker responds.
    pub(crate) fn set_position(&mut self, position: Option<Position>) {
        self.position = position.unwrap_or_default();
    }

    /// Returns the next event, or `None` at the end of the input. Waits for at most 20 ms.
    pub(crate) fn advance(&mut self) -> Result<Option<Next>, InputError> {
        if mem::take(&mut self.is_tick_pending) {
            self.shared.deliveries.pass();
        }
        loop {
            if mem::take(&mut self.is_loaded) {
                self.position.advance(mem::take(&mut self.next_position));
                if !self.contacts.is_empty() {
                    return Ok(Some(Next::Contacts));
                }
            }
            if let Some(now) = self.time.take() {
                (self.last_tick, self.is_tick_pending) = (now, true);
                return Ok(Some(Next::Event(Event::Time(now))));
            }
            if let Some(line) = self.log.pop_front() {
                return Ok(Some(Next::Event(Event::Log(line))));
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.last_check.elapsed() >= CHECK_INTERVAL {
                self.last_check = Instant::now();
                match &mut self.sockets {
                    Some(sockets) => self.log.extend(sockets.check_counters()),
                    None => self.log.extend(self.drop_warning.of(self.shared.status().drops)),
                }
                continue;
            }
            // The clock is read before the queue, so that everything read before this time is on the queue.
            let now = now_ns();
            self.log.extend(self.watch.check(now));
            let mut queued = self.shared.queue.take(mem::take(&mut self.contacts));
            let reading = ClockReading::now();
            let step = reading.set_forward_since(self.reading);
            self.reading = reading;
            self.log.extend(queued.log);
            // A failure is reported after the contacts that were read before it.
            self.failure = self.failure.take().or(queued.failures.pop());
            let is_read = queued.contacts.is_empty() && queued.position.offsets.is_empty();
            let is_empty = is_read && self.failure.is_none();
            if is_empty && self.has_ended(queued.readers) {
                return self.finish();
            }
            (self.contacts, self.is_loaded) = (queued.contacts, true);
            self.next_position.advance(queued.position);
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
            self.time = Some(self.shared.deliveries.tick(now, self.last_tick));
        }
    }

    pub(crate) fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Returns whether all threads have ended, or have had [`PATIENCE`] to end after a request to stop.
    fn has_ended(&mut self, readers: usize) -> bool {
        let deadline = || Instant::now() + PATIENCE;
        readers == 0
            || self.shared.stop.is_asked()
                && Instant::now() >= *self.deadline.get_or_insert_with(deadline)
    }

    /// Returns the last log lines, one for each call.
    fn finish(&mut self) -> Result<Option<Next>, InputError> {
        if let Some(mut sockets) = self.sockets.take() {
            self.log.extend(sockets.finish());
            self.shared.set_status(0, sockets.status());
        }
        self.log.extend(self.drop_warning.of(self.shared.status().drops));
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
            None => self.shared.status(),
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.stop.stop();
        self.shared.queue.leave();
        self.shared.deliveries.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;
    use crate::threads::{ContactSender, ContactSenders};

    fn live(
        work: impl FnOnce(&mut ContactSender) -> Result<(), InputError> + Send + 'static,
    ) -> Live {
        let shared = SharedState::default();
        ContactSenders { shared: shared.clone(), sinks: None }.spawn("read", work).unwrap();
        Live::of(shared)
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
    fn a_step_of_some_seconds_is_an_event_before_the_contacts_that_wait() {
        let contact = Contact::new(0, [192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        for (step_s, expected) in [(3_600, Some(3_600)), (5, Some(5)), (2, Some(2)), (0, None)] {
            let shared = SharedState::default();
            shared.queue.put([contact]);
            let mut live = Live::of(shared);
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
}

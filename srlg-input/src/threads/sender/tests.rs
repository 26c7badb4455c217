use std::mem;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use super::*;
use crate::contact::Host;
use crate::event::{Event, Next};
use crate::live::Live;
use crate::sink::SinkError;
use crate::threads::deliveries::STALL;

/// A sink that sends each accepted contact to the test, and then waits until the test lets it return.
struct Gate {
    taken: Sender<Contact>,
    may_return: Receiver<Result<(), SinkError>>,
}

impl ContactSink for Gate {
    fn accept(&mut self, contacts: &[Contact]) -> Result<(), SinkError> {
        contacts.iter().for_each(|contact| self.taken.send(*contact).unwrap());
        self.may_return.recv().unwrap()
    }
}

struct Gated {
    live: Live,
    taken: Receiver<Contact>,
    may_return: SyncSender<Result<(), SinkError>>,
}

fn contact(time_ns: u64) -> Contact {
    let host = Host::from([192, 0, 2, 1]);
    Contact::new(time_ns, host, host)
}

fn start(
    work: impl FnOnce(&mut ContactSender) -> Result<(), InputError> + Send + 'static,
) -> Gated {
    let ((taking, taken), (may_return, returning)) = (channel(), sync_channel(1 << 10));
    let mut gate = Some(Gate { taken: taking, may_return: returning });
    let mut make = || Ok(Box::new(gate.take().unwrap()) as Box<dyn ContactSink>);
    let shared = SharedState::default();
    ContactSenders { shared: shared.clone(), sinks: Some(&mut make) }.spawn("read", work).unwrap();
    Gated { live: Live::of(shared), taken, may_return }
}

impl Gated {
    /// Handles ticks until the sink has taken a contact. On a busy machine, one tick may not be enough, because a
    /// thread that looks too late waits for the next tick.
    fn taken(&mut self) -> Contact {
        let started = Instant::now();
        loop {
            assert!(started.elapsed() < Duration::from_secs(60), "no contact was taken");
            self.tick();
            if let Ok(contact) = self.taken.try_recv() {
                return contact;
            }
        }
    }

    fn tick(&mut self) -> u64 {
        match self.live.advance().unwrap() {
            Some(Next::Event(Event::Time(time_ns))) => time_ns,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn contacts_are_accepted_only_after_the_first_tick() {
    let mut gated = start(|sender| sender.deliver(&[contact(5)]).map(drop));
    gated.tick();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(gated.taken.try_iter().count(), 0);
    assert_eq!(gated.taken(), contact(5));
    gated.may_return.send(Ok(())).unwrap();
    while gated.live.advance().unwrap().is_some() {}
}

#[test]
fn the_clock_waits_for_a_block_in_hand_and_its_contacts_are_not_of_later() {
    let mut gated = start(|sender| {
        let mut is_there = true;
        while is_there {
            is_there = sender.deliver(&[contact(u64::MAX)])?;
        }
        Ok(())
    });
    let (mut last_ns, mut returned_ns) = (0, 0);
    for _ in 0..10 {
        let contact = loop {
            let tick = gated.tick();
            assert!(last_ns <= tick);
            let before_ns = mem::replace(&mut last_ns, tick);
            // Every contact that was read before the tick must have been accepted.
            if let Ok(contact) = gated.taken.try_recv() {
                assert!(contact.time_ns >= before_ns, "read before a tick, and taken after it");
                break contact;
            }
        };
        // A block is being delivered during all these ticks, so they must not advance beyond its time.
        let ticks = [(); 3].map(|()| gated.tick());
        assert_eq!(ticks, [ticks[0]; 3]);
        assert!((returned_ns..=contact.time_ns).contains(&ticks[0]), "{ticks:?} {returned_ns}");
        last_ns = ticks[0];
        returned_ns = now_ns();
        gated.may_return.send(Ok(())).unwrap();
    }
}

#[test]
fn threads_wait_while_the_caller_is_stalled_and_go_on_afterwards() {
    let mut gated = start(|sender| {
        for number in 0..1_000 {
            sender.deliver(&[contact(number)])?;
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    });
    (0..1_000).for_each(|_| gated.may_return.send(Ok(())).unwrap());
    gated.taken();
    thread::sleep(2 * STALL);
    let before = 1 + gated.taken.try_iter().count();
    assert!(before < 1_000, "{before}");
    thread::sleep(STALL);
    assert_eq!(gated.taken.try_iter().count(), 0);
    while gated.live.advance().unwrap().is_some() {}
    assert_eq!(before + gated.taken.try_iter().count(), 1_000);
}

#[test]
fn threads_end_after_the_last_request() {
    let (ended, end) = channel();
    let mut gated = start(move |sender| {
        while sender.deliver(&[contact(0)])? {}
        ended.send(()).unwrap();
        Ok(())
    });
    gated.tick();
    drop(gated);
    end.recv().unwrap();
}

#[test]
fn an_error_of_a_sink_ends_the_input() {
    let mut gated = start(|sender| sender.deliver(&[contact(0)]).map(drop));
    gated.may_return.send(Err("full".into())).unwrap();
    let error = loop {
        match gated.live.advance() {
            Ok(next) => assert!(matches!(next, Some(Next::Event(Event::Time(_)))), "{next:?}"),
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, InputError::Sink(cause) if cause.to_string() == "full"), "{error}");
    while gated.live.advance().unwrap().is_some() {}
}

#[cfg(feature = "messages")]
#[test]
fn a_position_comes_after_its_contacts_were_taken() {
    let position = Position { offsets: [(0, 7)].into(), ..Position::default() };
    let next = position.clone();
    let mut gated = start(move |sender| sender.deliver_until(&[contact(0)], next).map(drop));
    gated.taken();
    for _ in 0..3 {
        gated.tick();
    }
    assert_eq!(gated.live.position(), None);
    gated.may_return.send(Ok(())).unwrap();
    while gated.live.advance().unwrap().is_some() {}
    assert_eq!(gated.live.position(), Some(&position));
}

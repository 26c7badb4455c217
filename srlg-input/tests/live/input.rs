//! Tests of an interface as an input, which yields contacts and the system time. Each test runs in a separate network
//! namespace.

use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use srlg_input::live::{CaptureOptions, Drops, LiveError};
use srlg_input::{Event, Input, InputError, InputOptions};

use crate::network::{Network, alone};
use crate::traffic::Traffic;

fn options(network: &Network, filter: Option<&str>) -> InputOptions {
    let interface = Some(network.listening().to_owned());
    let filter = filter.map(str::to_owned);
    let capture = CaptureOptions { filter, ..CaptureOptions::default() };
    InputOptions { interface, capture, ..InputOptions::default() }
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64
}

#[test]
fn time_passes_without_packets_and_packets_are_contacts() {
    alone("input::time_passes_without_packets_and_packets_are_contacts", || {
        let (network, traffic) = (Network::new(), Traffic::new(8_000));
        let mut input = Input::open(&options(&network, None)).unwrap();
        let (mut times, started) = (Vec::new(), Instant::now());
        while times.len() < 30 {
            match input.next_event().unwrap() {
                Some(Event::Time(now)) => times.push(now),
                Some(Event::Log(line)) => insta::assert_snapshot!(line),
                event => panic!("{event:?}"),
            }
        }
        // Ticks have a distance of 20 ms, or more on a busy machine.
        let is_paced = started.elapsed() > Duration::from_millis(250);
        assert!(times.is_sorted() && is_paced, "{:?}", started.elapsed());
        let mut player = network.play(&traffic, "--pps=8000");
        let (mut contacts, mut newest) = (0, times[0]);
        while contacts < traffic.frames.len() {
            match input.next_event().unwrap() {
                Some(Event::Contacts(block)) => {
                    contacts += block.len();
                    for contact in block {
                        assert!(contact.time_ns >= times[0], "{contact:?}");
                        newest = newest.max(contact.time_ns);
                    }
                }
                Some(Event::Time(_)) => assert!(newest <= now_ns(), "of no later time than now"),
                event => panic!("{event:?}"),
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{contacts} contacts");
        }
        while !player.has_ended() {
            sleep(Duration::from_millis(10));
        }
        input.stop().stop();
        while let Some(event) = input.next_event().unwrap() {
            assert!(matches!(event, Event::Time(_)), "{event:?}");
        }
        let status = input.status();
        assert_eq!(status.packets.unwrap().contacts, traffic.frames.len() as u64);
        assert_eq!(status.drops, Some(Drops::default()));
    });
}

#[test]
fn deleted_and_unknown_interfaces_are_errors_that_name_them() {
    let test = "input::deleted_and_unknown_interfaces_are_errors_that_name_them";
    alone(test, || {
        let network = Network::new();
        let mut input = Input::open(&options(&network, Some("udp"))).unwrap();
        network.ip(&["link", "delete", "dev", "sending"]);
        let error = loop {
            match input.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the end, without an error"),
                Err(error) => break error,
            }
        };
        let name = network.listening();
        let is_right = matches!(&error, InputError::Interface(LiveError::Gone { interface }) if interface == name);
        assert!(is_right, "{error}");
        let error = Input::open(&options(&network, None)).unwrap_err();
        let is_right = matches!(&error, InputError::Interface(LiveError::NoInterface { interface, .. }) if interface == name);
        assert!(is_right, "{error}");
    });
}

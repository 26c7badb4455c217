//! Tests of captures that share the packets of an interface. Every packet, including the first one, arrives in exactly
//! one capture.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use srlg_input::contact::Contact;
use srlg_input::live::{Capture, CaptureOptions, CaptureSplit, Drops, LiveError};
use srlg_input::{Event, Input, InputOptions};

use crate::network::{Network, Player, alone};
use crate::traffic::Traffic;
use crate::{EMPTY_CALLS, contacts_of_file, timeless};

fn options(capture_threads: u32) -> CaptureOptions {
    CaptureOptions { capture_threads, ..CaptureOptions::default() }
}

fn open(threads: u32, split: CaptureSplit) -> Vec<Capture> {
    let options = CaptureOptions { capture_split: split, ..options(threads) };
    Capture::open_all(Network::LISTENING, &options).unwrap()
}

/// Reads contacts from each of `captures` in turn, until `players` have ended and no contact has arrived in
/// [`EMPTY_CALLS`] calls of each capture after that.
fn drain(captures: &mut [Capture], players: &mut [Player]) -> Vec<Vec<Contact>> {
    let mut taken = vec![Vec::new(); captures.len()];
    let mut empty_calls = 0;
    while empty_calls < EMPTY_CALLS {
        empty_calls = if players.iter_mut().all(Player::has_ended) { empty_calls + 1 } else { 0 };
        for (taken, capture) in taken.iter_mut().zip(&mut *captures) {
            let block = capture.next_contacts().unwrap();
            taken.extend(block.iter().copied().map(timeless));
            if !block.is_empty() {
                empty_calls = 0;
            }
        }
    }
    taken
}

fn counts<'a>(contacts: impl IntoIterator<Item = &'a Contact>) -> HashMap<Contact, u32> {
    let mut counts = HashMap::new();
    contacts.into_iter().for_each(|contact| *counts.entry(*contact).or_default() += 1);
    counts
}

/// Asserts that the captures in `taken` together contain the contact of each packet in `traffic` exactly `times` times.
fn expect_each(taken: &[Vec<Contact>], traffic: &Traffic, times: u32) {
    let expected = contacts_of_file(traffic).into_iter().map(|contact| (contact, times));
    assert!(counts(taken.iter().flatten()) == expected.collect());
}

#[test]
fn packets_of_each_cpu_go_to_one_capture() {
    alone("sharing::packets_of_each_cpu_go_to_one_capture", || {
        let (network, traffic) = (Network::new(), Traffic::new(4_000));
        let mut captures = open(2, CaptureSplit::Cpu);
        let mut players = [0, 1].map(|cpu| network.play_on(cpu, &traffic, "--pps=4000"));
        let taken = drain(&mut captures, &mut players);
        // A virtual interface receives packets on the CPU that sends them.
        assert_eq!([&taken[0], &taken[1]].map(Vec::len), [4_000; 2]);
        expect_each(&taken, &traffic, 2);
        for capture in &mut captures {
            assert_eq!(capture.drops().unwrap(), Drops::default());
        }
    });
}

#[test]
fn packets_go_to_captures_in_turn() {
    alone("sharing::packets_go_to_captures_in_turn", || {
        let (network, traffic) = (Network::new(), Traffic::new(4_000));
        let mut captures = open(4, CaptureSplit::Turns);
        let taken = drain(&mut captures, &mut [network.play_on(0, &traffic, "--pps=4000")]);
        assert!(taken.iter().all(|taken| taken.len() == 1_000), "not a quarter each");
        expect_each(&taken, &traffic, 1);
    });
}

#[test]
fn what_all_captures_take_and_drop_is_what_was_sent() {
    alone("sharing::what_all_captures_take_and_drop_is_what_was_sent", || {
        let (network, traffic) = (Network::new(), Traffic::new(8_000));
        let options = CaptureOptions {
            capture_buffer: 524_288,
            capture_split: CaptureSplit::Turns,
            ..options(2)
        };
        let mut captures = Capture::open_all(Network::LISTENING, &options).unwrap();
        let mut player = network.play(&traffic, "--topspeed");
        while !player.has_ended() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let taken = drain(&mut captures, &mut [player]);
        let drops: Vec<_> = captures.iter_mut().map(|it| it.drops().unwrap()).collect();
        println!("{drops:?}");
        for (taken, drops) in taken.iter().zip(&drops) {
            assert!(drops.buffer_full > 0 && drops.interface == 0);
            assert_eq!(taken.len() as u64 + drops.buffer_full, 4_000);
        }
    });
}

#[test]
fn no_packet_is_in_two_captures_at_the_start() {
    alone("sharing::no_packet_is_in_two_captures_at_the_start", || {
        // Sending takes ten seconds, so that it does not end while the captures are opened on a busy machine.
        let (network, traffic) = (Network::new(), Traffic::new(80_000));
        let mut player = network.play(&traffic, "--pps=8000");
        let mut earlier = open(1, CaptureSplit::Turns);
        while earlier[0].next_contacts().unwrap().is_empty() && !player.has_ended() {}
        drop(earlier);
        let mut captures = open(4, CaptureSplit::Turns);
        let mut first = Vec::new();
        while first.is_empty() && !player.has_ended() {
            first.extend(captures[0].next_contacts().unwrap().iter().copied().map(timeless));
        }
        drop(player);
        let mut taken = drain(&mut captures, &mut []);
        taken.push(first);
        let counts = counts(taken.iter().flatten());
        assert!(!counts.is_empty() && counts.values().all(|count| *count == 1));
        let packets: u64 = captures.iter().map(|capture| capture.counts().packets).sum();
        assert_eq!(packets, counts.len() as u64);
    });
}

#[test]
fn groups_do_not_share_with_each_other() {
    alone("sharing::groups_do_not_share_with_each_other", || {
        let (network, traffic) = (Network::new(), Traffic::new(2_000));
        let mut captures = open(2, CaptureSplit::Turns);
        captures.extend(open(2, CaptureSplit::Turns));
        let taken = drain(&mut captures, &mut [network.play(&traffic, "--pps=4000")]);
        expect_each(&taken[..2], &traffic, 1);
        expect_each(&taken[2..], &traffic, 1);
    });
}

#[test]
fn an_input_counts_the_packets_of_all_its_threads() {
    alone("sharing::an_input_counts_the_packets_of_all_its_threads", || {
        let (network, traffic) = (Network::new(), Traffic::new(2_000));
        let capture = CaptureOptions { capture_cpus: vec![0, 1], ..options(2) };
        let interface = Some(Network::LISTENING.to_owned());
        let options = InputOptions { interface, capture, ..InputOptions::default() };
        let mut input = Input::open(&options).unwrap();
        let mut players = [0, 1].map(|cpu| network.play_on(cpu, &traffic, "--pps=4000"));
        let (mut contacts, started) = (Vec::new(), Instant::now());
        while contacts.len() < 4_000 || !players.iter_mut().all(Player::has_ended) {
            if let Some(Event::Contacts(block)) = input.next_event().unwrap() {
                contacts.extend(block.iter().copied().map(timeless));
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{}", contacts.len());
        }
        input.stop().stop();
        while input.next_event().unwrap().is_some() {}
        expect_each(&[contacts], &traffic, 2);
        let status = input.status();
        assert_eq!(status.packets.unwrap().contacts, 4_000);
        assert_eq!(status.drops, Some(Drops::default()));
        network.ip(&["link", "delete", "dev", "sending"]);
    });
}

#[test]
fn all_captures_end_with_the_interface() {
    alone("sharing::all_captures_end_with_the_interface", || {
        let network = Network::new();
        let mut captures = open(3, CaptureSplit::Cpu);
        network.ip(&["link", "delete", "dev", Network::LISTENING]);
        let gone = LiveError::Gone { interface: Network::LISTENING.to_owned() };
        for capture in &mut captures {
            let started = Instant::now();
            let error = loop {
                match capture.next_contacts() {
                    Ok(_) => assert!(started.elapsed() < Duration::from_secs(60)),
                    Err(error) => break error,
                }
            };
            assert_eq!(error, gone);
        }
    });
}

#[test]
fn cpus_that_are_not_there_and_numbers_that_do_not_fit_are_refused() {
    alone("sharing::cpus_that_are_not_there_and_numbers_that_do_not_fit_are_refused", || {
        let _network = Network::new();
        let refused = |threads, cpus: &[u32]| {
            let options = CaptureOptions { capture_cpus: cpus.to_vec(), ..options(threads) };
            Capture::open_all(Network::LISTENING, &options).unwrap_err()
        };
        assert!(matches!(refused(1, &[1_000]), LiveError::Cpu { cpu: 1_000, .. }));
        assert!(matches!(refused(2, &[1_000_000, 0]), LiveError::Cpu { cpu: 1_000_000, .. }));
        assert_eq!(refused(3, &[0, 1]), LiveError::CpuCount { cpus: 2, threads: 3 });
        let size =
            |value| LiveError::Size { option: "capture_threads", value, least: 1, most: 256 };
        assert_eq!([refused(0, &[]), refused(257, &[])], [0, 257].map(size));
    });
}

//! Tests that all packets arrive in order and without delay, or are counted as dropped.

use std::time::{Duration, Instant, SystemTime};

use srlg_input::contact::Contact;
use srlg_input::live::{Capture, CaptureOptions, Drops};

use crate::network::{Network, alone};
use crate::traffic::{DNS, Frame, Traffic, VLAN};
use crate::{capture, contacts_of_file, drain};

const PACKETS: u32 = 8_000;

#[test]
fn all_packets_arrive_in_order_as_a_reader_has_them() {
    alone("delivery::all_packets_arrive_in_order_as_a_reader_has_them", || {
        let traffic = Traffic::new(PACKETS);
        // Sending takes a second. The buffer has room for this time even if nothing is read.
        let (contacts, mut live) = capture(&traffic, "--pps=8000", &CaptureOptions::default());
        assert_eq!(contacts.len(), PACKETS as usize, "{}", live.counts());
        assert!(contacts == contacts_of_file(&traffic), "contacts differ, or their order");
        assert_eq!(live.counts().packets, u64::from(PACKETS));
        assert_eq!(live.drops().unwrap(), Drops::default());
    });
}

#[test]
fn a_snap_length_of_256_loses_no_contact() {
    alone("delivery::a_snap_length_of_256_loses_no_contact", || {
        let traffic = Traffic::new(PACKETS);
        let long = traffic.frames.iter().filter(|frame| frame.bytes.len() > 256).count();
        assert!(long > PACKETS as usize / 2, "most frames are cut");
        let expected = contacts_of_file(&traffic);
        let options = CaptureOptions { snap_length: 256, ..CaptureOptions::default() };
        let (contacts, _) = capture(&traffic, "--pps=8000", &options);
        assert!(contacts == expected, "{} of {PACKETS}", contacts.len());
    });
}

#[test]
fn the_least_snap_length_loses_flags_and_no_host() {
    alone("delivery::the_least_snap_length_loses_flags_and_no_host", || {
        let traffic = Traffic::new(PACKETS);
        let mut expected = contacts_of_file(&traffic);
        for (contact, frame) in expected.iter_mut().zip(&traffic.frames) {
            // The TCP flags are byte 14 of the TCP header, which follows 14 bytes of Ethernet, a tag and the IP header.
            let is_short = frame.is_ipv6 && !frame.is_udp;
            contact.tcp_flags = contact.tcp_flags.filter(|_| !is_short);
        }
        let options = CaptureOptions { snap_length: 62, ..CaptureOptions::default() };
        let (contacts, _) = capture(&traffic, "--pps=8000", &options);
        assert!(contacts == expected, "{} of {PACKETS}", contacts.len());
    });
}

#[test]
fn what_a_full_buffer_drops_and_what_arrives_is_what_was_sent() {
    alone("delivery::what_a_full_buffer_drops_and_what_arrives_is_what_was_sent", || {
        let traffic = Traffic::new(PACKETS);
        let network = Network::new();
        let options = CaptureOptions { capture_buffer: 524_288, ..CaptureOptions::default() };
        let mut live = Capture::open(network.listening(), &options).unwrap();
        let mut player = network.play(&traffic, "--topspeed");
        // By then the buffer is full, because it has room for a part of the packets only.
        while !player.has_ended() {
            std::thread::sleep(Duration::from_millis(10));
        }
        // More packets come while the buffer is read.
        let contacts = drain(&mut live, network.play(&traffic, "--topspeed"), |_| ());
        let drops = live.drops().unwrap();
        println!("{} arrived, {drops:?}", contacts.len());
        assert!(drops.buffer_full > 0 && !contacts.is_empty());
        assert_eq!(contacts.len() as u64 + drops.buffer_full, 2 * u64::from(PACKETS));
        assert_eq!(drops.interface, 0);
        // The packets that were not dropped arrive in the order of sending.
        let mut sent = contacts_of_file(&traffic).repeat(2).into_iter();
        assert!(contacts.iter().all(|contact| sent.any(|other| other == *contact)));
    });
}

#[test]
fn a_caller_may_pause_for_a_second_while_few_packets_come() {
    alone("delivery::a_caller_may_pause_for_a_second_while_few_packets_come", || {
        let traffic = Traffic::new(2_000);
        let network = Network::new();
        let mut live = Capture::open(network.listening(), &CaptureOptions::default()).unwrap();
        let mut player = network.play(&traffic, "--pps=2000");
        while !player.has_ended() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let contacts = drain(&mut live, player, |_| ());
        assert!(contacts == contacts_of_file(&traffic), "{} of 2000", contacts.len());
        assert_eq!(live.drops().unwrap(), Drops::default());
    });
}

fn filter_selects(filter: &str, is_selected: impl Fn(&Frame) -> bool) {
    let traffic = Traffic::new(PACKETS);
    let all = contacts_of_file(&traffic);
    let selected = all.iter().zip(&traffic.frames).filter(|(_, frame)| is_selected(frame));
    let expected: Vec<Contact> = selected.map(|(contact, _)| *contact).collect();
    assert!(!expected.is_empty() && expected.len() < all.len());
    let options = CaptureOptions { filter: Some(filter.to_owned()), ..CaptureOptions::default() };
    let (contacts, mut live) = capture(&traffic, "--pps=8000", &options);
    assert_eq!(contacts.len(), expected.len(), "{filter}: {}", live.counts());
    assert!(contacts == expected, "{filter} selects others");
    assert_eq!(live.counts().packets, contacts.len() as u64, "others are not even counted");
    assert_eq!(live.drops().unwrap(), Drops::default());
}

#[test]
fn a_filter_selects_its_packets_and_no_others() {
    alone("delivery::a_filter_selects_its_packets_and_no_others", || {
        filter_selects("ip6 and udp dst port 53", |frame| {
            frame.is_ipv6 && frame.is_udp && frame.port == DNS
        });
    });
}

#[test]
fn a_filter_finds_the_tag_of_a_vlan() {
    alone("delivery::a_filter_finds_the_tag_of_a_vlan", || {
        filter_selects(&format!("vlan {VLAN} and tcp"), |frame| frame.is_tagged && !frame.is_udp);
    });
}

/// Returns the 20th percentile of `times`. Other processes affect it only if they delay more than 80 % of the packets.
fn first_fifth(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 5]
}

#[test]
fn a_packet_is_delivered_within_50_ms_with_the_time_at_which_it_came() {
    alone("delivery::a_packet_is_delivered_within_50_ms_with_the_time_at_which_it_came", || {
        let traffic = Traffic::new(100);
        let network = Network::new();
        let mut live = Capture::open(network.listening(), &CaptureOptions::default()).unwrap();
        let mut latencies = Vec::new();
        let mut times = Vec::new();
        let epoch = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let begin = epoch();
        drain(&mut live, network.play(&traffic, "--pps=100"), |contact| {
            let time = Duration::from_nanos(contact.time_ns);
            latencies.push(epoch().checked_sub(time).expect("no packet is from the future"));
            times.push(time);
        });
        assert_eq!(times.len(), 100);
        assert!(times.is_sorted() && times[0] >= begin);
        if cfg!(target_os = "linux") {
            assert!(times.iter().any(|time| time.as_nanos() % 1_000 != 0), "whole microseconds");
        }
        let latency = first_fifth(latencies);
        println!("latency {latency:?}");
        assert!(latency < Duration::from_millis(50), "{latency:?}");
    });
}

#[test]
fn a_call_returns_after_20_ms_without_a_packet() {
    alone("delivery::a_call_returns_after_20_ms_without_a_packet", || {
        let network = Network::new();
        let mut live = Capture::open(network.listening(), &CaptureOptions::default()).unwrap();
        let mut waits = Vec::new();
        for _ in 0..25 {
            let begin = Instant::now();
            assert_eq!(live.next_contacts(), Ok(&[][..]));
            waits.push(begin.elapsed());
        }
        let least = waits.iter().min().unwrap();
        assert!(*least >= Duration::from_millis(19), "it waits, and does not spin: {least:?}");
        let wait = first_fifth(waits);
        assert!(wait < Duration::from_millis(40), "{wait:?}");
    });
}

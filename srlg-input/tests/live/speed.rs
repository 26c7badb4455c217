//! Measurements of the capture rate, in packets per second. Run them after changes to the capture code with `cargo
//! test --release -p srlg-input --features live --test live -- --ignored --nocapture --test-threads 1`.

use std::time::{Duration, Instant};

use srlg_input::live::{Capture, CaptureOptions};

use crate::network::{Network, alone};
use crate::traffic::Traffic;

const ROUNDS: usize = 250;

#[test]
#[ignore = "a measurement"]
fn packets_at_full_speed() {
    alone("speed::packets_at_full_speed", || {
        let traffic = Traffic::new(8_000);
        let network = Network::new();
        let mut live = Capture::open(network.listening(), &CaptureOptions::default()).unwrap();
        let mut player = network.play_rounds(&traffic, "--topspeed", ROUNDS);
        let (mut begin, mut last, mut contacts) = (None, Instant::now(), 0_u64);
        while !player.has_ended() || last.elapsed() < Duration::from_millis(250) {
            let count = live.next_contacts().unwrap().len() as u64;
            if count > 0 {
                begin.get_or_insert_with(Instant::now);
                contacts += count;
                last = Instant::now();
            }
        }
        let seconds = (last - begin.unwrap()).as_secs_f64();
        let drops = live.drops().unwrap();
        assert_eq!(contacts + drops.buffer_full, (traffic.frames.len() * ROUNDS) as u64);
        println!(
            "{:.0} packets/s arrived, {contacts} in all, {drops:?}",
            contacts as f64 / seconds
        );
    });
}

#[test]
#[ignore = "a measurement"]
fn nanoseconds_of_a_packet_that_waits_in_the_buffer() {
    alone("speed::nanoseconds_of_a_packet_that_waits_in_the_buffer", || {
        let traffic = Traffic::new(8_000);
        let network = Network::new();
        let options = CaptureOptions { capture_buffer: 256 << 20, ..CaptureOptions::default() };
        let mut live = Capture::open(network.listening(), &options).unwrap();
        let mut player = network.play_rounds(&traffic, "--topspeed", 50);
        while !player.has_ended() {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(100));
        let (begin, mut contacts) = (Instant::now(), 0_u64);
        let mut end = begin;
        loop {
            let count = live.next_contacts().unwrap().len() as u64;
            if count == 0 {
                break;
            }
            contacts += count;
            end = Instant::now();
        }
        let each = (end - begin).as_nanos() as f64 / contacts as f64;
        println!("{each:.0} ns a packet, {contacts} in all, {:?}", live.drops().unwrap());
    });
}

use std::num::NonZeroU32;

use srlg_input::contact::Host;

use super::*;

const HOST: [u8; 4] = [192, 0, 2, 7];

fn packet(time_ms: u64, octets: u64) -> Contact {
    let host = Host::from(HOST);
    let mut contact = Contact::new(time_ms * 1_000_000, host, host);
    (contact.packets, contact.octets) = (NonZeroU64::new(1), NonZeroU64::new(octets));
    contact
}

/// A `sampling` of 0 stands for an unknown rate.
fn flow(time_ms: u64, [packets, octets]: [u64; 2], sampling: u32) -> Contact {
    let mut contact = packet(time_ms, octets);
    contact.packets = NonZeroU64::new(packets);
    (contact.exporter, contact.sampling) = (Some(HOST.into()), NonZeroU32::new(sampling));
    contact
}

fn known(packets_per_second: u64, bits_per_second: u64) -> Rates {
    let rates = [packets_per_second, bits_per_second].map(Some);
    let [packets_per_second, bits_per_second] = rates;
    Rates { packets_per_second, bits_per_second, ..Rates::default() }
}

fn at_least(rates: Rates) -> Rates {
    Rates { is_rate_lower_bound: true, ..rates }
}

fn volume(since_ms: u64, contacts: impl IntoIterator<Item = Contact>) -> Volume {
    let mut volume = Volume::new(since_ms);
    contacts.into_iter().for_each(|contact| volume.add(&contact, 0));
    volume
}

fn sum<'a>(volumes: impl IntoIterator<Item = &'a Volume>) -> Volume {
    let mut sum = Volume::default();
    volumes.into_iter().for_each(|volume| sum.merge(volume));
    sum
}

#[test]
fn packets_have_a_rate_from_the_first_second_on() {
    let mut volume = Volume::new(100_000);
    assert_eq!(volume.rates(101_000), Rates::default());
    for (now_ms, next_ms) in [(101_000, 100_000), (110_000, 101_000), (400_000, 110_000)] {
        for time_ms in (next_ms..now_ms).step_by(10) {
            volume.add(&packet(time_ms, 1_250), time_ms / 1_000 * 1_000);
        }
        assert_eq!(volume.rates(now_ms), known(100, 1_000_000), "{now_ms}");
        assert!(volume.slots.len() <= SLOTS);
    }
    // A slice closes slightly late, so contacts of the following slices have arrived.
    (400_000..402_000).step_by(10).for_each(|ms| volume.add(&packet(ms, 1_250), 400_000));
    for now_ms in [400_000, 401_000, 402_000] {
        assert_eq!(volume.rates(now_ms).packets_per_second, Some(100), "{now_ms}");
    }
}

#[test]
fn flows_have_a_mean_of_a_minute_and_a_lower_bound_until_then() {
    // An exporter reports a flow of 600 packets per second, of 100 bytes each, once a minute.
    let record = |minute: u64| flow(60_000 * minute - 1, [36_000, 3_600_000], 1);
    let mut volume = volume(50_000, [record(1)]);
    assert_eq!(volume.rates(60_000), at_least(known(600, 480_000)));
    assert_eq!(volume.rates(115_000), known(600, 480_000));
    assert_eq!(volume.rates(120_000), known(0, 0), "the next record is missing");
    for minute in 2..=10 {
        volume.add(&record(minute), 0);
        assert_eq!(volume.rates(60_000 * minute), known(600, 480_000), "{minute}");
    }
    assert_eq!(volume.rates(603_000), known(621, 496_552), "of 58 s, as a slot runs");
}

#[test]
fn a_flow_counts_when_it_arrives_unless_that_is_a_minute_late() {
    let mut volume = Volume::new(0);
    volume.add(&flow(85_000, [60, 6_000], 1), 100_000);
    let rates = [100_000, 105_000, 160_000, 165_000].map(|now_ms| volume.rates(now_ms));
    assert_eq!(rates, [known(0, 0), known(1, 800), known(1, 800), known(0, 0)]);
    volume.add(&flow(99_000, [6_000, 600_000], 1), 160_000);
    assert_eq!(volume.rates(165_000), at_least(known(0, 0)));
}

#[test]
fn samples_are_scaled_and_an_unknown_rate_or_size_gives_a_lower_bound() {
    let of = |contact: Contact| volume(0, [contact]).rates(70_000).if_known();
    let scaled = Rates { is_rate_scaled: true, ..known(500, 400_000) };
    assert_eq!(of(flow(60_000, [300, 30_000], 100)), scaled);
    assert_eq!(of(flow(60_000, [300, 30_000], 1)), known(5, 4_000));
    assert_eq!(of(flow(60_000, [300, 30_000], 0)), at_least(known(5, 4_000)));
    let mut not_exported = flow(60_000, [300, 30_000], 0);
    not_exported.exporter = None;
    assert_eq!(of(not_exported), known(5, 4_000));
    let packets = Rates { bits_per_second: None, ..known(5, 0) };
    assert_eq!(of(flow(60_000, [300, 0], 1)), at_least(packets));
    let bits = Rates { packets_per_second: None, ..known(0, 4_000) };
    assert_eq!(of(flow(60_000, [0, 30_000], 1)), at_least(bits));
    assert_eq!(of(flow(60_000, [0, 0], 1)), Rates::default());
}

#[test]
fn a_rate_falls_to_0_after_the_flood() {
    let flood = (60_000..120_000).map(|time_ms| packet(time_ms, 125));
    let volume = volume(60_000, flood);
    let packets = |now_ms| volume.rates(now_ms).packets_per_second.unwrap();
    assert_eq!([120_000, 150_000, 175_000, 180_000].map(packets), [1_000, 500, 83, 0]);
    assert_eq!(volume.rates(10_000_000), known(0, 0));
}

#[test]
fn contacts_that_are_far_ahead_give_a_lower_bound() {
    let up_to = |end_ms| volume(0, (0..end_ms).step_by(10).map(|time_ms| packet(time_ms, 125)));
    assert_eq!(up_to(120_000).rates(100_000), known(100, 100_000));
    assert_eq!(up_to(130_000).rates(100_000), at_least(known(83, 83_333)), "of 50 s");
}

#[test]
fn sums_do_not_overflow() {
    let largest = flow(60_000, [u64::MAX; 2], u32::MAX);
    let part = volume(0, [largest; 3]);
    let sum = sum([&part; 3]);
    let rates = sum.rates(70_000);
    assert_eq!(rates.packets_per_second, Some((u64::MAX as f64 / 60.0) as u64));
    assert_eq!(rates.bits_per_second, Some((u64::MAX as f64 * 8.0 / 60.0) as u64));
    assert_eq!(sum.rates(u64::MAX), known(0, 0));
    let mut last = Volume::new(u64::MAX);
    last.add(&packet(u64::MAX / 1_000_000, 1), 0);
    assert_eq!((last.rates(0), last.rates(u64::MAX)), (known(0, 0), known(0, 0)));
}

#[test]
fn sums_of_threads_and_sites_are_those_of_one_that_saw_all() {
    let all: Vec<_> = (0..3_000).map(|at| packet(100_000 + 37 * at, 40 + at % 1_460)).collect();
    let parts = [0, 1, 2].map(|part| volume(90_000, all.iter().skip(part).step_by(3).copied()));
    let (whole, sum) = (volume(90_000, all), sum(&parts));
    assert!(sum.slots.len() == SLOTS && whole.rates(211_000).is_positive());
    for now_ms in (100_000..300_000).step_by(1_000) {
        assert_eq!(sum.rates(now_ms), whole.rates(now_ms), "{now_ms}");
    }
    let text = serde_json::to_string(&sum).unwrap();
    assert_eq!(serde_json::from_str::<Volume>(&text).unwrap(), sum);
    assert_eq!(whole.clone().into_partial().rates(211_000), at_least(whole.rates(211_000)));
}

#[test]
fn a_source_that_was_looked_at_later_gives_a_lower_bound_for_a_minute() {
    let source = |since_ms: u64| {
        volume(since_ms, (since_ms..140_000).step_by(10).map(|time_ms| packet(time_ms, 125)))
    };
    let (early, late) = (source(80_000), source(110_000));
    let sum = sum([&early, &late]);
    assert_eq!(sum.rates(140_000), at_least(known(150, 150_000)));
    let mut both = sum;
    for time_ms in (140_000..170_000).step_by(10) {
        (0..2).for_each(|_| both.add(&packet(time_ms, 125), 0));
    }
    assert_eq!(both.rates(170_000), known(200, 200_000));
}

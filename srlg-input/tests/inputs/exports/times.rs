//! Tests of contact times.

use srlg_input::contact::Contact;
use srlg_input::flow::{Decoder, DecoderOptions, Reason, Timestamps};

use crate::exports::build::{
    EXPORT_S, Field, PLAIN, RECEIVED_NS, REVERSE, SECOND, UPTIME_MS, ipfix, plain, record5, set,
    template9, template10, v5, v9_at,
};
use crate::exports::{contacts, counted, decoder, exporter};

const HOSTS: [&str; 2] = ["192.0.2.1", "192.0.2.2"];

fn time(fields: &[Field], values: &[u64]) -> u64 {
    let mut record = plain(HOSTS[0], HOSTS[1], 60, 1);
    for ((_, length), value) in fields.iter().zip(values) {
        record.extend(&value.to_be_bytes()[8 - usize::from(*length)..]);
    }
    let sets = [template10(256, &[&PLAIN[..], fields].concat()), set(256, &record)];
    let contacts = contacts(&mut decoder(), RECEIVED_NS, &ipfix(0, 0, &sets));
    assert_eq!(contacts.len(), 1);
    contacts[0].time_ns
}

#[test]
fn ends_of_flows_are_read_in_all_units() {
    let s = u64::from(EXPORT_S) - 10;
    let ntp = (s + 2_208_988_800) << 32 | 1 << 31;
    let half = s * SECOND + SECOND / 2;
    assert_eq!(time(&[(150, 4), (151, 4)], &[s - 5, s]), s * SECOND);
    assert_eq!(time(&[(152, 8), (153, 8)], &[1, s * 1_000 + 500]), half);
    assert_eq!(time(&[(155, 8)], &[ntp]), half);
    assert_eq!(time(&[(157, 8)], &[ntp]), half);
    assert_eq!(time(&[(159, 4)], &[9_500_000]), half, "microseconds before the export");
    assert_eq!(time(&[(323, 8)], &[s * 1_000]), s * SECOND);
    let began_ms = u64::from(EXPORT_S) * 1_000 - 60_000;
    assert_eq!(time(&[(160, 8), (22, 4), (21, 4)], &[began_ms, 40_000, 50_000]), s * SECOND);
    assert_eq!(time(&[(21, 4)], &[50_000]), RECEIVED_NS, "uptime since when");
    let both = [(21, 4), (153, 8)];
    assert_eq!(time(&both, &[50_000, s * 1_000]), s * SECOND);
    assert_eq!(time(&[both[1], both[0]], &[s * 1_000, 50_000]), s * SECOND);
}

#[test]
fn a_zero_or_missing_time_is_replaced_by_the_export_time() {
    assert_eq!(time(&[], &[]), RECEIVED_NS);
    assert_eq!(time(&[(152, 8), (153, 8)], &[0, 0]), RECEIVED_NS);
    assert_eq!(time(&[(155, 8)], &[0]), RECEIVED_NS);
}

#[test]
fn directions_of_a_biflow_may_have_times_of_their_own() {
    let reverse = [(2 | REVERSE, 4), (152 | REVERSE, 8), (153 | REVERSE, 8)];
    let fields = [&PLAIN[..], &[(153, 8)], &reverse].concat();
    let of = |forward: u64, first: u64, last: u64| {
        let [forward, first, last] = [forward, first, last].map(|s| (s * 1_000).to_be_bytes());
        let record = [plain(HOSTS[0], HOSTS[1], 60, 1), forward.to_vec(), vec![0, 0, 0, 1]];
        let record = [&record.concat()[..], &first, &last].concat();
        let sets = [template10(256, &fields), set(256, &record)];
        let contacts = contacts(&mut decoder(), RECEIVED_NS, &ipfix(0, 0, &sets));
        contacts.iter().map(|it| it.time_ns / SECOND).collect::<Vec<_>>()
    };
    let [early, late] = [40, 10].map(|before| u64::from(EXPORT_S) - before);
    assert_eq!(of(early, early, late), [early, late]);
    assert_eq!(of(late, 0, 0), [late, late], "the time in the record is used");
    assert_eq!(of(late, early, 0), [late, early]);
}

#[test]
fn uptime_wraps() {
    let fields = [&PLAIN[..], &[(22, 4), (21, 4)]].concat();
    let of = |uptime_ms: u32, last_ms: u32| {
        let mut record = plain(HOSTS[0], HOSTS[1], 60, 1);
        record.extend([last_ms.wrapping_sub(5).to_be_bytes(), last_ms.to_be_bytes()].concat());
        let sets = [template9(256, &fields), set(256, &record)];
        let payload = v9_at(uptime_ms, EXPORT_S, 0, 0, &sets);
        let mut decoder = decoder();
        let time_ns = contacts(&mut decoder, RECEIVED_NS, &payload)[0].time_ns;
        (time_ns, counted(&decoder, [Reason::Future, Reason::Reversed]))
    };
    assert_eq!(of(60_000, 59_000), (RECEIVED_NS - SECOND, [0, 0]));
    assert_eq!(of(400, u32::MAX - 599), (RECEIVED_NS - SECOND, [0, 0]));
    assert_eq!(of(60_000, 61_500), (RECEIVED_NS, [1, 0]));
    assert_eq!(of(u32::MAX, 1_499), (RECEIVED_NS, [1, 0]), "after the wrap, before the export");
}

#[test]
fn what_is_odd_about_times_is_counted() {
    let mut decoder = decoder();
    let of = |first, last| record5(HOSTS, [1, 60], [first, last]);
    let payload = v5(0, 0, &[of(UPTIME_MS - 1, UPTIME_MS - 9), of(1, UPTIME_MS + 1), of(0, 0)]);
    let times = contacts(&mut decoder, RECEIVED_NS, &payload).into_iter().map(|it| it.time_ns);
    let expected = [RECEIVED_NS - 1_000_000, RECEIVED_NS, RECEIVED_NS];
    assert_eq!(times.collect::<Vec<_>>(), expected);
    assert_eq!(counted(&decoder, [Reason::Future, Reason::Reversed]), [1, 1]);
}

/// Decodes one export for each entry of `after_s`, which is the delay from export to receipt in seconds. Each export
/// contains a flow that ended a second before the export time.
fn skewed(timestamps: Timestamps, after_s: &[i64]) -> (Decoder, Vec<Contact>) {
    let options = DecoderOptions { timestamps, ..DecoderOptions::default() };
    let mut decoder = Decoder::new(options).unwrap();
    let record = record5(HOSTS, [1, 60], [UPTIME_MS - 2_000, UPTIME_MS - 1_000]);
    let mut all = Vec::new();
    for (number, after_s) in after_s.iter().enumerate() {
        let received_ns = RECEIVED_NS.saturating_add_signed(after_s * SECOND as i64);
        let payload = v5(number as u32, 0, std::slice::from_ref(&record));
        all.extend(contacts(&mut decoder, received_ns, &payload));
    }
    (decoder, all)
}

#[test]
fn clocks_of_exporters_are_corrected() {
    let last = |timestamps, after_s: &[i64]| {
        let (decoder, contacts) = skewed(timestamps, after_s);
        let skew_s = decoder.exporter(exporter()).unwrap().skew_ns() / SECOND as i64;
        let time_ns = contacts.last().unwrap().time_ns;
        ((time_ns as i64 - (RECEIVED_NS - SECOND) as i64) / SECOND as i64, skew_s)
    };
    let corrected = Timestamps::Corrected;
    assert_eq!(last(corrected, &[4]), (0, 4));
    assert_eq!(last(corrected, &[60]), (60, 60));
    assert_eq!(last(corrected, &[-60]), (-60, -60));
    assert_eq!(last(corrected, &[10, 8, 30]), (8, 8), "the smallest delay sets the skew");
    let days = 42 * 86_400;
    assert_eq!(last(corrected, &[days]), (days + 1, 0), "the time of receipt");
    assert_eq!(last(corrected, &[-days]), (1 - days, 0));
    let (decoder, _) = skewed(corrected, &[days, 0, -days]);
    assert_eq!(counted(&decoder, [Reason::BadClock]), [2]);
    assert_eq!(last(Timestamps::Trusted, &[60]), (0, 60));
    assert_eq!(last(Timestamps::Received, &[2]), (3, 2));
}

/// A decoder that receives datagrams from one exporter. Each flow ends a second before its export time.
struct Heard {
    decoder: Decoder,
    now_ns: u64,
}

impl Heard {
    fn new() -> Self {
        Self { decoder: decoder(), now_ns: RECEIVED_NS }
    }

    /// Returns the contacts of a datagram whose export time is `ahead_s` seconds in the future.
    fn hear(&mut self, ahead_s: i64, records: usize) -> Vec<Contact> {
        let record = record5(HOSTS, [1, 60], [UPTIME_MS - 2_000, UPTIME_MS - 1_000]);
        let mut payload = v5(0, 0, &vec![record; records]);
        let export_s = (self.now_ns / SECOND).saturating_add_signed(ahead_s) as u32;
        payload[8..12].copy_from_slice(&export_s.to_be_bytes());
        contacts(&mut self.decoder, self.now_ns, &payload)
    }

    /// Decodes 100 datagrams per second, `datagrams` in total, and checks their contact times.
    fn hear_all(&mut self, ahead_s: i64, datagrams: u64) {
        for number in 0..datagrams {
            let contacts = self.hear(ahead_s, 1);
            let off_s = contacts[0].time_ns.abs_diff(self.now_ns - SECOND) / SECOND;
            assert!(off_s < 5, "datagram {number}: {off_s} s off");
            self.now_ns += SECOND / 100;
        }
    }

    fn skew_s(&self) -> i64 {
        self.decoder.exporter(exporter()).unwrap().skew_ns() / SECOND as i64
    }
}

#[test]
fn wrong_times_of_export_do_not_move_the_clock_of_their_exporter() {
    let year_2100 = 4_102_444_800 - i64::from(EXPORT_S);
    for wrong_s in [3_500, 40, year_2100, -i64::from(EXPORT_S) + 1, -3_500] {
        let mut heard = Heard::new();
        heard.hear(wrong_s, 1);
        heard.hear_all(0, 500);
        // The cases are a single datagram, a burst, and a long run of headers without records.
        for (times, records) in [(1, 1), (40, 1), (1_000, 0)] {
            (0..times).for_each(|_| drop(heard.hear(wrong_s, records)));
            heard.hear_all(0, 300);
        }
        for _ in 0..1_000 {
            heard.hear(wrong_s, 0);
            heard.hear_all(0, 1);
        }
        assert_eq!(heard.skew_s(), 0, "{wrong_s}");
    }
}

#[test]
fn forged_times_that_fall_little_by_little_stay_within_5_seconds() {
    let mut heard = Heard::new();
    heard.hear_all(0, 1_000);
    for ahead_s in 0..100 {
        heard.hear(ahead_s, 1);
        heard.hear_all(0, 100);
    }
    assert!(heard.skew_s() >= -5, "{}", heard.skew_s());
}

#[test]
fn a_clock_that_steps_is_followed() {
    for (before_s, after_s) in [(0, 60), (0, 3_500), (-60, 0), (-60, 600)] {
        let mut heard = Heard::new();
        heard.hear_all(before_s, 1_000);
        heard.hear_all(after_s, 1_000);
        assert!((heard.skew_s() + after_s).abs() <= 1, "{before_s} to {after_s}");
        assert!(heard.hear(after_s, 1)[0].time_ns.abs_diff(heard.now_ns) < 3 * SECOND);
    }
}

#[test]
fn garbage_moves_no_clock() {
    let mut decoder = decoder();
    let mut state = 1_u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for number in 0..50_000 {
        let mut payload: Vec<u8> = (0..random() % 400).map(|_| random() as u8).collect();
        // Starts of headers for every version, and an empty one.
        let versions = [&[0, 5][..], &[0, 7], &[0, 9], &[0, 10], &[0, 0, 0, 5], &[]];
        let version = versions[number % versions.len()];
        payload.splice(..version.len().min(payload.len()), version.iter().copied());
        contacts(&mut decoder, RECEIVED_NS + number as u64 * SECOND / 100, &payload);
        assert_eq!(decoder.exporter(exporter()).unwrap().skew_ns(), 0, "datagram {number}");
    }
    let counts = decoder.counts();
    let damaged = counts.of(Reason::Cut) + counts.of(Reason::Malformed);
    assert!(counts.of(Reason::Version) > 8_000 && damaged > 20_000, "{counts}");
}

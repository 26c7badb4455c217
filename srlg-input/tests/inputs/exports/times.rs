//! When contacts were.

use srlg_input::contact::Contact;
use srlg_input::flow::{Decoder, DecoderOptions, Reason, Timestamps};

use crate::exports::build::{
    EXPORT_S, Field, PLAIN, RECEIVED_NS, REVERSE, SECOND, UPTIME_MS, ipfix, plain, record5, set,
    template9, template10, v5, v9_at,
};
use crate::exports::{contacts, counted, decoder, exporter};

const HOSTS: [&str; 2] = ["192.0.2.1", "192.0.2.2"];

/// The time of one IPFIX record with these fields behind [`PLAIN`].
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
fn ends_of_flows_are_told_in_many_units() {
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
fn a_time_of_zero_or_none_is_that_of_the_export() {
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
    assert_eq!(of(late, 0, 0), [late, late], "that of the record");
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

/// Contacts of flows that ended a second before exports which come so many seconds after their time.
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
    assert_eq!(last(corrected, &[10, 8, 30]), (8, 8), "what waited least tells");
    let days = 42 * 86_400;
    assert_eq!(last(corrected, &[days]), (days + 1, days), "the time of receipt");
    assert_eq!(last(corrected, &[-days]), (1 - days, -days));
    assert_eq!(last(Timestamps::Trusted, &[60]), (0, 60));
    assert_eq!(last(Timestamps::Received, &[2]), (3, 2));
}

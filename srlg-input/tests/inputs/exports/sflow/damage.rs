//! Tests of sFlow datagrams with a damaged, unusual or unknown part beside good samples.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use srlg_input::flow::Reason::{
    self, BadFrame, BadSample, Cut, DiscardedPacket, Malformed, OtherSample, ZeroHost,
};
use srlg_traffic::trace::recorded;

use super::{datagram, expanded, framed, ipv4, raw, sample, words};
use crate::exports::build::RECEIVED_NS;
use crate::exports::{Pair, contacts, datagrams, decode, decoder, pairs};

/// Returns a record with the first bytes of a packet from 192.0.2.`host` to 192.0.2.2.
fn packet(host: u8) -> Vec<u8> {
    let mut packet = ipv4();
    packet[15] = host;
    raw(11, &packet)
}

/// Returns a sample with a packet from 192.0.2.`host` and other records.
fn with(host: u8, records: &[Vec<u8>]) -> Vec<u8> {
    sample(1, &[&[packet(host)], records].concat())
}

fn good(host: u8) -> Vec<u8> {
    with(host, &[])
}

/// Returns `part` with a different stated length.
fn stating(length: u32, mut part: Vec<u8>) -> Vec<u8> {
    part[4..8].copy_from_slice(&length.to_be_bytes());
    part
}

/// Returns a sample that states to contain `count` records.
fn counting(count: u8, mut sample: Vec<u8>) -> Vec<u8> {
    sample[8 + 31] = count;
    sample
}

/// Returns a counter sample with one record.
fn counters(record: &[u8]) -> Vec<u8> {
    framed(2, &[&words(&[1, 1, 1]), record].concat())
}

/// Returns a discarded packet sample, whose data source has two words.
fn discarded(records: &[Vec<u8>]) -> Vec<u8> {
    let head = words(&[1, 0, 1, 0, 1, 0, 263, records.len() as u32]);
    framed(5, &[head, records.concat()].concat())
}

/// Returns a sample with four more bytes than its records have.
fn longer(sample: &[u8]) -> Vec<u8> {
    stating(sample.len() as u32 - 4, [sample, &[0; 4]].concat())
}

/// Returns a raw packet header record of an ARP frame.
fn arp() -> Vec<u8> {
    raw(1, &[&[0; 12][..], &[0x08, 0x06], &[0; 28]].concat())
}

/// Returns a record with decoded fields of a packet from 192.0.2.7.
fn decoded() -> Vec<u8> {
    framed(3, &words(&[60, 6, 0xc000_0207, 0xc000_0202, 4_000, 443, 2, 0]))
}

/// Returns the last bytes of the sources of the contacts, and the reasons that occurred with their counts.
fn outcome(payload: &[u8]) -> (Vec<u8>, Vec<(Reason, u64)>) {
    let mut decoder = decoder();
    let found = contacts(&mut decoder, RECEIVED_NS, payload);
    let hosts = found.iter().map(|it| it.source.as_v4().expect("an IPv4 host") as u8);
    let counts = Reason::ALL.map(|reason| (reason, decoder.counts().of(reason)));
    (hosts.collect(), counts.into_iter().filter(|(_, count)| *count > 0).collect())
}

/// Asserts what a datagram yields whose second sample, of three, is `middle`.
fn check(name: &str, middle: Vec<u8>, hosts: &[u8], reasons: &[Reason]) {
    let payload = datagram("192.0.2.9", 1, &[good(1), middle, good(2)]);
    let counts = reasons.iter().map(|reason| (*reason, 1)).collect();
    assert_eq!(outcome(&payload), (hosts.to_vec(), counts), "{name}");
}

#[test]
fn unusual_records_cost_nothing() {
    let mut beyond = packet(7);
    beyond[8 + 12..8 + 16].copy_from_slice(&words(&[1_000]));
    let bytes = [&words(&[11, 1_500, 4, 41])[..], &packet(7)[24..], &[0]].concat();
    let unpadded = framed(1, &bytes);
    for (name, middle) in [
        ("router without a next hop", with(7, &[framed(1002, &words(&[0, 24, 24]))])),
        ("switch that is too short", with(7, &[framed(1001, &words(&[1, 0, 2]))])),
        ("switch that is too long", with(7, &[framed(1001, &[0; 24])])),
        ("gateway that is cut", with(7, &[framed(1003, &words(&[1, 1, 65_000]))])),
        ("user that is cut", with(7, &[framed(1004, &words(&[106, 5_000]))])),
        ("record of a vendor", with(7, &[framed(4_300 << 12 | 1, &[7; 5])])),
        ("record of a vendor before the packet", sample(1, &[framed(1 << 12, &[7; 5]), packet(7)])),
        ("header beyond its record", sample(1, std::slice::from_ref(&beyond))),
        ("header beyond its record, and more", sample(1, &[beyond, arp()])),
        ("header without padding", sample(1, std::slice::from_ref(&unpadded))),
        ("header without padding, and more", sample(1, &[unpadded, arp()])),
        ("bytes after the records", longer(&good(7))),
        ("more records than stated", counting(1, with(7, &[arp()]))),
        ("decoded packet beside another", sample(1, &[arp(), decoded()])),
        ("IPv4 record without a type of service", sample(1, &[framed(3, &decoded()[8..36])])),
    ] {
        check(name, middle, &[1, 7, 2], &[]);
    }
}

#[test]
fn other_samples_are_counted_and_skipped() {
    for (name, middle, reason) in [
        ("discarded packet", discarded(&[packet(7)]), DiscardedPacket),
        ("empty discarded packet", framed(5, &[]), DiscardedPacket),
        ("counters of 84 bytes", counters(&framed(1, &[0; 84])), OtherSample),
        ("Ethernet counters of 48 bytes", counters(&framed(2, &[0; 48])), OtherSample),
        ("description with a wrong length", counters(&framed(2000, &[0xff; 64])), OtherSample),
        ("expanded counters", framed(4, &[0xff; 9]), OtherSample),
        ("sample of a vendor", framed(4_300 << 12 | 1, &[7; 8]), OtherSample),
    ] {
        check(name, middle, &[1, 2], &[reason]);
    }
}

#[test]
fn a_damaged_record_ends_its_sample_and_a_damaged_sample_its_datagram() {
    let (all, others) = (&[1, 7, 2][..], &[1, 2][..]);
    for (name, middle, hosts, reasons) in [
        (
            "record beyond its sample",
            with(7, &[stating(9, framed(1001, &[0; 8]))]),
            all,
            &[BadSample][..],
        ),
        ("fewer records than stated", counting(3, good(7)), all, &[BadSample]),
        ("record without a length", counting(2, longer(&good(7))), all, &[BadSample]),
        (
            "IPv4 record of 27 bytes",
            sample(1, &[decoded(), framed(3, &[0; 27])]),
            all,
            &[BadSample],
        ),
        ("packet beyond its sample", sample(1, &[stating(500, packet(7))]), others, &[BadSample]),
        (
            "raw header of 12 bytes",
            sample(1, &[framed(1, &[0; 12]), packet(7)]),
            others,
            &[BadSample],
        ),
        (
            "IPv6 record of 51 bytes",
            sample(1, &[framed(4, &[0; 51]), packet(7)]),
            others,
            &[BadSample],
        ),
        ("sample without a count", framed(1, &[0; 28]), others, &[BadSample]),
        ("expanded sample of 40 bytes", framed(3, &[0; 40]), others, &[BadSample]),
        (
            "frame of ARP",
            expanded(1, &[arp(), framed(1, &[]), packet(7)]),
            others,
            &[BadSample, BadFrame],
        ),
        (
            "packet without hosts",
            sample(1, &[framed(3, &[0; 32]), framed(1, &[])]),
            others,
            &[BadSample, ZeroHost],
        ),
        ("sample that is cut", stating(500, good(7)), &[1], &[Cut]),
        ("sample longer than any datagram", stating(1 << 16, good(7)), &[1], &[Malformed]),
    ] {
        check(name, middle, hosts, reasons);
    }
}

#[test]
fn a_datagram_is_read_up_to_its_damage() {
    let whole = datagram("192.0.2.9", 1, &[good(1), good(2), good(3)]);
    let with_agent =
        |family: u32, address: &[u8]| [&words(&[5, family]), address, &whole[12..]].concat();
    let mut fewer = whole.clone();
    fewer[27] = 4;
    let all = &[1, 2, 3][..];
    for (name, payload, hosts, reasons) in [
        ("whole", whole.clone(), all, &[][..]),
        ("bytes after the samples", [&whole[..], &[1, 2, 3]].concat(), all, &[]),
        ("cut in the last sample", whole[..whole.len() - 30].to_vec(), &[1, 2], &[(Cut, 1)]),
        ("cut in the header", whole[..27].to_vec(), &[], &[(Cut, 1)]),
        ("fewer samples than stated", fewer, all, &[(Cut, 1)]),
        ("without an agent", with_agent(0, &[]), all, &[]),
        ("agent of IPv6", with_agent(2, &[7; 16]), all, &[]),
        ("agent of an unknown type", with_agent(3, &[7; 4]), &[], &[(Malformed, 1)]),
    ] {
        let (found, counts) = outcome(&payload);
        assert_eq!((&found[..], &counts[..]), (hosts, reasons), "{name}");
    }
}

#[test]
fn a_datagram_that_is_cut_is_not_lost() {
    let mut decoder = decoder();
    for number in 1..10 {
        let mut payload = datagram("192.0.2.9", number, &[good(1), good(2)]);
        payload.truncate(payload.len() - number as usize % 2);
        contacts(&mut decoder, RECEIVED_NS, &payload);
    }
    let exporter = decoder.exporter(crate::exports::exporter()).unwrap();
    assert_eq!(exporter.losses().unwrap().lost, 0);
    assert_eq!((exporter.counts().records, exporter.counts().of(Cut)), (13, 5));
}

/// Returns the pairs in the truth file of a case. In some files, a count follows each pair.
fn truth(path: &Path) -> BTreeSet<Pair> {
    let text = fs::read_to_string(path).unwrap();
    let pair = |line: &str| {
        let hosts: Vec<_> = line.split('\t').take(2).map(|host| host.parse().unwrap()).collect();
        (hosts[0], hosts[1])
    };
    text.lines().map(pair).collect()
}

#[test]
fn cases_from_the_field_give_the_pairs_that_are_in_them() {
    let Some(cases) = recorded("cases") else { return };
    let own = fs::read_dir(cases.join("own")).unwrap().map(|entry| entry.unwrap().path());
    let of_name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let own = own.filter(|path| of_name(path).starts_with("sflow_"));
    let own = own.map(|path| (format!("own_{}", of_name(&path)), path));
    let fetched = ("sflow_15918".to_owned(), cases.join("fetched/sflow_15918.pcap"));
    let mut count = 0;
    for (name, path) in own.chain([fetched]) {
        let mut decoder = decoder();
        let found = pairs(&decode(&mut decoder, &datagrams(&path)));
        println!("{name}: {}", decoder.counts());
        let truth = truth(&cases.join("truth").join(format!("{name}.pairs.tsv")));
        assert_eq!(found, truth, "{name}");
        count += 1;
    }
    assert!(count > 1, "no case of sFlow in {}", cases.display());
}

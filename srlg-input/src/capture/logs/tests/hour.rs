//! An hour of generated logs, whose pairs are known.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::capture::{PacketCounts, Reader};
use crate::contact::{Contact, Host};

const ROWS: u64 = 10_000;

/// Directed pairs of hosts.
type Pairs = BTreeSet<(Ipv4Addr, Ipv4Addr)>;

/// Numbers that a seed determines (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Returns an inside host and an outside host.
    fn pair(&mut self) -> (Ipv4Addr, Ipv4Addr) {
        let inside = 0x0a00_0000 | self.below(50) as u32;
        (inside.into(), (0xc633_0000 | self.below(5_000) as u32).into())
    }

    /// Returns a time of the hour as minute, second and millisecond.
    fn time(&mut self, row: u64) -> String {
        let second = row * 3_600 / ROWS;
        format!("{:02}:{:02}.{:03}", second / 60, second % 60, self.below(1_000))
    }
}

fn read(log: String) -> (Pairs, PacketCounts) {
    let mut reader = Reader::new(std::io::Cursor::new(log)).unwrap();
    let mut pairs = Pairs::new();
    while let Some(contacts) = reader.next_contacts().unwrap() {
        let host = |host: Host| Ipv4Addr::from(host.as_v4().unwrap());
        let of = |contact: &Contact| (host(contact.source), host(contact.destination));
        pairs.extend(contacts.iter().map(of));
    }
    (pairs, reader.counts().clone())
}

#[test]
fn an_hour_of_hubble_has_its_pairs() {
    let (mut numbers, mut truth, mut log) = (Numbers(1), Pairs::new(), String::new());
    for row in 0..ROWS {
        let (mut source, mut destination) = numbers.pair();
        let (time, is_reply) = (numbers.time(row), numbers.below(3) == 0);
        if is_reply {
            (source, destination) = (destination, source);
        }
        let layer = match numbers.below(3) {
            0 => r#"{"ICMPv4":{"type":8}}"#,
            1 => r#"{"UDP":{"source_port":40000,"destination_port":53}}"#,
            _ => {
                r#"{"TCP":{"source_port":40000,"destination_port":80,"flags":{"SYN":true,"ACK":true}}}"#
            }
        };
        log += &format!(
            "{{\"flow\":{{\"time\":\"2026-07-31T10:{time}Z\",\"verdict\":\"FORWARDED\",\"IP\":{{\"source\":\"{source}\",\"destination\":\"{destination}\"}},\"l4\":{layer},\"is_reply\":{is_reply}}},\"node_name\":\"w1\"}}\n"
        );
        truth.insert((source, destination));
    }
    let (pairs, counts) = read(log);
    assert_eq!(pairs, truth);
    assert_eq!((counts.packets, counts.contacts), (ROWS, ROWS));
}

#[test]
fn an_hour_of_google_cloud_has_its_pairs() {
    let (mut numbers, mut truth, mut log) = (Numbers(2), Pairs::new(), String::new());
    let mut empty = 0;
    for row in 0..ROWS {
        let (source, destination) = numbers.pair();
        let (time, packets) = (numbers.time(row), numbers.below(20));
        log += &format!(
            "{{\"jsonPayload\":{{\"bytes_sent\":\"{}\",\"packets_sent\":\"{packets}\",\"connection\":{{\"src_ip\":\"{source}\",\"dest_ip\":\"{destination}\",\"src_port\":40000,\"dest_port\":443,\"protocol\":6}},\"end_time\":\"2026-07-31T10:{time}Z\"}},\"timestamp\":\"2026-07-31T11:00:00Z\"}}\n",
            packets * 60
        );
        if packets == 0 {
            empty += 1;
        } else {
            truth.insert((source, destination));
        }
    }
    let (pairs, counts) = read(log);
    assert_eq!(pairs, truth);
    assert_eq!((counts.packets, counts.contacts), (ROWS, ROWS - empty));
}

#[test]
fn an_hour_of_azure_has_its_pairs_on_one_line() {
    let (mut numbers, mut truth) = (Numbers(3), Pairs::new());
    let (mut tuples, mut contacts) = (Vec::new(), 0);
    for row in 0..ROWS {
        let (source, destination) = numbers.pair();
        let (time, state) = (1_785_492_000_000 + row * 360, numbers.below(4) as usize);
        let counts = match ["B", "C", "E", "D"][state] {
            "C" => "C,X,1,60,0,0",
            "E" => "E,X,7,500,5,4000",
            "D" => "D,NX,0,0,0,0",
            _ => "B,NX,0,0,0,0",
        };
        tuples.push(format!("{time},{source},{destination},40000,443,6,O,{counts}"));
        truth.insert((source, destination));
        contacts += 1;
        if state == 2 {
            truth.insert((destination, source));
            contacts += 1;
        }
    }
    let records: Vec<_> = tuples
        .chunks(ROWS as usize / 60)
        .map(|tuples| {
            let groups = serde_json::json!([{"rule": "r", "flowTuples": tuples}]);
            let flows = serde_json::json!([{"aclID": "a", "flowGroups": groups}]);
            serde_json::json!({"category": "FlowLogFlowEvent", "flowRecords": {"flows": flows}})
        })
        .collect();
    let log = serde_json::json!({"records": records}).to_string();
    assert!(log.len() > 10 * super::super::MAX_LINE && !log.contains('\n'));
    let (pairs, counts) = read(log);
    assert_eq!(pairs, truth);
    assert_eq!(counts.contacts, contacts);
}

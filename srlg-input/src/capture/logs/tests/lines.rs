//! Tests of JSON lines: Zeek, Hubble, the Elastic Common Schema, and lines of no known log.

use super::{read, row, summary};
use crate::capture::{CaptureError, Reader, Skip};

#[test]
fn rows_of_zeek_are_the_same_with_every_separator_and_kind_of_time() {
    let rest =
        r#""uid":"C1","proto":"tcp","duration":0.5,"history":"ShA","orig_pkts":5,"resp_pkts":4"#;
    for (time, names) in [
        ("1300475167.096535", ["id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p"]),
        ("1300475167096.535", ["id_orig_h", "id_orig_p", "id_resp_h", "id_resp_p"]),
        (r#""2011-03-18T19:06:07.096535Z""#, ["src", "src_port", "dst", "dst_port"]),
        (r#""2011-03-18T19:06:07.096535Z""#, ["orig_h", "orig_p", "resp_h", "resp_p"]),
    ] {
        let [from, from_port, to, to_port] = names;
        let id = format!(
            r#""{from}":"192.0.2.1","{from_port}":5353,"{to}":"198.51.100.7","{to_port}":443"#
        );
        let mut logs = vec![format!("{{\"ts\":{time},{id},{rest}}}\n")];
        if from == "orig_h" {
            logs.push(format!("{{\"ts\":{time},\"id\":{{{id}}},{rest}}}\n"));
        }
        for log in logs {
            let (_, contacts, counts) = read(&log);
            let expected = [
                row(
                    "192.0.2.1 198.51.100.7",
                    [5, 0],
                    6,
                    Some(0x12),
                    [Some(5353), Some(443)],
                    Some(true),
                ),
                row(
                    "198.51.100.7 192.0.2.1",
                    [4, 0],
                    6,
                    Some(0x12),
                    [Some(443), Some(5353)],
                    Some(false),
                ),
            ];
            assert_eq!(contacts.len(), 2, "{log}{counts}");
            assert_eq!(
                contacts.iter().map(|contact| summary(contact).0).collect::<Vec<_>>(),
                expected.map(|row| row.0)
            );
            assert_eq!(contacts[0].destination_port, Some(443));
            assert_eq!(contacts[0].time_ns, 1_300_475_167_596_535_000, "{log}");
        }
    }
}

#[test]
fn rows_of_other_logs_are_skipped_under_their_own_reason() {
    let log = r#"{"_path":"dns","ts":1,"uid":"C2","id.orig_h":"192.0.2.2","id.resp_h":"198.51.100.8"}
{"_path":"conn","ts":1,"uid":"C1","id.orig_h":"192.0.2.1","id.resp_h":"198.51.100.7"}
{"event_type":"netflow","timestamp":"2020-01-01T00:00:00Z","src_ip":"::1","dest_ip":"::2"}
{"ts":2,"uid":"C3"}
{"ts":3,"id.orig_h":"192.0.2.3","id.resp_h":"198.51.100.7"}
"#;
    let (_, contacts, counts) = read(log);
    let hosts: Vec<_> = contacts.iter().map(|contact| summary(contact).0).collect();
    assert_eq!(hosts, ["192.0.2.1 198.51.100.7", "192.0.2.3 198.51.100.7"]);
    assert_eq!([Skip::OtherLog, Skip::NoHosts].map(|reason| counts.skipped(reason)), [2, 1]);
}

#[test]
fn flows_of_hubble_are_packets_or_requests() {
    let log = r#"{"node_status":{"state_change":"NODE_CONNECTED"},"node_name":"w1","time":"2026-07-31T10:41:02Z"}
{"flow":{"time":"2026-07-31T10:41:02.202450754Z","verdict":"DROPPED","drop_reason":181,"IP":{"source":"10.0.1.235","destination":"10.0.0.21","ipVersion":"IPv4"},"l4":{"TCP":{"source_port":60524,"destination_port":80,"flags":{"SYN":true}}},"source":{"ID":423},"Type":"L3_L4","traffic_direction":"EGRESS"},"node_name":"w1","time":"2026-07-31T10:41:02.202450754Z"}
{"flow":{"time":"2026-07-31T10:41:03Z","verdict":"FORWARDED","IP":{"source":"fd00::2","destination":"fd00::1"},"l4":{"UDP":{"source_port":53,"destination_port":40000}},"is_reply":true}}
{"time":"2026-07-31T10:41:03Z","verdict":"FORWARDED","IP":{"source":"10.0.0.1","destination":"10.0.0.2"},"l4":{"ICMPv4":{"type":8}},"is_reply":false}
{"flow":{"time":"2026-07-31T10:41:03Z","verdict":"FORWARDED","IP":{"source":"10.0.0.2","destination":"10.0.0.1"},"l4":{"ICMPv4":{}},"is_reply":true}}
{"flow":{"verdict":"FORWARDED","Type":"L7"},"node_name":"w1"}
{"lost_events":{"source":"HUBBLE_RING_BUFFER","num_events_lost":5}}
"#;
    let (_, contacts, counts) = read(log);
    let expected = [
        row("10.0.1.235 10.0.0.21", [0, 0], 6, Some(0x02), [Some(60_524), Some(80)], None),
        row("fd00::2 fd00::1", [0, 0], 17, None, [Some(53), Some(40_000)], Some(false)),
        row("10.0.0.1 10.0.0.2", [0, 0], 1, None, [None; 2], Some(true)),
        row("10.0.0.2 10.0.0.1", [0, 0], 1, None, [None; 2], Some(false)),
    ];
    assert_eq!(contacts.iter().map(summary).collect::<Vec<_>>(), expected);
    let types: Vec<_> = contacts.iter().map(|contact| contact.icmp_type).collect();
    assert_eq!(types, [None, None, Some(8), Some(0)]);
    assert_eq!(contacts[0].time_ns, 1_785_494_462_202_450_754);
    assert_eq!([Skip::OtherLog, Skip::NoHosts].map(|reason| counts.skipped(reason)), [1, 2]);
}

#[test]
fn events_of_elastic_have_nested_or_dotted_names() {
    let nested = r#"{"@timestamp":"2025-06-14T09:32:30.000Z","type":"flow","source":{"ip":"192.0.2.1","port":40000,"packets":5,"bytes":300},"destination":{"ip":"198.51.100.7","port":443,"packets":4,"bytes":900},"client":{"ip":"192.0.2.1"},"network":{"transport":"tcp"},"event":{"end":"2025-06-14T09:32:19.548Z"}}"#;
    let log = format!(
        "{nested}\n{{\"_index\":\"i\",\"_source\":{nested}}}\n{}\n{}\n{}\n",
        r#"{"@timestamp":"2025-06-14T09:32:30Z","source.ip":"192.0.2.1","destination.ip":"198.51.100.7","client.ip":"198.51.100.7","network.iana_number":"6","source.packets":2,"netflow":{"tcp_control_bits":18}}"#,
        r#"{"@timestamp":"2025-06-14T09:32:30Z","source":{"ip":"192.0.2.1"},"destination":{"domain":"example.net"}}"#,
        r#"{"@timestamp":"2025-06-14T09:32:30Z","message":"started"}"#
    );
    let (_, contacts, counts) = read(&log);
    let both = [
        row("192.0.2.1 198.51.100.7", [5, 300], 6, None, [Some(40_000), Some(443)], Some(true)),
        row("198.51.100.7 192.0.2.1", [4, 900], 6, None, [Some(443), Some(40_000)], Some(false)),
    ];
    let dotted = row("192.0.2.1 198.51.100.7", [2, 0], 6, Some(0x12), [None; 2], Some(false));
    let expected = [&both[..], &both, &[dotted]].concat();
    assert_eq!(contacts.iter().map(summary).collect::<Vec<_>>(), expected);
    let times = [0, 4].map(|place: usize| contacts[place].time_ns);
    assert_eq!(times, [1_749_893_539_548_000_000, 1_749_893_550_000_000_000]);
    assert_eq!(counts.skipped(Skip::NoHosts), 2);
}

/// Reads `log` until it is rejected. Returns the number of rows that were JSON of no known log.
fn rejected(log: String) -> u64 {
    let mut reader = Reader::new(std::io::Cursor::new(log)).unwrap();
    let rows = match reader.next_contacts() {
        Err(CaptureError::UnknownJson { rows }) => rows,
        other => panic!("result of a foreign log: {other:?}"),
    };
    assert_eq!(reader.next_contacts().unwrap(), None);
    rows
}

#[test]
fn a_log_of_no_known_rows_is_rejected_and_never_taken_for_zeeks() {
    let foreign = "{\"ts\":1,\"level\":\"info\",\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\"}\n";
    let zeek = "{\"ts\":1,\"id.orig_h\":\"192.0.2.1\",\"id.resp_h\":\"198.51.100.7\"}\n";
    assert_eq!(rejected(foreign.repeat(200)), 100);
    assert_eq!(rejected(foreign.repeat(100) + zeek), 100);
    assert_eq!(rejected(foreign.repeat(3)), 3);
    assert_eq!(rejected("{\n  \"a\": 1,\n  \"b\": 2\n}\n".to_owned()), 4);
    assert_eq!(rejected("[{\"ts\":1}]".to_owned()), 1);
    let (_, contacts, counts) = read(&(foreign.repeat(98) + "{\n" + zeek));
    assert_eq!((contacts.len(), counts.skipped(Skip::OtherLog)), (1, 98));
    assert!(Reader::new("[input]\nx = 1\n".as_bytes()).is_err());
}

//! Tests of the flow logs of clouds.

use std::io::{self, Cursor, Read};

use super::{read, row, summary};
use crate::capture::{Format, PacketCounts, Reader, Skip};
use crate::contact::Contact;

#[test]
fn records_of_google_cloud_are_directions_in_log_entries() {
    let log = r#"{"insertId":"a","jsonPayload":{"bytes_sent":"1776","connection":{"dest_ip":"198.51.100.7","dest_port":443,"protocol":6,"src_ip":"10.128.0.2","src_port":49152},"end_time":"2025-06-14T09:32:19.548Z","packets_sent":"12","reporter":"SRC","start_time":"2025-06-14T09:32:14.1Z"},"logName":"projects/p/logs/compute.googleapis.com%2Fvpc_flows","timestamp":"2025-06-14T09:32:25Z"}
{"jsonPayload":{"connection":{"src_ip":"2001:db8::1","dest_ip":"2001:db8::2","src_port":0,"dest_port":0,"protocol":58},"packets_sent":"0"},"timestamp":"2025-06-14T09:32:25Z"}
{"jsonPayload":{"message":"rule changed"},"timestamp":"2025-06-14T09:32:25Z"}
{"jsonPayload":{"connection":{"src_ip":"2001:db8::1","dest_ip":"2001:db8::2","src_port":0,"dest_port":0,"protocol":58}}}
"#;
    let (format, contacts, counts) = read(log);
    assert_eq!(format, Format::JsonLines);
    let expected =
        row("10.128.0.2 198.51.100.7", [12, 1_776], 6, None, [Some(49_152), Some(443)], None);
    assert_eq!(contacts.iter().map(summary).collect::<Vec<_>>(), [expected]);
    assert_eq!(contacts[0].time_ns, 1_749_893_539_548_000_000);
    let reasons = [Skip::NoPackets, Skip::NoHosts, Skip::NoTime];
    assert_eq!(reasons.map(|reason| counts.skipped(reason)), [1; 3]);
}

#[test]
fn records_of_oracle_cloud_are_directions_also_in_results_of_searches() {
    let log = r#"{"data":{"action":"ACCEPT","bytesOut":17114,"destinationAddress":"10.0.0.19","destinationPort":22,"endTime":1598917955,"flowid":"75d72a74","packets":9,"protocol":6,"protocolName":"TCP","sourceAddress":"192.0.2.1","sourcePort":60830,"startTime":1598917895,"status":"OK","version":"2"},"id":"1","oracle":{},"time":"2020-08-31T23:52:35.000Z","type":"com.oraclecloud.vcn.flowlogs.DataEvent"}
{"datetime":1,"logContent":{"data":{"destinationAddress":"10.0.0.19","protocolName":"UDP","sourceAddress":"192.0.2.1"},"time":"2020-08-31T23:52:35.000Z","type":"com.oraclecloud.vcn.flowlogs.DataEvent"}}
{"data":{"status":"NODATA","sourceAddress":"-","destinationAddress":"-"},"time":"2020-08-31T23:52:35.000Z","type":"com.oraclecloud.vcn.flowlogs.QualityEvent.NoData"}
"#;
    let (_, contacts, counts) = read(log);
    let expected = [
        row("192.0.2.1 10.0.0.19", [9, 17_114], 6, None, [Some(60_830), Some(22)], None),
        row("192.0.2.1 10.0.0.19", [0, 0], 17, None, [None; 2], None),
    ];
    assert_eq!(contacts.iter().map(summary).collect::<Vec<_>>(), expected);
    let times: Vec<_> = contacts.iter().map(|contact| contact.time_ns).collect();
    assert_eq!(times, [1_598_917_955_000_000_000, 1_598_917_955_000_000_000]);
    assert_eq!((counts.packets, counts.skipped(Skip::NoHosts)), (3, 1));
}

const VNET: &str = r#"{"records":[{"time":"2022-09-14T09:00:52.5625085Z","flowLogVersion":4,"macAddress":"00224871C205","category":"FlowLogFlowEvent","operationName":"FlowLogFlowEvent","flowRecords":{"flows":[{"aclID":"a","flowGroups":[{"rule":"DefaultRule_AllowInternetOutBound","flowTuples":["1663146003599,10.0.0.6,192.0.2.180,23956,443,6,O,B,NX,0,0,0,0","1663146003606,10.0.0.6,192.0.2.180,23956,443,6,O,E,NX,3,767,2,1580"]},{"rule":"x","flowTuples":["1663146003637,203.0.113.17,10.0.0.6,22730,22,17,I,D,NX,0,0,0,0"]}]}]}}]}"#;

#[test]
fn flows_of_azures_virtual_networks_have_two_directions_once_they_have_counts() {
    let expected = [
        row("10.0.0.6 192.0.2.180", [0, 0], 6, None, [Some(23_956), Some(443)], Some(true)),
        row("10.0.0.6 192.0.2.180", [3, 767], 6, None, [Some(23_956), Some(443)], Some(true)),
        row("192.0.2.180 10.0.0.6", [2, 1_580], 6, None, [Some(443), Some(23_956)], Some(false)),
        row("203.0.113.17 10.0.0.6", [0, 0], 17, None, [Some(22_730), Some(22)], Some(true)),
    ];
    // The log is one value on one line or on many, or one value per line.
    let value: serde_json::Value = serde_json::from_str(VNET).unwrap();
    for (times, log) in [
        (1, VNET.to_owned()),
        (1, serde_json::to_string_pretty(&value).unwrap()),
        (2, format!("{VNET}\n{VNET}\n")),
    ] {
        let (format, contacts, counts) = read(&log);
        assert_eq!(format, Format::AzureFlowLog);
        let found: Vec<_> = contacts.iter().map(summary).collect();
        assert_eq!(found, vec![&expected[..]; times].concat());
        assert_eq!(contacts[1].time_ns, 1_663_146_003_606_000_000);
        assert_eq!(counts.packets, counts.contacts);
    }
}

#[test]
fn flows_of_azures_security_groups_are_read_in_both_versions() {
    let tuples = [
        "1525186745,192.168.1.4,10.0.0.4,55960,3389,T,I,A",
        "1533315592,10.1.1.6,192.0.2.200,62375,80,T,O,A,B,,,,",
        "1533315595,10.1.1.6,192.0.2.200,62373,53,U,O,A,E,30,1784,92,123631",
        "1533315596,10.1.1.6,192.0.2.200,62373,80,T,O,A,C,1,40,0,0",
        "1533315596,10.1.1.6",
        "1533315596,10.1.1.6,host,62373,80,T,O,A,C,1,40,0,0",
        "1533315596,10.1.1.6,192.0.2.200,62373,80,T,O,A,C,many,40,0,0",
        "yesterday,10.1.1.6,192.0.2.200,62373,80,T,O,A",
    ];
    let log = serde_json::json!({"records": [
        {"time": "2018-05-01T15:00:02Z", "category": "NetworkSecurityGroupFlowEvent", "properties":
            {"Version": 2, "flows": [{"rule": "flowTuples", "flows": [{"mac": "x", "flowTuples": tuples}]}]}},
    ]});
    let (_, contacts, counts) = read(&log.to_string());
    let hosts: Vec<_> = contacts.iter().map(|contact| summary(contact).0).collect();
    let [there, back] = ["10.1.1.6 192.0.2.200", "192.0.2.200 10.1.1.6"];
    assert_eq!(hosts, ["192.168.1.4 10.0.0.4", there, there, back, there]);
    assert_eq!(contacts[2].protocol, Some(17));
    assert_eq!(contacts[0].time_ns, 1_525_186_745_000_000_000);
    let reasons = [Skip::NoPackets, Skip::BadRow, Skip::BadTime];
    assert_eq!(reasons.map(|reason| counts.skipped(reason)), [1, 3, 1]);
}

#[test]
fn values_without_tuples_and_damaged_tuples_are_counted() {
    let long = format!(r#"{{"flowTuples":["{}"]}}"#, "1\\\"".repeat(100_000));
    let log = format!("{VNET}\n{{\"ts\":1}}\n{{\"flowTuples\":[\"1,10\n{long}\n{VNET}");
    let (_, contacts, counts) = read(&log);
    assert_eq!(contacts.len(), 8);
    assert_eq!([Skip::OtherLog, Skip::BadRow].map(|reason| counts.skipped(reason)), [1, 2]);
}

#[test]
fn exports_of_cloudwatch_are_rows_of_a_vpc() {
    let record = "2 111122223333 eni-1 192.0.2.139 198.51.100.21 40001 22 6 20 4000 1749893500 1749893560 ACCEPT OK";
    let head = super::super::vpc::VERSION_2.replace(' ', ",").replace('-', "_");
    let message = |text: &str| serde_json::json!({"id": "1", "timestamp": 1, "message": text});
    let subscription = serde_json::json!({
        "messageType": "DATA_MESSAGE", "owner": "1", "logGroup": "g", "logStream": "eni-1-all",
        "logEvents": [message(record), message("CWL CONTROL MESSAGE"), message(record)],
    });
    let events = serde_json::json!({
        "events": [{"timestamp": 1, "message": record, "ingestionTime": 2}],
    });
    let quoted = format!("\"{}\"", record.replace(' ', "\",\""));
    let expected =
        row("192.0.2.139 198.51.100.21", [20, 4_000], 6, None, [Some(40_001), Some(22)], None);
    for (rows, bad, log) in [
        (2, 1, format!("{record}\n{record}\nx\n")),
        (1, 0, format!("2025-06-14T09:32:19.000Z {record}\n")),
        (1, 0, format!("2025-06-14T09:32:19.000000+00:00 eni-1-all {record}\n")),
        (1, 0, format!("{head}\n{}\n", record.replace(' ', ","))),
        (2, 0, format!("{head}\n{quoted}\n{quoted}\n")),
        (4, 2, format!("{subscription}{subscription}")),
        (1, 0, serde_json::to_string_pretty(&events).unwrap()),
    ] {
        let (format, contacts, counts) = read(&log);
        assert_eq!(format, Format::VpcFlowLog);
        assert_eq!(contacts.iter().map(summary).collect::<Vec<_>>(), vec![expected.clone(); rows]);
        assert_eq!(contacts[0].time_ns, 1_749_893_560_000_000_000, "{log}");
        let reasons = [Skip::BadRow, Skip::NoHosts].map(|reason| counts.skipped(reason));
        assert_eq!(reasons.iter().sum::<u64>(), bad, "{log}");
    }
}

/// A source that returns at most `most` bytes per read.
struct Pieces {
    bytes: Cursor<Vec<u8>>,
    most: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.most);
        self.bytes.read(&mut buffer[..length])
    }
}

fn read_pieces(bytes: &[u8], most: usize) -> (Vec<Contact>, PacketCounts) {
    let mut reader = Reader::new(Pieces { bytes: Cursor::new(bytes.to_vec()), most }).unwrap();
    let mut all = Vec::new();
    while let Some(contacts) = reader.next_contacts().unwrap() {
        all.extend_from_slice(contacts);
    }
    (all, reader.counts().clone())
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(500))]

    // Damage to some bytes has the same effect however many bytes each read returns, and ends with its line.
    #[test]
    fn damaged_flows_of_azure_are_the_same_in_pieces(
        changes in proptest::collection::vec((0_usize..VNET.len(), 0_u8..0x80), 1..8),
        most in 1_usize..40,
        long in 0_usize..6_000,
    ) {
        let mut damaged = VNET.as_bytes().to_vec();
        for (place, byte) in changes {
            damaged[place] = byte;
        }
        let long = format!("{{\"a\":\"{}\"}}", "\\\"".repeat(long / 2));
        let log = [VNET.as_bytes(), &damaged, long.as_bytes(), VNET.as_bytes()].join(&b'\n');
        let whole = read_pieces(&log, usize::MAX);
        proptest::prop_assert!(whole.0.len() >= 8);
        proptest::prop_assert_eq!(read_pieces(&log, most), whole);
    }
}

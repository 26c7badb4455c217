//! Tests of the rows of each kind of log: directions, times and skipped rows.

mod clouds;
mod hour;
mod lines;

use std::num::{NonZeroU8, NonZeroU64};

use crate::capture::{Format, PacketCounts, Reader, Skip};
use crate::contact::Contact;

fn read(log: &str) -> (Format, Vec<Contact>, PacketCounts) {
    let mut reader = Reader::new(std::io::Cursor::new(log.to_owned())).unwrap();
    let contacts = reader.next_contacts().unwrap().unwrap_or_default().to_vec();
    assert_eq!(reader.next_contacts().unwrap(), None);
    assert_eq!(reader.truncation(), None);
    (reader.format(), contacts, reader.counts().clone())
}

/// Fields of a contact: hosts as `source destination`, packets and octets, protocol, flags, source and
/// destination port, and whether the source initiated it.
type Summary = (String, [u64; 2], Option<u8>, Option<u8>, [Option<u16>; 2], Option<bool>);

fn summary(contact: &Contact) -> Summary {
    let Contact { protocol, source_port, destination_port, initiated, .. } = *contact;
    let hosts = format!("{} {}", contact.source, contact.destination);
    let counts = [contact.packets, contact.octets].map(|count| count.map_or(0, NonZeroU64::get));
    let tcp_flags = contact.tcp_flags.map(NonZeroU8::get);
    (hosts, counts, protocol, tcp_flags, [source_port, destination_port], initiated)
}

fn row(
    hosts: &str,
    counts: [u64; 2],
    protocol: u8,
    flags: Option<u8>,
    ports: [Option<u16>; 2],
    initiated: Option<bool>,
) -> Summary {
    (hosts.to_owned(), counts, Some(protocol), flags, ports, initiated)
}

const ZEEK: &str = "#separator \\x09\n#unset_field\t-\n#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\thistory\torig_pkts\tresp_pkts\torig_ip_bytes\tresp_ip_bytes\n";

#[test]
fn conversations_of_zeek_are_their_directions_with_packets() {
    let rows = "1500000000.25\tC1\t192.0.2.1\t4000\t192.0.2.2\t80\ttcp\t2.5\tShADadFf\t5\t4\t700\t900\n\
                1500000001.000001\tC2\t2001:db8::1\t5000\t2001:db8::2\t53\tudp\t-\tD\t1\t0\t60\t0\n\
                1500000002\tC3\t192.0.2.1\t8\t192.0.2.3\t0\ticmp\t-\t-\t3\t-\t-\t-\n\
                1500000003\tC4\t192.0.2.9\t1\t192.0.2.8\t2\ttcp\t-\tS\t1\t0\t40\t0\n#close\tnow\n";
    let (format, contacts, counts) = read(&(ZEEK.to_owned() + rows));
    assert_eq!(format, Format::Zeek);
    let expected = [
        row("192.0.2.1 192.0.2.2", [5, 700], 6, Some(0x13), [Some(4000), Some(80)], Some(true)),
        row("192.0.2.2 192.0.2.1", [4, 900], 6, Some(0x13), [Some(80), Some(4000)], Some(false)),
        row("2001:db8::1 2001:db8::2", [1, 60], 17, None, [Some(5000), Some(53)], Some(true)),
        row("192.0.2.1 192.0.2.3", [3, 0], 1, None, [None; 2], Some(true)),
        row("192.0.2.9 192.0.2.8", [1, 40], 6, Some(0x02), [Some(1), Some(2)], Some(true)),
    ];
    assert_eq!(contacts.iter().map(summary).collect::<Vec<_>>(), expected);
    assert!(contacts[4].is_syn_only() && !contacts[0].is_syn_only());
    let times: Vec<_> = contacts.iter().map(|contact| contact.time_ns).collect();
    assert_eq!(
        times[..3],
        [1_500_000_002_750_000_000, 1_500_000_002_750_000_000, 1_500_000_001_000_001_000]
    );
    assert_eq!((counts.packets, counts.skipped(Skip::NoPackets)), (7, 2));
}

#[test]
fn the_head_of_a_zeek_log_defines_separator_and_fields() {
    let log = "#separator \\x7c\n#unset_field|(none)\n#fields|ts|src|dst|resp_pkts\n\
               1|10.0.0.1|10.0.0.2|(none)\n2|(none)|10.0.0.2|1\n(none)|10.0.0.1|10.0.0.2|1\n\
               x|10.0.0.1|10.0.0.2|1\n3|10.0.0.1|host|1\n4|10.0.0.1|10.0.0.2|many\n";
    let (_, contacts, counts) = read(log);
    assert_eq!(contacts.len(), 1);
    assert_eq!(summary(&contacts[0]).0, "10.0.0.1 10.0.0.2");
    let reasons = [Skip::NoHosts, Skip::NoTime, Skip::BadTime, Skip::BadRow];
    assert_eq!(reasons.map(|reason| counts.skipped(reason)), [1, 1, 1, 2]);
    // These texts only start like a log.
    assert!(Reader::new("# Notes\n\n10.0.0.1\n".as_bytes()).is_err());
    assert!(Reader::new("#path\tconn\n1\t10.0.0.1\n".as_bytes()).is_err());
}

#[test]
fn json_lines_of_zeek_are_the_same_conversations() {
    let log = r#"{"ts":1500000000.25,"id.orig_h":"192.0.2.1","id.orig_p":4000,"id.resp_h":"192.0.2.2","id.resp_p":80,"proto":"tcp","duration":2.5,"history":"ShADadFf","orig_pkts":5,"resp_pkts":4,"orig_ip_bytes":700}
{"ts":"2017-07-14T02:40:00.25Z","id.orig_h":"192.0.2.1","id.resp_h":"192.0.2.2"}
{"ts":1,"id.orig_h":"192.0.2.1"}
not json
"#;
    let (format, contacts, counts) = read(log);
    assert_eq!(format, Format::JsonLines);
    assert_eq!(
        summary(&contacts[0]),
        row("192.0.2.1 192.0.2.2", [5, 700], 6, Some(0x13), [Some(4000), Some(80)], Some(true))
    );
    assert_eq!(contacts[1].initiated, Some(false));
    assert_eq!(contacts[2].time_ns, 1_500_000_000_250_000_000);
    assert_eq!((contacts.len(), counts.packets), (3, 5));
    assert_eq!([Skip::NoHosts, Skip::BadRow].map(|reason| counts.skipped(reason)), [1, 1]);
}

#[test]
fn flows_of_suricata_have_two_directions_and_its_netflows_one() {
    let log = r#"{"timestamp":"2017-04-07T22:24:37.251547+0100","event_type":"flow","src_ip":"2001:db8::1","src_port":4000,"dest_ip":"2001:db8::2","dest_port":443,"proto":"TCP","flow":{"pkts_toserver":7,"pkts_toclient":0,"bytes_toserver":518,"bytes_toclient":0,"start":"2017-04-07T22:23:00.000000+0100","end":"2017-04-07T22:23:37.5+0100"},"tcp":{"tcp_flags":"02","tcp_flags_ts":"02","tcp_flags_tc":"00"}}
{"timestamp":"2017-04-07T21:24:37.251547+00:00","event_type":"netflow","src_ip":"192.0.2.1","src_port":53,"dest_ip":"192.0.2.2","dest_port":5353,"proto":"UDP","netflow":{"pkts":2,"bytes":180}}
{"timestamp":"2017-04-07T22:24:37.251547+0100","event_type":"alert","src_ip":"192.0.2.1","dest_ip":"192.0.2.2"}
{"event_type":"flow","src_ip":"192.0.2.1","dest_ip":"192.0.2.2","flow":{"pkts_toserver":7}}
{"timestamp":"1960-01-01T00:00:00Z","event_type":"flow","src_ip":"192.0.2.1","dest_ip":"192.0.2.2"}
"#;
    let (_, contacts, counts) = read(log);
    let expected = [
        row(
            "2001:db8::1 2001:db8::2",
            [7, 518],
            6,
            Some(0x02),
            [Some(4000), Some(443)],
            Some(true),
        ),
        row("192.0.2.1 192.0.2.2", [2, 180], 17, None, [Some(53), Some(5353)], None),
    ];
    assert_eq!(contacts.iter().map(summary).collect::<Vec<_>>(), expected);
    let times: Vec<_> = contacts.iter().map(|contact| contact.time_ns).collect();
    assert_eq!(times, [1_491_600_217_500_000_000, 1_491_600_277_251_547_000]);
    let reasons = [Skip::NoPackets, Skip::OtherEvent, Skip::NoTime, Skip::BadTime];
    assert_eq!(reasons.map(|reason| counts.skipped(reason)), [1; 4]);
}

#[test]
fn flow_logs_of_a_vpc_name_their_fields_or_are_of_version_2() {
    let bare = "2 1 eni-1 172.31.16.139 172.31.16.21 20641 22 6 20 4249 1418530010 1418530070 ACCEPT OK\n\
                2 1 eni-1 - - - - - - - 1431280876 1431280934 - NODATA\n";
    let (format, contacts, counts) = read(bare);
    assert_eq!(format, Format::VpcFlowLog);
    assert_eq!(
        summary(&contacts[0]),
        row("172.31.16.139 172.31.16.21", [20, 4_249], 6, None, [Some(20_641), Some(22)], None)
    );
    assert_eq!(contacts[0].time_ns, 1_418_530_070_000_000_000);
    assert_eq!((counts.packets, counts.skipped(Skip::NoHosts)), (2, 1));
    let named = "dstaddr srcaddr tcp-flags protocol start packets\n192.0.2.1 ::1 2 6 7 1\n192.0.2.1 ::1 19 6 8 1\n192.0.2.1 ::1 4 6 9 0\n";
    let (_, contacts, counts) = read(named);
    let expected = [
        row("::1 192.0.2.1", [1, 0], 6, Some(2), [None; 2], Some(true)),
        row("::1 192.0.2.1", [1, 0], 6, Some(19), [None; 2], Some(false)),
    ];
    assert_eq!(contacts.iter().map(summary).collect::<Vec<_>>(), expected);
    assert_eq!(counts.skipped(Skip::NoPackets), 1);
    // The header is present, absent, or in the middle.
    let whole = format!("{}\n{bare}{}\n{bare}", super::vpc::VERSION_2, super::vpc::VERSION_2);
    assert_eq!(read(&whole).1.len(), 2);
}

#[test]
fn long_rows_are_bad_rows_and_the_next_is_read() {
    let long = "x".repeat(70_000);
    let row = "1\tC\t10.0.0.1\t1\t10.0.0.2\t2\tudp\t-\t-\t1\t-\t-\t-\n";
    let (_, contacts, counts) = read(&format!("{ZEEK}{long}\n{row}"));
    assert_eq!((contacts.len(), counts.skipped(Skip::BadRow)), (1, 1));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

    // Whatever a row contains, it is parsed or counted. The rows after it are always parsed.
    #[test]
    fn damaged_rows_are_counted(
        which in 0_usize..7,
        changes in proptest::collection::vec((0_usize..400, 0x20_u8..0x7f), 1..8),
    ) {
        let (head, good, per_row) = [
            (ZEEK, "1\tC\t10.0.0.1\t1\t10.0.0.2\t2\tudp\t0.1\tDd\t1\t1\t60\t60\n", 2),
            ("srcaddr dstaddr dstport protocol packets end\n", "10.0.0.1 10.0.0.2 1 6 1 3\n", 1),
            ("", "{\"event_type\":\"netflow\",\"timestamp\":\"2020-01-01T00:00:00Z\",\"src_ip\":\"::1\",\"dest_ip\":\"::2\",\"netflow\":{\"pkts\":1}}\n", 1),
            ("", "{\"jsonPayload\":{\"connection\":{\"src_ip\":\"::1\",\"dest_ip\":\"::2\"},\"packets_sent\":\"1\"},\"timestamp\":\"2020-01-01T00:00:00Z\"}\n", 1),
            ("", "{\"flow\":{\"verdict\":\"DROPPED\",\"time\":\"2020-01-01T00:00:00Z\",\"IP\":{\"source\":\"::1\",\"destination\":\"::2\"},\"l4\":{\"TCP\":{\"flags\":{\"SYN\":true}}}}}\n", 1),
            ("", "{\"@timestamp\":\"2020-01-01T00:00:00Z\",\"source\":{\"ip\":\"::1\",\"packets\":1},\"destination\":{\"ip\":\"::2\",\"packets\":1}}\n", 2),
            ("", "{\"records\":[{\"flowTuples\":[\"1,::1,::2,1,2,6,I,E,X,1,1,1,1\"]}]}\n", 2),
        ][which];
        let mut bad = good.trim_end().as_bytes().to_vec();
        for (place, byte) in changes {
            let place = place % bad.len();
            bad[place] = byte;
        }
        // Lines with these starts may be headers.
        if !head.is_empty() && (bad[0] == b'#' || bad.windows(7).any(|word| word == b"srcaddr")) {
            bad[0] = b'x';
        }
        let log = format!("{head}{good}{}\n{good}", String::from_utf8(bad).unwrap());
        let (_, _, counts) = read(&log);
        let skipped: u64 = Skip::ALL.iter().map(|reason| counts.skipped(*reason)).sum();
        proptest::prop_assert_eq!(counts.packets, counts.contacts + skipped);
        proptest::prop_assert!(counts.contacts >= 2 * per_row);
        // A damaged line of Azure's may be part of the value on the next line.
        proptest::prop_assert!(which == 6 || counts.packets > counts.contacts.min(2 * per_row));
    }
}

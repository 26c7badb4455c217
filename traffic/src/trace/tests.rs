//! Tests of the reader on generated files, and on the real traces if they exist.

use super::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;

/// Number of records. It is large enough to fill several zstd blocks of 128 KiB.
const RECORDS: u32 = 50_000;

fn record(number: u32) -> Record {
    Record { time_ms: number / 3, source: number, destination: number ^ 0x0A00_0001 }
}

fn compressed() -> Vec<u8> {
    let fields = |number| {
        let record = record(number);
        [record.time_ms, record.source, record.destination]
    };
    let bytes: Vec<u8> = (0..RECORDS).flat_map(fields).flat_map(u32::to_le_bytes).collect();
    compress_to_vec(&bytes[..], CompressionLevel::Fastest)
}

fn read(name: &str, bytes: &[u8]) -> Result<Vec<Record>, TraceError> {
    let path = std::env::temp_dir().join(format!("srlg-trace-{}-{name}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    let records = Trace::open(&path).and_then(Iterator::collect);
    fs::remove_file(&path).unwrap();
    records
}

fn damage(name: &str, bytes: &[u8]) -> io::Error {
    match read(name, bytes).unwrap_err() {
        TraceError::Damaged { source, .. } => source,
        error => panic!("{error}"),
    }
}

#[test]
fn records_are_read_as_they_were_written() {
    let expected: Vec<Record> = (0..RECORDS).map(record).collect();
    assert_eq!(read("whole", &compressed()).unwrap(), expected);
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let whole = compressed();
    for length in [0, 3, 10, whole.len() / 2, whole.len() - 5, whole.len() - 1] {
        assert!(read("cut", &whole[..length]).is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn a_changed_byte_is_an_error() {
    // The changed byte is in the literals of the last block, so the block still decodes. Only the checksum reveals the
    // change.
    let mut bytes = compress_to_vec(&[7_u8; 24][..], CompressionLevel::Uncompressed);
    assert_eq!(read("same", &bytes).unwrap().len(), 2);
    let in_data = bytes.len() - 6;
    bytes[in_data] ^= 1;
    insta::assert_snapshot!(damage("changed", &bytes));
}

#[test]
fn bytes_after_the_frame_and_half_records_are_errors() {
    let longer = [compressed(), vec![0]].concat();
    insta::assert_snapshot!("bytes_after_the_frame", damage("longer", &longer));
    let half = compress_to_vec(&[0_u8; 18][..], CompressionLevel::Uncompressed);
    insta::assert_snapshot!("half_a_record", damage("half", &half));
}

#[test]
fn an_absent_file_is_named_in_the_error() {
    let error = Trace::open("no/such.spt.zst").err().unwrap();
    assert!(matches!(error, TraceError::Open { .. }));
    insta::assert_snapshot!(error);
}

fn stated_records(statistics: &str) -> usize {
    let (_, after) = statistics.split_once("\"records\":").unwrap();
    after.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn real_traces_have_as_many_records_as_their_statistics_state() {
    for path in dev_traces() {
        let stem = path.to_str().and_then(|path| path.strip_suffix(SUFFIX)).unwrap();
        let statistics = fs::read_to_string(format!("{stem}.stats.json")).unwrap();
        let records: Vec<Record> = Trace::open(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(records.len(), stated_records(&statistics), "{stem}");
        assert!(records.is_sorted_by_key(|record| record.time_ms), "{stem}");
    }
}

#[test]
fn a_record_is_a_pair_of_either_end_unless_both_are_one() {
    let pairs = |source, destination| Record { time_ms: 0, source, destination }.pairs().collect();
    let both: Vec<_> = pairs(1, 2);
    assert_eq!(both, [Ipv4Pair { inside: 1, peer: 2 }, Ipv4Pair { inside: 2, peer: 1 }]);
    assert_eq!(pairs(3, 3), []);
}

#[test]
fn record_files_are_sorted_and_of_no_other_kind() {
    let folder = std::env::temp_dir().join(format!("srlg-folder-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let names = ["b.spt.zst", "a.spt.zst", "c.spt6.zst", "README.md"].map(|name| folder.join(name));
    names.iter().for_each(|name| fs::write(name, "").unwrap());
    assert_eq!(record_files(&folder).unwrap(), [names[1].clone(), names[0].clone()]);
    fs::remove_dir_all(&folder).unwrap();
    assert!(record_files(&folder).is_err());
}

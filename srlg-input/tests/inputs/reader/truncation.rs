//! Files that end inside a record: at every single offset, the whole packets come out and the
//! truncation names the first byte of the cut record.

use srlg_input::capture::{Cause, Reader, Truncation};
use srlg_input::contact::Contact;

use crate::reader::build::{self, Fields, MICROSECONDS};
use crate::reader::{contact, drain, read};

/// A file and the records it consists of: start of each, and its contact if it has one.
struct Recorded {
    file: Fields,
    records: Vec<(usize, Option<Contact>)>,
}

impl Recorded {
    fn add(&mut self, contact: Option<Contact>, write: impl FnOnce(&mut Fields) -> &mut Fields) {
        self.records.push((self.file.bytes.len(), contact));
        write(&mut self.file);
    }

    /// What must come out of the first `length` bytes.
    fn expected(&self, length: usize) -> (Vec<Contact>, Option<u64>) {
        let ends = self.records.iter().skip(1).map(|(start, _)| *start);
        let ends: Vec<usize> = ends.chain([self.file.bytes.len()]).collect();
        let whole = ends.iter().filter(|end| **end <= length).count();
        let contacts = self.records[..whole].iter().filter_map(|(_, contact)| *contact).collect();
        let cut = self.records.get(whole).map(|(start, _)| *start as u64);
        (contacts, cut.filter(|start| *start < length as u64 || *start == 0))
    }
}

fn small_pcap() -> Recorded {
    let file = build::pcap(true, MICROSECONDS, 1);
    let mut recorded = Recorded { file, records: vec![(0, None)] };
    for host in 1..4 {
        let seen = contact(u64::from(host) * 1_000_000_000, host);
        recorded.add(Some(seen), |file| file.record(host.into(), 0, &build::frame(host)));
    }
    recorded
}

fn small_pcapng() -> Recorded {
    let mut recorded = Recorded { file: Fields::new(false), records: Vec::new() };
    recorded.add(None, |file| file.section(false));
    recorded.add(None, |file| file.interface(1, &[9, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0]));
    recorded.add(Some(contact(7_000, 1)), |file| file.packet(0, 7, &build::frame(1)));
    recorded.add(None, |file| file.block(5, &[1; 30]));
    recorded.add(Some(contact(9_000, 2)), |file| file.obsolete(0, 9, &build::frame(2)));
    recorded
}

fn cut_everywhere(recorded: &Recorded, magic: usize) {
    for length in magic..=recorded.file.bytes.len() {
        let outcome = read(&recorded.file.bytes[..length]);
        let (contacts, cut) = recorded.expected(length);
        assert_eq!(outcome.contacts, contacts, "cut to {length} bytes");
        let expected = cut.map(|offset| Truncation { offset, cause: Cause::EndOfInput });
        assert_eq!(outcome.truncation, expected, "cut to {length} bytes");
    }
    for length in 0..magic {
        let file = recorded.file.bytes[..length].to_vec();
        assert!(Reader::new(std::io::Cursor::new(file)).is_err(), "{length} bytes");
    }
}

#[test]
fn pcap_cut_at_any_byte_gives_the_whole_records() {
    cut_everywhere(&small_pcap(), 4);
}

#[test]
fn pcapng_cut_at_any_byte_gives_the_whole_blocks() {
    cut_everywhere(&small_pcapng(), 4);
}

#[test]
fn gzip_cut_at_any_byte_gives_a_prefix_and_blames_the_gzip_stream() {
    for whole in [small_pcap(), small_pcapng()] {
        let all = read(whole.file.bytes.clone());
        let packed = build::gzip(&whole.file.bytes);
        for length in 0..packed.len() {
            let Ok(reader) = Reader::new(std::io::Cursor::new(packed[..length].to_vec())) else {
                continue;
            };
            let outcome = drain(reader);
            assert!(all.contacts.starts_with(&outcome.contacts), "cut to {length} bytes");
            let truncation = outcome.truncation.expect("a truncation");
            assert!(matches!(truncation.cause, Cause::Gzip(_)), "cut to {length} bytes");
            let boundary = |(start, _): &(usize, _)| *start as u64 == truncation.offset;
            let end = whole.file.bytes.len() as u64;
            assert!(whole.records.iter().any(boundary) || truncation.offset == end);
        }
        assert_eq!(read(packed).contacts, all.contacts);
    }
}

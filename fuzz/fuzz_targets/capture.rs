//! A fuzz target that reads arbitrary bytes as a pcap, pcapng or IPFIX file, which may be compressed with gzip.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    srlg_fuzz::file::check(input);
});

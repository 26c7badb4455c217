//! A fuzz target that reads arbitrary bytes as a report of a probe and as a watch list of the collector.
#![no_main]

libfuzzer_sys::fuzz_target!(|json: &[u8]| {
    assert!(srlg_cli::network::is_same_when_written(json));
});

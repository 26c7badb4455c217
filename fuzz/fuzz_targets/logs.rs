//! A fuzz target that reads arbitrary lines as a log. The first byte selects the kind of log. A valid line after the
//! arbitrary lines must be read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use srlg_fuzz::file;

/// First and last line of each log. The last line is not checked if the arbitrary lines may name other fields, or may
/// leave a value open.
const LOGS: [(&str, &str); 9] = [
    (
        "#separator \\x09\n#unset_field\t-\n#fields\tts\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\thistory\torig_pkts\tresp_pkts\torig_ip_bytes\tresp_ip_bytes",
        "",
    ),
    (
        r#"{"event_type":"stats"}"#,
        r#"{"event_type":"netflow","timestamp":"2020-01-01T00:00:00Z","src_ip":"::1","dest_ip":"::2"}"#,
    ),
    ("version srcaddr dstaddr dstport protocol packets bytes start end tcp-flags", ""),
    ("", ""),
    (r#"{"_path":"dns","ts":null}"#, r#"{"ts":1,"id":{"orig_h":"::1","resp_h":"::2"}}"#),
    (
        r#"{"jsonPayload":{"connection":{"src_ip":null}}}"#,
        r#"{"jsonPayload":{"connection":{"src_ip":"::1","dest_ip":"::2"},"end_time":"2020-01-01T00:00:00Z"}}"#,
    ),
    (
        r#"{"flow":{"verdict":null}}"#,
        r#"{"flow":{"verdict":"DROPPED","time":"2020-01-01T00:00:00Z","IP":{"source":"::1","destination":"::2"}}}"#,
    ),
    (
        r#"{"@timestamp":null,"source.ip":"-"}"#,
        r#"{"@timestamp":"2020-01-01T00:00:00Z","source":{"ip":"::1"},"destination":{"ip":"::2"}}"#,
    ),
    (r#"{"category":"FlowLogFlowEvent"}"#, ""),
];

fuzz_target!(|input: &[u8]| {
    let Some((selector, lines)) = input.split_first() else { return };
    let (first, last) = LOGS[usize::from(*selector) % LOGS.len()];
    if first.is_empty() {
        file::check(lines);
        return;
    }
    let log = [first.as_bytes(), b"\n", lines].concat();
    let content = file::check(&log).expect("a known log");
    if !last.is_empty() {
        let longer = [&log, &b"\n"[..], last.as_bytes()].concat();
        let longer = file::check(&longer).expect("a known log");
        assert_eq!(longer.items.len(), content.items.len() + 1);
        assert_eq!(longer.counts.packets, content.counts.packets + 1);
        assert!(longer.items.starts_with(&content.items));
    }
});

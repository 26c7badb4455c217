//! Exports that others captured, against the packets that they are of.

use std::path::{Path, PathBuf};

use crate::{last_points, output, pairs};

/// Exports of the packets of [`PACKETS`], unsampled.
const WHOLE: [&str; 5] = [
    "softflowd_synack_v5",
    "softflowd_synack_v9",
    "softflowd_synack_ipfix",
    "softflowd_synack_ipfix_biflow",
    "pmacctd_synack_v9",
];
const PACKETS: &str = "captures/pcap_usec_ddos_synack.pcap";

/// The folder of recorded data, if it is there.
fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("SRLG_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let is_there = folder.join("flows").is_dir();
    if !is_there {
        println!("skipped: there is no folder flows in {}", folder.display());
    }
    is_there.then_some(folder)
}

/// Options of `detect` that put all contacts into one slice.
const ONE_SLICE: [&str; 8] =
    ["--threshold", "100", "--slice", "365d", "--output", "ndjson", "--seed", "1"];

fn detected(args: &[&str]) -> String {
    output("detect", &[args, &ONE_SLICE[..]].concat()).0
}

#[test]
fn exports_of_packets_are_the_pairs_and_super_points_of_the_packets() {
    let Some(data) = data() else { return };
    let packets = data.join(PACKETS);
    let packets = ["--input", packets.to_str().unwrap()];
    let (expected, points) = (pairs(&output("contacts", &packets).0), detected(&packets));
    assert_eq!((expected.len(), last_points(&points).len()), (7_055, 1));
    for name in WHOLE {
        let path = data.join(format!("flows/{name}.pcap"));
        let exports = ["--input", path.to_str().unwrap(), "--exports"];
        let (list, told) = output("contacts", &exports);
        assert_eq!(pairs(&list), expected, "{name}: {told}");
        assert_eq!(last_points(&detected(&exports)), last_points(&points), "{name}");
    }
}

/// The truth is 7,055 pairs of one host, 7,051 of which are other hosts' with the same one. Of n hosts seen in a
/// sample N n is what was there, in expectation, if each sent one packet; these sent 1.13, so N n is too large by some
/// percent, and never too small by more than chance: 773 ± 28 and 1,906 ± 44 hosts (binomial), so 5 of these.
#[test]
fn a_sample_tells_its_rate_and_the_range_that_holds_the_truth() {
    let Some(data) = data() else { return };
    for (name, rate) in [("softflowd_synack_v9_sampled10", 10), ("pmacctd_synack_sflow_1in4", 4)] {
        let path = data.join(format!("flows/{name}.pcap"));
        let line = detected(&["--input", path.to_str().unwrap(), "--exports"]);
        let line: serde_json::Value = serde_json::from_str(line.trim_end()).unwrap();
        let told = serde_json::json!({"least": rate, "most": rate, "unknown": false});
        assert_eq!((&line["sampling"], &line["host"]), (&told, &"10.10.10.10".into()));
        let [least, most] = [0, 1].map(|at| line["unsampled"][at].as_f64().unwrap());
        let chance = 5.0 * f64::from(rate) * least.sqrt();
        assert!(least < 7_051.0 && 7_051.0 < most + chance, "{name}: {line}");
        assert!(most < 7_051.0 * 1.13 + chance, "{name}: {line}");
    }
}

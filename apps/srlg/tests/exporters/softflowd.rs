//! softflowd, which reads a capture and exports all of it at its end.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::collector::Collector;
use crate::namespace::alone;
use crate::programs::command;
use crate::received::{assert_pairs, assert_whole, pairs_of};
use crate::{last_points, output, packets, pairs};

/// Runs softflowd on `file` to its end, with `more` options. It exports to `port` of this machine.
fn softflowd(file: &Path, port: u16, more: &[&str]) {
    let (file, to) = (file.to_str().unwrap(), format!("127.0.0.1:{port}"));
    // Without a control socket: with one it continues after the end of the file.
    let args = ["-d", "-a", "-m", "100000", "-r", file, "-n", &to, "-c", "none"];
    let pid = format!("{file}.{port}.pid");
    let status = command("softflowd", &[&args[..], &["-p", &pid], more].concat()).status();
    assert!(status.unwrap().success(), "softflowd {more:?}");
    let _ = std::fs::remove_file(pid);
}

#[test]
fn its_exports_are_the_pairs_of_the_packets_in_every_version() {
    let test = "softflowd::its_exports_are_the_pairs_of_the_packets_in_every_version";
    alone(test, &["softflowd"], || {
        let file = packets::file("softflowd", &[false, true]);
        let all = pairs_of(&file);
        // An address of IPv4 has no colon; v5 has no other.
        let of_v4 = all.iter().filter(|(source, _)| !source.contains(':')).cloned().collect();
        for (expected, options) in [
            (&of_v4, &["-v", "5"][..]),
            (&all, &["-v", "9"]),
            (&all, &["-v", "10"]),
            (&all, &["-v", "10", "-b"]),
        ] {
            let name = format!("softflowd{}", options.concat());
            assert_pairs(&name, expected, |collector| softflowd(&file, collector.port, options));
        }
    });
}

/// Exports that start in the first half of a slice, and take less than the second half, are within the slice. They take
/// a third of a second, or a few times that on a busy machine.
const SLICE: Duration = Duration::from_secs(10);

/// Waits for the first half of a slice.
fn wait_for_a_slice() {
    loop {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let into = Duration::from_nanos((now.as_nanos() % SLICE.as_nanos()) as u64);
        if into < SLICE / 2 {
            return;
        }
        std::thread::sleep(SLICE - into);
    }
}

/// All contacts come in one slice: in two of them the recorders would be of two ages, and the last digits differ.
#[test]
fn its_hosts_have_the_cardinalities_of_the_packets_while_detect_receives() {
    let test = "softflowd::its_hosts_have_the_cardinalities_of_the_packets_while_detect_receives";
    alone(test, &["softflowd"], || {
        let file = packets::file("detect", &[false, true]);
        let options = ["--threshold", "512", "--output", "ndjson"];
        let of_packets = ["--input", file.to_str().unwrap(), "--slice", "1h"];
        let expected = last_points(&output("detect", &[&of_packets[..], &options].concat()).0);
        let names: Vec<&str> = expected.iter().map(|(host, _)| host.as_str()).collect();
        let hosts =
            ["10.0.0.1", "10.0.0.2", "10.0.0.3", "2001:db8::1", "2001:db8::2", "2001:db8::3"];
        assert_eq!(names, hosts);
        let slice = format!("{}s", SLICE.as_secs());
        let versions = [&["-v", "9"][..], &["-v", "10"], &["-v", "10", "-b"]];
        let received = ["--timestamps", "received", "--slice", &slice];
        let start = || Collector::start("detect", &[&options[..], &received].concat());
        let collectors = versions.map(|_| start());
        wait_for_a_slice();
        for (collector, version) in collectors.iter().zip(versions) {
            softflowd(&file, collector.port, version);
        }
        for (collector, version) in collectors.into_iter().zip(versions) {
            collector.wait_for(|it| !last_points(&it.printed()).is_empty());
            let (printed, told) = collector.stop();
            assert_eq!(last_points(&printed), expected, "{told}");
            assert_whole(&format!("softflowd{}-detect", version.concat()), &told);
        }
    });
}

/// It looks at every tenth packet. Each of these is of a pair of its own: of all packets of one pair, a client's first
/// and second to the server, there are two, and one packet between them.
#[test]
fn a_tenth_of_the_packets_is_a_tenth_of_the_pairs_and_told_as_such() {
    let test = "softflowd::a_tenth_of_the_packets_is_a_tenth_of_the_pairs_and_told_as_such";
    alone(test, &["softflowd"], || {
        let families = [false, true];
        let file = packets::file("sampled", &families);
        let (all, sampled) = (pairs_of(&file), packets::packets(&families).len() / 10);
        for version in ["9", "10"] {
            let options = ["-v", version, "-s", "10"];
            let collector = Collector::start("contacts", &[]);
            softflowd(&file, collector.port, &options);
            let (printed, told) = collector.stop();
            let found = pairs(&printed);
            assert!(found.is_subset(&all) && found.len() == sampled, "{} {told}", found.len());
            assert_whole("softflowd-sampled", &told);
            let collector =
                Collector::start("detect", &["--threshold", "64", "--output", "ndjson"]);
            softflowd(&file, collector.port, &options);
            collector.wait_for(|it| !it.printed().is_empty());
            let (printed, told) = collector.stop();
            let line: serde_json::Value =
                serde_json::from_str(printed.lines().next().unwrap()).unwrap();
            let rates = serde_json::json!({"least": 10, "most": 10, "unknown": false});
            assert_eq!(line["sampling"], rates, "{told}");
            assert_whole("softflowd-sampled-detect", &told);
        }
    });
}

//! Exporters of others, live on loopback.

use std::path::Path;

use crate::programs::{are_there, command, pmacctd, softflowd, until};
use crate::{Collector, Pairs, last_points, output, packets, pairs};

/// The pairs of the packets in `file`.
fn pairs_of(file: &Path) -> Pairs {
    pairs(&output("contacts", &["--input", file.to_str().unwrap()]).0)
}

/// Asserts that nothing was lost between exporter and summary.
fn assert_whole(told: &str) {
    for part in ["; 0 lost", " 0 dropped by the kernel", " 0 of other senders refused"] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    for part in ["undecodable", "malformed", "dropped 1", "hold no record", "warning"] {
        assert!(!told.contains(part), "{part:?} is in {told}");
    }
}

/// Asserts that `contacts` gets exactly the pairs of `file` from an exporter that sends to its port.
fn assert_pairs(file: &Path, export: impl FnOnce(&Collector)) {
    let expected = pairs_of(file);
    let collector = Collector::start("contacts", &[]);
    export(&collector);
    // Whatever was sent is received before the end.
    let (printed, told) = collector.stop();
    let found = pairs(&printed);
    let (missing, more) = (expected.difference(&found), found.difference(&expected));
    let both = (missing.take(3).collect::<Vec<_>>(), more.take(3).collect::<Vec<_>>());
    assert!(found == expected, "{} of {}, {both:?}: {told}", found.len(), expected.len());
    assert_whole(&told);
}

/// Whether as many pairs have come as there are in `file`, at least; or all but those of a last datagram, which comes when the exporter ends.
fn all_of(file: &Path, collector: &Collector) -> impl FnMut() -> bool {
    let expected = pairs_of(file).len() - 30;
    move || pairs(&whole_lines(&collector.printed())).len() >= expected
}

fn whole_lines(text: &str) -> String {
    if text.is_empty() { "time_ms,src,dst".to_owned() } else { text.to_owned() }
}

#[test]
fn softflowd_exports_the_pairs_of_the_packets_in_every_version() {
    if !are_there("softflowd", &["softflowd"]) {
        return;
    }
    let [v4, both] = [&[false][..], &[false, true]]
        .map(|families| packets::file(&format!("softflowd{}", families.len()), families));
    for (file, options) in [
        (&v4, &["-v", "5"][..]),
        (&both, &["-v", "9"]),
        (&both, &["-v", "10"]),
        (&both, &["-v", "10", "-b"]),
    ] {
        assert_pairs(file, |collector| softflowd(file, collector.port, options));
    }
}

#[test]
fn hosts_of_exports_have_the_cardinalities_of_the_packets_while_detect_receives() {
    if !are_there("softflowd", &["softflowd"]) {
        return;
    }
    let file = packets::file("detect", &[false, true]);
    let options = ["--threshold", "512", "--output", "ndjson", "--window", "300"];
    let of_packets = ["--input", file.to_str().unwrap(), "--slice", "1d"];
    let expected = last_points(&output("detect", &[&of_packets[..], &options].concat()).0);
    let names: Vec<&str> = expected.iter().map(|(host, _)| host.as_str()).collect();
    let hosts = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "2001:db8::1", "2001:db8::2", "2001:db8::3"];
    assert_eq!(names, hosts);
    for version in [&["-v", "9"][..], &["-v", "10"], &["-v", "10", "-b"]] {
        let collector = Collector::start("detect", &options);
        softflowd(&file, collector.port, version);
        // Slices end by the clock: the next reports count all.
        collector.wait_for(|it| last_points(&it.printed()) == expected);
        assert_whole(&collector.stop().1);
    }
}

#[test]
fn softflowd_tells_how_it_samples() {
    if !are_there("softflowd", &["softflowd"]) {
        return;
    }
    let file = packets::file("sampled", &[false]);
    let all = pairs_of(&file);
    let collector = Collector::start("detect", &["--threshold", "64", "--output", "ndjson"]);
    softflowd(&file, collector.port, &["-v", "9", "-s", "10"]);
    collector.wait_for(|it| it.printed().contains("10.0.0.2"));
    let (printed, told) = collector.stop();
    let line: serde_json::Value =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).next().unwrap();
    let rates = serde_json::json!({"least": 10, "most": 10, "unknown": false});
    assert_eq!(line["sampling"], rates, "{told}");
    assert!(told.contains("sampling   1:10"), "{told}");
    let collector = Collector::start("contacts", &[]);
    softflowd(&file, collector.port, &["-v", "10", "-s", "10"]);
    let sampled = pairs(&collector.stop().0);
    let share = sampled.len() as f64 / all.len() as f64;
    assert!(sampled.is_subset(&all) && (0.05..0.3).contains(&share), "{share}");
}

#[test]
fn pmacctd_exports_the_pairs_of_the_packets_as_netflow_and_ipfix() {
    if !are_there("pmacctd", &["pmacctd"]) {
        return;
    }
    let file = packets::file("pmacctd", &[false, true]);
    for version in ["9", "10"] {
        assert_pairs(&file, |collector| {
            let lines = format!(
                "aggregate: src_host, dst_host, src_port, dst_port, proto, tcpflags\nplugins: nfprobe\n\
                 nfprobe_receiver: 127.0.0.1:{}\nnfprobe_version: {version}\n\
                 nfprobe_timeouts: maxlife=1:expint=1:general=1:tcp=1:udp=1\nplugin_buffer_size: 102400\n\
                 plugin_pipe_size: 10240000\n",
                collector.port
            );
            pmacctd(&file, &lines, all_of(&file, collector));
        });
    }
}

#[test]
fn pmacctd_exports_the_pairs_of_the_packets_as_sflow() {
    if !are_there("pmacctd", &["pmacctd"]) {
        return;
    }
    let file = packets::file("sflow", &[false, true]);
    assert_pairs(&file, |collector| {
        let lines = format!(
            "plugins: sfprobe\nsampling_rate: 1\nsfprobe_receiver: 127.0.0.1:{}\n\
             plugin_buffer_size: 102400\nplugin_pipe_size: 10240000\n",
            collector.port
        );
        pmacctd(&file, &lines, all_of(&file, collector));
    });
}

#[test]
fn fprobe_exports_the_pairs_of_packets_on_an_interface() {
    let needs = ["fprobe", "tcpreplay", "ip"];
    if !are_there("fprobe", &needs) || !has_interfaces() {
        return;
    }
    let file = packets::file("fprobe", &[false]);
    let interfaces = Interfaces::new();
    assert_pairs(&file, |collector| {
        let to = format!("127.0.0.1:{}", collector.port);
        let timeouts = ["-s", "1", "-g", "1", "-d", "1", "-e", "1"];
        // Its queue is 100 flows by default, and the rest is lost.
        let options = [&["-l", "2", "-i", TO, "-f", "ip", "-q", "10000"][..], &timeouts].concat();
        let child = command("fprobe", &[&options[..], &[&to]].concat()).spawn().unwrap();
        // It says nothing when it has begun; so packets are sent until it has seen them all.
        let mut done = all_of(&file, collector);
        let args = ["--preload-pcap", "-i", FROM, "--pps=4000", file.to_str().unwrap()];
        until(child, || {
            assert!(command("tcpreplay", &args).status().unwrap().success());
            // Idle for a second, they are exported in the next.
            (0..40).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(100));
                done()
            })
        });
    });
    drop(interfaces);
}

const FROM: &str = "srlg-test-a";
const TO: &str = "srlg-test-b";

/// A pair of virtual interfaces, which goes with the test.
struct Interfaces;

/// Whether interfaces may be made here; says aloud where not.
fn has_interfaces() -> bool {
    let may = ip(&["link", "add", "name", FROM, "type", "veth", "peer", "name", TO]);
    assert!(
        may || std::env::var("SRLG_REQUIRE_EXPORTERS").is_err(),
        "a pair of interfaces cannot be made: run the test as root"
    );
    if !may {
        println!("fprobe: skipped, it needs root to make interfaces");
    }
    may
}

fn ip(args: &[&str]) -> bool {
    command("ip", args).status().unwrap().success()
}

impl Interfaces {
    fn new() -> Self {
        for name in [FROM, TO] {
            // No address of its own, and so no packets of its own.
            let switch = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
            let _ = std::fs::write(switch, "1");
            assert!(ip(&["link", "set", "dev", name, "up"]));
        }
        Self
    }
}

impl Drop for Interfaces {
    fn drop(&mut self) {
        ip(&["link", "delete", "dev", FROM]);
    }
}

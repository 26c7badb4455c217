//! Live exports of real programs.
//!
//! - softflowd reads a capture and exports its flows at the end.
//! - fprobe exports the flows of an interface as NetFlow v5, while tcpreplay sends packets.
//! - pmacctd reads a capture. Its plugin nfprobe exports flows, and its plugin sfprobe exports packet samples.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use srlg_traffic::packets::packets;

use crate::programs::{alone, command, until};
use crate::received::{
    Collector, almost_all, assert_pairs, assert_pairs_within, assert_whole, pairs_of,
};
use crate::running::Site;
use crate::{becomes, capture, last_points, output, packet_file, pairs};

/// Runs softflowd on `file` until it exits. The exports are sent to `port` on this machine.
fn softflowd(file: &Path, port: u16, more: &[&str]) {
    softflowd_to("127.0.0.1", file, port, more);
}

/// Like [`softflowd`], but exports are sent from and to `address`, which is an address of this machine.
fn softflowd_to(address: &str, file: &Path, port: u16, more: &[&str]) {
    let (file, to) = (file.to_str().unwrap(), format!("{address}:{port}"));
    // With a control socket, softflowd would continue after the end of the file.
    let args = ["-d", "-a", "-m", "100000", "-r", file, "-n", &to, "-c", "none"];
    let pid = format!("{file}.{port}.pid");
    let status = command("softflowd", &[&args[..], &["-p", &pid], more].concat()).status();
    assert!(status.unwrap().success(), "softflowd {more:?}");
    let _ = fs::remove_file(pid);
}

#[test]
fn exports_of_softflowd_are_the_pairs_of_the_packets_in_every_version() {
    alone(&["softflowd"], || {
        let file = packet_file("softflowd", &[false, true]);
        let all = pairs_of(&file);
        // NetFlow v5 supports only IPv4 addresses, which have no colon.
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

#[test]
fn exports_of_softflowd_over_tcp_are_the_pairs_of_the_packets() {
    alone(&["softflowd"], || {
        let file = packet_file("softflowd-tcp", &[false, true]);
        let collector = Collector::start_with("--listen-tcp", "contacts", &[]);
        softflowd(&file, collector.port, &["-v", "10", "-P", "tcp"]);
        let (printed, logged) = collector.stop();
        assert_eq!(pairs(&printed), pairs_of(&file), "{logged}");
        assert_whole("softflowd-v10-Ptcp", &logged);
    });
}

/// Length of a slice. Exports take a third of a second, or a few times longer on a busy machine. Exports that start in
/// the first half of a slice therefore almost always end in the same slice.
const SLICE: Duration = Duration::from_secs(10);

/// Returns the number of the running slice and the time since its start.
fn running_slice() -> (u128, Duration) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    (now / SLICE.as_nanos(), Duration::from_nanos((now % SLICE.as_nanos()) as u64))
}

/// Waits until the running slice is in its first half, and returns its number.
fn wait_for_a_slice() -> u128 {
    loop {
        let (slice, into) = running_slice();
        if into < SLICE / 2 {
            return slice;
        }
        std::thread::sleep(SLICE - into);
    }
}

/// All contacts arrive in one slice. If they arrived in two slices, recorders would have two ages, and the last digits
/// of the cardinalities would differ.
#[test]
fn hosts_of_softflowd_have_the_cardinalities_of_the_packets_while_detect_receives() {
    alone(&["softflowd"], || {
        let file = packet_file("detect", &[false, true]);
        let options = ["--threshold", "512", "--output", "ndjson"];
        let of_packets = ["--input", file.to_str().unwrap(), "--slice", "1h"];
        let expected = last_points(&output("detect", &[&of_packets[..], &options].concat()).0);
        let names: Vec<&str> = expected.keys().map(String::as_str).collect();
        let hosts =
            ["10.0.0.1", "10.0.0.2", "10.0.0.3", "2001:db8::1", "2001:db8::2", "2001:db8::3"];
        assert_eq!(names, hosts);
        let slice = format!("{}s", SLICE.as_secs());
        let versions = [&["-v", "9"][..], &["-v", "10"], &["-v", "10", "-b"]];
        let received = ["--timestamps", "received", "--slice", &slice];
        let start = || Collector::start("detect", &[&options[..], &received].concat());
        // Exports that end in a later slice are repeated with new collectors.
        let exported = (0..5).find_map(|_| {
            let collectors = versions.map(|_| start());
            let slice = wait_for_a_slice();
            for (collector, version) in collectors.iter().zip(versions) {
                softflowd(&file, collector.port, version);
            }
            (running_slice().0 == slice).then_some(collectors)
        });
        let collectors = exported.expect("exports that end in the slice in which they started");
        for (collector, version) in collectors.into_iter().zip(versions) {
            collector.wait_for(|it| !last_points(&it.printed()).is_empty());
            let (printed, logged) = collector.stop();
            assert_eq!(last_points(&printed), expected, "{logged}");
            assert_whole(&format!("softflowd{}-detect", version.concat()), &logged);
        }
    });
}

/// The exporter samples every tenth packet. Each sampled packet belongs to a different pair, because the two packets of
/// a pair have only one other packet between them.
#[test]
fn sampled_packets_are_counted_unscaled_and_the_sampling_is_reported() {
    alone(&["softflowd"], || {
        let families = [false, true];
        let file = packet_file("sampled", &families);
        let (all, sampled) = (pairs_of(&file), packets(&families).len() / 10);
        for version in ["9", "10"] {
            let options = ["-v", version, "-s", "10"];
            let collector = Collector::start("contacts", &[]);
            softflowd(&file, collector.port, &options);
            let (printed, logged) = collector.stop();
            let found = pairs(&printed);
            assert!(found.is_subset(&all) && found.len() == sampled, "{} {logged}", found.len());
            assert_whole("softflowd-sampled", &logged);
            let collector =
                Collector::start("detect", &["--threshold", "64", "--output", "ndjson"]);
            softflowd(&file, collector.port, &options);
            collector.wait_for(|it| !it.printed().is_empty());
            let (printed, logged) = collector.stop();
            let line: serde_json::Value =
                serde_json::from_str(printed.lines().next().unwrap()).unwrap();
            let rates = serde_json::json!({"least": 10, "most": 10, "unknown": false});
            assert_eq!(line["sampling"], rates, "{logged}");
            assert_whole("softflowd-sampled-detect", &logged);
        }
    });
}

/// The flows of a capture have the times of its packets, which are years old.
#[test]
fn an_old_capture_that_softflowd_reads_is_warned_of() {
    alone(&["softflowd"], || {
        let file = packet_file("old", &[false]);
        for version in ["9", "10"] {
            let site = Site::start();
            softflowd(&file, site.exports.port(), &["-v", version]);
            let warnings = site.wait_for_warnings(1);
            let remedy = "timestamps = \"received\"";
            assert!(warnings.iter().all(|it| it.contains(remedy)), "{warnings:?}");
            let status = site.status();
            assert_eq!(site.page()["problems"], status["problems"]);
            let problem = &status["problems"][0];
            let exporter = &status["exporters"][0];
            let kind = problem["kind"].as_str().unwrap();
            let count = exporter["problems"][kind].as_u64().unwrap();
            assert!(count > 0 && problem["count"] == count, "{status}");
            let metric = format!("srlg_problem{{reason=\"{kind}\"}} {count}");
            assert!(site.get("/metrics").lines().any(|line| line == metric), "{metric}");
            // The warning may be older than the last exports.
            let (warned, _) = warnings[0].split_once(' ').unwrap();
            assert!((1..=count).contains(&warned.parse().unwrap()), "{count}: {warnings:?}");
        }
    });
}

/// Address of the exporter that sees the flood. The other exporter uses 127.0.0.1.
const WITNESS: &str = "192.0.2.1";

/// Each run of softflowd reads a capture and exports for a moment. Consecutive runs act as one continuous exporter.
#[test]
fn an_alert_waits_for_its_exporter_that_became_silent() {
    alone(&["softflowd"], || {
        let address = format!("{WITNESS}/32");
        assert!(command("ip", &["addr", "add", &address, "dev", "lo"]).status().unwrap().success());
        let flood = packet_file("silent", &[false]);
        // These packets are not to the hosts with alerts. Otherwise the other exporter could be the only one in their
        // details, which are kept from the start of an alert, and the alerts would not wait for the silent exporter.
        let flooded = [1, 3].map(|host| IpAddr::from([10, 0, 0, host]));
        let few =
            packets(&[false]).into_iter().filter(|packet| !flooded.contains(&packet.hosts[1]));
        let few: Vec<_> = few.take(20).collect();
        let few = capture("few", few.iter().map(|packet| (packet.after_us, packet.frame())));
        let site = Site::of(
            "inside = ['10.0.0.0/8']\nsilent-after = '5s'\n\
             [input]\nlisten = ['0.0.0.0:0']\nexporters = ['127.0.0.1', '192.0.2.1']\n\
             timestamps = 'received'\n\
             [[view]]\nname = 'fan-in'\nrole = 'destination'\npairs = 10_000\n\
             [[rule]]\nname = 'r'\nthresholds = { 5s = 500 }\nhold = '2s'\n",
        );
        let port = site.exports.port();
        let silent = |alerts: &[serde_json::Value]| {
            let silent = alerts.iter().filter(|alert| alert["silent"][0]["source"] == WITNESS);
            silent.count()
        };
        let ends = AtomicBool::new(false);
        let is_heard = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Relaxed) {
                    softflowd_to("127.0.0.1", &few, port, &["-v", "9"]);
                    if is_heard.load(Relaxed) {
                        softflowd_to(WITNESS, &few, port, &["-v", "9"]);
                    }
                    std::thread::sleep(Duration::from_millis(500));
                }
            });
            // This value must be dropped before the threads are joined.
            let _ends = SetAtEnd(&ends);
            softflowd_to(WITNESS, &flood, port, &["-v", "9"]);
            // The flood may be in two slices, so the alerts may start one after the other.
            let started = site.alerts_when(|alerts| alerts.len() == 2).len();
            let held = site.alerts_when(|alerts| alerts.len() == silent(alerts));
            assert_eq!(held.len(), started);
            std::thread::sleep(Duration::from_secs(15));
            let still = site.alerts_when(|alerts| !alerts.is_empty());
            assert_eq!((still.len(), silent(&still)), (started, started));
            assert!(site.has_metric(&format!("srlg_exporter_silent{{exporter=\"{WITNESS}\"}} 1")));
            let log = site.log();
            let unconfirmed = format!("cannot confirm the end: {WITNESS} silent since ");
            assert_eq!(log.matches(&unconfirmed).count(), started, "{log}");
            is_heard.store(true, Relaxed);
            site.alerts_when(<[_]>::is_empty);
            let log = site.log();
            assert_eq!(log.matches(" INFO end ").count(), started, "{log}");
        });
    });
}

/// A guard that sets a flag when it is dropped, even if the test fails.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

const SENDING: &str = "sending";
const LISTENING: &str = "listening";

#[test]
fn netflow_v5_of_fprobe_is_the_pairs_of_packets_on_an_interface() {
    alone(&["fprobe", "tcpreplay"], || {
        connect();
        let file = packet_file("fprobe", &[false]);
        let expected = pairs_of(&file);
        assert_pairs("fprobe", &expected, |collector| {
            let child = fprobe(collector);
            assert!(becomes(is_captured), "fprobe did not start to capture");
            let args = ["--preload-pcap", "-i", SENDING, "--pps=4000", file.to_str().unwrap()];
            assert!(command("tcpreplay", &args).status().unwrap().success());
            until(child, almost_all(&expected, collector));
        });
    });
}

/// Creates a pair of virtual interfaces. IPv6 is disabled, because the kernel would otherwise send router and neighbour
/// solicitations.
fn connect() {
    // The file does not exist on systems without IPv6.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    ip(&["link", "add", "name", SENDING, "type", "veth", "peer", "name", LISTENING]);
    for name in [SENDING, LISTENING] {
        ip(&["link", "set", "dev", name, "up"]);
    }
}

fn ip(args: &[&str]) {
    assert!(command("ip", args).status().unwrap().success(), "ip {args:?}");
}

/// Starts fprobe, which exports a flow after one second without packets.
fn fprobe(collector: &Collector) -> std::process::Child {
    let to = format!("127.0.0.1:{}", collector.port);
    let timeouts = ["-s", "1", "-g", "1", "-d", "1", "-e", "1"];
    // fprobe stays in the foreground. The default queue has only 100 flows, and further flows would be lost.
    let options = [&["-l", "2", "-i", LISTENING, "-f", "ip", "-q", "10000"][..], &timeouts];
    command("fprobe", &[&options.concat()[..], &[&to]].concat()).spawn().unwrap()
}

/// Returns whether a program captures packets in this network namespace. The kernel's list of packet sockets is read,
/// because fprobe does not report when it is ready.
fn is_captured() -> bool {
    let sockets = fs::read_to_string("/proc/self/net/packet").unwrap();
    // The fifth column is the interface of a socket, which is 0 until the socket is bound.
    sockets.lines().skip(1).any(|line| line.split_whitespace().nth(4).is_some_and(|it| it != "0"))
}

/// Sizes of the buffers between pmacctd and a plugin, large enough for all data of a test.
const PIPE: &str = "plugin_buffer_size: 102400\nplugin_pipe_size: 10240000\n";

fn pmacctd(file: &Path, lines: &str, is_done: impl FnMut() -> bool) {
    let config = file.with_extension("conf");
    let text = format!("daemonize: false\npcap_savefile: {}\n{PIPE}{lines}", file.display());
    fs::write(&config, text).unwrap();
    let child = command("pmacctd", &["-f", config.to_str().unwrap()]).spawn().unwrap();
    until(child, is_done);
    fs::remove_file(config).unwrap();
}

#[test]
fn plugins_of_pmacctd_export_the_pairs_of_the_packets() {
    let nfprobe = |version: u8| {
        format!(
            "plugins: nfprobe\naggregate: src_host, dst_host, src_port, dst_port, proto, tcpflags\n\
             nfprobe_version: {version}\nnfprobe_timeouts: maxlife=1:expint=1:general=1:tcp=1:udp=1\nnfprobe"
        )
    };
    alone(&["pmacctd"], || {
        for (name, lines) in [
            ("pmacctd-v9", nfprobe(9)),
            ("pmacctd-ipfix", nfprobe(10)),
            ("pmacctd-sflow", "plugins: sfprobe\nsampling_rate: 1\nsfprobe".to_owned()),
        ] {
            let file = packet_file(name, &[false, true]);
            let expected = pairs_of(&file);
            assert_pairs_within(3, name, &expected, |collector| {
                let lines = format!("{lines}_receiver: 127.0.0.1:{}\n", collector.port);
                pmacctd(&file, &lines, almost_all(&expected, collector));
            });
        }
    });
}

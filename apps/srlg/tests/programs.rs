//! Tests that run the program's commands as processes.

#[path = "program/nats.rs"]
mod nats;

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use approx::assert_abs_diff_eq;
use serde_json::Value;

fn run(args: &[&str]) -> (Output, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_srlg")).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (printed, logged) = (text(&output.stdout), text(&output.stderr));
    (output, printed, logged)
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Held while a demonstration runs, so that each one has the processors to itself.
static STAGE: Mutex<()> = Mutex::new(());

/// Runs `srlg demo` with `options`, and asserts that its alerts are correct.
fn play(name: &str, options: &[&str]) {
    let _stage = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let alerts = file(name);
    let args = [&["demo", "--alerts", alerts.to_str().unwrap()], options].concat();
    let (output, printed, logged) = run(&args);
    assert_eq!(output.status.code(), Some(0), "{printed}{logged}");
    let alerts = lines(&std::fs::read_to_string(alerts).unwrap());
    let of = |status: &str| alerts.iter().filter(|alert| alert["status"] == status).count();
    assert_eq!((of("start"), of("end")), (6, 6));
    // The kind of a scan is known from the first notification that has details. On a busy machine, no update may
    // follow.
    let has_details = |end: &Value| {
        alerts.iter().any(|it| it["id"] == end["id"] && it.get("detail_since_ms").is_some())
    };
    for status in ["start", "end"] {
        let expected =
            [("flood", "fan-in", 2), ("scan", "outside", 1), ("flood", "networks-in", 3)];
        for (kind, view, count) in expected {
            let is_it = |it: &&Value| {
                let is_kind = it["kind"] == kind || status == "start" || !has_details(it);
                it["status"] == status && it["view"] == view && is_kind
            };
            assert_eq!(alerts.iter().filter(is_it).count(), count, "{status} {kind}");
        }
    }
}

#[test]
fn attacks_over_loopback_raise_one_alert_each() {
    play("demo.ndjson", &[]);
}

#[test]
fn attacks_seen_by_three_probes_raise_one_alert_each() {
    if !nats::has_broker() {
        return;
    }
    play("network-demo.ndjson", &["--network"]);
}

/// Returns a CSV file with the contacts of `seconds` seconds. In each second from 10 to 29, 2,000 hosts contact
/// 10.0.0.1.
fn attack(seconds: u64) -> String {
    let mut list = "time_ms,src,dst\n".to_owned();
    for second in 0..seconds {
        if (10..30).contains(&second) {
            for peer in 0..2_000 {
                let ms = (1_750_000_000 + second) * 1_000 + peer % 1_000;
                writeln!(list, "{ms},192.168.{}.{},10.0.0.1", peer / 250, peer % 250).unwrap();
            }
        }
        writeln!(list, "{},10.0.0.2,192.0.2.1", (1_750_000_000 + second) * 1_000 + 999).unwrap();
    }
    list
}

#[test]
fn a_replay_has_the_notifications_of_a_live_monitor() {
    let list = file("attack.csv");
    std::fs::write(&list, attack(200)).unwrap();
    let options = ["--inside", "10.0.0.0/8", "--window", "30s", "--threshold", "1000"];
    let args = [&["run", "--input", list.to_str().unwrap()], &options[..]].concat();
    let (output, printed, logged) = run(&args);
    assert_eq!(output.status.code(), Some(0), "{logged}");
    assert!(!logged.contains("a host can have at most"), "{logged}");
    let [start, end] = &lines(&printed)[..] else { panic!("{printed}") };
    let ms = |second: u64| (1_750_000_000 + second) * 1_000;
    assert_eq!((&start["status"], start["start_ms"].as_u64()), (&"start".into(), Some(ms(13))));
    assert_eq!((&start["host"], &start["kind"]), (&"10.0.0.1".into(), &"flood".into()));
    let count = start["cardinality"].as_f64().unwrap();
    assert_abs_diff_eq!(count / 2_000.0, 1.0, epsilon = 0.03);
    assert_eq!(
        (start["peers"].as_array().unwrap().len(), &start["sampling"]),
        (32, &"none".into())
    );
    let text = start["text"].as_str().unwrap();
    let estimate = format!("{count:.0} ± {:.0} ", start["std_error"].as_f64().unwrap());
    insta::assert_snapshot!(text.replace(&estimate, "COUNT ± ERROR "));
    // The flood is in the window until second 60, and the count is below the threshold for a minute after that.
    assert_eq!((&end["status"], end["now_ms"].as_u64()), (&"end".into(), Some(ms(120))));
    assert_eq!((end["until_ms"].as_u64(), &end["id"]), (Some(ms(60)), &start["id"]));
}

/// A resolver answers 300 queries per second, each from another client. After half a minute, it answers four times as
/// many.
#[test]
fn a_busy_resolver_raises_no_notification() {
    let list = file("resolver.csv");
    let mut text = "time_ms,src,dst\n".to_owned();
    for second in 0..60 {
        let count = if second < 30 { 300 } else { 1_200 };
        for query in 0..count {
            let client = Ipv4Addr::from(0xc600_0000 + second * 2_000 + query);
            let ms = (1_750_000_000 + u64::from(second)) * 1_000;
            write!(text, "{ms},{client},10.0.0.53\n{ms},10.0.0.53,{client}\n").unwrap();
        }
    }
    std::fs::write(&list, text).unwrap();
    let options = ["--inside", "10.0.0.0/8", "--window", "10s", "--threshold", "1000"];
    let (output, printed, logged) =
        run(&[&["run", "--input", list.to_str().unwrap()], &options[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{logged}");
    assert_eq!(printed, "", "its network is busy, too");
}

#[test]
fn a_run_warns_once_of_a_threshold_that_its_inside_networks_make_unreachable() {
    let list = file("small.csv");
    std::fs::write(&list, attack(1)).unwrap();
    let args = ["run", "--input", list.to_str().unwrap(), "--inside", "10.0.0.0/24"];
    let (output, _, logged) = run(&args);
    assert_eq!(output.status.code(), Some(0), "{logged}");
    let warning = "view outside: a host can have at most 256 IPv4 peers";
    assert_eq!(logged.matches(warning).count(), 1, "{logged}");
    assert_eq!(logged.matches("WARN").count(), 1, "{logged}");
}

/// Returns a capture of NetFlow v5 datagrams with one flow each. Their exporter announces the sampling rates `rates`.
fn exports(rates: &[u16]) -> Vec<u8> {
    let start = 1_750_000_000_u32;
    // The magic number, version 2.4, the snap length, and raw IP packets.
    let mut capture =
        [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 101].map(u32::to_be_bytes).concat();
    for (second, rate) in (start..).zip(rates) {
        let flow = [0x0a00_0002_u32, 0xc000_0201, 0, 0, 1, 64, 900, 900, 0, 0, 0, 0];
        let mut datagram =
            [0x0005_0001, 1_000, second, 0, second - start].map(u32::to_be_bytes).concat();
        // The sampling mode is in the upper two bits.
        datagram.extend([[0, 0], (1 << 14 | rate).to_be_bytes()].concat());
        datagram.extend(flow.map(u32::to_be_bytes).concat());
        let (udp, ip) = (8 + datagram.len() as u32, 28 + datagram.len() as u32);
        let headers = [
            0x4500_0000 | ip,
            0,
            0x4011_0000,
            0xc000_0207,
            0xc000_0208,
            2_055 << 16 | 2_055,
            udp << 16,
        ];
        capture.extend([second, 0, ip, ip].map(u32::to_be_bytes).concat());
        capture.extend(headers.map(u32::to_be_bytes).concat());
        capture.extend(datagram);
    }
    capture
}

#[test]
fn a_run_warns_once_of_each_higher_sampling_rate_that_an_exporter_announces() {
    let capture = file("sampled.pcap");
    std::fs::write(&capture, exports(&[1, 100, 100, 50, 1_000, 1_000])).unwrap();
    let config = file("sampled.toml");
    let warned = |keys: &str| {
        let input = format!("[input]\ninput = ['{}']\nexports = true\n{keys}", capture.display());
        std::fs::write(&config, input).unwrap();
        let (output, _, logged) = run(&["run", "--config", config.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{logged}");
        let rates = logged.split("sampling 1:").skip(1).map(|rest| rest.split(' ').next().unwrap());
        let rates = rates.filter(|rate| rate.ends_with(':')).map(ToOwned::to_owned);
        rates.collect::<Vec<_>>()
    };
    assert_eq!(warned(""), ["100:", "1000:"]);
    assert_eq!(warned("sampling = 500\n"), ["500:", "1000:"]);
}

#[test]
fn a_flood_at_the_end_of_a_file_starts_an_alert_and_one_that_is_too_short_is_named() {
    let list = file("late-attack.csv");
    // The last second of the list is the 11th, which is the first second of the flood.
    std::fs::write(&list, attack(11)).unwrap();
    let options = ["--inside", "10.0.0.0/8", "--threshold", "1000", "--window"];
    let args = [&["run", "--input", list.to_str().unwrap()], &options[..]].concat();
    let (output, printed, logged) = run(&[&args[..], &["30s"]].concat());
    assert_eq!(output.status.code(), Some(0), "{logged}");
    let [start] = &lines(&printed)[..] else { panic!("{printed}") };
    assert_eq!((&start["status"], &start["host"]), (&"start".into(), &"10.0.0.1".into()));
    let summary = |logged: &str| -> String {
        let texts = logged.lines().filter_map(|line| Some(line.split_once("INFO ")?.1));
        texts.filter(|text| text.contains("raised")).map(|text| format!("{text}\n")).collect()
    };
    let with_alert = summary(&logged);
    // With a window of one slice, the flood exceeds the threshold only in that slice.
    let (output, printed, logged) = run(&[&args[..], &["1s"]].concat());
    assert_eq!((output.status.code(), printed.as_str()), (Some(0), ""), "{logged}");
    let miss = logged.lines().find(|line| line.contains("no alert in view fan-in")).unwrap();
    assert!(miss.contains("10.0.0.1: ") && miss.ends_with("3 of 5 are required"), "{miss}");
    insta::assert_snapshot!("replay_summary", with_alert + &summary(&logged));
}

/// Returns a CSV file in which one IPv6 host has `contacts` contacts within ten seconds. `from` maps the number of a
/// contact to its source address.
fn flood_of_ipv6(from: impl Fn(u64) -> String, contacts: u64) -> String {
    let line = |number: u64| {
        let ms = 1_750_000_000_000 + number * 10_000 / contacts;
        format!("{ms},{},2001:db8::1\n", from(number))
    };
    ["time_ms,src,dst\n".to_owned()].into_iter().chain((0..contacts).map(line)).collect()
}

#[test]
fn a_machine_with_all_addresses_of_a_64_is_one_peer() {
    let one = |number: u64| format!("2a00:1:2:3:{:x}:{:x}::7", number % 251, number / 251);
    let many = |number: u64| format!("2a00:1:2:{:x}::7", number % 2_000);
    for (name, list, alerts) in
        [("one", flood_of_ipv6(one, 50_000), 0), ("many", flood_of_ipv6(many, 50_000), 1)]
    {
        let path = file(&format!("{name}-64.csv"));
        std::fs::write(&path, list).unwrap();
        let args = ["--inside", "2001:db8::/32", "--threshold", "1000", "--window", "5s"];
        let (output, printed, logged) =
            run(&[&["run", "--input", path.to_str().unwrap()], &args[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{logged}");
        let is_start = |it: &&Value| it["status"] == "start";
        assert_eq!(lines(&printed).iter().filter(is_start).count(), alerts, "{name}: {printed}");
    }
}

#[test]
fn impossible_input_is_one_line_and_exit_code_2() {
    let config = file("no-database.toml");
    std::fs::write(&config, "as-file = '/no/such/file'\n").unwrap();
    let no_folder = file("no-folder.toml");
    std::fs::write(&no_folder, "[[sink]]\ntype = 'file'\npath = '/no/such/folder/file'\n").unwrap();
    let mut texts = String::new();
    for args in [
        &["run", "--input", "/no/such/file"][..],
        &["run", "--input", "-", "--config", config.to_str().unwrap()],
        &["run"],
        &["runn"],
        &["run", "--input", "-", "--window", "1500ms"],
        &["run", "--input", "-", "--threshold", "0"],
        &["run", "--input", "-", "--config", no_folder.to_str().unwrap()],
        &["run", "--url", "kafka://user:secret@broker/flows"],
        &["demo", "--seconds", "5"],
    ] {
        let (output, printed, logged) = run(args);
        assert_eq!((output.status.code(), printed.as_str()), (Some(2), ""), "{logged}");
        assert_eq!(logged.lines().count(), 1, "{logged}");
        assert!(!logged.contains("secret"), "{logged}");
        texts += &logged;
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn a_sink_gets_a_test_notification_of_each_kind_and_status_that_it_wants() {
    let folder = tempfile::tempdir().unwrap();
    let (config, read) = (folder.path().join("srlg.toml"), folder.path().join("read"));
    let sink = |name: &str, keys: &str| format!("[[sink]]\nname = '{name}'\n{keys}\n");
    let cat = format!(
        "type = 'exec'\ncommand = ['/bin/sh', '-c', 'cat >>{0}; echo >>{0}']",
        read.display()
    );
    let text = [
        sink("cat", &cat),
        sink(
            "fails",
            "type = 'exec'\ncommand = ['/bin/sh', '-c', 'exit 3']\nonly = { kinds = ['flood'], status = ['start', 'end'] }",
        ),
        sink(
            "file",
            "type = 'file'\npath = '/no/such/folder/file'\nonly = { status = ['end'], views = ['fan-out'] }",
        ),
    ];
    std::fs::write(&config, text.concat()).unwrap();
    let notify =
        |sink: &str| run(&["notify", "--config", config.to_str().unwrap(), "--sink", sink]);
    let mut texts = String::new();
    for (sink, code) in [("cat", 0), ("fails", 2), ("none", 2)] {
        let (output, printed, logged) = notify(sink);
        assert_eq!(output.status.code(), Some(code), "{sink}: {logged}");
        texts += &format!("{sink}:\n{printed}{logged}");
    }
    insta::assert_snapshot!(texts);
    let sent = lines(&std::fs::read_to_string(&read).unwrap());
    let facts = |at: usize| ["id", "kind", "status", "host"].map(|name| &sent[at][name]);
    assert_eq!((sent.len(), facts(0)[1], facts(32)[2]), (33, &"flood".into(), &"end".into()));
    assert_eq!((facts(0)[0], facts(0)[3]), (facts(2)[0], facts(2)[3]), "one alert");
    // Instead of the file, the lines are printed.
    let (output, printed, logged) = notify("file");
    assert_eq!(output.status.code(), Some(0), "{logged}");
    let printed: Vec<&str> = printed.lines().filter(|line| line.starts_with('{')).collect();
    let kinds: Vec<Value> =
        lines(&printed.join("\n")).into_iter().map(|mut it| it["kind"].take()).collect();
    assert_eq!(kinds, ["scan", "port-scan", "service-scan", "worm"]);
}

#[test]
fn a_state_tells_what_was_and_what_thresholds_would_have_been() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("attack.csv"), attack(200)).unwrap();
    let config = format!(
        "state = '{}'\ninside = ['10.0.0.0/8']\n[[rule]]\nname = 'all'\nthresholds = {{ 30s = 1000 }}\n\
         [[rule]]\nname = 'quiet'\nnetworks = ['10.9.0.0/16']\nthresholds = {{ 30s = 100 }}\n\
         [[label]]\nname = 'shop'\nnetworks = ['10.0.0.0/24']\n\
         [[sink]]\ntype = 'file'\npath = '{}'\n",
        path("state"),
        path("alerts")
    );
    std::fs::write(path("srlg.toml"), config).unwrap();
    let config = path("srlg.toml");
    for args in [&["alerts", "--state", &path("state")][..], &["suggest", "--config", &config]] {
        let (output, _, logged) = run(args);
        assert_eq!(output.status.code(), Some(2));
        insta::assert_snapshot!("no_state", logged.replace(&path("state"), "STATE"));
    }
    let (output, printed, logged) =
        run(&["run", "--config", &config, "--replay", &path("attack.csv")]);
    assert_eq!((output.status.code(), printed.as_str()), (Some(0), ""), "{logged}");
    let notifications = lines(&std::fs::read_to_string(path("alerts")).unwrap());
    let [start, end] = &notifications[..] else { panic!("{notifications:?}") };
    assert_eq!((&start["label"], &end["number"]), (&"shop".into(), &2.into()));
    let (_, printed, _) = run(&["alerts", "--state", &path("state"), "--since", "100y"]);
    let id = end["id"].as_str().unwrap();
    assert!(printed.starts_with("2025-06-15T15:06:53Z") && printed.contains(id), "{printed}");
    assert_eq!(printed.lines().count(), 1, "{printed}");
    let (_, printed, _) = run(&["alerts", "--state", &path("state"), "--since", "100y", "--json"]);
    assert_eq!(lines(&printed)[0]["id"], id);
    let (_, printed, _) = run(&["alerts", "--state", &path("state")]);
    insta::assert_snapshot!("no_alert", printed);
    let (_, printed, _) = run(&["suggest", "--config", &config]);
    // The count must be about 2,000 hosts.
    let count = |word: &str| match word.trim_end_matches([':', '\n']).parse() {
        Ok(1_900..2_100) => "COUNT ".to_owned(),
        _ => format!("{word} "),
    };
    let masked: String = printed.split(' ').map(count).collect();
    insta::assert_snapshot!("suggestions", masked);
    // This data is older than the state.
    let (output, _, logged) = run(&["run", "--config", &config, "--replay", &path("attack.csv")]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!("old_data", logged.lines().last().unwrap());
}

/// Returns the text of a configuration with the keys and tables that are commented out, except those that need other
/// files or a GPU.
fn with_comments(text: &str) -> String {
    let is_toml = |line: &str| line.starts_with("[[") || line.split(' ').nth(1) == Some("=");
    let is_here = |line: &str| {
        !["device", "as-file", "country-file", "http-tokens"]
            .contains(&line.split(' ').next().unwrap())
    };
    let lines = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(toml) if is_toml(toml) && is_here(toml) => toml,
        _ => line,
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_configuration_is_checked_and_explained() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/srlg.example.toml");
    // The state and ports of the example may be in use on this machine.
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("here.toml");
    let text = std::fs::read_to_string(example).unwrap();
    let text = text.replace("/var/lib", folder.path().to_str().unwrap());
    let text = text.replace("[::]:2055", "127.0.0.1:0").replace("127.0.0.1:8462", "127.0.0.1:0");
    // The first check is as in the file, and the second one has all keys and tables that are commented out.
    for (name, text) in [("check", text.clone()), ("check_all", with_comments(&text))] {
        std::fs::write(&here, text).unwrap();
        let here = here.to_str().unwrap();
        let (output, printed, logged) = run(&["check", "--config", here]);
        assert_eq!(output.status.code(), Some(0), "{logged}");
        insta::assert_snapshot!(name, printed.replace(here, "EXAMPLE"));
    }
    let here = here.to_str().unwrap();
    let (_, ignored, _) = run(&["explain", "198.51.100.9", "--config", here]);
    insta::assert_snapshot!("explain_ignored", ignored);
    let (_, printed, _) = run(&["explain", "198.51.100.53", "--config", here]);
    insta::assert_snapshot!("explain", printed);
    let bad = file("bad.toml");
    std::fs::write(&bad, "slice = '1s'\nthreshold = 7\n").unwrap();
    let (output, _, logged) = run(&["check", "--config", bad.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let (output, _, of_run) = run(&["run", "--config", bad.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(of_run.lines().count(), 1, "the input of run may be overridden: {of_run}");
    assert!(logged.contains(of_run.trim_start_matches("srlg: ")), "{of_run}");
    insta::assert_snapshot!("bad", logged.replace(env!("CARGO_TARGET_TMPDIR"), "FOLDER"));
}

const COMMANDS: [&str; 13] = [
    "run",
    "probe",
    "collect",
    "detect",
    "contacts",
    "setup",
    "check",
    "explain",
    "suggest",
    "alerts",
    "man",
    "completions",
    "demo",
];

#[test]
fn the_manual_page_has_all_subcommands() {
    let (output, printed, _) = run(&["man"]);
    assert!(output.status.success() && printed.contains(".TH srlg"));
    for name in COMMANDS {
        assert!(printed.contains(&format!(".SH {}\n", name.to_uppercase())), "{name}");
    }
}

#[test]
fn texts_of_help() {
    let texts = COMMANDS.map(|command| run(&[command, "--help"]).1).concat();
    insta::assert_snapshot!(run(&["--help"]).1 + &texts);
}

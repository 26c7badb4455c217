use std::net::IpAddr;

use srlg_host::Device;
use srlg_host::config::HashFamily;

use srlg_alerts::manager::view::ViewConfig;
use srlg_input::contact::Role;

use super::{Config, LEAST_THRESHOLD};
use crate::network::Network;

const WHOLE: &str = r#"
inside = ["198.51.100.0/24", "2001:db8::/32"]
slice = "500ms"
http = "127.0.0.1:0"

[input]
listen = ["127.0.0.1:0"]
exporters = ["127.0.0.1"]
sampling = 100

[[view]]
name = "victims"
role = "destination"

[[view]]
name = "scanners"
measure = "outside"
role = "source"
only = "tcp-syn"
host-prefix6 = 64
pairs = 1000000
memory = 16000000

[[rule]]
name = "all"
thresholds = { 60s = 1024, 1h = 8192 }
hold = "2m"

[[rule]]
name = "servers"
views = ["victims"]
networks = ["198.51.100.0/28"]
thresholds = { 60s = 4096 }
for = 1

[[allow]]
why = "resolver"
hosts = ["198.51.100.53"]
ports = [53]

[[label]]
name = "customers"
networks = ["198.51.100.128/25"]
"#;

fn numbers(problems: &str) -> Vec<u32> {
    let number = |line: &str| line.split([' ', ':']).nth(1)?.parse().ok();
    problems.lines().filter_map(number).collect()
}

fn host(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_device_is_the_cpu_by_default() {
    assert_eq!(Config::parse(WHOLE).unwrap().general.device, Device::Cpu);
    let on = |device: &str| Config::parse(&format!("device = {device:?}\n{WHOLE}"));
    assert_eq!(on("cuda:1").unwrap().general.device, Device::Cuda(1));
    insta::assert_snapshot!(on("gpu").unwrap_err());
}

#[test]
fn a_whole_configuration_is_read() {
    let config = Config::parse(WHOLE).unwrap();
    assert_eq!(config.source.sockets.listen.len(), 1);
    assert_eq!(config.source.decoding.sampling.map(std::num::NonZero::get), Some(100));
    assert_eq!(config.names.labels.get([198, 51, 100, 200].into()).unwrap(), "customers");
    let [victims, scanners] = &config.views[..] else { panic!("{config:?}") };
    assert_eq!((victims.name.as_str(), victims.rules.windows()), ("victims", vec![120, 7200]));
    // The threshold of the detector is 1024 times `down` of 0.8, minus a tenth.
    assert_eq!((victims.sizes.window, victims.sizes.threshold), (7200, 737));
    let threshold = |of: &str, window| {
        let rule = victims.rules.rule(host(of)).unwrap();
        rule.windows.get(&window).map(|terms| terms.threshold)
    };
    assert_eq!(threshold("198.51.100.99", 7200), Some(8192.0));
    assert_eq!(threshold("198.51.100.1", 120), Some(4096.0));
    assert_eq!(threshold("198.51.100.1", 7200), None, "only the longest prefix applies");
    assert_eq!(threshold("2001:db8::1", 120), Some(1024.0));
    let rule = victims.rules.rule(host("198.51.100.99")).unwrap();
    assert_eq!((rule.name.as_str(), rule.windows[&120].hold_ms), ("all", 120_000));
    assert_eq!(victims.rules.rule(host("198.51.100.1")).unwrap().name, "servers");
    assert!(scanners.sizes.validate().unwrap().recorder_bytes() <= 16_000_000);
    assert_eq!((scanners.view.prefixes.host6, scanners.view.prefixes.peer6), (64, 64));
}

#[test]
fn an_empty_configuration_is_the_usual_one() {
    let config = Config::parse("").unwrap();
    let names: Vec<&str> = config.views.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(
        names,
        ["fan-in", "fan-out", "networks-in", "networks-out", "replies-in", "replies-out"]
    );
    let rule = config.views[0].rules.rule(host("192.0.2.1")).unwrap();
    assert_eq!((rule.name.as_str(), rule.windows[&60].threshold), ("default", 1024.0));
    let inside = Config::parse("inside = ['10.0.0.0/8']").unwrap();
    assert_eq!(inside.views[2].name, "outside");
}

/// Returns the names and thresholds of the rules of each view in `text`.
fn rules_of(text: &str) -> Vec<(String, Vec<(String, f64)>)> {
    let rules = |view: &ViewConfig| {
        let rules = view.rules.rules().iter();
        rules.map(|rule| (rule.name.clone(), rule.windows[&60].threshold)).collect()
    };
    let config = Config::parse(text).unwrap();
    config.views.iter().map(|view| (view.name.clone(), rules(view))).collect()
}

#[test]
fn networks_have_a_rule_of_their_own_until_another_rule_names_their_view() {
    let rule = |name: &str, views: &str, threshold: f64| {
        format!("[[rule]]\nname = '{name}'\n{views}\nthresholds = {{ 60s = {threshold} }}\n")
    };
    let of = |name: &str, threshold: f64| vec![(name.to_owned(), threshold)];
    for (text, hosts, incoming) in [
        (String::new(), of("default", 1024.0), of("networks", 8192.0)),
        (rule("r", "", 50.0), of("r", 50.0), of("networks", 8192.0)),
        (
            rule("r", "", 50.0) + &rule("s", "views = ['networks-in']", 900.0),
            of("r", 50.0),
            of("s", 900.0),
        ),
    ] {
        let views = rules_of(&text);
        let expected = [
            ("fan-in", &hosts),
            ("fan-out", &hosts),
            ("networks-in", &incoming),
            ("networks-out", &of("networks", 8192.0)),
            ("replies-in", &hosts),
            ("replies-out", &hosts),
        ];
        let expected = expected.map(|(view, rules)| (view.to_owned(), rules.clone()));
        assert_eq!(views, expected, "{text}");
    }
    let names = |text: &str| rules_of(text).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(
        names("[network-views]\nenabled = false\n"),
        ["fan-in", "fan-out", "replies-in", "replies-out"]
    );
    let text = "[network-views]\nprefix4 = 22\nprefix6 = 56\nmemory = 16_000_000\n";
    let config = Config::parse(text).unwrap();
    let prefixes = &config.views[2].view.prefixes;
    assert_eq!((prefixes.host4, prefixes.host6, prefixes.peer6), (22, 56, 64));
    assert_eq!(config.views[2].view.role, Role::Destination);
    assert_eq!(config.views[3].view.role, Role::Source);
    let bytes = config.views[3].sizes.validate().unwrap().recorder_bytes();
    assert!((7_500_000..=16_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn views_of_networks_cannot_be_configured_beside_own_views() {
    let text = "[network-views]\nprefix4 = 22\n[[view]]\nname = 'a'\n";
    insta::assert_snapshot!(Config::parse(text).unwrap_err());
}

#[test]
fn every_error_is_reported_with_its_line() {
    let text = r#"
inside = ["10.0.0.0/33"]
slice = "1 parsec"
[[view]]
name = "a"
role = "receiver"
[[view]]
name = "a"
[[rule]]
name = "r"
views = ["b"]
thresholds = { 1500us = 10 }
[[rule]]
name = "s"
thresholds = { 60s = 0 }
[[rule]]
name = "t"
thresholds = { 60s = 10 }
[[allow]]
why = "?"
[[sink]]
type = "syslog"
address = "localhost"
[[sink]]
name = "syslog"
type = "exec"
command = ["true"]
[[sink]]
type = "webhook"
url = "http://localhost"
queue = 0
"#;
    let problems = Config::parse(text).unwrap_err().to_string();
    assert_eq!(numbers(&problems), [2, 3, 6, 8, 11, 12, 15, 17, 20, 23, 25, 31], "{problems}");
    insta::assert_snapshot!("problems_of_one", problems);
    let mut texts = String::new();
    for text in [
        "[input",
        "[[rule]]\nname = 'r'\nthresholds = { 60s = 20, 1m = 30 }",
        "[[rule]]\nname = 'r'\nthresholds = { 60s = 5 }",
        "thresold = 7",
        "[input]\nexporter = []",
        "[input]\nreceivers = 0",
        "view = 'x'",
        "[[label]]\nname = 'x'",
        "[input]\nlisten = ['nowhere']\nexporters = ['::1']",
        "[input]\nlisten = ['[::]:2055']",
        "http = 'here'",
        "\nhttp = '0.0.0.0:80'",
        "http-names = [\n'srlg.example',\n'a:8080', '[::1]:80', '',\n'http://a']",
        "url = 'srlg.example'",
        "url = 'ftp://srlg.example'",
        "url = 'https://srlg.example/?page'",
        "learn = true",
        "[[rule]]\nname = 'r'\nthresholds = { 60s = 20 }\nabove-usual = 3",
        "state = 's'\n[[rule]]\nname = 'r'\nthresholds = { 60s = 20 }\nabove-usual = 1",
        "silent-after = '999ms'",
        "silent-after = '1m'\n[network]\nprobes = ['a']",
        "[[rule]]\nname = 'r'\nthresholds = { 60s = 20 }\nhold = '2m'\nunconfirmed-after = '119s'",
        "[[rule]]\nname = 'r'\nthresholds = { 60s = 20 }\nunconfirmed-after = '59s'",
        "[[view]]\nname = 'x/y'",
        "[[view]]\nname = 'x'\nmeasure = 'outside'",
        "[[view]]\nname = 'x'\npairs = 100000000000",
        "[[view]]\nname='x'\n[[view]]\nname='y'\n[[rule]]\nname='r'\nviews=['x']\nthresholds={60s=9}",
    ] {
        let problems = Config::parse(text).unwrap_err().to_string();
        assert_eq!(numbers(&problems).len(), problems.lines().count(), "{problems}");
        texts += &format!("{text}\n    {}\n", problems.replace('\n', "\n    "));
    }
    insta::assert_snapshot!("problems_of_many", texts);
}

#[test]
fn an_exporter_is_silent_after_a_second_at_the_earliest() {
    for (text, seconds) in [("1s", Some(1)), ("2m", Some(120)), ("999ms", None), ("0s", None)] {
        let read = Config::parse(&format!("silent-after = '{text}'")).ok();
        let after = read.and_then(|config| config.general.silent_after);
        assert_eq!(after.map(|after| after.as_secs()), seconds, "{text}");
    }
}

#[test]
fn an_unconfirmed_end_comes_no_sooner_than_a_confirmed_one() {
    for (keys, after_ms) in [
        ("", 86_400_000),
        ("hold = '2d'", 172_800_000),
        ("hold = '2m'\nunconfirmed-after = '2m'", 120_000),
    ] {
        let text = format!("[[rule]]\nname = 'r'\nthresholds = {{ 60s = 20 }}\n{keys}");
        let config = Config::parse(&text).unwrap();
        let rule = config.views[0].rules.rule(host("192.0.2.1")).unwrap();
        assert_eq!(rule.unconfirmed_after_ms(), after_ms, "{keys}");
    }
}

#[test]
fn labels_of_an_address_apply_to_its_network_if_networks_are_hosts() {
    let text = "inside = ['2001:db8::/32']\n[[rule]]\nname = 'all'\nthresholds = { 60s = 1024 }\n\
        [[rule]]\nname = 'far'\nnetworks = ['2a00:1:2:3::7', '192.0.2.7']\nthresholds = { 60s = 9000 }\n\
        [[allow]]\nwhy = 'ours'\nhosts = ['2a00:1:2:4::9']\n";
    let config = Config::parse(text).unwrap();
    let rule = |view: usize, of: &str| {
        config.views[view].rules.rule(host(of)).map(|rule| rule.name.clone())
    };
    assert_eq!(config.views[2].name, "outside");
    for (of, outside, inside) in [
        // In the view outside, a /64 counts as one host.
        ("2a00:1:2:3::", Some("far"), Some("all")),
        // Only the contacts of the host are ignored there.
        ("2a00:1:2:4::", Some("all"), Some("all")),
        ("2a00:1:2:4::9", Some("all"), None),
        ("192.0.2.7", Some("far"), Some("far")),
        ("192.0.2.6", Some("all"), Some("all")),
    ] {
        assert_eq!((rule(2, of).as_deref(), rule(0, of).as_deref()), (outside, inside), "{of}");
    }
}

#[test]
fn a_network_that_probes_would_refuse_is_a_problem_of_the_file() {
    let network =
        "state = '/var/lib/srlg'\n[network]\nprobes = ['a']\nfolder = '/etc/srlg/network'\n";
    let views = |count| {
        let views = (0..count).map(|at| format!("[[view]]\nname = 'v{at}'\n"));
        let rule = "[[rule]]\nname = 'all'\nthresholds = { 1d = 9 }\n";
        views.chain([rule.to_owned()]).collect::<String>()
    };
    for (slice, count, lines) in [
        ("24h", 255, &[][..]),
        ("24h", 256, &[517]),
        ("1441m", 1, &[1, 10]),
        ("10000000000years", 1, &[1, 10]),
    ] {
        let text = format!("slice = '{slice}'\n{network}{}", views(count));
        match Config::parse(&text) {
            Ok(config) => {
                Network::of(&config, 7).check().unwrap();
                assert!(lines.is_empty(), "{slice}");
            }
            Err(problems) => assert_eq!(numbers(&problems.to_string()), lines, "{problems}"),
        }
    }
}

#[test]
fn a_reload_names_keys_that_need_a_restart_and_applies_the_others() {
    let before = Config::parse(WHOLE).unwrap();
    let threshold = |config: &Config| {
        let rule = config.views[0].rules.rule(host("198.51.100.99"));
        rule.map(|rule| rule.windows[&120].threshold)
    };
    let mut texts = String::new();
    for (from, to) in [
        ("\"customers\"", "\"clients\""),
        ("500ms", "1s"),
        ("sampling = 100", "sampling = 10"),
        ("\"scanners\"", "\"scans\""),
        ("http = ", "keep = '1d'\nhttp = "),
        ("http = ", "url = 'https://srlg.example'\nhttp = "),
        ("memory = 16000000", "memory = 32000000"),
        ("role = \"source\"", "role = \"any\""),
    ] {
        let text = WHOLE.replace("60s = 1024", "60s = 2048").replace(from, to);
        let mut config = before.clone();
        let logged = config.take_over(Config::parse(&text).unwrap());
        assert_eq!(logged.len(), usize::from(from != "\"customers\""), "{logged:?}");
        let expected = if to == "1s" { 1024.0 } else { 2048.0 };
        assert_eq!(threshold(&config), Some(expected), "{to}");
        texts += &format!("{logged:?}\n");
    }
    for (from, to) in [("60s = 1024", "60s = 512"), ("1h = 8192", "2h = 8192")] {
        let mut config = before.clone();
        let logged = config.take_over(Config::parse(&WHOLE.replace(from, to)).unwrap());
        assert_eq!(threshold(&config), Some(1024.0));
        texts += &format!("{logged:?}\n");
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn detectors_use_a_keyed_hash() {
    let config = Config::parse("inside = ['10.0.0.0/8']").unwrap();
    let hashes: Vec<_> = config.views.iter().map(|view| view.sizes.hash).collect();
    assert_eq!(hashes, [HashFamily::HalfSip13; 7]);
}

#[test]
fn what_names_the_view_of_a_direction_applies_to_its_replies() {
    let text = "[[rule]]\nname = 'in'\nviews = ['fan-in']\nthresholds = { 60s = 500 }\n\
        [[rule]]\nname = 'out'\nviews = ['fan-out']\nthresholds = { 60s = 900 }\n\
        [[sink]]\nname = 's'\ntype = 'file'\npath = '/tmp/s'\nonly = { views = ['fan-in'] }\n";
    let rules = rules_of(text).into_iter().map(|(view, rules)| (view, rules[0].1));
    let rules: Vec<_> = rules.filter(|(view, _)| view.starts_with("replies")).collect();
    assert_eq!(rules, [("replies-in".to_owned(), 500.0), ("replies-out".to_owned(), 900.0)]);
    let sinks = Config::parse(text).unwrap().sinks;
    assert_eq!(sinks[0].only.views, ["fan-in", "replies-in"]);
}

#[test]
fn learning_lowers_the_smallest_count_of_views_of_unknown_load_and_notifies_no_sink() {
    let text = "state = 's'\ninside = ['10.0.0.0/8']\n[[sink]]\ntype = 'file'\npath = '/f'";
    let [usual, learning] =
        ["false", "true"].map(|learn| Config::parse(&format!("learn = {learn}\n{text}")).unwrap());
    let least = |config: &Config| {
        let views = config.views.iter();
        views.map(|view| (view.name.clone(), view.sizes.threshold)).collect::<Vec<_>>()
    };
    for ((view, usual), (_, learning)) in least(&usual).into_iter().zip(least(&learning)) {
        let expected = if view.starts_with("networks") { usual } else { LEAST_THRESHOLD };
        assert_eq!(learning, expected, "{view}");
    }
    assert_eq!((usual.active_sinks().len(), learning.active_sinks().len()), (1, 0));
    assert_eq!(learning.sinks.len(), 1, "the sink is checked all the same");
}

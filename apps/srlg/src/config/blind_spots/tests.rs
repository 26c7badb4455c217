use srlg_input::contact::{ContactFilter, Prefixes, Role};

use super::*;
use crate::config::file::PREFIXES;

/// A rule with the default threshold.
const RULE: &str = "[[rule]]\nname = 'all'\nthresholds = { 60s = 1024 }\n";

/// A configuration without views, rules and inside networks.
const INPUT: &str = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n";

fn spots(text: &str) -> Vec<BlindSpot> {
    blind_spots(&Config::parse(text).unwrap())
}

/// Returns the blind spots of `text` that the default configuration does not have.
fn unusual_spots(text: &str) -> Vec<BlindSpot> {
    let is_usual = |spot: &BlindSpot| {
        matches!(
            spot,
            BlindSpot::FewSources(_)
                | BlindSpot::SlowScans(_)
                | BlindSpot::PortScans(_)
                | BlindSpot::ReplyScans(_)
        )
    };
    spots(text).into_iter().filter(|spot| !is_usual(spot)).collect()
}

fn unreachable(text: &str) -> Vec<Unreachable> {
    let spots = spots(&format!("{text}\n{INPUT}")).into_iter();
    let of = |spot| match spot {
        BlindSpot::Unreachable(it) => Some(it),
        _ => None,
    };
    spots.filter_map(of).collect()
}

/// Returns the number of peers and the remedy of each of `found`.
fn counts(found: &[Unreachable]) -> Vec<(u128, Remedy)> {
    found.iter().map(|it| (it.peers.count, it.remedy)).collect()
}

/// Returns the IP version and the unreachable thresholds of each of `found`.
fn thresholds(found: &[Unreachable]) -> Vec<(Option<Version>, Vec<f64>)> {
    let of = |it: &Unreachable| it.thresholds.iter().map(|(_, threshold)| *threshold).collect();
    found.iter().map(|it| (it.peers.version, of(it))).collect()
}

/// Returns the only unreachable threshold of the view `outside` for the inside networks `inside`, as the number of
/// peers and the remedy.
fn of_outside(inside: &str) -> Option<(u128, Remedy)> {
    let found = unreachable(&format!("inside = [{inside}]\n{RULE}"));
    assert!(found.len() <= 1 && found.iter().all(|it| it.view == "outside"), "{found:?}");
    counts(&found).first().copied()
}

#[test]
fn outside_hosts_have_at_most_the_inside_addresses_as_peers() {
    for (inside, most, half) in [
        ("'198.51.100.0/24'", 256, 128),
        ("'198.51.100.0/24', '192.0.2.0/25'", 384, 192),
        ("'198.51.100.0/24', '198.51.100.128/25', '198.51.100.7'", 256, 128),
        ("'198.51.100.0/28'", 16, 8),
        ("'198.51.100.0/29'", 8, 8),
        ("'2001:db8::/120'", 256, 128),
        (
            "'10.0.0.0/23', '10.0.2.0/24', '10.0.3.0/25', '10.0.3.128/26', '10.0.3.192/27', '10.0.3.224/28', '10.0.3.240/29', \
          '10.0.3.248/30', '10.0.3.252/31', '10.0.3.254'",
            1_023,
            511,
        ),
    ] {
        assert_eq!(of_outside(inside), Some((most, Remedy::Threshold(half))), "{inside}");
    }
    assert_eq!(of_outside("'198.51.100.0/30'"), Some((4, Remedy::Nothing)));
    // Each of these has 1,024 addresses or more, and IPv6 hosts have peers of their own.
    for inside in
        ["'10.0.0.0/22'", "'2001:db8::/118'", "'2001:db8::/32', '10.0.0.0/8'", "'0.0.0.0/0'"]
    {
        assert_eq!(of_outside(inside), None, "{inside}");
    }
}

#[test]
fn the_default_threshold_of_outside_hosts_is_at_most_half_of_the_inside_addresses() {
    for (inside, v4, v6) in [
        ("'198.51.100.0/24'", 128.0, 1_024.0),
        ("'198.51.100.0/24', '2001:db8::/48'", 128.0, 1_024.0),
        ("'198.51.100.0/24', '192.0.2.0/25'", 192.0, 1_024.0),
        ("'198.51.100.0/24', '2001:db8::/119'", 128.0, 256.0),
        ("'198.51.100.0/28'", 8.0, 1_024.0),
        ("'198.51.100.0/30'", 8.0, 1_024.0),
        ("'10.0.0.0/22'", 512.0, 1_024.0),
        ("'10.0.0.0/21'", 1_024.0, 1_024.0),
        ("'2001:db8::/32'", 1_024.0, 1_024.0),
        ("'2001:db8::/120'", 1_024.0, 128.0),
    ] {
        let config = Config::parse(&format!("inside = [{inside}]\n{INPUT}")).unwrap();
        let threshold = |view: &str, host: &str| {
            let view = config.views.iter().find(|it| it.name == view).unwrap();
            let rule = view.rules.rule(host.parse().unwrap()).unwrap();
            let thresholds: Vec<_> = rule.windows.values().map(|terms| terms.threshold).collect();
            (rule.name.clone(), thresholds)
        };
        let expected = |threshold| ("default".to_owned(), vec![threshold]);
        assert_eq!(threshold("outside", "203.0.113.9"), expected(v4), "{inside}");
        assert_eq!(threshold("outside", "2001:db8:f::9"), expected(v6), "{inside}");
        assert_eq!(threshold("fan-out", "203.0.113.9"), expected(1_024.0), "{inside}");
    }
    // A rule of the user keeps its number, and a view of the user has the usual rule.
    let of_views = "[[view]]\nname = 'outside'\nmeasure = 'outside'\nrole = 'source'\n";
    for text in [RULE, of_views] {
        let found = unreachable(&format!("inside = ['198.51.100.0/24']\n{text}"));
        assert_eq!(thresholds(&found), [(Some(Version::V4), vec![1_024.0])]);
    }
}

#[test]
fn the_slowest_scan_of_each_view_is_noted_until_it_has_a_long_window() {
    let slow = |text: &str| {
        let spots = spots(&format!("inside = ['198.51.100.0/24']\n{text}\n{INPUT}"));
        spots.into_iter().find_map(|spot| match spot {
            BlindSpot::SlowScans(it) => Some(it.to_string()),
            _ => None,
        })
    };
    let rule = |of: &str, thresholds: &str| {
        format!("[[rule]]\nname = 'r'\nviews = [{of}]\nthresholds = {{ {thresholds} }}\n")
    };
    let (both, inside) = ("'fan-in', 'fan-out', 'outside'", "'fan-in', 'fan-out'");
    let texts = [
        String::new(),
        rule(both, "60s = 1024, 10m = 4096"),
        rule(inside, "60s = 100, 1h = 8192") + &rule("'outside'", "10m = 60"),
    ];
    let texts = texts.map(|text| slow(&text).unwrap());
    insta::assert_snapshot!(texts.join("\n"));
    assert_eq!(slow(&rule(both, "60s = 100, 1h = 8192")), None);
    // Views of ports and of networks do not count scans of hosts.
    let ports = "[[view]]\nname = 'p'\nrole = 'source'\npeer = 'port'\n";
    let networks = "[[view]]\nname = 'n'\nrole = 'source'\nhost-prefix4 = 24\n";
    assert_eq!(slow(&format!("{ports}{networks}")), None);
}

#[test]
fn a_long_window_of_one_rule_does_not_help_the_hosts_of_another() {
    let general = "[[rule]]\nname = 'general'\nthresholds = { 60s = 1024 }\n";
    let guests = |thresholds: &str| {
        format!(
            "[[rule]]\nname = 'guests'\nnetworks = ['198.51.100.16/28']\nthresholds = {{ {thresholds} }}\n"
        )
    };
    let spots =
        |rules: &str| spots(&format!("inside = ['198.51.100.0/24']\n{rules}{INPUT}")).into_iter();
    let slow = |rules: &str| {
        let of = |spot| match spot {
            BlindSpot::SlowScans(it) => Some(it.slowest),
            _ => None,
        };
        let scans = spots(rules).find_map(of).unwrap_or_default().into_iter();
        scans.map(|it| (it.rule, it.views, it.threshold, it.window.as_secs())).collect::<Vec<_>>()
    };
    let of = |rule: &str, views: &[&str], threshold: f64, window| {
        let views = views.iter().map(|&view| view.to_owned()).collect::<Vec<_>>();
        (rule.to_owned(), views, threshold, window)
    };
    let of_general = of("general", &["fan-out", "outside", "replies-out"], 1_024.0, 60);
    // The view of outside hosts has no guests.
    let of_guests = of("guests", &["fan-out", "replies-out"], 512.0, 10);
    let with_long = general.to_owned() + &guests("60s = 64, 1h = 64");
    assert_eq!(slow(&with_long), std::slice::from_ref(&of_general));
    assert_eq!(slow(&(general.to_owned() + &guests("10s = 512"))), [of_general, of_guests.clone()]);
    let long = general.replace("60s", "1h");
    assert_eq!(slow(&(long.clone() + &guests("10s = 512"))), [of_guests]);
    assert_eq!(slow(&(long.clone() + &guests("60s = 64, 1h = 64"))), []);

    let short = |rules: &str| {
        spots(rules).find_map(|spot| match spot {
            BlindSpot::ShortWindows(it) => Some((it.views, it.window.as_secs())),
            _ => None,
        })
    };
    let of_views = |views: &[&str], window| {
        Some((views.iter().map(|&view| view.to_owned()).collect::<Vec<_>>(), window))
    };
    let inside = ["fan-in", "fan-out", "replies-in", "replies-out"];
    assert_eq!(short(&(general.to_owned() + &guests("10s = 64"))), of_views(&inside, 10));
    assert_eq!(short(&(general.to_owned() + &guests("10s = 64, 60s = 64"))), None);
    let all = ["fan-in", "fan-out", "outside", "replies-in", "replies-out"];
    let short_general = general.replace("60s", "30s");
    assert_eq!(short(&(short_general + &guests("10s = 64, 60s = 64"))), of_views(&all, 30));
}

#[test]
fn short_windows_of_flow_records_and_missing_directions_are_noted() {
    let texts = |text: &str| {
        let spots = spots(text).into_iter();
        let is_of =
            |spot: &BlindSpot| matches!(spot, BlindSpot::OneWay(_) | BlindSpot::ShortWindows(_));
        spots.filter(is_of).map(|spot| format!("{spot}\n")).collect::<String>()
    };
    let short = "[[rule]]\nname = 'r'\nthresholds = { 10s = 1024 }\n";
    let long = "[[rule]]\nname = 'r'\nthresholds = { 10s = 1024, 60s = 2048 }\n";
    let packets = "[input]\ninput = ['-']\n";
    let fan_in = "inside = ['198.51.100.0/24']\n[[view]]\nname = 'fan-in'\nrole = 'destination'\n";
    let outside = "host-prefix6 = 64\nmeasure = 'outside'\n";
    let fan_out = "[[view]]\nname = 'fan-out'\nrole = 'source'\n";
    for (text, has_note) in [
        (format!("{short}{INPUT}"), true),
        (format!("{short}{packets}"), false),
        (format!("{long}{INPUT}"), false),
        (format!("{fan_in}{INPUT}"), true),
        (format!("{fan_in}{outside}{fan_out}{INPUT}"), true),
        (format!("{fan_in}{fan_out}{INPUT}"), false),
        (format!("{fan_out}{INPUT}"), true),
    ] {
        assert_eq!(!texts(&text).is_empty(), has_note, "{text}");
    }
    let texts = [
        format!("{short}{INPUT}"),
        format!("{fan_in}{INPUT}"),
        format!("{fan_in}{outside}{INPUT}"),
        format!("{fan_out}host-prefix4 = 24\n{INPUT}"),
        format!("{fan_in}only = 'no-replies'\n{fan_out}only = 'no-replies'\n{INPUT}"),
    ]
    .map(|text| texts(&text));
    insta::assert_snapshot!(texts.concat());
}

#[test]
fn a_view_without_replies_needs_a_view_of_the_replies_in_the_opposite_direction() {
    let view = |name: &str, role: Role, more: &str| {
        format!("[[view]]\nname = '{name}'\nrole = '{role}'\n{more}\n")
    };
    let fan_in = |more: &str| view("fan-in", Role::Destination, more);
    let fan_out = |more: &str| view("fan-out", Role::Source, more);
    let missing = |views: &str| {
        let of = |spot| match spot {
            BlindSpot::OneWay(it) => Some((it.view, it.role, it.only, it.measure, it.prefixes)),
            _ => None,
        };
        let spots = spots(&format!("inside = ['198.51.100.0/24']\n{views}{INPUT}"));
        spots.into_iter().filter_map(of).collect::<Vec<_>>()
    };
    let of = |view: &str, role, only| (view.to_owned(), role, only, Side::Inside, PREFIXES);
    let (all, replies) = (ContactFilter::All, ContactFilter::Replies);
    let in_requests = of("fan-in", Role::Source, replies);
    let out_requests = of("fan-out", Role::Destination, replies);
    let requests = "only = 'no-replies'";
    let both = fan_in(requests) + &fan_out(requests);
    let replies_out = view("replies-out", Role::Source, "only = 'replies'");
    let replies_in = view("replies-in", Role::Destination, "only = 'replies'");
    assert_eq!(missing(""), []);
    assert_eq!(missing(&fan_in("")), [of("fan-in", Role::Source, all)]);
    assert_eq!(missing(&fan_out("")), [of("fan-out", Role::Destination, all)]);
    assert_eq!(missing(&fan_in(requests)), std::slice::from_ref(&in_requests));
    assert_eq!(missing(&both), [in_requests.clone(), out_requests.clone()]);
    assert_eq!(missing(&(both.clone() + &replies_out)), std::slice::from_ref(&out_requests));
    assert_eq!(missing(&(both.clone() + &replies_in)), std::slice::from_ref(&in_requests));
    assert_eq!(missing(&(both.clone() + &replies_in + &replies_out)), []);
    assert_eq!(missing(&(fan_in(requests) + &fan_out(""))), std::slice::from_ref(&in_requests));
    // Replies of hosts with other prefixes do not count.
    let networks = replies_out.clone() + "host-prefix4 = 24\n";
    let of_networks = (
        "replies-out".to_owned(),
        Role::Destination,
        all,
        Side::Inside,
        Prefixes { host4: 24, ..PREFIXES },
    );
    let with_networks = both + &replies_in + &networks;
    assert_eq!(missing(&with_networks), [in_requests, of_networks]);
    // A scan by an outside host, and views of ports and of both directions, need no such view.
    for more in ["measure = 'outside'", "peer = 'port'\nonly = 'initiated'"] {
        assert_eq!(missing(&fan_out(more)), [], "{more}");
    }
    assert_eq!(missing(&view("any", Role::Any, requests)), []);
}

#[test]
fn sampling_hides_peers_with_few_packets() {
    let peers = |rate, packets: f64| {
        let rate = NonZeroU32::new(rate).unwrap();
        Sampled { rate, threshold: 1_024.0, too_small: Vec::new() }.peers(packets).round()
    };
    assert_eq!(
        [1.0, 50.0, 1_000.0].map(|packets| peers(1_000, packets)),
        [1_024_000.0, 20_986.0, 1_619.0]
    );
    assert_eq!([1.0, 10.0].map(|packets| peers(10, packets)), [10_240.0, 1_572.0]);
}

#[test]
fn hosts_of_each_ip_version_reach_the_peers_of_that_version() {
    let (v4, v6) = (Some(Version::V4), Some(Version::V6));
    let found = unreachable(&format!("inside = ['198.51.100.0/24', '2001:db8::/32']\n{RULE}"));
    assert_eq!(thresholds(&found), [(v4, vec![1_024.0])]);
    assert_eq!(counts(&found), [(256, Remedy::Threshold(128))]);
    let both = "inside = ['198.51.100.0/24', '2001:db8::/119']";
    let found = unreachable(&format!("{both}\n{RULE}"));
    assert_eq!(thresholds(&found), [(v4, vec![1_024.0]), (v6, vec![1_024.0])]);
    assert_eq!(counts(&found), [(256, Remedy::Threshold(128)), (512, Remedy::Threshold(256))]);
    let rule = "[[rule]]\nname = 'r'\nnetworks = ['::/0']\nthresholds = { 60s = 500, 1h = 600, 2h = 512, 3h = 513 }";
    let found = unreachable(&format!("{both}\n{rule}"));
    assert_eq!(thresholds(&found), [(v6, vec![600.0, 513.0])]);
    assert_eq!(counts(&found), [(512, Remedy::Threshold(256))]);
}

#[test]
fn peers_are_counted_by_their_prefix() {
    let view = |inside: &str, more: &str| {
        let view = "[[view]]\nname = 'v'\nmeasure = 'outside'";
        counts(&unreachable(&format!("inside = [{inside}]\n{view}\n{more}")))
    };
    // The default prefix length of IPv6 peers is 64.
    assert_eq!(view("'2001:db8::/64'", ""), [(1, Remedy::Prefix(128))]);
    assert_eq!(view("'2001:db8::/64'", "peer-prefix6 = 128"), []);
    assert_eq!(view("'2001:db8::/55', '2001:db8:0:20::/60'", ""), [(512, Remedy::Prefix(128))]);
    assert_eq!(view("'2001:db8::1', '2001:db8::2'", ""), [(1, Remedy::Nothing)]);
    assert_eq!(view("'2001:db8::/119'", ""), [(1, Remedy::Prefix(128))]);
    assert_eq!(view("'10.0.0.0/16'", "peer-prefix4 = 24"), [(256, Remedy::Prefix(32))]);
    assert_eq!(view("'10.0.0.0/16'", "peer-prefix4 = 26"), []);
    let anywhere = unreachable("[[view]]\nname = 'v'\npeer-prefix4 = 8\npeer-prefix6 = 8");
    assert_eq!(counts(&anywhere), [(256, Remedy::Prefix(32)), (256, Remedy::Prefix(128))]);
}

#[test]
fn peers_with_ports_are_counted_with_the_ports_of_all_protocols() {
    let view = |more: &str, threshold: u32| {
        let view =
            "inside = ['192.0.2.1']\n[[view]]\nname = 'v'\nmeasure = 'outside'\nrole = 'source'";
        let rule = format!("[[rule]]\nname = 'r'\nthresholds = {{ 60s = {threshold} }}");
        let found = counts(&unreachable(&format!("{view}\n{more}\n{rule}")));
        found.into_iter().map(|(most, _)| most).collect::<Vec<_>>()
    };
    assert_eq!(view("", 9), [1]);
    for peer in ["port", "address+port"] {
        let syn = format!("only = 'tcp-syn'\npeer = '{peer}'");
        assert_eq!(view(&syn, 65_535), []);
        assert_eq!(view(&syn, 65_536), [65_535]);
        // TCP, UDP, DCCP, SCTP and UDP-Lite have ports.
        assert_eq!(view(&format!("peer = '{peer}'"), 65_536), []);
    }
}

#[test]
fn rules_for_hosts_that_a_view_does_not_count_are_left_out() {
    let all = "[[rule]]\nname = 'all'\nthresholds = { 60s = 100 }\n";
    let servers = |networks: &str| {
        let servers = format!(
            "[[rule]]\nname = 'servers'\nnetworks = {networks}\nthresholds = {{ 60s = 20000 }}"
        );
        let found = unreachable(&format!(
            "inside = ['198.51.100.0/25', '198.51.100.128/25']\n{all}{servers}"
        ));
        found.into_iter().map(|it| it.view).collect::<Vec<_>>()
    };
    assert_eq!(servers("['198.51.100.0/28']"), Vec::<String>::new());
    assert_eq!(servers("['198.51.100.0/24']"), Vec::<String>::new());
    assert_eq!(servers("['198.51.0.0/16']"), ["outside"]);
    assert_eq!(servers("['203.0.113.0/24']"), ["outside"]);
    // Views of inside hosts do not count hosts of this rule.
    let view = "inside = ['198.51.100.0/24']\n[[view]]\nname = 'v'\npeer-prefix4 = 8\n[[view]]\nname = 'w'";
    let rules = "[[rule]]\nname = 'r'\nnetworks = ['203.0.113.0/24']\nthresholds = { 60s = 300 }";
    assert_eq!(unreachable(&format!("{view}\n{rules}")), []);
}

#[test]
fn sampling_is_noted_with_the_lowest_threshold() {
    let rules = "[[rule]]\nname = 'r'\nthresholds = { 60s = 2000, 1h = 300 }\n[[rule]]\nname = 's'\nnetworks = ['192.0.2.0/24']\nthresholds = { 1h = 500 }\n";
    let of = |rate: u32| unusual_spots(&format!("{rules}{INPUT}sampling = {rate}"));
    let rate = NonZeroU32::new(1_000).unwrap();
    assert_eq!(
        of(1_000),
        [BlindSpot::Sampled(Sampled { rate, threshold: 300.0, too_small: Vec::new() })]
    );
    assert_eq!(of(1), []);
    assert_eq!(unusual_spots(&format!("{rules}{INPUT}")), []);
}

#[test]
fn views_with_too_few_peers_for_a_sampling_rate_are_named() {
    let sampled = |inside: &str, rate| {
        let Config { views, .. } = Config::parse(&format!("inside = [{inside}]\n{INPUT}")).unwrap();
        let Sampled { threshold, too_small, .. } =
            Sampled::new(NonZeroU32::new(rate).unwrap(), &views).unwrap();
        (threshold, too_small)
    };
    let outside = |version| ("outside".to_owned(), Some(version));
    // Half of 256 addresses with one packet each are seen as 64 on average.
    assert_eq!(sampled("'198.51.100.0/24'", 2), (128.0, vec![]));
    assert_eq!(sampled("'198.51.100.0/24'", 3), (1_024.0, vec![outside(Version::V4)]));
    let both = [Version::V4, Version::V6].map(outside).to_vec();
    assert_eq!(sampled("'198.51.100.0/24', '2001:db8::/120'", 3), (1_024.0, both));
    assert_eq!(sampled("'198.51.100.0/24', '2001:db8::/32'", 1_000).1, [outside(Version::V4)]);
    assert_eq!(sampled("'10.0.0.0/8'", 1_000), (1_024.0, vec![]));
}

#[test]
fn a_sampling_rate_that_becomes_known_is_noted_once() {
    let Config { views, .. } = Config::parse(INPUT).unwrap();
    let rates = [1, 100, 100, 50, 200, 100];
    let noted = |configured: Option<u32>| {
        let mut notes = SamplingNotes::new(configured.and_then(NonZeroU32::new));
        let rates = rates.into_iter().filter_map(NonZeroU32::new);
        let noted = rates.filter_map(|rate| notes.take(rate, &views));
        noted.map(|note| (note.rate.get(), note.threshold)).collect::<Vec<_>>()
    };
    assert_eq!(noted(None), [(100, 1_024.0), (200, 1_024.0)]);
    assert_eq!(noted(Some(100)), [(200, 1_024.0)]);
    assert_eq!(noted(Some(1_000)), []);
}

#[test]
fn texts_of_blind_spots() {
    let files = [
        "inside = ['198.51.100.0/24', '2001:db8::/32']\n[[rule]]\nname = 'all'\nthresholds = { 60s = 1024, 1h = 8192 }\n",
        "inside = ['198.51.100.0/30']\n",
        "inside = ['198.51.100.0/24']\n",
        "inside = ['2001:db8::/64']\n[[view]]\nname = 'networks'\nmeasure = 'outside'\n",
        "[[view]]\nname = 'blocks'\npeer-prefix4 = 8\n",
        "[[view]]\nname = 'ports'\npeer = 'port'\nonly = 'tcp-syn'\n[[rule]]\nname = 'r'\nthresholds = { 60s = 70000 }\n",
        "inside = ['192.0.2.1']\n[[view]]\nname = 'services'\nmeasure = 'outside'\npeer = 'address+port'\nonly = 'tcp-syn'\n\
         [[rule]]\nname = 'r'\nthresholds = { 60s = 70000 }\n",
    ];
    let texts = files.map(|text| {
        let spots = unusual_spots(&format!("{text}{INPUT}sampling = 1000"));
        spots.iter().map(|spot| format!("{spot}\n")).collect::<String>()
    });
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn texts_of_the_blind_spots_of_the_default_configuration() {
    let spots = spots(&format!("inside = ['10.0.0.0/8', '2001:db8::/32']\n{INPUT}"));
    let texts = spots.iter().map(|spot| format!("{spot}\n")).collect::<String>();
    insta::assert_snapshot!(texts);
}

#[test]
fn floods_from_few_sources_are_noted_until_each_rule_has_a_low_threshold() {
    let of = |thresholds: &str, guests: &str| {
        let rules = format!(
            "[[rule]]\nname = 'r'\nthresholds = {{ {thresholds} }}\n\
             [[rule]]\nname = 'guests'\nnetworks = ['198.51.100.16/28']\nthresholds = {{ {guests} }}\n"
        );
        let spots = spots(&format!("inside = ['198.51.100.0/24']\n{rules}{INPUT}"));
        let least = spots.into_iter().find_map(|spot| match spot {
            BlindSpot::FewSources(it) => Some(it.least),
            _ => None,
        });
        let least = least.unwrap_or_default().into_iter();
        least.map(|it| (it.rule, it.views, it.threshold, it.window.as_secs())).collect::<Vec<_>>()
    };
    let row = |rule: &str, threshold: f64, window| {
        let views = ["fan-in", "replies-in"].map(ToOwned::to_owned).to_vec();
        (rule.to_owned(), views, threshold, window)
    };
    let both = [row("r", 512.0, 3_600), row("guests", 200.0, 60)];
    assert_eq!(of("60s = 1024, 10m = 512, 1h = 512", "60s = 200, 1h = 300"), both);
    assert_eq!(of("60s = 128", "60s = 200, 1h = 300"), both[1..]);
    assert_eq!(of("60s = 128", "60s = 1024, 1h = 128"), []);
}

#[test]
fn scans_that_no_view_counts_are_noted() {
    let of = |views: &str| {
        let spots = spots(&format!("inside = ['10.0.0.0/8']\n{views}{INPUT}"));
        let of_ports = spots.contains(&BlindSpot::PortScans(PortScans));
        let of_replies = spots.into_iter().find_map(|spot| match spot {
            BlindSpot::ReplyScans(it) => Some((it.views, it.threshold)),
            _ => None,
        });
        (of_ports, of_replies)
    };
    let view = |name: &str, more: &str| format!("[[view]]\nname = '{name}'\n{more}\n");
    let outside = |name: &str, only: &str| {
        view(name, &format!("measure = 'outside'\nrole = 'source'\nonly = '{only}'"))
    };
    let row = |views: &[&str]| Some((views.iter().map(|&it| it.to_owned()).collect(), 1_024.0));
    assert_eq!(of(""), (true, row(&["outside"])));
    for only in ["no-replies", "initiated", "tcp-syn"] {
        assert_eq!(of(&outside("a", only)), (true, row(&["a"])), "{only}");
        let both = outside("a", only) + &outside("b", "initiated");
        assert_eq!(of(&both), (true, row(&["a", "b"])), "{only}");
        for with_replies in ["all", "no-refusals", "replies"] {
            let both = outside("a", only) + &outside("b", with_replies);
            assert_eq!(of(&both), (true, None), "{only} {with_replies}");
        }
    }
    for (more, is_blind) in [
        ("role = 'destination'\npeer = 'port'", false),
        ("role = 'destination'\npeer = 'address+port'", false),
        ("role = 'destination'\npeer = 'port'\nonly = 'replies'", true),
        ("role = 'source'\npeer = 'port'", true),
        ("role = 'source'\npeer = 'port'\nmeasure = 'outside'", false),
        ("role = 'any'\npeer = 'port'", false),
        ("role = 'destination'\nhost = 'address+port'\nhost-prefix6 = 64", true),
    ] {
        assert_eq!(of(&view("v", more)), (is_blind, None), "{more}");
    }
}

/// Returns the configurations in the file `name` of the documentation.
fn documented(name: &str) -> Vec<String> {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    if name.ends_with(".toml") {
        return vec![text];
    }
    let blocks = text.split("```toml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap().to_owned());
    blocks.filter(|block| block.contains("inside = ")).collect()
}

#[test]
fn documented_configurations_find_a_scan_of_each_inside_network() {
    for name in ["first-alert.md", "many-sites.md", "srlg.example.toml"] {
        let files = documented(name);
        assert_eq!(files.len(), 1, "{name}");
        assert_eq!(unusual_spots(&files[0]), [], "{name}");
        let config = Config::parse(&files[0]).unwrap();
        let outside = config.views.iter().find(|view| view.name == "outside").unwrap();
        let scanner = "203.0.113.9".parse().unwrap();
        let terms = outside.rules.rule(scanner).unwrap().windows.values();
        let networks = outside.view.inside.iter().filter(|network| Version::V4.has(network));
        let smallest = networks.map(|it| 1_u32 << (32 - it.prefix_len())).min().unwrap();
        // A scan usually leaves out the first and the last address of a network.
        assert!(terms.clone().count() > 0, "{name}");
        assert!(terms.into_iter().all(|it| it.threshold <= f64::from(smallest - 2)), "{name}");
    }
}

//! Tests that a network description can be written and read again, and that invalid descriptions are rejected.

use super::*;
use srlg_host::config::HashFamily;
use srlg_input::contact::{HostKey, PeerKey};

use srlg_alerts::rules::AllowTarget;

fn network() -> Network {
    of_sizes(Sizes { hash: HashFamily::HalfSip13, seed: u64::MAX - 1, ..Sizes::default() })
}

fn of_sizes(sizes: Sizes) -> Network {
    let view = ViewOptions { inside: vec!["192.0.2.0/24".parse().unwrap()], ..Default::default() };
    let what = AllowTarget::Services(view.inside.clone(), vec![53]);
    let allows = vec![Allow { what, why: "names".to_owned() }];
    Network {
        slice_ms: 1000,
        grace_ms: 100,
        part_bytes: 1 << 20,
        most_pairs: 100_000,
        views: vec![NetworkView { name: "in".to_owned(), view, allows, sizes }],
    }
}

fn version(network: Network) -> NetworkVersion {
    NetworkVersion { id: VersionId { number: 3, tag: 0x5f3a_9c01 }, first_slice: 17, network }
}

fn read(json: &str) -> Result<NetworkVersion, NetworkError> {
    NetworkVersion::from_json(json.as_bytes(), "PLACE")
}

#[test]
fn a_version_is_read_as_it_was_written_to_the_last_bit_of_the_seed() {
    let paper = Sizes { seed: 1 << 63 | 1, ..Sizes::paper() };
    for version in [network(), of_sizes(paper)].map(version) {
        let json = String::from_utf8(version.to_json().unwrap()).unwrap();
        assert_eq!(read(&json).unwrap(), version);
    }
}

#[test]
fn views_that_count_something_else_are_another_network() {
    let with = |change: fn(&mut ViewOptions)| {
        let mut network = network();
        change(&mut network.views[0].view);
        let json = String::from_utf8(version(network.clone()).to_json().unwrap()).unwrap();
        assert_eq!(read(&json).unwrap().network, network);
        network
    };
    let ports = with(|view| view.peer = PeerKey::Port);
    let services = with(|view| view.host = HostKey::AddressPort);
    assert!(ports != network() && services != network() && ports != services);
    // An older probe can read the description of a view of addresses.
    let json = String::from_utf8(version(network()).to_json().unwrap()).unwrap();
    assert!(!json.contains("\"host\"") && !json.contains("\"peer\""), "{json}");
    let json = String::from_utf8(version(ports).to_json().unwrap()).unwrap();
    // A program that does not know a key or a value rejects the description.
    for (known, unknown) in [("\"port\"", "\"name\""), ("\"peer\"", "\"pear\"")] {
        let read = read(&json.replace(known, unknown));
        assert!(matches!(read, Err(NetworkError::Form { .. })), "{read:?}");
    }
}

#[test]
fn what_breaks_a_rule_is_refused() {
    let texts = [
        Network { slice_ms: 0, ..network() },
        Network { part_bytes: 100, ..network() },
        Network { most_pairs: (1 << 22) + 1, ..network() },
        of_sizes(Sizes { window: 0, ..Sizes::default() }),
        Network { views: Vec::new(), ..network() },
    ]
    .map(|network| {
        let error = network.check().unwrap_err();
        let json = String::from_utf8(version(network).to_json().unwrap()).unwrap();
        assert_eq!(read(&json).unwrap_err().to_string(), error.to_string());
        format!("{error:?}\n    {error}\n")
    });
    insta::assert_snapshot!(texts.concat());
}

#[test]
fn fields_that_are_missing_unknown_or_wrong_are_named() {
    let cases = [
        ("\"window\"", "\"windows\""),
        ("\"slice_ms\": 1000,", ""),
        ("fffffffffffffffe", "12"),
        ("half-sip-1-3", "md5"),
        ("\"cell_bits\": 18,", ""),
    ];
    let mut texts = String::new();
    for (old, new) in cases {
        let text = serde_json::to_string_pretty(&version(network())).unwrap();
        assert!(text.contains(old), "{text}");
        let error = read(&text.replace(old, new)).unwrap_err().to_string();
        assert!(!error.contains("fffffffffffffffe"), "the seed is a secret: {error}");
        texts += &error;
        texts.push('\n');
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn schemes_are_written_by_their_names() {
    let sizes = |network| {
        let text = serde_json::to_value::<Network>(network).unwrap();
        text["views"][0]["sizes"].clone()
    };
    assert_eq!(
        sizes(network())["scheme"],
        serde_json::json!({"tagged": {"cell_bits": 18, "lines": 461_600, "tags": 64}})
    );
    assert_eq!(sizes(network())["hash"], "half-sip-1-3");
    let finder = serde_json::json!(
        {"rows": 5, "column_bits": 17, "width": 8, "bit_stride": 5, "hot_limit": 16_384}
    );
    assert_eq!(
        sizes(of_sizes(Sizes::paper()))["scheme"],
        serde_json::json!(
            {"paper": {"finder": finder, "rows": 5, "columns": 131_072, "stride": 16}}
        )
    );
}

#[test]
fn a_version_has_one_folder_and_two_of_the_same_number_have_different_ones() {
    let root = tempfile::tempdir().unwrap();
    let first = VersionId::after(None).unwrap();
    let other = VersionId::after(None).unwrap();
    assert_eq!((first.number, other.number), (1, 1));
    assert_eq!(first.to_string().parse(), Ok(first));
    let folder = first.make_only_folder(root.path()).unwrap();
    fs::write(folder.join("file"), b"1").unwrap();
    fs::create_dir(root.path().join("mine")).unwrap();
    assert_eq!(first.make_only_folder(root.path()).unwrap(), folder);
    assert!(folder.join("file").exists());
    let next = other.make_only_folder(root.path()).unwrap();
    assert!(next != folder && next.exists() && !folder.exists());
    assert!(root.path().join("mine").exists());
    let later = VersionId { number: 7, tag: 0 }.make_only_folder(root.path()).unwrap();
    assert!(!next.exists());
    other.make_only_folder(root.path()).unwrap();
    assert!(later.exists(), "a later version is not removed for a former one");
    assert_eq!(VersionId::after(Some(other)).unwrap().number, 2);
}

#[test]
fn a_first_slice_beyond_all_time_stamps_is_refused() {
    let far = NetworkVersion { first_slice: u64::MAX / 1_000_000_000 + 1, ..version(network()) };
    let error = read(&String::from_utf8(far.to_json().unwrap()).unwrap()).unwrap_err();
    assert!(matches!(error, NetworkError::FirstSlice { .. }), "{error}");
}

#[test]
fn the_small_sketches_of_all_plans_are_valid() {
    for (threshold, window) in [(16, 1), (64, 60), (1024, 300), (20_000, 3600), (1024, 65_534)] {
        for (pairs, memory) in [(100_000, 1 << 20), (10_000_000, 1 << 28), (300_000_000, 1 << 30)] {
            let Ok(plan) = Sizes::for_load(threshold, window, pairs, memory) else { continue };
            let bytes = site_sizes(plan.config).validate().unwrap().recorder_bytes();
            assert!(bytes <= 4_300_000 && bytes <= memory, "{threshold} {window} {pairs}");
        }
    }
}

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use proptest::prelude::*;

use super::*;
use crate::mmdb::{Value, as_database, country_database, database};

fn lookup(files: &[(Content, Vec<u8>)]) -> OriginLookup {
    let open = |(content, file): &(Content, Vec<u8>)| {
        Database::parse(Path::new("made"), *content, file.clone()).unwrap()
    };
    OriginLookup { databases: files.iter().map(open).collect() }
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Generates IPv4 networks, and IPv6 networks outside the range in which the format stores IPv4 networks.
fn network() -> impl Strategy<Value = IpNet> {
    let v4 = (any::<u32>(), 1..=32_u8)
        .prop_map(|(bits, length)| Ipv4Net::new_assert(bits.into(), length).trunc().into());
    let v6 = (any::<u128>(), 3..=128_u8).prop_map(|(bits, length)| {
        let address = Ipv6Addr::from(bits >> 3 | 1 << 125);
        Ipv6Net::new_assert(address, length).trunc().into()
    });
    prop_oneof![v4, v6]
}

/// Returns the addresses directly before and after `network`, if they exist.
fn beside(network: IpNet) -> Vec<IpAddr> {
    let (first, last) = (network.network(), network.broadcast());
    let next = |address: IpAddr, step: i8| -> Option<IpAddr> {
        Some(match address {
            IpAddr::V4(it) => Ipv4Addr::from(it.to_bits().checked_add_signed(step.into())?).into(),
            IpAddr::V6(it) => Ipv6Addr::from(it.to_bits().checked_add_signed(step.into())?).into(),
        })
    };
    next(first, -1).into_iter().chain(next(last, 1)).collect()
}

proptest! {
    #[test]
    fn networks_are_found_by_their_first_and_last_address_and_not_beside(
        networks in prop::collection::vec(network(), 1..20),
    ) {
        let mut networks = networks;
        networks.sort_by_key(IpNet::prefix_len);
        networks.dedup();
        let record = |(at, network): (usize, &IpNet)| {
            let number = Value::U32(at as u32);
            (*network, Value::Map([("autonomous_system_number", number)].into()))
        };
        let records: Vec<_> = networks.iter().enumerate().map(record).collect();
        let lookup = lookup(&[(Content::As, database("made", &records))]);
        for network in &networks {
            let inside = [network.network(), network.broadcast()];
            for address in inside.into_iter().chain(beside(*network)) {
                // If several networks contain the address, the last one is the longest.
                let expected = networks.iter().rposition(|network| network.contains(&address));
                let found = lookup.get(address).asn;
                prop_assert_eq!(found, expected.map(|at| at as u32), "{}", address);
            }
        }
    }
}

#[test]
fn shares_are_parts_of_the_peers_that_have_an_address() {
    let of_as = as_database(&[
        ("192.0.2.0/24", 64_500, "Example Transit"),
        ("198.51.100.0/24", 64_501, "=HYPERLINK(\"x\")"),
        ("2001:db8:1::/48", 64_500, "Example Transit"),
    ]);
    let of_country = country_database(&[("192.0.2.0/25", "DE"), ("2001:db8::/32", "FR")]);
    let lookup = lookup(&[(Content::As, of_as), (Content::Country, of_country)]);
    let peers = ["192.0.2.1", "192.0.2.200 tcp/443", "198.51.100.9", "2001:db8:1:2::/64"];
    let peers = peers.into_iter().chain(["tcp/80", "203.0.113.1"]);
    let peers: Vec<Name> = peers.map(|peer| peer.parse().unwrap()).collect();
    let prefixes = [("198.51.100.0/24".parse().unwrap(), 0.5)];
    let PeerOrigins { origin_sample, top_as, top_countries, known } =
        lookup.of_peers(&peers, &prefixes);
    assert_eq!(origin_sample, Some(5));
    let [first, second] = &top_as[..] else { panic!("{top_as:?}") };
    assert_eq!((first.asn, first.as_name.as_deref()), (64_500, Some("Example Transit")));
    assert_eq!((first.share, second.asn, second.share), (3.0 / 5.0, 64_501, 1.0 / 5.0));
    let countries: Vec<_> =
        top_countries.iter().map(|it| (it.country.as_str(), it.share)).collect();
    assert_eq!(countries, [("DE", 0.2), ("FR", 0.2)]);
    let parts = |name: &str| {
        let origin = known.get(name)?;
        Some((origin.asn, origin.as_name.as_deref(), origin.country.as_deref()))
    };
    let (transit, other) = (Some("Example Transit"), Some("=HYPERLINK(\"x\")"));
    for (name, expected) in [
        ("192.0.2.1", Some((Some(64_500), transit, Some("DE")))),
        ("192.0.2.200 tcp/443", Some((Some(64_500), transit, None))),
        ("198.51.100.9", Some((Some(64_501), other, None))),
        ("2001:db8:1:2::/64", Some((Some(64_500), transit, Some("FR")))),
        ("198.51.100.0/24", Some((Some(64_501), other, None))),
        ("tcp/80", None),
        ("203.0.113.1", None),
    ] {
        assert_eq!(parts(name), expected, "{name}");
    }
}

#[test]
fn without_a_database_there_are_no_origins() {
    let origins = OriginLookup::default().of_peers(&[address("192.0.2.1").into()], &[]);
    assert_eq!(origins, PeerOrigins::default());
    assert_eq!(serde_json::to_string(&origins).unwrap(), "{}");
}

#[test]
fn at_most_eight_ases_are_named_the_largest_first() {
    let networks: Vec<_> = (0..10_u8).map(|at| format!("10.{at}.0.0/16")).collect();
    let records = networks.iter().zip(1..).map(|(network, asn)| (network.as_str(), asn, "name"));
    let file = as_database(&records.collect::<Vec<_>>());
    let lookup = lookup(&[(Content::As, file)]);
    // The last network has three peers, and all others have two.
    let peers = (0..21).map(|at| IpAddr::from([10, at % 10, 0, at]).into());
    let peers: Vec<Name> = peers.chain([address("10.9.0.77").into()]).collect();
    let top = lookup.of_peers(&peers, &[]).top_as;
    let top: Vec<_> = top.iter().map(|it| (it.asn, (it.share * 22.0).round() as u32)).collect();
    assert_eq!(top, [(1, 3), (10, 3), (2, 2), (3, 2), (4, 2), (5, 2), (6, 2), (7, 2)]);
}

#[test]
fn damaged_files_and_databases_of_something_else_are_refused() {
    let of_as = as_database(&[("192.0.2.0/24", 64_500, "Example Transit")]);
    let of_country = country_database(&[("192.0.2.0/24", "DE")]);
    let truncated = of_as[..of_as.len() - 100].to_vec();
    // A byte of the record becomes a pointer to an invalid position.
    let mut damaged = of_as.clone();
    let record = of_as.windows(16).position(|it| it == [0; 16]).unwrap() + 16;
    damaged[record] = 0x3f;
    let mut texts = String::new();
    for (content, file) in [
        (Content::As, b"<html>".to_vec()),
        (Content::As, Vec::new()),
        (Content::As, truncated),
        (Content::As, damaged),
        (Content::As, of_country.clone()),
        (Content::Country, of_as.clone()),
    ] {
        let error = Database::parse(Path::new("made"), content, file).err().unwrap();
        texts += &format!("{error:#}\n");
    }
    insta::assert_snapshot!(texts);
    let database = Database::parse(Path::new("made"), Content::Country, of_country).unwrap();
    assert_eq!(database.to_string(), "GeoLite2-Country of 2026-11-20, 0.0 MB in memory");
}

#[test]
fn a_record_of_another_kind_anywhere_is_refused() {
    let record = |network: &str, number| -> (IpNet, Value) {
        let fields = [("autonomous_system_number", number)];
        (network.parse().unwrap(), Value::Map(fields.into()))
    };
    for [good, bad] in [["10.0.0.0/8", "192.0.2.0/24"], ["192.0.2.0/24", "10.0.0.0/8"]] {
        let records = [record(good, Value::U32(64_500)), record(bad, "AS64501".into())];
        let file = database("made", &records);
        let error = Database::parse(Path::new("made"), Content::As, file).unwrap_err();
        let error = error.downcast::<MaxMindDbError>().unwrap();
        assert!(matches!(error, MaxMindDbError::Decoding { .. }), "{error}");
    }
}

#[test]
fn endless_and_huge_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let huge = folder.path().join("huge");
    fs::File::create(&huge).unwrap().set_len((1 << 30) + 1).unwrap();
    let texts = [Path::new("/dev/zero"), &huge].map(|path| {
        let error = Database::open(path, Content::As).unwrap_err();
        format!("{error:#}").replace(folder.path().to_str().unwrap(), "DIR")
    });
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn long_names_are_cut() {
    // The writer supports texts of up to 284 bytes.
    let long = "é".repeat(142);
    let lookup = lookup(&[
        (Content::As, as_database(&[("192.0.2.0/24", 64_500, &long)])),
        (Content::Country, country_database(&[("192.0.2.0/24", &long)])),
    ]);
    let Origin { asn, as_name, country } = lookup.get(address("192.0.2.1"));
    let expected = Some("é".repeat(80));
    assert_eq!((asn, as_name, country), (Some(64_500), expected.clone(), expected));
}

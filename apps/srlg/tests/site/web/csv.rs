//! Downloads of an incident's peers as CSV.

use serde_json::{Value, json};
use srlg_alerts::Status;
use srlg_alerts::notification::Notification;
use srlg_alerts::origins::{Origin, PeerOrigins};
use srlg_alerts::series::{AlertPoint, OwnedPoint};
use srlg_notify::store::Store;
use srlg_system::now_ms;
use srlg_web::server::Web;

use super::made::{answer, ask, get, overview, start_with};
use crate::sinks::made::notifications;

/// Starts a server with one ended incident. Returns the server and the ID of the incident.
fn start() -> (Web, String) {
    let (web, id, _) = start_with_store();
    (web, id)
}

/// Acts like [`start`], and also returns the database.
fn start_with_store() -> (Web, String, Store) {
    let origin = |asn, name: &str, country: Option<&str>| Origin {
        asn: Some(asn),
        as_name: Some(name.to_owned()),
        country: country.map(str::to_owned),
    };
    let known = [
        ("203.0.113.9", origin(64_500, "Example, Inc.", Some("DE"))),
        ("2001:db8::/64", origin(64_501, "=1+1", None)),
        ("203.0.113.0/24", origin(64_500, "Example, Inc.", Some("DE"))),
    ];
    let known = known.map(|(name, origin)| (name.to_owned(), origin)).into();
    let mut notifications = notifications(1);
    let Notification { peers, top_prefixes, origins, .. } = &mut notifications[0];
    *peers = ["203.0.113.9", "2001:db8::/64", "198.51.100.1 tcp/443"]
        .map(|peer| peer.parse().unwrap())
        .into();
    *top_prefixes = vec![("203.0.113.0/24".parse().unwrap(), 0.25)];
    *origins = PeerOrigins { origin_sample: Some(3), known, ..PeerOrigins::default() };
    assert_eq!(notifications[1].status, Status::End);
    let store = Store::open(None).unwrap();
    store.add(&notifications, &[]).unwrap();
    let (web, _overviews) = start_with(overview(now_ms()), &store);
    (web, notifications[0].id.to_string(), store)
}

#[test]
fn peers_and_networks_of_an_incident_are_files_with_their_origins() {
    let (web, id) = start();
    let peers = "peer,asn,as_name,country\r\n\
        203.0.113.9,64500,\"Example, Inc.\",DE\r\n\
        2001:db8::/64,64501,'=1+1,\r\n\
        198.51.100.1 tcp/443,,,\r\n";
    let prefixes = "prefix,share,asn,as_name,country\r\n\
        203.0.113.0/24,0.25,64500,\"Example, Inc.\",DE\r\n";
    for (name, expected) in [("peers", peers), ("prefixes", prefixes)] {
        let (status, head, body) = get(&web, &format!("/api/v1/incidents/{id}/{name}.csv"));
        assert_eq!((status, body.as_str()), (200, expected));
        let disposition =
            format!("content-disposition: attachment; filename=\"srlg-{id}-{name}.csv\"");
        for header in ["content-type: text/csv; charset=utf-8", &disposition] {
            assert!(head.lines().any(|line| line == header), "no {header} in {head}");
        }
    }
}

#[test]
fn the_series_of_an_incident_is_a_file_with_empty_cells_in_gaps() {
    let (web, id, store) = start_with_store();
    let point = |time_ms, peers, rate| OwnedPoint {
        owner: id.parse().unwrap(),
        point: AlertPoint {
            time_ms,
            peers,
            packets_per_second: rate,
            bits_per_second: rate.map(|it| 1_000 * it),
        },
    };
    let points = [
        point(5_000, Some(1_100), None),
        point(6_000, Some(1_200), Some(77)),
        point(9_000, None, None),
    ];
    let head = "time_ms,peers,packets_per_second,bits_per_second\r\n";
    let path = format!("/api/v1/incidents/{id}/series");
    assert_eq!(get(&web, &format!("{path}.csv")).2, head);
    assert_eq!(store.add_points(1_000, &points), 0);
    // The points are found before and after they are stored.
    for _ in 0..2 {
        let (status, file_head, body) = get(&web, &format!("{path}.csv"));
        let rows = "5000,1100,,\r\n6000,1200,77,77000\r\n7000,,,\r\n9000,,,\r\n";
        assert_eq!((status, body), (200, format!("{head}{rows}")));
        let disposition =
            format!("content-disposition: attachment; filename=\"srlg-{id}-series.csv\"");
        assert!(file_head.lines().any(|line| line == disposition), "{file_head}");
        let columns: Value = serde_json::from_str(&get(&web, &path).2).unwrap();
        let expected = json!({
            "step_ms": 1_000,
            "times_ms": [5_000, 6_000, 7_000, 9_000],
            "peers": [1_100, 1_200, null, null],
            "packets_per_second": [null, 77, null, null],
            "bits_per_second": [null, 77_000, null, null],
        });
        assert_eq!(columns, expected);
        store.store_points().unwrap();
    }
}

#[test]
fn files_of_peers_are_refused_as_all_else_is() {
    let (web, id) = start();
    for (path, host, expected) in [
        (format!("{id}/peers.csv"), "srlg.example", 421),
        ("x/peers.csv".to_owned(), "localhost", 400),
        ("0000000000000000/prefixes.csv".to_owned(), "localhost", 404),
        (format!("{id}/other.csv"), "localhost", 404),
        ("x/series".to_owned(), "localhost", 400),
        ("0000000000000000/series".to_owned(), "localhost", 404),
        ("0000000000000000/series.csv".to_owned(), "localhost", 404),
    ] {
        let path = format!("/api/v1/incidents/{path}");
        let (status, head, _) = answer(ask(web.address(), &path, host));
        assert_eq!(status, expected, "{path}");
        assert!(head.contains("content-type: application/json"), "{path}: {head}");
    }
}

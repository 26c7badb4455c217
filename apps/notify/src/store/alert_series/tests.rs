use super::*;
use crate::store::tests::notifications;
use srlg_alerts::series::MOST_POINTS;

/// Start of the incidents, in milliseconds since the Unix epoch.
const START: u64 = 1_700_000_000_000;

fn id(number: u64) -> AlertId {
    format!("{number:016x}").parse().unwrap()
}

fn point(owner: AlertId, second: u64) -> OwnedPoint {
    let point = AlertPoint {
        time_ms: START + second * 1_000,
        peers: Some(2_000 + second),
        packets_per_second: Some(100),
        bits_per_second: None,
    };
    OwnedPoint { owner, point }
}

fn add(store: &Store, owner: AlertId, seconds: std::ops::Range<u64>) -> usize {
    let points: Vec<OwnedPoint> = seconds.map(|second| point(owner, second)).collect();
    store.add_points(1_000, &points)
}

/// Returns the seconds of the points of an incident, according to their counts.
fn seconds(store: &Store, id: AlertId) -> Vec<u64> {
    let series = store.alert_series(id).unwrap();
    series.points().filter_map(|point| Some(point.peers? - 2_000)).collect()
}

#[test]
fn points_are_found_before_and_after_they_are_stored_and_by_the_next_program() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    let reader = store.reader().unwrap();
    // The key of an ID with the highest bit is negative.
    let ids = [id(1), id(u64::MAX)];
    let mut expected = Vec::new();
    for batch in 0..3 {
        let next = batch * 10..batch * 10 + 10;
        expected.extend(next.clone());
        ids.iter().for_each(|id| assert_eq!(add(&store, *id, next.clone()), 0));
        for is_stored in [false, true] {
            if is_stored {
                store.store_points().unwrap();
                assert_eq!(store.points().count, 0);
            }
            for id in ids {
                assert_eq!(seconds(&store, id), expected);
                assert_eq!(seconds(&reader, id), expected);
            }
        }
    }
    // The program is killed while points wait.
    add(&store, ids[0], 30..40);
    drop((store, reader));
    let store = Store::open(Some(folder.path())).unwrap();
    assert_eq!(seconds(&store, ids[0]), expected);
    add(&store, ids[0], 50..52);
    store.store_points().unwrap();
    let points: Vec<AlertPoint> = store.alert_series(ids[0]).unwrap().points().collect();
    let peers: Vec<_> = points[29..].iter().map(|it| it.peers).collect();
    assert_eq!(peers, [Some(2_029), None, Some(2_050), Some(2_051)], "the time between is a gap");
    assert!(seconds(&store, id(2)).is_empty());
}

#[test]
fn a_series_has_the_same_points_however_often_it_is_stored() {
    let store = Store::open(None).unwrap();
    let [once, often] = [id(1), id(2)];
    for second in 0..5_000 {
        [once, often].iter().for_each(|id| assert_eq!(add(&store, *id, second..second + 1), 0));
        if second % 10 == 9 {
            let rest = store.points().by_incident.remove(&once);
            store.store_points().unwrap();
            store.points().by_incident.extend(rest.map(|rest| (once, rest)));
        }
    }
    store.points().count = 5_000;
    store.store_points().unwrap();
    let [once, often] = [once, often].map(|id| store.alert_series(id).unwrap());
    assert_eq!(once, often);
    assert_eq!(once.points().filter_map(|it| it.peers).max(), Some(6_999));
}

#[test]
fn on_a_full_disk_points_wait_up_to_a_limit_and_are_stored_later() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    let limit = |pages: i64| {
        store.with(|it| Ok(it.pragma_update(None, "max_page_count", pages)?)).unwrap();
    };
    // Many series need more pages than the database has.
    let ids: Vec<AlertId> = (0..100).map(id).collect();
    ids.iter().for_each(|id| assert_eq!(add(&store, *id, 0..10), 0));
    limit(1);
    store.store_points().unwrap_err();
    assert_eq!(store.points().count, 1_000);
    assert_eq!(add(&store, ids[0], 10..MOST_WAITING_POINTS as u64 + 10), 1_000);
    assert_eq!(add(&store, ids[1], 10..11), 1);
    assert_eq!(seconds(&store, ids[1]), (0..10).collect::<Vec<_>>());
    limit(100_000);
    store.store_points().unwrap();
    assert_eq!(store.points().count, 0);
    assert_eq!(add(&store, ids[1], 10..11), 0);
    let read = Store::read(folder.path()).unwrap();
    assert!(ids[1..].iter().all(|id| seconds(&read, *id) == (0..10).collect::<Vec<_>>()));
    assert!(read.alert_series(ids[0]).unwrap().points().count() <= MOST_POINTS);
}

#[test]
fn a_series_is_deleted_with_its_incident() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    let notifications = notifications(2);
    let [ended, open] = [notifications[0].id, notifications[1].id];
    // The second alert is still active.
    store.add(&notifications[..5], &[]).unwrap();
    [ended, open].iter().for_each(|id| assert_eq!(add(&store, *id, 0..10), 0));
    store.store_points().unwrap();
    assert_eq!(store.forget(u64::MAX >> 1).unwrap(), 3);
    assert_eq!([ended, open].map(|id| seconds(&store, id).len()), [0, 10]);
    store.add(&notifications[5..], &[]).unwrap();
    store.forget(u64::MAX >> 1).unwrap();
    let count = |sql| store.with(|it| Ok(it.query_row(sql, [], |row| row.get::<_, i64>(0))?));
    assert_eq!(count("SELECT count(*) FROM alert_series").unwrap(), 0);
}

#[test]
fn a_damaged_series_starts_again() {
    let store = Store::open(None).unwrap();
    add(&store, id(1), 0..10);
    store.store_points().unwrap();
    store.with(|it| Ok(it.execute("UPDATE alert_series SET points = x'ff'", [])?)).unwrap();
    assert!(seconds(&store, id(1)).is_empty());
    add(&store, id(1), 10..12);
    store.store_points().unwrap();
    assert_eq!(seconds(&store, id(1)), [10, 11]);
}

#[test]
fn memory_has_room_for_1000_series() {
    let store = Store::open(None).unwrap();
    (0..1_100).for_each(|at| assert_eq!(add(&store, id(at), 0..2), 0));
    store.store_points().unwrap();
    let count = (0..1_100).filter(|at| !seconds(&store, id(*at)).is_empty()).count();
    assert_eq!((count, store.points().count), (1_000, 0));
    add(&store, id(0), 2..3);
    store.store_points().unwrap();
    assert_eq!(seconds(&store, id(0)), [0, 1, 2]);
}

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rusqlite::Connection;
use srlg_alerts::{Condition, Remark, Rule, Sighting, Silencing, Terms, Tracker, Witnesses};

use super::history::IncidentFilter;
use super::{Cursor, Store};
use srlg_alerts::notification::{Context, Direction, Notification};

/// Returns three notifications for each of `hosts` hosts: a start, an update and an end.
pub(crate) fn notifications(hosts: u8) -> Vec<Notification> {
    let terms = Terms { for_slices: 1, repeat_ms: 1_000, hold_ms: 0, ..Terms::default() };
    let windows = [(60, terms)].into();
    let rule = Rule { name: "r".to_owned(), networks: Vec::new(), windows };
    let mut tracker = Tracker::new("fan-in");
    let points: Vec<Sighting> =
        (0..hosts).map(|host| Sighting::new([10, host, 0, 1].into(), 2_000.0, 10.0)).collect();
    let mut notifications = Vec::new();
    for (now_ms, points) in [(1_000, &points[..]), (2_000, &points), (3_000, &[])] {
        let sightings = [(60, points.to_vec())].into();
        let alerts = tracker.close(
            now_ms,
            &sightings,
            |_| Some(&rule),
            Condition::default(),
            |_, _| Witnesses::default(),
        );
        notifications.extend(alerts.into_iter().map(|alert| {
            let context = Context {
                direction: Direction::FanIn,
                is_inside: true,
                slice_ms: 1_000,
                peers: vec![[192, 0, 2, 1].into()],
                ..Context::default()
            };
            Notification::new(alert, context)
        }));
    }
    notifications
}

#[test]
fn what_is_added_is_read_again_by_this_and_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    let notifications = notifications(2);
    assert_eq!(notifications.len(), 6);
    store.add(&notifications[..4], &[("a".to_owned(), vec![1, 2])]).unwrap();
    let other = Store::read(folder.path()).unwrap();
    assert_eq!(other.last(), 4);
    let numbered: Vec<Notification> =
        other.after(1, 2).unwrap().into_iter().map(|it| it.1).collect();
    assert_eq!(numbered, notifications[1..3]);
    assert_eq!(other.open_alerts().unwrap().len(), 2);
    let error = other.add(&notifications, &[]).unwrap_err();
    // This text comes from SQLite.
    assert!(format!("{error:#}").ends_with("attempt to write a readonly database"), "{error:#}");
    drop(store);
    let store = Store::open(Some(folder.path())).unwrap();
    assert_eq!((store.state("a").unwrap(), store.state("b").unwrap()), (Some(vec![1, 2]), None));
    store.add(&notifications[4..], &[("a".to_owned(), vec![3])]).unwrap();
    assert_eq!(store.state("a").unwrap(), Some(vec![3]));
    assert!(store.open_alerts().unwrap().is_empty());
    let since = |from| IncidentFilter { from: Some(from), ..IncidentFilter::default() };
    let last = |from| store.last_notifications(&since(from)).unwrap();
    assert_eq!(last(2_500).into_iter().map(|it| it.0).collect::<Vec<_>>(), [6, 5]);
    assert_eq!(last(3_001), []);
}

#[test]
fn pending_and_active_notifications_are_not_deleted() {
    let store = Store::open(None).unwrap();
    let notifications = notifications(2);
    assert_eq!(store.cursor("file").unwrap(), Cursor::default());
    store.add(&notifications[..5], &[]).unwrap();
    assert_eq!(store.cursor("new").unwrap().done, 5);
    assert_eq!(store.forget(u64::MAX >> 1).unwrap(), 0);
    let cursor =
        Cursor { done: 4, early: [6, 9].into(), held: vec![1, 3], sent: 3, failed: 2, dropped: 1 };
    store.set_cursor("file", &cursor).unwrap();
    assert_eq!(store.cursor("file").unwrap(), cursor);
    assert_eq!(store.forget(u64::MAX >> 1).unwrap(), 0, "held starts are not deleted");
    let cursor = Cursor { held: Vec::new(), ..cursor };
    store.set_cursor("file", &cursor).unwrap();
    // The first host has three notifications, and the last of them waits. The second alert is still active.
    assert_eq!(store.forget(u64::MAX >> 1).unwrap(), 2);
    store.keep_sinks(&["new".to_owned()]).unwrap();
    assert_eq!(store.forget(1).unwrap(), 0);
    assert_eq!(store.forget(u64::MAX >> 1).unwrap(), 1);
    assert_eq!(store.after(0, 9).unwrap().len(), 2);
    assert_eq!(store.incidents(&IncidentFilter::default()).unwrap().len(), 1);
}

fn refused(folder: &Path) -> String {
    let error = format!("{:#}\n", Store::open(Some(folder)).unwrap_err());
    error.replace(folder.to_str().unwrap(), "FOLDER")
}

#[test]
fn a_file_that_is_no_database_of_this_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = super::path(folder.path());
    fs::write(&path, [7; 8192]).unwrap();
    let mut texts = refused(folder.path());
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 8).unwrap();
    texts += &refused(folder.path());
    for version in [0, 1] {
        fs::remove_file(&path).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute("CREATE TABLE theirs (a)", []).unwrap();
        other.pragma_update(None, "user_version", version).unwrap();
        drop(other);
        texts += &refused(folder.path());
        assert!(Store::check(folder.path()).is_err(), "version {version}");
    }
    let none = format!("{:#}", Store::read(&folder.path().join("no")).unwrap_err());
    texts += &none.replace(folder.path().to_str().unwrap(), "FOLDER");
    insta::assert_snapshot!(texts);
}

#[test]
fn a_database_that_is_no_regular_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["srlg.sqlite", "srlg.sqlite-wal"] {
        let path = folder.path().join(name);
        let _listener = UnixListener::bind(&path).unwrap();
        let errors = [
            Store::open(Some(folder.path())).map(drop),
            Store::read(folder.path()).map(drop),
            Store::check(folder.path()),
        ];
        for error in errors {
            let error = format!("{:#}", error.unwrap_err());
            assert!(error.contains(&format!("{name}: it is a FIFO")), "{error}");
        }
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_database_has_one_who_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    let clone = store.clone();
    drop(store);
    insta::assert_snapshot!(refused(folder.path()));
    drop(clone);
    Store::open(Some(folder.path())).unwrap();
}

#[test]
fn a_full_disk_is_reported_and_leaves_no_partial_data() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    let state = [("a".to_owned(), vec![1])];
    store.add(&notifications(1), &state).unwrap();
    // SQLite reports this limit in the same way as a full disk.
    store.with(|it| Ok(it.pragma_update(None, "max_page_count", 16)?)).unwrap();
    let error = store.add(&notifications(100), &[("a".to_owned(), vec![2])]).unwrap_err();
    let error = format!("{error:#}");
    insta::assert_snapshot!(error.replace(folder.path().to_str().unwrap(), "FOLDER"));
    let read = Store::read(folder.path()).unwrap();
    assert_eq!((read.last(), store.state("a").unwrap()), (3, Some(vec![1])));
    store.with(|it| Ok(it.pragma_update(None, "max_page_count", 10_000)?)).unwrap();
    assert_eq!(store.add(&[], &state).unwrap(), 303);
}

#[test]
fn a_damaged_database_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    store.add(&notifications(100), &[]).unwrap();
    drop(store);
    let path = super::path(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > 100_000);
    // The whole file except the schema is overwritten.
    bytes[4096..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let error = format!("{:#}", Store::open(Some(folder.path())).unwrap_err());
    insta::assert_snapshot!(error.replace(folder.path().to_str().unwrap(), "FOLDER"));
    assert!(Store::read(folder.path()).is_err());
}

#[test]
fn no_number_is_given_twice_even_if_all_is_forgotten() {
    let store = Store::open(None).unwrap();
    assert_eq!(store.add(&notifications(1), &[]).unwrap(), 3);
    assert_eq!(store.forget(u64::MAX >> 1).unwrap(), 3);
    assert_eq!((store.last(), store.cursor("new").unwrap().done), (3, 3));
    assert_eq!(store.add(&[], &[]).unwrap(), 3);
    assert_eq!(store.add(&notifications(1), &[]).unwrap(), 6);
}

#[test]
fn what_went_on_at_a_number_is_known() {
    let store = Store::open(None).unwrap();
    // The list has two starts, two updates and two ends.
    store.add(&notifications(2), &[]).unwrap();
    let ids: Vec<_> = notifications(2)[..2].iter().map(|notification| notification.id).collect();
    let open = |number| -> Vec<bool> {
        let open = store.open_at(number).unwrap();
        ids.iter().map(|id| open.contains(id)).collect()
    };
    assert_eq!([open(0), open(1), open(2)], [[false, false], [true, false], [true, true]]);
    assert_eq!([open(4), open(5), open(6)], [[true, true], [false, true], [false, false]]);
}

#[test]
fn an_alert_silenced_from_its_start_counts_as_not_sent() {
    let remark = Remark { by: "ann".to_owned(), at_ms: 1, text: "ours".to_owned() };
    let of = |at: usize, is_silenced: bool| {
        let notification = notifications(2)[at].clone();
        let silencing = Silencing { remark: remark.clone(), until_ms: 9, id: notification.id };
        Notification { silence: is_silenced.then_some(silencing), ..notification }
    };
    // The first alert is silenced until its update. The second alert is silenced from its update on.
    let notifications = [of(0, true), of(1, false), of(2, false), of(3, true)];
    let ids = [notifications[0].id, notifications[1].id];
    for stored in 0..=notifications.len() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(folder.path())).unwrap();
        store.add(&notifications[..stored], &[]).unwrap();
        store.with(|it| Ok(it.pragma_update(None, "max_page_count", 1)?)).unwrap();
        let full = [("a".to_owned(), vec![0; 90_000])];
        store.add(&notifications[stored..], &full).unwrap_err();
        let open = |number| ids.map(|id| store.open_at(number).unwrap().contains(&id));
        assert_eq!(
            [1, 2, 3, 4].map(open),
            [[false, false], [false, true], [true, true], [true, true]]
        );
    }
}

#[test]
fn memory_keeps_the_last_notifications_alone() {
    let store = Store::open(None).unwrap();
    let [start, update, end] = <[Notification; 3]>::try_from(notifications(1)).unwrap();
    let many = |notification: &Notification, count| vec![notification.clone(); count];
    store.add(&[vec![start], many(&update, 3_000)].concat(), &[]).unwrap();
    // Notifications up to 1,001 are pruned, except the start of the active alert.
    assert_eq!(store.forget(0).unwrap(), 1_000);
    let left: Vec<i64> = store.after(0, 3).unwrap().into_iter().map(|it| it.0).collect();
    assert_eq!(left, [1, 1_002, 1_003]);
    store.add(&many(&end, 1), &[]).unwrap();
    assert_eq!(store.forget(0).unwrap(), 2);
    assert_eq!(store.after(0, 9_999).unwrap().len(), 2_000);
}

#[test]
fn on_a_full_disk_notifications_wait_where_sinks_find_them_and_are_stored_later() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(Some(folder.path())).unwrap();
    let notifications = notifications(100);
    let cursor = |done| Cursor { done, sent: done, ..Cursor::default() };
    store.add(&notifications[..1], &[]).unwrap();
    store.with(|it| Ok(it.pragma_update(None, "max_page_count", 1)?)).unwrap();
    let state = |value| [("a".to_owned(), vec![value; 9_000])];
    store.add(&notifications[1..250], &state(1)).unwrap_err();
    store.add(&notifications[250..299], &state(2)).unwrap_err();
    assert_eq!((store.last(), store.waiting_len(), store.state("a").unwrap()), (299, 298, None));
    // Sinks read waiting notifications too.
    let id = store.after(0, 1).unwrap()[0].1.id;
    let between = |after, last| {
        let found = store.between(id, after, last).unwrap();
        found.into_iter().map(|(number, _)| number).collect::<Vec<_>>()
    };
    let all: Vec<i64> =
        store.after(0, 1_000).unwrap().iter().filter(|it| it.1.id == id).map(|it| it.0).collect();
    assert!(all.len() > 1 && all[1] > 1, "{all:?}");
    assert_eq!((between(0, 999), between(1, all[1])), (all.clone(), vec![all[1]]));
    let numbers = |store: &Store, after, most| -> Vec<i64> {
        store.after(after, most).unwrap().into_iter().map(|it| it.0).collect()
    };
    assert_eq!(numbers(&store, 0, 3), [1, 2, 3]);
    assert_eq!(numbers(&store, 296, 9), [297, 298, 299]);
    let open: Vec<i64> = store.open_alerts().unwrap().into_iter().map(|it| it.0).collect();
    assert_eq!(open, [200], "all but one have ended");
    assert_eq!(store.open_at(200).unwrap().len(), 100);
    store.set_cursor("s", &cursor(150)).unwrap();
    // A new sink starts after all waiting notifications.
    assert_eq!([store.cursor("s").unwrap().done, store.cursor("new").unwrap().done], [150, 299]);
    // Notifications that must be stored at once do not wait.
    store.add_or_forget(&notifications[299..], &state(2)).unwrap_err();
    assert_eq!((store.last(), store.waiting_len()), (299, 298));
    assert_eq!(Store::read(folder.path()).unwrap().last(), 1);

    store.with(|it| Ok(it.pragma_update(None, "max_page_count", 10_000)?)).unwrap();
    // Setting another state does not store the waiting notifications.
    store.set(&[("b".to_owned(), vec![1])]).unwrap();
    assert_eq!((store.waiting_len(), store.state("b").unwrap()), (298, Some(vec![1])));
    assert_eq!(store.add(&notifications[299..], &state(3)).unwrap(), 300);
    let other = Store::read(folder.path()).unwrap();
    assert_eq!((other.last(), store.waiting_len()), (300, 0));
    let stored: Vec<Notification> =
        other.after(0, 999).unwrap().into_iter().map(|it| it.1).collect();
    assert_eq!(stored, notifications);
    assert_eq!(
        (store.cursor("s").unwrap(), store.state("a").unwrap()),
        (cursor(150), Some(vec![3; 9_000]))
    );
    // A waiting position does not overwrite a later position.
    store.set_cursor("s", &cursor(300)).unwrap();
    store.add(&[], &state(4)).unwrap();
    assert_eq!(store.cursor("s").unwrap(), cursor(300));
}

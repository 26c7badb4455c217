use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_notify::sinks::Sinks;
use srlg_notify::store::{Cursor, Store};

use super::made::{Delivery, notifications, sink};

const MOST: Duration = Duration::from_secs(60);

fn numbers(path: &Path) -> Vec<i64> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["number"].as_i64().unwrap()).collect()
}

fn options(path: &Path, more: &str) -> srlg_notify::sinks::SinkOptions {
    sink(&format!("type = 'file'\npath = '{}'\n{more}", path.display()))
}

/// Starts a sink. A child process that a parallel test forks may hold the lock of the file until it calls `exec`.
fn start(path: &Path, store: &Store) -> Sinks {
    let until = Instant::now() + MOST;
    loop {
        match Sinks::start(&[options(path, "")], store) {
            Err(error) if format!("{error:#}").contains("another program uses it") => {
                assert!(Instant::now() < until, "{error:#}");
                thread::sleep(Duration::from_millis(10));
            }
            sinks => return sinks.unwrap(),
        }
    }
}

#[test]
fn every_notification_is_a_line_once_whenever_the_program_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alerts.ndjson");
    let store = Store::open(Some(folder.path())).unwrap();
    let sinks = Delivery::start(&[options(&path, "")], &store);
    sinks.send(&notifications(2));
    sinks.finish(MOST);
    assert_eq!(numbers(&path), [1, 2, 3, 4]);
    // This state follows a kill in the middle of a line. The file has more notifications than the stored cursor.
    store.set_cursor("file", &Cursor { done: 1, ..Cursor::default() }).unwrap();
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(b"{\"number\":5,\"id\":\"00").unwrap();
    store.add(&notifications(1), &[]).unwrap();
    start(&path, &store).finish(MOST);
    assert_eq!(numbers(&path), [1, 2, 3, 4, 5, 6]);
    assert_eq!(store.cursor("file").unwrap().done, 6);
}

#[test]
fn numbers_of_another_database_in_a_file_hide_no_notification() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alerts.ndjson");
    for round in 1..=2 {
        // Each round has a new database, as after the removal of the state folder.
        let store = Store::open(None).unwrap();
        let sinks = start(&path, &store);
        store.add(&notifications(2), &[]).unwrap();
        sinks.finish(MOST);
        assert_eq!(numbers(&path), [1, 2, 3, 4].repeat(round));
    }
    // The next database uses the same numbers for notifications of other alerts.
    let store = Store::open(None).unwrap();
    start(&path, &store).finish(MOST);
    let mut other = notifications(2);
    other.swap(0, 1);
    other.swap(2, 3);
    store.add(&other, &[]).unwrap();
    start(&path, &store).finish(MOST);
    assert_eq!(numbers(&path), [1, 2, 3, 4].repeat(3));
}

#[test]
fn a_device_is_never_moved_away() {
    let store = Store::open(None).unwrap();
    let path = Path::new("/dev/null");
    let options = [options(path, "name = 'a'\nrotate-bytes = 1"), options(path, "name = 'b'")];
    let sinks = Delivery::start(&options, &store);
    sinks.send(&notifications(2));
    sinks.wait(|overview| overview.sent == 4);
    sinks.finish(MOST);
    assert!(path.exists() && !Path::new("/dev/null.1").exists());
}

#[test]
fn a_file_that_was_just_rotated_continues_the_previous_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alerts.ndjson");
    let store = Store::open(None).unwrap();
    start(&path, &store).finish(MOST);
    store.add(&notifications(2), &[]).unwrap();
    start(&path, &store).finish(MOST);
    let former = folder.path().join("alerts.ndjson.1");
    fs::rename(&path, &former).unwrap();
    store.set_cursor("file", &Cursor { done: 2, ..Cursor::default() }).unwrap();
    store.add(&notifications(1), &[]).unwrap();
    start(&path, &store).finish(MOST);
    assert_eq!((numbers(&former), numbers(&path)), (vec![1, 2, 3, 4], vec![5, 6]));
}

#[test]
fn a_file_that_cannot_be_rotated_grows_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alerts.ndjson");
    let former = folder.path().join("alerts.ndjson.1");
    fs::create_dir(&former).unwrap();
    let store = Store::open(None).unwrap();
    let sinks = Delivery::start(&[options(&path, "rotate-bytes = 1\nkeep = 1")], &store);
    sinks.send(&notifications(1));
    let overview = sinks.wait(|overview| overview.failed > 0);
    let error = overview.error.unwrap();
    insta::assert_snapshot!(error.replace(folder.path().to_str().unwrap(), "FOLDER"));
    fs::remove_dir(&former).unwrap();
    sinks.wait(|overview| overview.sent == 2);
    sinks.finish(MOST);
    assert_eq!((numbers(&former), numbers(&path)), (vec![1], vec![2]));
}

#[test]
fn rotation_of_a_large_file_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alerts.ndjson");
    let store = Store::open(None).unwrap();
    let options = options(&path, "rotate-bytes = 2000\nkeep = 3");
    let sinks = Sinks::start(&[options], &store).unwrap();
    store.add(&notifications(12), &[]).unwrap();
    sinks.finish(MOST);
    let former = |number: u32| folder.path().join(format!("alerts.ndjson.{number}"));
    assert!(!former(4).exists());
    let paths = [former(3), former(2), former(1), path];
    let all = paths.map(|path| numbers(&path));
    assert!(all.iter().all(|numbers| (1..=4).contains(&numbers.len())), "{all:?}");
    let all = all.concat();
    assert_eq!(all, (25 - all.len() as i64..=24).collect::<Vec<_>>());
}

#[test]
fn a_foreign_file_and_a_full_disk_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alerts.ndjson");
    let store = Store::open(None).unwrap();
    let first = Sinks::start(&[options(&path, "")], &store).unwrap();
    let error = format!("{:#}", Sinks::start(&[options(&path, "")], &store).unwrap_err());
    insta::assert_snapshot!(error.replace(folder.path().to_str().unwrap(), "FOLDER"));
    first.finish(MOST);
    let full = Delivery::start(&[options(Path::new("/dev/full"), "")], &store);
    full.send(&notifications(1));
    let overview = full.wait(|overview| overview.failed > 0);
    let error = overview.error.unwrap();
    assert!(error.contains("/dev/full") && error.contains("No space left"), "{error}");
    assert_eq!((overview.sent, overview.queue), (0, 2));
}

#[test]
fn two_sinks_of_one_name_and_unknown_options_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let one = options(&folder.path().join("a"), "");
    let store = Store::open(None).unwrap();
    let mut texts = vec![Sinks::start(&[one.clone(), one], &store).unwrap_err().to_string()];
    for text in [
        "type = 'file'\npath = '/dev/null'\nrotate-bytes = 0",
        "type = 'webhook'\nurl = 'http://a'\nqueue = 0",
        "type = 'exec'\ncommand = ['a']\ntimeout = '0s'",
        "type = 'alertmanager'\nurl = 'http://a'\nresend = '9ms'",
    ] {
        texts.push(format!("{:#}", Sinks::start(&[sink(text)], &store).unwrap_err()));
    }
    insta::assert_snapshot!(texts.join("\n"));
    for text in ["type = 'file'\npath = 'x'\nrotate = 7", "type = 'fax'", "path = 'x'"] {
        assert!(toml::from_str::<srlg_notify::sinks::SinkOptions>(text).is_err(), "{text}");
    }
}

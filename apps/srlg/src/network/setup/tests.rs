//! Tests that the files from `srlg setup` have the right content and permissions, and that no file is overwritten,
//! except `nats.conf` if a probe is added or removed.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn make_in(folder: &Path) -> Result<()> {
    make(folder, &["a", "b"].map(str::to_owned), &["localhost".to_owned()], 4222)
}

fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    make_in(folder.path()).unwrap();
    folder
}

#[test]
fn secrets_are_for_their_owner_alone() {
    let folder = made();
    let mut secrets: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.metadata().unwrap().permissions().mode() & 0o077 == 0)
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    secrets.sort();
    assert_eq!(secrets, ["a.nk", "b.nk", "collector.nk", "server.key"]);
}

#[test]
fn a_second_setup_in_the_same_folder_changes_nothing() {
    let folder = made();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let before = ["server.key", "a.nk", "ca.pem", CONF_FILE].map(read);
    let error = make_in(folder.path()).unwrap_err();
    let Some(cause) = error.downcast_ref::<std::io::Error>() else { panic!("{error:#}") };
    assert_eq!(cause.kind(), ErrorKind::AlreadyExists);
    assert_eq!(before, ["server.key", "a.nk", "ca.pem", CONF_FILE].map(read));
}

#[test]
fn seeds_of_keys_stay_out_of_the_configuration() {
    let folder = made();
    let conf = fs::read_to_string(folder.path().join(CONF_FILE)).unwrap();
    for client in ["a", "b", "collector"] {
        let seed = fs::read_to_string(key_file(folder.path(), client)).unwrap();
        let key = KeyPair::from_seed(seed.trim()).unwrap();
        assert!(conf.contains(&key.public_key()) && !conf.contains(seed.trim()), "{client}");
    }
}

#[test]
fn a_probe_may_publish_and_subscribe_only_to_its_own_subjects() {
    let conf = fs::read_to_string(made().path().join(CONF_FILE)).unwrap();
    let a = conf.split("  \"a\" {").nth(1).unwrap().split("  \"b\" {").next().unwrap();
    let publish = "publish: [\"srlg.slice.a\", \"srlg.report.a\", \"$JS.API.DIRECT.GET.KV_SRLG.$KV.SRLG.network\"]";
    let own = [publish, "subscribe: [\"srlg.durable.a\", \"srlg.watchlist\", \"_INBOX_a.>\"]"];
    let all = own.iter().all(|own| a.contains(own));
    assert!(all && a.matches("srlg.").count() == 8 && !a.contains("jetstream"), "{a}");
}

/// Returns the names and contents of all files in `folder`.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    fs::read_dir(folder).unwrap().map(|entry| file(entry.unwrap())).collect()
}

#[test]
fn a_probe_is_added_and_removed_without_a_change_of_other_files() {
    let folder = made();
    let path = folder.path();
    let before = files(path);
    add(path, "c").unwrap();
    let mut with_c = files(path);
    let key = KeyPair::from_seed(with_c.remove("c.nk").unwrap().trim()).unwrap();
    let conf = with_c.insert(CONF_FILE.to_owned(), before[CONF_FILE].clone()).unwrap();
    assert_eq!(with_c, before);
    let conf = Conf::parse(&conf).unwrap();
    let names: Vec<_> = conf.probes.iter().map(|account| &account.probe[..]).collect();
    assert_eq!((names, &conf.probes[2].key), (vec!["a", "b", "c"], &key.public_key()));
    assert_eq!(fs::metadata(key_file(path, "c")).unwrap().permissions().mode() & 0o777, 0o600);
    remove(path, "c").unwrap();
    assert_eq!(files(path), before);
}

#[test]
fn settings_around_the_accounts_and_permissions_of_the_file_are_kept() {
    let folder = made();
    let path = folder.path().join(CONF_FILE);
    let text = fs::read_to_string(&path).unwrap().replace("host: 0.0.0.0", "host: 192.0.2.7");
    let text = text + "logfile: nats.log\n";
    fs::write(&path, &text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    add(folder.path(), "c").unwrap();
    let added = fs::read_to_string(&path).unwrap();
    assert!(added.contains("host: 192.0.2.7\n") && added.ends_with("\n}\nlogfile: nats.log\n"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    remove(folder.path(), "c").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_refused_change_changes_no_file() {
    let folder = made();
    let path = folder.path();
    fs::write(path.join("left.nk"), "left").unwrap();
    let conf = path.join(CONF_FILE);
    let before = files(path);
    let error = |result: Result<()>| {
        assert_eq!(files(path), before);
        format!("{:#}\n", result.unwrap_err())
    };
    let mut errors = String::new();
    for probe in ["a", "collector", "C", "left"] {
        errors += &error(add(path, probe));
    }
    for probe in ["c", "collector"] {
        errors += &error(remove(path, probe));
    }
    let text = &before[CONF_FILE];
    let edits = [
        text.replace("\"srlg.report.a\", \"$JS", "\"srlg.>\", \"$JS"),
        text.replace("    jetstream: enabled\n", ""),
        text.replace("accounts {\n", "accounts {\n  # Two sites\n"),
        text.replace("accounts {", "include accounts.conf {"),
    ];
    for edit in edits {
        assert!(edit != *text);
        assert_eq!(Conf::parse(&edit), None);
    }
    fs::write(&conf, text.replace("accounts {\n", "accounts {\n  # Two sites\n")).unwrap();
    errors += &format!("{:#}\n{:#}\n", add(path, "c").unwrap_err(), remove(path, "a").unwrap_err());
    fs::remove_file(&conf).unwrap();
    errors += &format!("{:#}\n", add(path, "c").unwrap_err());
    assert!(!key_file(path, "c").exists() && key_file(path, "a").exists());
    insta::assert_snapshot!(errors.replace(path.to_str().unwrap(), "FOLDER"));
}

#[test]
fn a_configuration_that_cannot_be_written_leaves_no_key_and_no_change() {
    let folder = made();
    let path = folder.path();
    // A folder in the place of the new file makes every write fail.
    fs::create_dir(path.join("nats.conf.new")).unwrap();
    let conf = || fs::read_to_string(path.join(CONF_FILE)).unwrap();
    let before = conf();
    for result in [add(path, "c"), remove(path, "a")] {
        let error = result.unwrap_err();
        assert!(error.downcast_ref::<std::io::Error>().is_some(), "{error:#}");
    }
    assert_eq!(conf(), before);
    assert!(!key_file(path, "c").exists() && key_file(path, "a").exists());
}

//! Tests that the files from `srlg setup` have the right content and permissions, and that no file is overwritten.

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
    let publish = "publish: [\"srlg.delta.a\", \"srlg.report.a\", \"$JS.API.DIRECT.GET.KV_SRLG.$KV.SRLG.network\"]";
    let own = [publish, "subscribe: [\"srlg.durable.a\", \"srlg.watchlist\", \"_INBOX_a.>\"]"];
    let all = own.iter().all(|own| a.contains(own));
    assert!(all && a.matches("srlg.").count() == 8 && !a.contains("jetstream"), "{a}");
}

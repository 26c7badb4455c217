mod sample;

use std::process::Command;

use sample::{KERNELS, files};

use super::*;

fn of(files: &Files) -> String {
    fingerprint(files).expect("a sample that can be read")
}

/// Puts `new` for `old` into `file`.
fn edit(files: &mut Files, file: &str, old: &str, new: &str) {
    let text = files.get_mut(file).expect("a file of the sample");
    assert!(text.contains(old), "{file} has no {old:?}");
    *text = text.replace(old, new);
}

/// Whether the fingerprint is another one where `file` has `new` instead of `old`.
fn changes(file: &str, old: &str, new: &str) -> bool {
    let mut files = files();
    edit(&mut files, file, old, new);
    of(&files) != of(&self::files())
}

/// Whether the fingerprint is another one where `file` has `more` at its end.
fn adds(file: &str, more: &str) -> bool {
    let mut files = files();
    *files.entry(file.into()).or_default() += more;
    of(&files) != of(&self::files())
}

#[test]
fn code_changes_the_fingerprint() {
    for (old, new) in [("    1 //", "    2 //"), ("pub fn row() {}", ""), ("impl Column {}", "")] {
        assert!(changes("srlg-core/src/column.rs", old, new), "{old}");
    }
}

#[test]
fn tests_comments_and_line_ends_do_not_change_it() {
    for (old, new) in [
        ("fn checks() {}", "fn checks() { assert!(true) }"),
        ("//! Columns.", "//! Columns of RHFG."),
        ("/// One", "/// The first"),
        ("#[cfg(test)]\n", "#[cfg(test)]\nmod pinned_tests;\n#[cfg(test)]\n"),
        ("\n", "\r\n"),
    ] {
        assert!(!changes("srlg-core/src/column.rs", old, new), "{old:?}");
    }
}

#[test]
fn moved_code_changes_it() {
    let mut files = files();
    let text = files.remove("srlg-core/src/column.rs").expect("a file of the sample");
    files.insert("srlg-core/src/row.rs".into(), text);
    assert_ne!(of(&files), of(&self::files()));
}

#[test]
fn build_script_of_either_crate_changes_it() {
    assert!(adds("srlg-core/build.rs", "fn main() {}\n"));
    assert!(adds("srlg-kernels/build.rs", "fn main() {}\n"));
}

#[test]
fn all_of_the_release_profile_changes_it_and_others_do_not() {
    assert!(changes("Cargo.toml", "lto = \"fat\"", "lto = false"));
    for table in ["package.libm", "package.\"*\"", "build-override"] {
        assert!(adds("Cargo.toml", &format!("[profile.release.{table}]\nopt-level = 1\n")));
    }
    assert!(!changes("Cargo.toml", "opt-level = 3", "opt-level = 2"));
    assert!(!adds("Cargo.toml", "[profile.dev.package.libm]\nopt-level = 1\n"));
}

#[test]
fn what_a_crate_inherits_or_cargo_replaces_changes_it() {
    assert!(changes("Cargo.toml", "2024", "2021"));
    assert!(changes("Cargo.toml", "resolver = \"3\"", "resolver = \"2\""));
    assert!(changes("Cargo.toml", "default-features = false", "default-features = true"));
    for of in ["crates-io", "'https://git.example/libm'"] {
        assert!(adds("Cargo.toml", &format!("[patch.{of}]\nlibm = {{ path = \"libm\" }}\n")));
    }
    assert!(!changes("Cargo.toml", "anyhow = \"1.0\"", "anyhow = \"1.1\""));
    assert!(!adds("Cargo.toml", "[workspace.lints.rust]\nmissing_docs = \"warn\"\n"));
}

#[test]
fn configuration_changes_it_and_the_alias_does_not() {
    let file = ".cargo/config.toml";
    assert!(adds(file, "[build]\nrustflags = [\"-Copt-level=1\"]\n"));
    assert!(adds(file, "[profile.release]\nlto = false\n"));
    assert!(!changes(file, "run --package", "run --locked --package"));
    let mut without = files();
    without.remove(file);
    assert_eq!(of(&without), of(&files()));
}

#[test]
fn packages_that_become_ptx_change_it_and_others_do_not() {
    for (old, new) in [
        ("0.2.16", "0.2.17"),
        ("registry+https://crates", "git+https://crates"),
        ("b6d2", "b6d3"),
        ("0.8.63", "0.8.64"),
        ("2db8", "2db9"),
        ("2.0.119", "2.0.120"),
    ] {
        assert!(changes("Cargo.lock", old, new), "{old}");
    }
    for (old, new) in [("1.0.1\"", "1.0.2\""), ("72b6", "72b7"), ("0.1.1\"", "0.1.2\"")] {
        assert!(!changes("Cargo.lock", old, new), "{old}");
    }
}

#[test]
fn dependency_of_tests_does_not_change_it() {
    let package = "[[package]]\nname = \"proptest\"\nversion = \"1.12.0\"\n";
    for table in ["dev-dependencies", "target.'cfg(unix)'.dev-dependencies"] {
        let mut files = files();
        files.insert(
            "srlg-kernels/Cargo.toml".into(),
            format!("{KERNELS}[{table}]\nproptest = \"1.12\"\n"),
        );
        edit(&mut files, "Cargo.lock", "[\"srlg-core\"]", "[\"proptest\", \"srlg-core\"]");
        *files.get_mut("Cargo.lock").expect("a lock file") += package;
        assert_eq!(of(&files), of(&self::files()));
        edit(&mut files, "srlg-kernels/Cargo.toml", "dev-dependencies", "build-dependencies");
        assert_ne!(of(&files), of(&self::files()));
    }
}

#[test]
fn target_of_tests_and_comment_in_a_manifest_do_not_change_it() {
    for more in ["[[test]]\nname = \"bodies\"\n", "[[bench]]\nname = \"scan\"\n", "# Thin.\n\n"] {
        assert!(!adds("srlg-kernels/Cargo.toml", more), "{more}");
    }
    assert!(!changes("Cargo.toml", "Portable", "Equal"));
    assert!(adds("srlg-kernels/Cargo.toml", "[lib]\npath = \"kernels.rs\"\n"));
}

#[test]
fn optional_dependency_counts_once_a_feature_is_asked_for() {
    for (file, old, new) in [
        ("srlg-core/Cargo.toml", "cust = [", "default = [\"cust\"]\ncust = ["),
        ("Cargo.toml", "path = \"srlg-core\"", "path = \"srlg-core\", features = [\"cust\"]"),
        ("srlg-kernels/Cargo.toml", "core.workspace = true", "core = { features = [\"cust\"] }"),
    ] {
        let mut files = files();
        edit(&mut files, file, old, new);
        let before = of(&files);
        edit(&mut files, "Cargo.lock", "0.1.1\"", "0.1.2\"");
        assert_ne!(of(&files), before, "{file}");
    }
}

#[test]
fn broken_lock_file_is_refused_in_one_line() {
    let reason = |old, new| {
        let mut files = files();
        edit(&mut files, "Cargo.lock", old, new);
        fingerprint(&files).expect_err("a broken lock file").to_string()
    };
    let hole = reason("name = \"libm\"", "name = \"libn\"");
    assert_eq!(hole, "Cargo.lock has no libm: run cargo check");
    let conflict = reason("[[package]]", "<<<<<<< HEAD");
    assert!(conflict.starts_with("Cargo.lock is no TOML: "), "{conflict}");
    assert_eq!(conflict.lines().count(), 1);
}

#[test]
fn sources_of_the_workspace_are_read_without_files_of_tests() {
    let files = read(crate::root()).expect("this workspace");
    let has = |name: &str| files.contains_key(name);
    assert!(has("srlg-core/src/counter/tagged/lines.rs") && has("srlg-kernels/src/lib.rs"));
    assert!(has(".cargo/config.toml") && has("srlg-core/Cargo.toml"));
    assert!(!files.keys().any(|name| name.ends_with("tests.rs")));
}

/// Cargo's own answer; it leaves out what this machine does not need.
#[test]
fn packages_of_the_workspace_are_those_of_cargo() {
    let files = read(crate::root()).expect("this workspace");
    let settings = Settings::read(&files).expect("manifests");
    let packages = packages::packages(&files, &settings).expect("a lock file");
    let tree = ["tree", "--locked", "--package=srlg-kernels", "--edges=normal,build"];
    let tree = Command::new(env!("CARGO"))
        .args(tree)
        .args(["--prefix=none", "--format={p}"])
        .current_dir(crate::root())
        .output()
        .expect("cargo");
    let tree = String::from_utf8(tree.stdout).expect("names");
    assert!(tree.contains("\nlibm v") && tree.contains("\nproc-macro2 v"), "{tree}");
    for line in tree.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let version = words.next().unwrap_or_default().trim_start_matches('v');
        assert!(
            packages.iter().any(|package| package.starts_with(&format!("{name} {version} "))),
            "{line}"
        );
    }
    assert!(!packages.iter().any(|package| package.starts_with("proptest ")));
    assert!(!packages.iter().any(|package| package.starts_with("cust_core ")));
}

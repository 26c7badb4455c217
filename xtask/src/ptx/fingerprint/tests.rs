use super::*;

const SOURCE: &str = "\
//! Columns.

/// One of them.
pub fn column() -> u32 {
    1 // the first
}

#[cfg(test)]
impl Column {}

pub fn row() {}

#[cfg(test)]
mod tests {
    fn checks() {}
}
";

const WORKSPACE: &str = "\
[workspace]
members = []

[workspace.dependencies]
anyhow = \"1.0\"
libm = { version = \"0.2\", default-features = false }

[profile.dev]
opt-level = 3

[profile.release]
lto = \"fat\"
";

const LOCK: &str = "\
[[package]]
name = \"anyhow\"
version = \"1.0.1\"

[[package]]
name = \"libm\"
version = \"0.2.16\"
";

fn files() -> Files {
    let core = "[dependencies]\nlibm.workspace = true\n\n[dev-dependencies]\nanyhow = \"1.0\"\n";
    let texts = [
        ("Cargo.toml", WORKSPACE),
        ("Cargo.lock", LOCK),
        ("srlg-core/Cargo.toml", core),
        ("srlg-core/src/column.rs", SOURCE),
    ];
    texts.map(|(name, text)| (name.into(), text.into())).into()
}

/// Whether the fingerprint is another one where `file` has `new` instead of `old`.
fn changes(file: &str, old: &str, new: &str) -> bool {
    let mut files = files();
    let before = fingerprint(&files);
    let text = files.get_mut(file).expect("a file of the sample");
    assert!(text.contains(old), "{file} has no {old:?}");
    *text = text.replace(old, new);
    fingerprint(&files) != before
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
        ("\n", "\r\n"),
    ] {
        assert!(!changes("srlg-core/src/column.rs", old, new), "{old:?}");
    }
}

#[test]
fn dependencies_of_the_core_change_it_and_others_do_not() {
    assert!(changes("Cargo.lock", "0.2.16", "0.2.17"));
    assert!(changes("Cargo.toml", "default-features = false", "default-features = true"));
    assert!(!changes("Cargo.lock", "1.0.1", "1.0.2"));
    assert!(!changes("Cargo.toml", "anyhow = \"1.0\"", "anyhow = \"1.1\""));
}

#[test]
fn release_profile_changes_it_and_others_do_not() {
    assert!(changes("Cargo.toml", "lto = \"fat\"", "lto = false"));
    assert!(!changes("Cargo.toml", "opt-level = 3", "opt-level = 2"));
}

#[test]
fn moved_code_changes_it() {
    let mut files = files();
    let before = fingerprint(&files);
    let text = files.remove("srlg-core/src/column.rs").expect("a file of the sample");
    files.insert("srlg-core/src/row.rs".into(), text);
    assert_ne!(fingerprint(&files), before);
}

#[test]
fn sources_of_the_workspace_are_read_without_files_of_tests() {
    let files = read(crate::root()).expect("this workspace");
    let has = |name: &str| files.contains_key(name);
    assert!(has("srlg-core/src/linear/block.rs") && has("srlg-kernels/src/lib.rs"));
    assert!(!files.keys().any(|name| name.ends_with("tests.rs")));
    assert!(dependencies(&files).contains(&"libm"));
    assert!(
        versions(&files["Cargo.lock"], &["libm"]).starts_with("name = \"libm\"\nversion = \"0.2.")
    );
}

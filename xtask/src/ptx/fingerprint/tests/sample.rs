//! A small workspace: one source, and what cargo reads.

use super::Files;

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

const WORKSPACE: &str = r#"
[workspace]
members = []
resolver = "3"

[workspace.package]
edition = "2024"

[workspace.dependencies]
anyhow = "1.0"
# Portable code alone.
libm = { version = "0.2", default-features = false }
srlg-core = { path = "srlg-core" }

[profile.dev]
opt-level = 3

[profile.release]
lto = "fat"
"#;

const CORE: &str = r#"
[package]
edition.workspace = true

[features]
cust = ["dep:cust_core"]

[dependencies]
cust_core = { version = "0.1", optional = true }
libm.workspace = true
bytes = { package = "zerocopy", version = "0.8" }

[dev-dependencies]
anyhow = "1.0"
"#;

pub(super) const KERNELS: &str = "[dependencies]\nsrlg-core.workspace = true\n";

const LOCK: &str = r#"
[[package]]
name = "anyhow"
version = "1.0.1"
dependencies = ["syn 1.0.109"]

[[package]]
name = "cust_core"
version = "0.1.1"

[[package]]
name = "libm"
version = "0.2.16"
source = "registry+https://crates"
checksum = "b6d2"

[[package]]
name = "srlg-core"
version = "0.1.0"
dependencies = [ "anyhow", "cust_core", "libm", "zerocopy" ]

[[package]]
name = "srlg-kernels"
version = "0.1.0"
dependencies = ["srlg-core"]

[[package]]
name = "syn"
version = "1.0.109"
checksum = "72b6"

[[package]]
name = "syn"
version = "2.0.119"
checksum = "2db8"

[[package]]
name = "zerocopy"
version = "0.8.63"
dependencies = ["syn 2.0.119"]
"#;

const ALIAS: &str = "[alias]\nxtask = \"run --package xtask --\"\n";

pub(super) fn files() -> Files {
    let texts = [
        (".cargo/config.toml", ALIAS),
        ("Cargo.toml", WORKSPACE),
        ("Cargo.lock", LOCK),
        ("srlg-core/Cargo.toml", CORE),
        ("srlg-kernels/Cargo.toml", KERNELS),
        ("srlg-core/src/column.rs", SOURCE),
    ];
    texts.map(|(name, text)| (name.into(), text.into())).into()
}

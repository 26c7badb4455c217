//! The figures of docs/, and the commands that take them.
//!
//! Commands are written as a reader would type them in the root of the repository: those of a page write it themselves,
//! those of a table print rows. `DIR` stands for the folder of recorded traffic.

/// Figures that are taken together.
pub(super) struct Section {
    /// Its place in docs/measurements.md, if it is a table there.
    pub(super) name: &'static str,
    /// What a list of the sections says of it.
    pub(super) what: &'static str,
    kind: Kind,
    /// As the page has them.
    pub(super) lines: &'static [&'static str],
}

/// Who writes what was measured.
#[derive(PartialEq)]
enum Kind {
    /// The commands.
    Page,
    /// `report`, of the rows that the commands print.
    Table,
}

impl Section {
    pub(super) fn is_table(&self) -> bool {
        self.kind == Kind::Table
    }

    /// The commands, with `data` as the folder of recorded traffic.
    pub(super) fn lines(&self, data: &str) -> Vec<String> {
        self.lines.iter().map(|line| line.replace("DIR", data)).collect()
    }

    const fn page(name: &'static str, what: &'static str, lines: &'static [&'static str]) -> Self {
        Self { name, what, kind: Kind::Page, lines }
    }

    const fn table(name: &'static str, what: &'static str, lines: &'static [&'static str]) -> Self {
        Self { name, what, kind: Kind::Table, lines }
    }
}

/// The shortest first, but for pages, which are last.
#[rustfmt::skip] // tables of commands
pub(super) const SECTIONS: &[Section] = &[
    Section::table("decoding", "records of exports per second, beside the bare parsers", &[
        "cargo test --release -p srlg-input --test speed exports -- --ignored --nocapture --test-threads 1",
    ]),
    Section::table("state", "snapshots and deltas: bytes and times", &[
        "cargo bench -p srlg-benches --bench state -- --output-format bencher",
    ]),
    Section::table("hash", "ingest by scheme, family of hosts and hash", &[
        "cargo bench -p srlg-benches --bench ingest -- --output-format bencher",
    ]),
    Section::table("deltas", "deltas of a full window, alone and in a mesh", &[
        "cargo test --release --test behaviour growth_of_deltas -- --ignored --nocapture",
    ]),
    Section::table("cluster", "a collector's deltas per second, a broker's messages", &[
        "cargo test --release -p srlg-cluster --lib engine -- --ignored --nocapture",
        "cargo test --release -p srlg-cluster --test cluster rate -- --ignored --nocapture",
    ]),
    Section::table("monitor-throughput", "records per second of a monitor, over loopback", &[
        "SRLG_RATES=50000,500000,1000000,2000000,3000000,3500000 cargo test --release -p srlg-monitor --test throughput -- --ignored --nocapture",
    ]),
    Section::table("monitor-memory", "memory of a monitor over an hour that is replayed", &[
        "cargo test -p srlg-monitor --test memory -- --nocapture",
    ]),
    Section::table("monitor-attacks", "recorded attacks, exported by softflowd", &[
        "SRLG_DATA=DIR SRLG_REQUIRE_EXPORTERS=1 cargo test -p srlg-monitor --test attacks -- --nocapture",
    ]),
    Section::table("speed", "pairs per second and closes, beside what users have today", &[
        "cargo run --release -p srlg-evaluation -- speed --device cpu --loads 2M,5M,10M",
    ]),
    Section::table("accuracy", "errors of the default under load", &[
        "cargo run --release -p srlg-evaluation -- accuracy --load 2M --windows 4 --stride 100 --streams 3 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --load 5M --windows 3 --stride 100 --streams 3 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --load 10M --windows 2 --stride 100 --streams 3 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --load 20M --windows 2 --stride 50 --streams 3 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --memory 8M --load 2M --windows 4 --stride 100 --streams 3 --row",
    ]),
    Section::table("models", "errors of the default by models of traffic", &[
        "cargo run --release -p srlg-evaluation -- accuracy --traffic backbone --load 10M --windows 16 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --traffic metro --load 10M --windows 16 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --traffic flood --load 10M --windows 16 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --traffic slow-scan --load 10M --windows 16 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --traffic flash-crowd --load 10M --windows 16 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --traffic metro --load 20M --windows 8 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --traffic flood --load 20M --windows 8 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --traffic persistent --load 10M --windows 1 --window 10 --streams 17 --row",
    ]),
    Section::table("families", "errors of IPv4, IPv6 and both", &[
        "cargo run --release -p srlg-evaluation -- accuracy --family 4 --load 2M --windows 4 --stride 100 --streams 12 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --family 6 --load 2M --windows 4 --stride 100 --streams 12 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --family mixed --load 2M --windows 4 --stride 100 --streams 12 --row",
    ]),
    Section::table("giants", "errors of hosts from 1,024 to ten million opposite hosts", &[
        "cargo run --release -p srlg-evaluation -- giants --trials 100 --load 2M",
        "cargo run --release -p srlg-evaluation -- giants --trials 100 --load 10M",
        "cargo run --release -p srlg-evaluation -- giants --trials 100 --load 2M --memory 8M",
        "cargo run --release -p srlg-evaluation -- giants --trials 1000 --load 6M --lines 26041 --linear-width 4096 --cardinalities 1024,4096",
    ]),
    Section::table("alike", "what is missed, and closes, where all hosts are alike", &[
        "cargo run --release -p srlg-evaluation -- alike",
        "cargo run --release -p srlg-evaluation -- alike --hosts 4G --loads 20M,60M",
        "cargo run --release -p srlg-evaluation -- alike --hosts 16M --loads 100M --memory 316000000 --planted 6000",
        "cargo run --release -p srlg-evaluation -- alike --hosts 16M --loads 300M --memory 950000000 --planted 18000",
    ]),
    Section::table("paper-load", "errors of the paper's scheme under load", &[
        "cargo run --release -p srlg-evaluation -- accuracy --preset paper --load 500k --windows 101 --stride 1 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --preset paper --load 1M --windows 101 --stride 1 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --preset paper --load 1500k --windows 101 --stride 1 --row",
        "cargo run --release -p srlg-evaluation -- accuracy --preset paper --load 2M --windows 101 --stride 1 --row",
    ]),
    Section::page("picture", "the picture of README.md", &[
        "cargo run --release -p srlg-evaluation -- picture",
    ]),
    Section::page("scale", "docs/scaling: many nodes", &[
        "cargo run --release -p srlg-evaluation -- scale",
    ]),
    Section::page("peers", "docs/peers.md: what users have today", &[
        "cargo run --release -p srlg-evaluation -- peers --load 500k --write docs/peers.md",
        "cargo run --release -p srlg-evaluation -- peers --load 2M --write docs/peers.md",
        "cargo run --release -p srlg-evaluation -- peers --load 5M --write docs/peers.md",
    ]),
    Section::page("paper", "docs/paper: the paper's experiments", &[
        "cargo run --release -p srlg-evaluation -- paper",
    ]),
    Section::page("characterise", "docs/characterise: errors against all that one can choose", &[
        "cargo run --release -p srlg-evaluation -- characterise",
    ]),
    Section::page("traces", "docs/real-traffic.md: recorded traffic", &[
        "cargo run --release -p srlg-evaluation -- traces --data DIR --cut 300x1,60x5 --write docs/real-traffic.md",
        "cargo run --release -p srlg-evaluation -- traces --data DIR --cut 1x300 --stride 10 --write docs/real-traffic.md",
    ]),
    Section::page("plans", "docs/sizing.md: plans, and what they keep", &[
        "cargo run --release -p srlg-evaluation -- plans --table --thresholds 8,32,64,200,1024,10k,100k --loads 100k,1M,5M,20M,100M --memories 500k,1M,2M,4M,8M,16M,31700k,60M,120M,316M --windows 300,1 --write docs/sizing.md",
        "cargo run --release -p srlg-evaluation -- plans --write docs/sizing.md",
    ]),
    Section::page("growth", "docs/growth: time and memory", &[
        "cargo run --release -p srlg-evaluation -- growth",
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Page;
    use std::path::Path;

    #[test]
    fn every_table_has_its_place() {
        let page = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/measurements.md"));
        let places: Vec<_> =
            SECTIONS.iter().filter(|it| it.is_table()).map(|section| section.name).collect();
        Page::open(page, &places).map(drop).unwrap();
    }

    #[test]
    fn names_are_of_one_section_each() {
        for (number, section) in SECTIONS.iter().enumerate() {
            assert!(SECTIONS[..number].iter().all(|other| other.name != section.name));
        }
    }
}

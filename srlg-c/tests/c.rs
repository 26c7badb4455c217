//! Tests that compile C programs against the header and the static library of this build, and run them.
//!
//! `SRLG_CC`, `SRLG_CFLAGS` and `SRLG_RUNNER` select the compiler, additional flags, and a program under which the
//! compiled programs run. The script `scripts/c.sh` sets them.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use srlg_host::report::{EstimateRange, FinderFill, Health, SamplePeer};
use srlg_host::{Config, Device, IpPair, Ipv4Pair, SliceReport, SlidingDetector};

/// Libraries that a static library written in Rust needs, as listed by `rustc --print native-static-libs`.
const NATIVE_LIBRARIES: [&str; 7] =
    ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn words(variable: &str) -> Vec<String> {
    let text = env::var(variable).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn compile(source: &Path) -> PathBuf {
    let libraries = env::current_exe().unwrap().parent().unwrap().to_owned();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(source.file_stem().unwrap());
    let mut compiler = Command::new(env::var("SRLG_CC").unwrap_or("cc".to_owned()));
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-pthread"]);
    compiler.args(words("SRLG_CFLAGS")).arg("-I").arg(folder().join("include"));
    compiler.arg("-I").arg(folder().join("tests")).arg(source);
    compiler.arg(libraries.join("libsrlg.a")).args(NATIVE_LIBRARIES).arg("-o").arg(&program);
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run(source: &Path) -> String {
    let program = compile(source).into_os_string();
    let mut words = words("SRLG_RUNNER").into_iter().map(Into::into).chain([program]);
    let mut command = Command::new(words.next().unwrap());
    // The code of the documentation writes checkpoints.
    let output = command.args(words).current_dir(env!("CARGO_TARGET_TMPDIR")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_example_finds_the_scanner() {
    let text = run(&folder().join("examples/detect.c"));
    let words: Vec<&str> = text.split([' ', ',']).collect();
    let [host, cardinality, "", "at", "least", lower] = words[..] else { panic!("{text}") };
    let (cardinality, lower): (f64, f64) =
        (cardinality.parse().unwrap(), lower.trim().parse().unwrap());
    assert_eq!(host, "10.0.0.1");
    assert!(lower < 5000.0 && (cardinality - 5000.0).abs() < 200.0, "{text}");
}

#[test]
fn wrong_arguments_are_statuses() {
    run(&folder().join("tests/arguments.c"));
}

#[test]
fn pairs_of_a_slice_are_merged() {
    run(&folder().join("tests/pairs.c"));
}

#[test]
fn slices_have_numbers_timestamps_and_shorter_windows() {
    run(&folder().join("tests/slices.c"));
}

#[test]
fn a_damaged_checkpoint_is_renamed() {
    run(&folder().join("tests/checkpoints.c"));
}

#[test]
fn threads_share_handles() {
    run(&folder().join("tests/threads.c"));
}

#[test]
fn the_code_of_the_documentation_runs() {
    let text = fs::read_to_string(folder().join("../docs/c.md")).unwrap();
    let blocks = text.split("```c\n").skip(1).map(|block| block.split("```").next().unwrap());
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs.c");
    fs::write(&source, blocks.collect::<String>()).unwrap();
    run(&source);
}

/// Existing programs were compiled with these symbols and layouts. Existing lines of the snapshots must therefore not
/// change, but new lines may be added.
#[test]
fn the_library_has_all_symbols_and_layouts() {
    let library = env::current_exe().unwrap().parent().unwrap().join("libsrlg.so");
    let mut nm = Command::new("nm");
    let nm = nm.args(["--dynamic", "--defined-only", "--format=just-symbols"]).arg(library);
    let symbols = String::from_utf8(nm.output().unwrap().stdout).unwrap();
    insta::assert_snapshot!("symbols", symbols);
    let header = fs::read_to_string(folder().join("include/srlg.h")).unwrap();
    let values = header.lines().map(str::trim).filter(|line| line.starts_with("SRLG_"));
    insta::assert_snapshot!("values", values.collect::<Vec<_>>().join("\n"));
    insta::assert_snapshot!("layouts", run(&folder().join("tests/layout.c")));
}

#[test]
fn reports_have_the_bits_of_rust() {
    let ours = bits().unwrap();
    let theirs = run(&folder().join("tests/bits.c"));
    let differs = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
    assert_eq!(differs, None);
    assert_eq!(ours.lines().count(), theirs.lines().count());
    assert!(ours.contains("slice 3: 5 of "), "{ours}");
}

/// Returns the expected output of tests/bits.c.
fn bits() -> Result<String, Box<dyn std::error::Error>> {
    const NOISE: u32 = 20_000;
    const PEERS_OF_HOST: u32 = 300;
    let mixed = |number: u32| {
        let number = (number ^ number >> 16).wrapping_mul(0x85eb_ca6b);
        (number ^ number >> 13).wrapping_mul(0xc2b2_ae35)
    };
    let mut text = String::new();
    let config = Config::for_load(100, 5, 100_000, 2_000_000)?.config;
    let mut detector = SlidingDetector::new(config, Device::Cpu)?;
    let host = "10.0.0.1".parse()?;
    for slice in 0..4 {
        let noise =
            (0..NOISE).map(|i| Ipv4Pair { inside: mixed(i + slice * NOISE) >> 8, peer: mixed(!i) });
        let peers = (0..PEERS_OF_HOST)
            .map(|i| Ipv4Pair { inside: 0x0a00_0001 + slice, peer: 0xc612_0000 + i });
        detector.ingest(&noise.chain(peers).collect::<Vec<_>>())?;
        let (inside, prefix) = ([0x2001_0db8, 0, 0, 1], 0x2001_0db8);
        let peers = (0..PEERS_OF_HOST).map(|i| IpPair { inside, peer: [prefix, 0, 0, i] });
        detector.ingest(&peers.collect::<Vec<_>>())?;

        let (within, all) = (detector.cardinality_within(host, 2)?, detector.cardinality(host)?);
        write!(text, "within {}", range(within.range))?;
        let numbers = [within.cardinality, all.std_error, all.lower(1.96), all.upper(1.96)];
        write_bits(&mut text, &numbers)?;
        write_peers(&mut text, &detector.sample_peers(host)?)?;
        write_bytes(&mut text, "delta", &detector.delta(1)?.to_bytes()?)?;
        write_report(&mut text, &detector.close_slice()?)?;
        write_bytes(&mut text, "snapshot", &detector.snapshot()?.to_bytes()?)?;
    }
    Ok(text)
}

fn range(range: EstimateRange) -> u32 {
    match range {
        EstimateRange::Within => 0,
        EstimateRange::ClampedToZero => 1,
        EstimateRange::Beyond => 2,
        _ => 255,
    }
}

fn write_bits(text: &mut String, numbers: &[f64]) -> std::fmt::Result {
    numbers.iter().try_for_each(|number| write!(text, " {:016x}", number.to_bits()))
}

fn write_peers(text: &mut String, peers: &[SamplePeer]) -> std::fmt::Result {
    peers.iter().try_for_each(|peer| write!(text, " {}@{}", peer.host, peer.last_seen))?;
    writeln!(text)
}

fn write_report(text: &mut String, report: &SliceReport) -> std::fmt::Result {
    let SliceReport { slice, super_points, candidates, health, .. } = report;
    writeln!(text, "slice {slice}: {} of {candidates}", super_points.len())?;
    for point in super_points {
        write!(text, "{} {}", point.host, range(point.range))?;
        let numbers = [point.cardinality, point.std_error, point.lower(1.96), point.upper(1.96)];
        write_bits(text, &numbers)?;
        write_peers(text, &point.peers)?;
    }
    write_health(text, health)
}

fn write_health(text: &mut String, health: &Health) -> std::fmt::Result {
    let finder = &health.finder;
    let FinderFill::Cells { c_min, in_use, in_use_v6, .. } = finder.fill else { panic!("cells") };
    assert_eq!(finder.overload, None);
    write!(text, "health {} 0 {c_min}", u32::from(health.errors_hold))?;
    let numbers = [
        health.load,
        in_use,
        in_use_v6,
        finder.miss_probability,
        finder.miss_probability_v6.unwrap(),
        finder.burst_miss_probability,
        finder.burst_miss_probability_v6.unwrap(),
        finder.found_from,
        finder.found_from_v6.unwrap(),
        health.std_error.unwrap(),
    ];
    write_bits(text, &numbers)?;
    writeln!(text)
}

fn write_bytes(text: &mut String, name: &str, bytes: &[u8]) -> std::fmt::Result {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, add);
    writeln!(text, "{name} {} {hash:016x}", bytes.len())
}

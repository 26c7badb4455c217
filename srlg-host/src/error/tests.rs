//! A test that compares the texts of all library errors with the list in `snapshots`.

use std::collections::HashSet;
use std::fmt::{Debug, Display};
use std::io::{Error as IoError, ErrorKind};
use std::mem::discriminant;
use std::time::Duration;

use super::Error::{self, *};
use super::StateKind::{Delta, Snapshot};
use super::{ConfigError, FormatError};

/// Returns the fields and the text of each error. Asserts that `errors` contains all variants of the srlg-host enum
/// `name`.
fn texts<E: Debug + Display>(errors: &[E], name: &str) -> String {
    let source = include_str!("../error.rs");
    let (_, variants_of) = source.split_once(&format!("pub enum {name} {{")).expect("the enum");
    let (variants_of, _) = variants_of.split_once("\n}").expect("its end");
    let variants: HashSet<_> = errors.iter().map(discriminant).collect();
    let attributes = variants_of.lines().filter(|line| line.starts_with("    #[error("));
    assert_eq!(variants.len(), attributes.count(), "a variant is not in the list");
    errors.iter().map(|error| format!("{error:?}\n    {error}\n")).collect()
}

#[test]
fn texts_of_errors() {
    let name = || "CUDA_ERROR_UNKNOWN".to_owned();
    let text = || "unknown error".to_owned();
    let (ours, theirs) = (0x0a, 0x0b);
    let out_of_memory = || IoError::from(ErrorKind::OutOfMemory);
    let errors: [Error; 38] = [
        Config(ConfigError::HotLimit),
        OutOfMemory { bytes: 31_639_552, source: out_of_memory() },
        DeviceName { name: "gpu".into() },
        NoDriver,
        WithoutCuda,
        NoSuchDevice { ordinal: 7, count: 2 },
        ComputeCapability { name: "Tesla M60".into(), major: 5, minor: 2 },
        UnfitDriver { name: "cuCtxCreate".into(), text: text() },
        NoPtxCompiler { name: name(), text: text() },
        DeviceMemory { bytes: 31_639_552, free: 1 << 20 },
        PinnedMemory { bytes: 1 << 30 },
        Driver { doing: "launch a kernel", name: name(), text: text() },
        PinnedLost,
        PairsContext { name: name(), text: text() },
        DeviceLost,
        NotOnDevice,
        OtherDevice { ours: "cuda:0".into(), theirs: 1 },
        UnalignedPairs { address: 0x104, alignment: 8 },
        Ipv6InPaper,
        QueryWindow { window: 301, max: 300 },
        OtherSizes { stored: Delta, ours, theirs, differences: String::new() },
        OtherSizes { stored: Snapshot, ours, theirs, differences: "window is 9, not 8".into() },
        OtherSeed { stored: Snapshot, ours, theirs },
        FromFuture { stored: Delta, ours: 0, theirs: 1 },
        OlderThanWindow { ours: 8, theirs: 0, window: 8 },
        Format(FormatError::Contents { what: "a section has no words" }),
        Version { theirs: 3, newest: 2 },
        FormerVersion { theirs: 2, oldest: 3 },
        Compress { source: out_of_memory() },
        PartSize { max_bytes: 10, least: 100 },
        Checkpoint { doing: "write", path: "a/b".into(), source: ErrorKind::StorageFull.into() },
        CheckpointsInUse { path: "a/b".into() },
        SliceInPast { running: 7, asked: 5 },
        LastSlice { running: u64::MAX },
        FeedMemory { capacity: 1 << 30 },
        DetectorDropped,
        Randomness { source: ErrorKind::Unsupported.into() },
        SliceLength { length: Duration::ZERO },
    ];
    insta::assert_snapshot!(texts(&errors, "Error"));
}

#[test]
fn texts_of_errors_of_bytes() {
    let errors = [
        FormatError::Length { found: 7, expected: 64 },
        FormatError::Magic { found: *b"ELF\x7f" },
        FormatError::Kind { found: 2, expected: 1 },
        FormatError::Checksum { found: 0x0a, named: 0x0b },
        FormatError::TooManyPairs { most: 1000 },
        FormatError::Ipv6InPaper { host: "2001:db8::7".parse().unwrap() },
        FormatError::Contents { what: "there is no version 0" },
    ];
    insta::assert_snapshot!(texts(&errors, "FormatError"));
}

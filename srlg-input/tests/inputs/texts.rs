//! A test that compares the error texts of this crate, except those of live capture, with the list in `snapshots`.

use std::error::Error;
use std::io::{Error as IoError, ErrorKind};

use srlg_input::InputError;
use srlg_input::capture::{CaptureError, Cause, Truncation};
use srlg_input::contact::{BadNetwork, BadPrefix, BadView, UnknownName};
use srlg_input::flow::{BadOptions, BadState};

#[test]
fn texts_of_errors() {
    let absent = || IoError::from(ErrorKind::NotFound);
    let text = || "10.0.0.0/33".to_owned();
    let [name, path] = ["a.pcap", "a/b"];
    let address = "[::1]:2055".parse().unwrap();
    let length = Cause::BlockLength { kind: 6, length: 1 << 30 };
    let prefix = BadPrefix { name: "peer6", length: 129, longest: 128 };
    let errors: [&dyn Error; 35] = [
        &CaptureError::Empty,
        &CaptureError::UnknownFormat { first_bytes: "7f 45 4c 46".into() },
        &CaptureError::UnknownText { found: "when,who".into() },
        &CaptureError::UnknownJson { rows: 100 },
        &CaptureError::NoPackets,
        &CaptureError::Exports,
        &CaptureError::Gzip { cause: "invalid gzip header".into() },
        &CaptureError::Read(absent()),
        &Truncation { offset: 24, cause: Cause::EndOfInput },
        &Cause::CapturedLength(1 << 30),
        &length,
        &Cause::BlockTail { head: 32, tail: 36 },
        &Cause::Section,
        &Cause::MessageHeader { version: 9, length: 12 },
        &Cause::Gzip("invalid gzip header".into()),
        &UnknownName { text: "both".into(), choices: "any, source, destination".into() },
        &BadNetwork::Unreadable { text: text() },
        &BadNetwork::Mapped { text: "::ffff:0:0/95".into() },
        &prefix,
        &BadView::Prefix(prefix),
        &BadView::NoOutside,
        &BadOptions { name: "fields", value: 0, least: 1, most: 16_384 },
        &BadState::Magic,
        &BadState::Checksum { found: 0x0a, expected: 0x0b },
        &BadState::Content,
        &InputError::None,
        &InputError::Open { path: path.into(), error: absent() },
        &InputError::Capture { name: name.into(), error: CaptureError::Empty },
        &InputError::Exports { name: name.into() },
        &InputError::Listen { address, error: ErrorKind::AddrInUse.into() },
        &InputError::Receive { address, error: ErrorKind::NetworkDown.into() },
        &InputError::NoExporters,
        &InputError::Templates { path: path.into(), error: absent() },
        &InputError::Signals(ErrorKind::Unsupported.into()),
        &InputError::Thread(ErrorKind::OutOfMemory.into()),
    ];
    let texts = errors.iter().map(|error| format!("{error:?}\n    {error}\n"));
    insta::assert_snapshot!(texts.collect::<String>());
}

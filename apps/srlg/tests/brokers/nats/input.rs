//! The NATS input: contacts, counts, positions and unreachable servers.

use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

use async_nats::jetstream::stream::RetentionPolicy;
use srlg_cli::network::broker::LOG_FILE;
use srlg_input::flow::{Decoder, DecoderOptions, Reason};
use srlg_input::live::MessageFormat;
use srlg_input::{BrokerStatus, InputOptions, Position, Status};
use srlg_system::now_ms;

use super::server::{STREAM, Server};
use crate::flows::{ENRICHED, EXPORTER, enriched, flows, goflow2, json, netflow};
use crate::process::PATIENCE;
use crate::reading::{Reading, without_times};

fn messages(first: u32, count: u32) -> Vec<Vec<u8>> {
    flows(first, count).iter().map(|flow| goflow2(flow, true)).collect()
}

fn position(next: i64, other: &Position) -> Position {
    Position { offsets: [(0, next)].into(), ..other.clone() }
}

#[test]
fn messages_in_a_stream_are_the_contacts_that_netflow_has() {
    let Some(server) = Server::start("") else { return };
    let all = flows(0, 1_000);
    let (mut decoder, mut exported) =
        (Decoder::new(DecoderOptions::default()).unwrap(), Vec::new());
    for datagram in netflow(&all) {
        let exporter = (EXPORTER, 2055).into();
        decoder.decode(exporter, now_ms() * 1_000_000, &datagram, |contact| exported.push(contact));
    }
    let schema = server.folder().join("schema.proto");
    fs::write(&schema, ENRICHED).unwrap();
    let with = |format, schema: Option<&str>| {
        let mut options = server.stream();
        options.messages.message_format = format;
        options.messages.schema = schema.map(str::to_owned);
        options
    };
    let lines = |flows: &[_]| flows.iter().map(json).collect::<Vec<_>>().join("\n").into_bytes();
    let cases: [(InputOptions, Vec<Vec<u8>>); 3] = [
        (with(MessageFormat::Protobuf, None), messages(0, 1_000)),
        (with(MessageFormat::Protobuf, schema.to_str()), all.iter().map(enriched).collect()),
        (with(MessageFormat::Json, None), all.chunks(3).map(lines).collect()),
    ];
    for (options, messages) in cases {
        server.make_stream();
        let (before, count) = (now_ms(), messages.len() as u64);
        server.produce(messages);
        let mut reading = Reading::open(&options, None);
        reading.contacts(all.len());
        assert_eq!(without_times(&reading.contacts), without_times(&exported));
        let times = reading.contacts.iter().map(|contact| contact.time_ns / 1_000_000);
        assert!(times.clone().all(|ms| (before - 60_000..=now_ms()).contains(&ms)));
        reading.until(|it| it.broker().messages == count);
        let Status { flows, exporters, broker, .. } = reading.input.status();
        let [exporter] = &exporters[..] else { panic!("{exporters:?}") };
        assert_eq!(exporter.address.ip(), EXPORTER);
        assert_eq!((exporter.counts.records, flows.unwrap().contacts), (1_000, 1_000));
        let broker = broker.unwrap();
        let BrokerStatus { partitions, lag, expired, dropped, retries, error, .. } = broker;
        assert_eq!((partitions, lag, expired, dropped, retries), (1, 0, 0, 0, 0));
        assert_eq!((error, reading.warnings()), (None, 0));
        let position = reading.input.position().unwrap();
        assert_eq!(position.topic, STREAM);
        assert_eq!(position.offsets, [(0, 1 + count as i64)].into());
        drop(reading);
        server.remove_stream();
    }
}

#[test]
fn a_position_continues_without_a_gap_and_without_one_only_new_flows_come() {
    let Some(server) = Server::start("") else { return };
    server.make_stream();
    server.produce(messages(0, 300));
    let mut from_end = server.stream();
    from_end.messages.earliest = false;
    let mut reading = Reading::open(&from_end, None);
    reading.until(|it| it.input.position().is_some());
    server.produce(messages(300, 300));
    let stored = reading.contacts(300).input.position().unwrap().clone();
    assert_eq!((reading.contacts.len(), &stored.offsets), (300, &[(0, 601)].into()));
    drop(reading);
    server.produce(messages(600, 400));
    let mut reading = Reading::open(&from_end, Some(stored.clone()));
    reading.contacts(400);
    let expected: BTreeSet<_> =
        flows(600, 400).iter().map(|flow| flow.source.to_string()).collect();
    assert_eq!((reading.contacts.len(), reading.peers()), (400, expected));
    // A position of another stream does not apply.
    for topic in ["OTHER", "flows"] {
        let other = Position { topic: topic.to_owned(), ..stored.clone() };
        let mut reading = Reading::open(&from_end, Some(other));
        reading.until(|it| it.broker().partitions == 1 && it.warnings() == 1);
        assert_eq!(reading.contacts.len(), 0);
    }
}

#[test]
fn messages_that_are_no_flows_are_counted() {
    let Some(server) = Server::start("") else { return };
    server.make_stream();
    let [flow, ..] = flows(0, 1)[..] else { panic!() };
    let (good, json) = (goflow2(&flow, true), json(&flow).into_bytes());
    // The second to last message has another schema, so it has no goflow2 addresses.
    server.produce(vec![json, good[..9].to_vec(), Vec::new(), enriched(&flow), good]);
    let mut reading = Reading::open(&server.stream(), None);
    reading.contacts(1).until(|it| it.broker().messages == 5);
    let counts = reading.input.status().flows.unwrap();
    assert_eq!((counts.datagrams, counts.contacts), (5, 1));
    assert_eq!(counts.of(Reason::Malformed) + counts.of(Reason::NoHosts), 4);
    assert!(counts.of(Reason::Malformed) >= 3);
    let mut options = server.stream();
    options.messages.message_format = MessageFormat::Json;
    let mut reading = Reading::open(&options, None);
    reading.contacts(1).until(|it| it.broker().messages == 5);
    let counts = reading.input.status().flows.unwrap();
    // A protobuf message may contain line breaks.
    assert!(counts.of(Reason::Malformed) >= 4);
    assert_eq!(counts.contacts, 1);
}

#[test]
fn messages_that_were_deleted_before_they_were_read_are_counted() {
    let Some(server) = Server::start("") else { return };
    server.make_stream_with(|config| config.max_messages = 100);
    server.produce(messages(0, 20));
    let mut reading = Reading::open(&server.stream(), None);
    let stored = reading.contacts(20).input.position().unwrap().clone();
    drop(reading);
    server.produce(messages(20, 230));
    // The stream has the last 100 of 250 messages, except for one message in the middle.
    server.remove_message(200);
    let mut reading = Reading::open(&server.stream(), Some(stored.clone()));
    reading.contacts(99).until(|it| it.broker().messages == 99);
    assert_eq!((reading.broker().expired, reading.broker().lag), (130 + 1, 0));
    reading.until(|it| it.warnings() == 2);
    // The stream has never contained this message, so it must have been restored from an older copy.
    let mut reading = Reading::open(&server.stream(), Some(position(1_000, &stored)));
    reading.contacts(99).until(|it| it.broker().messages == 99);
    assert_eq!(reading.broker().expired, 1);
    reading.until(|it| it.warnings() == 2);
}

#[test]
fn a_server_that_is_away_is_named_and_read_again_when_it_is_there() {
    let Some(mut server) = Server::start("") else { return };
    server.make_stream();
    server.produce(messages(0, 10));
    let mut reading = Reading::open(&server.stream(), None);
    let stored = reading.contacts(5).input.position().unwrap().clone();
    drop(reading);
    server.broker.kill().unwrap();
    let mut reading = Reading::open(&server.stream(), Some(position(6, &stored)));
    reading.until(|it| it.broker().retries >= 2 && it.broker().error.is_some());
    let error = reading.broker().error.unwrap();
    assert!(error.contains("refused"), "{error}");
    assert_eq!(reading.warnings(), 1);
    // A checkpoint that is written in the meantime keeps the position.
    assert_eq!(reading.input.position(), Some(&position(6, &stored)));
    server.broker.restart().unwrap();
    reading.contacts(5).until(|it| it.broker().error.is_none());
    server.broker.kill().unwrap();
    reading.until(|it| it.broker().error.is_some() && it.broker().partitions == 0);
    server.broker.restart().unwrap();
    server.produce(messages(10, 10));
    reading.contacts(15).until(|it| it.broker().error.is_none());
    assert_eq!((reading.contacts.len(), reading.peers().len()), (15, 15));
    // The second outage started less than a minute after the first one was logged.
    assert_eq!((reading.broker().expired, reading.warnings()), (0, 1));
}

#[test]
fn a_stream_that_is_not_there_is_named_until_it_is() {
    let Some(server) = Server::start("") else { return };
    let mut reading = Reading::open(&server.stream(), None);
    reading.until(|it| it.broker().error.as_deref() == Some("stream FLOWS not found"));
    server.make_stream();
    server.produce(messages(0, 10));
    reading.contacts(10).until(|it| it.broker().error.is_none());
    // A new stream of the same name is read from its start.
    server.remove_stream();
    reading.until(|it| it.broker().error.is_some());
    server.make_stream();
    server.produce(messages(10, 20));
    reading.contacts(30).until(|it| it.broker().error.is_none());
    assert_eq!((reading.peers().len(), reading.broker().expired), (30, 0));
    assert_eq!(reading.input.position().unwrap().offsets, [(0, 21)].into());
}

#[test]
fn a_stream_that_deletes_what_was_read_is_refused() {
    let Some(server) = Server::start("") else { return };
    server.make_stream_with(|config| config.retention = RetentionPolicy::Interest);
    let mut reading = Reading::open(&server.stream(), None);
    reading.until(|it| it.broker().error.is_some());
    let error = reading.broker().error.unwrap();
    assert!(error.contains("retention policy to limits"), "{error}");
}

#[test]
fn messages_of_a_subject_are_read_as_they_come() {
    let Some(mut server) = Server::start("") else { return };
    let mut reading = Reading::open(&server.subject(), None);
    reading.until(|it| it.broker().partitions == 1);
    server.publish(messages(0, 500));
    reading.contacts(500);
    server.broker.restart().unwrap();
    reading.until(|it| it.broker().retries > 0 && it.broker().partitions == 1);
    server.publish(messages(500, 500));
    reading.contacts(1_000).until(|it| it.broker().error.is_none());
    assert_eq!((reading.contacts.len(), reading.peers().len()), (1_000, 1_000));
    assert_eq!((reading.input.position(), reading.warnings()), (None, 1));
}

#[test]
fn a_subject_that_is_not_read_in_time_is_reported() {
    let Some(server) = Server::start("write_deadline: \"1s\"\nmax_pending: 1MB") else { return };
    let mut reading = Reading::open(&server.subject(), None);
    reading.until(|it| it.broker().partitions == 1);
    // Contacts are not read until the server has closed the connection.
    let log = || fs::read_to_string(server.folder().join(LOG_FILE)).unwrap();
    let started = Instant::now();
    while !log().contains("Slow Consumer") {
        assert!(started.elapsed() < PATIENCE, "{}", log());
        server.publish(messages(0, 50_000));
    }
    reading.until(|it| it.broker().retries + it.broker().dropped > 0 && it.warnings() > 0);
    reading.until(|it| it.broker().partitions == 1);
}

#[test]
#[ignore = "measures speed"]
fn flows_per_second_from_a_stream() {
    let Some(server) = Server::start("") else { return };
    let lines: Vec<_> = flows(0, 200_000).iter().map(|flow| json(flow).into_bytes()).collect();
    for (format, messages) in
        [(MessageFormat::Protobuf, messages(0, 200_000)), (MessageFormat::Json, lines)]
    {
        server.make_stream();
        server.produce(messages);
        let mut options = server.stream();
        options.messages.message_format = format;
        for _ in 0..3 {
            let started = Instant::now();
            let mut reading = Reading::open(&options, None);
            reading.contacts(200_000);
            let seconds = started.elapsed().as_secs_f64();
            println!("{format}: {:.0} flows/s", reading.contacts.len() as f64 / seconds);
        }
        server.remove_stream();
    }
}

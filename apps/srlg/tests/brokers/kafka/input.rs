//! The Kafka input: contacts, counts, positions, schemas and unreachable brokers.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::iter;
use std::net::TcpListener;
use std::thread;
use std::time::Instant;

use srlg_input::flow::{Decoder, DecoderOptions, Reason};
use srlg_input::live::{BrokerOptions, MessageOptions};
use srlg_input::{BrokerStatus, InputOptions, Position, Status};
use srlg_system::now_ms;

use super::broker::{Broker, PARTITIONS, has_kcat};
use crate::flows::{ENRICHED, EXPORTER, enriched, flows, goflow2, netflow};
use crate::reading::{Reading, without_times};

pub(crate) fn options(addresses: &str, topic: &str) -> InputOptions {
    let url = format!("kafka://{addresses}/{topic}").parse().ok();
    assert!(url.is_some());
    InputOptions {
        broker: BrokerOptions { url, ..BrokerOptions::default() },
        messages: MessageOptions { earliest: true, ..MessageOptions::default() },
        ..InputOptions::default()
    }
}

fn with_schema(schema: &str, mut options: InputOptions) -> InputOptions {
    options.messages.schema = Some(schema.to_owned());
    options
}

#[test]
fn flows_in_a_topic_are_the_contacts_that_netflow_has() {
    if !has_kcat() {
        return;
    }
    let all = flows(0, 2_000);
    let (mut decoder, mut exported) =
        (Decoder::new(DecoderOptions::default()).unwrap(), Vec::new());
    for datagram in netflow(&all) {
        let exporter = (EXPORTER, 2055).into();
        decoder.decode(exporter, now_ms() * 1_000_000, &datagram, |contact| exported.push(contact));
    }
    assert_eq!(exported.len(), all.len());
    let broker = Broker::start("flows");
    for (partition, flows) in all.chunks(500).enumerate() {
        let messages: Vec<_> = flows.iter().map(|flow| goflow2(flow, partition < 2)).collect();
        broker.produce("flows", partition, &messages);
        let messages: Vec<_> = flows.iter().map(enriched).collect();
        broker.produce("enriched-TESTHASH", partition, &messages);
    }
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("schema.proto");
    fs::write(&schema, ENRICHED).unwrap();
    let of_akvorado = with_schema(schema.to_str().unwrap(), options(&broker.addresses, "enriched"));
    for options in [options(&broker.addresses, "flows"), of_akvorado] {
        let before = now_ms();
        let mut reading = Reading::open(&options, None);
        reading.contacts(all.len());
        assert_eq!(without_times(&reading.contacts), without_times(&exported));
        let times = reading.contacts.iter().map(|contact| contact.time_ns / 1_000_000);
        assert!(times.clone().all(|ms| (before - 60_000..=now_ms()).contains(&ms)));
        reading.until(|it| it.broker().messages == 2_000);
        let Status { flows, exporters, broker, .. } = reading.input.status();
        let [exporter] = &exporters[..] else { panic!("{exporters:?}") };
        assert_eq!(exporter.address.ip(), EXPORTER);
        assert_eq!((exporter.counts.records, flows.unwrap().contacts), (2_000, 2_000));
        let broker = broker.unwrap();
        assert_eq!(
            (broker.partitions, broker.lag, broker.expired, broker.retries),
            (PARTITIONS, 0, 0, 0)
        );
        assert_eq!((broker.error, reading.warnings()), (None, 0));
        let position = reading.input.position().unwrap();
        assert_eq!(position.offsets.values().sum::<i64>(), 2_000);
    }
}

#[test]
fn a_position_continues_without_a_gap_and_without_one_only_new_flows_come() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("flows");
    let produce = |partition, first, count| {
        let messages: Vec<_> = flows(first, count).iter().map(|flow| goflow2(flow, true)).collect();
        broker.produce("flows", partition, &messages);
    };
    produce(0, 0, 300);
    let mut from_end = options(&broker.addresses, "flows");
    from_end.messages.earliest = false;
    let mut reading = Reading::open(&from_end, None);
    reading.until(|it| it.broker().partitions == PARTITIONS);
    produce(1, 300, 300);
    let position = reading.contacts(300).input.position().unwrap().clone();
    assert_eq!(reading.contacts.len(), 300);
    assert_eq!(position.offsets, [(0, 300), (1, 300), (2, 0), (3, 0)].into());
    drop(reading);
    (0..4).for_each(|partition| produce(partition, 600 + 100 * partition as u32, 100));
    let mut reading = Reading::open(&from_end, Some(position));
    reading.contacts(400);
    let expected: BTreeSet<_> =
        flows(600, 400).iter().map(|flow| flow.source.to_string()).collect();
    assert_eq!((reading.contacts.len(), reading.peers()), (400, expected));
    // A position of another topic does not apply.
    let other =
        Position { topic: "other".to_owned(), offsets: [(0, 7)].into(), ..Position::default() };
    let mut reading = Reading::open(&from_end, Some(other));
    reading.until(|it| it.broker().partitions == PARTITIONS);
    assert_eq!((reading.contacts.len(), reading.warnings()), (0, 1));
}

#[test]
fn messages_that_are_no_flows_are_counted() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("flows");
    let [flow, ..] = flows(0, 1)[..] else { panic!() };
    let good = goflow2(&flow, true);
    let json = br#"{"src_addr":"192.0.2.1","dst_addr":"192.0.2.2"}"#.to_vec();
    // This message has another schema, so it has no goflow2 addresses.
    let other = enriched(&flow);
    broker.produce("flows", 0, &[json, good[..9].to_vec(), other, good]);
    let mut reading = Reading::open(&options(&broker.addresses, "flows"), None);
    reading.contacts(1).until(|it| it.broker().messages == 4);
    let counts = reading.input.status().flows.unwrap();
    assert_eq!((counts.datagrams, counts.contacts), (4, 1));
    assert_eq!(counts.of(Reason::Malformed) + counts.of(Reason::NoHosts), 3);
    assert!(counts.of(Reason::Malformed) >= 2);
}

#[test]
fn messages_that_were_deleted_before_they_were_read_are_counted() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("flows");
    // The brokers keep at most 5 MiB or 100,000 messages per partition.
    let messages: Vec<_> = flows(0, 120_000).iter().map(|flow| goflow2(flow, false)).collect();
    broker.produce("flows", 0, &messages);
    let position =
        Position { topic: "flows".to_owned(), offsets: [(0, 10)].into(), ..Position::default() };
    let mut reading = Reading::open(&options(&broker.addresses, "flows"), Some(position));
    reading.until(|it| it.broker().messages > 0 && it.broker().lag == 0);
    let BrokerStatus { messages, expired, .. } = reading.broker();
    assert!(expired > 0, "{messages}");
    assert_eq!(messages + expired, 119_990);
    assert_eq!(reading.warnings(), 1);
    // This offset has never existed.
    let position = Position {
        topic: "flows".to_owned(),
        offsets: [(0, 500_000)].into(),
        ..Position::default()
    };
    let mut reading = Reading::open(&options(&broker.addresses, "flows"), Some(position));
    reading.until(|it| it.broker().messages > 0);
    assert_eq!((reading.broker().expired, reading.warnings()), (0, 1));
}

#[test]
fn a_broker_that_is_not_there_is_named_and_no_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let position =
        Position { topic: "flows".to_owned(), offsets: [(0, 7)].into(), ..Position::default() };
    let mut reading = Reading::open(&options(&address, "flows"), Some(position.clone()));
    reading.until(|it| it.broker().retries >= 2 && it.broker().error.is_some());
    let error = reading.broker().error.unwrap();
    assert!(error.contains(&address), "{error}");
    assert_eq!(reading.warnings(), 1);
    assert!(reading.log.iter().any(|line| line.text.contains(&address)));
    // A checkpoint that is written in the meantime keeps the position.
    assert_eq!(reading.input.position(), Some(&position));
}

#[test]
fn a_topic_that_is_not_there_is_named_until_it_is() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("flows");
    let mut reading = Reading::open(&options(&broker.addresses, "late"), None);
    reading.until(|it| it.broker().error.as_deref() == Some("topic late not found"));
    let messages: Vec<_> = flows(0, 10).iter().map(|flow| goflow2(flow, false)).collect();
    broker.produce("late", 2, &messages);
    reading.contacts(10).until(|it| it.broker().error.is_none());
}

#[test]
fn brokers_that_answer_no_more_are_read_again_when_they_do() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("flows");
    let produce = |first, count| {
        let messages: Vec<_> =
            flows(first, count).iter().map(|flow| goflow2(flow, false)).collect();
        broker.produce("flows", 0, &messages);
    };
    produce(0, 10);
    let mut reading = Reading::open(&options(&broker.addresses, "flows"), None);
    reading.contacts(10);
    broker.signal("STOP");
    reading.until(|it| it.broker().error.is_some());
    broker.signal("CONT");
    produce(10, 10);
    reading.contacts(20).until(|it| it.broker().error.is_none());
    assert_eq!((reading.contacts.len(), reading.peers().len()), (20, 20));
    assert_eq!(reading.warnings(), 1);
}

#[test]
fn a_schema_is_fetched_as_soon_as_it_exists() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("enriched-TESTHASH");
    let messages: Vec<_> = flows(0, 50).iter().map(enriched).collect();
    broker.produce("enriched-TESTHASH", 1, &messages);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/schema.proto", listener.local_addr().unwrap());
    thread::spawn(move || {
        // The first response has no schema, and the second schema has no flow. The schema is fetched again every 15 s.
        let bodies = [None, Some("syntax = \"proto3\";")];
        for body in bodies.into_iter().chain(iter::repeat(Some(ENRICHED))) {
            answer(&listener, body);
        }
    });
    let options = with_schema(&url, options(&broker.addresses, "enriched"));
    let mut reading = Reading::open(&options, None);
    reading.contacts(50).until(|it| it.broker().messages == 50);
    let BrokerStatus { retries, error, .. } = reading.broker();
    assert_eq!((retries, error, reading.warnings()), (2, None, 1));
    assert_eq!(reading.input.position().unwrap().topic, "enriched-TESTHASH");
}

#[test]
fn a_schema_that_changes_is_followed_to_its_topic() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("enriched-TESTHASH");
    let produce = |topic, first| {
        let messages: Vec<_> = flows(first, 50).iter().map(enriched).collect();
        broker.produce(topic, 3, &messages);
    };
    produce("enriched-TESTHASH", 0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/schema.proto", listener.local_addr().unwrap());
    thread::spawn(move || {
        let hashes = [Some("TESTHASH"), None];
        for hash in hashes.into_iter().chain(iter::repeat(Some("NEXTHASH"))) {
            let schema = hash.map(|hash| ENRICHED.replace("TESTHASH", hash));
            answer(&listener, schema.as_deref());
        }
    });
    let options = with_schema(&url, options(&broker.addresses, "enriched"));
    let mut reading = Reading::open(&options, None);
    reading.contacts(50);
    produce("enriched-NEXTHASH", 50);
    // The schema cannot be fetched at first, and is requested again every 15 s.
    reading.until(|it| it.warnings() > 0);
    reading.contacts(100).until(|it| it.broker().messages == 100);
    assert_eq!(reading.peers().len(), 100);
    assert_eq!(reading.broker().error, None);
    let Status { flows, .. } = reading.input.status();
    assert_eq!(flows.unwrap().contacts, 100);
    assert_eq!(reading.input.position().unwrap().topic, "enriched-NEXTHASH");
}

#[test]
fn a_topic_that_was_replaced_while_srlg_was_stopped_is_read_to_its_end_first() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start("enriched-TESTHASH");
    let produce = |topic, first| {
        let messages: Vec<_> = flows(first, 50).iter().map(enriched).collect();
        broker.produce(topic, 3, &messages);
    };
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("schema.proto");
    let open = |schema_text: &str, position| {
        fs::write(&schema, schema_text).unwrap();
        let options = with_schema(schema.to_str().unwrap(), options(&broker.addresses, "enriched"));
        Reading::open(&options, position)
    };
    produce("enriched-TESTHASH", 0);
    let mut reading = open(ENRICHED, None);
    let all = |it: &Reading| it.input.position().is_some_and(|it| it.offsets.len() == PARTITIONS);
    let position = reading.contacts(50).until(all).input.position().unwrap().clone();
    drop(reading);
    produce("enriched-TESTHASH", 50);
    produce("enriched-NEXTHASH", 100);
    // The two addresses are swapped, so that each contact shows which schema was used.
    let next = ENRICHED.replace("TESTHASH", "NEXTHASH");
    let next = next.replace("SrcAddr = 9", "SrcAddr = 10").replace("DstAddr = 10", "DstAddr = 9");
    let mut reading = open(&next, Some(position.clone()));
    reading.contacts(100);
    assert_eq!((reading.peers().len(), reading.warnings()), (50 + 1, 0));
    assert_eq!(reading.input.position().unwrap().topic, "enriched-NEXTHASH");
    // The previous topic is missing, or its schema is unknown.
    for (topic, schema) in [
        ("enriched-GONEHASH", Some(ENRICHED.replace("TESTHASH", "GONEHASH"))),
        ("enriched-TESTHASH", None),
    ] {
        let position = Position { topic: topic.to_owned(), schema, ..position.clone() };
        let mut reading = open(&next, Some(position));
        reading.contacts(50).until(|it| it.warnings() == 1);
        assert_eq!(reading.peers().len(), 1);
        assert!(reading.log.iter().any(|line| line.text.contains(topic)), "{topic}");
    }
}

/// Answers an HTTP request with `body`, or with status 404 if there is no body.
fn answer(listener: &TcpListener, body: Option<&str>) {
    let (mut stream, _) = listener.accept().unwrap();
    let _length = stream.read(&mut [0; 1024]).unwrap();
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let (body, length) = (body.unwrap_or_default(), body.map_or(0, str::len));
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all((head + body).as_bytes()).unwrap();
}

#[test]
#[ignore = "measures speed"]
fn flows_per_second_from_brokers() {
    let broker = Broker::start("flows");
    let messages: Vec<_> = flows(0, 50_000).iter().map(|flow| goflow2(flow, true)).collect();
    (0..PARTITIONS).for_each(|partition| broker.produce("flows", partition, &messages));
    let started = Instant::now();
    let mut reading = Reading::open(&options(&broker.addresses, "flows"), None);
    reading.contacts(190_000);
    let seconds = started.elapsed().as_secs_f64();
    println!("{:.0} flows/s", reading.contacts.len() as f64 / seconds);
}

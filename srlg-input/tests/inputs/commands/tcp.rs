//! Tests of TCP sockets that receive IPFIX messages.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::ops::Range;
use std::thread;
use std::time::Instant;

use socket2::{Domain, SockRef, Socket, Type};
use srlg_input::flow::{Losses, Reason};
use srlg_input::live::{CloseReason, ConnectionCounts};
use srlg_input::{BadOption, Input, InputError, Status};

use crate::commands::{Come, PATIENCE, open, pair, refused};
use crate::exports::build::{Field, ipfix, set, template10};

const LOOPBACK: [&str; 4] = ["--listen-tcp", "127.0.0.1:0", "--exporters", "127.0.0.0/8"];

/// Source, destination and packet count.
const FIELDS: [Field; 3] = [(8, 4), (12, 4), (2, 4)];

fn listen() -> (Input, SocketAddr) {
    let input = open(&LOOPBACK).unwrap();
    let address = input.addresses()[0];
    (input, address)
}

fn template(fields: &[Field]) -> Vec<u8> {
    ipfix(0, 7, &[template10(256, fields)])
}

/// Returns a message with a record for each number in `hosts`, as [`template`] of [`FIELDS`] describes them.
fn data(number: u32, hosts: Range<u32>) -> Vec<u8> {
    let record = |host: u32| [0x0b00_0000 + host, 0x0a00_0001, 1].map(u32::to_be_bytes).concat();
    ipfix(number, 7, &[set(256, &hosts.flat_map(record).collect::<Vec<u8>>())])
}

fn connect(to: SocketAddr) -> TcpStream {
    connect_from(Ipv4Addr::LOCALHOST, to)
}

fn connect_from(address: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((address, 0)).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.set_tcp_nodelay(true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.into()
}

fn connections(status: &Status) -> ConnectionCounts {
    status.sockets.unwrap().connections.unwrap()
}

/// Takes events until the status of the input satisfies `is_done`.
fn until(input: &mut Input, is_done: impl Fn(&Status) -> bool) -> Come {
    let (mut all, started) = (Come::default(), Instant::now());
    while !is_done(&input.status()) {
        assert!(started.elapsed() < PATIENCE, "{:?}: {:?}", all.log, input.status());
        let come = Come::of(input, |come| !come.times.is_empty());
        all.pairs.extend(come.pairs);
        all.log.extend(come.log);
    }
    all
}

/// Returns whether the other side has closed the connection, after waiting for it.
fn is_closed(mut connection: &TcpStream) -> bool {
    match connection.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

fn end(mut input: Input) -> (Come, Status) {
    input.stop().stop();
    let come = Come::to_end(&mut input);
    (come, input.status())
}

#[test]
fn messages_become_contacts_however_they_are_cut() {
    let (mut input, to) = listen();
    let mut exporter = connect(to);
    let stream = [template(&FIELDS), data(0, 0..20), data(20, 20..21)].concat();
    exporter.write_all(&stream).unwrap();
    // A write of one byte is a segment of its own.
    let mut other = connect(to);
    stream.iter().for_each(|byte| other.write_all(&[*byte]).unwrap());
    let come = Come::of(&mut input, |come| come.pairs.len() == 42);
    let mut pairs = come.pairs;
    pairs.sort();
    let mut expected: Vec<_> = (0..21).chain(0..21).map(pair).collect();
    expected.sort();
    assert_eq!(pairs, expected);
    assert_eq!(connections(&input.status()).open, 2);
    drop(other);
    until(&mut input, |status| connections(status).open == 1);
    let (come, status) = end(input);
    assert_eq!(come.log, [""; 0]);
    insta::assert_snapshot!(status.sockets.unwrap());
    let [exporter] = &status.exporters[..] else { panic!("{:?}", status.exporters) };
    assert_eq!(exporter.address, "127.0.0.1:0".parse().unwrap());
    assert_eq!((exporter.counts.datagrams, exporter.losses), (6, Some(Losses::default())));
}

#[test]
fn streams_without_ipfix_are_closed_and_named() {
    let (mut input, to) = listen();
    let texts: [&[u8]; 4] =
        [&[0, 10, 0, 15], &[0, 9, 0, 20], b"GET / HTTP/1.1\r\n\r\n", &[0x16, 3, 1, 2, 0]];
    let mut log = Vec::new();
    for (at, text) in (1..).zip(texts) {
        let mut exporter = connect(to);
        exporter.write_all(&[&template(&FIELDS)[..], &data(0, 0..1), text].concat()).unwrap();
        assert!(is_closed(&exporter));
        log.extend(until(&mut input, |it| connections(it).closed(CloseReason::Header) == at).log);
        let is_warning = |line: &String| line.contains("before their end");
        if at == 1 && !log.iter().any(is_warning) {
            log.extend(Come::of(&mut input, |come| come.log.iter().any(is_warning)).log);
        }
        // The port of the exporter is different in each run.
        let port = exporter.local_addr().unwrap().port().to_string();
        log.iter_mut().for_each(|line| *line = line.replace(&port, "PORT"));
    }
    let (come, status) = end(input);
    assert_eq!(connections(&status).open, 0);
    assert_eq!(status.flows.unwrap().contacts, 4);
    assert_eq!(come.log.len(), 1, "later warnings are joined: {:?}", come.log);
    log.retain(|line| line.contains("PORT"));
    insta::assert_snapshot!(log.join("\n"));
}

#[test]
fn templates_belong_to_a_connection_and_end_with_it() {
    let (mut input, to) = listen();
    let [mut a, mut b] = [connect(to), connect(to)];
    a.write_all(&template(&FIELDS)).unwrap();
    // Here the same template of the same domain has the addresses in the opposite order.
    b.write_all(&template(&[(12, 4), (8, 4), (2, 4)])).unwrap();
    until(&mut input, |status| status.exporters.first().is_some_and(|it| it.templates == 2));
    a.write_all(&data(0, 1..2)).unwrap();
    let mut come = Come::of(&mut input, |come| !come.pairs.is_empty());
    b.write_all(&data(0, 2..3)).unwrap();
    come.pairs.extend(Come::of(&mut input, |come| !come.pairs.is_empty()).pairs);
    let (source, destination) = pair(2);
    assert_eq!(come.pairs, [pair(1), (destination, source)]);
    drop((a, b));
    until(&mut input, |status| status.exporters[0].templates == 0);
    let mut again = connect(to);
    again.write_all(&data(0, 3..4)).unwrap();
    let held = |status: &Status| status.exporters[0].counts.of(Reason::Held);
    until(&mut input, |status| held(status) == 1);
    drop(again);
    until(&mut input, |status| status.exporters[0].counts.of(Reason::Dropped) == 1);
    assert_eq!(input.status().exporters[0].backlog, None);
}

#[test]
fn sequence_numbers_are_counted_within_a_connection() {
    let (mut input, to) = listen();
    // The second connection starts with a number that would be a loss in the first one.
    for (numbers, lost) in [([0_u32, 6, 15], 9), ([0, 1, 3], 9), ([20, 25, 30], 9)] {
        let before = input.status().flows.unwrap().datagrams;
        let mut exporter = connect(to);
        let mut template = template(&FIELDS);
        template[8..12].copy_from_slice(&numbers[0].to_be_bytes());
        exporter.write_all(&template).unwrap();
        for number in numbers {
            exporter.write_all(&data(number, 0..5.min(number + 1))).unwrap();
        }
        until(&mut input, |status| status.flows.as_ref().unwrap().datagrams == before + 4);
        let losses = input.status().exporters[0].losses.unwrap();
        assert_eq!((losses.lost, losses.resets), (lost, 0), "{numbers:?}");
    }
}

#[test]
fn an_address_has_up_to_four_connections() {
    let (mut input, to) = listen();
    let open: Vec<_> = (0..4).map(|_| connect(to)).collect();
    until(&mut input, |status| connections(status).open == 4);
    assert!(is_closed(&connect(to)));
    let come = until(&mut input, |it| connections(it).closed(CloseReason::AddressFull) == 1);
    drop(open);
    until(&mut input, |status| connections(status).open == 0);
    let mut exporter = connect(to);
    exporter.write_all(&[template(&FIELDS), data(0, 0..1)].concat()).unwrap();
    let more = Come::of(&mut input, |come| !come.pairs.is_empty());
    let (last, _) = end(input);
    let log = [come.log, more.log, last.log].concat();
    let warnings = log.iter().filter(|line| line.contains("before their end"));
    assert_eq!(warnings.count(), 1, "{log:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn there_are_up_to_64_connections() {
    let (mut input, to) = listen();
    let from = |at: u8| Ipv4Addr::new(127, 0, 0, 1 + at / 4);
    let open: Vec<_> = (0..64).map(|at| connect_from(from(at), to)).collect();
    until(&mut input, |status| connections(status).open == open.len());
    assert!(is_closed(&connect_from(from(64), to)));
    until(&mut input, |it| connections(it).closed(CloseReason::Full) == 1);
}

#[test]
fn other_senders_are_refused() {
    let args = ["--listen-tcp", "127.0.0.1:0", "--exporters", "192.0.2.0/24"];
    let mut input = open(&args).unwrap();
    assert!(is_closed(&connect(input.addresses()[0])));
    until(&mut input, |status| status.sockets.unwrap().refused == 1);
    assert_eq!(connections(&input.status()), ConnectionCounts::default());
}

#[test]
fn a_slow_reader_slows_exporters_down_and_loses_nothing() {
    let (mut input, to) = listen();
    let (messages, hosts) = (20_000, 28);
    let exporter = thread::spawn(move || {
        let mut exporter = connect(to);
        // Otherwise, the system could keep all messages for the exporter, depending on its limits.
        SockRef::from(&exporter).set_send_buffer_size(1 << 16).unwrap();
        exporter.write_all(&template(&FIELDS)).unwrap();
        for number in 0..messages {
            exporter.write_all(&data(number * hosts, 0..hosts)).unwrap();
        }
    });
    // The queue is full before its first contact is taken. It never has room for all.
    let (started, full) = (Instant::now(), 1 << 16);
    while input.status().flows.unwrap().contacts < full {
        assert!(started.elapsed() < PATIENCE, "{:?}", input.status());
        thread::yield_now();
    }
    assert!(!exporter.is_finished());
    let all = (messages * hosts) as usize;
    assert_eq!(Come::of(&mut input, |come| come.pairs.len() >= all).pairs.len(), all);
    exporter.join().unwrap();
    assert_eq!(input.status().exporters[0].losses, Some(Losses::default()));
}

#[test]
fn what_has_arrived_is_read_before_the_end_and_half_a_message_is_counted() {
    let (input, to) = listen();
    let mut exporter = connect(to);
    exporter.write_all(&template(&FIELDS)).unwrap();
    for number in 0..100 {
        exporter.write_all(&data(number * 28, 0..28)).unwrap();
    }
    exporter.write_all(&data(2_800, 0..28)[..100]).unwrap();
    let (come, status) = end(input);
    assert_eq!(come.pairs.len(), 2_800);
    let connections = connections(&status);
    assert_eq!((connections.closed(CloseReason::Cut), connections.open), (1, 0));
    assert_eq!(come.log.iter().filter(|line| line.contains("before their end")).count(), 1);
}

#[test]
fn datagrams_and_connections_of_an_exporter_are_one_but_do_not_disturb_each_other() {
    let args = [&LOOPBACK[..], &["--listen", "127.0.0.1:0"]].concat();
    let mut input = open(&args).unwrap();
    let [udp, tcp] = input.addresses()[..] else { panic!("{:?}", input.addresses()) };
    let mut exporter = connect(tcp);
    exporter.write_all(&template(&FIELDS)).unwrap();
    until(&mut input, |status| !status.exporters.is_empty());
    // An exporter may have 256 observation domains. More of them displace the first ones.
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for domain in 0..300 {
        let forged = ipfix(0, domain, &[template10(256, &FIELDS)]);
        socket.send_to(&forged, udp).unwrap();
        until(&mut input, |status| status.exporters[0].counts.datagrams == u64::from(domain) + 2);
    }
    exporter.write_all(&data(0, 0..1)).unwrap();
    assert_eq!(Come::of(&mut input, |come| !come.pairs.is_empty()).pairs, [pair(0)]);
    let [exporter] = &input.status().exporters[..] else { panic!("{:?}", input.status()) };
    assert_eq!((exporter.templates, exporter.counts.of(Reason::SourceGone)), (257, 44));
    assert_eq!(exporter.losses, Some(Losses::default()));
}

#[test]
fn a_port_in_use_and_options_of_datagrams_are_refused() {
    let (_input, to) = listen();
    let at = to.to_string();
    let error = refused(&["--listen-tcp", &at, "--exporters", "::1"]);
    let InputError::Listen { address, error } = error else { panic!("{error}") };
    assert_eq!((address, error.kind()), (to, std::io::ErrorKind::AddrInUse));
    let mut options = srlg_input::InputOptions::default();
    options.sockets.listen_tcp = vec![to];
    let bad = |options: &srlg_input::InputOptions| {
        options.check().err().map(|BadOption { option, .. }| option)
    };
    assert_eq!(bad(&options), Some("listen-tcp"));
    options.sockets.exporters = vec!["::1/128".parse().unwrap()];
    assert_eq!(bad(&options), None);
    options.sockets.receivers = 2;
    assert_eq!(bad(&options), Some("listen"));
    options.sockets.listen = vec![to];
    assert_eq!(bad(&options), None);
    options.interface = Some("eth0".to_owned());
    assert_eq!(bad(&options), Some("interface"));
}

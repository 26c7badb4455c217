//! Tests of UDP sockets that receive exports.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use srlg_input::flow::{Losses, Reason};
use srlg_input::live::SocketOptions;
use srlg_input::{Input, InputError, InputOptions};

use crate::commands::{Come, data, open, pair, refused, template};

fn listen(more: &[&str]) -> (Input, SocketAddr) {
    let mut input = open(&[&["--listen", "127.0.0.1:0"], more].concat()).unwrap();
    let address = listens_at(&mut input);
    (input, address)
}

fn listens_at(input: &mut Input) -> SocketAddr {
    let address = |come: &Come| {
        let last_words = come.log.iter().filter_map(|line| line.rsplit(' ').next());
        last_words.into_iter().find_map(|word| word.parse().ok())
    };
    let come = Come::of(input, |come| address(come).is_some());
    address(&come).unwrap()
}

fn counted(log: &[String]) -> u64 {
    log.iter().filter_map(|line| line.split(' ').find_map(|word| word.parse::<u64>().ok())).sum()
}

const LOOPBACK: [&str; 2] = ["--exporters", "127.0.0.0/8"];

fn exporter() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").unwrap()
}

/// Waits until the input has decoded or refused at least `datagrams` datagrams. The count of received datagrams is not
/// enough, because a datagram is received before it is decoded.
fn wait_for(input: &mut Input, datagrams: u64) -> Come {
    let mut all = Come::default();
    loop {
        let status = input.status();
        if status.flows.unwrap().datagrams + status.sockets.unwrap().refused >= datagrams {
            break;
        }
        let come = Come::of(input, |come| !come.times.is_empty());
        all.pairs.extend(come.pairs);
        all.log.extend(come.log);
    }
    all
}

#[test]
fn datagrams_become_contacts_and_ticks_follow_the_clock() {
    let (mut input, to) = listen(&LOOPBACK);
    let exporter = exporter();
    exporter.send_to(&template(0), to).unwrap();
    exporter.send_to(&data(1, 0..20), to).unwrap();
    let come = Come::of(&mut input, |come| come.pairs.len() == 20 && come.times.len() > 3);
    assert_eq!(come.pairs, (0..20).map(pair).collect::<Vec<_>>());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    assert!(come.times.is_sorted() && come.times.iter().all(|time| now.abs_diff(*time) < 60 << 30));
    input.stop().stop();
    Come::to_end(&mut input);
    let status = input.status();
    insta::assert_snapshot!(status.sockets.unwrap());
    assert_eq!(status.exporters[0].address, "127.0.0.1:0".parse().unwrap());
}

#[test]
fn sources_that_are_not_configured_are_not_read() {
    let (mut input, to) = listen(&["--exporters", "192.0.2.0/24", "--exporters", "127.0.0.2"]);
    let exporter = exporter();
    for number in 0..10 {
        exporter.send_to(&template(number), to).unwrap();
    }
    let mut log = wait_for(&mut input, 10).log;
    let status = input.status();
    assert_eq!((status.sockets.unwrap().refused, status.sockets.unwrap().received), (10, 0));
    assert_eq!(status.flows.unwrap().datagrams, 0);
    if log.is_empty() {
        log = Come::of(&mut input, |come| !come.log.is_empty()).log;
    }
    // On a busy machine, some datagrams are refused after the first line was logged. They are logged at the end.
    input.stop().stop();
    log.extend(Come::to_end(&mut input).log);
    assert!(log.iter().all(|line| line.ends_with(" 127.0.0.1")), "{log:?}");
    assert_eq!(counted(&log), 10, "{log:?}");
}

#[test]
fn sources_that_are_forgotten_are_logged_once_in_a_while() {
    let (mut input, to) = listen(&LOOPBACK);
    let exporter = exporter();
    for domain in 0..300_u32 {
        let mut template = template(0);
        template[16..20].copy_from_slice(&domain.to_be_bytes());
        exporter.send_to(&template, to).unwrap();
    }
    // An input without contacts would log another line.
    let mut contact = data(1, 0..1);
    contact[16..20].copy_from_slice(&299_u32.to_be_bytes());
    exporter.send_to(&contact, to).unwrap();
    let mut log = wait_for(&mut input, 301).log;
    input.stop().stop();
    log.extend(Come::to_end(&mut input).log);
    let gone = input.status().exporters[0].counts.of(Reason::SourceGone);
    assert_eq!(gone, 300 - 256);
    assert!(log.len() <= 2, "{log:?}");
    assert_eq!(counted(&log), gone, "{log:?}");
}

#[test]
fn a_program_that_asks_for_no_thread_gets_one() {
    let listen = vec!["127.0.0.1:0".parse().unwrap()];
    let exporters = vec!["127.0.0.0/8".parse().unwrap()];
    let sockets = SocketOptions { listen, exporters, receivers: 0, ..SocketOptions::default() };
    let mut input = Input::open(&InputOptions { sockets, ..InputOptions::default() }).unwrap();
    let to = listens_at(&mut input);
    exporter().send_to(&template(0), to).unwrap();
    wait_for(&mut input, 1);
}

#[test]
fn one_port_takes_both_families_and_hosts_of_ipv4_are_such() {
    let mut input =
        open(&["--listen", "[::]:0", "--exporters", "127.0.0.1", "--exporters", "::1"]).unwrap();
    let port = listens_at(&mut input).port();
    exporter().send_to(&template(0), ("127.0.0.1", port)).unwrap();
    UdpSocket::bind("[::1]:0").unwrap().send_to(&template(0), ("::1", port)).unwrap();
    wait_for(&mut input, 2);
    let exporters: Vec<_> =
        input.status().exporters.iter().map(|it| it.address.ip().to_string()).collect();
    assert_eq!(exporters, ["127.0.0.1", "::1"]);
}

#[test]
fn what_the_kernel_drops_is_counted_to_the_datagram() {
    let (mut input, to) = listen(&[&LOOPBACK[..], &["--receive-buffer", "4096"]].concat());
    let exporter = exporter();
    exporter.send_to(&template(0), to).unwrap();
    wait_for(&mut input, 1);
    // While contacts are not taken, the queue fills up, and then the buffer of the kernel.
    let sent = 20_000;
    for number in 1..sent {
        exporter.send_to(&data(number, 0..28), to).unwrap();
    }
    input.stop().stop();
    let come = Come::to_end(&mut input);
    let status = input.status();
    let sockets = status.sockets.unwrap();
    assert!(sockets.dropped.unwrap() > 0);
    assert_eq!(sockets.received + sockets.dropped.unwrap(), u64::from(sent));
    assert_eq!(status.exporters[0].counts.datagrams, sockets.received);
    assert_eq!(Some(counted(&come.log)), sockets.dropped, "{:?}", come.log);
}

#[test]
fn an_exporter_that_changes_its_port_keeps_its_templates_on_any_thread() {
    let (mut input, to) = listen(&[&LOOPBACK[..], &["--receivers", "4"]].concat());
    exporter().send_to(&template(0), to).unwrap();
    wait_for(&mut input, 1);
    let mut all = Vec::new();
    for number in 1..=100 {
        exporter().send_to(&data(number, number..number + 1), to).unwrap();
        // Datagrams that different threads receive are decoded in any order, so only one is on its way.
        all.extend(Come::of(&mut input, |come| !come.pairs.is_empty()).pairs);
    }
    input.stop().stop();
    all.extend(Come::to_end(&mut input).pairs);
    assert_eq!(all, (1..=100).map(pair).collect::<Vec<_>>());
    let status = input.status();
    assert_eq!((status.exporters.len(), status.exporters[0].losses), (1, Some(Losses::default())));
}

#[test]
fn templates_are_known_after_a_restart_with_another_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("templates");
    let kept = [&LOOPBACK[..], &["--templates", path.to_str().unwrap()]].concat();
    let (mut input, to) = listen(&[&kept[..], &["--receivers", "3"]].concat());
    exporter().send_to(&template(0), to).unwrap();
    wait_for(&mut input, 1);
    input.stop().stop();
    Come::to_end(&mut input);
    drop(input);
    for receivers in ["1", "4"] {
        let (mut input, to) = listen(&[&kept[..], &["--receivers", receivers]].concat());
        exporter().send_to(&data(1, 0..1), to).unwrap();
        assert_eq!(Come::of(&mut input, |come| !come.pairs.is_empty()).pairs, [pair(0)]);
        input.stop().stop();
        assert!(Come::to_end(&mut input).log.is_empty());
    }
    // If the file is damaged, only its templates are lost.
    let bytes = std::fs::read(&path).unwrap();
    let mut other_version = bytes.clone();
    other_version[4 + 7] += 1;
    let logged = [&bytes[..bytes.len() - 1], &other_version].map(|damaged| {
        std::fs::write(&path, damaged).unwrap();
        let mut input = open(&[&["--listen", "127.0.0.1:0"], &kept[..]].concat()).unwrap();
        Come::of(&mut input, |come| come.log.len() >= 2).log[0].clone()
    });
    insta::assert_snapshot!(logged.join("\n").replace(folder.path().to_str().unwrap(), "TMP"));
    // A file of another program is not changed.
    for text in ["{}", "a text of several words\n"] {
        std::fs::write(&path, text).unwrap();
        let error = refused(&[&["--listen", "127.0.0.1:0"], &kept[..]].concat());
        let InputError::Templates { path: it, error } = error else { panic!("{error}") };
        assert_eq!((it, error.kind()), (path.clone(), ErrorKind::InvalidData));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    for path in ["/", "/no/such/file"] {
        let args = ["--listen", "127.0.0.1:0", "--exporters", "::1", "--templates", path];
        let error = refused(&args);
        assert!(matches!(&error, InputError::Templates { path: it, .. } if it == Path::new(path)));
    }
}

#[test]
fn a_second_program_on_the_port_is_refused() {
    for receivers in ["1", "4"] {
        let (mut input, to) = listen(&[&LOOPBACK[..], &["--receivers", receivers]].concat());
        for other in ["1", "4"] {
            let at = to.to_string();
            let args = [&["--listen", &at][..], &LOOPBACK, &["--receivers", other]].concat();
            let error = refused(&args);
            let InputError::Listen { address, error } = error else { panic!("{error}") };
            assert_eq!((address, error.kind()), (to, ErrorKind::AddrInUse));
        }
        input.stop().stop();
        Come::to_end(&mut input);
    }
}

#[test]
fn what_has_been_sent_is_read_before_the_end() {
    let (mut input, to) = listen(&LOOPBACK);
    let exporter = exporter();
    exporter.send_to(&template(0), to).unwrap();
    for number in 1..200 {
        exporter.send_to(&data(number, 0..28), to).unwrap();
    }
    input.stop().stop();
    assert_eq!(Come::to_end(&mut input).pairs.len(), 199 * 28);
}

#[test]
fn threads_end_after_the_last_request() {
    let (input, to) = listen(&LOOPBACK);
    drop(input);
    // The port is free again.
    let at = to.to_string();
    let again = || open(&[&["--listen", &at][..], &LOOPBACK].concat()).is_ok();
    assert!((0..300).any(|_| again() || {
        sleep(Duration::from_millis(10));
        false
    }));
}

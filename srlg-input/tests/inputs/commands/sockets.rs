//! UDP sockets that exporters send to.

use std::net::{SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use srlg_input::live::SocketOptions;
use srlg_input::{Input, InputOptions};

use crate::commands::export::{data, pair, template};
use crate::commands::{Come, open};

/// An input that receives at a port of its own with `more` options, and the address.
fn listen(more: &[&str]) -> (Input, SocketAddr) {
    let mut input = open(&[&["--listen", "127.0.0.1:0"], more].concat()).unwrap();
    let address = listens_at(&mut input);
    (input, address)
}

fn listens_at(input: &mut Input) -> SocketAddr {
    let says = |line: &String| line.contains("receives exports of flows at");
    let come = Come::of(input, |come| come.log.iter().any(says));
    let line = come.log.iter().find(|line| says(line)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

const LOOPBACK: [&str; 2] = ["--exporters", "127.0.0.0/8"];

fn exporter() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").unwrap()
}

/// Waits until the input has read as many datagrams, those that it refused included.
fn wait_for(input: &mut Input, datagrams: u64) -> Come {
    let mut all = Come::default();
    loop {
        let sockets = input.status().sockets.unwrap();
        if sockets.received + sockets.refused >= datagrams {
            break;
        }
        let come = Come::of(input, |come| !come.times.is_empty());
        all.pairs.extend(come.pairs);
        all.log.extend(come.log);
    }
    all
}

#[test]
fn datagrams_of_exporters_are_contacts_and_the_time_of_day_goes_on() {
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
    assert_eq!(
        status.sockets.unwrap().to_string(),
        "2 datagrams received, 0 of other senders refused, 0 dropped by the kernel"
    );
    assert_eq!(status.exporters[0].address, "127.0.0.1:0".parse().unwrap());
}

#[test]
fn nobody_else_is_read() {
    let (mut input, to) = listen(&["--exporters", "192.0.2.0/24", "--exporters", "127.0.0.2"]);
    let exporter = exporter();
    for number in 0..10 {
        exporter.send_to(&template(number), to).unwrap();
    }
    wait_for(&mut input, 10);
    let status = input.status();
    assert_eq!((status.sockets.unwrap().refused, status.sockets.unwrap().received), (10, 0));
    assert_eq!(status.flows.unwrap().datagrams, 0);
    let says = |line: &String| {
        line.contains("10 datagrams of senders that --exporters does not name")
            && line.ends_with("127.0.0.1")
    };
    Come::of(&mut input, |come| come.log.iter().any(says));
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
fn who_may_send_has_to_be_said() {
    let error = open(&["--listen", "127.0.0.1:0"]).unwrap_err();
    assert!(error.contains("--exporters <CIDR>"), "{error}");
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
    // Nobody takes contacts meanwhile: the belt is full, and then the buffer of the kernel.
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
    assert!(come.log.iter().any(|line| line.contains("the kernel has dropped")), "{:?}", come.log);
}

#[test]
fn an_exporter_that_changes_its_port_keeps_its_templates_whichever_thread_hears_it() {
    let (mut input, to) = listen(&[&LOOPBACK[..], &["--receivers", "4"]].concat());
    exporter().send_to(&template(0), to).unwrap();
    wait_for(&mut input, 1);
    let mut all = Vec::new();
    for number in 1..=100 {
        exporter().send_to(&data(number, number..number + 1), to).unwrap();
        all.extend(wait_for(&mut input, u64::from(number) + 1).pairs);
    }
    input.stop().stop();
    all.extend(Come::to_end(&mut input).pairs);
    assert_eq!(all, (1..=100).map(pair).collect::<Vec<_>>());
    let status = input.status();
    assert_eq!((status.exporters.len(), status.exporters[0].losses.lost), (1, 0));
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
    // A file that is damaged costs its templates, and no more.
    let bytes = std::fs::read(&path).unwrap();
    for (damaged, says) in
        [(&bytes[..bytes.len() - 1], "is cut"), (&[1, 0, 0, 0, 7][..], "no state")]
    {
        std::fs::write(&path, damaged).unwrap();
        let mut input = open(&[&["--listen", "127.0.0.1:0"], &kept[..]].concat()).unwrap();
        let come = Come::of(&mut input, |come| come.log.len() >= 2);
        assert!(come.log[0].contains(says), "{:?}", come.log);
    }
    let error =
        open(&["--listen", "127.0.0.1:0", "--exporters", "::1", "--templates", "/"]).unwrap_err();
    assert!(error.starts_with("cannot keep templates in /: "), "{error}");
    let absent = ["--listen", "127.0.0.1:0", "--exporters", "::1", "--templates", "/no/such/file"];
    let error = open(&absent).unwrap_err();
    assert!(error.starts_with("cannot keep templates in /no/such/file: No such file"), "{error}");
}

#[test]
fn a_second_program_on_the_port_is_refused() {
    for receivers in ["1", "4"] {
        let (mut input, to) = listen(&[&LOOPBACK[..], &["--receivers", receivers]].concat());
        for other in ["1", "4"] {
            let at = to.to_string();
            let args = [&["--listen", &at][..], &LOOPBACK, &["--receivers", other]].concat();
            let error = open(&args).unwrap_err();
            assert!(
                error.starts_with(&format!("cannot listen at {to}: Address already in use")),
                "{error}"
            );
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
fn threads_end_when_nobody_asks_any_more() {
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

//! Notices to send, and a server that takes them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use srlg_cli::alerts::{Condition, Rule, Sighting, Status, Terms, Tracker};
use srlg_cli::notify::notice::{Context, Direction, Notice};
use srlg_cli::notify::sinks::{SinkOptions, Sinks};
use srlg_cli::notify::store::Store;
use srlg_cli::show::board::SinkBoard;

/// A start and an end of each of `hosts`, all starts first.
pub(crate) fn notices(hosts: u16) -> Vec<Notice> {
    let terms = Terms { for_slices: 1, hold_ms: 0, ..Terms::default() };
    let windows = [(60, terms)].into();
    let rule = Rule { name: "r\"] x".to_owned(), networks: Vec::new(), windows };
    let mut tracker = Tracker::new("fan-in");
    let point = |host: u16| {
        let [high, low] = host.to_be_bytes();
        Sighting::new([10, high, low, 1].into(), 2_000.0, 10.0)
    };
    let points: Vec<Sighting> = (0..hosts).map(point).collect();
    let mut notices = Vec::new();
    for (now_ms, points) in [(1_700_000_000_000, &points[..]), (1_700_000_060_000, &[])] {
        let sightings = [(60, points.to_vec())].into();
        let told = tracker.close(now_ms, &sightings, |_| Some(&rule), Condition::default());
        notices.extend(told.into_iter().map(|alert| {
            let context = Context {
                direction: Direction::FanIn,
                is_inside: true,
                slice_ms: 1_000,
                opposite: Some(1.0),
                peers: vec![[192, 0, 2, 1].into()],
                ..Context::default()
            };
            Notice::new(alert, context)
        }));
    }
    assert_eq!(notices.iter().filter(|it| it.status == Status::End).count(), usize::from(hosts));
    notices
}

/// A sink by its configuration.
pub(crate) fn sink(text: &str) -> SinkOptions {
    toml::from_str(text).unwrap()
}

/// A database with one sink, to which everything that is added goes.
pub(crate) fn started(text: &str) -> (Store, Sinks) {
    let store = Store::open(None).unwrap();
    let sinks = Sinks::start(&[sink(text)], &store).unwrap();
    (store, sinks)
}

/// Waits until the board of the first sink is as `is` says.
pub(crate) fn wait(sinks: &Sinks, is: impl Fn(&SinkBoard) -> bool) -> SinkBoard {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let board = sinks.boards().remove(0);
        if is(&board) {
            return board;
        }
        assert!(Instant::now() < until, "{board:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether all notices are done, and there were some.
pub(crate) fn is_done(board: &SinkBoard) -> bool {
    board.queue == 0 && board.sent + board.dropped > 0
}

/// A request: its first line with its headers, and its body.
pub(crate) type Request = (String, String);

/// A server of HTTP on loopback that gives the answers of `answers`, the last one for ever, and hands on what came.
pub(crate) fn serve(answers: &'static [&'static str]) -> (SocketAddr, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    thread::spawn(move || answer(&listener, answers, &sender));
    (address, receiver)
}

pub(crate) fn answer(listener: &TcpListener, answers: &[&str], sender: &Sender<Request>) {
    let mut answers = answers.iter().copied();
    let mut last = "204 No Content";
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            head += &line;
        }
        let mut body = vec![0; length];
        if head.is_empty() || reader.read_exact(&mut body).is_err() {
            continue;
        }
        last = answers.next().unwrap_or(last);
        let text = format!("HTTP/1.1 {last}\r\nContent-Length: 3\r\nConnection: close\r\n\r\nwhy");
        let _gone = stream.write_all(text.as_bytes());
        if sender.send((head, String::from_utf8(body).unwrap())).is_err() {
            return;
        }
    }
}

//! Clients that are slow, silent or numerous, or that send large requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_alerts::status::overview::Overview;

use super::made::{answer, ask, get, overview, send, start};

/// Reads events until the `now_ms` of an event is at least `least`. Returns this `now_ms`.
fn next(reader: &mut impl BufRead, least: u64) -> u64 {
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream of events has ended");
        if let Some(json) = line.strip_prefix("data: ") {
            let now = serde_json::from_str::<Value>(json).unwrap()["now_ms"].as_u64().unwrap();
            if now >= least {
                return now;
            }
        }
    }
}

/// Returns an overview that takes about 9 MB as JSON, more than the system's socket buffers hold.
fn large(now_ms: u64) -> Arc<Overview> {
    let mut overview = overview(now_ms);
    let view = &mut overview.views[0];
    view.top = vec![view.top[0].clone(); 60_000];
    Arc::new(overview)
}

/// Returns whether the server side of `stream` is still open.
fn is_served(stream: &TcpStream) -> bool {
    let client = format!(":{:04X}", stream.local_addr().unwrap().port());
    let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let is_it = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // State 01 means established.
        words[2].ends_with(&client) && words[3] == "01"
    };
    sockets.lines().skip(1).any(is_it)
}

fn until_end(mut stream: TcpStream) -> Duration {
    let start = Instant::now();
    // The connection may end with a response, a close or a reset.
    let _ended = stream.read_to_end(&mut Vec::new());
    start.elapsed()
}

#[test]
fn pages_get_the_latest_overview_and_too_many_pages_are_refused() {
    let (web, overviews) = start(overview(1));
    let open: Vec<TcpStream> =
        (0..63).map(|_| ask(web.address(), "/events", "localhost")).collect();
    let mut reader = BufReader::new(ask(web.address(), "/events", "localhost"));
    assert_eq!(next(&mut reader, 1), 1);
    for now in 2..5_000 {
        overviews.send_replace(Arc::new(overview(now)));
    }
    assert_eq!(next(&mut reader, 4_999), 4_999);
    let (status, _, body) = get(&web, "/events");
    assert_eq!(status, 503);
    assert!(body.contains("64"), "{body}");
    drop(open);
}

#[test]
fn pages_that_stop_reading_delay_no_other_and_are_disconnected() {
    let (web, overviews) = start(Overview::default());
    let stuck: Vec<TcpStream> =
        (0..8).map(|_| ask(web.address(), "/events", "localhost")).collect();
    let mut reader = BufReader::new(ask(web.address(), "/events", "localhost"));
    let (start, mut is_answered_beside_them) = (Instant::now(), false);
    for now in 1..10 {
        overviews.send_replace(large(now));
        assert_eq!(next(&mut reader, now), now);
        assert_eq!(get(&web, "/api/v1/alerts").0, 200);
        is_answered_beside_them |= stuck.iter().any(is_served);
    }
    assert!(
        is_answered_beside_them,
        "responses must not wait until the stuck pages are disconnected"
    );
    // After ten seconds, only data in the system's buffers can be read, without a last chunk.
    while stuck.iter().any(is_served) {
        assert!(start.elapsed() < Duration::from_secs(60), "a connection was not closed");
        std::thread::sleep(Duration::from_millis(50));
    }
    for stream in stuck {
        let mut text = Vec::new();
        let _ended = stream.take(5_000_000).read_to_end(&mut text);
        assert!(text.len() < 5_000_000, "the connection was not closed");
    }
}

#[test]
fn who_sends_no_request_is_cut_off() {
    let (web, _overviews) = start(overview(1));
    let open = |text: &str| {
        let mut stream = TcpStream::connect(web.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let started = Instant::now();
    let streams = ["", "GET / HT", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"].map(open);
    for (stream, least) in streams.into_iter().zip([4, 0, 0]) {
        until_end(stream);
        let lasted = started.elapsed();
        let (least, most) = (Duration::from_secs(least), Duration::from_secs(50));
        assert!(lasted > least && lasted < most, "{lasted:?}");
    }
}

#[test]
fn silent_connections_block_others_only_briefly() {
    let (web, _overviews) = start(overview(1));
    let silent: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(web.address()).unwrap()).collect();
    let asked = Instant::now();
    assert_eq!(get(&web, "/metrics").0, 200);
    assert!(asked.elapsed() < Duration::from_secs(50), "{:?}", asked.elapsed());
    drop(silent);
}

#[test]
fn long_heads_are_refused() {
    let (web, _overviews) = start(overview(1));
    let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(20_000));
    let many = format!("GET / HTTP/1.1\r\nHost: localhost{}", "\r\nX: x".repeat(70));
    for head in [long, many] {
        assert_eq!(answer(send(web.address(), &head)).0, 431);
    }
}

#[test]
fn the_end_of_a_monitor_waits_for_no_page() {
    let (web, _overviews) = start(overview(1));
    let mut reader = BufReader::new(ask(web.address(), "/events", "localhost"));
    assert_eq!(next(&mut reader, 1), 1);
    let start = Instant::now();
    drop(web);
    // A server that waits for its clients would never stop, because this page keeps reading.
    assert!(start.elapsed() + until_end(reader.into_inner()) < Duration::from_secs(30));
}

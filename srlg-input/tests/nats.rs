//! Tests of the memory that a hostile NATS server can use. The tests have their own process and run in turn, because
//! they measure the memory of the whole process.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use srlg_input::live::BrokerOptions;
use srlg_input::nats::MAX_PAYLOAD;
use srlg_input::{Event, Input, InputOptions, LogLevel, LogLine};

static IN_TURN: Mutex<()> = Mutex::new(());

const INFO: &str = "INFO {\"server_id\":\"hostile\",\"max_payload\":1048576,\"headers\":true}\r\n";

/// Number of bytes that the server tries to send in each connection, four times the bound.
const FLOOD: usize = 256 << 20;

/// Bound of the additional memory of the process, in bytes.
const BOUND: usize = 64 << 20;

/// Returns a value of `/proc/self/status` in bytes.
fn status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Sends INFO, waits for the subscription of the client if `greets` is set, and then floods the client. `start` comes
/// once before `bytes`, which are repeated.
fn flood(mut stream: TcpStream, greets: bool, start: &[u8], bytes: &[u8]) -> std::io::Result<()> {
    if greets {
        stream.write_all(INFO.as_bytes())?;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        while let Some(line) = lines.next().transpose()? {
            if line == "PING" {
                stream.write_all(b"PONG\r\n")?;
            }
            if line.starts_with("SUB ") {
                break;
            }
        }
    }
    stream.write_all(start)?;
    (0..FLOOD / bytes.len()).try_for_each(|_| stream.write_all(bytes))
}

/// Reads from a hostile server until it has seen `connections` connections. Returns the first warning of the
/// input, if any. Fails if the process takes more than [`BOUND`] of additional memory.
fn read_from(connections: usize, greets: bool, start: &str, bytes: &str) -> Option<String> {
    let _turn = IN_TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (start, bytes) = (start.to_owned(), bytes.repeat((1 << 16) / bytes.len() + 1));
    let before = status("VmRSS:");
    let server = thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            // The flood ends when the client closes the connection.
            let _closed = flood(stream.unwrap(), greets, start.as_bytes(), bytes.as_bytes());
        }
    });
    let url = format!("nats://{address}/flows").parse().ok();
    let broker = BrokerOptions { url, ..BrokerOptions::default() };
    let mut input = Input::open(&InputOptions { broker, ..InputOptions::default() }).unwrap();
    let (mut warning, started) = (None, Instant::now());
    while !server.is_finished() {
        match input.next_event().unwrap().unwrap() {
            Event::Contacts(_) => panic!("the server sent no flow"),
            Event::Log(LogLine { level: LogLevel::Warning, text }) => {
                warning = warning.or(Some(text));
            }
            _ => {}
        }
    }
    // The peak may come from an earlier test, so the growth is an upper limit. The kernel updates both numbers at
    // different times, so the peak may be slightly below the earlier size.
    let growth = status("VmHWM:").saturating_sub(before);
    println!("at most {} MB in {:?}: {warning:?}", growth >> 20, started.elapsed());
    assert!(growth <= BOUND, "{growth}");
    warning.map(|text| text.replace(&address.to_string(), "SERVER"))
}

#[test]
fn an_endless_first_line_ends_the_connection() {
    let warning = read_from(3, false, "INFO {\"server_id\":\"", "x");
    insta::assert_snapshot!(warning.unwrap());
}

#[test]
fn an_endless_line_ends_the_connection() {
    let warning = read_from(3, true, "", "x");
    insta::assert_snapshot!(warning.unwrap());
}

#[test]
fn a_message_of_4_gb_ends_the_connection() {
    let warning = read_from(3, true, "MSG flows 1 4000000000\r\n", "x");
    insta::assert_snapshot!(warning.unwrap());
}

#[test]
fn headers_of_a_megabyte_end_the_connection() {
    let start = "HMSG flows 1 1000000 1000000\r\nNATS/1.0\r\n";
    let warning = read_from(3, true, start, "a:\r\n");
    insta::assert_snapshot!(warning.unwrap());
}

#[test]
fn a_flood_of_messages_is_read_in_bounded_memory() {
    let message = format!("MSG flows 1 {MAX_PAYLOAD}\r\n{}\r\n", "x".repeat(MAX_PAYLOAD));
    assert_eq!(read_from(1, true, "", &message), None);
}

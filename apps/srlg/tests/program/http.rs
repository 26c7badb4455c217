//! An HTTP server that receives the requests of sinks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The head and the body of a request.
pub(crate) type Request = (String, String);

/// Starts an HTTP server on loopback. The server sends `answers` in turn, and then repeats the last one. The returned
/// receiver yields the requests.
pub(crate) fn serve(answers: &'static [&'static str]) -> (SocketAddr, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    thread::spawn(move || answer(&listener, answers, &sender));
    (address, receiver)
}

pub(crate) fn answer(listener: &TcpListener, answers: &[&str], sender: &Sender<Request>) {
    let streams = listener.incoming().map(Result::unwrap);
    answer_all(streams, answers, sender);
}

/// Answers one request on each of `streams`, and sends the requests to `sender`.
pub(crate) fn answer_all(
    streams: impl Iterator<Item = impl Read + Write>,
    answers: &[&str],
    sender: &Sender<Request>,
) {
    let mut answers = answers.iter().copied();
    let mut last = "204 No Content";
    for stream in streams {
        let mut reader = BufReader::new(stream);
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
        let content = if head.starts_with("GET ") { "[]" } else { "why" };
        let length = content.len();
        let text = format!(
            "HTTP/1.1 {last}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{content}"
        );
        let _gone =
            reader.get_mut().write_all(text.as_bytes()).and_then(|()| reader.get_mut().flush());
        if sender.send((head, String::from_utf8(body).unwrap())).is_err() {
            return;
        }
    }
}

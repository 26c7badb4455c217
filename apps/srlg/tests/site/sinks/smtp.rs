//! An SMTP server that receives the emails of sinks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use async_nats::rustls::{ServerConfig, ServerConnection, StreamOwned};
use data_encoding::BASE64;

/// Special answers of a server. A test can remove them while the server runs.
pub(super) type Answers = Arc<Mutex<Vec<(&'static str, &'static str)>>>;

/// Returns a special answer that is sent `times` times.
pub(super) fn answers(command: &'static str, answer: &'static str, times: usize) -> Answers {
    Arc::new(Mutex::new(vec![(command, answer); times]))
}

#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    /// TLS configuration, or `None` if the server does not support TLS.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// Whether TLS starts when the client connects, and not after STARTTLS.
    pub(super) is_tls_from_start: bool,
    /// Authentication mechanisms that the server offers, such as `PLAIN LOGIN`. Only the user `srlg` with the password
    /// `pass:word` is accepted.
    pub(super) mechanism: &'static str,
    /// Pairs of a command prefix and a special answer, which is sent once. The prefix `.` selects the end of an email.
    /// With any other prefix, an empty answer closes the connection.
    pub(super) answers: Answers,
    /// Delay before each answer.
    pub(super) delay: Duration,
}

/// A received email.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mail {
    pub(super) sender: String,
    pub(super) recipients: Vec<String>,
    /// Text of the email without SMTP framing.
    pub(super) text: String,
    pub(super) is_encrypted: bool,
    pub(super) is_logged_in: bool,
}

impl Mail {
    pub(super) fn header(&self, name: &str) -> Vec<&str> {
        let (head, _) = self.text.split_once("\r\n\r\n").unwrap();
        let values = head.lines().filter_map(|line| line.split_once(": "));
        values.filter(|(of, _)| *of == name).map(|(_, value)| value).collect()
    }

    /// Decodes the quoted-printable body and returns its lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let (_, body) = self.text.split_once("\r\n\r\n").unwrap();
        let mut parts = body.split('=');
        let mut bytes = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            match part.strip_prefix("\r\n") {
                Some(part) => bytes.extend(part.as_bytes()),
                None => {
                    bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
                    bytes.extend(&part.as_bytes()[2..]);
                }
            }
        }
        String::from_utf8(bytes).unwrap().trim_end().lines().map(ToOwned::to_owned).collect()
    }
}

impl Server {
    pub(super) fn start(self) -> (SocketAddr, Receiver<Mail>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, mails) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let secure = |config: &Arc<ServerConfig>, stream| {
                    StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream)
                };
                let tls = self.tls.clone();
                match tls.filter(|_| self.is_tls_from_start) {
                    Some(config) => drop(self.talk(secure(&config, stream), true, true, &sender)),
                    None => {
                        if let Some(stream) = self.talk(stream, true, false, &sender) {
                            let stream = secure(self.tls.as_ref().unwrap(), stream);
                            self.talk(stream, false, true, &sender);
                        }
                    }
                }
            }
        });
        (address, mails)
    }

    /// Serves `stream`. Returns the stream if the client has sent STARTTLS.
    fn talk<S: Read + Write>(
        &self,
        stream: S,
        is_new: bool,
        is_encrypted: bool,
        sender: &Sender<Mail>,
    ) -> Option<S> {
        let mut stream = BufReader::new(stream);
        let mut mail = Mail { is_encrypted, ..Mail::default() };
        if is_new {
            say(&mut stream, "220 mail.example ready")?;
        }
        loop {
            let line = hear(&mut stream)?;
            thread::sleep(self.delay);
            if let Some(answer) = self.special(&line) {
                if answer.is_empty() {
                    return None;
                }
                say(&mut stream, answer)?;
                continue;
            }
            let (word, rest) = line.split_once([' ', ':']).unwrap_or((&line, ""));
            match word {
                "EHLO" => {
                    let extension = match &self.tls {
                        Some(_) if !is_encrypted => "STARTTLS".to_owned(),
                        _ => format!("AUTH {}", self.mechanism),
                    };
                    say(
                        &mut stream,
                        &format!("250-mail.example\r\n250-{extension}\r\n250 SIZE 9"),
                    )?;
                }
                "STARTTLS" => {
                    say(&mut stream, "220 go ahead")?;
                    return Some(stream.into_inner());
                }
                "AUTH" => {
                    let secrets = match rest.split_once(' ') {
                        Some(("PLAIN", secret)) => decoded(secret),
                        _ => {
                            say(&mut stream, "334 VXNlcm5hbWU6")?;
                            let user = decoded(&hear(&mut stream)?);
                            say(&mut stream, "334 UGFzc3dvcmQ6")?;
                            format!("\0{user}\0{}", decoded(&hear(&mut stream)?))
                        }
                    };
                    mail.is_logged_in = secrets == "\0srlg\0pass:word";
                    let is_right = mail.is_logged_in;
                    say(&mut stream, if is_right { "235 welcome" } else { "535 5.7.8 not you" })?;
                }
                "MAIL" => {
                    mail.sender = address(rest);
                    mail.recipients.clear();
                    say(&mut stream, "250 ok")?;
                }
                "RCPT" => {
                    mail.recipients.push(address(rest));
                    say(&mut stream, "250 ok")?;
                }
                "DATA" => {
                    say(&mut stream, "354 go ahead")?;
                    mail.text.clear();
                    loop {
                        let line = hear(&mut stream)?;
                        if line == "." {
                            break;
                        }
                        mail.text += line.strip_prefix('.').unwrap_or(&line);
                        mail.text += "\r\n";
                    }
                    if let Some(answer) = self.special(".") {
                        say(&mut stream, answer)?;
                        continue;
                    }
                    say(&mut stream, "250 taken")?;
                    sender.send(mail.clone()).ok()?;
                }
                "QUIT" => {
                    say(&mut stream, "221 bye")?;
                    return None;
                }
                word => panic!("{word}"),
            }
        }
    }

    fn special(&self, line: &str) -> Option<&'static str> {
        let mut answers = self.answers.lock().unwrap();
        let at = answers.iter().position(|(command, _)| line.starts_with(command))?;
        Some(answers.remove(at).1)
    }
}

fn say(stream: &mut BufReader<impl Read + Write>, text: &str) -> Option<()> {
    let stream = stream.get_mut();
    stream.write_all(format!("{text}\r\n").as_bytes()).and_then(|()| stream.flush()).ok()
}

/// Reads a line. Returns `None` if the client has closed the connection.
fn hear(stream: &mut BufReader<impl Read + Write>) -> Option<String> {
    let mut line = String::new();
    let bytes = stream.read_line(&mut line).unwrap_or(0);
    (bytes > 0).then(|| line.trim_end_matches("\r\n").to_owned())
}

fn address(text: &str) -> String {
    text.split(['<', '>']).nth(1).unwrap().to_owned()
}

fn decoded(text: &str) -> String {
    String::from_utf8(BASE64.decode(text.as_bytes()).unwrap()).unwrap()
}

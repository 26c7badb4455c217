//! An SMTP client (RFC 5321), which opens a connection for each email.
//!
//! The crate `lettre` writes the emails, but its SMTP client is not used. That client accepts data that was sent before
//! the TLS handshake as if the data were encrypted. It also abandons an email if a single recipient is rejected.
//!
//! Invariant: credentials and emails are sent over TLS, unless the option `plain` is set.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fmt, io};

use anyhow::{Context, Result, anyhow, bail, ensure};
use data_encoding::BASE64;
use lettre::Message;

use super::Failure;
use super::connection::{Connection, after};
use super::http::read_pair;
use super::stream::open;
use super::tls::{TlsClient, TlsFiles, io_cause, is_timeout};

/// Maximum size of a response, in bytes.
const MOST: usize = 1 << 14;

/// Names of steps that are not SMTP commands, for error messages.
const GREETING: &str = "the connection";
const MAIL: &str = "the email";

pub(super) struct Server {
    /// Address of the server, as `HOST:PORT`.
    host: String,
    security: Security,
    login: Option<Login>,
    /// Time limit for sending an email. When the program stops, it waits at most this long for an email that is being
    /// sent.
    timeout: Duration,
}

enum Security {
    Plain,
    /// TLS after the command STARTTLS.
    StartTls(TlsClient),
    /// TLS from the start.
    Tls(TlsClient),
}

pub(super) struct Login {
    user: String,
    password: String,
}

impl Login {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let (user, password) = read_pair(path)?;
        Ok(Self { user, password })
    }
}

/// A recipient that the server rejected, although it accepted the email for other recipients.
pub(super) struct Refusal {
    pub(super) address: String,
    pub(super) answer: Answer,
}

impl Server {
    /// Creates the server for `url`. An `smtp` URL requires STARTTLS unless `is_plain` is set.
    pub(super) fn new(
        url: &str,
        is_plain: bool,
        tls: &TlsFiles,
        login: Option<Login>,
        timeout: Duration,
    ) -> Result<Self> {
        let (scheme, host) = split(url)?;
        let security = match scheme {
            "smtps" => Security::Tls(TlsClient::new(host, tls)?),
            _ if is_plain => Security::Plain,
            _ => Security::StartTls(TlsClient::new(host, tls)?),
        };
        Ok(Self { host: host.to_owned(), security, login, timeout })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Sends `mail`. If the server rejects some but not all recipients, the rejected recipients are returned. If the
    /// server permanently rejects the email itself, the error is a refusal. If it rejects the password, the sender or
    /// all recipients, the error is a failure, because an operator can correct the cause.
    pub(super) fn send(&self, mail: &Message) -> Result<(Answer, Vec<Refusal>), Failure> {
        let (mut dialog, envelope) = (self.log_in()?, mail.envelope());
        let sender = envelope.from().context("cannot send an email without a sender")?;
        dialog.demand(2, "MAIL", format!("MAIL FROM:<{sender}>"))?;
        let mut refusals = Vec::new();
        for address in envelope.to() {
            let answer = dialog.ask("RCPT", format!("RCPT TO:<{address}>"))?;
            if answer.class() != 2 {
                refusals.push(Refusal { address: address.to_string(), answer });
            }
        }
        if let Some(Refusal { address, answer }) = refusals.first()
            && refusals.len() == envelope.to().len()
        {
            let error = anyhow!("{} rejected all recipients; {address}: {answer}", self.host);
            return Err(Failure::Failed(error));
        }
        dialog.demand(3, "DATA", "DATA")?;
        let answer = dialog.ask(MAIL, transparent(&mail.formatted()))?;
        if answer.class() == 5 {
            return Err(Failure::Refused(anyhow!("{} rejected the email: {answer}", self.host)));
        }
        let answer = answer.expect(2, MAIL, &self.host)?;
        // The server has accepted the email, so an error after this point does not matter.
        let _bye = dialog.ask("QUIT", "QUIT");
        Ok((answer, refusals))
    }

    /// Opens a connection, with TLS unless `plain` is set, and logs in if credentials are configured.
    fn log_in(&self) -> Result<Dialog<'_, Box<dyn Connection>>> {
        let stream = open(&self.host, self.timeout)?;
        let time = Time { socket: stream.try_clone()?, until: Instant::now() + self.timeout };
        let name = client_name(stream.local_addr()?.ip());
        let secure = |tls: &TlsClient, stream: TcpStream, time: &Time| {
            let secured =
                time.left().map_err(Into::into).and_then(|left| tls.connect(stream, left));
            secured.with_context(|| format!("cannot connect to {}", self.host))
        };
        let mut dialog = match &self.security {
            Security::Plain => self.greet(Box::new(stream) as Box<dyn Connection>, time)?,
            Security::Tls(tls) => self.greet(secure(tls, stream, &time)?, time)?,
            Security::StartTls(tls) => {
                let mut dialog = self.greet(stream, time)?;
                ensure!(
                    dialog.hello(&name)?.extension("STARTTLS").is_some(),
                    "{} does not offer STARTTLS; use smtps://HOST:PORT, or plain = true for email without encryption",
                    self.host
                );
                dialog.demand(2, "STARTTLS", "STARTTLS")?;
                // An attacker on the path may have sent this data, and it would be read as responses from the server.
                let has_more = !dialog.stream.buffer().is_empty();
                ensure!(!has_more, "{} sent unencrypted data after STARTTLS", self.host);
                let Dialog { stream, time, .. } = dialog;
                let stream = secure(tls, stream.into_inner(), &time)?;
                Dialog { stream: BufReader::new(stream), server: self, time }
            }
        };
        let hello = dialog.hello(&name)?;
        if let Some(login) = &self.login {
            let mechanisms = hello.extension("AUTH").unwrap_or_default().to_ascii_uppercase();
            dialog.authenticate(login, &mechanisms)?;
        }
        Ok(dialog)
    }

    fn greet<S: Read + Write>(&self, stream: S, time: Time) -> Result<Dialog<'_, S>> {
        let mut dialog = Dialog { stream: BufReader::new(stream), server: self, time };
        dialog.answer(GREETING)?.expect(2, GREETING, &self.host)?;
        Ok(dialog)
    }
}

/// Splits `smtp://HOST:PORT` or `smtps://HOST:PORT` into the scheme and `HOST:PORT`.
pub(super) fn split(url: &str) -> Result<(&str, &str)> {
    let Some((scheme @ ("smtp" | "smtps"), host)) = url.split_once("://") else {
        bail!("server: must be smtp://HOST:PORT or smtps://HOST:PORT, got {url:?}")
    };
    let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    ensure!(
        matches!(port, Some(Ok(_))),
        "server: must have a port, as in smtp://mail.example.net:587, got {url:?}"
    );
    Ok((scheme, host))
}

/// Returns the name that the client sends with EHLO: the host name if it contains a domain, or the local address.
fn client_name(address: IpAddr) -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    match address {
        _ if name.contains('.') && name.bytes().all(|byte| byte.is_ascii_graphic()) => name,
        IpAddr::V4(address) => format!("[{address}]"),
        IpAddr::V6(address) => format!("[IPv6:{address}]"),
    }
}

/// Doubles each dot at the start of a line of `mail`, and appends a last line that consists of a dot.
fn transparent(mail: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(mail.len() + 8);
    for line in mail.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b".") {
            data.push(b'.');
        }
        data.extend(line);
    }
    if !data.ends_with(b"\r\n") {
        data.extend(b"\r\n");
    }
    data.push(b'.');
    data
}

/// The time limit for sending an email, which applies to all reads and writes together.
struct Time {
    /// Socket that underlies all streams of the connection.
    socket: TcpStream,
    until: Instant,
}

impl Time {
    /// Returns the remaining time and sets it as the time limit of the next read and write.
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(left))?;
        self.socket.set_write_timeout(Some(left))?;
        Ok(left)
    }
}

/// A connection on which commands and responses alternate.
struct Dialog<'a, S> {
    stream: BufReader<S>,
    server: &'a Server,
    time: Time,
}

impl<S: Read + Write> Dialog<'_, S> {
    /// Sends the line `question` and returns the response. Errors name `what` instead of the line, which may be secret.
    fn ask(&mut self, what: &str, question: impl AsRef<[u8]>) -> Result<Answer> {
        let line = [question.as_ref(), b"\r\n"].concat();
        let (stream, time) = (self.stream.get_mut(), &self.time);
        let mut parts = line.chunks(MOST);
        let sent = parts.try_for_each(|part| time.left().and_then(|_| stream.write_all(part)));
        let sent = sent.and_then(|()| stream.flush());
        sent.map_err(|error| failure(self.server, what, &error))?;
        self.answer(what)
    }

    /// Sends a line as [`ask`](Self::ask) does and expects a response whose first digit is `class`.
    fn demand(&mut self, class: u16, what: &str, question: impl AsRef<[u8]>) -> Result<Answer> {
        self.ask(what, question)?.expect(class, what, &self.server.host)
    }

    /// Reads a response, which may have several lines.
    fn answer(&mut self, what: &str) -> Result<Answer> {
        let mut bytes = Vec::new();
        let mut answer = Answer { code: 0, lines: Vec::new() };
        loop {
            let start = bytes.len();
            while !bytes.ends_with(b"\n") || bytes.len() == start {
                ensure!(
                    bytes.len() < MOST,
                    "{} sent an endless response to {what}",
                    self.server.host
                );
                // Without this check, a server that sends a byte now and then could block the sink forever.
                let read = match self.time.left().and_then(|_| self.stream.fill_buf()) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Ok([]) => Err(ErrorKind::UnexpectedEof.into()),
                    read => read,
                };
                let buffer = read.map_err(|error| failure(self.server, what, &error))?;
                let end = buffer.iter().position(|byte| *byte == b'\n');
                let length = end.map_or(buffer.len(), |end| end + 1);
                bytes.extend(&buffer[..length]);
                self.stream.consume(length);
            }
            let line = String::from_utf8_lossy(&bytes[start..]);
            let line = line.trim_end();
            let code = line.get(..3).and_then(|code| code.parse::<u16>().ok());
            let code = code.filter(|code| (200..600).contains(code));
            let host = &self.server.host;
            answer.code =
                code.with_context(|| format!("{host} is not an SMTP server: it sent {line:?}"))?;
            answer.lines.push(line.get(4..).unwrap_or_default().to_owned());
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(answer);
            }
        }
    }

    fn hello(&mut self, name: &str) -> Result<Answer> {
        self.demand(2, "EHLO", format!("EHLO {name}"))
    }

    /// Authenticates with the mechanism PLAIN or LOGIN.
    fn authenticate(&mut self, Login { user, password }: &Login, mechanisms: &str) -> Result<()> {
        let host = &self.server.host;
        let has = |name: &str| mechanisms.split_whitespace().any(|offered| offered == name);
        let steps = if has("PLAIN") {
            let secret = BASE64.encode(format!("\0{user}\0{password}").as_bytes());
            vec![format!("AUTH PLAIN {secret}")]
        } else if has("LOGIN") {
            let [user, password] = [user, password].map(|it| BASE64.encode(it.as_bytes()));
            vec!["AUTH LOGIN".to_owned(), user, password]
        } else {
            bail!("{host} offers neither AUTH PLAIN nor AUTH LOGIN; remove credentials")
        };
        let mut class = 3;
        for step in &steps {
            let answer = self.ask("AUTH", step)?;
            class = answer.class();
            ensure!(class < 4, "cannot log in to {host}: {answer}");
        }
        ensure!(
            class == 2,
            "cannot log in to {host}: it requires more than a user name and a password"
        );
        Ok(())
    }
}

fn failure(server: &Server, what: &str, error: &io::Error) -> anyhow::Error {
    let cause = match error.kind() {
        _ if is_timeout(error) => after(server.timeout),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "it closed the connection".to_owned()
        }
        _ => io_cause(error),
    };
    anyhow!("{} does not respond to {what}: {cause}", server.host)
}

pub(super) struct Answer {
    code: u16,
    lines: Vec<String>,
}

impl Answer {
    /// Returns the first digit of the code. 2 means success, 3 means that the server expects more data, 4 means a
    /// temporary error, and 5 means a permanent error.
    fn class(&self) -> u16 {
        self.code / 100
    }

    fn expect(self, class: u16, what: &str, host: &str) -> Result<Self> {
        ensure!(self.class() == class, "{host} responded to {what} with {self}");
        Ok(self)
    }

    /// Returns the parameters of the extension `name` in a response to EHLO, or `None` if the server does not offer it.
    fn extension(&self, name: &str) -> Option<&str> {
        let named =
            |line: &&str| line.split(' ').next().is_some_and(|it| it.eq_ignore_ascii_case(name));
        let mut lines = self.lines.iter().skip(1).map(String::as_str);
        lines.find(named).map(|line| line.get(name.len()..).unwrap_or_default())
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.code, self.lines.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_mail_ends_it() {
        for (mail, sent) in [
            ("", "\r\n."),
            ("a", "a\r\n."),
            (".\r\n", "..\r\n."),
            ("a\r\n.\r\n.b\r\nc.\r\n", "a\r\n..\r\n..b\r\nc.\r\n."),
        ] {
            assert_eq!(String::from_utf8(transparent(mail.as_bytes())).unwrap(), sent);
        }
    }

    #[test]
    fn extensions_are_found_by_their_whole_names() {
        let lines = ["mail.example", "STARTTLSX", "auth PLAIN LOGIN", "SIZE"];
        let answer = Answer { code: 250, lines: lines.map(ToOwned::to_owned).to_vec() };
        assert_eq!(answer.extension("AUTH"), Some(" PLAIN LOGIN"));
        assert_eq!(answer.extension("SIZE"), Some(""));
        assert_eq!((answer.extension("STARTTLS"), answer.extension("mail.example")), (None, None));
    }

    #[test]
    fn addresses_of_servers_have_a_scheme_and_a_port() {
        assert_eq!(split("smtps://[::1]:465").unwrap(), ("smtps", "[::1]:465"));
        for url in ["", "mail.example:25", "smtp://mail.example", "http://mail.example:25"] {
            assert!(split(url).is_err(), "{url}");
        }
    }
}

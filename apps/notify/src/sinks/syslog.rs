//! A sink that sends RFC 5424 syslog messages over UDP (RFC 5426), TCP (RFC 6587, octet counting), TLS (RFC 5425) or a
//! local socket.
//!
//! The crate `syslog` is not used, because its TCP messages have no octet counts and it cannot bind to an IPv6 address.
//!
//! The fields of an alert are `key=value` pairs in the message (logfmt). RFC 5424 structured data would need an SD-ID
//! with a private enterprise number, which this project does not have.

use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail, ensure};
use srlg_alerts::{Severity, Status};

use super::connection::Connection;
use super::stream::{TIMEOUT, connect, resolve};
use super::suppressed::Suppressed;
use super::tls::{TlsClient, TlsFiles, io_cause};
use super::{Channel, Failure};
use srlg_alerts::notification::Notification;

/// Facility local0.
const FACILITY: u8 = 16;

pub(super) struct Syslog {
    to: To,
    stream: Option<Box<dyn Connection>>,
}

enum To {
    Udp(String),
    Unix(PathBuf),
    Stream { host: String, tls: Option<TlsClient> },
}

impl Syslog {
    pub(super) fn new(address: &str, tls: &TlsFiles) -> Result<Self> {
        check_address(address, tls)?;
        let to = match address.split_once("://") {
            Some(("udp", host)) => To::Udp(host.to_owned()),
            Some(("tls", host)) => {
                To::Stream { host: host.to_owned(), tls: Some(TlsClient::new(host, tls)?) }
            }
            Some(("tcp", host)) => To::Stream { host: host.to_owned(), tls: None },
            Some((_, path)) => To::Unix(path.into()),
            None => bail!("address: not valid, got {address:?}"),
        };
        Ok(Self { to, stream: None })
    }

    fn write(&mut self, message: &str) -> Result<()> {
        match &self.to {
            To::Udp(host) => {
                let to = *resolve(host)?
                    .first()
                    .with_context(|| format!("cannot resolve {host}: it has no address"))?;
                let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                UdpSocket::bind(any)?.send_to(message.as_bytes(), to)?;
            }
            To::Unix(path) => {
                let socket = UnixDatagram::unbound()?;
                // If no process reads the socket, a full buffer would block this thread.
                socket.set_write_timeout(Some(TIMEOUT))?;
                let sent = socket.send_to(message.as_bytes(), path);
                sent.with_context(|| format!("cannot send to {}", path.display()))?;
            }
            To::Stream { host, tls } => {
                let mut open = self.stream.take();
                let is_open = open.as_mut().map_or(Ok(false), |stream| stream.is_open())?;
                let mut stream = match open.filter(|_| is_open) {
                    Some(stream) => stream,
                    None => connect(host, tls.as_ref(), TIMEOUT)?,
                };
                let frame = format!("{} {message}", message.len());
                let written = stream.write_all(frame.as_bytes()).and_then(|()| stream.flush());
                written.map_err(|error| anyhow!("cannot send to {host}: {}", io_cause(&error)))?;
                self.stream = Some(stream);
            }
        }
        Ok(())
    }
}

/// Checks a syslog address. With `tls://`, `tls` must contain `ca`. With other schemes, `tls` must be empty.
pub(super) fn check_address(address: &str, tls: &TlsFiles) -> Result<()> {
    let Some((scheme @ ("udp" | "tcp" | "tls" | "unix"), host)) = address.split_once("://") else {
        bail!(
            "address: must be udp://HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH, got {address:?}"
        )
    };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    ensure!(
        scheme == "unix" || has_port,
        "address: must have a port, as in udp://[2001:db8::1]:514, got {address:?}"
    );
    ensure!(
        scheme == "tls" || *tls == TlsFiles::default(),
        "tls: needs an address tls://HOST:PORT, got {address:?}"
    );
    ensure!(
        scheme != "tls" || tls.ca.is_some(),
        "tls: ca is missing for {host}; set it to the PEM file of the authority that signed the server certificate"
    );
    Ok(())
}

impl Channel for Syslog {
    fn send(&mut self, _number: i64, notification: &Notification) -> Result<String, Failure> {
        self.write(&message(notification, SystemTime::now()))?;
        Ok("sent (syslog has no answers)".to_owned())
    }

    fn report_suppressed(&mut self, suppressed: &Suppressed) -> Result<(), Failure> {
        let Suppressed { count, held, .. } = suppressed;
        let text = format!("count={count} held={held} text={}", quoted(&suppressed.text()));
        Ok(self.write(&form(4, "suppressed", &text, SystemTime::now()))?)
    }
}

fn message(notification: &Notification, now: SystemTime) -> String {
    let severity = match (notification.status, notification.severity) {
        (Status::End, _) => 5,
        (_, Severity::Critical) => 2,
        (_, Severity::Major) => 3,
        (_, Severity::Info) => 6,
        _ => 4,
    };
    let status = notification.status.to_string();
    let fields = [
        ("id", notification.id.to_string()),
        ("status", status.clone()),
        ("severity", notification.severity.to_string()),
        ("kind", notification.kind.to_string()),
        ("view", notification.view.clone()),
        ("rule", notification.rule.clone()),
        ("host", notification.host.to_string()),
        ("cardinality", format!("{:.0}", notification.main.cardinality)),
        ("peak", format!("{:.0}", notification.main.peak)),
        ("threshold", notification.main.threshold.to_string()),
        ("window_ms", notification.main.window_ms.to_string()),
        ("text", notification.text.clone()),
    ];
    let url = notification.url.iter().map(|url| ("url", url.clone()));
    let pairs = fields.into_iter().chain(url);
    let pairs: Vec<_> = pairs.map(|(key, value)| format!("{key}={}", quoted(&value))).collect();
    form(severity, &status, &pairs.join(" "), now)
}

/// Returns a logfmt value. The value is quoted if it is empty or contains a character other than letters, digits and
/// `-._:/`.
fn quoted(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/".contains(&byte);
    if !value.is_empty() && value.bytes().all(is_plain) {
        value.to_owned()
    } else {
        format!("{value:?}")
    }
}

/// Returns an RFC 5424 message. A byte order mark shows that its text is UTF-8.
fn form(severity: u8, id: &str, text: &str, now: SystemTime) -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let is_name = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic());
    let host = if is_name { &host } else { "-" };
    let time = humantime::format_rfc3339_millis(now);
    let (priority, process) = (FACILITY * 8 + severity, std::process::id());
    format!("<{priority}>1 {time} {host} srlg {process} {id} - \u{feff}{text}")
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::{TlsFiles, check_address, form, quoted};

    #[test]
    fn messages_have_the_form_of_the_standard() {
        let text = form(4, "start", "id=1", SystemTime::UNIX_EPOCH);
        let parts: Vec<&str> = text.splitn(8, ' ').collect();
        assert_eq!(parts[..2], ["<132>1", "1970-01-01T00:00:00.000Z"]);
        assert_eq!((parts[3], parts[5]), ("srlg", "start"));
        assert_eq!(parts[6..], ["-", "\u{feff}id=1"]);
    }

    #[test]
    fn values_that_would_end_early_are_quoted() {
        for (value, written) in [
            ("2001:db8::/48", "2001:db8::/48"),
            ("", "\"\""),
            ("51 ± 3", "\"51 ± 3\""),
            ("a=\"b\"\n\\", r#""a=\"b\"\n\\""#),
        ] {
            assert_eq!(quoted(value), written);
        }
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for address in ["", "localhost:514", "udp://localhost", "http://localhost:1"] {
            assert!(check_address(address, &TlsFiles::default()).is_err(), "{address}");
        }
        for address in ["udp://localhost:514", "tcp://[::1]:601", "unix:///dev/log"] {
            assert!(check_address(address, &TlsFiles::default()).is_ok(), "{address}");
        }
    }
}

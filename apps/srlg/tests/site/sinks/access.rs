//! Sinks with TLS, credentials and signatures.

use std::fs;
use std::io::{Read, Write};
use std::iter;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use async_nats::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use async_nats::rustls::server::WebPkiClientVerifier;
use async_nats::rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, crypto};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use ring::hmac;
use srlg_notify::sinks::Sinks;
use srlg_notify::store::Store;
use srlg_system::secrets::write_secret;
use tempfile::TempDir;

use super::made::{Delivery, is_done, notifications, sink};
use crate::http::{Request, answer_all, serve};

/// Creates a certificate authority, and signs the certificates of a server and a client. Returns the folder that
/// contains `ca.pem`, `server.pem`, `server.key`, `client.pem` and `client.key`.
pub(super) fn authority() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(params, key);
    for name in ["server", "client"] {
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        fs::write(folder.path().join(format!("{name}.pem")), certificate.pem()).unwrap();
        write_secret(&folder.path().join(format!("{name}.key")), &key.serialize_pem()).unwrap();
    }
    folder
}

/// Returns the TLS configuration of a server. If `asks` is set, clients must present a certificate that the authority
/// has signed.
pub(super) fn server_config(folder: &Path, asks: bool) -> Arc<ServerConfig> {
    let provider = Arc::new(crypto::ring::default_provider());
    let certificate = |name| CertificateDer::from_pem_file(folder.join(name)).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = if asks {
        let mut roots = RootCertStore::empty();
        roots.add(certificate("ca.pem")).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    Arc::new(builder.with_single_cert(vec![certificate("server.pem")], key).unwrap())
}

fn serve_tls(folder: &Path, asks: bool) -> (SocketAddr, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = server_config(folder, asks);
    let (sender, requests) = channel();
    thread::spawn(move || {
        let streams = listener.incoming().map(|stream| {
            let connection = ServerConnection::new(config.clone()).unwrap();
            StreamOwned::new(connection, stream.unwrap())
        });
        answer_all(streams, &["200 OK"], &sender);
    });
    (address, requests)
}

/// Returns the `tls` key of a sink whose certificate files are in `folder`.
pub(super) fn tls(folder: &Path, keys: &[(&str, &str)]) -> String {
    let keys: Vec<_> = keys
        .iter()
        .map(|(key, file)| format!("{key} = '{}'", folder.join(file).display()))
        .collect();
    format!("tls = {{ {} }}", keys.join(", "))
}

pub(super) const CLIENT: [(&str, &str); 3] =
    [("ca", "ca.pem"), ("certificate", "client.pem"), ("key", "client.key")];

#[test]
fn a_server_of_a_private_authority_is_known_by_its_file() {
    let (folder, other) = (authority(), authority());
    let (address, requests) = serve_tls(folder.path(), false);
    for (authority, is_known) in [(None, false), (Some(&other), false), (Some(&folder), true)] {
        let files = authority.map(|it| tls(it.path(), &CLIENT[..1])).unwrap_or_default();
        let text = format!("type = 'webhook'\nurl = 'https://{address}'\n{files}");
        let sinks = Delivery::new(&text);
        sinks.send(&notifications(1)[..1]);
        if is_known {
            assert_eq!(sinks.wait(is_done).sent, 1);
            requests.recv_timeout(Duration::from_secs(60)).unwrap();
        } else {
            let error = sinks.wait(|overview| overview.failed > 0).error.unwrap();
            assert!(error.contains("unknown authority"), "{error}");
        }
    }
}

/// Environment variable that names the folder of the authority, in the process whose system trusts this authority.
const TRUSTED: &str = "SRLG_TEST_TRUSTED_AUTHORITY";

// The place of the system's authorities is a property of the process, so the test runs in a process of its own.
#[test]
fn a_server_of_an_authority_of_the_system_needs_no_file() {
    let test = "sinks::access::a_server_of_an_authority_of_the_system_needs_no_file";
    if let Some(folder) = std::env::var_os(TRUSTED) {
        let (address, requests) = serve_tls(Path::new(&folder), false);
        for kind in ["webhook", "alertmanager"] {
            let sinks = Delivery::new(&format!("type = '{kind}'\nurl = 'https://{address}'\n"));
            sinks.send(&notifications(1)[..1]);
            assert_eq!(sinks.wait(is_done).sent, 1);
            requests.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        return;
    }
    let folder = authority();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(TRUSTED, folder.path())
        .env("SSL_CERT_FILE", folder.path().join("ca.pem"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("test result: ok. 1 passed"), "{said}");
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_it() {
    let folder = authority();
    let (address, requests) = serve_tls(folder.path(), true);
    for kind in ["webhook", "alertmanager"] {
        for files in [&CLIENT[..1], &CLIENT] {
            let text = format!(
                "type = '{kind}'\nurl = 'https://{address}'\n{}",
                tls(folder.path(), files)
            );
            let sinks = Delivery::new(&text);
            sinks.send(&notifications(1)[..1]);
            if files.len() == 1 {
                let error = sinks.wait(|overview| overview.failed > 0).error.unwrap();
                assert!(error.contains("cannot reach 127.0.0.1:"), "{error}");
            } else {
                assert_eq!(sinks.wait(is_done).sent, 1);
                requests.recv_timeout(Duration::from_secs(60)).unwrap();
            }
        }
    }
}

#[test]
fn credentials_and_signatures_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, text) in [("token", "a.b-c\n"), ("user", "srlg:pass:word\n"), ("secret", "shared\n")]
    {
        write_secret(&folder.path().join(name), text).unwrap();
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"shared");
    for (credentials, header) in [
        (format!("bearer-file = '{}'", path("token")), "authorization: Bearer a.b-c\r\n"),
        (
            format!("basic-file = '{}'", path("user")),
            "authorization: Basic c3JsZzpwYXNzOndvcmQ=\r\n",
        ),
    ] {
        let (address, requests) = serve(&["200 OK"]);
        let text = format!(
            "type = 'webhook'\nurl = 'http://{address}'\ncredentials = {{ {credentials} }}\nsignature-file = '{}'",
            path("secret")
        );
        let sinks = Delivery::new(&text);
        sinks.send(&notifications(1)[..1]);
        let (head, body) = requests.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(head.contains(header), "{head}");
        let signature = head.lines().find_map(|line| line.strip_prefix("x-signature-sha256: "));
        let signature = data_encoding::HEXLOWER.decode(signature.unwrap().as_bytes()).unwrap();
        hmac::verify(&key, body.as_bytes(), &signature).unwrap();
    }
}

#[test]
fn syslog_uses_tls_and_reconnects() {
    let folder = authority();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = server_config(folder.path(), true);
    let text =
        format!("type = 'syslog'\naddress = 'tls://{address}'\n{}", tls(folder.path(), &CLIENT));
    let sinks = Delivery::new(&text);
    let notifications = notifications(2);
    for notifications in [&notifications[..1], &notifications[1..2]] {
        sinks.send(notifications);
        let connection = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, listener.accept().unwrap().0);
        let mut buffer = vec![0; 1 << 14];
        let length = stream.read(&mut buffer).unwrap();
        let text = std::str::from_utf8(&buffer[..length]).unwrap();
        let (count, message) = text.split_once(' ').unwrap();
        assert_eq!(count.parse::<usize>().unwrap(), message.len());
        assert!(message.contains(&notifications[0].id.to_string()), "{message}");
        stream.conn.send_close_notify();
        stream.flush().unwrap();
    }
    assert_eq!(sinks.wait(is_done).sent, 2);
}

#[test]
fn a_refusal_by_either_side_of_syslog_is_reported_and_nothing_counts_as_sent() {
    let (folder, other) = (authority(), authority());
    let unknown = tls(other.path(), &CLIENT[..1]);
    let nameless = tls(folder.path(), &CLIENT[..1]);
    for (files, asks, cause) in
        [(unknown, false, "unknown authority"), (nameless, true, "requires a client certificate")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let config = server_config(folder.path(), asks);
        let (sender, times) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let started = Instant::now();
                let connection = ServerConnection::new(config.clone()).unwrap();
                let _refused = StreamOwned::new(connection, stream.unwrap()).read(&mut [0; 100]);
                let _ended = sender.send(started.elapsed());
            }
        });
        let overview = loop {
            let sinks =
                Delivery::new(&format!("type = 'syslog'\naddress = 'tls://{address}'\n{files}"));
            sinks.send(&notifications(1)[..1]);
            let overview = sinks.wait(|overview| overview.failed > 1 || overview.sent > 0);
            if overview.sent == 0 {
                break overview;
            }
            // A sink waits for a second. Only a server that refuses later is tried again.
            let mut times = iter::from_fn(|| times.recv_timeout(Duration::from_secs(60)).ok());
            assert!(times.any(|time| time >= Duration::from_secs(1)), "{cause}");
        };
        let error = overview.error.unwrap();
        assert!(error.contains(cause), "{error}");
    }
}

#[test]
fn a_key_that_does_not_belong_to_its_certificate_is_refused_at_the_start() {
    let folder = authority();
    let files = tls(
        folder.path(),
        &[("ca", "ca.pem"), ("certificate", "client.pem"), ("key", "server.key")],
    );
    for address in [
        "type = 'webhook'\nurl = 'https://127.0.0.1:1'",
        "type = 'syslog'\naddress = 'tls://127.0.0.1:1'",
        "type = 'mail'\nserver = 'smtps://127.0.0.1:1'\nfrom = 'a@example.net'\nto = ['b@example.net']",
    ] {
        let options = sink(&format!("{address}\n{files}"));
        let error = Sinks::start(&[options], &Store::open(None).unwrap()).unwrap_err();
        assert!(format!("{error:#}").contains("server.key"), "{error:#}");
    }
}

//! Kafka over TLS. The mock brokers of librdkafka do not support TLS, so a proxy adds it.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::broker::{Broker, has_kcat};
use super::input::options;
use crate::flows::{flows, goflow2};
use crate::reading::Reading;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Starts a TLS proxy in front of the broker at `address`, writes its certificate to `ca`, and returns its port.
fn proxy(address: &str, ca: &Path) -> u16 {
    let key = KeyPair::generate().unwrap();
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    fs::write(ca, certificate.pem()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
    let (port, address) = (listener.local_addr().unwrap().port(), address.to_owned());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (config, address) = (Arc::clone(&config), address.clone());
            thread::spawn(move || {
                let connection = ServerConnection::new(config).unwrap();
                let client = StreamOwned::new(connection, stream.unwrap());
                // The relay stops when the connection is closed.
                let _end = relay(client, &address, port);
            });
        }
    });
    port
}

/// Relays requests and responses between `client` and the broker at `address`. In responses, replaces the port of the
/// broker with `port`.
fn relay(mut client: impl Read + Write, address: &str, port: u16) -> io::Result<()> {
    let mut broker = TcpStream::connect(address)?;
    let broker_port = broker.peer_addr()?.port();
    // The metadata contains the host and port of a broker in this form.
    let [real, own] = [broker_port, port]
        .map(|port| [b"127.0.0.1".as_slice(), &u32::from(port).to_be_bytes()].concat());
    loop {
        let request = frame(&mut client)?;
        broker.write_all(&request)?;
        let mut answer = frame(&mut broker)?;
        let found = answer.windows(real.len()).position(|bytes| bytes == real);
        if let Some(at) = found {
            answer[at..at + own.len()].copy_from_slice(&own);
        }
        client.write_all(&answer)?;
        client.flush()?;
    }
}

/// Reads a Kafka message, including its length prefix.
fn frame(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    from.read_exact(&mut frame)?;
    Ok([length.to_vec(), frame].concat())
}

#[test]
fn brokers_are_read_by_tls_if_their_certificate_is_trusted() {
    if !has_kcat() {
        return;
    }
    let broker = Broker::start_with(1, "flows");
    let messages: Vec<_> = flows(0, 100).iter().map(|flow| goflow2(flow, true)).collect();
    broker.produce("flows", 0, &messages);
    let folder = tempfile::tempdir().unwrap();
    let [ca, other] = ["ca", "other"].map(|name| folder.path().join(name));
    let port = proxy(&broker.addresses, &ca);
    proxy(&broker.addresses, &other);
    let of = |ca: &Path| {
        let mut options = options(&format!("localhost:{port}"), "flows");
        options.broker.ca = Some(ca.to_owned());
        options
    };
    let mut reading = Reading::open(&of(&ca), None);
    reading.contacts(100);
    assert_eq!(reading.broker().error, None);
    let mut reading = Reading::open(&of(&other), None);
    reading.until(|it| it.broker().error.is_some());
    let error = reading.broker().error.unwrap();
    assert!(error.contains("certificate"), "{error}");
    assert_eq!(reading.contacts.len(), 0);
}

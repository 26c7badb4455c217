//! NATS servers with TLS and client authentication.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use rcgen::{CertificateParams, KeyPair};
use srlg_input::{InputOptions, live::BrokerOptions};

use super::server::Server;
use crate::reading::Reading;

#[test]
fn servers_are_read_by_tls_with_a_password_or_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        fs::write(path(name), text).unwrap();
        fs::set_permissions(path(name), Permissions::from_mode(0o600)).unwrap();
        path(name)
    };
    for name in ["own", "other"] {
        let key = KeyPair::generate().unwrap();
        let names = ["localhost".to_owned()];
        let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        write(&format!("{name}.pem"), &certificate.pem());
        write(&format!("{name}.key"), &key.serialize_pem());
    }
    let client = nkeys::KeyPair::new_user();
    let settings = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n\
         authorization {{ users = [{{ user: flow, password: secret }}, {{ nkey: {} }}] }}",
        path("own.pem").display(),
        path("own.key").display(),
        client.public_key()
    );
    let Some(server) = Server::start(&settings) else { return };
    let ca = path("own.pem");
    let of = |broker: BrokerOptions| InputOptions {
        broker: BrokerOptions { url: server.subject().broker.url, ..broker },
        ..InputOptions::default()
    };
    let with_user = |password, ca| BrokerOptions {
        ca: Some(ca),
        user: Some("flow".to_owned()),
        password: Some(password),
        ..BrokerOptions::default()
    };
    let [right, wrong] = [write("right", "secret\n"), write("wrong", "guess\n")];
    let seed = write("seed", &client.seed().unwrap());
    let with_key =
        BrokerOptions { ca: Some(ca.clone()), key: Some(seed), ..BrokerOptions::default() };
    for options in [with_user(right.clone(), ca.clone()), with_key] {
        let mut reading = Reading::open(&of(options), None);
        reading.until(|it| it.broker().partitions == 1);
        assert_eq!((reading.broker().error, reading.warnings()), (None, 0));
    }
    for (options, word) in [
        (with_user(wrong, ca.clone()), "authorization"),
        (with_user(right, path("other.pem")), "certificate"),
        (BrokerOptions { ca: Some(ca), ..BrokerOptions::default() }, "authorization"),
    ] {
        let mut reading = Reading::open(&of(options), None);
        reading.until(|it| it.broker().error.is_some());
        let error = reading.broker().error.unwrap();
        assert!(error.contains(word), "{error}");
    }
}

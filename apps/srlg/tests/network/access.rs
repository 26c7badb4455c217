//! Access control: TLS, keys and the permissions that `setup` writes.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use async_nats::{ConnectErrorKind, ConnectOptions, jetstream};
use futures_util::{FutureExt, StreamExt};
use srlg_cli::network::broker::Broker;
use srlg_cli::network::connect::Access;

use crate::nats::has_broker;
use crate::net::{Net, run};
use crate::network_traffic::configuration;

/// Asserts that the stream was empty before this call. The call sends a message as probe `a`. The acknowledgement of
/// this message shows that no earlier message is in flight.
fn assert_nothing_came_in(net: &Net) {
    run(async {
        let stream = jetstream::new(net.link("a").await.client);
        stream.publish("srlg.slice.a", "x".into()).await.unwrap().await.unwrap();
    });
    let subjects = run(net.messages()).into_iter().map(|(subject, ..)| subject);
    assert_eq!(subjects.collect::<Vec<_>>(), ["srlg.slice.a"]);
}

#[test]
fn the_command_setup_makes_a_folder_that_a_broker_starts_with_and_never_a_second_time() {
    if !has_broker() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("srlg.toml");
    fs::write(&config, configuration(folder.path())).unwrap();
    let setup = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_srlg"));
        command.args(["setup", "--host", "192.0.2.7"]);
        command.arg("--config").arg(&config).output().unwrap()
    };
    let done = setup();
    let (out, err) =
        (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(done.status.success(), "{out}{err}");
    insta::assert_snapshot!(out.replace(folder.path().to_str().unwrap(), "FOLDER"));
    let broker = Broker::start(folder.path()).unwrap();
    // The certificate names the host in the configuration.
    let access = Access { folder: folder.path().to_owned(), broker: broker.address() };
    assert_eq!(run(access.connect("a")).unwrap().state.borrow().connects, 1);
    let again = setup();
    assert_eq!(again.status.code(), Some(2));
    let stderr = String::from_utf8(again.stderr).unwrap();
    assert!(stderr.lines().count() == 1 && stderr.contains("ca.pem"), "{stderr}");
}

#[test]
fn a_client_without_credentials_can_neither_publish_nor_subscribe() {
    let Some(net) = Net::start() else { return };
    run(async {
        net.stream().await;
        let options = ConnectOptions::new().require_tls(true);
        let options = options.add_root_certificates(net.folder().join("ca.pem"));
        let error = options.connect(net.broker.address()).await.unwrap_err();
        assert_eq!(error.kind(), ConnectErrorKind::AuthorizationViolation);
    });
    assert_nothing_came_in(&net);
}

#[test]
fn a_client_without_tls_is_shown_the_door() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let mut stream = TcpStream::connect(net.broker.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let hello = "CONNECT {\"verbose\":false}\r\nSUB > 1\r\nPUB srlg.slice.a 1\r\nx\r\nPING\r\n";
    stream.write_all(hello.as_bytes()).unwrap();
    let mut said = String::new();
    // The broker may close or reset the connection.
    let _hung_up = stream.read_to_string(&mut said);
    assert!(!said.contains("PONG") && !said.contains("MSG"), "{said}");
    assert_nothing_came_in(&net);
}

/// Replaces `files` of `net` with those of another network, starts probe `a`, and returns its error. The probe must
/// exit.
fn refusal(net: &Net, files: &[&str]) -> String {
    let Some(other) = Net::start() else { unreachable!("there is one broker already") };
    for file in files {
        fs::copy(other.folder().join(file), net.folder().join(file)).unwrap();
    }
    let input = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n";
    let (code, said) = net.start_probe("a", &net.spool(), input).end();
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said.replace(&net.broker.address(), "BROKER")
}

#[test]
fn a_key_of_another_network_ends_the_probe_with_one_line() {
    let Some(net) = Net::start() else { return };
    insta::assert_snapshot!(refusal(&net, &["a.nk"]));
}

#[test]
fn credentials_of_another_network_end_the_probe_with_one_line() {
    let Some(net) = Net::start() else { return };
    insta::assert_snapshot!(refusal(&net, &["ca.pem", "a.nk"]));
}

#[test]
fn a_certificate_with_other_names_is_an_error() {
    let Some(net) = Net::start() else { return };
    let access =
        Access { broker: net.broker.address().replace("localhost", "127.0.0.1"), ..net.access() };
    let error = run(access.connect("a")).unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(&access.broker, "BROKER"));
}

/// Even a link that had to wait for its broker must reject a certificate from an unknown authority.
#[test]
fn a_broker_with_a_certificate_of_another_authority_is_not_talked_to() {
    let (Some(mut net), Some(other)) = (Net::start(), Net::start()) else { return };
    fs::copy(other.folder().join("ca.pem"), net.folder().join("ca.pem")).unwrap();
    net.broker.kill().unwrap();
    run(async {
        let link = net.access().connect("a").await.unwrap();
        net.broker.restart().unwrap();
        // The broker logs two attempts that the client ended because of the certificate. A client that accepted the
        // certificate would not try again.
        let log = net.folder().join("nats.log");
        let refused = |text: &str| text.matches("remote error: tls").count() >= 2;
        while !fs::read_to_string(&log).is_ok_and(|text| refused(&text)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(link.state.borrow().connects, 0);
    });
}

#[test]
fn a_probe_writes_to_its_own_subject_only() {
    let Some(net) = Net::start() else { return };
    run(async {
        net.stream().await;
        let a = net.link("a").await.client;
        for subject in [
            "srlg.slice.b",
            "srlg.durable.a",
            "srlg.durable.b",
            "$JS.API.STREAM.DELETE.SRLG",
            "other",
        ] {
            a.publish(subject, "x".into()).await.unwrap();
        }
        // The broker has received the other messages when it acknowledges this one.
        let stream = jetstream::new(a);
        stream.publish("srlg.slice.a", "x".into()).await.unwrap().await.unwrap();
    });
    let subjects = run(net.messages()).into_iter().map(|(subject, ..)| subject);
    assert_eq!(subjects.collect::<Vec<_>>(), ["srlg.slice.a"]);
}

/// Without accounts, the broker would send the acknowledgement of a message to any reply subject, even if the sender
/// may not publish to that subject. An acknowledgement to `$JS.API.STREAM.PURGE.SRLG` would purge the stream.
#[test]
fn a_probe_cannot_make_the_broker_publish_for_it() {
    let Some(net) = Net::start() else { return };
    run(async {
        net.stream().await;
        let (a, b) = (net.link("a").await.client, net.link("b").await.client);
        let collector = net.link("collector").await.client;
        let mut heard = b.subscribe("srlg.durable.b").await.unwrap();
        b.flush().await.unwrap();
        for reply in [
            "srlg.durable.b",
            "srlg.slice.b",
            "$JS.API.STREAM.PURGE.SRLG",
            "$JS.API.STREAM.DELETE.SRLG",
        ] {
            a.publish_with_reply("srlg.slice.a", reply, "x".into()).await.unwrap();
        }
        // Acknowledgements are sent in order.
        jetstream::new(a).publish("srlg.slice.a", "x".into()).await.unwrap().await.unwrap();
        collector.publish("srlg.durable.b", "8".into()).await.unwrap();
        assert_eq!(heard.next().await.unwrap().payload, "8");
    });
    let subjects = run(net.messages()).into_iter().map(|(subject, ..)| subject);
    assert_eq!(subjects.collect::<Vec<_>>(), ["srlg.slice.a"; 5]);
}

/// The broker must not send acknowledgements of slices to subjects to which the probe itself may not publish.
#[test]
fn a_probe_reports_for_itself_only_and_sends_no_watch_list() {
    let Some(net) = Net::start() else { return };
    run(async {
        let (a, b) = (net.link("a").await.client, net.link("b").await.client);
        net.stream().await;
        let collector = net.link("collector").await.client;
        let mut reports = collector.subscribe("srlg.report.*").await.unwrap();
        let mut watchlists = b.subscribe("srlg.watchlist").await.unwrap();
        collector.flush().await.unwrap();
        // When a message arrives, the broker knows this subscription in both accounts.
        while watchlists.next().now_or_never().is_none() {
            collector.publish("srlg.watchlist", "0".into()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for subject in ["srlg.report.b", "srlg.watchlist"] {
            a.publish(subject, "forged".into()).await.unwrap();
            a.publish_with_reply("srlg.slice.a", subject, "x".into()).await.unwrap();
        }
        // Acknowledgements are sent in order.
        let stream = jetstream::new(a.clone());
        stream.publish("srlg.slice.a", "x".into()).await.unwrap().await.unwrap();
        a.publish("srlg.report.a", "8".into()).await.unwrap();
        a.flush().await.unwrap();
        collector.publish("srlg.watchlist", "8".into()).await.unwrap();
        let heard = reports.next().await.unwrap();
        assert_eq!((heard.subject.as_str(), &heard.payload[..]), ("srlg.report.a", &b"8"[..]));
        loop {
            match &watchlists.next().await.unwrap().payload[..] {
                b"8" => break,
                other => assert_eq!(other, b"0"),
            }
        }
    });
}

#[test]
fn a_probe_cannot_subscribe_to_deltas_reports_or_messages_of_others() {
    let Some(net) = Net::start() else { return };
    run(async {
        let (a, b) = (net.link("a").await.client, net.link("b").await.client);
        let collector = net.link("collector").await.client;
        let mut heard = Vec::new();
        for subject in [
            ">",
            "srlg.slice.b",
            "srlg.report.a",
            "srlg.report.b",
            "srlg.report.*",
            "srlg.durable.b",
            "srlg.durable.*",
            "_INBOX_b.>",
            "_INBOX.>",
        ] {
            heard.push(a.subscribe(subject).await.unwrap());
        }
        let mut own = a.subscribe("srlg.durable.a").await.unwrap();
        // When a message arrives, the broker has processed all earlier subscriptions.
        while own.next().now_or_never().is_none() {
            collector.publish("srlg.durable.a", "0".into()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for subject in ["srlg.slice.b", "srlg.report.b"] {
            b.publish(subject, "secret".into()).await.unwrap();
        }
        b.flush().await.unwrap();
        collector.publish("srlg.durable.b", "7".into()).await.unwrap();
        collector.publish("srlg.durable.a", "8".into()).await.unwrap();
        // The broker sends all messages for `a` in order, and this is the last one.
        while own.next().await.unwrap().payload != "8" {}
        a.flush().await.unwrap();
        for mut subscriber in heard {
            let nothing = subscriber.next().now_or_never().flatten();
            assert_eq!(nothing.map(|message| message.subject), None);
        }
    });
}

#[test]
fn a_collector_does_not_write_deltas() {
    let Some(net) = Net::start() else { return };
    run(async {
        net.stream().await;
        let collector = net.link("collector").await.client;
        collector.publish("srlg.slice.a", "x".into()).await.unwrap();
        // The broker has received the message when it answers.
        jetstream::new(collector).get_stream("SRLG").await.unwrap();
    });
    assert_nothing_came_in(&net);
}

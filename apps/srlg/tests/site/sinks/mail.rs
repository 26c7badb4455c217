//! Emails to an SMTP server.

use std::path::Path;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use srlg_alerts::notification::Notification;
use srlg_alerts::{Remark, Silencing};
use srlg_notify::store::Store;
use srlg_system::secrets::write_secret;

use super::access::{CLIENT, authority, server_config, tls};
use super::made::{Delivery, is_done, notifications, sink};
use super::smtp::{Mail, Server, answers};

/// Maximum time that a test waits for an email.
const MOST: Duration = Duration::from_secs(60);

/// More attempts than a sink makes while a test waits.
const ALWAYS: usize = 99;

fn keys(url: &str, more: &str) -> String {
    format!(
        "type = 'mail'\nserver = '{url}'\nfrom = 'srlg <srlg@example.org>'\nto = ['a@example.net', 'b@example.net']\n{more}"
    )
}

/// Starts `server`, and returns the configuration of a sink that sends emails to it without encryption.
fn plain(server: Server, more: &str) -> (String, Receiver<Mail>) {
    let (address, mails) = server.start();
    (keys(&format!("smtp://{address}"), &format!("plain = true\n{more}")), mails)
}

fn credentials(folder: &Path, password: &str) -> String {
    let path = folder.join(password.len().to_string());
    write_secret(&path, &format!("srlg:{password}\n")).unwrap();
    format!("credentials = {{ basic-file = '{}' }}", path.display())
}

fn next(mails: &Receiver<Mail>) -> Mail {
    mails.recv_timeout(MOST).unwrap()
}

fn starts_and_ends(hosts: u16) -> (Vec<Notification>, Vec<Notification>) {
    let mut starts = notifications(hosts);
    let ends = starts.split_off(hosts.into());
    (starts, ends)
}

#[test]
fn a_mail_goes_over_tls_with_a_password_by_either_way() {
    let folder = authority();
    let tls = tls(folder.path(), &CLIENT[..1]);
    let secret = credentials(folder.path(), "pass:word");
    for (is_tls_from_start, mechanism) in [(false, "PLAIN LOGIN"), (true, "LOGIN XOAUTH2")] {
        let server = Server {
            tls: Some(server_config(folder.path(), false)),
            is_tls_from_start,
            mechanism,
            ..Server::default()
        };
        let (address, mails) = server.start();
        let scheme = if is_tls_from_start { "smtps" } else { "smtp" };
        let keys = keys(&format!("{scheme}://{address}"), &format!("{tls}\n{secret}"));
        let sinks = Delivery::new(&keys);
        let notification = notifications(1).remove(0);
        sinks.send(std::slice::from_ref(&notification));
        let mail = next(&mails);
        assert_eq!((mail.is_encrypted, mail.is_logged_in), (true, true));
        assert_eq!(mail.sender, "srlg@example.org");
        assert_eq!(mail.recipients, ["a@example.net", "b@example.net"]);
        let subject = format!("srlg: {} flood: 10.0.0.1", notification.severity);
        assert_eq!(mail.header("Subject"), [subject]);
        assert!(mail.lines()[0].ends_with(&notification.text), "{mail:?}");
        assert_eq!(sinks.wait(is_done).sent, 1);
    }
}

#[test]
fn an_unusable_server_is_reported_and_no_mail_is_lost() {
    let (folder, other) = (authority(), authority());
    let config = |asks| Some(server_config(folder.path(), asks));
    let files = |folder: &Path, count| tls(folder, &CLIENT[..count]);
    let wrong = credentials(folder.path(), "word");
    let with = |tls| Server { tls, mechanism: "PLAIN", ..Server::default() };
    let injected = Server {
        answers: answers("STARTTLS", "220 go ahead\r\n250 injected", ALWAYS),
        ..with(config(false))
    };
    let strange = |command, answer| {
        let answers = answers(command, answer, ALWAYS);
        (Server { answers, ..with(config(false)) }, files(folder.path(), 1))
    };
    let endless: &str = "250-x\r\n".repeat(10_000).leak();
    let [(endless, ca), (silent, _), (other_protocol, _)] =
        [strange("EHLO", endless), strange("MAIL", ""), strange("EHLO", "HTTP/1.1 400 é")];
    for (server, more, cause) in [
        (endless, ca.clone(), "sent an endless response to EHLO"),
        (silent, ca.clone(), "does not respond to MAIL: it closed the connection"),
        (other_protocol, ca, "is not an SMTP server: it sent \"HTTP/1.1 400 é\""),
        (with(config(false)), String::new(), "unknown authority"),
        (with(config(false)), files(other.path(), 1), "unknown authority"),
        (with(config(true)), files(folder.path(), 1), "requires a client certificate"),
        (with(None), files(folder.path(), 1), "does not offer STARTTLS"),
        (injected, files(folder.path(), 1), "sent unencrypted data after STARTTLS"),
        (
            with(config(false)),
            format!("{}\n{wrong}", files(folder.path(), 1)),
            "cannot log in to 127.0.0.1:PORT: 535 \"5.7.8 not you\"",
        ),
        (
            Server { mechanism: "GSSAPI", ..with(config(false)) },
            format!("{}\n{wrong}", files(folder.path(), 1)),
            "offers neither AUTH PLAIN nor AUTH LOGIN",
        ),
    ] {
        let (address, mails) = server.start();
        let sinks = Delivery::new(&keys(&format!("smtp://{address}"), &more));
        sinks.send(&notifications(1)[..1]);
        let overview = sinks.wait(|overview| overview.failed > 0);
        let error = overview.error.unwrap().replace(&address.port().to_string(), "PORT");
        assert!(error.contains(cause), "{error}");
        assert_eq!((overview.sent, overview.dropped, overview.queue), (0, 0, 1), "{cause}");
        assert!(mails.try_recv().is_err());
    }
    // The server knows the client by its certificate.
    let (address, mails) = with(config(true)).start();
    let sinks = Delivery::new(&keys(&format!("smtp://{address}"), &files(folder.path(), 3)));
    sinks.send(&notifications(1)[..1]);
    assert!(next(&mails).is_encrypted);
}

#[test]
fn a_server_that_does_not_answer_in_time_is_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sinks = Delivery::new(&keys(&format!("smtp://{address}"), "timeout = '200ms'"));
    sinks.send(&notifications(1)[..1]);
    let error = sinks.wait(|overview| overview.failed > 0).error.unwrap();
    let expected = format!("{address} does not respond to the connection: timeout after 200ms");
    assert_eq!(error, expected);
    drop(listener);
    let expected = format!("cannot connect to {address}: ");
    sinks
        .wait(|overview| overview.error.as_ref().is_some_and(|error| error.starts_with(&expected)));
}

#[test]
fn what_may_pass_is_tried_again_and_a_mail_that_is_rejected_is_given_up() {
    for (command, answer, dropped) in [
        ("MAIL", "451 4.3.0 later", 0),
        ("MAIL", "550 5.7.1 no such sender", 0),
        ("DATA", "421 4.3.2 shutting down", 0),
        (".", "451 4.7.1 greylisted", 0),
        (".", "554 5.6.0 spam", 1),
    ] {
        let answers = answers(command, answer, 1);
        let (keys, mails) = plain(Server { answers, ..Server::default() }, "digest = '0s'");
        let sinks = Delivery::new(&keys);
        sinks.send(&notifications(2)[..2]);
        let count = 2 - dropped;
        for _ in 0..count {
            next(&mails);
        }
        let overview = sinks.wait(|overview| overview.sent + overview.dropped == 2);
        let failed = if dropped == 0 { 1 } else { 0 };
        assert_eq!(
            (overview.sent, overview.dropped, overview.failed),
            (count, dropped, failed),
            "{answer}"
        );
    }
}

#[test]
fn a_recipient_who_is_refused_takes_no_mail_from_others() {
    let no_user = answers("RCPT TO:<a@", "550 5.1.1 no such user", 1);
    let (keys, mails) = plain(Server { answers: no_user, ..Server::default() }, "");
    let sinks = Delivery::new(&keys);
    sinks.send(&notifications(1)[..1]);
    assert_eq!(next(&mails).recipients, ["b@example.net"]);
    let overview = sinks.wait(is_done);
    assert_eq!((overview.sent, overview.dropped, overview.failed), (1, 0, 0));
    // If all recipients are rejected, the configuration of either side may be incorrect.
    let denied = answers("RCPT", "554 5.7.1 relay access denied", ALWAYS);
    let server = Server { answers: denied.clone(), ..Server::default() };
    let (keys, mails) = plain(server, "");
    let sinks = Delivery::new(&keys);
    sinks.send(&notifications(1)[..1]);
    let error = sinks.wait(|overview| overview.failed > 0).error.unwrap();
    assert!(error.contains("rejected all recipients; a@example.net: 554 "), "{error}");
    denied.lock().unwrap().clear();
    next(&mails);
}

#[test]
fn notifications_within_the_digest_are_one_mail() {
    let (keys, mails) = plain(Server::default(), "digest = '3s'");
    let sinks = Delivery::new(&keys);
    let (starts, ends) = starts_and_ends(50);
    let first = Instant::now();
    sinks.send(&starts[..1]);
    assert_eq!(next(&mails).lines().len(), 1);
    sinks.send(&starts[1..]);
    let mail = next(&mails);
    assert!(first.elapsed() > Duration::from_secs(2), "{:?}", first.elapsed());
    assert!(mail.header("Subject")[0].ends_with(": 10.0.1.1 and 48 more"), "{mail:?}");
    let lines = mail.lines();
    let named =
        starts[1..].iter().filter(|start| lines.iter().any(|line| line.ends_with(&start.text)));
    assert_eq!(named.count(), 20);
    let others = "29 more notifications are not listed.";
    assert_eq!((lines[0].as_str(), lines[42].as_str()), ("49 hosts are probably flooded", others));
    // All waiting notifications are sent at the end, even if they are not due yet.
    sinks.send(&ends);
    thread::sleep(Duration::from_millis(100));
    sinks.finish(MOST);
    assert_eq!(next(&mails).header("Subject"), ["srlg: ended flood: 10.0.0.1 and 49 more"]);
    assert!(mails.try_recv().is_err());
}

#[test]
fn notifications_that_were_collected_are_sent_after_a_kill() {
    let (keys, mails) = plain(Server::default(), "digest = '1h'");
    let store = Store::open(None).unwrap();
    let (starts, _) = starts_and_ends(4);
    let sinks = Delivery::start(&[sink(&keys)], &store);
    sinks.send(&starts[..1]);
    next(&mails);
    sinks.wait(is_done);
    sinks.send(&starts[1..]);
    assert_eq!(sinks.wait(|overview| overview.queue == 3).sent, 1);
    // The sink stops at once, as if it had been killed.
    drop(sinks);
    assert_eq!(store.cursor("mail").unwrap().done, 1);
    let sinks = Delivery::start(&[sink(&keys)], &store);
    assert!(next(&mails).header("Subject")[0].ends_with(": 10.0.1.1 and 2 more"));
    sinks.wait(is_done);
    assert_eq!(store.cursor("mail").unwrap().done, 4);
}

#[test]
fn collected_notifications_that_fill_the_queue_are_sent_and_the_oldest_dropped_only_after_a_failure()
 {
    let (starts, _) = starts_and_ends(6);
    let (keys, mails) = plain(Server::default(), "digest = '1h'\nqueue = 3");
    let sinks = Delivery::new(&keys);
    sinks.send(&starts[..1]);
    next(&mails);
    sinks.wait(is_done);
    starts[1..4].chunks(1).for_each(|start| sinks.send(start));
    assert!(next(&mails).header("Subject")[0].ends_with(": 10.0.1.1 and 2 more"));
    // The queue may have been read before the last notifications came.
    let overview = sinks.wait(|overview| overview.sent > 1);
    assert_eq!((overview.sent, overview.dropped), (4, 0));
    let later = answers("MAIL", "451 4.3.0 later", ALWAYS);
    let server = Server { answers: later.clone(), ..Server::default() };
    let (keys, mails) = plain(server, "digest = '1h'\nqueue = 3");
    let sinks = Delivery::new(&keys);
    sinks.send(&starts[..3]);
    sinks.wait(|overview| overview.failed > 0);
    sinks.send(&starts[3..5]);
    sinks.wait(|overview| overview.dropped == 2);
    later.lock().unwrap().clear();
    assert!(next(&mails).header("Subject")[0].ends_with(": 10.0.2.1 and 2 more"));
    let overview = sinks.wait(|overview| overview.sent > 0);
    assert_eq!((overview.sent, overview.dropped), (3, 2));
}

#[test]
fn notifications_that_did_not_pass_are_done_before_a_mail_that_fails() {
    let answers = answers("MAIL", "451 4.3.0 later", ALWAYS);
    let (keys, _mails) = plain(Server { answers, ..Server::default() }, "digest = '0s'");
    let store = Store::open(None).unwrap();
    let sinks = Delivery::start(&[sink(&keys)], &store);
    let (mut starts, _) = starts_and_ends(2);
    let remark = Remark { by: "ann".to_owned(), at_ms: 1, text: "ours".to_owned() };
    starts[0].silence = Some(Silencing { remark, until_ms: 9, id: starts[0].id });
    sinks.send(&starts);
    sinks.wait(|overview| overview.failed > 0);
    drop(sinks);
    assert_eq!(store.cursor("mail").unwrap().done, 1);
}

#[test]
fn a_server_that_answers_slowly_has_one_timeout_for_all_answers() {
    let delay = Duration::from_millis(400);
    let (keys, mails) = plain(Server { delay, ..Server::default() }, "timeout = '1s'");
    let sinks = Delivery::new(&keys);
    sinks.send(&notifications(1)[..1]);
    let error = sinks.wait(|overview| overview.failed > 0).error.unwrap();
    // Each answer alone comes in time, so a timeout for each answer would let the mail pass.
    assert!(error.ends_with(": timeout after 1s"), "{error}");
    assert!(mails.try_recv().is_err());
}

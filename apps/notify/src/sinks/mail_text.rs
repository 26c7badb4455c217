//! Emails about notifications, built with the crate `lettre`.
//!
//! Each email refers to a message ID, which contains the ID of the alert that the subject names. No email has that
//! message ID, but mail programs show all emails that refer to it as one thread.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use lettre::Message;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, SinglePart};

use crate::store::NumberedNotification;
use srlg_alerts::digest::Digest;
use srlg_alerts::notification::Notification;

/// A writer of emails.
pub(super) struct Writer {
    from: Mailbox,
    to: Vec<Mailbox>,
}

impl Writer {
    pub(super) fn new(from: &str, to: &[String]) -> Result<Self> {
        ensure!(!to.is_empty(), "to: needs at least one address");
        Ok(Self {
            from: mailbox(from)?,
            to: to.iter().map(|to| mailbox(to)).collect::<Result<_>>()?,
        })
    }

    /// Writes an email about `notifications`, which must not be empty.
    pub(super) fn digest(&self, notifications: &[NumberedNotification]) -> Result<Message> {
        let digest = Digest::new(notifications.iter().map(|(_, notification)| notification));
        let first = digest.first().context("cannot write an email without a notification")?;
        let [active, over] = digest.named();
        let mut body: Vec<String> = Vec::new();
        let shared = digest.shared();
        if !shared.is_empty() {
            body.push(shared.join("\n") + "\n");
        }
        body.extend(active.iter().map(|notification| entry(notification)));
        if !over.is_empty() && !active.is_empty() {
            body.push("Ended:\n".to_owned());
        }
        body.extend(over.iter().map(|notification| entry(notification)));
        if digest.unnamed() > 0 {
            body.push(format!("{} more notifications are not listed.\n", digest.unnamed()));
        }
        let number = notifications.iter().map(|(number, _)| *number).max().unwrap_or_default();
        self.write(&digest.subject(), body.join("\n"), &first.id.to_string(), &number.to_string())
    }

    /// Writes an email that belongs to the thread `thread`. `name` must be unique within the thread.
    fn write(&self, subject: &str, body: String, thread: &str, name: &str) -> Result<Message> {
        let domain = self.from.email.domain();
        let thread_id = format!("<{thread}@{domain}>");
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        let mut mail = Message::builder()
            .from(self.from.clone())
            .subject(format!("srlg: {subject}"))
            .date_now()
            .message_id(Some(format!("<{name}.{thread}@{domain}>")))
            .in_reply_to(thread_id.clone())
            .references(thread_id)
            .raw_header(HeaderValue::new(automatic, "auto-generated".to_owned()));
        for to in &self.to {
            mail = mail.to(to.clone());
        }
        mail.singlepart(SinglePart::plain(body)).context("cannot write an email")
    }
}

/// Parses an email address, with or without a display name.
pub(super) fn mailbox(text: &str) -> Result<Mailbox> {
    let parsed =
        text.parse::<Mailbox>().ok().filter(|mailbox| mailbox.email.to_string().is_ascii());
    parsed.with_context(|| {
        format!("{text:?} is not an email address; use ASCII, such as noc@example.net or NOC <noc@example.net>")
    })
}

/// Returns the lines about `notification`. Control characters are replaced, so a text cannot add lines.
fn entry(notification: &Notification) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(notification.now_ms);
    let time = humantime::format_rfc3339_seconds(time);
    let line = format!("{time} {}: {}", notification.severity, notification.text);
    let lines = [Some(&line), notification.url.as_ref()].into_iter().flatten();
    lines.map(|line| line.replace(char::is_control, " ") + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::notifications;
    use srlg_alerts::notification::Kind;
    use srlg_alerts::{Remark, Severity, Status};

    fn writer() -> Writer {
        let to = ["Jürgen <a@example.net>".to_owned(), "b@example.net".to_owned()];
        Writer::new("srlg <srlg@example.org>", &to).unwrap()
    }

    fn numbered(notifications: Vec<Notification>) -> Vec<NumberedNotification> {
        (1..).zip(notifications).collect()
    }

    fn text(mail: &Message) -> String {
        let text = String::from_utf8(mail.formatted()).unwrap();
        let lines = text.split("\r\n").filter(|line| !line.starts_with("Date: "));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_mail_has_the_newest_state_of_each_alert_and_all_comments() {
        // The list has the starts of three alerts, their updates and their ends.
        let mut notifications = notifications(3);
        notifications[2].severity = Severity::Critical;
        notifications[5].severity = Severity::Critical;
        notifications[1].remark =
            Some(Remark { by: "ann".to_owned(), at_ms: 1, text: "ours".to_owned() });
        notifications[1].text = "acknowledged by ann: ours".to_owned();
        notifications[4].url = Some("https://srlg.example/#1".to_owned());
        notifications.truncate(7);
        insta::assert_snapshot!(text(&writer().digest(&numbered(notifications)).unwrap()));
    }

    #[test]
    fn servers_come_last_and_give_a_mail_its_subject_only_without_other_alerts() {
        let mut notifications = notifications(3);
        notifications.truncate(3);
        for notification in &mut notifications[..2] {
            (notification.kind, notification.severity) = (Kind::Server, Severity::Info);
        }
        let mail = |notifications: &[Notification]| {
            text(&writer().digest(&numbered(notifications.to_vec())).unwrap())
        };
        let all = mail(&notifications);
        assert!(all.contains("Subject: srlg: warning: 10.2.0.1 and 2 more\n"), "{all}");
        let places = ["10.2.0.1 was", "10.0.0.1 was", "10.1.0.1 was"].map(|host| all.find(host));
        assert!(places.is_sorted() && places[0].is_some(), "{all}");
        assert!(
            mail(&notifications[..2]).contains("Subject: srlg: info server: 10.0.0.1 and 1 more\n")
        );
    }

    #[test]
    fn what_people_did_hides_no_state_and_makes_no_ended_alert_active() {
        let by_ann = |notification: &Notification, status| {
            let remark = Remark { by: "ann".to_owned(), at_ms: 1, text: "ours".to_owned() };
            let text = "acknowledged by ann: ours".to_owned();
            Notification { status, text, remark: Some(remark), ..notification.clone() }
        };
        let notifications = notifications(2);
        let mail = |notifications| text(&writer().digest(&numbered(notifications)).unwrap());
        let active =
            mail(vec![notifications[0].clone(), by_ann(&notifications[0], Status::Update)]);
        assert!(active.contains("Subject: srlg: warning: 10.0.0.1\n"), "{active}");
        assert!(active.contains("was contacted by 2000"), "{active}");
        assert!(active.contains("acknowledged by ann"), "{active}");
        let is_closed = by_ann(&notifications[0], Status::End);
        for end in [
            vec![by_ann(&notifications[0], Status::Update), notifications[4].clone()],
            vec![is_closed],
        ] {
            let notifications =
                [vec![notifications[0].clone()], end, vec![notifications[5].clone()]].concat();
            let over = mail(notifications);
            assert!(over.contains("Subject: srlg: ended: 10.0.0.1 and 1 more\n"), "{over}");
            assert!(!over.contains("Ended:"), "{over}");
        }
    }

    #[test]
    fn no_mail_has_a_bare_line_end_or_a_line_that_is_too_long() {
        let to: Vec<String> =
            (0..100).map(|at| format!("NOC Süd {at} <noc{at}@example.net>")).collect();
        let writer = Writer::new("srlg <srlg@example.org>", &to).unwrap();
        let every = (0..0x3000_u32).filter_map(char::from_u32).collect::<String>();
        for text in [every, ".\r\n".repeat(9_999), "é".repeat(9_999), "x".repeat(9_999)] {
            let notification = Notification {
                text: text.clone(),
                url: Some(text.clone()),
                ..Notification::sample()
            };
            let digest = writer.digest(&[(1, notification)]).unwrap();
            let mail = String::from_utf8(digest.formatted()).unwrap();
            assert!(mail.is_ascii() && !mail.contains('\0'));
            for line in mail.split("\r\n") {
                assert!(!line.contains(['\r', '\n']) && line.len() < 999, "{}", line.len());
            }
        }
    }

    #[test]
    fn mails_of_an_alert_are_one_thread_with_unique_ids() {
        let notifications = numbered(notifications(1));
        let mails: Vec<String> = notifications
            .chunks(1)
            .map(|notifications| text(&writer().digest(notifications).unwrap()))
            .collect();
        let lines = |name: &str| -> Vec<&str> {
            mails.iter().flat_map(|mail| mail.lines()).filter(|it| it.starts_with(name)).collect()
        };
        let thread = format!("<{}@example.org>", notifications[0].1.id);
        assert_eq!(lines("References: "), vec![format!("References: {thread}"); 3]);
        assert_eq!(lines("In-Reply-To: "), vec![format!("In-Reply-To: {thread}"); 3]);
        let names = [1, 2, 3].map(|number| format!("Message-ID: <{number}.{}", &thread[1..]));
        assert_eq!(lines("Message-ID: "), names);
    }

    #[test]
    fn no_text_of_a_notification_makes_a_header_or_a_line() {
        let attack = "x\r\n.\r\nBcc: evil@example.com\r\n\r\nhello \u{85} \u{2028}é";
        let mut notification = Notification::sample();
        (notification.text, notification.url) = (attack.to_owned(), Some(attack.to_owned()));
        let written = text(&writer().digest(&[(1, notification)]).unwrap());
        let (_, body) = written.split_once("\n\n").unwrap();
        assert!(!written.contains("\nBcc") && !body.trim_end().contains("\n\n"), "{written}");
        let mail = writer().write(attack, "body".to_owned(), attack, attack).unwrap();
        let written = text(&mail);
        assert!(written.is_ascii() && !written.contains("\nBcc"), "{written}");
        assert_eq!(written.split_once("\n\n").unwrap().1, "body\n");
        assert_eq!(mail.envelope().to().len(), 2);
    }

    #[test]
    fn only_single_addresses_in_ascii_are_taken() {
        for text in ["noc@example.net", "NOC Süd <noc@example.net>", "\"a, b\" <noc@example.net>"]
        {
            assert_eq!(mailbox(text).unwrap().email.to_string(), "noc@example.net");
        }
        for text in [
            "",
            "noc",
            "a@example.net, b@example.net",
            "a@example.net\r\nBcc: b@example.net",
            "a@example.net> SIZE=1",
            "nöc@example.net",
            "noc@exämple.net",
        ] {
            assert!(mailbox(text).is_err(), "{text}");
        }
    }
}

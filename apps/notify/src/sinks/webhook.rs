//! A sink that posts notifications over HTTP, as JSON or as the output of a template. A request can contain several
//! notifications.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use data_encoding::HEXLOWER;
use ring::hmac;
use serde::Serialize;
use ureq::http::{HeaderName, HeaderValue};

use super::body::Body;
use super::http::Client;
use super::suppressed::Suppressed;
use super::{Channel, Failure};
use crate::store::NumberedNotification;
use srlg_alerts::digest::Digest;
use srlg_alerts::notification::Notification;
use srlg_input::credentials::read_secret;

pub(super) struct Webhook {
    client: Client,
    body: Body,
    /// Minimum time between two messages, or zero if each notification is a separate message.
    digest: Duration,
    /// Key for signing request bodies, if a secret is configured.
    key: Option<hmac::Key>,
}

impl Webhook {
    pub(super) fn new(
        client: Client,
        body: Body,
        digest: Duration,
        signature: Option<&Path>,
    ) -> Result<Self> {
        let key = signature.map(read_key).transpose()?;
        Ok(Self { client, body, digest, key })
    }

    fn post(&self, key: &str, body: &impl Serialize) -> Result<String, Failure> {
        let body = self.body.of(body).map_err(Failure::Refused)?;
        let mut headers = vec![header("idempotency-key", key)?];
        if let Some(key) = &self.key {
            let signature = HEXLOWER.encode(hmac::sign(key, &body).as_ref());
            headers.push(header("x-signature-sha256", &signature)?);
        }
        self.client.post("", &body, &headers)
    }
}

pub(super) fn read_key(path: &Path) -> Result<hmac::Key> {
    let secret = read_secret(path)?;
    let secret = secret.trim();
    ensure!(!secret.is_empty(), "cannot read a secret from {}: the file is empty", path.display());
    Ok(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()))
}

fn header(name: &'static str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let value =
        HeaderValue::from_str(value).with_context(|| format!("cannot set the header {name}"))?;
    Ok((HeaderName::from_static(name), value))
}

impl Channel for Webhook {
    fn send(&mut self, number: i64, notification: &Notification) -> Result<String, Failure> {
        self.post(&format!("{}-{number}-{}", notification.id, notification.status), notification)
    }

    fn digest(&self) -> Duration {
        self.digest
    }

    fn send_all(&mut self, notifications: &[NumberedNotification]) -> Result<String, Failure> {
        match notifications {
            [(number, notification)] => self.send(*number, notification),
            [(first, _), .., (last, _)] => {
                let digest = Digest::new(notifications.iter().map(|(_, it)| it));
                self.post(&format!("digest-{first}-{last}"), &digest.json())
            }
            [] => Ok(String::new()),
        }
    }

    fn report_suppressed(&mut self, suppressed: &Suppressed) -> Result<(), Failure> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let key = format!("suppressed-{}-{}", std::process::id(), now.as_millis());
        self.post(&key, &suppressed.json()).map(drop)
    }
}

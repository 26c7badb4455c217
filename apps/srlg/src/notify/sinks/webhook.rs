//! Notices as JSON, posted over HTTP.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, ensure};
use serde::Serialize;
use serde_json::json;
use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue, Uri};

use super::{Channel, Failure};
use crate::network::read_secret;
use crate::notify::notice::Notice;

/// Bytes of an answer that are read.
const ANSWER: u64 = 1 << 10;

type Header = (HeaderName, HeaderValue);

pub(super) struct Webhook {
    agent: Agent,
    url: String,
    headers: Vec<Header>,
}

/// Whether `url` is one of HTTP.
pub(super) fn check_url(url: &str) -> Result<()> {
    ensure!(
        url.starts_with("http://") || url.starts_with("https://"),
        "the url is {url:?}: give one that begins with http:// or https://"
    );
    let parsed = url.parse::<Uri>().with_context(|| format!("the url is {url:?}"))?;
    ensure!(parsed.host().is_some_and(|host| !host.is_empty()), "the url {url:?} has no host");
    Ok(())
}

/// Nobody is sent elsewhere, and an answer is looked at here.
pub(super) fn agent(timeout: Duration) -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("srlg/", env!("CARGO_PKG_VERSION")));
    config.build().into()
}

/// Posts `body`. What the server says is wrong with the body is a refusal, everything else may pass.
pub(super) fn post(
    agent: &Agent,
    url: &str,
    headers: &[Header],
    body: &impl Serialize,
) -> Result<(), Failure> {
    let mut request = agent.post(url);
    for (name, value) in headers {
        request = request.header(name.clone(), value.clone());
    }
    let mut response = request.send_json(body)?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let answer = response.body_mut().with_config().limit(ANSWER).read_to_string();
    let answer = answer.unwrap_or_default();
    // The rest of an address, and what is before the host, may be secret.
    let host = url.parse::<Uri>().ok().and_then(|url| url.host().map(ToOwned::to_owned));
    let host = host.unwrap_or_default();
    let error = anyhow!("{host} answers {status} {:?}", answer.trim());
    let is_for_good = status.is_client_error() && !matches!(status.as_u16(), 408 | 425 | 429);
    Err(if is_for_good { Failure::Refused(error) } else { Failure::Failed(error) })
}

impl Webhook {
    pub(super) fn new(url: &str, headers: Option<&Path>, timeout: Duration) -> Result<Self> {
        let headers = headers.map(read_headers).transpose()?.unwrap_or_default();
        Ok(Self { agent: agent(timeout), url: url.to_owned(), headers })
    }

    fn post(&self, key: &str, body: &impl Serialize) -> Result<(), Failure> {
        let mut headers = self.headers.clone();
        let key = HeaderValue::from_str(key).context("the notice has no key")?;
        headers.push((HeaderName::from_static("idempotency-key"), key));
        post(&self.agent, &self.url, &headers, body)
    }
}

impl Channel for Webhook {
    fn send(&mut self, number: i64, notice: &Notice) -> Result<(), Failure> {
        self.post(&format!("{}-{number}-{}", notice.id, notice.status), notice)
    }

    fn tell_held(&mut self, count: u64) -> Result<(), Failure> {
        let text = format!("and {count} more notices in the last minute");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let key = format!("held-{}-{}", std::process::id(), now.as_millis());
        self.post(&key, &json!({ "held": count, "text": text }))
    }
}

/// Lines as `NAME: VALUE`. Values are not told, as they may be secret.
/// Reads a file of header lines, which may have secrets.
pub(super) fn read_headers(path: &Path) -> Result<Vec<Header>> {
    let text = read_secret(path)?;
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let split = |(at, line): (usize, &str)| {
        let header = line.split_once(':').and_then(|(name, value)| {
            let mut value = HeaderValue::from_str(value.trim()).ok()?;
            value.set_sensitive(true);
            Some((name.trim().parse().ok()?, value))
        });
        header.with_context(|| {
            format!("{}:{}: this is no header: give lines as NAME: VALUE", path.display(), at + 1)
        })
    };
    lines.map(split).collect()
}

//! The HTTP client of sinks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use data_encoding::BASE64;
use serde::Deserialize;
use ureq::http::{HeaderName, HeaderValue, Response, Uri, header};
use ureq::{Agent, Body, Error, RequestBuilder};

use super::Failure;
use super::connection::after;
use super::tls::{self, TlsFiles};
use srlg_input::credentials::read_secret;

/// Maximum number of bytes to read from a response that reports an error.
const ANSWER: u64 = 1 << 10;

/// Maximum number of bytes to read from any other response.
const CONTENT: u64 = 1 << 20;

pub(super) type Header = (HeaderName, HeaderValue);

/// The files with the credentials of an HTTP client.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Credentials {
    /// File with a token, sent as `Authorization: Bearer TOKEN`.
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub bearer_file: Option<PathBuf>,
    /// File with a line `USER:PASSWORD`, sent as `Authorization: Basic ...`. Excludes `bearer-file`.
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub basic_file: Option<PathBuf>,
    /// File with header lines, such as `X-Api-Key: ...`.
    #[cfg_attr(feature = "schemars", schemars(extend("x-form" = "file")))]
    pub headers_file: Option<PathBuf>,
}

/// An HTTP client of one server.
pub(super) struct Client {
    agent: Agent,
    url: String,
    host: String,
    headers: Vec<Header>,
    timeout: Duration,
}

impl Credentials {
    /// Checks that the configured files can be used together.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.bearer_file.is_none() || self.basic_file.is_none(),
            "credentials: set either bearer-file or basic-file, not both"
        );
        Ok(())
    }

    pub(super) fn headers(&self) -> Result<Vec<Header>> {
        self.check()?;
        let mut headers = match &self.headers_file {
            Some(path) => read_headers(path)?,
            None => Vec::new(),
        };
        let credentials = match (&self.bearer_file, &self.basic_file) {
            (Some(path), _) => {
                let secret = read_secret(path)?;
                ensure!(
                    !secret.trim().is_empty(),
                    "cannot read a token from {}: the file is empty",
                    path.display()
                );
                Some((path, format!("Bearer {}", secret.trim())))
            }
            (_, Some(path)) => {
                let (user, password) = read_pair(path)?;
                let pair = format!("{user}:{password}");
                Some((path, format!("Basic {}", BASE64.encode(pair.as_bytes()))))
            }
            _ => None,
        };
        if let Some((path, credentials)) = credentials {
            let value = HeaderValue::from_str(&credentials);
            let mut value = value.with_context(|| {
                format!("cannot send the credentials in {} as a header", path.display())
            })?;
            value.set_sensitive(true);
            headers.push((header::AUTHORIZATION, value));
        }
        Ok(headers)
    }
}

impl Client {
    pub(super) fn new(
        url: String,
        credentials: &Credentials,
        tls: &TlsFiles,
        timeout: Duration,
    ) -> Result<Self> {
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            // Redirects are not followed, and the code below checks the status.
            .max_redirects(0)
            .http_status_as_error(false)
            .tls_config(tls.http(&url)?)
            .user_agent(concat!("srlg/", env!("CARGO_PKG_VERSION")));
        // The other parts of the URL may contain secrets.
        let uri = url.parse::<Uri>()?;
        let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host = uri.host().map(|host| format!("{host}{port}")).unwrap_or_default();
        Ok(Self {
            agent: config.build().into(),
            url,
            host,
            headers: credentials.headers()?,
            timeout,
        })
    }

    /// Posts the JSON `body` with `headers` to the URL of this client, extended by `path`. Returns the status. If the
    /// server reports that the body is invalid, the error is a refusal. Any other error, such as an expired token, is a
    /// failure, because it may be temporary.
    pub(super) fn post(
        &self,
        path: &str,
        body: &[u8],
        headers: &[Header],
    ) -> Result<String, Failure> {
        let mut request = self.agent.post(format!("{}{path}", self.url));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let response = self.checked(self.with_headers(request).send(body))?;
        Ok(format!("HTTP {}", response.status()))
    }

    /// Returns the content at `path` that `query` selects.
    pub(super) fn get(&self, path: &str, query: &[(&str, String)]) -> Result<String, Failure> {
        let request = self.agent.get(format!("{}{path}", self.url));
        let request = query.iter().fold(request, |request, (key, value)| request.query(key, value));
        let mut response = self.checked(self.with_headers(request).call())?;
        let content = response.body_mut().with_config().limit(CONTENT).read_to_string();
        Ok(content.with_context(|| format!("cannot read the response of {}", self.host))?)
    }

    /// Deletes the resource at `path`.
    pub(super) fn delete(&self, path: &str) -> Result<(), Failure> {
        let request = self.agent.delete(format!("{}{path}", self.url));
        self.checked(self.with_headers(request).call()).map(drop)
    }

    fn with_headers<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        self.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
    }

    /// Returns the response if its status is a success.
    fn checked(&self, sent: Result<Response<Body>, Error>) -> Result<Response<Body>, Failure> {
        let mut response = sent.map_err(|error| {
            anyhow!("cannot reach {}: {}", self.host, cause(&error, self.timeout))
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let answer = response.body_mut().with_config().limit(ANSWER).read_to_string();
        let answer = answer.unwrap_or_default();
        let error = anyhow!("{} responded with {status} {:?}", self.host, answer.trim());
        let is_for_good = matches!(status.as_u16(), 400 | 413 | 415 | 422);
        Err(if is_for_good { Failure::Refused(error) } else { Failure::Failed(error) })
    }
}

/// Checks `url`. Errors do not contain the URL, which may be secret.
pub(super) fn check_url(url: &str) -> Result<()> {
    ensure!(
        url.starts_with("http://") || url.starts_with("https://"),
        "url: must start with http:// or https://"
    );
    let parsed = url.parse::<Uri>().context("url: cannot be parsed")?;
    ensure!(parsed.host().is_some_and(|host| !host.is_empty()), "url: must have a host");
    Ok(())
}

/// Returns the cause of an error in terms that an operator can act on.
fn cause(error: &Error, timeout: Duration) -> String {
    match error {
        Error::Timeout(_) => after(timeout),
        Error::HostNotFound => "host not found".to_owned(),
        Error::Io(error) => tls::io_cause(error),
        Error::Rustls(error) => tls::cause(error),
        error => error.to_string(),
    }
}

/// Reads a file with one line, `USER:PASSWORD`.
pub(super) fn read_pair(path: &Path) -> Result<(String, String)> {
    let secret = read_secret(path)?;
    let pair = secret.trim_end_matches(['\r', '\n']).split_once(':');
    let (user, password) = pair
        .with_context(|| format!("cannot use {}: no line USER:PASSWORD found", path.display()))?;
    Ok((user.to_owned(), password.to_owned()))
}

/// Reads a file of header lines `NAME: VALUE`. Errors do not contain the values, which may be secret.
fn read_headers(path: &Path) -> Result<Vec<Header>> {
    let text = read_secret(path)?;
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let split = |(at, line): (usize, &str)| {
        let header = line.split_once(':').and_then(|(name, value)| {
            let mut value = HeaderValue::from_str(value.trim()).ok()?;
            value.set_sensitive(true);
            Some((name.trim().parse().ok()?, value))
        });
        header.with_context(|| {
            format!("{}:{}: not a header; use lines such as NAME: VALUE", path.display(), at + 1)
        })
    };
    lines.map(split).collect()
}

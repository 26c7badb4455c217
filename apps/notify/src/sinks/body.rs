//! Bodies of webhook requests. A body is a notification, a digest of several notifications or a report about suppressed
//! notifications, as JSON or as the output of a template.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use serde_json::Value;

use super::suppressed::Suppressed;

use srlg_alerts::digest::Digest;
use srlg_alerts::notification::Notification;

pub(super) enum Body {
    /// A notification as JSON on one line.
    Notification,
    /// A Jinja template, whose variables are the fields of a notification.
    Template {
        template: Box<Environment<'static>>,
        path: PathBuf,
        /// Whether the template also renders a digest of several notifications.
        takes_digests: bool,
    },
}

/// Name of the only template.
const NAME: &str = "body";

/// Name of the variable that a template uses if and only if it renders digests.
const DIGEST: &str = "digest";

/// Default time between two messages from a template that renders digests.
const DIGEST_TIME: Duration = Duration::from_secs(5);

impl Body {
    /// Reads the template at `path`, if a path is given. The template must render a JSON object both from a
    /// notification and from a report about suppressed notifications.
    pub(super) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::Notification) };
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        // The name has no HTML extension, so values are not escaped. Templates quote them with `tojson`.
        let mut template = Environment::new();
        template.set_undefined_behavior(UndefinedBehavior::Chainable);
        template
            .add_template_owned(NAME, text)
            .with_context(|| format!("cannot read the template {}", path.display()))?;
        let complete = serde_json::to_value(Notification::sample())?;
        let suppressed = Suppressed::sample().json();
        let samples = Notification::samples();
        let digest = Digest::new(&samples).json();
        let variables = template.get_template(NAME)?.undeclared_variables(false);
        let takes_digests = variables.contains(DIGEST);
        for name in variables {
            let is_known = complete.get(&name).is_some()
                || suppressed.get(&name).is_some()
                || digest.get(&name).is_some()
                || template.globals().any(|(global, _)| global == name);
            ensure!(is_known, "{}: a notification has no field {name}", path.display());
        }
        let (template, path) = (Box::new(template), path.to_owned());
        let body = Self::Template { template, path, takes_digests };
        samples.iter().try_for_each(|sample| body.of(sample).map(drop))?;
        body.of(&suppressed)?;
        if takes_digests {
            body.of(&digest)?;
        }
        Ok(body)
    }

    /// Returns the minimum time between two messages if the configuration sets `time`, or nothing.
    pub(super) fn digest(&self, time: Option<Duration>) -> Result<Duration> {
        match self {
            Self::Notification => Ok(time.unwrap_or_default()),
            Self::Template { takes_digests: true, .. } => Ok(time.unwrap_or(DIGEST_TIME)),
            Self::Template { path, .. } => {
                let is_each = time.unwrap_or_default().is_zero();
                ensure!(
                    is_each,
                    "digest: must be 0s, because the template {} does not use the variable digest",
                    path.display()
                );
                Ok(Duration::ZERO)
            }
        }
    }

    pub(super) fn of(&self, notification: &impl Serialize) -> Result<Vec<u8>> {
        match self {
            Self::Notification => Ok(serde_json::to_vec(notification)?),
            Self::Template { template, path, .. } => {
                let place = || path.display().to_string();
                let text = template.get_template(NAME)?.render(notification).with_context(place)?;
                let value: Value = serde_json::from_str(&text)
                    .with_context(|| format!("{}: the template does not render JSON", place()))?;
                ensure!(
                    value.is_object(),
                    "{}: the template does not render a JSON object",
                    place()
                );
                Ok(serde_json::to_vec(&value)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a notification that has no optional fields.
    fn short() -> Notification {
        Notification { windows: Vec::new(), ..Notification::samples().pop().unwrap() }
    }

    fn made(template: &str, notification: &impl Serialize) -> Value {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../srlg/service/templates").join(template);
        let body = Body::open(Some(&path)).unwrap();
        serde_json::from_slice(&body.of(notification).unwrap()).unwrap()
    }

    fn refusal(text: &str) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let error = Body::open(Some(file.path())).err().expect("a refusal");
        format!("{error:#}").replace(file.path().to_str().unwrap(), "PATH")
    }

    #[test]
    fn slack_has_a_text_and_a_line_for_each_window() {
        let mut notification = short();
        notification.text = "a \"quoted\" text".to_owned();
        notification.windows = vec![
            notification.main,
            srlg_alerts::notification::NotifiedWindow { window_ms: 300_000, ..notification.main },
        ];
        let made_of_notification = made("slack.json", &notification);
        assert_eq!(made_of_notification["text"], notification.text);
        let elements = made_of_notification["blocks"][1]["elements"].as_array().unwrap();
        let texts: Vec<_> = elements.iter().map(|it| it["text"].as_str().unwrap()).collect();
        assert_eq!(
            texts,
            [
                "critical flood, start, rule servers of fan-in",
                "60 s: 12034 hosts, at most 12034, threshold 1024",
                "300 s: 12034 hosts, at most 12034, threshold 1024",
            ]
        );
        let report = made("slack.json", &Suppressed::sample().json());
        assert_eq!(report["text"], Suppressed::sample().text());
        assert_eq!(report["blocks"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn pagerduty_has_an_event_that_is_resolved_at_the_end() {
        let start = made("pagerduty.json", &short());
        let end =
            made("pagerduty.json", &Notification { status: srlg_alerts::Status::End, ..short() });
        assert_eq!(
            (&start["event_action"], &end["event_action"]),
            (&"trigger".into(), &"resolve".into())
        );
        assert_eq!(
            (&start["dedup_key"], &end["dedup_key"]),
            (&short().id.to_string().into(), &start["dedup_key"])
        );
        let payload = &start["payload"];
        assert_eq!(
            (&payload["severity"], &payload["source"]),
            (&"critical".into(), &"192.0.2.7".into())
        );
        assert_eq!(payload["custom_details"]["top_ports"], json!([]));
        let report = made("pagerduty.json", &Suppressed::sample().json());
        assert_eq!(
            (&report["event_action"], &report["payload"]["source"]),
            (&"trigger".into(), &"srlg".into())
        );
    }

    #[test]
    fn only_templates_that_use_digests_get_them() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"text\": {{ text | tojson }}}").unwrap();
        let each = Body::open(Some(file.path())).unwrap();
        let second = Some(Duration::from_secs(1));
        assert_eq!(each.digest(None).unwrap(), Duration::ZERO);
        assert!(each.digest(second).is_err());
        std::fs::write(file.path(), "{\"all\": {{ digest | default([]) | tojson }}}").unwrap();
        let all = Body::open(Some(file.path())).unwrap();
        assert_eq!(all.digest(None).unwrap(), DIGEST_TIME);
        assert_eq!(all.digest(second).ok(), second);
        assert_eq!(all.digest(Some(Duration::ZERO)).unwrap(), Duration::ZERO);
        assert_eq!(Body::Notification.digest(second).ok(), second);
    }

    #[test]
    fn a_template_may_use_functions() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"numbers\": {{ range(3) | list | tojson }}}").unwrap();
        let body = Body::open(Some(file.path())).unwrap().of(&short()).unwrap();
        assert_eq!(body, b"{\"numbers\":[0,1,2]}");
    }

    #[test]
    fn teams_has_a_card() {
        let card = &made("teams.json", &short())["attachments"][0]["content"];
        assert_eq!(
            (&card["type"], &card["body"][0]["text"]),
            (&"AdaptiveCard".into(), &short().text.into())
        );
        assert_eq!(card["body"][1]["facts"][1], json!({ "title": "Kind", "value": "flood" }));
        let report = &made("teams.json", &Suppressed::sample().json())["attachments"][0]["content"];
        assert_eq!(report["body"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_template_with_a_wrong_name_or_no_json_is_refused() {
        let texts = [
            "{\"host\": {{ hots | tojson }}}",
            "{\"host\": {{ host }}}",
            "{{ text | tojson }}",
            "{% if x %}",
            "{\"all\": [{% for w in windows %}{{ w.peak }}{% endfor %}]}",
            "{\"share\": {{ syn_only * 100 }}}",
        ];
        insta::assert_snapshot!(texts.map(refusal).join("\n"));
    }

    #[test]
    fn a_template_cannot_read_files() {
        let folder = tempfile::tempdir().unwrap();
        let (secret, path) = (folder.path().join("secret"), folder.path().join("body.json"));
        std::fs::write(&secret, "{\"a\": 1}").unwrap();
        for statement in ["include", "extends", "import"] {
            let end = if statement == "import" { " as x" } else { "" };
            let text = format!("{{% {statement} {:?}{end} %}}{{}}", secret.to_str().unwrap());
            std::fs::write(&path, text).unwrap();
            let error = Body::open(Some(&path)).err().expect("a refusal");
            let kind = error.downcast_ref::<minijinja::Error>().map(minijinja::Error::kind);
            assert_eq!(kind, Some(minijinja::ErrorKind::SyntaxError), "{error:#}");
        }
    }
}

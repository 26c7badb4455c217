//! What a person does with an incident: acknowledge, comment, silence, close.
//!
//! Shape: an [`Act`] becomes a notice with a [`Remark`], as any other change of an incident does; so it is stored, sent and shown.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::alerts::alert::{AlertId, Why};

/// The most characters of the text of an act.
pub(crate) const MOST_CHARACTERS: usize = 1_000;

/// The most silences at a time.
pub(crate) const MOST_SILENCES: usize = 1_000;

/// The longest silence.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// Something that a person does with an incident.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Act {
    /// Somebody works on it.
    Acknowledge {
        /// What to say about it; may be empty.
        #[serde(default)]
        text: String,
    },
    /// Something to know about it.
    Comment {
        /// The comment.
        text: String,
    },
    /// No sink hears of the host or the network in this view for a time.
    Silence {
        /// Length of the silence, as `2h`.
        #[serde(rename = "for", with = "humantime_serde")]
        length: Duration,
        /// The reason.
        text: String,
    },
    /// Ends a silence before its time.
    Unsilence {
        /// What to say about it; may be empty.
        #[serde(default)]
        text: String,
    },
    /// The incident ends now. It must be below its threshold.
    Close {
        /// What to say about it; may be empty.
        #[serde(default)]
        text: String,
    },
}

/// What a person said or did, who that was, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// Name of the person, as the file of tokens has it.
    pub by: String,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What the person said; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A time in which no sink hears of a host or a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silencing {
    /// Who silenced it, when, and why.
    #[serde(flatten)]
    pub remark: Remark,
    /// Its end, milliseconds since the Unix epoch.
    pub until_ms: u64,
    /// Id of the alert that was silenced, by which the silence can be ended.
    pub id: AlertId,
}

/// Why an act was not done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No incident has this id.
    #[error("there is no incident {0}")]
    Unknown(String),
    /// The incident is over.
    #[error("the incident is over: it can be commented or silenced, and nothing else")]
    Over,
    /// The incident is not below its threshold.
    #[error(
        "the incident is still at its threshold, and would start again at once: silence it instead"
    )]
    StillThere,
    /// Nothing is silenced.
    #[error("the incident is not silenced")]
    NotSilenced,
    /// There are too many silences.
    #[error("there are {MOST_SILENCES} silences already: end some of them first")]
    TooManySilences,
    /// A text is missing.
    #[error("text is empty: say why")]
    NoText,
    /// The text is too long.
    #[error("text has {0} characters: give at most {MOST_CHARACTERS}")]
    LongText(usize),
    /// The silence is too short or too long.
    #[error("for is {}: give at least 1s and at most 365d", humantime::format_duration(*.0))]
    Length(Duration),
}

impl Act {
    /// Returns the text as one line: logs and messages have lines.
    pub(crate) fn text(&self) -> String {
        let (Self::Acknowledge { text }
        | Self::Comment { text }
        | Self::Silence { text, .. }
        | Self::Unsilence { text }
        | Self::Close { text }) = self;
        let words = text.split(|c: char| c.is_whitespace() || c.is_control());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the reason of the notice about it.
    pub(crate) const fn why(&self) -> Why {
        match self {
            Self::Acknowledge { .. } => Why::Acknowledged,
            Self::Comment { .. } => Why::Comment,
            Self::Silence { .. } => Why::Silenced,
            Self::Unsilence { .. } => Why::Unsilenced,
            Self::Close { .. } => Why::Closed,
        }
    }

    /// Checks what can be checked without the incident.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let characters = self.text().chars().count();
        let needs_text = matches!(self, Self::Comment { .. } | Self::Silence { .. });
        match self {
            _ if needs_text && characters == 0 => Err(Refusal::NoText),
            _ if characters > MOST_CHARACTERS => Err(Refusal::LongText(characters)),
            Self::Silence { length, .. }
                if !(Duration::from_secs(1)..=LONGEST).contains(length) =>
            {
                Err(Refusal::Length(*length))
            }
            _ => Ok(()),
        }
    }
}

impl Remark {
    /// Returns what happened, as `acknowledged by ann: known`.
    pub(crate) fn sentence(&self, what: &str) -> String {
        let Self { by, text, .. } = self;
        let colon = if text.is_empty() { "" } else { ": " };
        format!("{what} by {by}{colon}{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(json: &str) -> Act {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn texts_become_one_line() {
        let text = |text: &str| Act::Comment { text: text.to_owned() }.text();
        assert_eq!(text("  a\ttest\r\nof\u{1b}[31m ours "), "a test of [31m ours");
        assert_eq!(text("\n \u{7}"), "");
    }

    #[test]
    fn comments_and_silences_need_a_text_and_silences_a_length() {
        for (json, expected) in [
            (r#"{"act":"acknowledge"}"#, Ok(())),
            (r#"{"act":"close"}"#, Ok(())),
            (r#"{"act":"unsilence"}"#, Ok(())),
            (r#"{"act":"comment","text":"known"}"#, Ok(())),
            (r#"{"act":"comment","text":" \n"}"#, Err(Refusal::NoText)),
            (r#"{"act":"silence","for":"2h","text":"a test"}"#, Ok(())),
            (r#"{"act":"silence","for":"2h","text":""}"#, Err(Refusal::NoText)),
            (
                r#"{"act":"silence","for":"999ms","text":"a"}"#,
                Err(Refusal::Length(Duration::from_millis(999))),
            ),
            (
                r#"{"act":"silence","for":"366d","text":"a"}"#,
                Err(Refusal::Length(Duration::from_secs(366 * 86_400))),
            ),
        ] {
            assert_eq!(act(json).check(), expected, "{json}");
        }
        let long = Act::Close { text: "x".repeat(MOST_CHARACTERS + 1) };
        assert_eq!(long.check(), Err(Refusal::LongText(MOST_CHARACTERS + 1)));
    }
}

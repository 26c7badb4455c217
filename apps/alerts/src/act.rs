//! Actions of users on an incident: acknowledge, comment, silence, unsilence and close.
//!
//! An [`Act`] becomes a notification with a [`Remark`], so it is stored, sent and shown like any other change of an
//! incident.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::alert::{AlertId, Why};

/// Maximum length of an action's text, in characters.
pub(crate) const MOST_CHARACTERS: usize = 1_000;

pub(crate) const MOST_SILENCES: usize = 1_000;

/// Maximum length of a silence.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// A user's action on an incident.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Act {
    /// The user is working on the incident.
    Acknowledge {
        /// Text of the acknowledgement; may be empty.
        #[serde(default)]
        text: String,
    },
    /// The user adds a comment.
    Comment {
        /// Text of the comment.
        text: String,
    },
    /// The user silences the incident's host or network in its view. For the given time, notifications about the host
    /// or network are suppressed. Sinks that were notified of the alert still receive user actions and the end of the
    /// alert.
    Silence {
        /// Length of the silence, such as `2h`.
        #[serde(rename = "for", with = "humantime_serde")]
        length: Duration,
        /// Reason for the silence.
        text: String,
    },
    /// The user ends the silence early.
    Unsilence {
        /// Reason for ending the silence; may be empty.
        #[serde(default)]
        text: String,
    },
    /// The user closes the incident. The counts of its active windows must be below `down` times the threshold.
    Close {
        /// Reason for closing the incident; may be empty.
        #[serde(default)]
        text: String,
    },
}

/// User, time and text of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// Name of the user in the token file.
    pub by: String,
    /// Time of the action, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Text from the user; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A period in which notifications about a host or network are suppressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silencing {
    /// User, start and reason of the silence.
    #[serde(flatten)]
    pub remark: Remark,
    /// End of the silence, in milliseconds since the Unix epoch.
    pub until_ms: u64,
    /// ID of the silenced alert, which is needed to end the silence.
    pub id: AlertId,
}

/// Reason for the rejection of an action.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No incident has this ID.
    #[error("incident {0} not found")]
    Unknown(String),
    /// The incident is over.
    #[error(
        "cannot acknowledge or close the incident: it is over; comment on it or silence its host instead"
    )]
    Over,
    /// The count of the incident is still too high.
    #[error("cannot close the incident: its count is still too high; silence it instead")]
    StillThere,
    /// The incident is not silenced.
    #[error("cannot end the silence: the incident is not silenced")]
    NotSilenced,
    /// The maximum number of silences has been reached.
    #[error("cannot add a silence: {MOST_SILENCES} exist already; end some of them first")]
    TooManySilences,
    /// A required text is empty.
    #[error("text: must not be empty")]
    NoText,
    /// The text is too long.
    #[error("text: at most {MOST_CHARACTERS} characters are allowed, got {0}")]
    LongText(usize),
    /// The silence is too short or too long.
    #[error("for: must be between 1s and 365d, got {}", humantime::format_duration(*.0))]
    Length(Duration),
}

impl Act {
    /// Returns the text as a single line, for logs and messages.
    pub(crate) fn text(&self) -> String {
        let (Self::Acknowledge { text }
        | Self::Comment { text }
        | Self::Silence { text, .. }
        | Self::Unsilence { text }
        | Self::Close { text }) = self;
        let words = text.split(|c: char| c.is_whitespace() || c.is_control());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) const fn why(&self) -> Why {
        match self {
            Self::Acknowledge { .. } => Why::Acknowledged,
            Self::Comment { .. } => Why::Comment,
            Self::Silence { .. } => Why::Silenced,
            Self::Unsilence { .. } => Why::Unsilenced,
            Self::Close { .. } => Why::Closed,
        }
    }

    /// Checks the parts of the action that do not depend on the incident.
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
    /// Returns a text about the action, such as `acknowledged by ann: known`; `what` names the action.
    pub fn sentence(&self, what: &str) -> String {
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

//! Silences: hosts about which notifications are suppressed for some time.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::Silencing;
use crate::act::{MOST_SILENCES, Refusal};
use crate::notification::Notification;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Silence>", into = "Vec<Silence>")]
pub struct Silences(BTreeMap<Silenced, Silencing>);

/// A silence of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// Silenced host.
    #[serde(flatten)]
    pub of: Silenced,
    /// Start, end, user and reason of the silence.
    #[serde(flatten)]
    pub silencing: Silencing,
}

/// A host in a view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Silenced {
    /// Name of the view.
    pub view: String,
    /// Name of the host, as in notifications.
    pub host: String,
}

impl Silenced {
    fn by(notification: &Notification) -> Self {
        Self { view: notification.view.clone(), host: notification.host.to_string() }
    }
}

impl Silences {
    /// Returns the silence of the host of `notification`, if there is one.
    pub(crate) fn of(&self, notification: &Notification) -> Option<&Silencing> {
        self.0.get(&Silenced::by(notification))
    }

    /// Adds a silence of the host of `notification`. It replaces any existing one.
    pub(crate) fn add(
        &mut self,
        notification: &Notification,
        silencing: Silencing,
    ) -> Result<(), Refusal> {
        let silenced = Silenced::by(notification);
        if self.0.len() >= MOST_SILENCES && !self.0.contains_key(&silenced) {
            return Err(Refusal::TooManySilences);
        }
        self.0.insert(silenced, silencing);
        Ok(())
    }

    pub(crate) fn remove(&mut self, notification: &Notification) -> Result<(), Refusal> {
        self.0.remove(&Silenced::by(notification)).map(drop).ok_or(Refusal::NotSilenced)
    }

    pub(crate) fn end_at(&mut self, now_ms: u64) {
        self.0.retain(|_, silencing| silencing.until_ms > now_ms);
    }

    /// Returns the silences, sorted by end time.
    pub fn all(&self) -> Vec<Silence> {
        let mut all: Vec<Silence> = self.clone().into();
        all.sort_by_key(|silence| silence.silencing.until_ms);
        all
    }

    /// Returns the silences as JSON.
    pub fn state(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// Reads a [`state`](Self::state).
    pub fn from_state(state: &[u8]) -> Result<Self> {
        serde_json::from_slice(state).context("cannot read the silences in the database")
    }
}

impl From<Vec<Silence>> for Silences {
    fn from(all: Vec<Silence>) -> Self {
        Self(all.into_iter().map(|Silence { of, silencing }| (of, silencing)).collect())
    }
}

impl From<Silences> for Vec<Silence> {
    fn from(silences: Silences) -> Self {
        silences.0.into_iter().map(|(of, silencing)| Silence { of, silencing }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Remark;

    fn notification(view: &str, host: &str) -> Notification {
        let host = host.parse().unwrap();
        Notification { view: view.to_owned(), host, ..Notification::sample() }
    }

    fn until(until_ms: u64) -> Silencing {
        let remark = Remark { by: "ann".to_owned(), at_ms: 1, text: "known".to_owned() };
        Silencing { remark, until_ms, id: Notification::sample().id }
    }

    #[test]
    fn a_silence_is_of_one_host_in_its_view() {
        let mut silences = Silences::default();
        silences.add(&notification("in", "192.0.2.7"), until(10)).unwrap();
        silences.add(&notification("in", "192.0.2.7"), until(20)).unwrap();
        let end = |silences: &Silences, view, host| {
            silences.of(&notification(view, host)).map(|silencing| silencing.until_ms)
        };
        for (view, host, expected) in
            [("in", "192.0.2.7", Some(20)), ("in", "192.0.2.8", None), ("out", "192.0.2.7", None)]
        {
            assert_eq!(end(&silences, view, host), expected, "{host} in view {view}");
        }
        let restored = Silences::from_state(&silences.state().unwrap()).unwrap();
        assert_eq!(restored, silences);
        silences.end_at(19);
        assert_eq!(end(&silences, "in", "192.0.2.7"), Some(20));
        silences.end_at(20);
        assert_eq!(silences, Silences::default());
        let another = notification("in", "192.0.2.7");
        assert_eq!(silences.remove(&another), Err(Refusal::NotSilenced));
    }

    #[test]
    fn the_number_of_silences_is_bounded() {
        let mut silences = Silences::default();
        for number in 0..MOST_SILENCES {
            let host = format!("10.0.{}.{}", number >> 8, number & 255);
            silences.add(&notification("in", &host), until(10)).unwrap();
        }
        let another = notification("in", "192.0.2.7");
        assert_eq!(silences.add(&another, until(10)), Err(Refusal::TooManySilences));
        silences.add(&notification("in", "10.0.0.0"), until(20)).unwrap();
        assert_eq!(silences.all().len(), MOST_SILENCES);
        assert_eq!(silences.all()[MOST_SILENCES - 1].silencing.until_ms, 20);
    }

    #[test]
    fn a_silence_as_json_names_what_is_silenced_until_when_by_whom_and_why() {
        let mut silences = Silences::default();
        silences.add(&notification("in", "192.0.2.7"), until(10)).unwrap();
        let expected = serde_json::json!([
            { "view": "in", "host": "192.0.2.7", "by": "ann", "at_ms": 1, "text": "known", "until_ms": 10, "id": Notification::sample().id }
        ]);
        assert_eq!(serde_json::to_value(silences.all()).unwrap(), expected);
    }
}

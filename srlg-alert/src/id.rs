//! The name of an alert, which is the same after a restart.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The id of an alert: a hash of its subject, its rule and its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct AlertId(u64);

impl AlertId {
    /// FNV-1a of the texts, which is the same on every machine and in every version.
    pub(crate) fn of(texts: &[&str], start_ms: u64) -> Self {
        let bytes =
            texts.iter().flat_map(|text| text.bytes().chain([0])).chain(start_ms.to_le_bytes());
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }
}

/// 16 digits of base 16.
impl fmt::Display for AlertId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for AlertId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_id = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_id);
        number.map(Self).ok_or("an alert's id is 16 digits of base 16")
    }
}

impl From<AlertId> for String {
    fn from(id: AlertId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for AlertId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::AlertId;

    #[test]
    fn ids_are_stable_and_tell_everything_apart() {
        let id = AlertId::of(&["fan-in", "default", "192.0.2.7"], 1_700_000_000_000);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id, AlertId::of(&["fan-in", "default", "192.0.2.7"], 1_700_000_000_000));
        for (texts, start) in [
            (["fan-in", "default", "192.0.2.7"], 1_700_000_000_001),
            (["fan-in", "default", "192.0.2.8"], 1_700_000_000_000),
            (["fan-in", "default1", "92.0.2.7"], 1_700_000_000_000),
            (["fan-out", "default", "192.0.2.7"], 1_700_000_000_000),
        ] {
            assert_ne!(AlertId::of(&texts, start), id);
        }
        for text in ["", "123", "+123456789abcdef", "0123456789abcdeg"] {
            assert!(text.parse::<AlertId>().is_err(), "{text}");
        }
    }
}

//! How a [`Config`] is written in JSON: its fields by their names, the seed in hexadecimal.
//!
//! Shape: mirrors of the library's types, which serde keeps in step: a field that is missing here
//! does not compile. Invariant: every field is in the file. None has a default, which could
//! change with a version while the nodes of a network run different ones.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use srlg_host::{Config, Hash, RsraSizes, Scheme};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Config", deny_unknown_fields)]
pub(super) struct ConfigForm {
    threshold: u32,
    window: u32,
    #[serde(with = "HashForm")]
    hash: Hash,
    /// Numbers of JSON are exact to 53 bits only, with many readers.
    #[serde(with = "hexadecimal")]
    seed: u64,
    #[serde(with = "SchemeForm")]
    scheme: Scheme,
    linear_width: u32,
    candidate_limit: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Hash", rename_all = "kebab-case")]
enum HashForm {
    Murmur,
    #[serde(rename = "half-sip-1-3")]
    HalfSip13,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Scheme", rename_all = "kebab-case", deny_unknown_fields)]
enum SchemeForm {
    Paper {
        #[serde(with = "RsraForm")]
        finder: RsraSizes,
        rows: u32,
        columns: u32,
        stride: u32,
    },
    Tagged {
        cell_bits: u32,
        lines: u32,
        tags: u32,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RsraSizes", deny_unknown_fields)]
struct RsraForm {
    rows: u32,
    column_bits: u32,
    width: u32,
    bit_stride: u32,
    hot_limit: u32,
}

mod hexadecimal {
    use super::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(seed: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{seed:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        // The seed is a secret: no message repeats what stands there.
        let wrong = || de::Error::custom("the seed is 16 hexadecimal digits");
        let seed = u64::from_str_radix(&text, 16).ok();
        seed.filter(|_| digits).ok_or_else(wrong)
    }
}

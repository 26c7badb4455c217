//! Serialisation of a [`Config`] that includes the seed.
//!
//! A field with the attribute `#[serde(with = "srlg::config::with_seed")]` is written with all fields of the
//! configuration, and each of them is needed to read it. The seed is a string of 16 hexadecimal digits. Keep the result
//! secret if the seed is.
//!
//! ```
//! use srlg::Config;
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Node {
//!     #[serde(with = "srlg::config::with_seed")]
//!     sizes: Config,
//! }
//!
//! let node = Node { sizes: Config { seed: 7, ..Config::default() } };
//! let text = serde_json::to_string(&node)?;
//! assert_eq!(serde_json::from_str::<Node>(&text)?.sizes, node.sizes);
//! assert!(!serde_json::to_string(&node.sizes)?.contains("seed"));
//! # Ok::<(), serde_json::Error>(())
//! ```

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Config, Scheme, seed};
use crate::hash::HashFamily;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WithSeed {
    scheme: Scheme,
    threshold: u32,
    window: u32,
    linear_width: u32,
    share: u32,
    candidate_limit: u32,
    hash: HashFamily,
    #[serde(with = "seed")]
    seed: u64,
}

/// Serialises `config` with its seed.
///
/// # Errors
/// Returns the errors of the serializer.
pub fn serialize<S: Serializer>(config: &Config, to: S) -> Result<S::Ok, S::Error> {
    let &Config { scheme, threshold, window, linear_width, share, candidate_limit, hash, seed } =
        config;
    WithSeed { scheme, threshold, window, linear_width, share, candidate_limit, hash, seed }
        .serialize(to)
}

/// Deserialises a configuration with its seed.
///
/// # Errors
/// Returns the errors of the deserializer, also if a field is missing.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Config, D::Error> {
    let WithSeed { scheme, threshold, window, linear_width, share, candidate_limit, hash, seed } =
        WithSeed::deserialize(from)?;
    Ok(Config { scheme, threshold, window, linear_width, share, candidate_limit, hash, seed })
}

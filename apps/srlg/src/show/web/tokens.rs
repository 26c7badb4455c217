//! The tokens by which people act.
//!
//! Shape: a file with a line for each person, the name and the token. It is read for each act, so that a token that is removed
//! from the file is refused at once.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use ring::digest;

use crate::network::read_secret;

/// The least characters of a token.
const LEAST: usize = 32;

/// The tokens of a file.
pub(crate) struct Tokens(Vec<Token>);

/// The token of a person.
struct Token {
    name: String,
    hash: digest::Digest,
}

impl Tokens {
    /// Reads the tokens in the file `path`, which others than its user and group may not read.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Self::parse(&read_secret(path)?).with_context(|| format!("in {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut tokens = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let words: Vec<&str> = text.split_whitespace().collect();
            if words.is_empty() || words[0].starts_with('#') {
                continue;
            }
            ensure!(
                words.len() == 2,
                "line {line} has {} words: give a name and a token",
                words.len()
            );
            ensure!(
                words[1].len() >= LEAST,
                "the token of line {line} has {} characters: give at least {LEAST}, as by `openssl rand -hex 32`",
                words[1].len()
            );
            tokens.push(Token { name: words[0].to_owned(), hash: hash(words[1]) });
        }
        ensure!(!tokens.is_empty(), "there is no token: give a line with a name and a token");
        Ok(Self(tokens))
    }

    /// Returns the name of the person who has `token`.
    pub(crate) fn name(&self, token: &str) -> Option<&str> {
        let hash = hash(token);
        // How long a comparison takes says something of the hashes alone.
        let found = self.0.iter().find(|it| it.hash.as_ref() == hash.as_ref());
        found.map(|it| it.name.as_str())
    }
}

fn hash(token: &str) -> digest::Digest {
    digest::digest(&digest::SHA256, token.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::Tokens;

    #[test]
    fn people_are_known_by_their_tokens_alone() {
        let (ann, bob) = ("a".repeat(32), "b".repeat(40));
        let tokens = Tokens::parse(&format!("# people\nann {ann}\n\n  bob\t{bob}\n")).unwrap();
        assert_eq!(tokens.name(&ann), Some("ann"));
        assert_eq!(tokens.name(&bob), Some("bob"));
        for other in ["", "ann", "a", &"a".repeat(33), &bob[1..]] {
            assert_eq!(tokens.name(other), None, "{other}");
        }
    }

    #[test]
    fn files_without_usable_tokens_are_refused() {
        for (text, word) in [
            ("", "no token"),
            ("# ann\n", "no token"),
            ("ann", "1 words"),
            ("ann short", "5 characters"),
            (&format!("ann\nbob {}", "b".repeat(32)), "line 1"),
            (&format!("ann {} x", "b".repeat(32)), "3 words"),
        ] {
            let error = Tokens::parse(text).err().unwrap().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}

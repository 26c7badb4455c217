//! Tokens of the users who may act on incidents.
//!
//! A token file has one line per user, which contains a name and a token. The file is read for each action, so a
//! removed token is rejected at once.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use ring::digest;

use srlg_input::credentials::read_secret;

/// Minimum length of a token, in bytes.
const LEAST: usize = 32;

pub struct Tokens(Vec<Token>);

struct Token {
    name: String,
    hash: digest::Digest,
}

impl Tokens {
    /// Reads a token file. Returns an error if users other than its owner and group have any permissions for it.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&read_secret(path)?)
            .with_context(|| format!("cannot read the token file {}", path.display()))
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
                "line {line}: must be a name and a token, got {} words",
                words.len()
            );
            ensure!(
                words[1].len() >= LEAST,
                "line {line}: the token must have at least {LEAST} characters, got {}; create one with `openssl rand -hex 32`",
                words[1].len()
            );
            tokens.push(Token { name: words[0].to_owned(), hash: hash(words[1]) });
        }
        ensure!(!tokens.is_empty(), "no token found; add a line with a name and a token");
        Ok(Self(tokens))
    }

    /// Returns the name of the owner of `token`, or `None` if the token is unknown.
    pub(crate) fn name(&self, token: &str) -> Option<&str> {
        let hash = hash(token);
        // Hashes are compared, so the duration of the comparison reveals nothing about the tokens.
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
            ("ann", "got 1 words"),
            ("ann short", "got 5;"),
            (&format!("ann\nbob {}", "b".repeat(32)), "line 1"),
            (&format!("ann {} x", "b".repeat(32)), "got 3 words"),
        ] {
            let error = Tokens::parse(text).err().unwrap().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}

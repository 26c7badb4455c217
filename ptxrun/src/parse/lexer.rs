//! [`Cursor`], which reads the tokens of a text one after the other.

use std::fmt;

use super::error::{Cause, ParseError};

/// A token of PTX.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, a directive, an opcode, or a number with a decimal point.
    Word(String),
    Number(i128),
    Text(String),
    Sign(char),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Sign(sign) => write!(f, "{sign:?}"),
        }
    }
}

/// Position in the tokens of a text.
pub(super) struct Cursor {
    tokens: Vec<(Token, u32)>,
    at: usize,
}

impl Cursor {
    /// Returns the start of `text`.
    pub(super) fn new(text: &str) -> Result<Self, ParseError> {
        let mut tokens = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split_once("//").map_or(line, |(code, _)| code);
            let tokens_of_line = Letters { rest: code };
            for token in tokens_of_line {
                tokens.push((token.map_err(|cause| cause.in_line(number))?, number));
            }
        }
        Ok(Self { tokens, at: 0 })
    }

    /// Returns the line of the next token, or of the last one at the end of the text.
    pub(super) fn line(&self) -> u32 {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(1, |&(_, line)| line)
    }

    /// Returns the next token without moving on, or `None` at the end of the text.
    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    /// Moves on by one token and returns it with its line.
    pub(super) fn next(&mut self) -> Result<(Token, u32), ParseError> {
        let next = self.tokens.get(self.at).cloned();
        self.at += 1;
        next.ok_or_else(|| Cause::UnexpectedEnd.in_line(self.line()))
    }

    /// Moves on if the next token is `sign`, and returns whether it is.
    pub(super) fn takes(&mut self, sign: char) -> bool {
        let is = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is);
        is
    }

    /// Reads `sign`.
    pub(super) fn sign(&mut self, sign: char) -> Result<(), ParseError> {
        match self.next()? {
            (Token::Sign(found), _) if found == sign => Ok(()),
            (found, line) => Err(unexpected(&format!("{sign:?}"), &found, line)),
        }
    }

    /// Reads any word.
    pub(super) fn word(&mut self) -> Result<String, ParseError> {
        match self.next()? {
            (Token::Word(word), _) => Ok(word),
            (found, line) => Err(unexpected("a word", &found, line)),
        }
    }

    /// Reads `keyword`.
    pub(super) fn keyword(&mut self, keyword: &str) -> Result<(), ParseError> {
        match self.next()? {
            (Token::Word(word), _) if word == keyword => Ok(()),
            (found, line) => Err(unexpected(keyword, &found, line)),
        }
    }

    /// Reads a number that fits into a `T`. Errors name the number by its meaning, `quantity`.
    pub(super) fn number<T: TryFrom<i128>>(
        &mut self,
        quantity: &'static str,
    ) -> Result<T, ParseError> {
        match self.next()? {
            (Token::Number(value), line) => {
                let out_of_range = |_| Cause::OutOfRange { quantity, value }.in_line(line);
                T::try_from(value).map_err(out_of_range)
            }
            (found, line) => Err(unexpected("a number", &found, line)),
        }
    }
}

/// Returns the error that `found` is in `line` where `expected` is required.
pub(super) fn unexpected(expected: &str, found: &Token, line: u32) -> ParseError {
    let (expected, found) = (expected.to_owned(), found.to_string());
    Cause::Unexpected { expected, found }.in_line(line)
}

/// Iterator over the tokens of a line without comments.
struct Letters<'t> {
    rest: &'t str,
}

impl Letters<'_> {
    /// Removes the first `bytes` bytes, and returns them.
    fn take(&mut self, bytes: usize) -> &str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// Removes letters as long as `belongs` accepts them, and returns them. The first `least` bytes always belong.
    fn take_while(&mut self, least: usize, belongs: impl Fn(char) -> bool) -> &str {
        let end = self.rest[least..].find(|letter| !belongs(letter));
        self.take(end.map_or(self.rest.len(), |end| least + end))
    }

    fn token(&mut self, first: char) -> Result<Token, Cause> {
        let second = self.rest[first.len_utf8()..].chars().next();
        if first.is_ascii_digit() || first == '-' && second.is_some_and(|c| c.is_ascii_digit()) {
            return Ok(number(self.take_while(1, |c| c.is_ascii_alphanumeric() || c == '.')));
        }
        if is_of_word(first) {
            return Ok(Token::Word(self.take_while(1, is_of_word).to_owned()));
        }
        if first == '"' {
            let end = self.rest[1..].find('"').ok_or(Cause::UnclosedString)?;
            return Ok(Token::Text(self.take(end + 2)[1..=end].to_owned()));
        }
        if ",;:{}[]()@!<>+".contains(first) {
            self.take(1);
            return Ok(Token::Sign(first));
        }
        Err(Cause::UnknownCharacter(first))
    }
}

impl Iterator for Letters<'_> {
    type Item = Result<Token, Cause>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next()?;
        Some(self.token(first))
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_.$%".contains(letter)
}

/// Returns a number, or a word if the text is not an integer. The version of PTX, such as 6.0, is such a word.
fn number(text: &str) -> Token {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    match value {
        Ok(value) => Token::Number(if negative { -value } else { value }),
        Err(_) => Token::Word(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_words_numbers_strings_and_signs() {
        let mut cursor = Cursor::new("@%p1 .x \"a b\" // not this\n[%rd0+-0x10] 6.0").unwrap();
        let word = |word: &str| Token::Word(word.to_owned());
        let expected = [
            (Token::Sign('@'), 1),
            (word("%p1"), 1),
            (word(".x"), 1),
            (Token::Text("a b".to_owned()), 1),
            (Token::Sign('['), 2),
            (word("%rd0"), 2),
            (Token::Sign('+'), 2),
            (Token::Number(-16), 2),
            (Token::Sign(']'), 2),
            (word("6.0"), 2),
        ];
        for token in expected {
            assert_eq!(cursor.next().unwrap(), token);
        }
        assert_eq!(cursor.next().unwrap_err(), Cause::UnexpectedEnd.in_line(2));
    }

    #[test]
    fn unknown_letters_are_rejected() {
        let error = |text| Cursor::new(text).err().unwrap();
        assert_eq!(error("a\nb é"), Cause::UnknownCharacter('é').in_line(2));
        assert_eq!(error("\"a"), Cause::UnclosedString.in_line(1));
        assert_eq!(error("a - b"), Cause::UnknownCharacter('-').in_line(1));
    }
}

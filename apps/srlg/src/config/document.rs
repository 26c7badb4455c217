//! Deserialisation of TOML tables into types. All problems are reported with their line numbers.

use std::fmt::{self, Display};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue, Error, ValueDeserializer};

type Key<'i> = Spanned<DeString<'i>>;
pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// The key whose value selects the enum variant of a table.
const KIND: &str = "type";

/// A function that returns a hint about the unknown key with a given name and value, or `None`.
pub(super) type Hint<'a> = &'a dyn Fn(&str, &Value<'_>) -> Option<String>;

/// Deserialises `table` as a `T`. Each invalid part is omitted and adds a problem to `problems`. Returns the default
/// value if the valid parts do not form a `T`. If `hint` returns a hint about an unknown key, the problem contains the
/// hint.
pub(super) fn read<T: DeserializeOwned + Default>(
    table: DeTable<'_>,
    hint: Hint<'_>,
    problems: &mut Problems,
) -> T {
    let table = Spanned::new(0..0, DeValue::Table(table));
    let key = Spanned::new(0..0, DeString::default());
    let right = keep_right::<T>(table, &|table| table, &key, hint, problems);
    // Parts that are valid individually are also valid together.
    right.and_then(|table| deserialize(table).ok()).unwrap_or_default()
}

pub(super) fn deserialize<T: DeserializeOwned>(value: Value<'_>) -> Result<T, Error> {
    T::deserialize(ValueDeserializer::from(value))
}

/// Returns `value` without its invalid parts, or `None` if `value` itself is invalid.
///
/// `document` returns a document that contains only the given value and the keys that select its variant. A value is
/// valid if its document can be deserialised as a `T`. Problems name `key`, the key of the value.
fn keep_right<'i, T: DeserializeOwned>(
    value: Value<'i>,
    document: &dyn Fn(Value<'i>) -> Value<'i>,
    key: &Key<'i>,
    hint: Hint<'_>,
    problems: &mut Problems,
) -> Option<Value<'i>> {
    let read = |value| deserialize::<T>(document(value));
    let Err(error) = read(value.clone()) else { return Some(value) };
    let span = value.span();
    let kind = value.get_ref().get(KIND).map(Spanned::span);
    let at = |inner| Spanned::new(span.clone(), inner);
    let table = |keys: DeTable<'i>| at(DeValue::Table(keys));
    let array = |values: Vec<Value<'i>>| {
        let mut array = DeArray::new();
        values.into_iter().for_each(|value| array.push(value));
        at(DeValue::Array(array))
    };
    match value.clone().into_inner() {
        DeValue::Table(keys) if read(table(kind_of(&keys))).is_ok() => {
            let kind = kind_of(&keys);
            let keys = keys.into_iter().filter_map(|(key, value)| {
                let one = |value| {
                    let mut keys = kind.clone();
                    keys.insert(key.clone(), value);
                    document(table(keys))
                };
                let value = keep_right::<T>(value, &one, &key, hint, problems)?;
                Some((key.clone(), value))
            });
            Some(table(keys.collect()))
        }
        DeValue::Array(values) if read(array(Vec::new())).is_ok() => {
            let values = values.iter().cloned().filter_map(|value| {
                let one = |value| document(array(vec![value]));
                keep_right::<T>(value, &one, key, hint, problems)
            });
            Some(array(values.collect()))
        }
        _ => {
            // The message already contains the name of an unknown key.
            let is_unknown = error.message().starts_with("unknown field");
            let (key, message) = (key.get_ref(), in_terms_of_toml(error.message()));
            let text = match is_unknown.then(|| hint(key, &value)) {
                Some(Some(hint)) => format!("unknown key `{key}`; {hint}"),
                Some(None) => message,
                None => format!("{key}: {message}"),
            };
            let kind = kind.filter(|_| error.message().starts_with("unknown variant"));
            problems.add(kind.unwrap_or(span), text);
            None
        }
    }
}

/// Replaces terms of Rust and serde in an error `message` with terms of configuration files.
fn in_terms_of_toml(message: &str) -> String {
    const TERMS: [(&str, &str); 7] = [
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
        ("unknown variant", "unknown value"),
        ("invalid type: ", "invalid value: "),
        ("invalid value: map", "invalid value: table"),
        ("invalid value: sequence", "invalid value: list"),
        (
            "invalid socket address syntax",
            "must be ADDRESS:PORT, such as 127.0.0.1:8462 or [::]:2055",
        ),
    ];
    let message =
        TERMS.iter().fold(message.to_owned(), |it, (rust, toml)| it.replacen(rust, toml, 1));
    let Some((value, expected)) = message.rsplit_once(", expected ") else { return message };
    let expected = match expected {
        "a sequence" => "a list (`[...]`, or `[[NAME]]` for tables)",
        "a map" => "a table",
        "a duration" => "a time such as 60s or 1h",
        "socket address" => "ADDRESS:PORT in quotes",
        "u8" => "a whole number up to 255",
        "u16" => "a whole number up to 65535",
        "u32" => "a whole number up to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "f64" => "a number",
        other => other,
    };
    format!("{value}, expected {expected}")
}

/// Returns a table that contains only the entry of `keys` that selects the variant, if there is one.
fn kind_of<'i>(keys: &DeTable<'i>) -> DeTable<'i> {
    let kind = keys.iter().filter(|(key, _)| &**key.get_ref() == KIND);
    kind.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Key of a list that contains a program and its arguments. An argument may be an empty string.
const COMMAND: &str = "command";

/// Adds a problem for each empty list or string in the `value` of `key`. An empty value would mean the same as a
/// missing key.
pub(super) fn check_empty(key: &str, value: &Value<'_>, problems: &mut Problems) {
    let is_empty = match value.get_ref() {
        DeValue::Table(keys) => {
            keys.iter().for_each(|(key, value)| check_empty(key.get_ref(), value, problems));
            false
        }
        DeValue::Array(values) => {
            if key != COMMAND {
                values.iter().for_each(|value| check_empty(key, value, problems));
            }
            values.is_empty()
        }
        DeValue::String(text) => text.is_empty(),
        _ => false,
    };
    // A required key may already have a problem.
    if is_empty && !problems.list.iter().any(|problem| problem.span == value.span()) {
        problems
            .add(value.span(), format!("{key}: must not be empty; set a value or remove the key"));
    }
}

/// Deserialises a string and parses it.
pub(super) fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    deserializer: D,
) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// Span for problems that have no line, such as those of command-line options.
pub(super) const NO_LINE: Range<usize> = usize::MAX..usize::MAX;

/// The problems found in a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    path: Option<PathBuf>,
    list: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    span: Range<usize>,
    /// Line number, starting at 1; 0 if unknown.
    line: usize,
    text: String,
    is_syntax: bool,
}

impl Problems {
    pub(super) fn add(&mut self, span: Range<usize>, text: impl Into<String>) {
        self.push(Problem { span, line: 0, text: text.into(), is_syntax: false });
    }

    pub(super) fn add_syntax(&mut self, error: &Error) {
        let (span, text) = (error.span().unwrap_or(0..0), error.message().to_owned());
        self.push(Problem { span, line: 0, text, is_syntax: true });
    }

    fn push(&mut self, problem: Problem) {
        // The settings of a rule are checked once for each of its windows.
        if !self.list.contains(&problem) {
            self.list.push(problem);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether there are no problems.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Determines the line number of each problem and sorts the problems by line. If a line has a syntax error, its
    /// other problems are removed. If a list is not closed, only the first syntax error remains, because the rest of the
    /// file is read as part of the list.
    pub(super) fn with_lines(mut self, text: &str) -> Self {
        for problem in self.list.iter_mut().filter(|problem| problem.span != NO_LINE) {
            let before = text.as_bytes().get(..problem.span.start).unwrap_or_default();
            problem.line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        }
        let syntax = self.list.iter().filter(|problem| problem.is_syntax);
        let syntax: Vec<usize> = syntax.map(|problem| problem.line).collect();
        self.list.retain(|problem| problem.is_syntax || !syntax.contains(&problem.line));
        self.list.sort_by_key(|problem| problem.line);
        let is_unclosed = |it: &Problem| it.is_syntax && it.text.starts_with("unclosed array,");
        if self.list.iter().any(is_unclosed) {
            self.list.retain(|problem| problem.is_syntax);
            self.list.truncate(1);
        }
        self
    }

    pub(crate) fn of(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }
}

/// Formats one line per problem.
impl Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Problem { line, text, .. }) in self.list.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            match &self.path {
                Some(path) if *line > 0 => write!(f, "{}:{line}: {text}", path.display())?,
                None if *line > 0 => write!(f, "line {line}: {text}")?,
                _ => f.write_str(text)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

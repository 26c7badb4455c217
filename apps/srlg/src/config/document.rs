//! Tables of TOML, read into types, of which everything that is wrong is told with its line.

use std::fmt::{self, Display};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue, Error, ValueDeserializer};

type Key<'i> = Spanned<DeString<'i>>;
type Value<'i> = Spanned<DeValue<'i>>;

/// Reads `table` as a `T`. Parts that are wrong are problems, and are left out as far as `T` can be without them.
pub(super) fn read<T: DeserializeOwned + Default>(
    table: DeTable<'_>,
    problems: &mut Problems,
) -> T {
    let table = Spanned::new(0..0, DeValue::Table(table));
    let key = Spanned::new(0..0, DeString::default());
    let right = keep_right::<T>(table, &|table| table, &key, problems);
    // What is right by itself is right together.
    right.and_then(|table| deserialize(table).ok()).unwrap_or_default()
}

fn deserialize<T: DeserializeOwned>(value: Value<'_>) -> Result<T, Error> {
    T::deserialize(ValueDeserializer::from(value))
}

/// The parts of `value` with which a `T` can be read, if there are any. `document` makes a document without anything else, and
/// `key` is the one of the value.
fn keep_right<'i, T: DeserializeOwned>(
    value: Value<'i>,
    document: &dyn Fn(Value<'i>) -> Value<'i>,
    key: &Key<'i>,
    problems: &mut Problems,
) -> Option<Value<'i>> {
    let read = |value| deserialize::<T>(document(value));
    let Err(error) = read(value.clone()) else { return Some(value) };
    let span = value.span();
    let at = |inner| Spanned::new(span.clone(), inner);
    let table = |keys: DeTable<'i>| at(DeValue::Table(keys));
    let array = |values: Vec<Value<'i>>| {
        let mut array = DeArray::new();
        values.into_iter().for_each(|value| array.push(value));
        at(DeValue::Array(array))
    };
    match value.into_inner() {
        DeValue::Table(keys) if read(table(DeTable::new())).is_ok() => {
            let keys = keys.into_iter().filter_map(|(key, value)| {
                let one = |value| document(table([(key.clone(), value)].into_iter().collect()));
                let value = keep_right::<T>(value, &one, &key, problems)?;
                Some((key.clone(), value))
            });
            Some(table(keys.collect()))
        }
        DeValue::Array(values) if read(array(Vec::new())).is_ok() => {
            let values = values.iter().cloned().filter_map(|value| {
                keep_right::<T>(value, &|value| document(array(vec![value])), key, problems)
            });
            Some(array(values.collect()))
        }
        _ => {
            // The message names a key that is unknown.
            let is_unknown = error.span() == Some(key.span());
            let key = if is_unknown { String::new() } else { format!("{}: ", key.get_ref()) };
            problems.add(span, format!("{key}{}", error.message()));
            None
        }
    }
}

/// Deserializes a text that names a value.
pub(super) fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    deserializer: D,
) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// Everything that is wrong with a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    path: Option<PathBuf>,
    list: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    span: Range<usize>,
    /// From 1; 0 is unknown.
    line: usize,
    text: String,
}

impl Problems {
    pub(super) fn add(&mut self, span: Range<usize>, text: impl Into<String>) {
        self.list.push(Problem { span, line: 0, text: text.into() });
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn of_toml(text: &str, error: &Error) -> Self {
        let mut problems = Self::default();
        problems.add(error.span().unwrap_or(0..0), error.message().to_owned());
        problems.with_lines(text)
    }

    /// Counts lines of `text`, in their order.
    pub(super) fn with_lines(mut self, text: &str) -> Self {
        for problem in &mut self.list {
            let before = text.as_bytes().get(..problem.span.start).unwrap_or_default();
            problem.line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        }
        self.list.sort_by_key(|problem| problem.line);
        self
    }

    pub(crate) fn of(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }
}

/// A line each.
impl Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Problem { line, text, .. }) in self.list.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            match &self.path {
                Some(path) => write!(f, "{}:{line}: {text}", path.display())?,
                None if *line > 0 => write!(f, "line {line}: {text}")?,
                None => f.write_str(text)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

//! What is wrong with a configuration, with the lines.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

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

    pub(super) fn of_toml(text: &str, error: &toml::de::Error) -> Self {
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

    pub(super) fn of(mut self, path: &Path) -> Self {
        self.path = Some(path.to_owned());
        self
    }
}

/// A line each.
impl fmt::Display for Problems {
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

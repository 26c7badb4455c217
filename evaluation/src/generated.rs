//! Documents of which a command writes parts, and people the rest.
//!
//! Shape: a [`Document`] is opened before the work, so that a broken one fails at once;
//! [`Document::fill`] replaces what lies between the marks of a section. A document that
//! does not exist begins as a title and empty sections. Invariant: nothing outside of the
//! marks ever changes, and equal contents give equal bytes.

use crate::output::Output;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The line before a section begins so and goes on with its name.
const BEGIN: &str = "<!-- table: ";
/// The line after a section.
const END: &str = "<!-- end -->\n";

/// A Markdown file with sections.
pub(crate) struct Document {
    path: PathBuf,
    text: String,
}

impl Document {
    /// Reads `path`, or begins it, and checks that it has the `sections`, each once.
    pub(crate) fn open(path: PathBuf, title: &str, sections: &[&str]) -> Result<Self> {
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => skeleton(title, sections),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let document = Self { path, text };
        sections.iter().try_for_each(|section| document.split(section).map(drop))?;
        Ok(document)
    }

    /// Makes `content` the section's.
    pub(crate) fn fill(&mut self, section: &str, content: &str) -> Result<()> {
        let (before, after) = self.split(section)?;
        self.text = format!("{before}\n{}\n\n{after}", content.trim());
        Ok(())
    }

    /// Writes the file.
    pub(crate) fn write(&self) -> Result<()> {
        write(&self.path, &self.text)
    }

    /// The text up to the section's begin mark and from its end mark, both included.
    fn split(&self, section: &str) -> Result<(&str, &str)> {
        let (path, begin) = (self.path.display(), begin(section));
        let mut parts = self.text.split(&begin);
        let inside = match (parts.next(), parts.next(), parts.next()) {
            (Some(before), Some(_), None) => before.len() + begin.len(),
            _ => bail!("{path} needs the line {} once", begin.trim_end()),
        };
        let rest = &self.text[inside..];
        let length = rest.find(END).with_context(|| {
            format!("{path} has no line {} after {}", END.trim_end(), begin.trim_end())
        })?;
        let next = rest.find(BEGIN).unwrap_or(rest.len());
        ensure!(length < next, "{path} has no line {} before the next section", END.trim_end());
        Ok((&self.text[..inside], &rest[length..]))
    }
}

/// Writes a whole file, which appears when it is complete.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let mut output = Output::create(path)?;
    output.write_all(text.as_bytes()).context("cannot write the output")?;
    output.finish()
}

fn skeleton(title: &str, sections: &[&str]) -> String {
    let empty = |section: &&str| format!("\n{}{END}", begin(section));
    format!("# {title}\n{}", sections.iter().map(empty).collect::<String>())
}

fn begin(section: &str) -> String {
    format!("{BEGIN}{section} -->\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document { path: "it.md".into(), text: text.into() }
    }

    #[test]
    fn prose_stays_and_sections_are_replaced() {
        let mut it = document(&(skeleton("It", &["one", "two"]) + "\nprose of \"two\"\n"));
        it.fill("one", "old\n").unwrap();
        it.fill("two", "kept").unwrap();
        it.fill("one", "new").unwrap();
        let expected = "# It\n\n<!-- table: one -->\n\nnew\n\n<!-- end -->\n\n\
            <!-- table: two -->\n\nkept\n\n<!-- end -->\n\nprose of \"two\"\n";
        assert_eq!(it.text, expected);
        it.fill("one", "new").unwrap();
        assert_eq!(it.text, expected);
    }

    #[test]
    fn a_document_without_its_marks_is_refused() {
        let (one, two) = (begin("one"), begin("two"));
        let whole = format!("{one}{END}");
        let broken =
            ["", &one, END, &format!("{END}{one}"), &whole.repeat(2), &format!("{one}{two}{END}")];
        for text in broken {
            let error = document(text).fill("one", "").unwrap_err().to_string();
            assert!(error.starts_with("it.md ") && error.contains("<!-- "), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}

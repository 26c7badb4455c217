//! Pages of docs/ of which commands write parts, and people the rest.
//!
//! Shape: a [`Page`] is opened before the work, so that one without the places for the
//! results fails at once; [`Page::fill`] replaces what lies between the lines
//! `<!-- table: NAME -->` and `<!-- end -->`. Invariant: nothing else ever changes; the file
//! is the old one or the new one, never a part.

use crate::output::Output;
use anyhow::{Context, Result};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The line after a place.
const END: &str = "<!-- end -->";

/// A Markdown file with places for results.
pub(crate) struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    /// Reads the page, and checks that it has all `places`.
    pub(crate) fn open(path: &Path, places: &[impl AsRef<str>]) -> Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let page = Self { path: path.to_owned(), text };
        places.iter().try_for_each(|place| page.split(place.as_ref()).map(drop))?;
        Ok(page)
    }

    /// The same; a page that does not exist begins as a title and empty `places`.
    pub(crate) fn open_or_begin(
        path: &Path,
        title: &str,
        places: &[impl AsRef<str>],
    ) -> Result<Self> {
        if path.exists() {
            return Self::open(path, places);
        }
        let empty = |place: &_| format!("\n{}\n{END}\n", start(AsRef::as_ref(place)));
        let text = format!("# {title}\n{}", places.iter().map(empty).collect::<String>());
        Ok(Self { path: path.to_owned(), text })
    }

    /// Puts `content` into its place.
    pub(crate) fn fill(&mut self, place: &str, content: &str) -> Result<()> {
        let (before, after) = self.split(place)?;
        self.text = format!("{before}\n{}\n\n{after}", content.trim());
        Ok(())
    }

    /// Writes another file into the folder of the page.
    pub(crate) fn write_beside(&self, file: &str, text: &str) -> Result<()> {
        write(&self.path.with_file_name(file), text)
    }

    /// Writes the file.
    pub(crate) fn write(&self) -> Result<()> {
        write(&self.path, &self.text)
    }

    /// The text up to the line before the place, and from the line after it.
    fn split(&self, place: &str) -> Result<(&str, &str)> {
        let start = start(place);
        let split = || {
            let inside = self.text.find(&format!("{start}\n"))? + start.len() + 1;
            let outside = inside + self.text[inside..].find(END)?;
            Some((&self.text[..inside], &self.text[outside..]))
        };
        split().with_context(|| format!("{} has no lines {start} and {END}", self.path.display()))
    }
}

/// The line before `place`.
fn start(place: &str) -> String {
    format!("<!-- table: {place} -->")
}

/// Writes a whole file, which appears when it is complete.
fn write(path: &Path, text: &str) -> Result<()> {
    let mut output = Output::create(path)?;
    output.write_all(text.as_bytes()).context("cannot write the output")?;
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_stays_and_places_are_replaced() {
        let mut page =
            Page::open_or_begin(Path::new("no such page"), "It", &["one", "two"]).unwrap();
        page.text += "\nprose of \"two\"\n";
        page.fill("one", "old\n").unwrap();
        page.fill("two", "kept").unwrap();
        page.fill("one", "new").unwrap();
        let expected = "# It\n\n<!-- table: one -->\n\nnew\n\n<!-- end -->\n\n\
            <!-- table: two -->\n\nkept\n\n<!-- end -->\n\nprose of \"two\"\n";
        assert_eq!(page.text, expected);
        page.fill("one", "new").unwrap();
        assert_eq!(page.text, expected);
    }

    #[test]
    fn a_page_without_a_place_is_refused() {
        let start = start("one");
        for text in ["", &start, END, &format!("{END}\n{start}\n"), &format!("{start}{END}")] {
            let page = Page { path: "it.md".into(), text: text.into() };
            let error = page.split("one").unwrap_err().to_string();
            assert_eq!(error, "it.md has no lines <!-- table: one --> and <!-- end -->");
        }
    }
}

//! Output of commands: files, pages of docs/, and progress bars.
//!
//! A regular file is first written as `NAME.partial`. It is renamed to `NAME` when it is complete, or removed if the
//! command fails. In a page, commands replace only the text between `<!-- table: NAME -->` and `<!-- end -->`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use tempfile::TempPath;

pub(crate) const UNWRITTEN: &str = "cannot write to standard output";

/// An output file or standard output, with a count of the bytes written. A regular file gets its final name only in
/// [`finish`](Self::finish).
pub(crate) struct Output {
    writer: BufWriter<Box<dyn Write>>,
    written: u64,
    /// The partial file, or `None` for devices, pipes and standard output, which are written directly.
    partial: Option<TempPath>,
    name: PathBuf,
}

impl Output {
    /// Opens `name` for writing. `-` is standard output.
    pub(crate) fn create(name: &Path) -> Result<Self> {
        let is_special = fs::metadata(name).is_ok_and(|metadata| !metadata.is_file());
        let mut partial = OsString::from(name);
        partial.push(".partial");
        let path = if is_special { name.as_os_str() } else { &partial };
        let create = || {
            File::create(path)
                .with_context(|| format!("cannot create {}", Path::new(path).display()))
        };
        let (writer, partial): (Box<dyn Write>, _) = match name == Path::new("-") {
            true => (Box::new(io::stdout()), None),
            false if is_special => (Box::new(create()?), None),
            false => (Box::new(create()?), Some(TempPath::try_from_path(&partial)?)),
        };
        let writer = BufWriter::with_capacity(1 << 18, writer);
        Ok(Self { writer, written: 0, partial, name: name.to_owned() })
    }

    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// Writes buffered bytes and renames the file to its final name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.writer.flush().context("cannot write the output")?;
        let Some(partial) = self.partial else { return Ok(()) };
        let text = format!("cannot rename {} to its final name", partial.display());
        partial.persist(&self.name).map_err(|error| error.error).context(text)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let mut output = Output::create(path)?;
    output.write_all(text.as_bytes()).context("cannot write the output")?;
    output.finish()
}

/// The marker line at the end of a place in a [`Page`].
const END: &str = "<!-- end -->";

/// A Markdown page. Its *places* are the sections between marker lines. Commands fill the places with results.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    text: String,
}

impl Page {
    /// Reads the page and checks that it has all `places`.
    pub(crate) fn open(path: &Path, places: &[impl AsRef<str>]) -> Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let page = Self { path: path.to_owned(), text };
        places.iter().try_for_each(|place| page.split(place.as_ref()).map(drop))?;
        Ok(page)
    }

    /// Opens the page or, if its file does not exist, creates a page with a title and empty `places`.
    pub(crate) fn open_or_start(path: &Path, title: &str, places: &[&str]) -> Result<Self> {
        if path.exists() {
            return Self::open(path, places);
        }
        let empty = |place: &&str| format!("\n{}\n{END}\n", start(place));
        let text = format!("# {title}\n{}", places.iter().map(empty).collect::<String>());
        Ok(Self { path: path.to_owned(), text })
    }

    pub(crate) fn fill(&mut self, place: &str, content: &str) -> Result<()> {
        let (before, after) = self.split(place)?;
        self.text = format!("{before}\n{}\n\n{after}", content.trim());
        Ok(())
    }

    pub(crate) fn write(&self) -> Result<()> {
        write(&self.path, &self.text)
    }

    /// Splits the page around the content of a place. The first part ends with the start marker of the place, and the
    /// second part starts with its end marker.
    fn split(&self, place: &str) -> Result<(&str, &str)> {
        let start = start(place);
        let split = || {
            let inside = self.text.find(&format!("{start}\n"))? + start.len() + 1;
            let outside = inside + self.text[inside..].find(END)?;
            Some((&self.text[..inside], &self.text[outside..]))
        };
        split()
            .with_context(|| format!("{} lacks the lines {start} and {END}", self.path.display()))
    }
}

/// Returns the marker line at the start of `place`.
fn start(place: &str) -> String {
    format!("<!-- table: {place} -->")
}

/// Creates a progress bar of `len` steps on standard error, with the label `what`. If standard error is not a terminal,
/// the bar is not drawn. The bar is cleared when it is dropped, so that error lines are not mixed with it.
pub(crate) fn bar(len: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {bar:40} {human_pos}/{human_len}, {eta} left")
        .expect("the template is valid");
    ProgressBar::new(len)
        .with_style(style)
        .with_message(what.to_owned())
        .with_finish(ProgressFinish::AndClear)
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{InMemoryTerm, ProgressDrawTarget};

    #[test]
    fn prose_stays_and_places_are_replaced() {
        let path = Path::new("no such page");
        let mut page = Page::open_or_start(path, "It", &["one", "two"]).unwrap();
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
            insta::assert_snapshot!("no_place", page.split("one").unwrap_err());
        }
    }

    #[test]
    fn a_progress_bar_shows_its_progress_and_is_erased() {
        let terminal = InMemoryTerm::new(5, 100);
        let bar = bar(2000, "slices");
        bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        bar.inc(1000);
        bar.tick();
        let drawn = terminal.contents();
        assert!(drawn.starts_with("slices") && drawn.contains("1,000/2,000"), "{drawn}");
        drop(bar);
        assert_eq!(terminal.contents(), "");
    }
}

//! A sink that writes JSON lines to a file, which is rotated by size.
//!
//! Invariant: each notification is written as one line exactly once, even if the program is killed. An incomplete last
//! line is removed. Writing continues after the notification in the last line if the database contains that
//! notification. A file that was not written by this sink is not changed.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use srlg_alerts::{AlertId, Status};

use super::{Channel, Failure};
use crate::store::Store;
use srlg_alerts::notification::Notification;

/// Maximum length of a line, in bytes. The search for the last line reads twice this length.
const LINE: u64 = 1 << 16;

/// Size at which a file is rotated, in bytes, and number of rotated files that are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    pub(super) bytes: u64,
    pub(super) keep: u32,
}

pub(super) struct File {
    path: PathBuf,
    rotation: Rotation,
    out: Out,
    /// Number of the last notification in the file.
    last: i64,
}

enum Out {
    /// Standard output, a pipe or a device. It has no last line and is not rotated.
    Stream(Box<dyn Write + Send>),
    /// A regular file and its size in bytes.
    Regular(fs::File, u64),
    /// No file is open, because the file was rotated or could not be written. It is opened again for the next line.
    Closed,
}

impl Drop for Out {
    fn drop(&mut self) {
        // Closing the file does not suffice, because a forked child that has not called exec also has it open. If
        // unlocking fails, the file is still closed.
        if let Self::Regular(file, _) = self {
            let _closed = file.unlock();
        }
    }
}

#[derive(Serialize)]
struct NotificationLine<'a> {
    number: i64,
    #[serde(flatten)]
    notification: &'a Notification,
}

/// The fields of a line that identify its notification.
#[derive(Deserialize)]
struct Mark {
    number: i64,
    id: AlertId,
    status: Status,
}

impl File {
    /// Opens the file at `path`. The notifications of `store` up to number `done` have already been written to it.
    pub(super) fn open(path: &Path, rotation: Rotation, done: i64, store: &Store) -> Result<Self> {
        let path = path.to_owned();
        let mut it = Self { path, rotation, out: Out::Closed, last: done };
        if it.path == Path::new("-") {
            it.out = Out::Stream(Box::new(io::stdout()));
        } else if let Some(mark) = it.reopen()?
            && mark.number > done
            && let Some((_, notification)) = store.after(mark.number - 1, 1)?.first()
            && (notification.id, notification.status) == (mark.id, mark.status)
        {
            it.last = mark.number;
        }
        Ok(it)
    }

    /// Checks that the file at `path`, if it exists, can be read, and that its first and last lines were written by
    /// this sink.
    pub(super) fn check(path: &Path) -> Result<()> {
        if path.is_file() {
            let text = || cannot_append(path);
            let mut file = fs::File::open(path).with_context(text)?;
            last_line(&mut file).with_context(text)?;
        }
        Ok(())
    }

    /// Opens the file, removes an incomplete last line, and returns the mark of the last complete line.
    fn reopen(&mut self) -> Result<Option<Mark>> {
        let path = &self.path;
        let open = fs::File::options().create(true).read(true).append(true).open(path);
        let mut file = open.with_context(|| format!("cannot write to {}", path.display()))?;
        if !file.metadata()?.is_file() {
            self.out = Out::Stream(Box::new(file));
            return Ok(None);
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                bail!(
                    "cannot write to {}: another program uses it; choose another file",
                    path.display()
                )
            }
            // Some file systems do not support locks.
            Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(fs::TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        let read = last_line(&mut file).and_then(|(bytes, mark)| {
            file.set_len(bytes)?;
            Ok((bytes, mark))
        });
        let (bytes, mut mark) = read.with_context(|| cannot_append(path))?;
        if bytes == 0 {
            // The file was just rotated, so the last line is in the previous file.
            mark = fs::File::open(self.former(1))
                .ok()
                .and_then(|mut file| last_line(&mut file).ok()?.1);
        }
        self.out = Out::Regular(file, bytes);
        Ok(mark)
    }

    fn former(&self, number: u32) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
    }

    /// Rotates the file and increments the numbers of the rotated files.
    fn move_away(&self) -> Result<()> {
        for number in (1..self.rotation.keep).rev() {
            let former = self.former(number);
            if former.try_exists()? {
                fs::rename(&former, self.former(number + 1))?;
            }
        }
        if self.rotation.keep == 0 {
            fs::remove_file(&self.path)?;
        } else {
            fs::rename(&self.path, self.former(1))?;
        }
        Ok(())
    }

    fn write(&mut self, mut line: Vec<u8>) -> Result<()> {
        line.push(b'\n');
        if let Out::Regular(_, bytes) = &self.out
            && *bytes >= self.rotation.bytes
        {
            let path = self.path.display();
            self.move_away().with_context(|| format!("cannot rotate {path}"))?;
            self.out = Out::Closed;
        }
        if let Out::Closed = self.out {
            self.reopen()?;
        }
        let written = match &mut self.out {
            Out::Stream(out) => out.write_all(&line).and_then(|()| out.flush()),
            Out::Regular(file, bytes) => {
                *bytes += line.len() as u64;
                // A line is written by one call, so that readers see only whole lines.
                file.write_all(&line)
            }
            Out::Closed => Err(io::Error::other("the file is not open")),
        };
        if written.is_err() && !matches!(self.out, Out::Stream(_)) {
            // The incomplete line is removed when the file is opened again.
            self.out = Out::Closed;
        }
        written.with_context(|| format!("cannot write to {}", self.path.display()))
    }
}

impl Channel for File {
    /// The last line shows which notifications are in the file, so the numbers must ascend.
    fn takes_early(&self) -> bool {
        false
    }

    fn send(&mut self, number: i64, notification: &Notification) -> Result<String, Failure> {
        if number > self.last {
            self.write(serde_json::to_vec(&NotificationLine { number, notification })?)?;
            self.last = number;
        }
        Ok("written".to_owned())
    }
}

fn cannot_append(path: &Path) -> String {
    format!("cannot append to {}", path.display())
}

/// Prefix of the lines that this sink writes: the text before and the text after a number.
const BEGINNING: [&[u8]; 2] = [b"{\"number\":", b",\"id\":\""];

/// Number of bytes to read for [`BEGINNING`], which contains a number of up to 20 digits.
const BEGINNING_BYTES: u64 = 64;

/// Returns whether `line` starts with [`BEGINNING`]. An incomplete line may end within the prefix.
fn is_ours(line: &[u8], is_whole: bool) -> bool {
    let begins =
        |line: &[u8], text: &[u8]| line.starts_with(text) || !is_whole && text.starts_with(line);
    let [before, after] = BEGINNING;
    let rest = line.get(before.len()..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_number = digits > 0 || !is_whole && rest.is_empty();
    begins(line, before) && is_number && begins(&rest[digits..], after)
}

/// Returns the total size of all complete lines, in bytes, and the mark of the last complete line.
fn last_line(file: &mut fs::File) -> Result<(u64, Option<Mark>)> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    (&*file).take(BEGINNING_BYTES).read_to_end(&mut head)?;
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let bytes = file.seek(SeekFrom::End(0))?;
    let from = bytes.saturating_sub(2 * LINE);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let end = tail.iter().rposition(|byte| *byte == b'\n');
    let cut = &tail[end.map_or(0, |end| end + 1)..];
    let last = end.and_then(|end| tail[..end].rsplit(|byte| *byte == b'\n').next());
    // A file that another program wrote must not be changed.
    ensure!(
        is_ours(first, first.len() < head.len())
            && last.map_or(from == 0, |last| is_ours(last, true))
            && is_ours(cut, false),
        "the file was not written by srlg; choose another path"
    );
    let mark = last.and_then(|last| serde_json::from_slice(last).ok());
    Ok((bytes - cut.len() as u64, mark))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::{Channel, File, Rotation, Store};
    use crate::store::tests::notifications;

    #[test]
    fn a_file_of_another_program_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alerts");
        let open = |text: &str| {
            fs::write(&path, text).unwrap();
            let rotation = Rotation { bytes: 1_000, keep: 8 };
            let opened = File::open(&path, rotation, 0, &Store::open(None).unwrap()).is_ok();
            (opened, fs::read_to_string(&path).unwrap())
        };
        let long = "{\"number\":4,\"id\":\"8c\"}\n".repeat(20_000);
        for text in [
            "{\"key\": 1}",
            "{\"number\":5}",
            "{\"number\":5,\"x",
            "{\"number\":,",
            "{\"number\":4,x",
            "secret",
            "a line\n",
            "a line\n{\"num",
            "a line\n{\"number\":4,\"id\":\"8c\"}\n",
            "\n",
            "secret\n\n",
            "{\"number\":4,\"id\":\"8c\"}\n\n",
            "{\"number\":4,\"id\":\"8c\"}\nx",
            "{\"nu\n",
            "{\"number\":5}\n",
            "{\"number\":5\n",
            &format!("a line\n{long}"),
        ] {
            assert_eq!(open(text), (false, text.to_owned()));
        }
        for (text, whole) in [
            ("", ""),
            ("{\"nu", ""),
            ("{\"number\":15", ""),
            ("{\"number\":15,\"id\":\"8c", ""),
            ("{\"number\":4,\"id\":\"8c\"}\n", "{\"number\":4,\"id\":\"8c\"}\n"),
            ("{\"number\":4,\"id\":\"8c\"}\n{\"number\":1,\"i", "{\"number\":4,\"id\":\"8c\"}\n"),
            ("{\"number\":1,\"id\":\"8c\"}\n", "{\"number\":1,\"id\":\"8c\"}\n"),
            (&format!("{long}{{\"nu"), &long),
        ] {
            assert_eq!(open(text), (true, whole.to_owned()));
        }
    }

    #[test]
    fn lines_are_continued_wherever_the_last_one_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alerts");
        let rotation = Rotation { bytes: 1 << 20, keep: 8 };
        let open = || File::open(&path, rotation, 0, &Store::open(None).unwrap()).unwrap();
        let mut file = open();
        file.send(11, &notifications(1)[0]).unwrap();
        file.send(12, &notifications(1)[0]).unwrap();
        drop(file);
        let whole = fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            drop(open());
            let lines = whole[..length].iter().rposition(|byte| *byte == b'\n');
            assert_eq!(fs::read(&path).unwrap(), whole[..lines.map_or(0, |end| end + 1)]);
        }
    }

    #[test]
    fn a_file_that_could_not_be_opened_again_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("place");
        fs::create_dir(&place).unwrap();
        let path = place.join("alerts");
        let rotation = Rotation { bytes: 1, keep: 8 };
        let mut file = File::open(&path, rotation, 0, &Store::open(None).unwrap()).unwrap();
        let notification = &notifications(1)[0];
        file.send(1, notification).unwrap();
        // A folder with the name of the file is created directly after the rotation.
        file.move_away().unwrap();
        file.out = super::Out::Closed;
        fs::create_dir(&path).unwrap();
        assert!(file.send(2, notification).is_err() && file.send(2, notification).is_err());
        fs::remove_dir(&path).unwrap();
        file.send(2, notification).unwrap();
        for (path, number) in [(path, 2), (place.join("alerts.1"), 1)] {
            let line: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            assert_eq!(line["number"], number);
        }
    }
}

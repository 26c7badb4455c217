//! The file that stores the templates and sampling rates of exporters.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;

use crate::error::InputError;
use crate::event::LogLine;
use crate::flow::is_state;

use super::state::ReceiverState;

/// Size of the length field before each decoder's state in a template file, in bytes.
const LENGTH: usize = size_of::<u32>();

const FOREIGN: &str = "the file exists and is not a template file; use another path";

/// Checks that the template file at `path`, if it exists, is readable and does not belong to another program.
///
/// # Errors
/// Returns [`InputError::Templates`] if the file cannot be read or belongs to another program.
pub fn check_templates(path: &Path) -> Result<(), InputError> {
    read_templates(path).map(drop)
}

/// Returns the contents of the file at `path`, if it exists. Returns an error if the file cannot be read or belongs to
/// another program.
fn read_templates(path: &Path) -> Result<Option<Vec<u8>>, InputError> {
    // Reading a FIFO would wait for ever, and a device may have no end.
    let read = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"))
        }
        _ => fs::read(path),
    };
    let error = match read {
        Ok(bytes) if bytes.is_empty() || bytes.get(LENGTH..).is_some_and(is_state) => {
            return Ok(Some(bytes));
        }
        Ok(_) => io::Error::new(ErrorKind::InvalidData, FOREIGN),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => error,
    };
    Err(InputError::Templates { path: path.to_owned(), error })
}

/// Loads the templates from the file at `path`, if it exists, and returns warnings about damage. Returns an error if
/// the file cannot be read or belongs to another program.
pub(super) fn load_templates(
    path: &Path,
    shared: &ReceiverState,
) -> Result<Vec<LogLine>, InputError> {
    let Some(bytes) = read_templates(path)? else { return Ok(Vec::new()) };
    let Some(parts) = parts(&bytes) else {
        let text = format!("template file {} is truncated: its templates are lost", path.display());
        return Ok(vec![LogLine::warning(text)]);
    };
    let mut damages = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let here = at % shared.decoders.len();
        let mut decoder = shared.decoder(here);
        if let Err(damage) = decoder.load(part) {
            damages.push(LogLine::warning(format!("{}: {damage}", path.display())));
        }
        for (exporter, _) in decoder.exporters() {
            shared.assignment.of(exporter.ip(), here);
        }
    }
    Ok(damages)
}

/// Saves the state of all decoders to `path`. For each decoder, the file contains the length of its state as a 32-bit
/// little-endian number, and the state. The file is always complete, because a new file is written and then renamed.
pub(super) fn save_templates(path: &Path, shared: &ReceiverState) -> Result<(), InputError> {
    let mut bytes = Vec::new();
    for at in 0..shared.decoders.len() {
        let part = shared.decoder(at).save();
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend(part);
    }
    write(path, &bytes).map_err(|error| InputError::Templates { path: path.to_owned(), error })
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (new, mut file) = create_beside(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let written = written.and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // The error of the write is returned, and not one of the removal.
        let _left = fs::remove_file(&new);
    }
    written
}

/// Maximum number of names to try for a new file.
const NAMES: u32 = 16;

/// Creates a new file in the folder of `path`. If a name is taken by a file or link, the next name is tried.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 1;
    loop {
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".{}-{number}.new", process::id()));
        match File::create_new(&new) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < NAMES => number += 1,
            created => return created.map(|file| (new.into(), file)),
        }
    }
}

/// Splits the contents of a template file into the states of the decoders. Returns `None` if the file is truncated.
fn parts(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        parts.push(part);
        bytes = rest;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;

    #[cfg(unix)]
    #[test]
    fn a_new_file_takes_no_name_of_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let other = folder.path().join("other");
        fs::write(&other, "of another program").unwrap();
        let of =
            |number: u32| folder.path().join(format!("file.{}-{number}.new", std::process::id()));
        std::os::unix::fs::symlink(&other, of(1)).unwrap();
        fs::copy(&other, of(2)).unwrap();
        super::write(&path, b"templates").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"templates");
        for other in [&other, &of(2)] {
            assert_eq!(fs::read(other).unwrap(), b"of another program");
        }
        assert!(!of(3).exists());
        (3..=super::NAMES).for_each(|number| fs::write(of(number), "").unwrap());
        assert_eq!(super::write(&path, b"").unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_failure_leaves_no_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folder");
        fs::create_dir_all(path.join("full")).unwrap();
        super::write(&path, b"templates").unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

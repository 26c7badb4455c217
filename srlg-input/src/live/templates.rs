//! Templates and sampling rates in a file, while nobody receives.
//!
//! Shape: for each decoder a length of 32 bits, little endian, and the bytes that the decoder saves.
//! Invariant: the file is whole at any time: a new one takes the place of the old one by its name.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::PoisonError;

use crate::error::InputError;
use crate::input::LogLine;

use super::receive::ReceiverState;

/// Takes in what was kept at `path`, if anything was; what is wrong with it.
pub(super) fn load(path: &Path, shared: &ReceiverState) -> Result<Vec<LogLine>, InputError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(InputError::Templates { path: path.to_owned(), error }),
    };
    let Some(parts) = parts(&bytes) else {
        let text = format!("{} is cut: its templates are lost", path.display());
        return Ok(vec![LogLine::warning(text)]);
    };
    let mut damages = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let here = at % shared.decoders.len();
        let mut decoder = shared.decoders[here].lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(damage) = decoder.load(part) {
            damages.push(LogLine::warning(format!("{}: {damage}", path.display())));
        }
        for (exporter, _) in decoder.exporters() {
            shared.homes.of(exporter.ip(), here);
        }
    }
    Ok(damages)
}

/// Keeps what all decoders know at `path`.
pub(super) fn save(path: &Path, shared: &ReceiverState) -> Result<(), InputError> {
    let mut bytes = Vec::new();
    for decoder in &shared.decoders {
        let part = decoder.lock().unwrap_or_else(PoisonError::into_inner).save();
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend(part);
    }
    write(path, &bytes).map_err(|error| InputError::Templates { path: path.to_owned(), error })
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// The parts of a file, unless it is cut.
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

//! Contacts from a growing file, such as a pipe to which a capture is written.

use std::time::Instant;

use crate::error::InputError;
use crate::files::Files;
use crate::input::{Event, Next, Stop};
use crate::options::InputOptions;

use super::DRAIN;
use super::belt::TICK;
use super::outlet::{Outlet, Outlets};

/// Starts the reading thread.
pub(super) fn open(options: &InputOptions, outlets: &mut Outlets<'_>) -> Result<(), InputError> {
    let options = options.clone();
    // Errors of the first file come from the thread, because a pipe may block for a long time.
    outlets.spawn("read", move |outlet| {
        // The data in the pipe at the end still count.
        read(Files::open(&options, &Stop::default())?, outlet)
    })
}

/// Reads until the end, or until the input is asked to stop, because a writer may never pause.
fn read(mut files: Files, outlet: &mut Outlet) -> Result<(), InputError> {
    let mut told = Instant::now();
    let mut asked: Option<Instant> = None;
    while let Some(next) = files.advance()? {
        if outlet.line.stop.is_asked() && asked.get_or_insert_with(Instant::now).elapsed() >= DRAIN
        {
            break;
        }
        match next {
            Next::Contacts => {
                if !outlet.deliver(files.contacts())? {
                    break;
                }
            }
            Next::Event(Event::Log(log)) => outlet.line.belt.log(log),
            Next::Event(_) => {}
        }
        if told.elapsed() >= TICK {
            told = Instant::now();
            outlet.line.set_status(0, files.status());
        }
    }
    outlet.line.set_status(0, files.status());
    Ok(())
}

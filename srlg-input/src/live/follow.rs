//! Contacts of a file that goes on now, such as a pipe that a capture is written to.

use std::time::Instant;

use crate::error::InputError;
use crate::files::Files;
use crate::input::{Event, Next, Stop};
use crate::options::InputOptions;

use super::DRAIN;
use super::belt::TICK;
use super::outlet::{Outlet, Outlets};

/// Starts the thread that reads.
pub(super) fn open(options: &InputOptions, outlets: &mut Outlets<'_>) -> Result<(), InputError> {
    let options = options.clone();
    // What is wrong with the first file comes from the thread: a pipe may say nothing for long.
    outlets.spawn("read", move |outlet| {
        // What is in the pipe at the end still counts.
        read(Files::open(&options, &Stop::default())?, outlet)
    })
}

/// Reads to the end, or until the end is asked for; whoever writes may never pause.
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

//! Contacts of a file that goes on now, such as a pipe that a capture is written to.

use std::time::Instant;

use crate::error::InputError;
use crate::files::Files;
use crate::input::{Event, Next, Stop};
use crate::options::InputOptions;

use super::belt::TICK;
use super::{DRAIN, Line, not_after, now_ns};

/// Starts the thread that reads.
pub(super) fn open(options: &InputOptions, line: &Line) -> Result<(), InputError> {
    let options = options.clone();
    // What is wrong with the first file comes from the thread: a pipe may say nothing for long.
    line.spawn("read", move |line| {
        // What is in the pipe at the end still counts.
        read(Files::open(&options, &Stop::default())?, line)
    })
}

/// Reads to the end, or until the end is asked for; whoever writes may never pause.
fn read(mut files: Files, line: &Line) -> Result<(), InputError> {
    let mut told = Instant::now();
    let mut asked: Option<Instant> = None;
    while let Some(next) = files.advance()? {
        if line.stop.is_asked() && asked.get_or_insert_with(Instant::now).elapsed() >= DRAIN {
            break;
        }
        match next {
            Next::Contacts => {
                if !line.belt.put(not_after(now_ns(), files.contacts())) {
                    break;
                }
            }
            Next::Event(Event::Log(log)) => line.belt.log(log),
            Next::Event(_) => {}
        }
        if told.elapsed() >= TICK {
            told = Instant::now();
            line.set_status(0, files.status());
        }
    }
    line.set_status(0, files.status());
    Ok(())
}

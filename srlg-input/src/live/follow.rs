//! Contacts of a file that goes on now, such as a pipe that a capture is written to.

use std::time::Instant;

use crate::error::InputError;
use crate::event::Event;
use crate::files::Files;
use crate::options::InputOptions;

use super::belt::TICK;
use super::{Line, now_ns};

/// Starts the thread that reads.
pub(super) fn open(options: &InputOptions, line: &Line) -> Result<(), InputError> {
    let options = options.clone();
    // What is wrong with the first file comes from the thread: a pipe may say nothing for long.
    line.spawn("read", move |line| read(Files::open(&options)?, line))
}

fn read(mut files: Files, line: &Line) -> Result<(), InputError> {
    let mut told = Instant::now();
    while let Some(event) = files.next_event()? {
        match event {
            Event::Contact(mut contact) => {
                contact.time_ns = contact.time_ns.min(now_ns());
                if !line.belt.put(&[contact]) {
                    break;
                }
            }
            Event::Notice(notice) => line.belt.tell(notice),
            Event::Time(_) => {}
        }
        if told.elapsed() >= TICK {
            told = Instant::now();
            line.set_status(files.status());
        }
    }
    line.set_status(files.status());
    Ok(())
}

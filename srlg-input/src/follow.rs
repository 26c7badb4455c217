//! Contacts from a growing file, such as a pipe to which a capture is written.

use std::time::Instant;

use crate::error::InputError;
use crate::event::{Event, Next, Stop};
use crate::files::Files;
use crate::options::InputOptions;

use crate::threads::queue::TICK;
use crate::threads::{ContactSender, ContactSenders, DRAIN};

pub(crate) fn open(
    options: &InputOptions,
    senders: &mut ContactSenders<'_>,
) -> Result<(), InputError> {
    let options = options.clone();
    // The thread also opens the first file, because a pipe may block for a long time.
    senders.spawn("read", move |sender| {
        // After a request to stop, the data that is still in the pipe is read too.
        read(Files::open(&options, &Stop::default())?, sender)
    })
}

/// Reads until the end of the last file. After a request to stop, reads for at most [`DRAIN`], because the writer may
/// never pause.
fn read(mut files: Files, sender: &mut ContactSender) -> Result<(), InputError> {
    let mut published = Instant::now();
    let mut asked: Option<Instant> = None;
    while let Some(next) = files.advance()? {
        if sender.shared.stop.is_asked()
            && asked.get_or_insert_with(Instant::now).elapsed() >= DRAIN
        {
            break;
        }
        match next {
            Next::Contacts => {
                if !sender.deliver(files.contacts())? {
                    break;
                }
            }
            Next::Event(Event::Log(log)) => sender.shared.queue.log(log),
            Next::Event(_) => {}
        }
        if published.elapsed() >= TICK {
            published = Instant::now();
            sender.shared.set_status(0, files.status());
        }
    }
    sender.shared.set_status(0, files.status());
    Ok(())
}

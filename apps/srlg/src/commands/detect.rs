//! `srlg detect`: the super points of an input, slice by slice.

mod args;
mod output;
mod progress;
mod session;
mod summary;

use anyhow::Result;
use srlg_input::{Event, Input};

pub use args::Args;
use progress::Progress;
use session::Session;

/// Reads the input to its end, or until a signal.
pub fn run(args: &Args) -> Result<()> {
    let mut input = Input::open(&args.source)?;
    input.stop_at_signals()?;
    let mut session = Session::new(args, Progress::new(&input)?)?;
    let mut contacts = 0;
    while let Some(event) = input.next_event()? {
        match event {
            Event::Contact(contact) => {
                session.take(contact)?;
                contacts += 1;
                session.progress().show(contacts, &input);
            }
            Event::Time(now_ns) => session.pass(now_ns)?,
            Event::Log(line) => session.progress().tell(format_args!("{line}")),
            _ => {}
        }
    }
    let totals = session.finish()?;
    summary::print(&totals, &input.status());
    Ok(())
}

//! Files and sockets as inputs: what comes out, in which order, and what is told of the rest.

mod export;
mod files;
mod sockets;

use std::error::Error;
use std::time::{Duration, Instant};

use srlg_input::{Event, Input, InputError, InputOptions};

const PATIENCE: Duration = Duration::from_secs(60);

/// Opens an input with the options that a command would be given.
fn open(args: &[&str]) -> Result<Input, Box<dyn Error>> {
    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        options: InputOptions,
    }
    let args = [&["command"][..], args].concat();
    let command = <Command as clap::Parser>::try_parse_from(args)?;
    Ok(Input::open(&command.options)?)
}

/// The error of an input that cannot be opened with these options.
fn refused(args: &[&str]) -> InputError {
    *open(args).unwrap_err().downcast().unwrap()
}

/// What comes of an input until `is_done` is told so of it, or until its end.
#[derive(Default)]
struct Come {
    /// Source and destination of contacts.
    pairs: Vec<(String, String)>,
    times: Vec<u64>,
    log: Vec<String>,
}

impl Come {
    fn of(input: &mut Input, is_done: impl Fn(&Self) -> bool) -> Self {
        let (mut come, started) = (Self::default(), Instant::now());
        while !is_done(&come) {
            match input.next_event().unwrap() {
                Some(Event::Contact(contact)) => {
                    come.pairs.push((contact.source.to_string(), contact.destination.to_string()));
                }
                Some(Event::Time(now)) => come.times.push(now),
                Some(Event::Log(line)) => come.log.push(line.to_string()),
                None => break,
                event => panic!("{event:?}"),
            }
            assert!(started.elapsed() < PATIENCE, "{:?}: {:?}", come.log, input.status());
        }
        come
    }

    fn to_end(input: &mut Input) -> Self {
        Self::of(input, |_| false)
    }
}

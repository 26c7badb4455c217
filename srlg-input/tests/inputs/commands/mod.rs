//! Files and sockets as inputs: what comes out, in which order, and what is told of the rest.

mod export;
mod files;
mod sockets;

use std::time::{Duration, Instant};

use srlg_input::{Event, Input, InputOptions};

const PATIENCE: Duration = Duration::from_secs(20);

/// Opens an input with the options that a command would be given.
fn open(args: &[&str]) -> Result<Input, String> {
    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        options: InputOptions,
    }
    let args = [&["command"][..], args].concat();
    let command = <Command as clap::Parser>::try_parse_from(args);
    Input::open(&command.map_err(|error| error.to_string())?.options)
        .map_err(|error| error.to_string())
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

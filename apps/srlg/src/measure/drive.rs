//! The loop over the events of an input.

use std::time::Duration;

use anyhow::Result;
use srlg_input::{Contact, Event, Input, LogLevel, LogLine};
use tracing::{info, warn};

use crate::progress::Progress;

/// A consumer of the events of an input.
pub(crate) trait EventConsumer {
    /// Processes contacts in the order in which they were read.
    fn ingest(&mut self, contacts: &[Contact]) -> Result<()>;

    /// Processes a clock tick of the live input `input`, which advances time to `now_ns`.
    fn advance(&mut self, now_ns: u64, input: &Input) -> Result<()>;

    /// Notes that the system clock was set forward by `step` to `now_ns`.
    fn set_forward(&mut self, _step: Duration, _now_ns: u64) -> Result<()> {
        Ok(())
    }

    /// Writes a line of the input to the log.
    fn log(&self, LogLine { level, text }: LogLine) {
        match level {
            LogLevel::Warning => warn!("{text}"),
            LogLevel::Info => info!("{text}"),
        }
    }

    /// Does what must follow each event.
    fn after_event(&mut self, _input: &Input) -> Result<()> {
        Ok(())
    }
}

/// Passes the events of `input` to `consumer` until the input ends.
pub(crate) fn drive(input: &mut Input, consumer: &mut impl EventConsumer) -> Result<()> {
    let progress = Progress::new(input)?;
    while let Some(event) = input.next_event()? {
        match event {
            Event::Contacts(contacts) => {
                consumer.ingest(contacts)?;
                progress.print(input);
            }
            Event::Time(now_ns) => consumer.advance(now_ns, input)?,
            Event::SetForward { step, now_ns } => consumer.set_forward(step, now_ns)?,
            Event::Log(line) => consumer.log(line),
            _ => {}
        }
        consumer.after_event(input)?;
    }
    Ok(())
}

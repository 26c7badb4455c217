//! A thread that captures the packets of an interface.

use std::time::{Duration, Instant};

use crate::error::InputError;
use crate::input::LogLine;
use crate::input::Status;
use crate::options::CaptureOptions;

use super::capture::Capture;
use super::{DRAIN, LOOK, Line, now_ns};

/// The least interval between two warnings about dropped packets.
const MINUTE: Duration = Duration::from_secs(60);

/// The last warning about dropped packets.
#[derive(Default)]
struct DropWarning {
    drops: u64,
    at: Option<Instant>,
}

/// Starts the thread that captures.
pub(super) fn open(name: &str, options: &CaptureOptions, line: &Line) -> Result<(), InputError> {
    let capture = Capture::open(name, options)?;
    line.belt.log(LogLine::info(format!("captures packets of {name}")));
    line.spawn("capture", move |line| run(capture, line))
}

/// Captures until the end is asked for and no packet waits.
fn run(mut capture: Capture, line: &Line) -> Result<(), InputError> {
    let (mut looked, mut last) = (Instant::now(), DropWarning::default());
    let mut asked: Option<Instant> = None;
    loop {
        let contact = capture.next_contact()?;
        if let Some(mut contact) = contact {
            contact.time_ns = contact.time_ns.min(now_ns());
            if !line.belt.put(&[contact]) {
                break;
            }
        }
        if line.stop.is_asked() {
            let asked = *asked.get_or_insert_with(Instant::now);
            if contact.is_none() || asked.elapsed() >= DRAIN {
                break;
            }
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            look(&mut capture, line, &mut last)?;
        }
    }
    look(&mut capture, line, &mut last)
}

/// Updates the status, and warns of dropped packets.
fn look(capture: &mut Capture, line: &Line, last: &mut DropWarning) -> Result<(), InputError> {
    let drops = capture.drops()?;
    let drops = drops.buffer_full + drops.interface;
    line.set_status(Status {
        packets: Some(capture.counts().clone()),
        interface_drops: Some(drops),
        ..Status::default()
    });
    if drops > last.drops && last.at.is_none_or(|at| at.elapsed() >= MINUTE) {
        let more = drops - last.drops;
        line.belt.log(LogLine::warning(format!(
            "{more} packets were dropped, as this program was too slow for them: raise --capture-buffer, \
             or select packets by --filter"
        )));
        *last = DropWarning { drops, at: Some(Instant::now()) };
    }
    Ok(())
}

//! Contacts of the packets on an interface.

use crate::error::InputError;
use crate::options::InterfaceOptions;

use super::Line;

/// Starts the thread that captures.
#[cfg(feature = "live")]
pub(super) fn open(name: &str, options: &InterfaceOptions, line: &Line) -> Result<(), InputError> {
    let live = srlg_capture::Live::open(name, &options.capture())?;
    line.belt.tell(format!("captures packets of {name}"));
    line.spawn("capture", move |line| capture::capture(live, line))
}

/// Says that this program has no live capture.
#[cfg(not(feature = "live"))]
pub(super) fn open(name: &str, _: &InterfaceOptions, _: &Line) -> Result<(), InputError> {
    Err(InputError::NoLive { interface: name.to_owned() })
}

#[cfg(feature = "live")]
mod capture {
    use std::time::{Duration, Instant};

    use srlg_capture::Live;

    use crate::error::InputError;
    use crate::live::{DRAIN, Line, now_ns};
    use crate::status::Status;

    /// How often it is told what became of all packets.
    const LOOK: Duration = Duration::from_secs(1);

    /// Between two notices about packets that were dropped.
    const MINUTE: Duration = Duration::from_secs(60);

    /// What has been told of packets that were dropped.
    #[derive(Default)]
    struct Told {
        drops: u64,
        at: Option<Instant>,
    }

    /// Captures until the end is asked for and no packet waits.
    pub(super) fn capture(mut live: Live, line: &Line) -> Result<(), InputError> {
        let (mut looked, mut told) = (Instant::now(), Told::default());
        let mut asked: Option<Instant> = None;
        loop {
            let contact = live.next_contact()?;
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
                look(&mut live, line, &mut told)?;
            }
        }
        look(&mut live, line, &mut told)
    }

    /// Tells what became of all packets.
    fn look(live: &mut Live, line: &Line, told: &mut Told) -> Result<(), InputError> {
        let drops = live.drops()?;
        let drops = drops.buffer_full + drops.interface;
        line.set_status(Status {
            packets: Some(live.counts().clone()),
            interface_drops: Some(drops),
            ..Status::default()
        });
        if drops > told.drops && told.at.is_none_or(|at| at.elapsed() >= MINUTE) {
            let more = drops - told.drops;
            line.belt.tell(format!(
                "warning: {more} packets were dropped, as this program was too slow for them: raise --capture-buffer, \
                 or select packets by --filter"
            ));
            *told = Told { drops, at: Some(Instant::now()) };
        }
        Ok(())
    }
}

//! [`Attachment`]: what a checkpoint has beside the detector's snapshot, in the same file.
//!
//! Shape: JSON. Invariant: detector, rule, alerts, position in the stream and lengths of the files are of one
//! moment, for they are saved in one step. So whichever checkpoint a collector begins with, it
//! reads on where that one was, and writes the same reports and alerts again.

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use srlg_host::SlidingDetector;
use srlg_host::state::{Checkpoints, Snapshot};
use srlg_input::contact::SamplingWindow;
use tracing::{info, warn};

use super::alerts;
use super::lines::LineFile;
use super::rule::RuleState;
use super::stream::{Position, Witness};

/// Version of this module's JSON.
pub(super) const VERSION: u32 = 2;

/// The part of a checkpoint beside the snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Attachment {
    pub(super) version: u32,
    pub(super) rule: RuleState,
    /// The message after which to read on.
    pub(super) replay_after: u64,
    /// The last message that was read.
    pub(super) witness: Option<Witness>,
    /// How contacts were sampled, by slice of the window, as text.
    #[serde(default)]
    pub(super) sampling: Vec<(u64, String)>,
    /// The file of reports, if they go to one, and its length.
    pub(super) reports: Option<LineFile>,
    /// Alerts, if they are followed.
    #[serde(default)]
    pub(super) alerts: Option<alerts::FollowerState>,
}

impl Attachment {
    /// Where to read on.
    pub(super) fn position(&self) -> Position {
        Position { sequence: self.replay_after, witness: self.witness }
    }

    /// How contacts were sampled, in a window of `window` slices.
    pub(super) fn sampling(&self, window: u32) -> Result<SamplingWindow> {
        let mut sampling = SamplingWindow::new(window);
        for (slice, text) in &self.sampling {
            sampling.merge(
                *slice,
                text.parse().context("the checkpoint has sampling rates that are none")?,
            );
        }
        Ok(sampling)
    }
}

/// Saves everything at once.
/// If that fails, the checkpoints that were there are unchanged.
pub(super) fn save(
    checkpoints: &mut Checkpoints,
    detector: &SlidingDetector,
    attachment: &Attachment,
) -> Result<()> {
    let attachment = serde_json::to_vec(attachment)?;
    checkpoints.save(&detector.snapshot()?.with_attachment(attachment))?;
    Ok(())
}

/// The newest checkpoint that is whole, if there ever was one: `detector` becomes that of it.
pub(super) fn restore(
    checkpoints: &mut Checkpoints,
    detector: &mut SlidingDetector,
) -> Result<Option<Attachment>> {
    let latest = checkpoints.latest(detector.params())?;
    for damaged in &latest.damaged {
        warn!("a checkpoint is damaged, and kept as {}: {}", damaged.path.display(), damaged.why);
    }
    let Some(snapshot) = latest.snapshot else {
        if latest.damaged.is_empty() {
            return Ok(None);
        }
        bail!(
            "no checkpoint is whole: start again to begin with what the stream has, and nothing else"
        )
    };
    let attachment = read(&snapshot)?;
    detector.restore(&snapshot)?;
    info!("a checkpoint is restored: slice {} runs", snapshot.slice());
    Ok(Some(attachment))
}

/// The version of an attachment, whatever else is in it.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn read(snapshot: &Snapshot) -> Result<Attachment> {
    let foreign = "the checkpoint is not one of a collector: give a folder of its own with --state";
    let Version { version } = serde_json::from_slice(snapshot.attachment()).context(foreign)?;
    ensure!(
        version == VERSION,
        "the checkpoint has version {version}, and this collector reads {VERSION}: give another folder with --state"
    );
    let attachment: Attachment = serde_json::from_slice(snapshot.attachment()).context(foreign)?;
    if let Some(running) = attachment.rule.running {
        ensure!(
            running == snapshot.slice(),
            "the checkpoint contradicts itself: slice {running} is the next to close, and its snapshot is of slice {}",
            snapshot.slice()
        );
    }
    Ok(attachment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_of_a_collector_that_knew_no_alerts_is_read() {
        let text = r#"{"version":2,"rule":{"running":7,"silent":0,"probes":{}},"replay_after":9,"witness":null,"reports":null}"#;
        let attachment: Attachment = serde_json::from_str(text).unwrap();
        assert_eq!((attachment.replay_after, &attachment.alerts), (9, &None));
        let alerts = r#","alerts":{"tracker":{"view":"network","hosts":{},"starts":{},"groups":{}},"file":null}}"#;
        let text = text.replace("null}", "null") + alerts;
        let attachment: Attachment = serde_json::from_str(&text).unwrap();
        assert_eq!(attachment.alerts.map(|alerts| alerts.active()), Some(0));
    }
}

//! [`Attachment`]: what a checkpoint has beside the snapshots of all views, in the same file.
//!
//! Shape: the file is the snapshot of the first view; its attachment is JSON, and the snapshots of the others, each behind
//! its length (u64, little endian). Invariant: detectors, rule and position in the stream are of one moment, for they are
//! saved in one step, and the database has the alerts of that moment, or later ones. So whichever checkpoint a collector
//! begins with, it reads on where that one was, and what the database has already is not told again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use bytes::{Buf, Bytes};
use serde::{Deserialize, Serialize};
use srlg_host::SlidingDetector;
use srlg_host::state::{Checkpoints, Snapshot};
use srlg_input::contact::{Sampling, SamplingWindow};
use tracing::info;

use super::rule::RuleState;
use super::stream::{Position, Witness};
use crate::alerts::witnesses::TableState;
use crate::measure::checkpoints::latest;
use crate::network::VersionId;

/// Version of this module's JSON.
pub(super) const VERSION: u32 = 4;

/// The part of a checkpoint beside the snapshots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Attachment {
    pub(super) version: u32,
    pub(super) rule: RuleState,
    /// The message after which to read on.
    pub(super) replay_after: u64,
    /// The last message that was read.
    pub(super) witness: Option<Witness>,
    /// How contacts were sampled, by slice of the window.
    pub(super) sampling: Vec<(u64, Sampling)>,
    /// The exporters of the sites, by the names of these.
    pub(super) exporters: BTreeMap<String, TableState>,
}

impl Attachment {
    /// Where to read on.
    pub(super) fn position(&self) -> Position {
        Position { sequence: self.replay_after, witness: self.witness }
    }

    /// How contacts were sampled, in a window of `window` slices.
    pub(super) fn sampling(&self, window: u32) -> SamplingWindow {
        let mut sampling = SamplingWindow::new(window);
        self.sampling.iter().for_each(|(slice, of)| sampling.merge(*slice, *of));
        sampling
    }
}

/// The folder for checkpoints of that `version` of the network, in the folder `state`. Those of other versions are removed.
pub(super) fn folder(state: &Path, version: VersionId) -> Result<PathBuf> {
    let all = state.join("network");
    fs::create_dir_all(&all).with_context(|| format!("cannot make {}", all.display()))?;
    Ok(version.make_only_folder(&all)?)
}

/// Saves everything at once.
/// If that fails, the checkpoints that were there are unchanged.
pub(super) fn save(
    checkpoints: &mut Checkpoints,
    detectors: &[SlidingDetector],
    attachment: &Attachment,
) -> Result<()> {
    let json = serde_json::to_vec(attachment)?;
    let (first, others) = detectors.split_first().context("a network has a view")?;
    let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
    bytes.extend(json);
    for detector in others {
        let snapshot = detector.snapshot()?.to_bytes()?;
        bytes.extend((snapshot.len() as u64).to_le_bytes());
        bytes.extend(snapshot);
    }
    checkpoints.save(&first.snapshot()?.with_attachment(bytes))?;
    Ok(())
}

/// The newest checkpoint that is whole, if there is one: `detectors` become those of it.
pub(super) fn restore(
    checkpoints: &mut Checkpoints,
    detectors: &mut [SlidingDetector],
) -> Result<Option<Attachment>> {
    let (first, others) = detectors.split_first_mut().context("a network has a view")?;
    let Some(snapshot) = latest(checkpoints, first.params(), "network")? else {
        return Ok(None);
    };
    let foreign = "the checkpoint is not one of a collector: give another state";
    let mut bytes = Bytes::copy_from_slice(snapshot.attachment());
    let attachment = read(&take(&mut bytes).context(foreign)?, snapshot.slice())?;
    let mut snapshots = Vec::new();
    for detector in others.iter() {
        let bytes = take(&mut bytes).context(foreign)?;
        snapshots.push(Snapshot::from_bytes(&bytes, detector.params())?);
    }
    ensure!(bytes.is_empty(), foreign);
    first.restore(&snapshot)?;
    for (detector, snapshot) in others.iter_mut().zip(&snapshots) {
        detector.restore(snapshot)?;
    }
    info!("a checkpoint is restored: slice {} runs", snapshot.slice());
    Ok(Some(attachment))
}

/// Takes what is behind its length.
fn take(bytes: &mut Bytes) -> Option<Bytes> {
    let length = usize::try_from(bytes.try_get_u64_le().ok()?).ok()?;
    (length <= bytes.len()).then(|| bytes.split_to(length))
}

/// The version of an attachment, whatever else is in it.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn read(json: &[u8], slice: u64) -> Result<Attachment> {
    let foreign = "the checkpoint is not one of a collector: give another state";
    let Version { version } = serde_json::from_slice(json).context(foreign)?;
    ensure!(
        version == VERSION,
        "the checkpoint has version {version}, and this collector reads {VERSION}: give another state"
    );
    let attachment: Attachment = serde_json::from_slice(json).context(foreign)?;
    if let Some(running) = attachment.rule.running {
        ensure!(
            running == slice,
            "the checkpoint contradicts itself: slice {running} is the next to close, and its snapshot is of slice {slice}"
        );
    }
    Ok(attachment)
}

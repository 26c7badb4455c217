//! Checkpoint of a collector: one file that contains the snapshots of all views and all other state.
//!
//! The file is the snapshot of the first view, with an attachment. The attachment contains JSON and the snapshots of
//! the remaining views. The JSON and each of these snapshots are preceded by their length (u64, little-endian).
//! Invariant: detectors, rule and stream position belong to the same moment, because they are saved in one step. The
//! database contains the alerts of that moment or a later one. Therefore a collector can continue from any checkpoint,
//! and it does not repeat notifications that the database contains.

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
use super::sites::KeptSite;
use super::stream::{Position, Witness};
use crate::measure::checkpoints::latest;
use crate::network::VersionId;

/// Version of the JSON format.
pub(super) const VERSION: u32 = 5;

const FOREIGN: &str =
    "cannot restore the checkpoint: it was not written by a collector; use another state folder";

/// JSON in the attachment of a checkpoint: all state except the snapshots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Attachment {
    pub(super) version: u32,
    pub(super) rule: RuleState,
    /// Sequence number of the message after which reading continues.
    pub(super) replay_after: u64,
    /// Last message that was read.
    pub(super) witness: Option<Witness>,
    /// Sampling of the contacts, for each slice of the window.
    pub(super) sampling: Vec<(u64, Sampling)>,
    /// Exporters and inputs of the sites, keyed by site name.
    pub(super) sites: BTreeMap<String, KeptSite>,
}

impl Attachment {
    pub(super) fn position(&self) -> Position {
        Position { sequence: self.replay_after, witness: self.witness }
    }

    pub(super) fn sampling(&self, window: u32) -> SamplingWindow {
        let mut sampling = SamplingWindow::new(window);
        self.sampling.iter().for_each(|(slice, of)| sampling.merge(*slice, *of));
        sampling
    }
}

/// Creates and returns the folder for checkpoints of the network `version`, below `state`. Removes the folders of all
/// other versions, except those with a higher number.
pub(super) fn folder(state: &Path, version: VersionId) -> Result<PathBuf> {
    let all = state.join("network");
    fs::create_dir_all(&all).with_context(|| format!("cannot make {}", all.display()))?;
    Ok(version.make_only_folder(&all)?)
}

/// Saves a checkpoint atomically. If this fails, the existing checkpoints are unchanged.
pub(super) fn save(
    checkpoints: &mut Checkpoints,
    detectors: &[SlidingDetector],
    attachment: &Attachment,
) -> Result<()> {
    let json = serde_json::to_vec(attachment)?;
    let (first, others) =
        detectors.split_first().context("the network has no views (this is a bug)")?;
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

/// Restores `detectors` from the newest undamaged checkpoint and returns its attachment. Returns `None` if there is no
/// checkpoint, or if the sizes or the seed of the first view have changed.
pub(super) fn restore(
    checkpoints: &mut Checkpoints,
    detectors: &mut [SlidingDetector],
) -> Result<Option<Attachment>> {
    let (first, others) =
        detectors.split_first_mut().context("the network has no views (this is a bug)")?;
    let Some(snapshot) = latest(checkpoints, first.params(), "network")? else {
        return Ok(None);
    };
    let mut bytes = Bytes::copy_from_slice(snapshot.attachment());
    let attachment = read(&take(&mut bytes).context(FOREIGN)?, snapshot.slice())?;
    let mut snapshots = Vec::new();
    for detector in others.iter() {
        let bytes = take(&mut bytes).context(FOREIGN)?;
        snapshots.push(Snapshot::from_bytes(&bytes, detector.params())?);
    }
    ensure!(bytes.is_empty(), FOREIGN);
    first.restore(&snapshot)?;
    for (detector, snapshot) in others.iter_mut().zip(&snapshots) {
        detector.restore(snapshot)?;
    }
    info!("restored a checkpoint: the running slice is {}", snapshot.slice());
    Ok(Some(attachment))
}

/// Removes a length (8 bytes, little-endian) and the content after it from `bytes`, and returns the content. Returns
/// `None` if `bytes` is too short.
fn take(bytes: &mut Bytes) -> Option<Bytes> {
    let length = usize::try_from(bytes.try_get_u64_le().ok()?).ok()?;
    (length <= bytes.len()).then(|| bytes.split_to(length))
}

/// The key of [`Attachment`] that every version of the format contains.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn read(json: &[u8], slice: u64) -> Result<Attachment> {
    let Version { version } = serde_json::from_slice(json).context(FOREIGN)?;
    ensure!(
        version == VERSION,
        "cannot read a checkpoint of version {version}: this collector reads version {VERSION}; use another state folder"
    );
    let attachment: Attachment = serde_json::from_slice(json).context(FOREIGN)?;
    if let Some(running) = attachment.rule.running {
        ensure!(
            running == slice,
            "the checkpoint is inconsistent: its running slice is {running}, but its snapshot is of slice {slice}"
        );
    }
    Ok(attachment)
}

//! What outlives a restart: the detectors in checkpoints, the alerts in the database.
//!
//! Shape: a folder per view for checkpoints, which a thread of their own writes, one view after the other, so that no more
//! than one copy of the recorders of a view is in memory; and the database beside.
//! Invariant: alerts are those of the last notice that was told, or later; a detector may be up to a checkpoint older, so
//! that counts are too low for a window, in which nothing ends.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::alerts::{Every, OnChange, Tracker};
use anyhow::{Context, Result};
use srlg_host::Error as HostError;
use srlg_host::config::random_seed;
use srlg_host::state::{Checkpoints, Snapshot};
use tracing::{info, warn};

use crate::config::Config;
use crate::measure::monitor::Monitor;
use crate::measure::watch::Watch;
use crate::notify::notice::Notice;
use crate::notify::store::Store;
use crate::now_ms;

/// How often the largest counts are kept, which may be some megabytes.
const MAXIMA: Duration = Duration::from_secs(60);

/// The state of a monitor, on disk.
pub struct Saved {
    store: Store,
    /// Of checkpoints, where there is a folder for them.
    writer: Option<Writer>,
    /// Views that are no more, and had alerts.
    gone: BTreeSet<String>,
    /// Time between two checkpoints of a view.
    checkpoint: Duration,
    /// When the next one of any view is due, and of which view.
    save: Every,
    next: usize,
    keep_maxima: Every,
}

struct Writer {
    /// Each with the number of its view.
    snapshots: Sender<(usize, Snapshot)>,
    is_writing: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Saved {
    /// Opens the state that `config` names, and makes a monitor that goes on from there; what ends thereby is returned.
    pub fn open(config: &Config) -> Result<(Self, Monitor, Vec<Notice>)> {
        let mut checkpoints = Vec::new();
        if let Some(state) = &config.general.state {
            fs::create_dir_all(state)
                .with_context(|| format!("cannot make the folder {}", state.display()))?;
            for view in &config.views {
                checkpoints.push(open_view(state, &view.name)?);
            }
        }
        let store = Store::open(config.general.state.as_deref())?;
        let seed = match store.state("seed")? {
            Some(seed) => u64::from_le_bytes(
                seed.try_into().ok().context("the seed in the database is damaged")?,
            ),
            None => {
                let seed = random_seed()?;
                store.add(&[], &[("seed".to_owned(), seed.to_le_bytes().to_vec())])?;
                seed
            }
        };
        let mut monitor = Monitor::new(config, seed)?;
        for (watch, checkpoints) in monitor.watches().zip(&mut checkpoints) {
            let name = watch.book().name.clone();
            let Some(snapshot) = latest(checkpoints, watch.detector().params(), &name)? else {
                continue;
            };
            let slice_ms = u64::try_from(config.general.slice.as_millis())?;
            let end_ms = snapshot.slice().saturating_mul(slice_ms);
            if config.source.is_live() && end_ms > now_ms() {
                warn!(
                    "the window of the view {name} begins anew, as its checkpoint is of a time to come: the clock of this machine was set back, or slice was changed"
                );
                continue;
            }
            watch.restore(&snapshot)?;
            let ago = Duration::from_millis(now_ms().saturating_sub(end_ms) / 1_000 * 1_000);
            info!(
                "the view {name} continues from a checkpoint of {} ago: contacts since then are missing, and no alert ends before a window has passed",
                humantime::format_duration(ago)
            );
        }
        for book in monitor.watches().map(Watch::book_mut) {
            let name = book.name.clone();
            if let Some(state) = store.state(&key(&name))? {
                book.restore_state(&state)?;
            }
            book.restore_maxima(|window| store.state(&maxima_key(&name, window)))?;
        }
        let open = store.open_alerts()?.into_iter().map(|(_, notice)| notice).collect();
        let ended = monitor.reopen(open);
        let writer = (!checkpoints.is_empty()).then(|| Writer::start(checkpoints)).transpose()?;
        let checkpoint = config.general.checkpoint;
        let save = Every::from_now(checkpoint / u32::try_from(config.views.len())?);
        let keep_maxima = Every::from_now(MAXIMA);
        // Were their alerts kept, they would go on when the views come back.
        let gone = ended.iter().map(|notice| notice.view.clone()).collect();
        let saved = Self { store, writer, gone, checkpoint, save, next: 0, keep_maxima };
        Ok((saved, monitor, ended))
    }

    /// Returns the database.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Keeps `notices`, with the alerts of the same moment.
    /// After an error nothing is kept.
    pub fn keep(&self, monitor: &mut Monitor, notices: &[Notice]) -> Result<()> {
        let books = monitor.watches().map(|watch| watch.book());
        let states = books.map(|book| Ok((key(&book.name), book.state()?)));
        let ended = |view| Ok((key(view), serde_json::to_vec(&Tracker::new(view))?));
        let gone = self.gone.iter().map(|view| ended(view));
        self.store.add(notices, &states.chain(gone).collect::<Result<Vec<_>>>()?)?;
        Ok(())
    }

    /// Saves the checkpoint of the next view, when one is due. What is due while another is written is left out.
    pub fn save_if_due(&mut self, monitor: &mut Monitor) -> Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        if !self.save.is_due() {
            return Ok(());
        }
        if self.keep_maxima.is_due() {
            self.keep_maxima(monitor);
        }
        anyhow::ensure!(!writer.thread.is_finished(), "checkpoints are written no more");
        if writer.is_writing.load(Relaxed) {
            warn!(
                "a checkpoint is left out, as the one before is still written: give a longer time for checkpoint than {:?}",
                self.checkpoint
            );
            return Ok(());
        }
        let at = self.next;
        self.next = (at + 1) % monitor.watches().count();
        writer.save(at, monitor)
    }

    /// Keeps the largest counts; nothing hangs on them but suggestions.
    fn keep_maxima(&self, monitor: &mut Monitor) {
        let mut states = Vec::new();
        for book in monitor.watches().map(|watch| watch.book()) {
            for (window, maxima) in book.maxima() {
                match serde_json::to_vec(maxima) {
                    Ok(json) => states.push((maxima_key(&book.name, window), json)),
                    Err(error) => warn!("the largest counts are not kept: {error}"),
                }
            }
        }
        if let Err(error) = self.store.add(&[], &states) {
            warn!("the largest counts are not kept: {error:#}");
        }
    }

    /// Saves the last checkpoints, and waits until all are on disk.
    pub fn finish(self, monitor: &mut Monitor) -> Result<()> {
        self.keep(monitor, &[])?;
        self.keep_maxima(monitor);
        let Some(writer) = self.writer else { return Ok(()) };
        for at in 0..monitor.watches().count() {
            while writer.is_writing.load(Relaxed) && !writer.thread.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
            writer.save(at, monitor)?;
        }
        drop(writer.snapshots);
        writer.thread.join().ok().context("checkpoints are written no more")
    }
}

impl Writer {
    fn start(mut checkpoints: Vec<Checkpoints>) -> Result<Self> {
        let (snapshots, next) = channel::<(usize, Snapshot)>();
        let is_writing = Arc::new(AtomicBool::new(false));
        let is_written = Arc::clone(&is_writing);
        let write = move || {
            let mut failing = OnChange::default();
            for (at, snapshot) in next {
                let saved = checkpoints[at].save(&snapshot);
                drop(snapshot);
                is_written.store(false, Relaxed);
                let is_changed = failing.change_to(saved.is_err()).is_some();
                match saved {
                    Ok(_) if is_changed => info!("checkpoints are written again"),
                    Err(error) if is_changed => {
                        warn!("no checkpoint can be written, and the older one stays: {error}");
                    }
                    _ => {}
                }
            }
        };
        let thread = thread::Builder::new().name("checkpoints".to_owned()).spawn(write);
        Ok(Self { snapshots, is_writing, thread: thread.context("cannot start a thread")? })
    }

    /// Hands a snapshot of the view numbered `at` to the thread, which writes none at this moment.
    fn save(&self, at: usize, monitor: &mut Monitor) -> Result<()> {
        let Some(watch) = monitor.watches().nth(at) else { return Ok(()) };
        self.is_writing.store(true, Relaxed);
        self.snapshots.send((at, watch.snapshot()?)).ok().context("checkpoints are written no more")
    }
}

/// Returns the key of the largest counts of `view` within `window` slices.
#[must_use]
pub fn maxima_key(view: &str, window: u32) -> String {
    format!("maxima/{view}/{window}")
}

fn key(view: &str) -> String {
    format!("alerts/{view}")
}

fn open_view(state: &Path, view: &str) -> Result<Checkpoints> {
    let folder = state.join("views").join(view);
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    Ok(Checkpoints::open(folder)?)
}

/// The newest checkpoint that is whole and of these sizes.
fn latest(
    checkpoints: &mut Checkpoints,
    params: &srlg_host::config::Params,
    view: &str,
) -> Result<Option<Snapshot>> {
    let latest = match checkpoints.latest(params) {
        Ok(latest) => latest,
        Err(error @ (HostError::OtherSizes { .. } | HostError::OtherSeed { .. })) => {
            warn!("the window of the view {view} begins anew, as its sizes were changed: {error}");
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    for damaged in &latest.damaged {
        warn!("a checkpoint is damaged, and kept as {}: {}", damaged.path.display(), damaged.why);
    }
    Ok(latest.snapshot)
}

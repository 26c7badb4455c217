//! Checkpoints of a monitor's detectors on disk.
//!
//! Each view has a folder. One thread writes the checkpoints of the views one after the other, so at most one snapshot
//! is in memory at a time.
//!
//! After a restart, a detector may be older than the alerts in the database, because contacts since its checkpoint are
//! missing. Invariant: a window that includes the missing time cannot end an alert, because its counts may be too low.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use srlg_host::Error as HostError;
use srlg_host::state::{Checkpoints, Snapshot};
use srlg_input::Position;
use tracing::{info, warn};

use crate::config::Config;
use crate::measure::monitor::Monitor;
use srlg_alerts::manager::view::ViewConfig;
use srlg_alerts::notification::Notification;
use srlg_notify::alert_store::AlertStore;
use srlg_system::now_ms;
use srlg_system::pacing::OnChange;

/// Checkpoints of all views.
pub struct ViewCheckpoints {
    /// Writer of the checkpoints, or `None` without a state folder.
    writer: Option<Writer>,
    /// Time between two checkpoints of a view.
    checkpoint: Duration,
    /// Time of the last checkpoint of any view, or of the start.
    last: Instant,
    /// Index of the view whose checkpoint is next.
    next: usize,
    /// Whether not all views have a checkpoint since the start.
    is_first_round: bool,
}

/// Time within which all views have their first checkpoint, so that a program that is killed again and again keeps its
/// windows.
const FIRST: Duration = Duration::from_secs(2);

/// Maximum time until a checkpoint that could not be written is tried again.
const RETRY: Duration = Duration::from_secs(10);

struct Writer {
    /// Channel to `thread`. Each snapshot has the index of its view.
    snapshots: Sender<(usize, Snapshot)>,
    is_writing: Arc<AtomicBool>,
    is_failing: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// A monitor that continues from the state folder.
pub struct Continued {
    /// The monitor.
    pub monitor: Monitor,
    /// Database of the monitor's alerts.
    pub alert_store: AlertStore,
    /// Checkpoints of the monitor's detectors.
    pub checkpoints: ViewCheckpoints,
    /// Notifications that end the alerts of views that were removed or now count something else.
    pub ended: Vec<Notification>,
    /// Position at which the input continues, if a checkpoint contains a position. Every restored detector contains all
    /// contacts before this position.
    pub position: Option<Position>,
}

impl Continued {
    /// Opens the state folder of `config` and returns a monitor that continues from it.
    pub fn open(config: &Config) -> Result<Self> {
        let mut checkpoints = Vec::new();
        if let Some(state) = &config.general.state {
            for view in &config.views {
                checkpoints.push(open_view(state, &view.name)?);
            }
        }
        let mut alert_store = AlertStore::open(config.general.state.as_deref())?;
        let mut monitor = Monitor::new(config, alert_store.seed()?)?;
        let mut position: Option<Position> = None;
        for (at, (view, checkpoints)) in config.views.iter().zip(&mut checkpoints).enumerate() {
            if let Some(next) = restore(&mut monitor, at, view, checkpoints, config)? {
                position = Some(position.map_or(next.clone(), |position| position.before(&next)));
            }
        }
        let ended = alert_store.restore(monitor.manager_mut())?;
        monitor.miss_contacts();
        let writer = (!checkpoints.is_empty()).then(|| Writer::start(checkpoints)).transpose()?;
        let checkpoints = ViewCheckpoints {
            writer,
            checkpoint: config.general.checkpoint,
            last: Instant::now(),
            next: 0,
            is_first_round: true,
        };
        Ok(Self { monitor, alert_store, checkpoints, ended, position })
    }
}

/// Restores the view with index `at` from its newest checkpoint, if there is one. Returns the input position in the
/// checkpoint, or `None` if there is no position.
fn restore(
    monitor: &mut Monitor,
    at: usize,
    view: &ViewConfig,
    checkpoints: &mut Checkpoints,
    config: &Config,
) -> Result<Option<Position>> {
    let name = &view.name;
    let Some(snapshot) = latest(checkpoints, monitor.params(at), name)? else {
        return Ok(None);
    };
    let slice_ms = u64::try_from(config.general.slice.as_millis())?;
    let end_ms = snapshot.slice().saturating_mul(slice_ms);
    if config.source.is_live() && end_ms > now_ms() {
        warn!(
            "view {name} starts with an empty window: its checkpoint is from the future, because the system clock was set back or slice was changed"
        );
        return Ok(None);
    }
    let (is_restored, position) = monitor.restore(at, &snapshot)?;
    if !is_restored {
        warn!("view {name} starts with an empty window: its host or peer setting was changed");
        return Ok(None);
    }
    let ago = Duration::from_millis(now_ms().saturating_sub(end_ms) / 1_000 * 1_000);
    let ago = humantime::format_duration(ago);
    let since = match &position {
        Some(_) if config.source.has_positions() => {
            "flows since then are read again from the broker"
        }
        _ => "contacts since then are missing",
    };
    info!(
        "view {name} continues from a checkpoint that is {ago} old: {since}, and no alert ends before its window has passed"
    );
    Ok(position)
}

impl ViewCheckpoints {
    /// Saves a checkpoint of the next view, if one is due. No checkpoint is saved while the previous one is being
    /// written.
    pub fn save_if_due(&mut self, monitor: &mut Monitor) -> Result<()> {
        let is_due = self.writer.is_some() && self.last.elapsed() >= self.pause(monitor.views());
        if is_due { self.save(monitor) } else { Ok(()) }
    }

    fn save(&mut self, monitor: &mut Monitor) -> Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        self.last = Instant::now();
        anyhow::ensure!(!writer.thread.is_finished(), "the checkpoint thread has stopped");
        if writer.is_writing.load(Relaxed) {
            // A slow disk may need longer than the short time between the first checkpoints.
            if !self.is_first_round {
                warn!(
                    "skipped a checkpoint: the previous one is still being written; set checkpoint to more than {:?}",
                    self.checkpoint
                );
            }
            return Ok(());
        }
        let at = self.next;
        self.next = (at + 1) % monitor.views();
        self.is_first_round &= self.next != 0;
        writer.save(at, monitor)
    }

    /// Returns the time between the checkpoints of two of `views` views.
    fn pause(&self, views: usize) -> Duration {
        let most = match (self.is_first_round, self.is_failing()) {
            (true, _) => FIRST,
            (false, true) => RETRY,
            (false, false) => Duration::MAX,
        };
        self.checkpoint.min(most) / views.max(1) as u32
    }

    /// Returns whether there is a state folder for checkpoints.
    pub fn are_kept(&self) -> bool {
        self.writer.is_some()
    }

    /// Returns whether the last checkpoint of at least one view could not be written.
    pub fn is_failing(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.is_failing.load(Relaxed))
    }

    /// Saves a last checkpoint of each view and waits until all are on disk.
    pub fn finish(self, monitor: &mut Monitor) -> Result<()> {
        let Some(writer) = self.writer else { return Ok(()) };
        for at in 0..monitor.views() {
            while writer.is_writing.load(Relaxed) && !writer.thread.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
            writer.save(at, monitor)?;
        }
        drop(writer.snapshots);
        writer.thread.join().ok().context("the checkpoint thread has stopped")
    }
}

impl Writer {
    fn start(mut checkpoints: Vec<Checkpoints>) -> Result<Self> {
        let (snapshots, next) = channel::<(usize, Snapshot)>();
        let is_writing = Arc::new(AtomicBool::new(false));
        let is_written = Arc::clone(&is_writing);
        let is_failing = Arc::new(AtomicBool::new(false));
        let has_failed = Arc::clone(&is_failing);
        let write = move || {
            let (mut failing, mut failing_views) = (OnChange::default(), BTreeSet::new());
            for (at, snapshot) in next {
                let saved = checkpoints[at].save(&snapshot);
                drop(snapshot);
                match &saved {
                    Ok(_) => failing_views.remove(&at),
                    Err(_) => failing_views.insert(at),
                };
                has_failed.store(!failing_views.is_empty(), Relaxed);
                is_written.store(false, Relaxed);
                let is_changed = failing.change_to(!failing_views.is_empty()).is_some();
                match saved {
                    Ok(_) if is_changed => info!("all checkpoints can be written again"),
                    Err(error) if is_changed => {
                        let error = anyhow::Error::from(error);
                        warn!("cannot write a checkpoint: {error:#}; the previous one is kept");
                    }
                    _ => {}
                }
            }
        };
        let thread = thread::Builder::new().name("checkpoints".to_owned()).spawn(write);
        Ok(Self {
            snapshots,
            is_writing,
            is_failing,
            thread: thread.context("cannot start the checkpoint thread")?,
        })
    }

    /// Passes a snapshot of the view with index `at` to the thread, which must be idle.
    fn save(&self, at: usize, monitor: &mut Monitor) -> Result<()> {
        let snapshot = monitor.snapshot(at)?;
        self.is_writing.store(true, Relaxed);
        self.snapshots.send((at, snapshot)).ok().context("the checkpoint thread has stopped")
    }
}

fn open_view(state: &Path, view: &str) -> Result<Checkpoints> {
    let folder = state.join("views").join(view);
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    Ok(Checkpoints::open(folder)?)
}

/// Returns the newest undamaged checkpoint of a detector with `params`. Returns `None` if there is no checkpoint, or if
/// the sizes or the seed have changed.
pub(crate) fn latest(
    checkpoints: &mut Checkpoints,
    params: &srlg_host::config::Params,
    view: &str,
) -> Result<Option<Snapshot>> {
    let latest = match checkpoints.latest(params) {
        Ok(latest) => latest,
        Err(error @ (HostError::OtherSizes { .. } | HostError::OtherSeed { .. })) => {
            warn!(
                "view {view} starts with an empty window because its sizes or its seed were changed: {error}"
            );
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    for damaged in latest.damaged {
        let why = anyhow::Error::from(damaged.why);
        warn!("a checkpoint is damaged and was kept as {}: {why:#}", damaged.path.display());
    }
    Ok(latest.snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a state folder with the views a and b.
    fn open(folder: &Path, checkpoint: &str) -> Continued {
        let view =
            |name| format!("[[view]]\nname = '{name}'\npairs = 10_000\nmemory = 1_000_000\n");
        let views = view("a") + &view("b");
        let text = format!("state = '{}'\ncheckpoint = '{checkpoint}'\n{views}", folder.display());
        Continued::open(&Config::parse(&text).unwrap()).unwrap()
    }

    #[test]
    fn all_views_have_a_checkpoint_soon_after_the_start_and_soon_after_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let Continued { mut checkpoints, mut monitor, .. } = open(folder.path(), "2h");
        assert_eq!(checkpoints.pause(2), Duration::from_secs(1));
        // Saves a checkpoint and returns the time until the next one, in seconds.
        let mut save = || {
            checkpoints.save(&mut monitor).unwrap();
            while checkpoints.writer.as_ref().unwrap().is_writing.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            checkpoints.pause(2).as_secs()
        };
        assert_eq!([save(), save(), save()], [1, 3_600, 3_600]);
        let [b, away] = ["b", "away"].map(|name| folder.path().join("views").join(name));
        fs::rename(&b, &away).unwrap();
        assert_eq!([save(), save()], [5, 5]);
        fs::rename(&away, &b).unwrap();
        assert_eq!(save(), 3_600);
    }

    #[test]
    fn a_view_fails_until_it_is_written_whichever_other_view_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut of = open(folder.path(), "10s");
        let mut is_failing_after = |at| {
            let writer = of.checkpoints.writer.as_ref().unwrap();
            writer.save(at, &mut of.monitor).unwrap();
            while writer.is_writing.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            of.checkpoints.is_failing()
        };
        let [b, away] = ["b", "away"].map(|name| folder.path().join("views").join(name));
        fs::rename(&b, &away).unwrap();
        assert_eq!([0, 1, 0].map(&mut is_failing_after), [false, true, true]);
        fs::rename(&away, &b).unwrap();
        assert_eq!([0, 1].map(&mut is_failing_after), [true, false]);
    }
}

//! The command `srlg probe`, which counts the traffic of one site and sends each slice to the broker.
//!
//! ```text
//! input --contacts--> ProbeSite --delta per slice--> Outbox (spool on disk) --> SlicePublisher --> broker
//!  [counting]          [sending] --report per slice--> [outbox], [spool] --> Reporter  [publish], [reporter]
//! ```
//!
//! A thread puts the slices into the outbox. Asynchronous tasks read them from the outbox and communicate with the
//! broker.
//!
//! Invariant: a slice is in the spool before it is sent. Until the collector has stored the slice, it is removed only
//! if its file is damaged, the spool is full or the network version changes. Therefore a slice can be sent again.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use srlg_input::InputOptions;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};

use crate::config::source::SourceOptions;
use crate::config::{Config, Task};
use crate::console::{Console, ReadConfig};
use crate::network::NetworkVersion;
use crate::network::connect::{Access, LinkState};
use crate::network::options::ProbeOptions;
use crate::service::Service;
use srlg_alerts::status::overview::ProbeOverview;
use srlg_alerts::witnesses::LOOK;
use srlg_notify::alert_store::AlertStore;
use srlg_notify::delivery::Delivery;
use srlg_system::pacing::Every;

mod counting;
mod description;
mod outbox;
mod pace;
mod publish;
mod reporter;
mod sending;
#[cfg(test)]
pub(crate) mod simulated;
mod site;
mod spool;

use counting::Counting;
use description::Description;
use outbox::Outbox;
use publish::SlicePublisher;
use reporter::Reporter;
use site::{ProbeSite, SiteOptions};
use spool::{Spool, SpoolLock};

/// Options of `srlg probe`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Configuration file with a `[probe]` table; a source given here overrides its `[input]`
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// Source of contacts.
    #[command(flatten)]
    pub source: SourceOptions,

    /// At the end of the input, wait until the collector has stored all slices
    #[arg(long)]
    pub wait_durable: bool,
}

/// A probe before its connection.
struct Start {
    options: ProbeOptions,
    lock: SpoolLock,
    folder: PathBuf,
    console: Console,
    wait_durable: bool,
}

/// Runs the probe until the whole input has been sent or a signal arrives.
pub fn run(args: &Args) -> Result<()> {
    let service = Arc::new(Service::new()?);
    let config = Config::read_with_source(&args.config, &args.source)?;
    let Task::Probe(options) = config.task.clone() else {
        bail!("cannot start a probe: {}", config.task.mismatch())
    };
    let state = config.general.state.as_deref();
    let state = state.context("cannot start a probe: without a state folder, slices would be lost; set state in the configuration")?;
    let folder = state.join(&options.name);
    let lock = SpoolLock::acquire(&folder)?;
    let (path, source) = (args.config.clone(), args.source.clone());
    let read: ReadConfig = Box::new(move || Config::read_with_source(&path, &source));
    // The disk is for the spool. The page needs only a database in memory.
    let delivery = Delivery::start(AlertStore::open(None)?, &[])?;
    let console = Console::open(config, delivery, Arc::clone(&service), Some(read))?;
    let start = Start { options, lock, folder, console, wait_durable: args.wait_durable };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the threads of the probe")?;
    let done = runtime.block_on(work(start, &service));
    // A lookup of the broker's name may be in progress, and it cannot be cancelled.
    runtime.shutdown_background();
    done
}

async fn work(start: Start, service: &Arc<Service>) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut outbox = None;
    tokio::select! {
        done = whole(start, service, &mut outbox) => {
            service.stopping();
            return done;
        }
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    service.stopping();
    let Some(outbox) = outbox else { return Ok(()) };
    outbox.stop();
    let (slices, acked) = (outbox.len(), outbox.acked_len());
    info!(
        "the probe has stopped: {slices} slices are in the spool, and the broker has acknowledged {acked} of them"
    );
    Ok(())
}

/// Runs the probe from the first connection to the last acknowledgement. Sets `started` to the outbox, so that the
/// caller can stop it.
async fn whole(
    start: Start,
    service: &Arc<Service>,
    started: &mut Option<Arc<Outbox>>,
) -> Result<()> {
    let Start { options, lock, folder, console, wait_durable } = start;
    let ProbeOptions { name, folder: keys, broker, keep, .. } = options.clone();
    let link = Access { folder: keys, broker }.connect(&name).await?;
    let mut description = Description::new(link.clone(), &folder);
    let version = description.first().await;
    let (spool, damaged) = Spool::open(lock, version.id)?;
    damaged.iter().for_each(|damage| warn!("{damage}"));
    if let Some(mark) = spool.mark() {
        info!("continuing after slice {mark}, the newest one in the spool {}", folder.display());
    }
    let (keep, is_live) = (keep.map(|keep| keep as usize), console.config.source.is_live());
    let service = Arc::clone(service);
    let outbox = Outbox::new(spool, &version, keep, is_live, move || service.alive());
    let outbox = Arc::new(outbox);
    *started = Some(Arc::clone(&outbox));
    let reporter = Reporter::new(link.clone(), &name, Arc::clone(&outbox)).await?;
    let state = link.state.clone();
    let publisher = SlicePublisher::new(link, &name, Arc::clone(&outbox)).await?;
    let (sender, versions) = watch::channel(version);
    let counted = start_counting(options, console, versions, Arc::clone(&outbox), state)?;
    let counting = async {
        counted
            .await
            .map_err(|_| anyhow!("the counting thread has panicked (this is a bug)"))??;
        outbox.end();
        Ok(())
    };
    let done = async { tokio::try_join!(counting, publisher.run(wait_durable)).map(drop) };
    tokio::select! {
        done = done => done,
        followed = description.follow(sender, is_live) => followed,
        reported = reporter.run() => reported,
    }
}

fn start_counting(
    probe: ProbeOptions,
    console: Console,
    versions: watch::Receiver<NetworkVersion>,
    outbox: Arc<Outbox>,
    link: watch::Receiver<LinkState>,
) -> Result<oneshot::Receiver<Result<()>>> {
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        // After a signal, no task waits for the result.
        let _nobody_waits = sender.send(count(probe, console, versions, outbox, link));
    };
    thread::Builder::new()
        .name("count".to_owned())
        .spawn(work)
        .context("cannot start the counting thread")?;
    Ok(receiver)
}

fn count(
    ProbeOptions { name, broker, pace, .. }: ProbeOptions,
    console: Console,
    versions: watch::Receiver<NetworkVersion>,
    outbox: Arc<Outbox>,
    link: watch::Receiver<LinkState>,
) -> Result<()> {
    let Config { source, general, names, .. } = &console.config;
    let source: InputOptions = source.clone();
    let options = SiteOptions {
        is_live: source.is_live(),
        pace,
        device: general.device,
        exporters: source.sockets.exporters.clone(),
        silent_after: general.silent_after,
        names: names.exporters.clone(),
    };
    let counting = Counting {
        site: ProbeSite::new(options, versions, Arc::clone(&outbox))?,
        manager: console.config.manager(),
        console,
        probe: ProbeOverview { name, broker, ..ProbeOverview::default() },
        outbox,
        link,
        input: srlg_input::Status::default(),
        look: Every::new(LOOK),
    };
    counting.run(&source)
}

//! The command `srlg probe`, which counts the traffic of one site and sends each slice to the broker.
//!
//! ```text
//! input --contacts--> ProbeSite --state per slice--> Outbox (spool on disk) --> SlicePublisher --> broker
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
use crate::network::connect::Access;
use crate::network::options::ProbeOptions;
use crate::service::{self, Service};
use srlg_alerts::exporters::ExporterNames;
use srlg_notify::alert_store::AlertStore;
use srlg_notify::delivery::Delivery;

mod counting;
mod counts;
mod description;
mod operator;
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
use operator::{Counted, Operator, Parts};
use outbox::Outbox;
use publish::SlicePublisher;
use reporter::Reporter;
use site::{ProbeSite, SiteOptions};
use spool::{Spool, SpoolLock};

/// Options of `srlg probe`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Configuration file with a `[probe]` table; a source given here replaces its `[input]`
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
    site: SiteOptions,
    source: InputOptions,
    /// Spool of the probe, in its state folder.
    folder: PathBuf,
    lock: SpoolLock,
    wait_durable: bool,
    parts: Arc<Parts>,
    counted: watch::Sender<Counted>,
    names: watch::Receiver<ExporterNames>,
}

/// Runs the probe until the whole input has been sent or a signal arrives.
pub fn run(args: &Args) -> Result<()> {
    let service = Service::new()?;
    let (config, options) = read(args)?;
    let state = config.general.state.as_deref();
    let state = state.context("cannot start a probe: without a state folder, slices would be lost; set state in the configuration")?;
    let folder = state.join(&options.name);
    let (parts, source) = (Arc::new(Parts::default()), config.source.clone());
    let (counted, counts) = watch::channel(Counted::default());
    let (naming, names) = watch::channel(config.names.exporters.clone());
    let start = Start {
        site: SiteOptions {
            is_live: source.is_live(),
            pace: options.pace,
            device: config.general.device,
            exporters: source.sockets.exporters.clone(),
            silent_after: config.general.silent_after,
        },
        source,
        lock: SpoolLock::acquire(&folder)?,
        folder,
        wait_durable: args.wait_durable,
        parts: Arc::clone(&parts),
        counted,
        names,
        options: options.clone(),
    };
    let again = args.clone();
    let again: ReadConfig = Box::new(move || Ok(read(&again)?.0));
    // The disk is for the spool. The page needs only a database in memory.
    let delivery = Delivery::start(AlertStore::open(None)?, &[])?;
    let console = Console::open(config, delivery, service, Some(again))?;
    let operator = Operator::new(console, options, Arc::clone(&parts), counts, naming);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the threads of the probe")?;
    let done = runtime.block_on(work(start, operator, &parts));
    service::stopping();
    // A lookup of the broker's name may be in progress, and it cannot be cancelled.
    runtime.shutdown_background();
    done
}

fn read(args: &Args) -> Result<(Config, ProbeOptions)> {
    let config = Config::read_with_source(&args.config, &args.source)?;
    let Task::Probe(options) = config.task.clone() else {
        bail!("cannot start a probe: {}", config.task.mismatch())
    };
    Ok((config, options))
}

async fn work(start: Start, operator: Operator, parts: &Parts) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        done = whole(start) => return done,
        never = operator.run() => match never {},
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let Some(outbox) = parts.outbox.get() else { return Ok(()) };
    outbox.stop();
    let (slices, acked) = (outbox.len(), outbox.acked_len());
    info!(
        "the probe has stopped: {slices} slices are in the spool, and the broker has acknowledged {acked} of them"
    );
    Ok(())
}

/// Runs the probe from the first connection to the last acknowledgement.
async fn whole(start: Start) -> Result<()> {
    let Start { options, site, source, folder, lock, parts, counted, names, .. } = start;
    let ProbeOptions { name, folder: keys, broker, keep, .. } = options;
    let link = Access { folder: keys, broker }.connect(&name).await?;
    parts.link.get_or_init(|| link.state.clone());
    let mut description = Description::new(link.clone(), &folder);
    let version = description.first().await;
    let (spool, damaged) = Spool::open(lock, version.id)?;
    damaged.iter().for_each(|damage| warn!("{damage}"));
    if let Some(mark) = spool.mark() {
        info!("continuing after slice {mark}, the newest one in the spool {}", folder.display());
    }
    let (keep, is_live) = (keep.map(|keep| keep as usize), site.is_live);
    let outbox = Arc::new(Outbox::new(spool, &version, keep, is_live));
    parts.outbox.get_or_init(|| Arc::clone(&outbox));
    let reporter = Reporter::new(link.clone(), &name, Arc::clone(&outbox)).await?;
    let publisher = SlicePublisher::new(link, &name, Arc::clone(&outbox)).await?;
    let (sender, versions) = watch::channel(version);
    let sink = Arc::clone(&outbox);
    let counted = on_thread(move || {
        let site = ProbeSite::new(site, versions, &names.borrow(), Arc::clone(&sink))?;
        Counting::new(site, sink, counted, names).run(&source)
    })?;
    let counting = async {
        counted
            .await
            .map_err(|_| anyhow!("the counting thread has panicked (this is a bug)"))??;
        outbox.end();
        Ok(())
    };
    let done = async { tokio::try_join!(counting, publisher.run(start.wait_durable)).map(drop) };
    tokio::select! {
        done = done => done,
        followed = description.follow(sender, is_live) => followed,
        reported = reporter.run() => reported,
    }
}

/// Runs `count` on a thread of its own.
fn on_thread(
    count: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<oneshot::Receiver<Result<()>>> {
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        // After a signal, no task waits for the result.
        let _nobody_waits = sender.send(count());
    };
    let thread = thread::Builder::new().name("count".to_owned()).spawn(work);
    thread.context("cannot start the counting thread")?;
    Ok(receiver)
}

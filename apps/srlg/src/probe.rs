//! The command `srlg probe`, which counts the traffic of one site and sends each slice to the broker.
//!
//! ```text
//! input --contacts--> ProbeSite --delta per slice--> Outbox (spool on disk) --> SlicePublisher --> broker
//!  [input]             [sending] --report per slice--> [outbox], [spool] --> Reporter  [publish], [reporter]
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
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use srlg_host::Device;
use srlg_input::Status;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};

use crate::config::parse_silence;
use crate::network::NetworkVersion;
use crate::network::connect::Access;

mod description;
mod input;
mod outbox;
mod pace;
mod publish;
mod reporter;
mod sending;
#[cfg(test)]
pub(crate) mod simulated;
mod site;
mod spool;

use description::Description;
use outbox::Outbox;
use publish::SlicePublisher;
use reporter::Reporter;
use sending::Totals;
use site::{ProbeSite, SiteOptions};
use spool::{Spool, SpoolLock};

/// Options of `srlg probe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of this probe, as listed in the network's configuration
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Connection to the broker.
    #[command(flatten)]
    pub access: Access,

    /// Folder for slices that the collector has not stored yet; each probe uses its own subfolder
    #[arg(long, value_name = "FOLDER", default_value = "spool")]
    pub spool: PathBuf,

    /// Maximum number of slices in the spool [default: the length of the longest window]
    #[arg(long, value_name = "SLICES", value_parser = clap::value_parser!(u32).range(2..))]
    pub keep: Option<u32>,

    /// Input of the probe.
    #[command(flatten)]
    pub input: input::Args,

    /// Pace of the slices: real, or a number of slices per second [default: as fast as the input can be read]
    #[arg(long, value_name = "real|N", conflicts_with_all = ["live", "listen", "interface", "url"])]
    pub pace: Option<pace::Pace>,

    /// Device to use: auto (the first GPU, else the CPU), cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value_t = Device::Cpu)]
    pub device: Device,

    /// Time without a datagram after which an exporter is silent [default: three times its longest pause in the last
    /// hour, but at least 15s]
    #[arg(long, value_name = "TIME", value_parser = parse_silence, conflicts_with_all = ["input", "interface"])]
    pub silent_after: Option<Duration>,

    /// At the end of the input, wait until the collector has stored all slices
    #[arg(long)]
    pub wait_durable: bool,
}

struct InputSummary {
    totals: Totals,
    status: Status,
}

/// Runs the probe until the whole input has been sent or a signal arrives.
pub fn run(args: Args) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the threads of the probe")?;
    let done = runtime.block_on(work(args));
    // A lookup of the broker's name may be in progress, and it cannot be cancelled.
    runtime.shutdown_background();
    done
}

async fn work(args: Args) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut outbox = None;
    tokio::select! {
        done = whole(args, &mut outbox) => return done,
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
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
async fn whole(args: Args, started: &mut Option<Arc<Outbox>>) -> Result<()> {
    let folder = args.spool.join(&args.name);
    let lock = SpoolLock::acquire(&folder)?;
    let link = args.access.connect(&args.name).await?;
    let mut description = Description::new(link.clone(), &folder);
    let version = description.first().await;
    let (spool, damaged) = Spool::open(lock, version.id)?;
    damaged.iter().for_each(|damage| warn!("{damage}"));
    if let Some(mark) = spool.mark() {
        info!("continuing after slice {mark}, the newest one in the spool {}", folder.display());
    }
    let keep = args.keep.map(|keep| keep as usize);
    let is_live = args.input.source.is_live();
    let outbox = Arc::new(Outbox::new(spool, &version, keep, is_live));
    *started = Some(Arc::clone(&outbox));
    let wait_durable = args.wait_durable;
    let reporter = Reporter::new(link.clone(), &args.name, Arc::clone(&outbox)).await?;
    let publisher = SlicePublisher::new(link, &args.name, Arc::clone(&outbox)).await?;
    let (sender, versions) = watch::channel(version);
    let measured = start_measuring(args, versions, Arc::clone(&outbox))?;
    let measuring = async {
        let measured = measured
            .await
            .map_err(|_| anyhow!("the measuring thread has panicked (this is a bug)"))??;
        outbox.end();
        log_summary(&measured);
        Ok(())
    };
    let done = async { tokio::try_join!(measuring, publisher.run(wait_durable)).map(drop) };
    tokio::select! {
        done = done => done,
        followed = description.follow(sender, is_live) => followed,
        reported = reporter.run() => reported,
    }
}

fn start_measuring(
    args: Args,
    versions: watch::Receiver<NetworkVersion>,
    outbox: Arc<Outbox>,
) -> Result<oneshot::Receiver<Result<InputSummary>>> {
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        let Args { pace, device, ref input, silent_after, .. } = args;
        let source = &input.source;
        let (is_live, exporters) = (source.is_live(), source.sockets.exporters.clone());
        let options = SiteOptions { is_live, pace, device, exporters, silent_after };
        let position = outbox.position();
        let site = ProbeSite::new(options, versions, outbox);
        let measured = site.and_then(|site| input.read(position, site));
        // After a signal, no task waits for the result.
        let _nobody_waits = sender.send(measured);
    };
    thread::Builder::new()
        .name("measure".to_owned())
        .spawn(work)
        .context("cannot start the measuring thread")?;
    Ok(receiver)
}

fn log_summary(summary: &InputSummary) {
    let InputSummary { totals, status } = summary;
    status.to_string().lines().for_each(|line| info!("{line}"));
    status.exporters.iter().for_each(|exporter| info!("exporter {exporter}"));
    info!("{totals}");
}

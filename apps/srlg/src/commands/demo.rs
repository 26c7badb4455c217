//! `srlg demo`: attacks over loopback, and whether each was told once, from start to end.
//!
//! Shape: a thread plays the attacks as exports to the monitor's own socket; this one is the monitor;
//! the verdict compares.

mod attacks;
mod exporter;

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::alerts::Status;
use anyhow::{Context, Result, ensure};
use srlg_host::config::random_seed;
use srlg_input::contact::IpNet;
use srlg_input::flow::ExportOptions;
use srlg_input::live::SocketOptions;
use srlg_input::{Event, Input, InputOptions};

use crate::config::{Config, General, Problems};
use crate::measure::monitor::Monitor;
use crate::notify::notice::Notice;
use crate::show::board::Board;
use crate::show::web::Web;
use attacks::{Attacks, PlantedAttack, name};

/// The least that the attacks, the window and the time after which alerts end need.
const LEAST_SECONDS: u64 = 20;

/// Options of `srlg demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Seconds of the demonstration, at least 20
    #[arg(long, value_name = "N", default_value_t = LEAST_SECONDS)]
    pub seconds: u64,

    /// File for the alerts, a line of JSON each
    #[arg(long, value_name = "FILE")]
    pub alerts: Option<PathBuf>,

    /// Address of the page
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub http: SocketAddr,

    /// Seed of the traffic
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Plays and watches.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        args.seconds >= LEAST_SECONDS,
        "--seconds is {}: give {LEAST_SECONDS} or more, which the attacks and their ends need",
        args.seconds
    );
    let mut file = args.alerts.as_ref().map(|path| {
        File::create(path).with_context(|| format!("cannot write to {}", path.display()))
    });
    let mut file = file.take().transpose()?;
    let config = config()?;
    let mut monitor = Monitor::new(&config, random_seed()?)?;
    let mut input = Input::open(&config.source)?;
    let to =
        *input.addresses().first().context("the monitor of the demonstration listens nowhere")?;
    let (boards, latest) = tokio::sync::watch::channel(Arc::new(Board::default()));
    let web = Web::start(args.http, false, latest)?;
    let attacks = Attacks::new(args.seed);
    let mut verdict = Verdict::new(attacks.planted());
    let mut out = io::stdout().lock();
    let memory = monitor.memory_bytes() as f64 / 1e6;
    writeln!(
        out,
        "an exporter sends NetFlow v9 to {to} for {} s; detectors take {memory:.1} MB",
        args.seconds
    )?;
    writeln!(out, "the page is at http://{}/", web.address())?;
    for planted in attacks.planted() {
        writeln!(out, "planted: {planted}")?;
    }
    writeln!(out)?;
    let length = Duration::from_secs(args.seconds);
    let exporter = exporter::start(attacks, to, length)?;
    let (started, mut told_ms) = (Instant::now(), 0);
    while started.elapsed() < length {
        match input.next_event()? {
            Some(Event::Contact(contact)) => monitor.take(&contact)?,
            Some(Event::Time(now_ns)) => monitor.pass(now_ns)?,
            Some(_) => {}
            None => break,
        }
        if monitor.now_ms() != told_ms {
            told_ms = monitor.now_ms();
            let board = Board {
                is_live: true,
                is_last_reload_good: true,
                ..monitor.board(&input.status())
            };
            boards.send_replace(Arc::new(board));
        }
        for notice in monitor.notices()? {
            let at = started.elapsed().as_secs_f64();
            writeln!(
                out,
                "{at:5.1} s  {:<6} {:<8} {}",
                notice.status, notice.severity, notice.text
            )?;
            if let Some(file) = &mut file {
                serde_json::to_writer(&mut *file, &notice)?;
                writeln!(file)?;
            }
            verdict.take(notice);
        }
    }
    exporter.join().ok().context("the exporter failed")??;
    let status = input.status();
    writeln!(out, "\n{status}")?;
    let is_right = verdict.print(&mut out)?;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// A monitor on loopback, with a short window.
fn config() -> Result<Config, Problems> {
    let loopback = Ipv4Addr::LOCALHOST;
    let source = InputOptions {
        sockets: SocketOptions {
            listen: vec![(loopback, 0).into()],
            exporters: vec![IpAddr::from(loopback).into()],
            ..SocketOptions::default()
        },
        decoding: ExportOptions { sampling: Some(NonZeroU32::MIN), ..ExportOptions::default() },
        ..InputOptions::default()
    };
    let general = General {
        inside: vec![
            IpNet::new_assert(Ipv4Addr::new(10, 0, 0, 0).into(), 8),
            IpNet::new_assert(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0).into(), 32),
        ],
        slice: Duration::from_millis(250),
        ..General::default()
    };
    Config::simple(source, general, 500, Duration::from_secs(5), Duration::from_secs(2))
}

/// Whether each attack was reported once, from start to end, and nothing else was.
struct Verdict {
    planted: Vec<(PlantedAttack, Vec<Notice>)>,
    others: Vec<Notice>,
}

impl Verdict {
    fn new(planted: Vec<PlantedAttack>) -> Self {
        let planted = planted.into_iter().map(|planted| (planted, Vec::new())).collect();
        Self { planted, others: Vec::new() }
    }

    fn take(&mut self, notice: Notice) {
        let subject = notice.network.unwrap_or_else(|| notice.host.into());
        let is_of = |(planted, _): &&mut (PlantedAttack, Vec<Notice>)| {
            planted.subject == subject && planted.view == notice.view
        };
        match self.planted.iter_mut().find(is_of) {
            Some((_, alerts)) => alerts.push(notice),
            None => self.others.push(notice),
        }
    }

    /// Prints the verdict; whether all is right.
    fn print(&self, out: &mut impl Write) -> io::Result<bool> {
        let mut is_right = self.others.is_empty();
        for (planted, alerts) in &self.planted {
            let of = |status| alerts.iter().filter(|alert| alert.status == status).count();
            let (starts, ends) = (of(Status::Start), of(Status::End));
            let is_one = alerts.iter().all(|alert| alert.id == alerts[0].id);
            let is_told = starts == 1 && ends == 1 && is_one;
            is_right &= is_told;
            let word = if is_told { "right" } else { "WRONG" };
            writeln!(out, "{word}: {}: {starts} start, {ends} end", name(planted.subject))?;
        }
        for other in &self.others {
            writeln!(out, "WRONG: {} of {} was not planted", other.status, other.subject())?;
        }
        Ok(is_right)
    }
}

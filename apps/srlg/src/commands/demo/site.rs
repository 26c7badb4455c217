//! The demonstration of one site: an exporter and a monitor in this process.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use srlg_host::config::random_seed;
use srlg_input::{Event, Input, Status};

use super::attacks::Attacks;
use super::verdict::Verdict;
use super::{GENERAL, RULE, announce, exporter};
use crate::config::Config;
use crate::measure::monitor::Monitor;
use srlg_alerts::status::overview::Overview;
use srlg_alerts::witnesses::LOOK;
use srlg_notify::store::Store;
use srlg_system::pacing::Every;
use srlg_web::recorder::Recorder;
use srlg_web::server::{Visitors, Web};

/// Length of a slice, shorter than the default, so that alerts start sooner.
const SLICE: &str = "slice = '250ms'\n";

const INPUT: &str = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\nsampling = 1\n";

/// Plays `attacks` to a monitor with a web page at `http`.
pub(super) fn play(
    attacks: Attacks,
    length: Duration,
    http: SocketAddr,
    verdict: &mut Verdict,
) -> Result<()> {
    let config = Config::parse(&[SLICE, GENERAL, INPUT, RULE].concat())?;
    let mut monitor = Monitor::new(&config, random_seed()?)?;
    let mut input = Input::open(&config.source)?;
    let to = *input.addresses().first().context("the monitor has no listen address")?;
    let (overviews, latest) = tokio::sync::watch::channel(Arc::new(Overview::default()));
    let store = Store::open(None)?;
    let mut recorder = Recorder::start(store.clone(), config.general.keep)?;
    let web = Web::start(http, Visitors::default(), latest, &store)?;
    let memory = monitor.memory_bytes() as f64 / 1e6;
    let what = format!("the detectors need {memory:.1} MB; an exporter sends NetFlow v9 to {to}");
    announce(&what, &format!("http://{}/", web.address()), length, &attacks)?;
    let exporter = exporter::start(attacks, &[to], length)?;
    let (started, mut shown_ms, mut look) = (Instant::now(), 0, Every::new(LOOK));
    let mut status = Status::default();
    while verdict.may_change(started.elapsed(), length) {
        match input.next_event()? {
            Some(Event::Contacts(contacts)) => {
                for contact in contacts {
                    monitor.ingest(contact)?;
                    take_notifications(&mut monitor, verdict, &store, started)?;
                }
            }
            Some(Event::SetForward { step, now_ns }) => monitor.set_forward(step, now_ns),
            Some(Event::Time(now_ns)) => {
                if look.is_due() {
                    status = input.status();
                    monitor.observe_input(&status, now_ns);
                }
                monitor.advance(now_ns)?;
            }
            Some(_) => {}
            None => break,
        }
        if monitor.now_ms() != shown_ms {
            shown_ms = monitor.now_ms();
            let overview =
                Overview { is_live: true, is_last_reload_good: true, ..monitor.overview(&status) };
            recorder.record(&overview);
            overviews.send_replace(Arc::new(overview));
        }
        take_notifications(&mut monitor, verdict, &store, started)?;
    }
    exporter.stop()?;
    writeln!(io::stdout(), "\n{}", input.status())?;
    Ok(())
}

fn take_notifications(
    monitor: &mut Monitor,
    verdict: &mut Verdict,
    store: &Store,
    started: Instant,
) -> Result<()> {
    let notifications = monitor.notifications()?;
    if notifications.is_empty() {
        return Ok(());
    }
    store.add(&notifications, &[])?;
    notifications
        .into_iter()
        .try_for_each(|notification| verdict.record(notification, started.elapsed()))
}

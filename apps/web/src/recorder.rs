//! Values per minute, which are taken from overviews and stored in the database for the charts.
//!
//! The main loop summarises the overviews of a minute and passes the result to a thread that writes it to disk. If the
//! thread is several minutes behind, the values of a minute are discarded, so that the loop never waits.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use tracing::warn;

use srlg_alerts::status::overview::Overview;
use srlg_notify::store::Store;
use srlg_notify::store::series::{MINUTE_MS, Minute, Series};
use srlg_system::pacing::LastError;

/// Maximum number of exporters whose rates are stored per minute. The exporters with the highest rates are chosen.
const EXPORTERS: usize = 100;

/// Maximum number of minutes in the queue between the main loop and the thread.
const QUEUE: usize = 4;

/// A recorder of chart values. When it is dropped, the running minute is stored without rates.
pub struct Recorder {
    minutes: Option<SyncSender<Minute>>,
    thread: Option<JoinHandle<()>>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    minute: u64,
    /// Largest values of each view so far in this minute.
    most: BTreeMap<Series, f64>,
    /// Counters on the first overview of the minute.
    first: Counters,
}

/// Counters of the input at one point in time. A collector has no counter of contacts, because the probes count the
/// contacts.
#[derive(Debug)]
struct Counters {
    now_ms: u64,
    contacts: Option<u64>,
    records: HashMap<IpAddr, u64>,
}

impl Counters {
    fn of(overview: &Overview) -> Self {
        let records = overview.exporters.iter().map(|it| (it.address, it.records)).collect();
        let contacts = overview.network.is_none().then_some(overview.input.contacts);
        Self { now_ms: overview.now_ms, contacts, records }
    }

    /// Returns the rates per second since `first`. A counter that was reset has no rate.
    fn rates(&self, first: &Self) -> Vec<(Series, f64)> {
        let seconds = self.now_ms.saturating_sub(first.now_ms) as f64 / 1e3;
        if seconds == 0.0 {
            return Vec::new();
        }
        let rate =
            |last: u64, first: u64| Some((last.checked_sub(first)? as f64 / seconds).round());
        let records = self.records.iter().filter_map(|(exporter, last)| {
            Some((Series::Records(*exporter), rate(*last, *first.records.get(exporter)?)?))
        });
        let mut rates: Vec<_> = records.collect();
        rates.sort_by(|a, b| b.1.total_cmp(&a.1));
        rates.truncate(EXPORTERS);
        let contacts = self.contacts.zip(first.contacts);
        let contacts = contacts.and_then(|(last, first)| rate(last, first));
        rates.extend(contacts.map(|rate| (Series::Contacts, rate)));
        rates
    }
}

impl Running {
    fn new(first: Counters) -> Self {
        Self { minute: first.now_ms / MINUTE_MS, most: BTreeMap::new(), first }
    }

    fn add(&mut self, overview: &Overview) {
        // A probe does not search for super points.
        let views = overview.views.iter().filter(|_| overview.probe.is_none());
        for view in views {
            let largest = view.top.first().map_or(0.0, |host| host.cardinality.round());
            for (series, value) in [
                (Series::SuperPoints(view.name.clone()), view.super_points as f64),
                (Series::Largest(view.name.clone()), largest),
            ] {
                let most = self.most.entry(series).or_default();
                *most = most.max(value);
            }
        }
    }
}

impl Recorder {
    /// Starts the thread that writes minutes to `store` and deletes them after `keep`.
    pub fn start(store: Store, keep: Duration) -> Result<Self> {
        let (minutes, queue) = sync_channel(QUEUE);
        let work = move || write(&store, keep, &queue);
        let thread = thread::Builder::new().name("series".to_owned()).spawn(work);
        let thread = thread.context("cannot start a thread")?;
        Ok(Self { minutes: Some(minutes), thread: Some(thread), running: None })
    }

    /// Adds an overview to the running minute. If the overview starts a new minute, the previous minute is stored.
    pub fn record(&mut self, overview: &Overview) {
        // The overview is empty before the first slice closes.
        if overview.now_ms == 0 {
            return;
        }
        if self.running.as_ref().is_none_or(|it| it.minute != overview.now_ms / MINUTE_MS) {
            let counters = Counters::of(overview);
            if let Some(running) = self.running.take() {
                let rates = counters.rates(&running.first);
                self.send(running, rates);
            }
            self.running = Some(Running::new(counters));
        }
        if let Some(running) = &mut self.running {
            running.add(overview);
        }
    }

    fn send(&self, Running { minute, most, .. }: Running, rates: Vec<(Series, f64)>) {
        let minute = Minute { minute, values: most.into_iter().chain(rates).collect() };
        if let Some(minutes) = &self.minutes
            && minutes.try_send(minute).is_err()
        {
            warn!("database too slow: one minute of chart data not stored");
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.send(running, Vec::new());
        }
        self.minutes.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been logged.
            let _joined = thread.join();
        }
    }
}

fn write(store: &Store, keep: Duration, queue: &Receiver<Minute>) {
    let (keep, mut last_error) = (keep.as_millis() as u64 / MINUTE_MS, LastError::default());
    while let Ok(minute) = queue.recv() {
        let (failure, recovery) = ("cannot store chart data", "chart data can be stored again");
        last_error.log(store.add_minute(minute, keep), failure, recovery);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_alerts::status::overview::{
        ExporterOverview, InputOverview, NetworkOverview, TopHost, ViewOverview,
    };
    use srlg_input::contact::Name;
    use srlg_notify::store::series::MinuteRange;

    fn overview(now_s: u64, super_points: usize, largest: f64, records: u64) -> Overview {
        let top = TopHost {
            host: Name::Address([192, 0, 2, 7].into()),
            label: None,
            cardinality: largest,
            std_error: 0.0,
            is_lower_bound: false,
            is_alert: false,
            line: Vec::new(),
        };
        let view = ViewOverview {
            name: "a".to_owned(),
            super_points,
            top: vec![top; super_points.min(1)],
            ..ViewOverview::default()
        };
        let exporter =
            ExporterOverview { records, ..ExporterOverview::new([198, 51, 100, 1].into()) };
        Overview {
            now_ms: now_s * 1_000,
            views: vec![view],
            input: InputOverview { contacts: 10 * records, ..InputOverview::default() },
            exporters: vec![exporter],
            ..Overview::default()
        }
    }

    #[test]
    fn minutes_have_the_largest_values_and_the_rates_of_their_overviews() {
        let store = Store::open(None).unwrap();
        let mut recorder = Recorder::start(store.clone(), Duration::from_secs(86_400)).unwrap();
        for (now_s, super_points, largest, records) in [
            (0, 9, 9.0, 0),
            (65, 1, 5.0, 1_000),
            (90, 3, 4.0, 1_500),
            (125, 0, 0.0, 7_000),
            // The counters of the exporter are reset.
            (180, 2, 8.0, 10),
            (200, 2, 6.4, 20),
        ] {
            recorder.record(&overview(now_s, super_points, largest, records));
        }
        drop(recorder);
        let range = MinuteRange { first: 0, last: 99, step: 1 };
        let values = |series: Series| store.values(&series, range).unwrap();
        let view = || "a".to_owned();
        assert_eq!(values(Series::SuperPoints(view())), [(1, 3.0), (2, 0.0), (3, 2.0)]);
        assert_eq!(values(Series::Largest(view())), [(1, 5.0), (2, 0.0), (3, 8.0)]);
        assert_eq!(values(Series::Records([198, 51, 100, 1].into())), [(1, 100.0)]);
        assert_eq!(values(Series::Contacts), [(1, 1_000.0)]);
    }

    #[test]
    fn a_network_has_no_contacts_of_its_own() {
        let network =
            Overview { network: Some(NetworkOverview::default()), ..overview(60, 1, 1.0, 1) };
        let first = Counters::of(&Overview { now_ms: 0, ..network.clone() });
        let rates = Counters::of(&network).rates(&first);
        assert!(rates.iter().all(|(series, _)| *series != Series::Contacts), "{rates:?}");
    }
}

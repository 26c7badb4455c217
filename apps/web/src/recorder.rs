//! Values per minute, which are taken from overviews and stored in the database for the charts. The same thread stores
//! the points of incidents.
//!
//! The main loop summarises the overviews of a minute and passes the result to a thread that writes it to disk. If the
//! thread is several minutes behind, the values of a minute are discarded, so that the loop never waits.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tracing::warn;

use srlg_alerts::status::overview::Overview;
use srlg_alerts::status::recent::Counters;
use srlg_notify::store::Store;
use srlg_notify::store::series::{MINUTE_MS, Minute, Series};
use srlg_system::pacing::LastError;

/// Minimum interval at which the points of incidents are stored.
const POINTS: Duration = Duration::from_secs(10);

/// Minimum time between two writes of points, as a multiple of the time that a write takes.
const SHARE: u32 = 5;

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

impl Running {
    fn new(overview: &Overview) -> Self {
        let (minute, first) = (overview.now_ms / MINUTE_MS, overview.counters());
        Self { minute, most: BTreeMap::new(), first }
    }

    /// Adds the counts of the minute's slices. A slice without data has no counts.
    fn add(&mut self, overview: &Overview) {
        let from_ms = (self.minute * MINUTE_MS).max(overview.recent.waited_ms() + 1);
        for view in &overview.views {
            let counts = view.recent.since(from_ms);
            for counts in counts.take_while(|it| it.time_ms / MINUTE_MS == self.minute) {
                for (series, value) in [
                    (Series::SuperPoints(view.name.clone()), counts.super_points as f64),
                    (Series::Largest(view.name.clone()), counts.largest),
                ] {
                    let most = self.most.entry(series).or_default();
                    *most = most.max(value);
                }
            }
        }
    }

    /// Returns the rates of the minute, which ends with `last`.
    fn rates(&self, last: &Counters) -> Vec<(Series, f64)> {
        let records = last.records_since(&self.first).into_iter();
        let records = records.map(|it| (Series::Records(it.exporter), it.rate));
        let contacts = last.contacts_since(&self.first);
        records.chain(contacts.map(|rate| (Series::Contacts, rate))).collect()
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
        if let Some(running) = &mut self.running {
            running.add(overview);
        }
        if self.running.as_ref().is_none_or(|it| it.minute != overview.now_ms / MINUTE_MS) {
            let mut next = Running::new(overview);
            next.add(overview);
            if let Some(running) = self.running.take() {
                let rates = running.rates(&next.first);
                self.send(running, rates);
            }
            self.running = Some(next);
        }
    }

    fn send(&self, Running { minute, most, .. }: Running, rates: Vec<(Series, f64)>) {
        let minute = Minute { minute, values: most.into_iter().chain(rates).collect() };
        if let Some(minutes) = &self.minutes
            && !minute.values.is_empty()
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

/// Writes minutes as they arrive, and the points of incidents every [`POINTS`], until the queue has no sender.
fn write(store: &Store, keep: Duration, queue: &Receiver<Minute>) {
    let keep = keep.as_millis() as u64 / MINUTE_MS;
    let mut last_errors = [LastError::default(), LastError::default()];
    let mut next = Instant::now() + POINTS;
    let mut is_running = true;
    while is_running {
        let [of_minutes, of_points] = &mut last_errors;
        match queue.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(minute) => {
                let (failure, recovery) =
                    ("cannot store chart data", "chart data can be stored again");
                of_minutes.log(store.add_minute(minute, keep), failure, recovery);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => is_running = false,
        }
        let begun = Instant::now();
        if begun >= next || !is_running {
            let (failure, recovery) = (
                "cannot store the charts of incidents",
                "the charts of incidents can be stored again",
            );
            of_points.log(store.store_points(), failure, recovery);
            // Many active alerts must not keep the disk busy.
            next = Instant::now() + POINTS.max(SHARE * begun.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_alerts::status::overview::{ExporterOverview, InputOverview, ViewOverview};
    use srlg_alerts::status::recent::{RecentCounts, RecentRates, SliceCounts};
    use srlg_notify::store::series::MinuteRange;

    const EXPORTER: [u8; 4] = [198, 51, 100, 1];

    /// Overviews of one view and one exporter.
    #[derive(Default)]
    struct Overviews {
        recent: RecentCounts,
    }

    impl Overviews {
        /// Returns the overview after the slice that ended at `now_s`. `counts` are the super points and the largest
        /// count, or `None` if the input is lost.
        fn next(&mut self, now_s: u64, counts: Option<(usize, f64)>, records: u64) -> Overview {
            let time_ms = now_s * 1_000;
            if let Some((super_points, largest)) = counts {
                self.recent.add(SliceCounts { time_ms, super_points, largest }, 1_000);
            }
            let view = ViewOverview {
                name: "a".to_owned(),
                recent: self.recent.clone(),
                ..ViewOverview::default()
            };
            Overview {
                now_ms: time_ms,
                slice_ms: 1_000,
                is_input_lost: counts.is_none(),
                views: vec![view],
                input: InputOverview { contacts: 10 * records, ..InputOverview::default() },
                exporters: vec![ExporterOverview {
                    records,
                    ..ExporterOverview::new(EXPORTER.into())
                }],
                ..Overview::default()
            }
        }
    }

    /// Returns the stored values of the super points, the largest counts, the records and the contacts.
    fn recorded(overviews: impl IntoIterator<Item = Overview>) -> [Vec<(u64, f64)>; 4] {
        let store = Store::open(None).unwrap();
        let mut recorder = Recorder::start(store.clone(), Duration::from_secs(86_400)).unwrap();
        overviews.into_iter().for_each(|overview| recorder.record(&overview));
        drop(recorder);
        let range = MinuteRange { first: 0, last: 99, step: 1 };
        [
            Series::SuperPoints("a".to_owned()),
            Series::Largest("a".to_owned()),
            Series::Records(EXPORTER.into()),
            Series::Contacts,
        ]
        .map(|series| store.values(&series, range).unwrap())
    }

    #[test]
    fn minutes_have_the_largest_values_and_the_rates_of_their_slices() {
        let mut overviews = Overviews::default();
        let overviews = [
            (0, 9, 9.0, 0),
            (65, 1, 5.0, 1_000),
            (90, 3, 4.0, 1_500),
            (125, 0, 0.0, 7_000),
            // The counters of the exporter are reset.
            (180, 2, 8.0, 10),
            (200, 2, 6.0, 20),
        ]
        .map(|(now_s, super_points, largest, records)| {
            overviews.next(now_s, Some((super_points, largest)), records)
        });
        let [super_points, largest, records, contacts] = recorded(overviews);
        assert_eq!(super_points, [(1, 3.0), (2, 0.0), (3, 2.0)]);
        assert_eq!(largest, [(1, 5.0), (2, 0.0), (3, 8.0)]);
        assert_eq!((records, contacts), (vec![(1, 100.0)], vec![(1, 1_000.0)]));
    }

    #[test]
    fn slices_that_close_between_two_overviews_count() {
        let mut overviews = Overviews::default();
        for (second, count) in [(61, 5.0), (62, 900.0), (119, 7.0), (120, 800.0)] {
            overviews.next(second, Some((1, count)), 0);
        }
        let overviews = [61, 121, 181].map(|second| overviews.next(second, Some((1, 6.0)), 0));
        // The first overview already has all counts, and the last one completes the second minute.
        assert_eq!(recorded(overviews)[1], [(1, 900.0), (2, 800.0), (3, 6.0)]);
    }

    #[test]
    fn a_minute_without_input_has_no_value_and_a_quiet_minute_has_0() {
        let mut overviews = Overviews::default();
        let slices = (60..=300).map(|second| {
            let is_lost = (115..245).contains(&second);
            // Records arrive in the first and in the last minute.
            let records = if second < 115 {
                60
            } else if second < 245 {
                115
            } else {
                second
            };
            overviews.next(second, (!is_lost).then_some((0, 0.0)), records)
        });
        let [super_points, largest, records, contacts] = recorded(slices);
        let known = |values: &[(u64, f64)]| values.iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(super_points, [(1, 0.0), (4, 0.0), (5, 0.0)]);
        assert_eq!(largest, super_points);
        assert_eq!((known(&records), known(&contacts)), (vec![1, 4], vec![1, 4]));
    }

    #[test]
    fn minutes_before_the_first_flows_have_no_values() {
        let mut overviews = Overviews::default();
        let mut recent = RecentRates::default();
        let slices = (60..=250).map(|second| {
            let is_waiting = second <= 200;
            let records = if is_waiting { 0 } else { second };
            let overview = overviews.next(second, Some((0, 0.0)), records);
            let overview = Overview { is_waiting, ..overview };
            recent.add(overview.counters(), overview.slice_ms);
            Overview { recent: recent.clone(), ..overview }
        });
        let [super_points, .., contacts] = recorded(slices);
        assert_eq!((super_points, contacts), (vec![(3, 0.0), (4, 0.0)], vec![(3, 40.0)]));
    }
}

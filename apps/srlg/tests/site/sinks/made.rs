//! Artificial notifications and the sinks that receive them.

use std::thread;
use std::time::{Duration, Instant};

use srlg_alerts::notification::{Context, Direction, Notification, OppositeCounts};
use srlg_alerts::status::overview::SinkOverview;
use srlg_alerts::{Alert, Condition, Rule, Sighting, Status, Terms, Tracker, Witnesses};
use srlg_notify::sinks::{SinkOptions, Sinks};
use srlg_notify::store::Store;

/// Returns the start and the end of one alert for each of `hosts` hosts. All starts come before all ends.
pub(crate) fn notifications(hosts: u16) -> Vec<Notification> {
    let terms = Terms { for_slices: 1, hold_ms: 0, ..Terms::default() };
    let windows = [(60, terms)].into();
    let rule = Rule { name: "r\"] x".to_owned(), networks: Vec::new(), windows };
    let mut tracker = Tracker::new("fan-in");
    let point = |host: u16| {
        let [high, low] = host.to_be_bytes();
        Sighting::new([10, high, low, 1].into(), 2_000.0, 10.0)
    };
    let points: Vec<Sighting> = (0..hosts).map(point).collect();
    let mut notifications = Vec::new();
    for (now_ms, points) in [(1_700_000_000_000, &points[..]), (1_700_000_060_000, &[])] {
        let sightings = [(60, points.to_vec())].into();
        let alerts = tracker.close(
            now_ms,
            &sightings,
            |_| Some(&rule),
            Condition::default(),
            |_, _| Witnesses::default(),
        );
        notifications.extend(alerts.into_iter().map(flood));
    }
    assert_eq!(
        notifications.iter().filter(|it| it.status == Status::End).count(),
        usize::from(hosts)
    );
    notifications
}

/// Returns the notification of `alert` as a flood of an inside host.
pub(crate) fn flood(alert: Alert) -> Notification {
    let context = Context {
        direction: Direction::FanIn,
        is_inside: true,
        slice_ms: 1_000,
        opposite: OppositeCounts { others: Some(1.0), ..OppositeCounts::default() },
        peers: vec![[192, 0, 2, 1].into()],
        ..Context::default()
    };
    Notification::new(alert, context)
}

pub(crate) fn sink(text: &str) -> SinkOptions {
    toml::from_str(text).unwrap()
}

/// A database, and sinks that receive all notifications in it.
pub(crate) struct Delivery {
    pub(crate) store: Store,
    sinks: Option<Sinks>,
}

impl Delivery {
    pub(crate) fn start(options: &[SinkOptions], store: &Store) -> Self {
        Self { store: store.clone(), sinks: Some(Sinks::start(options, store).unwrap()) }
    }

    /// Creates an in-memory database and starts one sink.
    pub(crate) fn new(text: &str) -> Self {
        Self::start(&[sink(text)], &Store::open(None).unwrap())
    }

    pub(crate) fn send(&self, notifications: &[Notification]) {
        self.store.add(notifications, &[]).unwrap();
        self.sinks.as_ref().unwrap().wake();
    }

    pub(crate) fn wait(&self, is: impl Fn(&SinkOverview) -> bool) -> SinkOverview {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let overview = self.sinks.as_ref().unwrap().overviews().remove(0);
            if is(&overview) {
                return overview;
            }
            assert!(Instant::now() < until, "{overview:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits up to `most` for the sinks to process all notifications. Then stops the sinks.
    pub(crate) fn finish(mut self, most: Duration) {
        self.sinks.take().unwrap().finish(most);
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some(sinks) = self.sinks.take() {
            sinks.finish(Duration::ZERO);
        }
    }
}

/// Returns whether the sink has sent or dropped notifications, and no notification is waiting.
pub(crate) fn is_done(overview: &SinkOverview) -> bool {
    overview.queue == 0 && overview.sent + overview.dropped > 0
}

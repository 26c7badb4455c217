//! Active alerts as the web page and the API show them: the last notification, updated with the counts after the last
//! slice.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::Severity;
use crate::notification::{Notification, NotifiedWindow, Rates};

/// An active alert.
///
/// The serialised form is the last notification with two additional fields, `notified_ms` and `line`. The fields `now_ms`
/// and `duration_ms`, and all counts and rates, are updated after each slice.
#[derive(Clone, Debug)]
pub struct OpenAlert {
    /// Last notification of the alert.
    pub notification: Arc<Notification>,
    /// Counts after the last slice. `None` until the first slice after the start of the program has closed.
    pub live: Option<LiveState>,
}

/// The counts of an active alert after a slice has closed.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveState {
    /// End of the slice, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Counts within all windows that have been active during the alert, in the order of [`Notification::windows`].
    pub windows: Vec<NotifiedWindow>,
    /// Number of peers within the main window after each of the last slices, oldest first.
    pub line: VecDeque<u32>,
    /// Packets and bits per second of the host.
    pub rates: Rates,
    /// Largest values of `rates` so far.
    pub peak_rates: Rates,
}

impl OpenAlert {
    /// Returns the last notification, updated with the counts after the last slice.
    #[must_use]
    pub fn notification_now(&self) -> Cow<'_, Notification> {
        let Some(live) = &self.live else { return Cow::Borrowed(&self.notification) };
        let mut notification = Notification::clone(&self.notification);
        notification.now_ms = live.now_ms;
        notification.duration_ms = live.now_ms.saturating_sub(notification.start_ms);
        notification.main = live.main().unwrap_or(notification.main);
        notification.windows.clone_from(&live.windows);
        notification.rates = live.rates;
        notification.raise_peak_rates(live.peak_rates);
        Cow::Owned(notification)
    }

    /// Returns the sort key of the alert. The most severe alerts come first, then those with the most peers, then the
    /// newest.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        let main = self.live.as_ref().and_then(LiveState::main).unwrap_or(self.notification.main);
        let severity: Severity = self.notification.severity;
        Reverse((severity, main.cardinality.round() as u64, self.notification.start_ms))
    }
}

impl LiveState {
    fn main(&self) -> Option<NotifiedWindow> {
        self.windows.first().copied()
    }
}

impl Serialize for OpenAlert {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            #[serde(flatten)]
            notification: &'a Notification,
            notified_ms: u64,
            line: Option<&'a VecDeque<u32>>,
        }
        Fields {
            notification: &self.notification_now(),
            notified_ms: self.notification.now_ms,
            line: self.live.as_ref().map(|live| &live.line),
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_last_slice_and_all_else_of_the_last_notification() {
        let notification = Notification::sample();
        let window = |cardinality| NotifiedWindow { cardinality, peak: 9e4, ..notification.main };
        let live = LiveState {
            now_ms: notification.now_ms + 1_000,
            windows: vec![window(7.0), window(8.0)],
            line: [5, 7].into(),
            rates: Rates { packets_per_second: Some(8), ..Rates::default() },
            peak_rates: Rates { bits_per_second: Some(u64::MAX), ..Rates::default() },
        };
        let notified = OpenAlert { notification: Arc::new(notification.clone()), live: None };
        let alert = OpenAlert { live: Some(live.clone()), ..notified.clone() };
        let now = alert.notification_now();
        assert_eq!((now.main, &now.windows), (window(7.0), &live.windows));
        assert_eq!(now.now_ms, live.now_ms);
        assert_eq!((now.rates, now.peak_rates), (live.rates, Some(live.peak_rates)));
        assert_eq!(now.duration_ms, live.now_ms - notification.start_ms);
        assert_eq!((&now.peers, &now.text), (&notification.peers, &notification.text));
        let json = serde_json::to_value(&alert).unwrap();
        assert_eq!(
            (&json["cardinality"], &json["notified_ms"]),
            (&7.0.into(), &notification.now_ms.into())
        );
        assert_eq!(json["line"], serde_json::json!([5, 7]));
        assert_eq!(*notified.notification_now(), notification);
        assert!(alert.rank() > notified.rank(), "alerts with fewer peers must come later");
    }
}

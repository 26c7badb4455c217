//! Incidents about which a simulated monitor sends notifications.

use srlg_alerts::notification::{Kind, Notification};
use srlg_alerts::{Severity, Status};
use srlg_cli::traffic::Traffic;

use crate::simulated::Simulated;

/// The start of an incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incident {
    pub(crate) view: String,
    pub(crate) host: String,
    /// Probable cause in the last notification.
    pub(crate) kind: Kind,
    /// Reflected protocol in the last notification.
    pub(crate) protocol: Option<String>,
    /// Whether sinks without a filter send any notification.
    pub(crate) is_sent: bool,
    /// Time from the first packet to the first notification, in seconds.
    pub(crate) after: u64,
}

/// A notification, and its time.
#[derive(Clone, Debug)]
pub(crate) struct Notified {
    /// Time since the first packet, in seconds.
    pub(crate) after: u64,
    pub(crate) notification: Notification,
}

impl Notified {
    pub(crate) fn subject(&self) -> (&str, String) {
        (self.notification.view.as_str(), self.notification.host.to_string())
    }

    /// Returns whether sinks without a filter send the notification.
    pub(crate) fn is_sent(&self) -> bool {
        self.notification.severity >= Severity::Warning
    }
}

/// A monitor that replays traffic.
pub(crate) struct Played {
    pub(crate) site: Simulated,
}

impl Played {
    /// Creates a monitor with the default configuration, except for its inside networks and `tables`.
    pub(crate) fn new(inside: &str, tables: &str) -> Self {
        Self::with_slice("1s", inside, tables)
    }

    /// Like [`new`](Self::new), but with slices of the length `slice`.
    pub(crate) fn with_slice(slice: &str, inside: &str, tables: &str) -> Self {
        // A replay does not depend on the speed of the machine.
        let config =
            format!("slice = '{slice}'\ninside = [{inside}]\n[input]\ninput = ['-']\n{tables}");
        Self { site: Simulated::new(&config, 1) }
    }

    /// Lets `seconds` seconds pass, with the traffic that `add` adds to each.
    pub(crate) fn pass(&mut self, seconds: u64, add: impl Fn(&mut Traffic, u64)) {
        for second in 0..seconds {
            self.site.pass_second(|traffic| add(traffic, second));
        }
    }

    /// Returns all notifications.
    pub(crate) fn notified(&self) -> impl Iterator<Item = Notified> {
        let start_ms = self.site.start_ms;
        self.site.notified.iter().cloned().map(move |notification| Notified {
            after: (notification.now_ms - start_ms) / 1_000,
            notification,
        })
    }

    /// Returns the incidents in the order of their starts.
    pub(crate) fn incidents(&self) -> Vec<Incident> {
        let starts = self.notified().filter(|it| it.notification.status == Status::Start);
        starts.map(|it| self.incident(&it)).collect()
    }

    fn incident(&self, Notified { after, notification: start }: &Notified) -> Incident {
        let of_incident = self.notified().filter(|it| it.notification.id == start.id);
        let of_incident: Vec<_> = of_incident.collect();
        let last = of_incident.last().map_or(start, |last| &last.notification);
        Incident {
            view: start.view.clone(),
            host: start.host.to_string(),
            kind: last.kind,
            protocol: last.protocol.clone(),
            is_sent: of_incident.iter().any(Notified::is_sent),
            after: *after,
        }
    }
}

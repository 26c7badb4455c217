//! Points of the series of a view's alerts.

use super::ViewAlerts;
use crate::notification::Rates;
use crate::series::{AlertPoint, OwnedPoint};
use crate::{Alert, Status};

/// Maximum number of points of alerts that wait until they are read.
const MOST_UNREAD: usize = 1 << 18;

impl ViewAlerts {
    /// Adds a point for each active alert, and for each of `alerts` that ends.
    pub(super) fn add_points(&mut self, alerts: &[Alert]) {
        let (now_ms, is_input_lost) = (self.now_ms(), self.is_input_lost);
        let point = |owner, count: f64| {
            let peers = (!is_input_lost).then_some(count.round() as u64);
            OwnedPoint { owner, point: AlertPoint { peers, ..AlertPoint::gap(now_ms) } }
        };
        let ended = alerts.iter().filter(|alert| alert.status == Status::End);
        let ended = ended.map(|alert| point(alert.id, alert.main().cardinality));
        let active = self.tracker.live_alerts().filter_map(|(_, id)| {
            let main = *self.tracker.live(id)?.windows.first()?;
            Some(point(id, main.cardinality))
        });
        let room = MOST_UNREAD.saturating_sub(self.points.len());
        self.points.extend(active.chain(ended).take(room));
    }

    /// Returns the points of alerts since the last call, in the order of their times.
    pub(crate) fn take_points(&mut self) -> Vec<OwnedPoint> {
        std::mem::take(&mut self.points)
    }

    /// Adds the rates of active alerts to their points of the last slice.
    pub(super) fn add_rates(&mut self) {
        let now_ms = self.now_ms();
        for OwnedPoint { owner, point } in self.points.iter_mut().rev() {
            if point.time_ms != now_ms {
                break;
            }
            let Rates { packets_per_second, bits_per_second, .. } =
                self.rates.get(owner).map(|rates| rates.now).unwrap_or_default();
            (point.packets_per_second, point.bits_per_second) =
                (packets_per_second, bits_per_second);
        }
    }
}

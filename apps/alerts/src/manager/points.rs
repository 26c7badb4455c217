//! Points of incidents, which are the points of their alerts while the incidents are active.

use std::collections::BTreeMap;

use crate::manager::AlertManager;
use crate::manager::view_alerts::ViewAlerts;
use crate::notification::Notification;
use crate::series::OwnedPoint;
use crate::{AlertId, Status};

/// Maximum number of points of incidents that wait until they are stored.
const MOST_WAITING: usize = 1 << 18;

impl AlertManager {
    /// Returns the points of incidents since the last call, in the order of their times.
    pub fn take_points(&mut self) -> Vec<OwnedPoint> {
        std::mem::take(&mut self.points)
    }

    /// Returns the length of a slice, in milliseconds.
    #[must_use]
    pub const fn slice_ms(&self) -> u64 {
        self.slice_ms
    }

    /// Assigns the points of alerts to their incidents. `notifications` are the notifications of the same slices. Alerts
    /// that are no incidents have no series.
    pub(super) fn collect_points(&mut self, notifications: &[Notification]) {
        let mut ended: BTreeMap<AlertId, Vec<&Notification>> = BTreeMap::new();
        for end in notifications.iter().filter(|it| it.status == Status::End) {
            ended.entry(end.alert_id()).or_default().push(end);
        }
        let mut points = Vec::new();
        for OwnedPoint { owner: alert, point } in
            self.by_view.iter_mut().flat_map(ViewAlerts::take_points)
        {
            let time_ms = point.time_ms;
            // If an incident ends because the cause has changed, the next one starts in the same slice.
            let ended = ended.get(&alert).into_iter().flatten();
            let ended = ended.filter(|end| (end.start_ms..=end.now_ms).contains(&time_ms));
            let incident = self.incidents.get(&alert).copied().unwrap_or(alert);
            let open = self.open.get(&incident).filter(|open| open.start_ms <= time_ms);
            let owners = ended.map(|end| end.id).chain(open.map(|open| open.id));
            points.extend(owners.map(|owner| OwnedPoint { owner, point }));
        }
        points.truncate(MOST_WAITING.saturating_sub(self.points.len()));
        self.points.append(&mut points);
    }
}

//! Actions that users request on the web page.

use anyhow::Result;
use tracing::warn;

use crate::publisher::Publisher;
use srlg_alerts::manager::AlertManager;
use srlg_notify::delivery::Delivery;

impl Publisher {
    /// Performs the actions that users requested on the web page, and answers the requests. `now_ms` is the time of the
    /// actions. Returns whether there were any requests. The notifications of closed slices must already be stored. If
    /// an older notification were stored after a user had closed its alert, the alert would become active again.
    pub fn take_orders(
        &self,
        delivery: &mut Delivery,
        manager: &mut AlertManager,
        now_ms: u64,
    ) -> Result<bool> {
        let mut has_any = false;
        while let Some(waiting) = self.next_order() {
            has_any = true;
            let order = &waiting.order;
            let ended = match manager.is_open(order.id) {
                true => Ok(None),
                false => delivery.store().last_of(order.id),
            };
            let ended = match ended {
                Ok(ended) => ended,
                Err(error) => {
                    // Dropping `waiting` answers the HTTP request with an error.
                    warn!("cannot look up alert {}: {error:#}", order.id);
                    continue;
                }
            };
            let outcome = manager.act(order, ended, now_ms);
            if let Ok(notification) = &outcome {
                delivery.deliver(manager, std::slice::from_ref(notification))?;
            }
            waiting.answer(outcome);
        }
        Ok(has_any)
    }
}

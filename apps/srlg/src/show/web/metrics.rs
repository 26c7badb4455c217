//! Metrics of the latest board in the Prometheus text format.
//!
//! Invariant: labels never contain the address or port of a host. The label `exporter` has at most 1,024 values.
//! The values of all other labels are fixed or are names from the configuration.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use metrics::{counter, gauge, with_local_recorder};
use metrics_exporter_prometheus::PrometheusBuilder;

use super::state::WebState;
use crate::status::board::{
    Board, BrokerBoard, DatagramCounts, ExporterBoard, MessageCounts, NetworkBoard, SinkBoard,
    SiteBoard, SpoolBoard, ViewBoard,
};
use crate::status::troubles::TroubleKind;

/// Maximum number of exporters that have their own metrics.
const EXPORTERS: usize = 1_024;

pub(super) async fn metrics(State(shared): State<WebState>) -> impl IntoResponse {
    // Each request uses a new recorder, so metrics of items that are no longer on the board disappear.
    let recorder = PrometheusBuilder::new().build_recorder();
    with_local_recorder(&recorder, || {
        record(&shared.board());
        for (reason, count) in shared.orders.denied() {
            counter!("srlg_http_denied_total", "reason" => reason).absolute(count);
        }
    });
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], recorder.handle().render())
}

fn record(board: &Board) {
    counter!("srlg_contacts_total").absolute(board.input.contacts);
    let DatagramCounts { received, refused, dropped } = board.input.datagrams;
    counter!("srlg_datagrams_total").absolute(received);
    for (reason, count) in [("sender", refused), ("kernel", dropped)] {
        counter!("srlg_dropped_total", "reason" => reason).absolute(count);
    }
    gauge!("srlg_memory_bytes").set(board.memory_bytes as f64);
    gauge!("srlg_input_lost").set(f64::from(u8::from(board.is_input_lost)));
    gauge!("srlg_last_slice_seconds").set(board.now_ms as f64 / 1e3);
    gauge!("srlg_config_last_reload_successful")
        .set(f64::from(u8::from(board.is_last_reload_good)));
    gauge!("srlg_config_last_reload_seconds").set(board.last_reload_ms as f64 / 1e3);
    gauge!("srlg_database_waiting_notices").set(board.waiting_notices as f64);
    gauge!("srlg_checkpoint_failing").set(f64::from(u8::from(board.is_checkpoint_failing)));
    board.views.iter().for_each(view);
    gauge!("srlg_live").set(f64::from(u8::from(board.is_live)));
    // This number includes exporters without their own metrics.
    gauge!("srlg_exporters").set(board.exporters.len() as f64);
    board.exporters.iter().take(EXPORTERS).for_each(exporter);
    for kind in TroubleKind::ALL {
        let active = board.troubles.iter().find(|trouble| trouble.kind == kind);
        let count = active.map_or(0, |trouble| trouble.count);
        gauge!("srlg_trouble", "reason" => kind.name()).set(count as f64);
    }
    board.sinks.iter().for_each(sink);
    board.broker.iter().for_each(broker);
    board.network.iter().for_each(network);
}

fn view(view: &ViewBoard) {
    let of = || view.name.clone();
    counter!("srlg_slices_total", "view" => of()).absolute(view.slices);
    counter!("srlg_overloads_total", "view" => of()).absolute(view.overloads);
    counter!("srlg_late_total", "view" => of()).absolute(view.late);
    counter!("srlg_too_late_total", "view" => of()).absolute(view.too_late);
    counter!("srlg_future_total", "view" => of()).absolute(view.future);
    counter!("srlg_allowed_total", "view" => of()).absolute(view.allowed);
    counter!("srlg_without_port_total", "view" => of()).absolute(view.without_port);
    gauge!("srlg_super_points", "view" => of()).set(view.super_points as f64);
    gauge!("srlg_left_out_hosts", "view" => of()).set(view.left_out as f64);
    gauge!("srlg_slice_close_seconds", "view" => of()).set(view.close_seconds);
    gauge!("srlg_health_load", "view" => of()).set(view.load);
    for (severity, count) in ["warning", "major", "critical"].into_iter().zip(view.alerts) {
        gauge!("srlg_alerts", "view" => of(), "severity" => severity).set(count as f64);
    }
    gauge!("srlg_unconfirmed_alerts", "view" => of()).set(view.unconfirmed as f64);
}

fn exporter(exporter: &ExporterBoard) {
    let of = || exporter.address.to_string();
    counter!("srlg_exporter_datagrams_total", "exporter" => of()).absolute(exporter.datagrams);
    counter!("srlg_records_total", "exporter" => of()).absolute(exporter.records);
    counter!("srlg_lost_total", "exporter" => of()).absolute(exporter.lost);
    gauge!("srlg_templates", "exporter" => of()).set(exporter.templates as f64);
    for kind in TroubleKind::ALL.into_iter().filter(|kind| kind.is_of_exporters()) {
        counter!("srlg_exporter_troubles_total", "exporter" => of(), "reason" => kind.name())
            .absolute(exporter.troubles.of(kind));
    }
    if let Some(since_ms) = exporter.waiting_since_ms {
        gauge!("srlg_exporter_waiting_since_seconds", "exporter" => of())
            .set(since_ms as f64 / 1e3);
    }
    if let Some(last_seen_ms) = exporter.last_seen_ms {
        gauge!("srlg_exporter_last_seen_seconds", "exporter" => of())
            .set(last_seen_ms as f64 / 1e3);
    }
    gauge!("srlg_exporter_silent", "exporter" => of()).set(f64::from(u8::from(exporter.is_silent)));
    gauge!("srlg_clock_skew_seconds", "exporter" => of()).set(exporter.skew_ms as f64 / 1e3);
    if let Some((_, rate)) = exporter.sampling.rates() {
        gauge!("srlg_sampling_rate", "exporter" => of()).set(f64::from(rate.get()));
    }
}

fn sink(sink: &SinkBoard) {
    let of = || sink.name.clone();
    for (result, count) in [("sent", sink.sent), ("failed", sink.failed), ("dropped", sink.dropped)]
    {
        counter!("srlg_notifications_total", "sink" => of(), "result" => result).absolute(count);
    }
    gauge!("srlg_sink_queue", "sink" => of()).set(sink.queue as f64);
    gauge!("srlg_sink_failing", "sink" => of()).set(f64::from(u8::from(sink.error.is_some())));
}

fn broker(board: &BrokerBoard) {
    counter!("srlg_broker_messages_total").absolute(board.messages);
    counter!("srlg_broker_expired_total").absolute(board.expired);
    counter!("srlg_broker_dropped_total").absolute(board.dropped);
    counter!("srlg_broker_retries_total").absolute(board.retries);
    for (reason, count) in &board.unused {
        counter!("srlg_broker_unused_total", "reason" => *reason).absolute(*count);
    }
    gauge!("srlg_broker_partitions").set(board.partitions as f64);
    gauge!("srlg_broker_lag_messages").set(board.lag as f64);
    gauge!("srlg_broker_failing").set(f64::from(u8::from(board.error.is_some())));
}

fn network(board: &NetworkBoard) {
    let set = |name: &'static str, value: u64| gauge!(name).set(value as f64);
    set("srlg_reading", board.is_reading.into());
    set("srlg_front_slice", board.front.unwrap_or(0));
    set("srlg_pending_bytes", board.pending_bytes as u64);
    set("srlg_stream_sequence", board.sequence);
    set("srlg_stream_unread_messages", board.unread);
    set("srlg_checkpoint_slice", board.checkpoint.unwrap_or(0));
    for (cause, count) in &board.closed {
        counter!("srlg_slices_closed_total", "cause" => *cause).absolute(*count);
    }
    for (reason, count) in &board.refused {
        counter!("srlg_refused_total", "reason" => *reason).absolute(*count);
    }
    board.sites.iter().for_each(site);
}

fn site(site: &SiteBoard) {
    let set = |name: &'static str, value: u64| {
        gauge!(name, "probe" => site.name.clone()).set(value as f64);
    };
    set("srlg_probe_newest_slice", site.newest.unwrap_or(0));
    set("srlg_probe_durable_slice", site.durable.unwrap_or(0));
    set("srlg_probe_silent", site.is_silent.into());
    set("srlg_probe_late", site.is_late.into());
    let MessageCounts { in_time, late, repeated, refused } = site.counts;
    let counts =
        [("in_time", in_time), ("late", late), ("repeated", repeated), ("refused", refused)];
    for (result, count) in counts {
        let of = site.name.clone();
        counter!("srlg_deltas_total", "probe" => of, "result" => result).absolute(count);
    }
    if let Some(SpoolBoard { slices, unsent, lost }) = site.spool {
        set("srlg_probe_spool_slices", slices);
        set("srlg_probe_spool_unsent_slices", unsent);
        counter!("srlg_probe_lost_slices_total", "probe" => site.name.clone()).absolute(lost);
    }
    if let Some(DatagramCounts { received, refused, dropped }) = site.datagrams {
        counter!("srlg_probe_datagrams_total", "probe" => site.name.clone()).absolute(received);
        for (reason, count) in [("sender", refused), ("kernel", dropped)] {
            let of = site.name.clone();
            counter!("srlg_probe_dropped_total", "probe" => of, "reason" => reason).absolute(count);
        }
    }
}

//! Metrics of the latest overview in the Prometheus text format.
//!
//! Invariant: labels never contain the address or port of a host. The label `exporter` has at most 1,024 values.
//! The values of all other labels are fixed or are names from the configuration.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use super::exposition::Exposition;
use super::state::WebState;
use srlg_alerts::Severity;
use srlg_alerts::status::overview::{
    BrokerOverview, DatagramCounts, ExporterOverview, MessageCounts, NetworkOverview, Overview,
    ProbeOverview, SinkOverview, SiteOverview, SpoolOverview, ViewOverview,
};
use srlg_alerts::status::problems::ProblemKind;
use srlg_input::live::CloseReason;

/// Maximum number of exporters that have their own metrics.
const EXPORTERS: usize = 1_024;

pub(super) async fn metrics(State(shared): State<WebState>) -> impl IntoResponse {
    let mut to = Exposition::default();
    overview(&mut to, &shared.overview());
    for (reason, count) in shared.orders.denied() {
        to.counter("srlg_http_denied_total", &[("reason", reason)], count);
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], to.to_string())
}

fn overview(to: &mut Exposition, overview: &Overview) {
    to.counter("srlg_contacts_total", &[], overview.input.contacts);
    let DatagramCounts { received, refused, dropped } = overview.input.datagrams;
    to.counter("srlg_datagrams_total", &[], received);
    for (reason, count) in [("sender", refused), ("kernel", dropped)] {
        to.counter("srlg_dropped_total", &[("reason", reason)], count);
    }
    if let Some(connections) = overview.input.connections {
        to.gauge("srlg_connections", &[], connections.open as f64);
        for reason in CloseReason::ALL {
            let count = connections.closed(reason);
            to.counter("srlg_connections_closed_total", &[("reason", reason.name())], count);
        }
    }
    to.gauge("srlg_memory_bytes", &[], overview.memory_bytes as f64);
    to.flag("srlg_input_lost", &[], overview.is_input_lost);
    to.gauge("srlg_last_slice_seconds", &[], overview.now_ms as f64 / 1e3);
    to.flag("srlg_config_last_reload_successful", &[], overview.is_last_reload_good);
    to.gauge("srlg_config_last_reload_seconds", &[], overview.last_reload_ms as f64 / 1e3);
    to.gauge("srlg_database_waiting_notifications", &[], overview.waiting_notifications as f64);
    to.flag("srlg_checkpoint_failing", &[], overview.is_checkpoint_failing);
    overview.views.iter().for_each(|it| view(to, it));
    // A probe does not search for super points.
    let searched = overview.views.iter().filter(|_| overview.probe.is_none());
    searched.for_each(|it| search(to, it));
    to.flag("srlg_live", &[], overview.is_live);
    // This number includes exporters without their own metrics.
    to.gauge("srlg_exporters", &[], overview.exporters.len() as f64);
    overview.exporters.iter().take(EXPORTERS).for_each(|it| exporter(to, it));
    for kind in ProblemKind::ALL {
        let active = overview.problems.iter().find(|problem| problem.kind == kind);
        let count = active.map_or(0, |problem| problem.count);
        to.gauge("srlg_problem", &[("reason", kind.name())], count as f64);
    }
    overview.sinks.iter().for_each(|it| sink(to, it));
    overview.broker.iter().for_each(|it| broker(to, it));
    overview.network.iter().for_each(|it| network(to, it));
    overview.probe.iter().for_each(|it| probe(to, it));
}

fn view(to: &mut Exposition, view: &ViewOverview) {
    let of = view.name.as_str();
    to.counter("srlg_slices_total", &[("view", of)], view.slices);
    to.counter("srlg_late_total", &[("view", of)], view.late);
    to.counter("srlg_too_late_total", &[("view", of)], view.too_late);
    to.counter("srlg_future_total", &[("view", of)], view.future);
    to.counter("srlg_allowed_total", &[("view", of)], view.allowed);
    to.counter("srlg_without_port_total", &[("view", of)], view.without_port);
}

fn search(to: &mut Exposition, view: &ViewOverview) {
    let of = view.name.as_str();
    to.counter("srlg_overloads_total", &[("view", of)], view.overloads);
    to.gauge("srlg_super_points", &[("view", of)], view.super_points as f64);
    to.gauge("srlg_left_out_hosts", &[("view", of)], view.left_out as f64);
    to.gauge("srlg_slice_close_seconds", &[("view", of)], view.close_seconds);
    to.gauge("srlg_health_load", &[("view", of)], view.load);
    to.gauge("srlg_health_share", &[("view", of)], view.share.into());
    for (severity, count) in Severity::ALL.into_iter().zip(view.alerts) {
        let severity = severity.to_string();
        to.gauge("srlg_alerts", &[("view", of), ("severity", &severity)], count as f64);
    }
    to.gauge("srlg_unconfirmed_alerts", &[("view", of)], view.unconfirmed as f64);
}

fn exporter(to: &mut Exposition, exporter: &ExporterOverview) {
    let of = &*exporter.address.to_string();
    to.counter("srlg_exporter_datagrams_total", &[("exporter", of)], exporter.datagrams);
    to.counter("srlg_records_total", &[("exporter", of)], exporter.records);
    if let Some(lost) = exporter.lost {
        to.counter("srlg_lost_total", &[("exporter", of)], lost);
    }
    to.gauge("srlg_templates", &[("exporter", of)], exporter.templates as f64);
    for kind in ProblemKind::ALL.into_iter().filter(|kind| kind.is_of_exporters()) {
        to.counter(
            "srlg_exporter_problems_total",
            &[("exporter", of), ("reason", kind.name())],
            exporter.problems.of(kind),
        );
    }
    if let Some(since_ms) = exporter.waiting_since_ms {
        to.gauge("srlg_exporter_waiting_since_seconds", &[("exporter", of)], since_ms as f64 / 1e3);
    }
    if let Some(last_seen_ms) = exporter.last_seen_ms {
        to.gauge("srlg_exporter_last_seen_seconds", &[("exporter", of)], last_seen_ms as f64 / 1e3);
    }
    to.flag("srlg_exporter_silent", &[("exporter", of)], exporter.is_silent);
    to.gauge("srlg_clock_skew_seconds", &[("exporter", of)], exporter.skew_ms as f64 / 1e3);
    if let Some((_, rate)) = exporter.sampling.rates() {
        to.gauge("srlg_sampling_rate", &[("exporter", of)], f64::from(rate.get()));
    }
}

fn sink(to: &mut Exposition, sink: &SinkOverview) {
    let of = sink.name.as_str();
    for (result, count) in [("sent", sink.sent), ("failed", sink.failed), ("dropped", sink.dropped)]
    {
        to.counter("srlg_notifications_total", &[("sink", of), ("result", result)], count);
    }
    to.gauge("srlg_sink_queue", &[("sink", of)], sink.queue as f64);
    to.gauge("srlg_sink_held", &[("sink", of)], sink.held as f64);
    to.flag("srlg_sink_failing", &[("sink", of)], sink.error.is_some());
}

fn broker(to: &mut Exposition, overview: &BrokerOverview) {
    to.counter("srlg_broker_messages_total", &[], overview.messages);
    to.counter("srlg_broker_expired_total", &[], overview.expired);
    to.counter("srlg_broker_dropped_total", &[], overview.dropped);
    to.counter("srlg_broker_retries_total", &[], overview.retries);
    for (reason, count) in &overview.unused {
        to.counter("srlg_broker_unused_total", &[("reason", reason)], *count);
    }
    to.gauge("srlg_broker_partitions", &[], overview.partitions as f64);
    to.gauge("srlg_broker_lag_messages", &[], overview.lag as f64);
    to.flag("srlg_broker_failing", &[], overview.error.is_some());
}

fn network(to: &mut Exposition, overview: &NetworkOverview) {
    let mut set = |name, value: u64| to.gauge(name, &[], value as f64);
    set("srlg_reading", overview.is_reading.into());
    set("srlg_front_slice", overview.front.unwrap_or(0));
    set("srlg_pending_bytes", overview.pending_bytes as u64);
    set("srlg_stream_sequence", overview.sequence);
    set("srlg_stream_unread_messages", overview.unread);
    set("srlg_checkpoint_slice", overview.checkpoint.unwrap_or(0));
    for (cause, count) in &overview.closed {
        to.counter("srlg_slices_closed_total", &[("cause", cause)], *count);
    }
    for (reason, count) in &overview.refused {
        to.counter("srlg_refused_total", &[("reason", reason)], *count);
    }
    overview.sites.iter().for_each(|it| site(to, it));
}

fn probe(to: &mut Exposition, probe: &ProbeOverview) {
    let of = probe.name.as_str();
    to.flag("srlg_probe_connected", &[("probe", of)], probe.is_connected);
    to.counter("srlg_probe_sent_bytes_total", &[("probe", of)], probe.sent_bytes);
    progress(to, of, probe.newest, probe.durable);
    spool(to, of, probe.spool);
}

fn progress(to: &mut Exposition, probe: &str, newest: Option<u64>, durable: Option<u64>) {
    let mut set = |name, value: Option<u64>| {
        to.gauge(name, &[("probe", probe)], value.unwrap_or(0) as f64);
    };
    set("srlg_probe_newest_slice", newest);
    set("srlg_probe_durable_slice", durable);
}

fn spool(to: &mut Exposition, probe: &str, spool: SpoolOverview) {
    let SpoolOverview { slices, unsent, lost } = spool;
    to.gauge("srlg_probe_spool_slices", &[("probe", probe)], slices as f64);
    to.gauge("srlg_probe_spool_unsent_slices", &[("probe", probe)], unsent as f64);
    to.counter("srlg_probe_lost_slices_total", &[("probe", probe)], lost);
}

fn site(to: &mut Exposition, site: &SiteOverview) {
    let of = site.name.as_str();
    progress(to, of, site.newest, site.durable);
    let mut set = |name, value: u64| to.gauge(name, &[("probe", of)], value as f64);
    set("srlg_probe_silent", site.is_silent.into());
    set("srlg_probe_late", site.is_late.into());
    set("srlg_probe_input_lost", site.is_input_lost.into());
    let MessageCounts { in_time, late, repeated, refused } = site.counts;
    let counts =
        [("in_time", in_time), ("late", late), ("repeated", repeated), ("refused", refused)];
    for (result, count) in counts {
        to.counter("srlg_probe_messages_total", &[("probe", of), ("result", result)], count);
    }
    site.spool.iter().for_each(|it| spool(to, of, *it));
    if let Some(DatagramCounts { received, refused, dropped }) = site.datagrams {
        to.counter("srlg_probe_datagrams_total", &[("probe", of)], received);
        for (reason, count) in [("sender", refused), ("kernel", dropped)] {
            to.counter("srlg_probe_dropped_total", &[("probe", of), ("reason", reason)], count);
        }
    }
}

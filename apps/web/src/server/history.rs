//! The API for stored data: incidents and their series, hosts, and values per minute.
//!
//! Queries run in separate threads. They use a read-only connection if the database is on disk. If an active alert is
//! not stored, for example because the disk is full, it is taken from the overview.

use std::net::IpAddr;

use anyhow::Result;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::recent::Values;
use super::responses::{error, refuse};
use super::state::WebState;
use srlg_alerts::AlertId;
use srlg_alerts::notification::Notification;
use srlg_alerts::open::OpenAlert;
use srlg_alerts::series::AlertSeries;
use srlg_alerts::status::overview::TopHost;
use srlg_notify::store::Store;
use srlg_notify::store::history::{Incident, IncidentFilter};
use srlg_notify::store::series::{MINUTE_MS, MinuteRange, Series};
use srlg_system::now_ms;

/// Default number of incidents in a response.
const INCIDENTS: usize = 200;

const MOST_INCIDENTS: usize = 1_000;

/// Approximate maximum number of values per series in a response: one for each minute of a day.
const MOST_VALUES: u64 = 1_440;

/// Default length of a series, in milliseconds.
const HOUR_MS: u64 = 3_600_000;

/// A page of incidents, newest first.
#[derive(Debug, Serialize)]
struct IncidentPage {
    incidents: Vec<Incident>,
    /// Value of the parameter `before` that requests the next page, if there is one.
    next: Option<i64>,
}

impl IncidentPage {
    fn read(store: &Store, filter: &IncidentFilter) -> Result<Self> {
        let limit = filter.limit.unwrap_or(INCIDENTS);
        // One more incident is read to find out whether there is another page.
        let filter = IncidentFilter { limit: Some(limit + 1), ..filter.clone() };
        let mut incidents = store.incidents(&filter)?;
        let has_more = incidents.len() > limit;
        incidents.truncate(limit);
        let next = incidents.last().map(|last| last.first).filter(|_| has_more);
        Ok(Self { incidents, next })
    }
}

/// Runs `work` in a separate thread and responds with its result.
async fn read<T: Serialize + Send + 'static>(
    shared: &WebState,
    work: impl FnOnce(&Store) -> Result<T> + Send + 'static,
) -> Response {
    let store = shared.store.clone();
    match spawn_blocking(move || work(&store)).await {
        Ok(Ok(found)) => Json(found).into_response(),
        Ok(Err(failure)) => error(StatusCode::INTERNAL_SERVER_ERROR, &format!("{failure:#}")),
        Err(failure) => error(StatusCode::INTERNAL_SERVER_ERROR, &failure.to_string()),
    }
}

pub(super) async fn incidents(
    State(shared): State<WebState>,
    asked: Result<Query<IncidentFilter>, QueryRejection>,
) -> Response {
    let usage = "/api/v1/incidents?from=MS&to=MS&host=ADDRESS&network=CIDR&label=TEXT&view=NAME&port=PORT&kind=KIND&severity=SEVERITY&limit=N&before=N";
    let filter = match asked {
        Ok(Query(filter)) => filter,
        Err(refused) => return refuse(refused.body_text(), usage),
    };
    if filter.limit.is_some_and(|limit| !(1..=MOST_INCIDENTS).contains(&limit)) {
        return refuse(format!("limit: must be between 1 and {MOST_INCIDENTS}"), usage);
    }
    read(&shared, move |store| IncidentPage::read(store, &filter)).await
}

#[derive(Debug, Serialize)]
pub(super) struct IncidentDetail {
    /// Alert with its counts after the last slice, or `None` if the alert is not active.
    alert: Option<OpenAlert>,
    /// Notifications of the incident, oldest first. There is at least one.
    pub(super) notifications: Vec<Notification>,
    can_act: bool,
}

pub(super) async fn incident(
    State(shared): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
) -> Response {
    let usage = "/api/v1/incidents/ID";
    with_incident(shared, asked, usage, |incident| Json(incident).into_response()).await
}

/// Reads the requested incident and responds with the result of `work`.
pub(super) async fn with_incident(
    shared: WebState,
    asked: Result<Path<String>, PathRejection>,
    usage: &str,
    work: impl FnOnce(IncidentDetail) -> Response,
) -> Response {
    match find(&shared, asked, usage).await {
        Ok(incident) => work(incident),
        Err(refused) => refused,
    }
}

/// The series of an incident, as columns. A missing value is null.
#[derive(Debug, Serialize)]
struct SeriesColumns {
    /// Length of the longest interval, in milliseconds. A value is the maximum over its interval.
    step_ms: u64,
    /// Starts of the intervals, in milliseconds since the Unix epoch.
    times_ms: Vec<u64>,
    /// Number of peers within the main window. It is null if the input was lost or no slice closed.
    peers: Vec<Option<u64>>,
    packets_per_second: Vec<Option<u64>>,
    bits_per_second: Vec<Option<u64>>,
}

impl SeriesColumns {
    fn of(series: &AlertSeries) -> Self {
        Self {
            step_ms: series.step_ms(),
            times_ms: series.points().map(|point| point.time_ms).collect(),
            peers: series.points().map(|point| point.peers).collect(),
            packets_per_second: series.points().map(|point| point.packets_per_second).collect(),
            bits_per_second: series.points().map(|point| point.bits_per_second).collect(),
        }
    }
}

pub(super) async fn incident_series(
    State(shared): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
) -> Response {
    let usage = "/api/v1/incidents/ID/series";
    with_series(&shared, asked, usage, |_, series| Json(SeriesColumns::of(series)).into_response())
        .await
}

/// Reads the series of the requested incident and responds with the result of `work`.
pub(super) async fn with_series(
    shared: &WebState,
    asked: Result<Path<String>, PathRejection>,
    usage: &str,
    work: impl FnOnce(AlertId, &AlertSeries) -> Response,
) -> Response {
    let id = match find(shared, asked, usage).await {
        // An incident that was found has notifications.
        Ok(incident) => incident.notifications.first().map(|first| first.id),
        Err(refused) => return refused,
    };
    let Some(id) = id else { return StatusCode::NOT_FOUND.into_response() };
    let store = shared.store.clone();
    match spawn_blocking(move || store.alert_series(id)).await {
        Ok(Ok(series)) => work(id, &series),
        Ok(Err(failure)) => error(StatusCode::INTERNAL_SERVER_ERROR, &format!("{failure:#}")),
        Err(failure) => error(StatusCode::INTERNAL_SERVER_ERROR, &failure.to_string()),
    }
}

/// Returns the requested incident, or the response that refuses the request.
async fn find(
    shared: &WebState,
    asked: Result<Path<String>, PathRejection>,
    usage: &str,
) -> Result<IncidentDetail, Response> {
    let id: AlertId = match asked.map(|Path(id)| id.parse()) {
        Ok(Ok(id)) => id,
        Ok(Err(reason)) => return Err(refuse(reason, usage)),
        Err(refused) => return Err(refuse(refused.body_text(), usage)),
    };
    let failed = |text: &str| error(StatusCode::INTERNAL_SERVER_ERROR, text);
    let overview = shared.overview();
    let can_act = overview.can_act;
    let alert = overview.alerts.iter().find(|alert| alert.notification.id == id).cloned();
    let store = shared.store.clone();
    let found = spawn_blocking(move || store.notifications_of(id)).await;
    let notifications = match found {
        Ok(Ok(notifications)) => notifications,
        Ok(Err(failure)) => return Err(failed(&format!("{failure:#}"))),
        Err(failure) => return Err(failed(&failure.to_string())),
    };
    let mut notifications: Vec<Notification> =
        notifications.into_iter().map(|(_, notification)| notification).collect();
    if let Some(alert) = alert.as_ref().filter(|_| notifications.is_empty()) {
        notifications.push(Notification::clone(&alert.notification));
    }
    if notifications.is_empty() {
        let text = format!(
            "incident {id} not found; it may be older than the retention time of notifications"
        );
        return Err(error(StatusCode::NOT_FOUND, &text));
    }
    Ok(IncidentDetail { alert, notifications, can_act })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostQuery {
    view: Option<String>,
}

#[derive(Debug, Serialize)]
struct HostDetail {
    host: IpAddr,
    /// Counts after the last slice, from views whose largest hosts include the host or a network that contains it.
    counts: Vec<HostCount>,
    /// Active alerts of the host and of networks that contain it.
    alerts: Vec<OpenAlert>,
    can_act: bool,
    #[serde(flatten)]
    page: IncidentPage,
}

#[derive(Debug, Serialize)]
struct HostCount {
    view: String,
    #[serde(flatten)]
    count: TopHost,
}

pub(super) async fn host(
    State(shared): State<WebState>,
    path: Result<Path<String>, PathRejection>,
    asked: Result<Query<HostQuery>, QueryRejection>,
) -> Response {
    let usage = "/api/v1/hosts/ADDRESS?view=NAME";
    let host = match path.map(|Path(host)| host.parse::<IpAddr>().map_err(|_| host)) {
        Ok(Ok(host)) => host.to_canonical(),
        Ok(Err(host)) => return refuse(format!("{host:?} is not an IP address"), usage),
        Err(refused) => return refuse(refused.body_text(), usage),
    };
    let view = match asked {
        Ok(Query(HostQuery { view })) => view,
        Err(refused) => return refuse(refused.body_text(), usage),
    };
    let overview = shared.overview();
    if let Some(view) = &view
        && let Err(unknown) = overview.view(view)
    {
        return error(StatusCode::NOT_FOUND, &unknown.to_string());
    }
    let is_asked = |name: &str| view.as_deref().is_none_or(|view| view == name);
    let views = overview.views.iter().filter(|view| is_asked(&view.name));
    let counts = views.flat_map(|view| {
        let is_host =
            |top: &&TopHost| top.host.network().is_some_and(|network| network.contains(&host));
        let view_name = &view.name;
        let count = |count: &TopHost| HostCount { view: view_name.clone(), count: count.clone() };
        view.top.iter().filter(is_host).map(count)
    });
    let counts = counts.collect();
    let is_about = |alert: &&OpenAlert| {
        let notification = &alert.notification;
        let network = notification.host.network();
        is_asked(&notification.view) && network.is_some_and(|network| network.contains(&host))
    };
    let alerts = overview.alerts.iter().filter(is_about).cloned().collect();
    let can_act = overview.can_act;
    let filter = IncidentFilter { host: Some(host), view, ..IncidentFilter::default() };
    read(&shared, move |store| {
        let page = IncidentPage::read(store, &filter)?;
        Ok(HostDetail { host, counts, alerts, can_act, page })
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeriesQuery {
    view: Option<String>,
    exporter: Option<IpAddr>,
    from: Option<u64>,
    to: Option<u64>,
}

/// The values of a period, one for each step of minutes.
#[derive(Debug, Serialize)]
struct PeriodValues {
    #[serde(flatten)]
    steps: Values,
    /// Values of the slices of the last ten minutes.
    recent: Values,
}

pub(super) async fn series(
    State(shared): State<WebState>,
    asked: Result<Query<SeriesQuery>, QueryRejection>,
) -> Response {
    let usage = "/api/v1/series?view=NAME&exporter=ADDRESS&from=MS&to=MS";
    let SeriesQuery { view, exporter, from, to } = match asked {
        Ok(Query(asked)) => asked,
        Err(refused) => return refuse(refused.body_text(), usage),
    };
    let overview = shared.overview();
    if let Some(view) = &view
        && let Err(unknown) = overview.view(view)
    {
        return error(StatusCode::NOT_FOUND, &unknown.to_string());
    }
    let to = to.unwrap_or(if overview.is_live { now_ms() } else { overview.now_ms });
    let from = from.unwrap_or(to.saturating_sub(HOUR_MS));
    if from > to {
        return refuse(
            format!("from must not be later than to, got from={from} and to={to}"),
            usage,
        );
    }
    let range = MinuteRange::new(from / MINUTE_MS, to / MINUTE_MS, MOST_VALUES);
    // A step must not be shorter than a slice.
    let range =
        MinuteRange { step: range.step.max(overview.slice_ms.div_ceil(MINUTE_MS)), ..range };
    let of_view = view.as_deref().and_then(|view| overview.view(view).ok());
    let recent = Values::recent(&overview, of_view, exporter, from, to);
    read(&shared, move |store| {
        let all = |series: Option<Series>| series.map(|it| spread(store, &it, range)).transpose();
        let steps = Values {
            start_ms: range.first / range.step * range.step * MINUTE_MS,
            step_ms: range.step * MINUTE_MS,
            contacts: spread(store, &Series::Contacts, range)?,
            super_points: all(view.clone().map(Series::SuperPoints))?,
            largest: all(view.map(Series::Largest))?,
            records: all(exporter.map(Series::Records))?,
        };
        Ok(PeriodValues { steps, recent })
    })
    .await
}

/// Returns one value of `series` for each step of `range`, or `None` for a step without a value.
fn spread(store: &Store, series: &Series, range: MinuteRange) -> Result<Vec<Option<f64>>> {
    let MinuteRange { first, last, step } = range;
    let mut values = vec![None; (last / step - first / step) as usize + 1];
    for (minute, value) in store.values(series, range)? {
        if let Some(slot) = values.get_mut((minute / step - first / step) as usize) {
            *slot = Some(value);
        }
    }
    Ok(values)
}

//! The API of what the database has: incidents, hosts and the values of each minute.
//!
//! Shape: queries run in a thread of their own, by a connection that reads. What is not in the database yet, because its
//! disk is full, is on the board.

use std::fmt::Display;
use std::net::IpAddr;

use anyhow::Result;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::api::{WebState, error};
use crate::alerts::AlertId;
use crate::notify::notice::Notice;
use crate::notify::store::Store;
use crate::notify::store::history::{Incident, IncidentFilter};
use crate::notify::store::series::{MINUTE_MS, MinuteRange, Series};
use crate::now_ms;
use crate::show::board::TopHost;
use crate::show::open::OpenAlert;

/// Incidents of one answer, where the request asks for no other number.
const INCIDENTS: usize = 200;

/// The most incidents of one answer.
const MOST_INCIDENTS: usize = 1_000;

/// The most values of a series in one answer: a day by the minute.
const MOST_VALUES: u64 = 1_440;

/// The time before now of which values are sent, where the request names no other.
const HOUR_MS: u64 = 3_600_000;

/// A page of incidents, the one that started last first.
#[derive(Debug, Serialize)]
struct IncidentPage {
    incidents: Vec<Incident>,
    /// Value of `before` for the incidents after these, if there are more.
    next: Option<i64>,
}

impl IncidentPage {
    fn read(store: &Store, filter: &IncidentFilter) -> Result<Self> {
        let limit = filter.limit.unwrap_or(INCIDENTS);
        // One more says whether there are more.
        let filter = IncidentFilter { limit: Some(limit + 1), ..filter.clone() };
        let mut incidents = store.incidents(&filter)?;
        let has_more = incidents.len() > limit;
        incidents.truncate(limit);
        let next = incidents.last().map(|last| last.first).filter(|_| has_more);
        Ok(Self { incidents, next })
    }
}

/// Refuses a request that cannot be read, and says how to ask.
fn refuse(reason: impl Display, usage: &str) -> Response {
    let reason = reason.to_string();
    let reason = reason.strip_prefix("Failed to deserialize query string: ").unwrap_or(&reason);
    error(StatusCode::BAD_REQUEST, &format!("{reason}: ask as {usage}"))
}

/// Answers by what `work` reads.
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
        return refuse(format!("limit: give 1 to {MOST_INCIDENTS}"), usage);
    }
    read(&shared, move |store| IncidentPage::read(store, &filter)).await
}

/// An incident.
#[derive(Debug, Serialize)]
pub(super) struct IncidentDetail {
    /// The alert with the counts after the last slice, while it is active.
    alert: Option<OpenAlert>,
    /// The notifications, the oldest first; at least one.
    pub(super) notices: Vec<Notice>,
    /// Whether people may act.
    can_act: bool,
}

pub(super) async fn incident(
    State(shared): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
) -> Response {
    let usage = "/api/v1/incidents/ID";
    with_incident(shared, asked, usage, |incident| Json(incident).into_response()).await
}

/// Answers by `work` about the incident that was asked for.
pub(super) async fn with_incident(
    shared: WebState,
    asked: Result<Path<String>, PathRejection>,
    usage: &str,
    work: impl FnOnce(IncidentDetail) -> Response,
) -> Response {
    let id: AlertId = match asked.map(|Path(id)| id.parse()) {
        Ok(Ok(id)) => id,
        Ok(Err(reason)) => return refuse(reason, usage),
        Err(refused) => return refuse(refused.body_text(), usage),
    };
    let board = shared.board();
    let can_act = board.can_act;
    let alert = board.alerts.iter().find(|alert| alert.notice.id == id).cloned();
    let store = shared.store.clone();
    let found = spawn_blocking(move || store.notices_of(id)).await;
    let notices = match found {
        Ok(Ok(notices)) => notices,
        Ok(Err(failure)) => {
            return error(StatusCode::INTERNAL_SERVER_ERROR, &format!("{failure:#}"));
        }
        Err(failure) => return error(StatusCode::INTERNAL_SERVER_ERROR, &failure.to_string()),
    };
    let mut notices: Vec<Notice> = notices.into_iter().map(|(_, notice)| notice).collect();
    if let Some(alert) = alert.as_ref().filter(|_| notices.is_empty()) {
        notices.push(Notice::clone(&alert.notice));
    }
    if notices.is_empty() {
        let text = format!(
            "there is no incident {id}: it may be older than the time that notifications are kept"
        );
        return error(StatusCode::NOT_FOUND, &text);
    }
    work(IncidentDetail { alert, notices, can_act })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostQuery {
    view: Option<String>,
}

/// A host.
#[derive(Debug, Serialize)]
struct HostDetail {
    host: IpAddr,
    /// Its counts after the last slice, in the views where it is one of the largest hosts.
    counts: Vec<HostCount>,
    /// Its active alerts, and those of networks that it is in.
    alerts: Vec<OpenAlert>,
    /// Whether people may act.
    can_act: bool,
    #[serde(flatten)]
    page: IncidentPage,
}

/// The count of a host in a view.
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
        Ok(Err(host)) => return refuse(format!("{host:?} is not an address"), usage),
        Err(refused) => return refuse(refused.body_text(), usage),
    };
    let view = match asked {
        Ok(Query(HostQuery { view })) => view,
        Err(refused) => return refuse(refused.body_text(), usage),
    };
    let board = shared.board();
    let is_asked = |name: &str| view.as_deref().is_none_or(|view| view == name);
    let views = board.views.iter().filter(|view| is_asked(&view.name));
    let counts = views.flat_map(|view| {
        let is_host =
            |top: &&TopHost| top.host.network().is_some_and(|network| network.contains(&host));
        let view_name = &view.name;
        let count = |count: &TopHost| HostCount { view: view_name.clone(), count: count.clone() };
        view.top.iter().filter(is_host).map(count)
    });
    let counts = counts.collect();
    let is_about = |alert: &&OpenAlert| {
        let notice = &alert.notice;
        let network = notice.network.or_else(|| notice.host.network());
        is_asked(&notice.view) && network.is_some_and(|network| network.contains(&host))
    };
    let alerts = board.alerts.iter().filter(is_about).cloned().collect();
    let can_act = board.can_act;
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

/// Values at times of equal distance; one that is missing is null.
#[derive(Debug, Serialize)]
struct Values {
    /// The first time, milliseconds since the Unix epoch.
    start_ms: u64,
    /// Time between two values.
    step_ms: u64,
    /// Contacts per second of the input.
    contacts: Vec<Option<f64>>,
    /// Super points of the view.
    #[serde(skip_serializing_if = "Option::is_none")]
    super_points: Option<Vec<Option<f64>>>,
    /// Peers of its largest host.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest: Option<Vec<Option<f64>>>,
    /// Flow records per second of the exporter.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Vec<Option<f64>>>,
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
    let board = shared.board();
    if let Some(view) = &view
        && let Err(unknown) = board.view(view)
    {
        return error(StatusCode::NOT_FOUND, &unknown.to_string());
    }
    let to = to.unwrap_or(if board.is_live { now_ms() } else { board.now_ms });
    let from = from.unwrap_or(to.saturating_sub(HOUR_MS));
    if from > to {
        return refuse(format!("from is {from} and to is {to}, which is before it"), usage);
    }
    let range = MinuteRange::new(from / MINUTE_MS, to / MINUTE_MS, MOST_VALUES);
    // Slices may be longer than a minute.
    let range = MinuteRange { step: range.step.max(board.slice_ms.div_ceil(MINUTE_MS)), ..range };
    read(&shared, move |store| {
        let all = |series: Option<Series>| series.map(|it| spread(store, &it, range)).transpose();
        Ok(Values {
            start_ms: range.first / range.step * range.step * MINUTE_MS,
            step_ms: range.step * MINUTE_MS,
            contacts: spread(store, &Series::Contacts, range)?,
            super_points: all(view.clone().map(Series::SuperPoints))?,
            largest: all(view.map(Series::Largest))?,
            records: all(exporter.map(Series::Records))?,
        })
    })
    .await
}

/// Returns the values of `series` at all steps of `range`.
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

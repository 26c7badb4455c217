//! Watch list of the collector, and the last reports of the sites.
//!
//! The engine sets the watch list and takes evidence from the last reports. The task [`talk`] sends the list and
//! receives reports. No part of the program waits for a report. Invariant: the watch list limits the memory, because
//! reports about hosts that are not on it are ignored, and every list in a report has a maximum length.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::network::VersionId;
use crate::network::connect::Link;
use crate::network::report::{HostReport, InputState, LOSS_MS, SiteReport, WatchedView, Watchlist};
use crate::network::subjects::{self, ALL_REPORTS, WATCHLIST};
use srlg_alerts::details::HostDetails;
use srlg_alerts::notification::{Evidence, Rates, SiteCount};
use srlg_alerts::status::overview::{SiteOverview, SpoolOverview};
use srlg_alerts::witnesses::{AlertedHost, TableState, WitnessTable};
use srlg_alerts::{Condition, Witnesses};
use srlg_system::now_ms;
use srlg_system::pacing::{Every, LastError};

/// Time between two messages with the same watch list.
const REPEAT: Duration = Duration::from_secs(2);

/// Minimum time between two warnings about rejected reports.
const SILENCE: Duration = Duration::from_secs(60);

pub(super) struct Sites {
    version: VersionId,
    names: Vec<String>,
    /// Seed for merging samples of peers.
    seed: u64,
    /// Maximum distance of a report from the closing slice, in slices.
    oldest: u64,
    slice_ms: u64,
    /// Watch list, or `None` before the first slice has closed. Until then, probes keep the details of hosts on the
    /// last list that they received.
    pub(super) watchlist: watch::Sender<Option<Watchlist>>,
    state: Mutex<State>,
}

struct State {
    /// States of the sites, indexed by probe number.
    sites: Vec<SiteState>,
    rejected: u64,
    warn: Every,
}

#[derive(Default)]
struct SiteState {
    spool: Option<SpoolOverview>,
    /// Time of the last report of lost slices, in milliseconds since the Unix epoch.
    lost_ms: Option<u64>,
    /// State of the input in the last report.
    input: Option<InputState>,
    /// Last slice for which the site has reported its exporters.
    slice: Option<u64>,
    exporters: Option<WitnessTable>,
    /// Last report about each host in each view.
    hosts: HashMap<(u8, IpAddr), ReportedHost>,
}

/// State of a site in a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptSite {
    exporters: Option<TableState>,
    /// State of the input in the last report.
    input: Option<InputState>,
}

struct ReportedHost {
    /// Slice of the report.
    slice: u64,
    report: HostReport,
    /// Whether any report had contacts of the host.
    is_seen: bool,
}

impl SiteState {
    fn follow(&mut self, exporters: &TableState, slice_ms: u64) {
        if exporters.is_empty() {
            self.exporters = None;
            return;
        }
        let new = || WitnessTable::new(&[], None, slice_ms, exporters.now_ms);
        self.exporters.get_or_insert_with(new).follow(exporters);
    }
}

#[derive(Debug, thiserror::Error)]
enum Rejection {
    #[error("{0:?} is not the subject of a probe of this network")]
    Unknown(String),
    #[error("the payload is not a report: {0}")]
    Form(#[from] serde_json::Error),
}

impl Sites {
    /// Creates sites without reports. A report counts if its slice and the closing slice are at most `oldest` slices
    /// apart.
    pub(super) fn new(
        version: VersionId,
        names: &[String],
        seed: u64,
        oldest: u64,
        slice_ms: u64,
    ) -> Self {
        let sites = names.iter().map(|_| SiteState::default()).collect();
        Self {
            version,
            names: names.to_vec(),
            seed,
            oldest,
            slice_ms,
            watchlist: watch::Sender::new(None),
            state: Mutex::new(State { sites, rejected: 0, warn: Every::new(SILENCE) }),
        }
    }

    /// Sets the watch list to the hosts of `views` and forgets the reports about all other hosts. The list also contains
    /// the public URL of the collector's `page`.
    pub(super) fn ask(&self, views: Vec<WatchedView>, page: Option<String>) {
        let watchlist = Some(Watchlist { version: self.version, views, page });
        self.watchlist.send_if_modified(|last| {
            let is_changed = *last != watchlist;
            *last = watchlist;
            is_changed
        });
        let watchlist = self.watchlist.borrow();
        for site in &mut self.state().sites {
            site.hosts.retain(|(view, host), _| is_asked(&watchlist, *view, *host));
        }
    }

    /// Returns the rates and details of `host` when `slice` closes, combined from all sites. The result also contains
    /// each site's peer count of the host within `window` slices.
    pub(super) fn evidence(&self, view: u8, host: IpAddr, window: u32, slice: u64) -> Evidence {
        let rates = self.rates(view, host, slice);
        let state = self.state();
        let mut evidence = Evidence { rates, ..Evidence::default() };
        let mut details: Vec<&HostDetails> = Vec::new();
        for (name, site) in self.names.iter().zip(&state.sites) {
            let report = self.fresh(site, (view, host), slice).map(|of| &of.report);
            details.extend(report.map(|report| &report.details));
            let mut counts = report.into_iter().flat_map(|report| &report.counts);
            let site = name.clone();
            match counts.find(|(slices, _)| *slices == window) {
                Some(&(_, cardinality)) => evidence.sites.push(SiteCount { site, cardinality }),
                None => evidence.sites_without_details.push(site),
            }
        }
        evidence.detail = HostDetails::merge_all(self.seed, details);
        evidence
    }

    /// Returns the rates of `host` when `slice` closes, summed over the sites. The sum is an upper bound if several
    /// sites saw the same packets.
    pub(super) fn rates(&self, view: u8, host: IpAddr, slice: u64) -> Rates {
        let state = self.state();
        // Sites report some slices later, and different sites may report different slices.
        let of_site = |site: &SiteState| {
            // Without input, a site would report a rate of 0.
            let is_lost = site.input.is_some_and(|input| input.is_lost_in(slice, self.slice_ms));
            let report = self.fresh(site, (view, host), slice).filter(|_| !is_lost);
            let volume = report.and_then(|of| Some((of.slice, of.report.details.volume()?)));
            let missing = Rates { is_rate_lower_bound: true, ..Rates::default() };
            volume.map_or(missing, |(newest, volume)| {
                volume.rates(newest.saturating_add(1).saturating_mul(self.slice_ms))
            })
        };
        state.sites.iter().map(of_site).fold(Rates::default(), Rates::plus).if_known()
    }

    /// Returns the last report of `site` about `host`. Returns `None` if there is no report, or if its
    /// slice is more than `oldest` slices away from `slice`.
    fn fresh<'a>(
        &self,
        site: &'a SiteState,
        host: (u8, IpAddr),
        slice: u64,
    ) -> Option<&'a ReportedHost> {
        site.hosts.get(&host).filter(|of| of.slice.abs_diff(slice) <= self.oldest)
    }

    /// Returns the witnesses of `alerted` when `slice` closes, according to the last reports of the sites.
    pub(super) fn witnesses(&self, view: u8, alerted: AlertedHost, slice: u64) -> Witnesses {
        let state = self.state();
        let mut witnesses = Witnesses::default();
        for (name, site) in self.names.iter().zip(&state.sites) {
            witnesses.merge(self.input_as_witness(site, name, view, alerted, slice));
            // The input of a site may have several exporters, and others may send.
            let Some(exporters) = &site.exporters else { continue };
            let known = site.hosts.get(&(view, alerted.host));
            let known = known.and_then(|known| known.report.details.known_exporters());
            let mut of_site = exporters.witnesses(known, alerted);
            if site.slice.is_none_or(|of| of.abs_diff(slice) > self.oldest) {
                of_site.merge(Witnesses::unknown());
            }
            of_site.silent.iter_mut().for_each(|silent| silent.source += &format!(" at {name}"));
            witnesses.merge(of_site);
        }
        witnesses
    }

    /// Returns the input of a site as a witness of `alerted`, if it may have seen the host.
    fn input_as_witness(
        &self,
        site: &SiteState,
        name: &str,
        view: u8,
        alerted: AlertedHost,
        slice: u64,
    ) -> Witnesses {
        let Some(input) = site.input else { return Witnesses::default() };
        // Contacts are counted since the probe tracks the host. Before that, the input may have seen the host.
        let has_not_seen = site.hosts.get(&(view, alerted.host)).is_some_and(|reported| {
            !reported.is_seen && input.newest_ms > reported.report.details.tracked_since_ms()
        });
        let was_lost_before = input.is_lost && input.newest_ms < alerted.since_ms;
        if has_not_seen || was_lost_before {
            return Witnesses::default();
        }
        match input.is_lost_in(slice, self.slice_ms) {
            true => Witnesses::silent(format!("the input at {name}"), input.newest_ms),
            false => {
                let whole_slices = input.whole_slices(slice, self.slice_ms);
                Witnesses { whole_slices, ..Witnesses::default() }
            }
        }
    }

    /// Returns the condition in which `slice` closes with messages of `probes`. If no input has data, the slice is a data
    /// gap.
    pub(super) fn condition(&self, probes: impl Iterator<Item = usize>, slice: u64) -> Condition {
        let state = self.state();
        let mut condition = Condition { is_input_lost: true, whole_slices: 0 };
        for probe in probes {
            let input = state.sites[probe].input.unwrap_or_default();
            condition.is_input_lost &= input.is_lost_in(slice, self.slice_ms);
            let whole_slices = input.whole_slices(slice, self.slice_ms);
            condition.whole_slices = condition.whole_slices.max(whole_slices);
        }
        condition
    }

    /// Returns what is known of the exporters and inputs of all sites, keyed by site name.
    pub(super) fn kept(&self) -> BTreeMap<String, KeptSite> {
        let state = self.state();
        let kept = |site: &SiteState| KeptSite {
            exporters: site.exporters.as_ref().map(WitnessTable::state),
            input: site.input,
        };
        self.names.iter().cloned().zip(state.sites.iter().map(kept)).collect()
    }

    /// Restores `kept`, keyed by site name, from a checkpoint.
    pub(super) fn restore(&self, kept: &BTreeMap<String, KeptSite>) {
        let mut state = self.state();
        for (name, site) in self.names.iter().zip(&mut state.sites) {
            let Some(KeptSite { exporters, input }) = kept.get(name) else { continue };
            exporters.iter().for_each(|exporters| site.follow(exporters, self.slice_ms));
            site.input = *input;
        }
    }

    /// Returns the overview of a site, to which everything but the last report of `probe` is added.
    pub(super) fn overview(&self, probe: usize) -> SiteOverview {
        let SiteState { spool, lost_ms, input, .. } = self.state().sites[probe];
        SiteOverview {
            name: self.names[probe].clone(),
            is_input_lost: input.is_some_and(|input| input.is_lost),
            is_losing: lost_ms.is_some_and(|ms| now_ms().saturating_sub(ms) < LOSS_MS),
            spool,
            datagrams: input.map(|input| input.datagrams),
            ..SiteOverview::default()
        }
    }

    pub(super) fn rejected(&self) -> u64 {
        self.state().rejected
    }

    pub(super) fn receive(&self, subject: &str, payload: &[u8]) {
        if let Err(rejection) = self.read_report(subject, payload) {
            let mut state = self.state();
            state.rejected += 1;
            if state.warn.is_due() {
                warn!("rejected a report ({} so far): {rejection}", state.rejected);
            }
        }
    }

    fn read_report(&self, subject: &str, payload: &[u8]) -> Result<(), Rejection> {
        let name = subjects::probe_of(subject);
        let probe = self.names.iter().position(|known| Some(known.as_str()) == name);
        let probe = probe.ok_or_else(|| Rejection::Unknown(subject.to_owned()))?;
        let SiteReport { version, slice, spool, input, exporters, hosts } =
            serde_json::from_slice(payload)?;
        let watchlist = self.watchlist.borrow();
        let mut state = self.state();
        let site = &mut state.sites[probe];
        if site.spool.is_some_and(|before| before.lost < spool.lost) {
            site.lost_ms = Some(now_ms());
        }
        site.spool = Some(spool.into());
        site.input = Some(input);
        // A probe that does not have this version yet uses other numbers of views and slices.
        if version != self.version {
            return Ok(());
        }
        if let Some(exporters) = exporters {
            site.slice = Some(slice);
            site.follow(&exporters, self.slice_ms);
        }
        for mut report in hosts {
            let host = (report.view, report.host);
            let mut is_seen = report.details.has_contacts();
            if let Some(earlier) = site.hosts.get(&host) {
                // A restarted probe does not know the former exporters.
                report.details.keep_exporters_of(&earlier.report.details);
                is_seen |= earlier.is_seen;
            }
            if is_asked(&watchlist, report.view, report.host) {
                site.hosts.insert(host, ReportedHost { slice, report, is_seen });
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the reports")
    }
}

fn is_asked(watchlist: &Option<Watchlist>, view: u8, host: IpAddr) -> bool {
    let view = watchlist.as_ref().and_then(|list| list.views.get(usize::from(view)));
    view.is_some_and(|view| view.hosts.contains(&host))
}

/// Sends the watch list to the probes and receives their reports, until the connection to the broker is closed
/// permanently.
pub(super) async fn talk(link: Link, sites: Arc<Sites>) -> Result<()> {
    let reports = link.client.subscribe(ALL_REPORTS).await;
    let mut reports = reports.context("cannot subscribe to the reports of the probes")?;
    let mut watchlist = sites.watchlist.subscribe();
    let mut repeat = tokio::time::interval(REPEAT);
    let mut last_error = LastError::default();
    loop {
        tokio::select! {
            report = reports.next() => {
                let report = report.context("the connection to the broker was closed permanently")?;
                sites.receive(&report.subject, &report.payload);
                continue;
            }
            // `sites` keeps the sender, so this channel never closes.
            _ = watchlist.changed() => {}
            _ = repeat.tick() => {}
        }
        let list = watchlist.borrow_and_update().clone();
        // While the broker is unreachable, watch lists would only accumulate.
        let Some(list) = list.filter(|_| link.state.borrow().up) else { continue };
        match link.client.publish(WATCHLIST, serde_json::to_vec(&list)?.into()).await {
            Ok(()) => {
                if last_error.end() {
                    info!("probes receive the watch list again");
                }
            }
            Err(error) => {
                if let Some(error) = last_error.change_to(&error.into()) {
                    warn!("cannot send the watch list to the probes: {error}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

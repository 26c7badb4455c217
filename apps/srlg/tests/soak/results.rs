//! The end of the test: the last accounts, all assertions, and the page with the results.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::accounts::Account;
use crate::faults::Fault;
use crate::oracle::{Attacks, Delays};
use crate::programs::{PROBES, STREAM_MB, WINDOW_S};
use crate::samples::Growth;
use crate::traffic::{RECORDS, Receiver, Sent};
use crate::{Inbox, MONITOR_RATE, PROBE_RATE, Soak};

/// Time from the last start of a process after which memory must not grow.
const SETTLED_S: u64 = 600;

/// Maximum size of the broker's files, in bytes: the stream, the description, and messages that are not yet purged.
const BROKER_BYTES: u64 = 2 * STREAM_MB * 1_000_000;

/// Ends the test: waits for the last incidents, writes the results and asserts them.
pub(crate) fn finish(mut soak: Soak, attacks: &Attacks, planned_s: u64, seed: u64) {
    let seconds = soak.began.elapsed().as_secs();
    let count = 2 * attacks.count as usize;
    soak.wait_for_ends(count);
    let delays = judge(&mut soak, attacks);
    soak.close_account(Receiver::Monitor);
    (0..PROBES.len()).for_each(|probe| soak.close_account(Receiver::Probe(probe)));
    soak.check_collector();
    let sent = soak.generator.sent(Receiver::Monitor);
    let of_probes = [0, 1].map(|probe| soak.generator.sent(Receiver::Probe(probe)));
    let settled = soak.last_end_s + SETTLED_S.min((seconds - soak.last_end_s) / 3);
    let growth = soak.samples.growth(settled);
    let page = page(
        &soak,
        &Results { planned_s, seconds, seed, count, delays, sent, of_probes, growth: &growth },
    );
    println!("{page}");

    soak.account.assert_complete(sent);
    (0..PROBES.len()).for_each(|at| soak.probe_accounts[at].assert_complete(of_probes[at]));
    for growth in &growth {
        match growth.process {
            "broker" => assert!(growth.folder[1] <= BROKER_BYTES, "broker: {:?}", growth.folder),
            _ => growth.assert_flat(),
        }
    }
    let missing = Fault::ALL.iter().find(|fault| !soak.injected.contains_key(fault));
    assert_eq!(missing, None, "not injected");
    assert!(soak.webhooks.iter().all(|webhook| webhook.failures() > 0), "no request has failed");
    let programs = [soak.monitor.program.take(), soak.network.collector.program.take()];
    for mut program in programs.into_iter().chain(soak.network.probes) {
        let program = program.as_mut().unwrap();
        program.terminate();
        let (code, log) = program.end();
        assert_eq!(code, Some(0), "{log}");
    }
    let folder = std::env::var_os("SRLG_SOAK")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("soak"), PathBuf::from);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("series.csv"), soak.samples.csv(true)).unwrap();
    fs::write(folder.join("README.md"), &page).unwrap();
}

/// Asserts the incidents of the monitor and of the collector.
fn judge(soak: &mut Soak, attacks: &Attacks) -> [Delays; 2] {
    // Repeated notifications may still arrive during this time.
    soak.pass(Duration::from_secs(5));
    let [of_monitor, of_collector] = &soak.inboxes;
    let (monitor, collector) = (&soak.monitor, &soak.network.collector);
    // Each datagram contains a new peer of each attack.
    let peers = |rate: f64| WINDOW_S * rate / RECORDS as f64;
    for (name, service) in [("run", monitor), ("collect", collector)] {
        let metrics = service.metrics();
        for metric in
            ["srlg_checkpoint_failing", "srlg_database_waiting_notifications", "srlg_sink_failing"]
        {
            assert_eq!(metrics.sum(metric, ""), 0, "{name}: {metric}");
        }
    }
    [
        of_monitor.judge(
            "run",
            attacks,
            peers(MONITOR_RATE),
            &monitor.alerts(),
            &monitor.incidents(),
        ),
        of_collector.judge(
            "collect",
            attacks,
            peers(2.0 * PROBE_RATE),
            &collector.alerts(),
            &collector.incidents(),
        ),
    ]
}

struct Results<'a> {
    /// Planned duration; the last fault may end later.
    planned_s: u64,
    seconds: u64,
    seed: u64,
    /// Number of planted incidents of each part.
    count: usize,
    delays: [Delays; 2],
    sent: Sent,
    of_probes: [Sent; PROBES.len()],
    growth: &'a [Growth],
}

fn page(soak: &Soak, results: &Results<'_>) -> String {
    let Results { planned_s, seconds, seed, growth, .. } = results;
    let mut text = format!(
        "# Soak test\n\n<!-- Written by scripts/soak.sh. Do not edit. -->\n\n\
         `scripts/soak.sh {planned_s}` ran `srlg run` and a network of two probes and a collector for {seconds} s \
         (seed {seed}, {} recorded pairs). [series.csv](series.csv) contains the samples. \
         The last fault that ended a process came after {} s. Records are counted in the lives of `srlg run` that ended \
         after a pause of its exporters.\n\n\
         ![Memory of each process](soak.svg)\n\n| Faults | Number |\n|---|---:|\n",
        soak.generator.recorded, soak.last_end_s
    );
    for (fault, number) in &soak.injected {
        writeln!(text, "| {} | {number} |", fault.name()).unwrap();
    }
    text + &parts_table(soak, results) + &processes_table(growth)
}

/// Returns the table that compares the monitor and the network.
fn parts_table(soak: &Soak, results: &Results<'_>) -> String {
    let Results { seconds, count, delays, sent, of_probes, .. } = results;
    let sum = |of: fn(&Account) -> u64| soak.probe_accounts.iter().map(of).sum::<u64>();
    let [mut both, of_second] = *of_probes;
    both += of_second;
    let rate = |sent: &Sent| (sent.records as f64 / *seconds as f64).round() as u64;
    let of_inboxes = |of: fn(&Inbox) -> usize| soak.inboxes.each_ref().map(|it| of(it) as u64);
    let account = &soak.account;
    let rows = [
        ("planted attacks", [*count as u64; 2]),
        ("incidents", of_inboxes(Inbox::ends)),
        ("repeated webhook requests", of_inboxes(|inbox| inbox.repeated)),
        ("records per second", [rate(sent), rate(&both)]),
        ("lives of the receivers", [account.lives, sum(|it| it.lives)]),
        ("datagrams sent", [sent.datagrams + sent.unheard, both.datagrams + both.unheard]),
        ("received", [account.received, sum(|it| it.received)]),
        ("dropped by the kernel", [account.dropped, sum(|it| it.dropped)]),
        ("sent just before a kill", [account.unread, sum(|it| it.unread)]),
        ("sent to a dead program", [sent.unheard, both.unheard]),
    ];
    let mut text = "\n| Result | `srlg run` | Network |\n|---|---:|---:|\n".to_owned();
    for (name, [of_run, of_network]) in rows {
        writeln!(text, "| {name} | {of_run} | {of_network} |").unwrap();
    }
    let rows = [
        ("malformed datagrams", account.malformed),
        ("records without a template", account.without_template),
        ("records older than the window", account.too_late),
        ("records counted", account.used),
    ];
    for (name, of_run) in rows {
        writeln!(text, "| {name} | {of_run} | |").unwrap();
    }
    let [run, collect] = delays
        .each_ref()
        .map(|it| format!("{:.1} / {:.1} s", it.median.as_secs_f64(), it.longest.as_secs_f64()));
    text + &format!("| first notification, median / longest | {run} | {collect} |\n")
}

/// Returns the table of memory, files, descriptors and threads.
fn processes_table(growth: &[Growth]) -> String {
    let mut text =
        "\n| Process, first and last third | RSS, MB | Files, MB | Descriptors | Threads |\n\
         |---|---:|---:|---:|---:|\n"
            .to_owned();
    let pair = |[early, late]: &[u64; 2]| format!("{early}, {late}");
    let megabytes =
        |thirds: &[u64; 2]| thirds.map(|bytes| format!("{:.1}", bytes as f64 / 1e6)).join(", ");
    for Growth { process, rss, folder, descriptors, threads, .. } in growth {
        let [rss, folder] = [rss, folder].map(megabytes);
        let [descriptors, threads] = [descriptors, threads].map(pair);
        writeln!(text, "| {process} | {rss} | {folder} | {descriptors} | {threads} |").unwrap();
    }
    text
}

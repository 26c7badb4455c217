//! Samples of all processes: memory, descriptors, threads, bytes in their folders, and counters.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Header of the CSV file.
const HEADER: &str =
    "seconds,process,rss_bytes,descriptors,threads,folder_bytes,sent,received,dropped,used\n";

/// Maximum growth of memory and of folders.
const MOST_GROWTH: f64 = 1.05;

/// Number of descriptors and threads by which the maximum may differ, because connections and writers of checkpoints
/// are short-lived.
const SHORT_LIVED: u64 = 3;

/// Documented maximum size of a stored notification, in bytes.
const NOTIFICATION_BYTES: u64 = 3_000;

/// Maximum size of the database's write-ahead log, in bytes: 1,000 pages of 4 kB, and their headers.
const LOG_BYTES: u64 = 1_000 * (4_096 + 24) + 32;

/// Maximum number of samples of a process in the thinned series.
const MOST_SAMPLES: usize = 100;

/// Counters of a process since the start of the test, over all lives. Counters that do not apply are `None`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) sent: Option<u64>,
    pub(crate) received: Option<u64>,
    pub(crate) dropped: Option<u64>,
    pub(crate) used: Option<u64>,
}

#[derive(Clone, Copy)]
struct Sample {
    seconds: u64,
    id: u32,
    rss: u64,
    descriptors: u64,
    threads: u64,
    folder: u64,
    /// Notifications stored so far.
    notifications: u64,
    counters: Counters,
}

/// All samples, by process.
#[derive(Default)]
pub(crate) struct Samples(BTreeMap<&'static str, Vec<Sample>>);

/// Values of a process in the first and the last third of the settled time: medians of memory and files, which some
/// faults raise for a short time, and maxima of descriptors and threads.
pub(crate) struct Growth {
    pub(crate) process: &'static str,
    /// Whether the same process ran all the time.
    pub(crate) is_one_life: bool,
    pub(crate) rss: [u64; 2],
    pub(crate) descriptors: [u64; 2],
    pub(crate) threads: [u64; 2],
    pub(crate) folder: [u64; 2],
    notifications: u64,
}

impl Samples {
    /// Adds a sample of the process `id`, whose files are in `folder`. A process that is not running has no sample.
    pub(crate) fn add(
        &mut self,
        seconds: u64,
        process: &'static str,
        id: u32,
        folder: &Path,
        notifications: usize,
        counters: Counters,
    ) {
        let Ok(status) = fs::read_to_string(format!("/proc/{id}/status")) else { return };
        let value = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let sample = Sample {
            seconds,
            id,
            rss: value("VmRSS:") * 1_024,
            descriptors: fs::read_dir(format!("/proc/{id}/fd")).unwrap().count() as u64,
            threads: value("Threads:"),
            folder: bytes_in(folder),
            notifications: notifications as u64,
            counters,
        };
        self.0.entry(process).or_default().push(sample);
    }

    /// Returns all samples as CSV, or only some of each process.
    pub(crate) fn csv(&self, is_thinned: bool) -> String {
        let mut text = HEADER.to_owned();
        for (process, samples) in &self.0 {
            let step = if is_thinned { samples.len().div_ceil(MOST_SAMPLES) } else { 1 };
            for sample in samples.iter().step_by(step) {
                let Sample { seconds, rss, descriptors, threads, folder, counters, .. } = sample;
                let Counters { sent, received, dropped, used } = counters;
                let [sent, received, dropped, used] = [sent, received, dropped, used]
                    .map(|count| count.map_or(String::new(), |count| count.to_string()));
                writeln!(
                    text,
                    "{seconds},{process},{rss},{descriptors},{threads},{folder},{sent},{received},{dropped},{used}"
                )
                .unwrap();
            }
        }
        text
    }

    /// Returns the growth of each process after the first `settled` seconds.
    pub(crate) fn growth(&self, settled: u64) -> Vec<Growth> {
        let of = |(process, samples): (&&'static str, &Vec<Sample>)| {
            let settled: Vec<Sample> =
                samples.iter().filter(|sample| sample.seconds >= settled).copied().collect();
            let third = settled.len().div_ceil(3);
            let thirds = [&settled[..third], &settled[settled.len() - third..]];
            let most = |value: fn(&Sample) -> u64| {
                thirds.map(|third| third.iter().map(value).max().unwrap_or(0))
            };
            let median = |value: fn(&Sample) -> u64| {
                thirds.map(|third| {
                    let mut values: Vec<u64> = third.iter().map(value).collect();
                    values.sort_unstable();
                    values.get(values.len() / 2).copied().unwrap_or(0)
                })
            };
            let [before, after] = most(|sample| sample.notifications);
            Growth {
                process,
                is_one_life: settled.windows(2).all(|pair| pair[0].id == pair[1].id),
                rss: median(|sample| sample.rss),
                descriptors: most(|sample| sample.descriptors),
                threads: most(|sample| sample.threads),
                folder: median(|sample| sample.folder),
                notifications: after - before,
            }
        };
        self.0.iter().map(of).collect()
    }
}

impl Growth {
    /// Asserts that memory, descriptors and threads stay flat, and that the folder grows only by its notifications.
    pub(crate) fn assert_flat(&self) {
        let Self { process, is_one_life, rss, descriptors, threads, folder, notifications } = self;
        assert!(is_one_life, "{process} was restarted");
        let [early, late] = rss;
        assert!(*late as f64 <= MOST_GROWTH * *early as f64, "{process}: memory {rss:?}");
        for (name, [early, late]) in [("descriptors", descriptors), ("threads", threads)] {
            assert!(*late <= early + SHORT_LIVED, "{process}: {name} grow from {early} to {late}");
        }
        let [early, late] = folder;
        let most =
            MOST_GROWTH * *early as f64 + (NOTIFICATION_BYTES * notifications + LOG_BYTES) as f64;
        assert!(
            *late as f64 <= most,
            "{process}: bytes in its folder {folder:?}, {notifications} notifications"
        );
    }
}

/// Returns the size of all files in `folder`. Files that disappear meanwhile are omitted.
pub(crate) fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_in(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(size).sum()
}

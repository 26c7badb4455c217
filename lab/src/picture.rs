//! The command `picture`, which draws the picture of the README: a planted flood and its estimate, second by second.
//!
//! The traffic is the backbone model with a planted flood. At every close after the first full window, the detector
//! estimates how many hosts contacted the victim, and the true number is counted exactly. There is one SVG for light
//! pages and one for dark pages.

use std::fs;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use srlg_core::{Config, Ipv4Pair};
use srlg_host::{Device, SlidingDetector};
use srlg_input::number;
use srlg_traffic::synthetic::{Model, mix};

const VICTIM: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);

/// Length of a window, in slices of one second.
const WINDOW: u32 = 300;
/// Length of the picture, in seconds. The picture starts after the first full window.
const SHOWN: u32 = 480;

/// Second of the picture at which the flood starts.
const BEGIN: u32 = 30;
/// Number of seconds during which the flood grows.
const GROWS: u32 = 60;

#[derive(Args)]
pub(crate) struct Picture {
    /// Distinct pairs per window, without the flood
    #[arg(long, default_value = "10M", value_parser = number::count)]
    load: u32,
    /// Number of hosts that flood the victim
    #[arg(long, default_value = "5k", value_parser = number::count)]
    hosts: u32,
    /// Seed of the traffic and of the hashes
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Folder for flood-light.svg and flood-dark.svg
    #[arg(long, default_value = "docs/picture")]
    write: PathBuf,
}

struct Second {
    truth: f64,
    estimate: f64,
    std_error: f64,
    is_reported: bool,
}

pub(crate) fn run(options: &Picture) -> Result<()> {
    let seconds = watch(options)?;
    let worst = |second: &Second| (second.estimate - second.truth).abs() / second.std_error;
    let within = seconds.iter().filter(|second| worst(second) <= 2.0).count();
    let reported = seconds.iter().filter(|second| second.is_reported).count();
    fs::create_dir_all(&options.write)
        .with_context(|| format!("cannot create the folder {}", options.write.display()))?;
    for (name, colours) in [("light", &LIGHT), ("dark", &DARK)] {
        let path = options.write.join(format!("flood-{name}.svg"));
        fs::write(&path, svg(&seconds, colours))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    writeln!(
        io::stdout(),
        "the victim was reported for {reported} of {SHOWN} s, and the true number of hosts was within two standard errors of the estimate for {within} s"
    )
    .context("cannot write to standard output")
}

fn watch(options: &Picture) -> Result<Vec<Second>> {
    let config = Config { window: WINDOW, seed: options.seed, ..Config::default() };
    let mut detector = SlidingDetector::new(config, Device::Cpu)?;
    // Each entry is the last slice in which a host of the flood was seen.
    let mut seen = vec![None; options.hosts as usize];
    let mut seconds = Vec::new();
    let slices = Model::Backbone.slices(options.seed, WINDOW + SHOWN, options.load);
    for (slice, mut pairs) in (0..).zip(slices) {
        let until = |second: u32| {
            let share = f64::from(second.clamp(0, GROWS)) / f64::from(GROWS);
            (share * f64::from(options.hosts)) as usize
        };
        let second = (slice + 1_u32).saturating_sub(WINDOW + BEGIN);
        let now = until(second.saturating_sub(1))..until(second);
        for (host, last) in (0_u64..).zip(&mut seen).skip(now.start).take(now.len()) {
            *last = Some(slice);
            let peer = mix(options.seed ^ host) as u32;
            pairs.push(Ipv4Pair { inside: VICTIM.to_bits(), peer });
        }
        detector.ingest(&pairs)?;
        let closing = detector.begin_close()?;
        if slice >= WINDOW {
            let host = IpAddr::V4(VICTIM);
            let estimate = closing.cardinality_within(host, WINDOW)?;
            let in_window = |last: &&Option<u32>| last.is_some_and(|last| slice - last < WINDOW);
            seconds.push(Second {
                truth: seen.iter().filter(in_window).count() as f64,
                estimate: estimate.cardinality,
                std_error: estimate.std_error,
                is_reported: closing.super_points().iter().any(|point| point.host == host),
            });
        }
        closing.end()?;
    }
    Ok(seconds)
}

/// Colours of the text, the grid, the true number and the estimate.
type Colours = [&'static str; 4];

const LIGHT: Colours = ["#333333", "#dddddd", "#999999", "#0b62c4"];
const DARK: Colours = ["#cccccc", "#3a3f44", "#8a8f94", "#6cb2ff"];

// All lengths are in pixels.
const WIDTH: f64 = 840.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 30.0;

fn svg(seconds: &[Second], colours: &Colours) -> String {
    let highest =
        seconds.iter().map(|second| second.estimate.max(second.truth)).fold(0.0, f64::max);
    let top = (highest / 1_000.0 + 0.5).ceil() * 1_000.0;
    let [text, ..] = colours;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"{text}\">\n{}{}</svg>\n",
        axes(top, colours),
        lines(seconds, top, colours)
    )
}

fn x(second: f64) -> f64 {
    LEFT + second / f64::from(SHOWN) * (WIDTH - LEFT - RIGHT)
}

fn y(hosts: f64, top: f64) -> f64 {
    HEIGHT - BOTTOM - hosts / top * (HEIGHT - TOP - BOTTOM)
}

fn axes(top: f64, [text, grid, ..]: &Colours) -> String {
    let right = WIDTH - RIGHT;
    let hosts = (0..=top as u32).step_by(1_000).map(|hosts| {
        let at = y(hosts.into(), top);
        format!(
            "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"{grid}\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{hosts}</text>\n",
            LEFT - 8.0,
            at + 4.0
        )
    });
    let seconds = (0..=SHOWN).step_by(60).map(|second| {
        let (at, below) = (x(second.into()), HEIGHT - 10.0);
        format!("<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{second} s</text>\n")
    });
    let threshold = y(Config::default().threshold.into(), top);
    let threshold = format!(
        "<path d=\"M{LEFT} {threshold:.1}H{right}\" stroke=\"{text}\" stroke-dasharray=\"2 4\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\">θ = 1024</text>\n",
        LEFT + 6.0,
        threshold - 5.0
    );
    hosts.chain(seconds).chain([threshold]).collect()
}

/// Returns the SVG elements of the two curves, the interval of ± 2 standard errors, and the legend.
fn lines(seconds: &[Second], top: f64, [.., truth, estimate]: &Colours) -> String {
    let line = |value: fn(&Second) -> f64| -> Vec<String> {
        let place = |(at, second): (u32, &Second)| {
            format!("{:.1},{:.1}", x(at.into()), y(value(second), top))
        };
        (0..).zip(seconds).map(place).collect()
    };
    let upper = line(|second| second.estimate + 2.0 * second.std_error);
    let mut lower = line(|second| (second.estimate - 2.0 * second.std_error).max(0.0));
    lower.reverse();
    let mut svg = format!(
        "<polygon points=\"{} {}\" fill=\"{estimate}\" fill-opacity=\"0.25\"/>\n",
        upper.join(" "),
        lower.join(" ")
    );
    let (of_truth, of_estimate) = (line(|second| second.truth), line(|second| second.estimate));
    let sent = "distinct hosts that contacted the victim within 300 s";
    let estimated = "estimate of srlg, ± 2 standard errors";
    for (left, points, colour, stroke, what) in [
        (LEFT, of_truth, truth, "5", sent),
        (LEFT + 370.0, of_estimate, estimate, "1.5", estimated),
    ] {
        svg += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{stroke}\" \
             stroke-linejoin=\"round\"/>\n\
             <path d=\"M{left} 14H{}\" stroke=\"{colour}\" stroke-width=\"{stroke}\"/>\n\
             <text x=\"{}\" y=\"18\">{what}</text>\n",
            points.join(" "),
            left + 20.0,
            left + 26.0
        );
    }
    svg
}

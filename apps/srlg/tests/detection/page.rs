//! The page docs/detection.md.

use std::fmt::Write as _;

use srlg_cli::traffic::Observation;

use crate::matrix::Matrix;
use crate::table::{Incidents, Inside, Missed, Outcome, Scenario, Setting};

/// The command that regenerates the page.
pub(crate) const COMMAND: &str = "INSTA_UPDATE=always cargo test -p srlg-cli --test detection page";

const INTRO: &str = "# Detection

This page shows what the default configuration reports about attacks and busy hosts. A test plays each scenario in simulated time.

*By default* is the probable cause, and the maximum time from the first packet to the first notification. Only `inside` is set. *Otherwise* names a [setting](#settings) that finds the attack. `srlg check` announces what is not found.

";

const WITH_PORTS: &str = "## Kinds

These are the incidents of the scenarios above and of recorded captures, by their actual and their reported cause. Attacks that are not found by default count with their setting.

";

const WITHOUT_PORTS: &str = "
Without ports and TCP flags, kinds follow from counts alone. These are recorded lists of addresses with a threshold of 48:

";

/// Returns the page. `with_ports` and `without_ports` are the matrices of the inputs with and without ports.
pub(crate) fn write(scenarios: &[Scenario], with_ports: &Matrix, without_ports: &Matrix) -> String {
    let mut page = format!(
        "<!-- Generated from the scenarios of a test. Do not edit; regenerate with {COMMAND} -->\n\n"
    );
    page += INTRO;
    for (heading, is_hostile) in [("Attacks", true), ("Busy hosts", false)] {
        write!(page, "## {heading}\n\n").unwrap();
        page += if is_hostile {
            "| Scenario | Traffic | By default | Otherwise |\n|---|---|---|---|\n"
        } else {
            "| Scenario | Traffic | By default |\n|---|---|---|\n"
        };
        let rows = scenarios.iter().filter(|it| it.actor.is_hostile() == is_hostile);
        rows.for_each(|scenario| page += &row(scenario));
        page += "\n";
    }
    page +=
        &[WITH_PORTS, &with_ports.table(), WITHOUT_PORTS, &without_ports.table(), "\n"].concat();
    page += "## Settings\n\nThese tables are added to the configuration file. A `[[view]]` replaces the default views. \
        *replies* takes two views: without the requests, an outside server with many inside clients would look like a scanner.\n";
    for setting in Setting::ALL {
        let (name, text) = (setting.name(), setting.text());
        write!(page, "\n*{name}*:\n\n```toml\n{text}```\n").unwrap();
    }
    page
}

fn row(scenario: &Scenario) -> String {
    let Scenario { name, actor, observation, inside, by_default, otherwise, .. } = scenario;
    let seen = match observation {
        Observation::Packets => String::new(),
        Observation::Sampled(_) | Observation::Flows(_) => format!("; {observation}"),
    };
    let network = match inside {
        Inside::Large => "",
        Inside::Small => "; `inside` is this /24",
    };
    let is_hostile = actor.is_hostile();
    let otherwise = match otherwise {
        Some(Missed { setting, outcome, .. }) => {
            format!(" *{}*: {} |", setting.name(), cell(outcome, is_hostile))
        }
        None if is_hostile => " – |".to_owned(),
        None => String::new(),
    };
    let by_default = cell(by_default, is_hostile);
    format!("| {name} | {actor}{seen}{network} | {by_default} |{otherwise}\n")
}

fn cell(outcome: &Outcome, is_hostile: bool) -> String {
    let Incidents { within, kind, protocol, by_view } = match outcome {
        Outcome::NotFound if is_hostile => return "not found".to_owned(),
        Outcome::NotFound => return "no incident".to_owned(),
        Outcome::Busy(kind) => return format!("`{kind}`, not sent"),
        Outcome::Found(incidents) => incidents,
    };
    let count: usize = by_view.iter().map(|(_, count)| count).sum();
    let incidents = if count == 1 { String::new() } else { format!(", {count} incidents") };
    let protocol = protocol.map(|protocol| format!(" ({protocol})")).unwrap_or_default();
    format!("`{kind}`{protocol}, {within} s{incidents}")
}

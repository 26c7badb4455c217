//! The engine that runs all sweeps. A sweep lists the values of a parameter, and a trial measures each value. The
//! resulting rows become pages, tables, charts and JSON.
//!
//! A [`Sweep`] consists of [`Results`] without rows, and the steps that produce the rows. A [`Study`] is opened before
//! the measurements, so that it fails early if it cannot write. [`Study::run`] then runs the trial for every step in
//! order.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use indicatif::ProgressBar;

use crate::output::{self, Page};
use crate::results::{Column, Details, Results};

/// Name of the place in a page that contains the command line and the settings.
const SETUP: &str = "setup";

/// A function that returns the command line that reproduces the results. The line contains all options that affect the
/// results. Options in `instead` get the values listed there.
pub(crate) type CommandLine = fn(instead: &[(&str, &str)]) -> String;

/// Options of a study that has a folder for its page and plots.
#[derive(Args)]
pub(crate) struct FolderOptions {
    /// Folder of README.md and the plots [default: the folder of the study under docs/, or none with --json]
    #[arg(long, alias = "out")]
    output: Option<PathBuf>,
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
}

/// Options of a study that fills places in an existing page.
#[derive(Args)]
pub(crate) struct PageOptions {
    /// Print one JSON object per metric
    #[arg(long)]
    json: bool,
    /// Page in which to replace each table between `<!-- table: NAME -->` and the next `<!-- end -->`. An error lists
    /// the missing NAMEs
    #[arg(long)]
    write: Option<PathBuf>,
}

/// A series of measurements along one parameter.
pub(crate) struct Sweep<Step> {
    /// Results, to which the trials add the rows.
    pub(crate) results: Results,
    pub(crate) steps: Vec<Step>,
}

impl<Step> Sweep<Step> {
    /// Creates a sweep for a study that has a folder. `names` are the headings of the cells that identify a row.
    pub(crate) fn new(
        place: &str,
        heading: &str,
        setting: &str,
        names: [&'static str; 2],
        columns: &'static [Column],
        mut details: Details,
        steps: Vec<Step>,
    ) -> Self {
        details.push(("sweep", place.into()));
        let [place, heading, setting] = [place, heading, setting].map(str::to_owned);
        let names = names.into();
        let results =
            Results { place, heading, setting, names, columns, details, ..Results::default() };
        Self { results, steps }
    }
}

/// Output format of rows.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// Tables, printed once all rows are known.
    Tables,
    /// One JSON object per figure, printed once all rows are known.
    Figures,
    /// Lines of a table, each printed as soon as it is known.
    Lines,
    /// One JSON object per row, printed as soon as it is known.
    Objects,
    /// No output, because the command prints the rows itself.
    Unprinted,
}

/// The page to which results are written, and the format in which they are printed.
pub(crate) struct Study {
    page: Option<Page>,
    form: Form,
}

impl Study {
    /// Opens a study whose page is README.md in the folder of `--output`. Without `--output`, the page is in `folder`,
    /// or the study has no page if `--json` is set. The page has a place for each sweep. A new page starts with
    /// `title`.
    pub(crate) fn in_folder<Step>(
        options: &FolderOptions,
        folder: &str,
        title: &str,
        sweeps: &[Sweep<Step>],
    ) -> Result<Self> {
        let form = if options.json { Form::Figures } else { Form::Tables };
        let default = (!options.json).then(|| folder.into());
        let Some(folder) = options.output.clone().or(default) else {
            return Ok(Self { page: None, form });
        };
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let mut places = vec![SETUP];
        places.extend(sweeps.iter().map(|sweep| sweep.results.place.as_str()));
        places.dedup();
        let page = Page::open_or_start(&folder.join("README.md"), title, &places)?;
        Ok(Self { page: Some(page), form })
    }

    /// Opens a study that writes to the page of `--write`, if it is set. The page must have all `places`.
    pub(crate) fn in_page(options: &PageOptions, places: &[String]) -> Result<Self> {
        let page = options.write.as_ref().map(|page| Page::open(page, places)).transpose()?;
        Ok(Self { page, form: if options.json { Form::Figures } else { Form::Tables } })
    }

    /// Creates a study without a page.
    pub(crate) fn printed(form: Form) -> Self {
        Self { page: None, form }
    }

    /// Fills the place `setup` of the page with a shell block for the command `line`, followed by `text`.
    pub(crate) fn set_up(mut self, line: CommandLine, text: &str) -> Result<Self> {
        if let Some(page) = &mut self.page {
            page.fill(SETUP, &format!("```sh\n{}\n```\n\n{text}", line(&[])))?;
        }
        Ok(self)
    }

    /// Runs the trial for every step of all sweeps, and prints and writes the rows that the trials add. Each step
    /// advances the progress bar by `units`.
    pub(crate) fn run<Step>(
        &mut self,
        units: u32,
        sweeps: Vec<Sweep<Step>>,
        mut trial: impl FnMut(&Step, &mut Results, &ProgressBar) -> Result<()>,
    ) -> Result<Vec<Results>> {
        let steps: usize = sweeps.iter().map(|sweep| sweep.steps.len()).sum();
        let bar = output::bar(steps as u64 * u64::from(units), "");
        let (mut all, mut done) = (Vec::new(), 0);
        for Sweep { mut results, steps } in sweeps {
            bar.set_message(results.place.clone());
            for step in &steps {
                let known = results.rows.len();
                trial(step, &mut results, &bar)?;
                done += u64::from(units);
                bar.set_position(done);
                bar.suspend(|| self.print_rows(&results, known)).context(output::UNWRITTEN)?;
            }
            all.push(results);
        }
        drop(bar);
        if let Some(page) = &mut self.page {
            write(page, &all)?;
        }
        self.print(&all).context(output::UNWRITTEN)?;
        Ok(all)
    }

    fn print_rows(&self, results: &Results, known: usize) -> io::Result<()> {
        let (mut out, mut rows) = (io::stdout().lock(), results.rows[known..].iter());
        match self.form {
            Form::Tables | Form::Figures | Form::Unprinted => Ok(()),
            Form::Objects => rows.try_for_each(|row| writeln!(out, "{}", results.object(row))),
            Form::Lines => {
                if known == 0 {
                    writeln!(out, "{}", results.head())?;
                }
                rows.try_for_each(|row| writeln!(out, "{}", results.line(row)))
            }
        }
    }

    fn print(&self, all: &[Results]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let mut results = all.iter();
        match self.form {
            Form::Lines | Form::Objects | Form::Unprinted => Ok(()),
            Form::Figures => {
                let mut figures = results.flat_map(Results::figures);
                figures.try_for_each(|object| writeln!(out, "{object}"))
            }
            Form::Tables => results.try_for_each(|results| {
                writeln!(out, "{}\n\n{}\n", results.heading, results.text(false).trim_end())
            }),
        }
    }
}

/// Writes the charts and the page. If several results share a place, each of them gets a heading there.
fn write(page: &mut Page, results: &[Results]) -> Result<()> {
    for plot in results.iter().flat_map(Results::plots) {
        output::write(&page.path.with_file_name(&plot.file), &plot.chart.svg()?)?;
    }
    for parts in results.chunk_by(|one, next| one.place == next.place) {
        let part = |part: &Results| match parts.len() {
            1 => part.text(true),
            _ => format!("### {}\n\n{}", part.heading, part.text(true)),
        };
        page.fill(&parts[0].place, &parts.iter().map(part).collect::<String>())?;
    }
    page.write()
}

/// Returns `least` multiplied by 1, 3, 10, 30 and so on. The numbers are round and nearly evenly spaced on a
/// logarithmic axis.
pub(crate) fn round(least: u32) -> impl Iterator<Item = u32> {
    let decades = (0..).map(move |decade| u64::from(least) * 10_u64.pow(decade));
    let numbers = decades.flat_map(|decade| [decade, 3 * decade]);
    numbers.map_while(|number| u32::try_from(number).ok())
}

//! What outlives a restart of the alerts: in the database, beside the notices of the same moment.
//!
//! Invariant: alerts are those of the last notice that was told, or later.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use srlg_host::config::random_seed;

use crate::alerts::desk::Desk;
use crate::alerts::desk::silences::Silences;
use crate::alerts::{Every, Trouble};
use crate::notify::notice::Notice;
use crate::notify::store::Store;

/// How often the largest counts are kept, which may be some megabytes.
const MAXIMA: Duration = Duration::from_secs(60);

/// The key of the silences.
const SILENCES: &str = "silences";

/// The alerts of a desk, in the database.
pub struct Ledger {
    store: Store,
    /// Whether no sink hears of a notice that is not in the database.
    is_strict: bool,
    /// Views that are no more, and had alerts.
    gone: BTreeSet<String>,
    keep_maxima: Every,
    maxima_trouble: Trouble,
}

impl Ledger {
    /// Opens the database in the folder `state`, or one in memory.
    pub fn open(state: Option<&Path>) -> Result<Self> {
        let keep_maxima = Every::from_now(MAXIMA);
        let store = Store::open(state)?;
        let (gone, maxima_trouble) = (BTreeSet::new(), Trouble::default());
        Ok(Self { store, is_strict: false, gone, keep_maxima, maxima_trouble })
    }

    /// Lets no sink hear of a notice that is not in the database: slices come again after a restart, and so would it.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { is_strict: true, ..self }
    }

    /// Returns whether it is [strict](Self::strict).
    #[must_use]
    pub const fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Returns the database.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the seed of the detectors, which is drawn once.
    pub fn seed(&self) -> Result<u64> {
        if let Some(seed) = self.store.state("seed")? {
            let seed = seed.try_into().ok().context("the seed in the database is damaged")?;
            return Ok(u64::from_le_bytes(seed));
        }
        let seed = random_seed()?;
        self.store.set(&[("seed".to_owned(), seed.to_le_bytes().to_vec())])?;
        Ok(seed)
    }

    /// Brings `desk` to where it was, and returns the ends of alerts whose view is no more, or counts
    /// something else.
    pub fn restore(&mut self, desk: &mut Desk) -> Result<Vec<Notice>> {
        for book in &mut desk.books {
            let state = self.store.state(&key(&book.name))?;
            if state.map_or(Ok(true), |state| book.restore_state(&state))? {
                let name = book.name.clone();
                book.restore_maxima(|window| self.store.state(&maxima_key(&name, window)))?;
            }
        }
        if let Some(state) = self.store.state(SILENCES)? {
            desk.silences = Silences::from_state(&state)?;
        }
        let open = self.store.open_alerts()?.into_iter().map(|(_, notice)| notice).collect();
        let ended = desk.reopen(open);
        // Were their alerts kept, they would go on when the views come back.
        let is_gone = |view: &String| desk.books.iter().all(|book| book.name != *view);
        self.gone = ended.iter().map(|notice| notice.view.clone()).filter(is_gone).collect();
        Ok(ended)
    }

    /// Keeps `notices`, with the alerts of the same moment.
    /// After an error nothing is kept; unless it is strict the notices wait in memory.
    pub fn keep(&self, desk: &Desk, notices: &[Notice]) -> Result<()> {
        let states = desk.books.iter().map(|book| Ok((key(&book.name), book.state()?)));
        let gone = self.gone.iter().map(|view| Ok((key(view), Vec::new())));
        let silences = std::iter::once_with(|| Ok((SILENCES.to_owned(), desk.silences.state()?)));
        let states = states.chain(gone).chain(silences).collect::<Result<Vec<_>>>()?;
        match self.is_strict {
            true => self.store.add_or_forget(notices, &states)?,
            false => self.store.add(notices, &states)?,
        };
        Ok(())
    }

    /// Keeps the largest counts, when that is due or `is_last`; nothing hangs on them but suggestions.
    pub fn keep_maxima(&mut self, desk: &Desk, is_last: bool) {
        if !self.keep_maxima.is_due() && !is_last {
            return;
        }
        let maxima = desk.books.iter().flat_map(|book| {
            book.maxima().map(|(window, maxima)| {
                Ok((maxima_key(&book.name, window), serde_json::to_vec(maxima)?))
            })
        });
        let kept = maxima.collect::<Result<Vec<_>>>().and_then(|maxima| self.store.set(&maxima));
        let (failure, recovery) =
            ("cannot store the largest counts", "the largest counts are stored again");
        self.maxima_trouble.log(kept, failure, recovery);
    }
}

/// Returns the key of the largest counts of `view` within `window` slices.
#[must_use]
pub fn maxima_key(view: &str, window: u32) -> String {
    format!("maxima/{view}/{window}")
}

fn key(view: &str) -> String {
    format!("alerts/{view}")
}

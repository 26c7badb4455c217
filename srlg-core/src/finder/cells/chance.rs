//! How likely a host is missed: from the ages of the cells as they are. The formulas are derived in
//! [`cells`](super).

use super::params::{CellsParams, SLOTS};
use super::spell::SPELLING;
use crate::epoch::Span;
use crate::finder::NOT_FOUND;

/// The probability to miss a host of θ that the choice of `c_min` accepts.
pub const ACCEPTED_MISS: f64 = 1.3e-4;

/// The fewest cells of a candidate: one cell says nothing.
pub const LEAST_CELLS: u32 = 2;

/// Says what is asked of a candidate: more than `cells` cells; of hosts with exactly `cells` a `share`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// The fewest cells of a candidate.
    pub cells: u32,
    /// Share of the hosts with so many cells that are candidates: 1 but where a limit leaves no more.
    pub share: f64,
}

impl Requirement {
    /// Returns what is asked of an IPv6 host where this is asked of others: at least the cells that spell its address.
    #[must_use]
    pub fn of_v6(self) -> Self {
        let least = least_v6(self.cells);
        if least > self.cells { least.into() } else { self }
    }
}

/// Returns the fewest cells of an IPv6 candidate, where `c_min` are asked of others: fewer do not spell its address.
#[must_use]
pub fn least_v6(c_min: u32) -> u32 {
    c_min.max(SPELLING as u32)
}

impl From<u32> for Requirement {
    fn from(cells: u32) -> Self {
        Self { cells, share: 1.0 }
    }
}

/// Tells how many of all cells have each age in the window.
#[derive(Clone, Copy, Debug)]
pub struct AgeHistogram<'a> {
    params: &'a CellsParams,
    counts: &'a [u32],
    /// Slices of the youngest and of the oldest age in the window.
    ends: [u32; 2],
}

impl<'a> AgeHistogram<'a> {
    /// Returns the histogram over `span` in which `counts[u]` cells of the array of `params` have the age u.
    ///
    /// # Panics
    /// When there are not as many counts as the span has ages.
    #[must_use]
    pub fn new(params: &'a CellsParams, counts: &'a [u32], span: Span) -> Self {
        assert_eq!(counts.len(), span.finder_ages as usize, "ages of a span");
        Self { params, counts, ends: [span.finder_youngest, span.finder_oldest] }
    }

    /// What `distinct_pairs` pairs per window of `window` slices would leave, in contact evenly in it and before
    /// it, in `counts`, where a running epoch ends. Of more ages than `counts` has room for some are taken for one.
    pub(crate) fn of_load(
        params: &'a CellsParams,
        window: u32,
        distinct_pairs: u64,
        counts: &'a mut [u32],
    ) -> Self {
        let epoch = params.epoch_slices;
        let epochs = window.div_ceil(epoch);
        let ages = counts.len().min(epochs as usize);
        let (share, ends) = if ages < epochs as usize {
            (1.0 / ages as f64, [epoch; 2])
        } else {
            let oldest = window - (epochs - 1) * epoch;
            (f64::from(epoch) / f64::from(window), [epoch.min(window), oldest])
        };
        let sampled = libm::ldexp(distinct_pairs as f64, -(params.lsb_threshold as i32));
        // In an age, per cell.
        let touches = libm::ldexp(sampled, -(params.cell_bits as i32)) * share;
        let touched = |ages: usize| {
            let touched = -libm::expm1(-touches * ages as f64);
            libm::ldexp(touched, params.cell_bits as i32) as u32
        };
        let counts = &mut counts[..ages];
        for (age, count) in counts.iter_mut().enumerate() {
            *count = touched(age + 1) - touched(age);
        }
        Self { params, counts, ends }
    }

    /// Returns θ.
    #[must_use]
    pub fn threshold(self) -> f64 {
        self.params.threshold.into()
    }

    /// Returns the share of the cells that were touched in the window.
    #[must_use]
    pub fn share_in_use(self) -> f64 {
        self.counts.iter().map(|&count| self.share(count)).sum()
    }

    /// Returns the probability that a host of `cardinality` opposite hosts, in contact evenly over the
    /// window, holds fewer cells than are `asked`.
    #[must_use]
    pub fn miss(self, cardinality: f64, asked: impl Into<Requirement>) -> f64 {
        missed(self.visible(cardinality), asked.into())
    }

    /// Returns the probability that a host of `cardinality` opposite hosts, all in contact in the oldest epoch of the
    /// window alone, holds fewer cells than are `asked`.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a window has ages")]
    pub fn burst_miss(self, cardinality: f64, asked: impl Into<Requirement>) -> f64 {
        let oldest = self.shown().last().expect("a window has ages");
        let touched = 1.0 - libm::exp(-self.samples(cardinality));
        missed(touched * oldest, asked.into())
    }

    /// Returns the largest number of cells that a host of θ has but for [`ACCEPTED_MISS`], at least
    /// [`LEAST_CELLS`].
    #[must_use]
    pub fn c_min(self) -> u32 {
        let p = self.visible(self.threshold());
        let is_accepted = |&c_min: &u32| below(SLOTS, p, c_min) <= ACCEPTED_MISS;
        (LEAST_CELLS..=SLOTS).take_while(is_accepted).last().unwrap_or(LEAST_CELLS)
    }

    /// The most hosts, in the mean and to a few percent, that may hold at least `cells` cells each, however
    /// `distinct_pairs` pairs are spread over hosts.
    ///
    /// Of hosts of n opposite hosts there are L/n at most, and a share P(n) of them holds so many cells. Whatever the mix
    /// of hosts is, those that do are no more than L times the largest P(n)/n.
    pub(crate) fn most_candidates(self, distinct_pairs: u64, cells: u32) -> f64 {
        // From hosts of this size on, by steps of a tenth, until all hold as many cells.
        let mut cardinality = f64::from(cells);
        let mut most = 0.0_f64;
        loop {
            most = most.max(self.most_holding(cardinality, cells) / cardinality);
            // Larger hosts are fewer than that, whatever share of them holds so many.
            if 1.0 / cardinality < most || cardinality > u32::MAX.into() {
                return distinct_pairs as f64 * most;
            }
            cardinality = libm::floor(1.1 * cardinality).max(cardinality + 1.0);
        }
    }

    /// Returns the probability that a host of `cardinality` peers holds at least `cells` cells, or an upper bound of it.
    ///
    /// For θ below 64 every pair is sampled, and [`miss`](Self::miss) is too large. There this is the probability that
    /// so many contacts are visible, if each had a slot of its own. Contacts that share a slot show fewer cells.
    pub(crate) fn most_holding(self, cardinality: f64, cells: u32) -> f64 {
        match self.params.lsb_threshold {
            0 => 1.0 - below(cardinality as u32, self.visible_contacts(), cells),
            _ => 1.0 - self.miss(cardinality, cells),
        }
    }

    /// Returns whether hosts of θ are missed more often than [`NOT_FOUND`] even where only `cells` are asked of them.
    #[must_use]
    pub fn is_crowded(self, cells: u32) -> bool {
        self.bound(self.threshold(), cells) > NOT_FOUND
    }

    /// Returns the probability of [`miss`](Self::miss), or for θ below 64 a closer upper bound. There every pair is sampled,
    /// so no more slots than contacts can be visible: the number of visible slots is taken for binomial, with the same mean
    /// and one draw for each contact.
    pub(crate) fn bound(self, cardinality: f64, cells: u32) -> f64 {
        let slots = match self.params.lsb_threshold {
            0 => SLOTS.min(cardinality as u32),
            _ => SLOTS,
        };
        below(slots, self.visible(cardinality) * f64::from(SLOTS) / f64::from(slots), cells)
    }

    /// Returns the least cardinality, to 1 %, of which hosts that hold fewer cells than are `asked` are at most
    /// [`NOT_FOUND`]: 99 % of those in contact evenly over the window are found. Infinite where the
    /// cells hide even the largest hosts.
    #[must_use]
    pub fn found_from(self, asked: impl Into<Requirement>) -> f64 {
        let asked = asked.into();
        let (mut least, mut most) = (0.0, f64::from(self.params.threshold));
        while self.miss(most, asked) > NOT_FOUND {
            (least, most) = (most, 2.0 * most);
            if most > u32::MAX.into() {
                return f64::INFINITY;
            }
        }
        while most - least > 0.01 * most {
            let middle = f64::midpoint(least, most);
            if self.miss(middle, asked) > NOT_FOUND { least = middle } else { most = middle }
        }
        most
    }

    /// p: probability that a slot of such a host is visible.
    fn visible(self, cardinality: f64) -> f64 {
        let slices = self.slices();
        let per_slice = -self.samples(cardinality) / self.per_age(slices).sum::<f64>();
        // Probability that a slot has no sample of an age, where that has so many slices.
        let none = slices.map(|slices| libm::exp(per_slice * slices));
        // Probability that no sample of the slot is of a smaller age.
        let mut none_before = 1.0;
        let visible = self.per_age(none).zip(self.shown()).map(|(none, shown)| {
            let first = none_before * (1.0 - none);
            none_before *= none;
            first * shown
        });
        visible.sum()
    }

    /// Share of the contacts, even over the window, that no stranger hides.
    fn visible_contacts(self) -> f64 {
        let slices = self.slices();
        let visible = self.per_age(slices).zip(self.shown()).map(|(slices, shown)| slices * shown);
        visible.sum::<f64>() / self.per_age(slices).sum::<f64>()
    }

    /// Slices of the youngest age, of each age between, and of the oldest.
    fn slices(self) -> [f64; 3] {
        let [youngest, oldest] = self.ends;
        [youngest, self.params.epoch_slices, oldest].map(f64::from)
    }

    /// Returns for each age the value of its kind: the youngest, one between, or the oldest.
    fn per_age(self, [youngest, between, oldest]: [f64; 3]) -> impl Iterator<Item = f64> {
        let last = self.counts.len() - 1;
        (0..=last).map(move |age| match age {
            0 => youngest,
            _ if age == last => oldest,
            _ => between,
        })
    }

    /// μ: samples per slot of a host.
    fn samples(self, cardinality: f64) -> f64 {
        libm::ldexp(cardinality / f64::from(SLOTS), -(self.params.lsb_threshold as i32))
    }

    /// Per age the probability that no stranger hides what was touched then: none has a smaller age, and
    /// of those with the same age none wins the tie.
    fn shown(self) -> impl Iterator<Item = f64> {
        let mut younger = 0.0;
        // Where all cells were touched, the next one to be free is taken for half a cell: something may be shown.
        let free = move |younger: f64| (1.0 - younger).max(self.share(1) / 2.0);
        self.counts.iter().map(move |&count| {
            let before = free(younger);
            younger += self.share(count);
            log_mean(before, free(younger))
        })
    }

    /// Returns the share of all cells that `cells` are.
    #[must_use]
    pub fn share(self, cells: u32) -> f64 {
        libm::ldexp(cells.into(), -(self.params.cell_bits as i32))
    }
}

/// `(a - b) / ln(a / b)`: the mean of a share that falls from `a` to `b`, by as much of itself at any time.
fn log_mean(a: f64, b: f64) -> f64 {
    let fall = (a - b) / a;
    // A series where the quotient would be one of rounding errors.
    if fall < 1e-4 {
        a * (1.0 - fall / 2.0 - fall * fall / 12.0)
    } else {
        (b - a) / libm::log(b / a)
    }
}

/// Probability that a host whose slots are visible with probability `p` holds fewer cells than are `asked`.
fn missed(p: f64, Requirement { cells, share }: Requirement) -> f64 {
    share * below(SLOTS, p, cells) + (1.0 - share) * below(SLOTS, p, cells + 1)
}

/// `P(Binomial(slots, p) < c_min)`.
fn below(slots: u32, p: f64, c_min: u32) -> f64 {
    if c_min > slots {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    let odds = p / (1.0 - p);
    let mut term = libm::pow(1.0 - p, f64::from(slots));
    let mut sum = 0.0;
    for c in 0..c_min {
        sum += term;
        term *= f64::from(slots - c) / f64::from(c + 1) * odds;
    }
    sum.min(1.0)
}

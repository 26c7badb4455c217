//! The probability that a host is missed, computed from the current ages of the cells. The formulas are derived in
//! [`cells`](super).

use super::params::{CellsParams, SLOTS};
use super::spell::SPELLING;
use crate::epoch::Span;
use crate::finder::NOT_FOUND;

/// Maximum probability of missing a host with θ peers, from which `c_min` is derived.
pub const ACCEPTED_MISS: f64 = 1.3e-4;

/// Minimum number of cells of a candidate. A single cell is not significant.
pub const LEAST_CELLS: u32 = 2;

/// The number of cells that a candidate needs. All hosts with more than `cells` cells are candidates, and so is a
/// `share` of the hosts with exactly `cells` cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// Minimum number of cells of a candidate.
    pub cells: u32,
    /// Share of the hosts with exactly `cells` cells that are candidates. This share is below 1 only if the candidate
    /// limit requires it.
    pub share: f64,
}

impl Requirement {
    /// Returns the requirement for IPv6 hosts, which need at least enough cells to spell an address.
    #[must_use]
    pub fn of_v6(self) -> Self {
        let least = least_v6(self.cells);
        if least > self.cells { least.into() } else { self }
    }
}

/// Returns the minimum number of cells of an IPv6 candidate if an IPv4 candidate needs `c_min` cells. With fewer cells,
/// the address of the host cannot be spelt.
#[must_use]
pub fn least_v6(c_min: u32) -> u32 {
    c_min.max(SPELLING as u32)
}

impl From<u32> for Requirement {
    fn from(cells: u32) -> Self {
        Self { cells, share: 1.0 }
    }
}

/// The number of cells of each age in the window.
#[derive(Clone, Copy, Debug)]
pub struct AgeHistogram<'a> {
    params: &'a CellsParams,
    counts: &'a [u32],
    /// Number of slices in the window at the youngest age, and at the oldest age.
    ends: [u32; 2],
}

impl<'a> AgeHistogram<'a> {
    /// Creates the histogram over `span` in which `counts[u]` cells of the array of `params` have age u.
    ///
    /// # Panics
    /// Panics if the number of counts differs from the number of ages of the span.
    #[must_use]
    pub fn new(params: &'a CellsParams, counts: &'a [u32], span: Span) -> Self {
        assert_eq!(counts.len(), span.finder_ages as usize, "each age of the span needs a count");
        Self { params, counts, ends: [span.finder_youngest, span.finder_oldest] }
    }

    /// Creates the histogram expected at the end of an epoch if a window of `window` slices contains `distinct_pairs`
    /// pairs. The function fills `counts`. It assumes that contacts are spread evenly over the window and were as
    /// frequent before the window as in it. If `counts` has fewer entries than the window has ages, several ages are
    /// combined into one.
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

    /// Returns the probability that a host with `cardinality` peers holds fewer cells than `asked`, if its contacts are
    /// spread evenly over the window.
    #[must_use]
    pub fn miss(self, cardinality: f64, asked: impl Into<Requirement>) -> f64 {
        missed(self.visible(cardinality), asked.into())
    }

    /// Returns the probability that a host with `cardinality` peers holds fewer cells than `asked`, if all its contacts
    /// are in the oldest epoch of the window.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a window has ages")]
    pub fn burst_miss(self, cardinality: f64, asked: impl Into<Requirement>) -> f64 {
        let oldest = self.shown().last().expect("a window has ages");
        let touched = 1.0 - libm::exp(-self.samples(cardinality));
        missed(touched * oldest, asked.into())
    }

    /// Returns the largest `c_min` for which a host with θ peers is missed with a probability of at most
    /// [`ACCEPTED_MISS`]. The result is at least [`LEAST_CELLS`].
    #[must_use]
    pub fn c_min(self) -> u32 {
        most_accepted(self.visible(self.threshold()))
    }

    /// Returns an upper bound, accurate to within a few percent, on the expected number of hosts that hold at least
    /// `cells` cells each. The bound applies to any distribution of `distinct_pairs` pairs over hosts.
    ///
    /// L pairs allow at most L/n hosts with n peers, and a share P(n) of these holds enough cells. For any mix of
    /// hosts, the expected number is therefore at most L times the largest P(n)/n.
    pub(crate) fn most_candidates(self, distinct_pairs: u64, cells: u32) -> f64 {
        // The search starts with hosts of this size and increases it by a tenth until all hosts hold enough cells.
        let mut cardinality = f64::from(cells);
        let mut most = 0.0_f64;
        loop {
            most = most.max(self.most_holding(cardinality, cells) / cardinality);
            // There are fewer larger hosts than the bound, even if all of them hold enough cells.
            if 1.0 / cardinality < most || cardinality > u32::MAX.into() {
                return distinct_pairs as f64 * most;
            }
            cardinality = libm::floor(1.1 * cardinality).max(cardinality + 1.0);
        }
    }

    /// Returns the probability that a host with `cardinality` peers holds at least `cells` cells, or an upper bound on
    /// this probability.
    ///
    /// For θ below 64, every pair is sampled, and the result of [`miss`](Self::miss) is too large. The function then
    /// returns the probability that at least `cells` contacts are visible. This is an upper bound, because a host holds
    /// fewer cells if contacts share a slot.
    pub(crate) fn most_holding(self, cardinality: f64, cells: u32) -> f64 {
        match self.params.lsb_threshold {
            0 => 1.0 - below(cardinality as u32, self.visible_contacts(), cells),
            _ => 1.0 - self.miss(cardinality, cells),
        }
    }

    /// Returns whether hosts with θ peers may be missed with a probability above [`NOT_FOUND`] if a candidate needs
    /// `cells` cells.
    #[must_use]
    pub fn is_crowded(self, cells: u32) -> bool {
        self.bound(self.threshold(), cells) > NOT_FOUND
    }

    /// Returns the result of [`miss`](Self::miss) or, for θ below 64, a tighter upper bound on the probability of a
    /// miss.
    ///
    /// For θ below 64, every pair is sampled, so a host does not have more visible slots than contacts. The number of
    /// visible slots is then treated as binomial: with one trial per contact if there are fewer contacts than slots,
    /// and with the mean that `miss` uses.
    pub(crate) fn bound(self, cardinality: f64, cells: u32) -> f64 {
        let slots = match self.params.lsb_threshold {
            0 => SLOTS.min(cardinality as u32),
            _ => SLOTS,
        };
        below(slots, self.visible(cardinality) * f64::from(SLOTS) / f64::from(slots), cells)
    }

    /// Returns the minimum cardinality, to within 1 %, at which a host holds fewer cells than `asked` with a
    /// probability of at most [`NOT_FOUND`]. From this cardinality on, at least 99 % of the hosts whose contacts are
    /// spread evenly over the window are found. The result is infinite if the probability is higher at every
    /// cardinality.
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

    /// Returns p, the probability that a slot of a host with `cardinality` peers is visible.
    fn visible(self, cardinality: f64) -> f64 {
        let slices = self.slices();
        let per_slice = -self.samples(cardinality) / self.per_age(slices).sum::<f64>();
        // Each element is the probability that a slot has no sample at an age with this number of slices.
        let none = slices.map(|slices| libm::exp(per_slice * slices));
        // This variable is the probability that the slot has no sample at a smaller age.
        let mut none_before = 1.0;
        let visible = self.per_age(none).zip(self.shown()).map(|(none, shown)| {
            let first = none_before * (1.0 - none);
            none_before *= none;
            first * shown
        });
        visible.sum()
    }

    /// Returns the share of the contacts of a host that no other host hides, if the contacts are spread evenly over the
    /// window.
    fn visible_contacts(self) -> f64 {
        let slices = self.slices();
        let visible = self.per_age(slices).zip(self.shown()).map(|(slices, shown)| slices * shown);
        visible.sum::<f64>() / self.per_age(slices).sum::<f64>()
    }

    /// Returns the number of slices at the youngest age, at each age in between, and at the oldest age.
    fn slices(self) -> [f64; 3] {
        let [youngest, oldest] = self.ends;
        [youngest, self.params.epoch_slices, oldest].map(f64::from)
    }

    /// Yields one value per age, the youngest first.
    fn per_age(self, [youngest, between, oldest]: [f64; 3]) -> impl Iterator<Item = f64> {
        let last = self.counts.len() - 1;
        (0..=last).map(move |age| match age {
            0 => youngest,
            _ if age == last => oldest,
            _ => between,
        })
    }

    /// Returns μ, the mean number of samples per slot of a host with `cardinality` peers.
    fn samples(self, cardinality: f64) -> f64 {
        libm::ldexp(cardinality / f64::from(SLOTS), -(self.params.lsb_threshold as i32))
    }

    /// Returns, for each age, the probability that no other host hides a touch of that age. Another host hides a touch
    /// if its own touch has a smaller age, or has the same age and wins the tie.
    fn shown(self) -> impl Iterator<Item = f64> {
        let mut younger = 0.0;
        // If all cells were touched, half a cell is counted as free, so that the probability is above 0.
        let free = move |younger: f64| (1.0 - younger).max(self.share(1) / 2.0);
        self.counts.iter().map(move |&count| {
            let before = free(younger);
            younger += self.share(count);
            log_mean(before, free(younger))
        })
    }

    /// Returns `cells` as a share of all cells.
    #[must_use]
    pub fn share(self, cells: u32) -> f64 {
        libm::ldexp(cells.into(), -(self.params.cell_bits as i32))
    }
}

/// Returns a lower bound on [`c_min`](AgeHistogram::c_min) in every window in which at most `touched` cells were touched.
///
/// A slot of a host with θ peers is visible if it has a sample and its cell is not one of the touched cells. For any
/// ages of these cells, [`AgeHistogram`] assumes at least this probability.
#[must_use]
pub fn least_c_min(params: &CellsParams, touched: u32) -> u32 {
    let histogram = AgeHistogram { params, counts: &[], ends: [1, 1] };
    let has_sample = 1.0 - libm::exp(-histogram.samples(histogram.threshold()));
    most_accepted(has_sample * (1.0 - histogram.share(touched)))
}

/// Returns the largest number of cells that may be asked of a candidate, if the slots of a host with θ peers are visible
/// with probability `p`.
fn most_accepted(p: f64) -> u32 {
    let is_accepted = |&c_min: &u32| below(SLOTS, p, c_min) <= ACCEPTED_MISS;
    (LEAST_CELLS..=SLOTS).take_while(is_accepted).last().unwrap_or(LEAST_CELLS)
}

/// Returns `(a - b) / ln(a / b)`, the mean of a share that decays exponentially from `a` to `b`.
fn log_mean(a: f64, b: f64) -> f64 {
    let fall = (a - b) / a;
    // For a small fall, rounding errors would dominate the quotient, so a series replaces it.
    if fall < 1e-4 {
        a * (1.0 - fall / 2.0 - fall * fall / 12.0)
    } else {
        (b - a) / libm::log(b / a)
    }
}

/// Returns the probability that a host holds fewer cells than `asked`, if its slots are visible with probability `p`.
fn missed(p: f64, Requirement { cells, share }: Requirement) -> f64 {
    share * below(SLOTS, p, cells) + (1.0 - share) * below(SLOTS, p, cells + 1)
}

/// Returns `P(Binomial(slots, p) < c_min)`.
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

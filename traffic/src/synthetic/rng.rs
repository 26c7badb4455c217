//! Random numbers of the traffic model, from splitmix64 (a counter and a mixer).
//!
//! The same seed gives the same bits on every machine. Floats are made from integers. Powers come from `libm` and never
//! from the mathematics library of the platform.

/// Increment of splitmix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes the bits of `value` with the output function of splitmix64, a bijection of 64-bit integers.
#[inline]
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let mut x = value.wrapping_add(GOLDEN);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A splitmix64 generator.
pub(crate) struct Rng(u64);

impl Rng {
    /// Creates the generator for one `purpose`. Generators for different purposes are independent.
    pub(crate) const fn new(seed: u64, purpose: u64) -> Self {
        Self(mix(seed) ^ mix(purpose).rotate_left(32))
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub(crate) const fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        bits
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    #[inline]
    pub(crate) const fn below(&mut self, bound: u32) -> u32 {
        (((self.bits() >> 32) * bound as u64) >> 32) as u32
    }

    /// Returns a number strictly between 0 and 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        // 52 bits and a half are exact in a double, so the result is neither 0 nor 1.
        ((self.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Draws a Pareto variate: P(X > x) = (x / minimum)^-tail. Values above `cap` become `cap`.
    #[inline]
    pub(crate) fn pareto(&mut self, minimum: f64, tail: f64, cap: f64) -> f64 {
        (minimum * libm::pow(self.unit(), -1.0 / tail)).min(cap)
    }

    /// Draws a lognormal variate. Its logarithm has the mean ln `median` and the standard deviation `sigma`.
    #[inline]
    pub(crate) fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        // The Box-Muller method yields the radius and the angle of two normal variates. One of them is used.
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        let normal = radius * libm::cos(std::f64::consts::TAU * self.unit());
        median * libm::exp(sigma * normal)
    }

    /// Draws a rank from 1 to `ranks` whose logarithm is uniform. Rank 1 is the most popular.
    #[inline]
    pub(crate) fn popular_rank(&mut self, ranks: f64) -> u64 {
        libm::pow(ranks, self.unit()) as u64
    }

    /// Shuffles `items` (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    #[test]
    fn splitmix64_gives_its_published_first_numbers() {
        // The first outputs of the reference implementation (Vigna) for the state 0.
        let mut rng = Rng(0);
        assert_eq!(rng.bits(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(rng.bits(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn lognormal_has_its_median_and_the_quantile_of_one_sigma() {
        let mut rng = Rng::new(7, 0);
        let draws: Vec<f64> = (0..100_000).map(|_| rng.lognormal(30.0, 1.5)).collect();
        let above = |bound: f64| draws.iter().filter(|&&draw| draw > bound).count() as f64;
        // The counts are binomial with 1/2 and Q(1) = 0.15866. The bounds are five standard deviations of 158 and
        // 115.6.
        assert_abs_diff_eq!(above(30.0), 50_000.0, epsilon = 790.0);
        let one_sigma = 30.0 * libm::exp(1.5);
        assert_abs_diff_eq!(above(one_sigma), 15_866.0, epsilon = 578.0);
    }

    #[test]
    fn pareto_exceeds_its_minimum_tenfold_as_often_as_its_tail_says() {
        let mut rng = Rng::new(7, 0);
        let draws = 100_000_u32;
        let above = (0..draws).filter(|_| rng.pareto(2.0, 1.0, 1e9) > 20.0).count();
        // Binomial(100_000, 1/10) has the mean 10_000 and a standard deviation of 95. The bound is five of them.
        assert_abs_diff_eq!(above as f64, 10_000.0, epsilon = 475.0);
    }
}

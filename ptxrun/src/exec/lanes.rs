//! Values and sets of the threads of a warp.
//!
//! Functions on all lanes are loops without branches, which the compiler vectorises.

/// Number of threads in a warp.
pub(super) const WARP: usize = 32;

/// The set of all lanes. Bit i of a set is lane i.
pub(super) const ALL: u32 = u32::MAX;

/// A value of each lane.
pub(super) type Lanes<T> = [T; WARP];

/// Replaces the values of the lanes in `mask` by those of `x`.
#[inline(always)]
pub(super) fn put<T: Copy>(d: &mut Lanes<T>, mask: u32, x: Lanes<T>) {
    if mask == ALL {
        *d = x;
    } else {
        for lane in 0..WARP {
            if mask >> lane & 1 == 1 {
                d[lane] = x[lane];
            }
        }
    }
}

/// Returns `f` of each lane.
#[inline(always)]
pub(super) fn map<T: Copy, U: Copy + Default>(a: &Lanes<T>, f: impl Fn(T) -> U) -> Lanes<U> {
    let mut x = [U::default(); WARP];
    for lane in 0..WARP {
        x[lane] = f(a[lane]);
    }
    x
}

/// Returns `f` of each lane of `a` and `b`.
#[inline(always)]
pub(super) fn zip<T: Copy, V: Copy, U: Copy + Default>(
    a: &Lanes<T>,
    b: &Lanes<V>,
    f: impl Fn(T, V) -> U,
) -> Lanes<U> {
    let mut x = [U::default(); WARP];
    for lane in 0..WARP {
        x[lane] = f(a[lane], b[lane]);
    }
    x
}

/// Returns the set of lanes for whose values `f` is true.
#[inline(always)]
pub(super) fn select<T: Copy>(a: &Lanes<T>, b: &Lanes<T>, f: impl Fn(T, T) -> bool) -> u32 {
    let mut x = 0;
    for lane in 0..WARP {
        x |= u32::from(f(a[lane], b[lane])) << lane;
    }
    x
}

/// Iterates over the lanes of a set, in order.
#[inline(always)]
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}

/// Returns the low `bits` bits of `value`, extended to 64 bits.
#[inline(always)]
pub(super) fn extended(value: u64, bits: u32, signed: bool) -> u64 {
    let unused = 64 - bits;
    match signed {
        true => ((value << unused) as i64 >> unused) as u64,
        false => value << unused >> unused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_one_bit_per_lane() {
        assert_eq!(lanes(1 << 31 | 0b101).collect::<Vec<_>>(), [0, 2, 31]);
        let (a, mut d) = (std::array::from_fn(|lane| lane), [0; WARP]);
        assert_eq!(select(&a, &[3; WARP], |a, b| a < b), 0b111);
        put(&mut d, 0b110, a);
        assert_eq!(d[..4], [0, 1, 2, 0]);
        put(&mut d, ALL, map(&a, |a| a + 1));
        assert_eq!(d, zip(&a, &[1; WARP], |a, b| a + b));
    }

    #[test]
    fn values_are_extended_by_their_sign() {
        assert_eq!(extended(0x1ff, 8, true), u64::MAX);
        assert_eq!(extended(0x1ff, 8, false), 0xff);
        assert_eq!(extended(u64::MAX, 64, false), u64::MAX);
    }
}

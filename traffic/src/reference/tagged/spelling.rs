//! How cells spell an IPv6 host: a polynomial over GF(2^32) through four points.

use srlg_core::Limbs;

/// x^32 + x^22 + x^2 + x + 1, by which the field is made: bit i stands for x^i.
const FIELD: u64 = 1 << 32 | 1 << 22 | 0b111;

/// The product of two polynomials over GF(2), modulo that of the field.
fn product(a: u32, b: u32) -> u32 {
    let mut product = (0..32)
        .filter(|&bit| b >> bit & 1 == 1)
        .fold(0u64, |product, bit| product ^ u64::from(a) << bit);
    for bit in (32..64).rev() {
        if product >> bit & 1 == 1 {
            product ^= FIELD << (bit - 32);
        }
    }
    product as u32
}

fn power(x: u32, exponent: u32) -> u32 {
    (0..32).rev().fold(1, |power, bit| {
        let square = product(power, power);
        if exponent >> bit & 1 == 1 { product(square, x) } else { square }
    })
}

/// The number whose product with `x`, which is not 0, is 1: x has 2^32 - 1 different powers at most.
fn inverse(x: u32) -> u32 {
    power(x, u32::MAX - 1)
}

/// What stands in the cell of a slot: the value at slot + 1 of the polynomial whose coefficients are the words of the host,
/// that of 1 first.
pub(super) fn symbol(host: Limbs, slot: u32) -> u32 {
    let terms = (0..).zip(host).map(|(exponent, word)| product(word, power(slot + 1, exponent)));
    terms.fold(0, |sum, term| sum ^ term)
}

/// The host with these symbols in these slots, all different: the solution of four linear equations, by Gauss.
pub(super) fn solve(points: [(u32, u32); 4]) -> Limbs {
    // A row: the powers of a slot's number, and the symbol there.
    let mut rows = points.map(|(slot, symbol)| {
        let mut row = [symbol; 5];
        (0..4).for_each(|exponent| row[exponent as usize] = power(slot + 1, exponent));
        row
    });
    for column in 0..4 {
        let pivot = (column..4).find(|&row| rows[row][column] != 0);
        rows.swap(column, pivot.expect("points differ: there is one solution"));
        let scale = inverse(rows[column][column]);
        rows[column] = rows[column].map(|it| product(it, scale));
        let subtracted = rows[column];
        for row in (0..4).filter(|&row| row != column) {
            let times = rows[row][column];
            (0..5).for_each(|it| rows[row][it] ^= product(times, subtracted[it]));
        }
    }
    rows.map(|row| row[4])
}

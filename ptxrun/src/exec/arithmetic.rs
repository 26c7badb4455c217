//! Instructions that compute registers of a [`Warp`].
//!
//! Each function applies its instruction to the lanes in `mask`. The functions are inlined into one large `match`,
//! because calls would take longer than most instructions.

use super::fault::{FaultKind, LaneFault};
use super::lanes::{Lanes, WARP, extended, lanes, map, put, select, zip};
use super::warp::Warp;
use super::word::Word;
use crate::isa::{Alu, Compare, Count, DataReg, Kind, Logic, Reg, Shift, Type, Unary, Width};

/// Evaluates the expression with the registers of the width.
macro_rules! of_width {
    ($warp:expr, $width:expr, $registers:ident => $result:expr) => {
        match $width {
            Width::W16 => {
                let $registers = &mut $warp.r16;
                $result
            }
            Width::W32 => {
                let $registers = &mut $warp.r32;
                $result
            }
            Width::W64 => {
                let $registers = &mut $warp.r64;
                $result
            }
        }
    };
}

/// Three registers: the result and two operands.
#[derive(Clone, Copy)]
pub(super) struct Regs {
    pub(super) d: Reg,
    pub(super) a: Reg,
    pub(super) b: Reg,
}

impl Warp {
    #[inline(always)]
    pub(super) fn alu(
        &mut self,
        width: Width,
        alu: Alu,
        regs: Regs,
        mask: u32,
    ) -> Result<(), LaneFault> {
        of_width!(self, width, registers => alu_of(registers, alu, regs, mask))
    }

    #[inline(always)]
    pub(super) fn shift(&mut self, width: Width, shift: Shift, regs: Regs, mask: u32) {
        let by = self.r32[usize::from(regs.b)];
        of_width!(self, width, registers => shift_of(registers, shift, regs, &by, mask));
    }

    #[inline(always)]
    pub(super) fn unary(&mut self, width: Width, unary: Unary, d: Reg, a: Reg, mask: u32) {
        of_width!(self, width, registers => unary_of(registers, unary, d, a, mask));
    }

    #[inline(always)]
    pub(super) fn multiply_and_add(&mut self, width: Width, regs: Regs, c: Reg, mask: u32) {
        of_width!(self, width, registers => multiply_and_add_of(registers, regs, c, mask));
    }

    #[inline(always)]
    pub(super) fn select(&mut self, width: Width, regs: Regs, p: Reg, mask: u32) {
        let p = self.predicates[usize::from(p)];
        of_width!(self, width, registers => select_of(registers, regs, p, mask));
    }

    #[inline(always)]
    pub(super) fn set_predicate(&mut self, width: Width, compare: Compare, regs: Regs, mask: u32) {
        let x = of_width!(self, width, registers => compared(registers, compare, regs));
        self.put_predicate(regs.d, mask, x);
    }

    #[inline(always)]
    pub(super) fn predicate_logic(&mut self, logic: Logic, regs: Regs, mask: u32) {
        let [a, b] = [regs.a, regs.b].map(|reg| self.predicates[usize::from(reg)]);
        let x = match logic {
            Logic::And => a & b,
            Logic::Or => a | b,
            Logic::Xor => a ^ b,
        };
        self.put_predicate(regs.d, mask, x);
    }

    #[inline(always)]
    pub(super) fn predicate_mov(&mut self, negated: bool, d: Reg, a: Reg, mask: u32) {
        let a = self.predicates[usize::from(a)];
        self.put_predicate(d, mask, if negated { !a } else { a });
    }

    #[inline(always)]
    pub(super) fn count(&mut self, width: Width, count: Count, d: Reg, a: Reg, mask: u32) {
        let a = usize::from(a);
        let x = match (width, count) {
            (Width::W64, Count::Ones) => map(&self.r64[a], u64::count_ones),
            (Width::W64, Count::LeadingZeros) => map(&self.r64[a], u64::leading_zeros),
            // The parser rejects 16 bits.
            (_, Count::Ones) => map(&self.r32[a], u32::count_ones),
            (_, Count::LeadingZeros) => map(&self.r32[a], u32::leading_zeros),
        };
        put(&mut self.r32[usize::from(d)], mask, x);
    }

    #[inline(always)]
    pub(super) fn wide_product(&mut self, signed: bool, regs: Regs, mask: u32) {
        let (a, b) = (&self.r32[usize::from(regs.a)], &self.r32[usize::from(regs.b)]);
        let x = match signed {
            true => zip(a, b, |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64),
            false => zip(a, b, |a, b| u64::from(a) * u64::from(b)),
        };
        put(&mut self.r64[usize::from(regs.d)], mask, x);
    }

    #[inline(always)]
    pub(super) fn funnel(&mut self, left: bool, wrap: bool, regs: Regs, c: Reg, mask: u32) {
        let [a, b, c] = [regs.a, regs.b, c].map(|reg| &self.r32[usize::from(reg)]);
        let mut x = [0; WARP];
        for lane in 0..WARP {
            let by = if wrap { c[lane] & 31 } else { c[lane].min(32) };
            let both = u64::from(b[lane]) << 32 | u64::from(a[lane]);
            x[lane] = if left { (both << by >> 32) as u32 } else { (both >> by) as u32 };
        }
        put(&mut self.r32[usize::from(regs.d)], mask, x);
    }

    #[inline(always)]
    pub(super) fn bit_field(&mut self, width: Width, signed: bool, regs: Regs, c: Reg, mask: u32) {
        let top = width.bits() - 1;
        for lane in lanes(mask) {
            let a = self.get(DataReg { width, reg: regs.a }, lane);
            let [from, len] = [regs.b, c].map(|reg| self.r32[usize::from(reg)][lane] & 0xff);
            // The manual defines the result bit by bit. Bits behind the field repeat its highest bit if it is signed.
            let fill = if !signed || len == 0 { 0 } else { a >> top.min(from + len - 1) & 1 };
            let bit =
                |at: u32| if at < len && from + at <= top { a >> (from + at) & 1 } else { fill };
            let x = (0..=top).map(|at| bit(at) << at).sum();
            self.set(DataReg { width, reg: regs.d }, lane, x);
        }
    }

    #[inline(always)]
    pub(super) fn convert(&mut self, to: Type, from: Type, d: DataReg, a: DataReg, mask: u32) {
        let is_unsigned = from.kind == Kind::Unsigned;
        match (a.width, d.width) {
            // These two conversions are common, so they do not go through the general one below.
            (Width::W32, Width::W64) if is_unsigned && (from.bits, to.bits) == (32, 64) => {
                let x = map(&self.r32[usize::from(a.reg)], u64::from);
                put(&mut self.r64[usize::from(d.reg)], mask, x);
            }
            (Width::W64, Width::W32) if is_unsigned && (from.bits, to.bits) == (64, 32) => {
                let x = map(&self.r64[usize::from(a.reg)], |a| a as u32);
                put(&mut self.r32[usize::from(d.reg)], mask, x);
            }
            _ => {
                for lane in lanes(mask) {
                    let x = extended(self.get(a, lane), from.bits, from.is_signed());
                    self.set(d, lane, extended(x, to.bits, to.is_signed()));
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn unpack(&mut self, from: Width, d: [Reg; 2], a: Reg, mask: u32) {
        let width = from.half();
        for lane in lanes(mask) {
            let x = self.get(DataReg { width: from, reg: a }, lane);
            self.set(DataReg { width, reg: d[0] }, lane, x);
            self.set(DataReg { width, reg: d[1] }, lane, x >> width.bits());
        }
    }

    #[inline(always)]
    pub(super) fn pack(&mut self, to: Width, d: Reg, a: [Reg; 2], mask: u32) {
        let width = to.half();
        for lane in lanes(mask) {
            let [low, high] = a.map(|reg| self.get(DataReg { width, reg }, lane));
            self.set(DataReg { width: to, reg: d }, lane, low | high << width.bits());
        }
    }
}

#[inline(always)]
fn alu_of<T: Word>(
    registers: &mut [Lanes<T>],
    alu: Alu,
    Regs { d, a, b }: Regs,
    mask: u32,
) -> Result<(), LaneFault> {
    let (a, b) = (&registers[usize::from(a)], &registers[usize::from(b)]);
    let x = match alu {
        Alu::Add => zip(a, b, T::plus),
        Alu::Sub => zip(a, b, T::minus),
        Alu::MulLo => zip(a, b, T::times),
        Alu::MulHiU => zip(a, b, T::high_of_product),
        Alu::MulHiS => zip(a, b, T::high_of_signed_product),
        Alu::And => zip(a, b, |a, b| a & b),
        Alu::Or => zip(a, b, |a, b| a | b),
        Alu::Xor => zip(a, b, |a, b| a ^ b),
        Alu::MinU => zip(a, b, T::min),
        Alu::MaxU => zip(a, b, T::max),
        Alu::MinS => zip(a, b, |a, b| T::unsigned(a.signed().min(b.signed()))),
        Alu::MaxS => zip(a, b, |a, b| T::unsigned(a.signed().max(b.signed()))),
        Alu::DivU | Alu::DivS | Alu::RemU | Alu::RemS => {
            // The result would be unspecified, so no kernel may rely on it.
            if let Some(lane) = lanes(mask).find(|&lane| b[lane] == T::default()) {
                return Err(LaneFault { kind: FaultKind::DivisionByZero, lane, address: 0 });
            }
            match alu {
                Alu::DivU => zip(a, b, T::quotient),
                Alu::RemU => zip(a, b, T::remainder),
                Alu::DivS => zip(a, b, T::signed_quotient),
                _ => zip(a, b, T::signed_remainder),
            }
        }
    };
    put(&mut registers[usize::from(d)], mask, x);
    Ok(())
}

/// Shifts by `by`. If `by` exceeds the number of bits, it counts as this number.
#[inline(always)]
fn shift_of<T: Word>(
    registers: &mut [Lanes<T>],
    shift: Shift,
    regs: Regs,
    by: &Lanes<u32>,
    mask: u32,
) {
    let a = &registers[usize::from(regs.a)];
    let x = match shift {
        Shift::Left => zip(a, by, |a, by| if by >= T::BITS { T::default() } else { a << by }),
        Shift::RightU => zip(a, by, |a, by| if by >= T::BITS { T::default() } else { a >> by }),
        Shift::RightS => zip(a, by, |a, by| T::unsigned(a.signed() >> by.min(T::BITS - 1))),
    };
    put(&mut registers[usize::from(regs.d)], mask, x);
}

#[inline(always)]
fn unary_of<T: Word>(registers: &mut [Lanes<T>], unary: Unary, d: Reg, a: Reg, mask: u32) {
    let a = &registers[usize::from(a)];
    let x = match unary {
        Unary::Mov => *a,
        Unary::Not => map(a, |a| !a),
        Unary::Neg => map(a, T::negated),
    };
    put(&mut registers[usize::from(d)], mask, x);
}

#[inline(always)]
fn multiply_and_add_of<T: Word>(registers: &mut [Lanes<T>], regs: Regs, c: Reg, mask: u32) {
    let x = zip(&registers[usize::from(regs.a)], &registers[usize::from(regs.b)], T::times);
    let x = zip(&x, &registers[usize::from(c)], T::plus);
    put(&mut registers[usize::from(regs.d)], mask, x);
}

#[inline(always)]
fn select_of<T: Word>(registers: &mut [Lanes<T>], regs: Regs, p: u32, mask: u32) {
    let (a, b) = (&registers[usize::from(regs.a)], &registers[usize::from(regs.b)]);
    let mut x = *b;
    for lane in 0..WARP {
        x[lane] = if p >> lane & 1 == 1 { a[lane] } else { b[lane] };
    }
    put(&mut registers[usize::from(regs.d)], mask, x);
}

#[inline(always)]
fn compared<T: Word>(registers: &[Lanes<T>], compare: Compare, regs: Regs) -> u32 {
    let (a, b) = (&registers[usize::from(regs.a)], &registers[usize::from(regs.b)]);
    match compare {
        Compare::Eq => select(a, b, |a, b| a == b),
        Compare::Ne => select(a, b, |a, b| a != b),
        Compare::LtU => select(a, b, |a, b| a < b),
        Compare::LeU => select(a, b, |a, b| a <= b),
        Compare::GtU => select(a, b, |a, b| a > b),
        Compare::GeU => select(a, b, |a, b| a >= b),
        Compare::LtS => select(a, b, |a, b| a.signed() < b.signed()),
        Compare::LeS => select(a, b, |a, b| a.signed() <= b.signed()),
        Compare::GtS => select(a, b, |a, b| a.signed() > b.signed()),
        Compare::GeS => select(a, b, |a, b| a.signed() >= b.signed()),
    }
}

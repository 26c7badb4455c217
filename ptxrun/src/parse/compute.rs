//! Instructions that compute a register from other registers.

use super::error::Cause;
use super::operand::{Operand, Operands};
use super::types::{data_type, type_of};
use crate::isa::{Alu, Class, Compare, Count, Kind, Logic, Op, Shift, Special, Type, Unary, Width};

/// Returns the instruction of which `parts` are the parts of the opcode.
pub(super) fn compute(parts: &[&str], operands: &mut Operands<'_>) -> Result<Op, Cause> {
    match parts {
        [name @ ("mov" | "not" | "and" | "or" | "xor"), "pred"] => predicates(name, operands),
        ["mov", _] => mov(data_type(parts)?.1, operands),
        [name @ ("not" | "neg" | "popc" | "clz"), _] => {
            let (of, width) = data_type(parts)?;
            unary(name, of, width, operands)
        }
        ["setp", compare, _] => {
            let (of, width) = data_type(parts)?;
            set_predicate(compare, of, width, operands)
        }
        ["selp", _] => select(data_type(parts)?.1, operands),
        [name @ ("shl" | "shr"), _] => {
            let (of, width) = data_type(parts)?;
            shift(name, of, width, operands)
        }
        ["shf", side @ ("l" | "r"), mode @ ("wrap" | "clamp"), "b32"] => {
            funnel(*side == "l", *mode == "wrap", operands)
        }
        ["bfe", _] => {
            let (of, width) = data_type(parts)?;
            bit_field(of, width, operands)
        }
        ["cvt", to, from] => convert(to, from, operands),
        ["mul", "wide", _] => {
            let (of, width) = data_type(parts)?;
            wide_product(of, width, operands)
        }
        ["mad", "lo", _] => multiply_and_add(data_type(parts)?.1, operands),
        [name, middle @ .., _] => {
            let (of, width) = data_type(parts)?;
            binary(name, middle, of, width, operands)
        }
        _ => Err(Cause::UnknownInstruction),
    }
}

fn predicates(name: &str, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    let class = Class::Predicate;
    let logic = match name {
        "mov" | "not" => {
            operands.expect(2)?;
            let (d, a) = (operands.target(0, class)?, operands.source(1, class)?);
            return Ok(Op::PredicateMov { negated: name == "not", d, a });
        }
        "and" => Logic::And,
        "or" => Logic::Or,
        _ => Logic::Xor,
    };
    operands.expect(3)?;
    let d = operands.target(0, class)?;
    let (a, b) = (operands.source(1, class)?, operands.source(2, class)?);
    Ok(Op::PredicateLogic { logic, d, a, b })
}

fn mov(width: Width, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(2)?;
    if let Operand::Word(word) = &operands.all[1] {
        let special = special(word).ok_or_else(|| Cause::UnknownRegister(word.clone()))?;
        return Ok(Op::Special { d: operands.target_of(0, Width::W32)?, special });
    }
    if width != Width::W16 {
        if let Some(d) = operands.halves(0, width.half(), true) {
            return Ok(Op::Unpack { from: width, d: d?, a: operands.source_of(1, width)? });
        }
        if let Some(a) = operands.halves(1, width.half(), false) {
            return Ok(Op::Pack { to: width, a: a?, d: operands.target_of(0, width)? });
        }
    }
    let (d, a) = (operands.target_of(0, width)?, operands.source_of(1, width)?);
    Ok(Op::Unary { width, unary: Unary::Mov, d, a })
}

fn special(word: &str) -> Option<Special> {
    match word {
        "%tid.x" => Some(Special::Tid),
        "%ntid.x" => Some(Special::Ntid),
        "%ctaid.x" => Some(Special::Ctaid),
        "%nctaid.x" => Some(Special::Nctaid),
        "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" => Some(Special::Zero),
        "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => Some(Special::One),
        _ => None,
    }
}

fn unary(name: &str, of: Type, width: Width, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(2)?;
    let count = match name {
        "popc" => Count::Ones,
        "clz" => Count::LeadingZeros,
        _ => {
            let unary = match (name, of.kind) {
                ("not", Kind::Bits) => Unary::Not,
                ("neg", Kind::Signed) => Unary::Neg,
                _ => return Err(Cause::UnknownInstruction),
            };
            let (d, a) = (operands.target_of(0, width)?, operands.source_of(1, width)?);
            return Ok(Op::Unary { width, unary, d, a });
        }
    };
    if width == Width::W16 {
        return Err(Cause::UnknownInstruction);
    }
    let (d, a) = (operands.target_of(0, Width::W32)?, operands.source_of(1, width)?);
    Ok(Op::Count { width, count, d, a })
}

fn set_predicate(
    name: &str,
    of: Type,
    width: Width,
    operands: &mut Operands<'_>,
) -> Result<Op, Cause> {
    operands.expect(3)?;
    let compare = match (name, of.kind) {
        ("eq", _) => Compare::Eq,
        ("ne", _) => Compare::Ne,
        ("lt", Kind::Unsigned) | ("lo", _) => Compare::LtU,
        ("le", Kind::Unsigned) | ("ls", _) => Compare::LeU,
        ("gt", Kind::Unsigned) | ("hi", _) => Compare::GtU,
        ("ge", Kind::Unsigned) | ("hs", _) => Compare::GeU,
        ("lt", Kind::Signed) => Compare::LtS,
        ("le", Kind::Signed) => Compare::LeS,
        ("gt", Kind::Signed) => Compare::GtS,
        ("ge", Kind::Signed) => Compare::GeS,
        _ => return Err(Cause::UnknownInstruction),
    };
    let d = operands.target(0, Class::Predicate)?;
    let (a, b) = (operands.source_of(1, width)?, operands.source_of(2, width)?);
    Ok(Op::SetP { width, compare, d, a, b })
}

fn select(width: Width, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(4)?;
    let d = operands.target_of(0, width)?;
    let (a, b) = (operands.source_of(1, width)?, operands.source_of(2, width)?);
    Ok(Op::SelP { width, d, a, b, p: operands.source(3, Class::Predicate)? })
}

fn shift(name: &str, of: Type, width: Width, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(3)?;
    let shift = match (name, of.kind) {
        ("shl", Kind::Bits) => Shift::Left,
        ("shr", Kind::Signed) => Shift::RightS,
        ("shr", _) => Shift::RightU,
        _ => return Err(Cause::UnknownInstruction),
    };
    let d = operands.target_of(0, width)?;
    let (a, b) = (operands.source_of(1, width)?, operands.source_of(2, Width::W32)?);
    Ok(Op::Shift { width, shift, d, a, b })
}

fn funnel(left: bool, wrap: bool, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(4)?;
    let width = Width::W32;
    let (d, a) = (operands.target_of(0, width)?, operands.source_of(1, width)?);
    let (b, c) = (operands.source_of(2, width)?, operands.source_of(3, width)?);
    Ok(Op::Funnel { left, wrap, d, a, b, c })
}

fn bit_field(of: Type, width: Width, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(4)?;
    if of.kind == Kind::Bits || width == Width::W16 {
        return Err(Cause::UnknownInstruction);
    }
    let (d, a) = (operands.target_of(0, width)?, operands.source_of(1, width)?);
    let (b, c) = (operands.source_of(2, Width::W32)?, operands.source_of(3, Width::W32)?);
    Ok(Op::Bfe { width, signed: of.is_signed(), d, a, b, c })
}

fn convert(to: &str, from: &str, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(2)?;
    let (Some(to), Some(from)) = (type_of(to), type_of(from)) else {
        return Err(Cause::UnknownInstruction);
    };
    if to.kind == Kind::Bits || from.kind == Kind::Bits {
        return Err(Cause::UnknownInstruction);
    }
    Ok(Op::Cvt { to, from, d: operands.wide(0, to)?, a: operands.wide(1, from)? })
}

fn wide_product(of: Type, width: Width, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(3)?;
    if width != Width::W32 || of.kind == Kind::Bits {
        return Err(Cause::UnknownInstruction);
    }
    let d = operands.target_of(0, Width::W64)?;
    let (a, b) = (operands.source_of(1, width)?, operands.source_of(2, width)?);
    Ok(Op::MulWide { signed: of.is_signed(), d, a, b })
}

fn multiply_and_add(width: Width, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(4)?;
    let (d, a) = (operands.target_of(0, width)?, operands.source_of(1, width)?);
    let (b, c) = (operands.source_of(2, width)?, operands.source_of(3, width)?);
    Ok(Op::Mad { width, d, a, b, c })
}

fn binary(
    name: &str,
    middle: &[&str],
    of: Type,
    width: Width,
    operands: &mut Operands<'_>,
) -> Result<Op, Cause> {
    operands.expect(3)?;
    let alu = match (name, middle, of.kind) {
        ("add", [], Kind::Signed | Kind::Unsigned) => Alu::Add,
        ("sub", [], Kind::Signed | Kind::Unsigned) => Alu::Sub,
        ("mul", ["lo"], Kind::Signed | Kind::Unsigned) => Alu::MulLo,
        ("mul", ["hi"], Kind::Unsigned) => Alu::MulHiU,
        ("mul", ["hi"], Kind::Signed) => Alu::MulHiS,
        ("div", [], Kind::Unsigned) => Alu::DivU,
        ("div", [], Kind::Signed) => Alu::DivS,
        ("rem", [], Kind::Unsigned) => Alu::RemU,
        ("rem", [], Kind::Signed) => Alu::RemS,
        ("and", [], Kind::Bits) => Alu::And,
        ("or", [], Kind::Bits) => Alu::Or,
        ("xor", [], Kind::Bits) => Alu::Xor,
        ("min", [], Kind::Unsigned) => Alu::MinU,
        ("min", [], Kind::Signed) => Alu::MinS,
        ("max", [], Kind::Unsigned) => Alu::MaxU,
        ("max", [], Kind::Signed) => Alu::MaxS,
        _ => return Err(Cause::UnknownInstruction),
    };
    let d = operands.target_of(0, width)?;
    let (a, b) = (operands.source_of(1, width)?, operands.source_of(2, width)?);
    Ok(Op::Alu { width, alu, d, a, b })
}

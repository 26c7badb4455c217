//! Instructions that access memory or the parameter.

use super::error::Cause;
use super::operand::{Operand, Operands, unexpected};
use super::types::{data_type, type_of};
use crate::isa::{Atomic, Class, Kind, Op, Type, Width};

/// Returns the load from the parameter of which `name` is the type.
pub(super) fn load_param(name: &str, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(2)?;
    let of = type_of(name).ok_or(Cause::UnknownInstruction)?;
    let d = operands.wide(0, of)?;
    let Operand::Memory(base, offset) = &operands.all[1] else {
        return Err(unexpected("an address", &operands.all[1]));
    };
    if !matches!(&**base, Operand::Word(word) if word == operands.param) {
        return Err(unexpected(operands.param, base));
    }
    let bytes = of.bytes();
    let at = usize::try_from(*offset).map_err(|_| Cause::OutsideParameter)?;
    let end = at.checked_add(bytes).ok_or(Cause::OutsideParameter)?;
    if end > operands.param_bytes || !at.is_multiple_of(bytes) {
        return Err(Cause::OutsideParameter);
    }
    Ok(Op::Param { bytes, signed: of.is_signed(), d, at })
}

/// Number of elements and strength of a load or store.
struct Modifiers {
    count: usize,
    weak: bool,
}

/// Reads the modifiers between the name and the type. `ordered` is the only memory order that the instruction allows.
fn modifiers(parts: &[&str], ordered: &str) -> Result<Modifiers, Cause> {
    let mut modifiers = Modifiers { count: 1, weak: true };
    for &part in parts {
        match part {
            // Generic addresses of global memory equal its global addresses.
            "global" | "weak" => {}
            // A scope requires a strong access.
            "sys" | "gpu" if !modifiers.weak => {}
            "relaxed" | "volatile" => modifiers.weak = false,
            part if part == ordered => modifiers.weak = false,
            "v2" => modifiers.count = 2,
            "v4" => modifiers.count = 4,
            _ => return Err(Cause::UnknownInstruction),
        }
    }
    Ok(modifiers)
}

/// Returns the load of which `middle` are the parts of the opcode between `ld` and the type `name`.
pub(super) fn load(middle: &[&str], name: &str, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(2)?;
    let of = type_of(name).ok_or(Cause::UnknownInstruction)?;
    let Modifiers { count, weak } = modifiers(middle, "acquire")?;
    let address = operands.address(1)?;
    let d = operands.loaded(0, count, of)?;
    Ok(Op::Load { bytes: of.bytes(), signed: of.is_signed(), d, address, weak })
}

/// Returns the store of which `middle` are the parts of the opcode between `st` and the type `name`.
pub(super) fn store(middle: &[&str], name: &str, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    operands.expect(2)?;
    let of = type_of(name).ok_or(Cause::UnknownInstruction)?;
    let Modifiers { count, weak } = modifiers(middle, "release")?;
    let address = operands.address(0)?;
    let a = operands.stored(1, count, of)?;
    Ok(Op::Store { bytes: of.bytes(), a, address, weak })
}

/// Returns the atomic of which `parts` are the parts of the opcode. Its name is `atom`, or `red` if the previous value
/// is not needed.
pub(super) fn atomic(parts: &[&str], operands: &mut Operands<'_>) -> Result<Op, Cause> {
    let (of, width) = data_type(parts)?;
    let op = atomic_of(&parts[1..parts.len() - 1], of)?;
    if width == Width::W16 && op != Atomic::Cas {
        return Err(Cause::UnknownInstruction);
    }
    // The result of an `atom` comes before its address. The new value of a compare-and-swap comes last.
    let address = usize::from(parts[0] == "atom");
    operands.expect(address + 2 + usize::from(op == Atomic::Cas))?;
    let d = match &operands.all[0] {
        _ if address == 0 => None,
        Operand::Word(word) if word == "_" => None,
        _ => Some(operands.target(0, Class::Data(width))?),
    };
    let b = operands.source_of(address + 1, width)?;
    let c = match op {
        Atomic::Cas => operands.source_of(address + 2, width)?,
        _ => b,
    };
    Ok(Op::Atom { op, width, d, address: operands.address(address)?, b, c })
}

/// Returns the operation that the modifiers of an atomic name.
fn atomic_of(modifiers: &[&str], of: Type) -> Result<Atomic, Cause> {
    let mut op = None;
    for &part in modifiers {
        op = Some(match (part, of.kind) {
            // Each access is visible to all threads at once, so scope and order do not matter.
            ("global" | "relaxed" | "sys" | "gpu" | "acquire" | "release" | "acq_rel", _) => {
                continue;
            }
            ("add", Kind::Signed | Kind::Unsigned) => Atomic::Add,
            ("and", _) => Atomic::And,
            ("or", _) => Atomic::Or,
            ("xor", _) => Atomic::Xor,
            ("exch", _) => Atomic::Exch,
            ("cas", _) => Atomic::Cas,
            ("min", Kind::Unsigned) => Atomic::MinU,
            ("min", Kind::Signed) => Atomic::MinS,
            ("max", Kind::Unsigned) => Atomic::MaxU,
            ("max", Kind::Signed) => Atomic::MaxS,
            _ => return Err(Cause::UnknownInstruction),
        });
    }
    op.ok_or(Cause::UnknownInstruction)
}

//! Types as they are written in opcodes and declarations.

use super::error::Cause;
use crate::isa::{Class, Kind, Type, Width};

/// Returns the type that the last part of an opcode names, and the width of its registers.
pub(super) fn data_type(parts: &[&str]) -> Result<(Type, Width), Cause> {
    let of = parts.last().and_then(|name| type_of(name)).ok_or(Cause::UnknownInstruction)?;
    Ok((of, Width::of_bits(of.bits).ok_or(Cause::UnknownInstruction)?))
}

/// Returns the type with a name such as `u32`.
pub(super) fn type_of(name: &str) -> Option<Type> {
    let (kind, bits) = name.split_at_checked(1)?;
    let kind = match kind {
        "b" => Kind::Bits,
        "u" => Kind::Unsigned,
        "s" => Kind::Signed,
        _ => return None,
    };
    let bits = match bits {
        "8" => 8,
        "16" => 16,
        "32" => 32,
        "64" => 64,
        _ => return None,
    };
    Some(Type { kind, bits })
}

/// Returns the class of the registers that are declared with a type such as `.u32`.
pub(super) fn class_of(name: &str) -> Option<Class> {
    match name {
        ".pred" => Some(Class::Predicate),
        _ => Width::of_bits(type_of(name.strip_prefix('.')?)?.bits).map(Class::Data),
    }
}

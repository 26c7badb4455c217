//! [`instruction`], which reads an instruction.

use super::access::{atomic, load, load_param, store};
use super::compute::compute;
use super::error::Cause;
use super::operand::{Operands, unexpected};
use crate::isa::Op;

/// Returns the operation of an instruction other than a branch to a label.
pub(super) fn instruction(opcode: &str, operands: &mut Operands<'_>) -> Result<Op, Cause> {
    let parts: Vec<&str> = opcode.split('.').collect();
    match parts.as_slice() {
        ["bra"] | ["bra", "uni"] => {
            operands.expect(1)?;
            Err(unexpected("a label", &operands.all[0]))
        }
        ["ret"] | ["exit"] => operands.expect(0).map(|()| Op::Exit),
        ["trap"] => operands.expect(0).map(|()| Op::Trap),
        ["membar" | "fence", ..] => operands.expect(0).map(|()| Op::Fence),
        ["ld", "param", of] => load_param(of, operands),
        ["ld", middle @ .., of] => load(middle, of, operands),
        ["st", middle @ .., of] => store(middle, of, operands),
        ["atom" | "red", _, ..] => atomic(&parts, operands),
        parts => compute(parts, operands),
    }
}

#[cfg(test)]
mod tests {
    use super::super::operand::{Operand, Registers};
    use super::*;
    use crate::isa::{Address, Alu, Atomic, Class, DataReg, Width};

    /// Reads an instruction with a 64-bit register 0 and a 32-bit register 0.
    fn read(opcode: &str, all: &[Operand]) -> Result<Op, Cause> {
        let mut registers = Registers::default();
        registers.open_scope();
        registers.declare("%rd0".to_owned(), Class::Data(Width::W64)).unwrap();
        registers.declare("%r0".to_owned(), Class::Data(Width::W32)).unwrap();
        let registers = &mut registers;
        instruction(opcode, &mut Operands { all, registers, param: "param", param_bytes: 8 })
    }

    const LONG: Operand = Operand::Reg(Class::Data(Width::W64), 0);
    const WORD: Operand = Operand::Reg(Class::Data(Width::W32), 0);

    fn memory(base: Operand, offset: i128) -> Operand {
        Operand::Memory(Box::new(base), offset)
    }

    #[test]
    fn a_constant_is_a_register_behind_those_declared() {
        let op = read("add.s32", &[WORD, WORD, Operand::Number(-1)]).unwrap();
        assert!(matches!(op, Op::Alu { width: Width::W32, alu: Alu::Add, d: 0, a: 0, b: 1 }));
    }

    #[test]
    fn registers_have_the_class_of_the_type() {
        let error = read("add.s64", &[LONG, LONG, WORD]).unwrap_err();
        assert!(matches!(error, Cause::Unexpected { .. }));
        let error = read("add.s32", &[WORD, WORD, Operand::Number(1 << 32)]).unwrap_err();
        assert_eq!(error, Cause::OutOfRange { quantity: "constant", value: 1 << 32 });
    }

    #[test]
    fn accesses_have_a_strength_and_an_address() {
        let op = read("ld.relaxed.sys.global.b32", &[WORD, memory(LONG, -4)]).unwrap();
        let Op::Load { bytes: 4, signed: false, d, address, weak: false } = op else {
            panic!("{op:?}")
        };
        assert_eq!(d, [DataReg { width: Width::W32, reg: 0 }]);
        assert_eq!(address, Address { base: 0, offset: 4u64.wrapping_neg() });
        let error = read("ld.sys.global.b32", &[WORD, memory(LONG, 0)]).unwrap_err();
        assert_eq!(error, Cause::UnknownInstruction);
    }

    #[test]
    fn a_compare_and_swap_has_a_new_value() {
        let op = read("atom.global.cas.b32", &[WORD, memory(LONG, 0), WORD, Operand::Number(3)]);
        let Op::Atom { op: Atomic::Cas, b: 0, c: 1, .. } = op.unwrap() else { panic!("other") };
        let error = read("red.global.add.u32", &[memory(LONG, 0), WORD, WORD]).unwrap_err();
        assert_eq!(error, Cause::OperandCount { expected: 2, found: 3 });
    }

    #[test]
    fn loads_from_the_parameter_end_within_it() {
        let param = || Operand::Word("param".to_owned());
        assert!(read("ld.param.b64", &[LONG, memory(param(), 0)]).is_ok());
        for offset in [-8, 4, 8, i128::MAX] {
            let error = read("ld.param.b64", &[LONG, memory(param(), offset)]).unwrap_err();
            assert_eq!(error, Cause::OutsideParameter);
        }
    }

    #[test]
    fn incomplete_opcodes_are_rejected() {
        for opcode in ["", ".", "atom", "red", "ld", "st", "mov", "cvt", "atom.", "ld.", "bra.x"] {
            assert!(read(opcode, &[]).is_err(), "{opcode}");
        }
    }
}

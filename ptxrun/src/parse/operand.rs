//! [`Operands`] of an instruction, and the [`Registers`] of an entry point that they name.

use std::collections::HashMap;
use std::fmt;

use super::error::Cause;
use crate::isa::{Address, Class, Constant, DataReg, Reg, Type, Width};

/// An operand as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Reg(Class, Reg),
    Number(i128),
    /// A name that is not the name of a register.
    Word(String),
    /// An address with a constant offset in bytes. The base is never an address or a vector.
    Memory(Box<Operand>, i128),
    /// A vector such as `{%r1, %r2}`. The elements are neither addresses nor vectors.
    Vector(Vec<Operand>),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reg(class, _) => f.write_str(name_of(*class)),
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => f.write_str(word),
            Self::Memory(base, offset) => write!(f, "[{base}+{offset}]"),
            Self::Vector(elements) => write!(f, "a vector of {} elements", elements.len()),
        }
    }
}

fn name_of(class: Class) -> &'static str {
    match class {
        Class::Predicate => "a predicate",
        Class::Data(Width::W16) => "a 16-bit register",
        Class::Data(Width::W32) => "a 32-bit register",
        Class::Data(Width::W64) => "a 64-bit register",
    }
}

/// The registers of an entry point, with the scopes of their names.
#[derive(Default)]
pub(super) struct Registers {
    /// Names in each scope, from the outermost to the innermost.
    scopes: Vec<HashMap<String, (Class, Reg)>>,
    /// Number of registers in each class, including constants.
    counts: [usize; 4],
    constants: HashMap<(Class, u64), Reg>,
}

impl Registers {
    pub(super) fn open_scope(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub(super) fn close_scope(&mut self) {
        self.scopes.pop();
    }

    pub(super) fn is_in_scope(&self) -> bool {
        !self.scopes.is_empty()
    }

    /// Declares a register in the innermost scope, of which there must be one.
    pub(super) fn declare(&mut self, name: String, class: Class) -> Result<(), Cause> {
        let reg = self.add(class)?;
        let scope = self.scopes.last_mut().expect("declarations are in a scope");
        match scope.insert(name.clone(), (class, reg)) {
            None => Ok(()),
            Some(_) => Err(Cause::DuplicateRegister(name)),
        }
    }

    /// Returns the register that `name` means in the innermost scope.
    pub(super) fn find(&self, name: &str) -> Option<(Class, Reg)> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    /// Returns the number of registers in each class, and those that are constants.
    pub(super) fn finish(self) -> ([usize; 4], Vec<Constant>) {
        let constants = self.constants.into_iter();
        let constants = constants.map(|((class, value), reg)| Constant { class, reg, value });
        (self.counts, constants.collect())
    }

    fn add(&mut self, class: Class) -> Result<Reg, Cause> {
        let count = &mut self.counts[class.index()];
        let reg = Reg::try_from(*count).map_err(|_| Cause::TooManyRegisters)?;
        *count += 1;
        Ok(reg)
    }

    /// Returns the register with the constant `value`.
    fn constant(&mut self, value: i128, class: Class) -> Result<Reg, Cause> {
        let value = match class {
            Class::Predicate => u64::from(value != 0),
            Class::Data(width) => {
                let most = 1i128 << width.bits();
                if !(-most / 2..most).contains(&value) {
                    return Err(Cause::OutOfRange { quantity: "constant", value });
                }
                (value & (most - 1)) as u64
            }
        };
        if let Some(reg) = self.constants.get(&(class, value)) {
            return Ok(*reg);
        }
        let reg = self.add(class)?;
        self.constants.insert((class, value), reg);
        Ok(reg)
    }
}

/// The operands of one instruction, which are read by their position. A method that reads an operand panics if the
/// instruction does not have it, so [`Self::expect`] comes first.
pub(super) struct Operands<'o> {
    pub(super) all: &'o [Operand],
    pub(super) registers: &'o mut Registers,
    /// Name of the parameter of the entry point.
    pub(super) param: &'o str,
    /// Size of the parameter, in bytes.
    pub(super) param_bytes: usize,
}

impl<'o> Operands<'o> {
    /// Returns an error unless there are `count` operands.
    pub(super) fn expect(&self, count: usize) -> Result<(), Cause> {
        match self.all.len() {
            found if found == count => Ok(()),
            found => Err(Cause::OperandCount { expected: count, found }),
        }
    }

    /// Returns the register of `class` that an instruction writes.
    pub(super) fn target(&self, at: usize, class: Class) -> Result<Reg, Cause> {
        target(&self.all[at], class)
    }

    /// Returns the data register of `width` that an instruction writes.
    pub(super) fn target_of(&self, at: usize, width: Width) -> Result<Reg, Cause> {
        self.target(at, Class::Data(width))
    }

    /// Returns the register of `class` that an instruction reads. It may be a constant.
    pub(super) fn source(&mut self, at: usize, class: Class) -> Result<Reg, Cause> {
        source(self.registers, &self.all[at], class)
    }

    /// Returns the data register of `width` that an instruction reads. It may be a constant.
    pub(super) fn source_of(&mut self, at: usize, width: Width) -> Result<Reg, Cause> {
        self.source(at, Class::Data(width))
    }

    /// Returns the registers of `width` that the elements of a vector of two name, or `None` if the operand is not a
    /// vector of two. They may be constants, unless the instruction writes them.
    pub(super) fn halves(
        &mut self,
        at: usize,
        width: Width,
        is_written: bool,
    ) -> Option<Result<[Reg; 2], Cause>> {
        let Operand::Vector(elements) = &self.all[at] else { return None };
        let [low, high] = elements.as_slice() else { return None };
        let class = Class::Data(width);
        let mut read = |operand| match is_written {
            true => target(operand, class),
            false => source(self.registers, operand, class),
        };
        Some(read(low).and_then(|low| Ok([low, read(high)?])))
    }

    /// Returns a register with at least the bits of `of`.
    pub(super) fn wide(&self, at: usize, of: Type) -> Result<DataReg, Cause> {
        wide(&self.all[at], of)
    }

    /// Returns the `count` registers of a load, each with at least the bits of `of`.
    pub(super) fn loaded(&self, at: usize, count: usize, of: Type) -> Result<Vec<DataReg>, Cause> {
        self.elements(at, count)?.iter().map(|operand| wide(operand, of)).collect()
    }

    /// Returns the `count` registers of a store, each with at least the bits of `of`. They may be constants.
    pub(super) fn stored(
        &mut self,
        at: usize,
        count: usize,
        of: Type,
    ) -> Result<Vec<DataReg>, Cause> {
        let elements = self.elements(at, count)?;
        let registers = &mut *self.registers;
        let read = |operand: &Operand| match operand {
            Operand::Number(_) => {
                let width = Width::of_bits(of.bits.max(16)).ok_or(Cause::UnknownInstruction)?;
                Ok(DataReg { width, reg: source(registers, operand, Class::Data(width))? })
            }
            _ => wide(operand, of),
        };
        elements.iter().map(read).collect()
    }

    /// Returns the address that an operand in brackets describes.
    pub(super) fn address(&self, at: usize) -> Result<Address, Cause> {
        let Operand::Memory(base, offset) = &self.all[at] else {
            return Err(unexpected("an address", &self.all[at]));
        };
        let base = target(base, Class::Data(Width::W64))?;
        match i64::try_from(*offset) {
            Ok(offset) => Ok(Address { base, offset: offset as u64 }),
            Err(_) => Err(Cause::OutOfRange { quantity: "offset", value: *offset }),
        }
    }

    /// Returns the `count` elements of a vector, or the operand itself if `count` is 1.
    fn elements(&self, at: usize, count: usize) -> Result<&'o [Operand], Cause> {
        match &self.all[at] {
            Operand::Vector(elements) if count > 1 && elements.len() == count => Ok(elements),
            Operand::Vector(_) => Err(Cause::UnknownInstruction),
            _ if count > 1 => Err(Cause::UnknownInstruction),
            operand => Ok(std::slice::from_ref(operand)),
        }
    }
}

/// Returns the error that an instruction has `found` where `expected` is required.
pub(super) fn unexpected(expected: &str, found: &Operand) -> Cause {
    Cause::Unexpected { expected: expected.to_owned(), found: found.to_string() }
}

fn target(operand: &Operand, class: Class) -> Result<Reg, Cause> {
    match operand {
        Operand::Reg(of, reg) if *of == class => Ok(*reg),
        _ => Err(unexpected(name_of(class), operand)),
    }
}

fn source(registers: &mut Registers, operand: &Operand, class: Class) -> Result<Reg, Cause> {
    match operand {
        Operand::Number(value) => registers.constant(*value, class),
        _ => target(operand, class),
    }
}

fn wide(operand: &Operand, of: Type) -> Result<DataReg, Cause> {
    match *operand {
        Operand::Reg(Class::Data(width), reg) if width.bits() >= of.bits => {
            Ok(DataReg { width, reg })
        }
        _ => Err(unexpected(&format!("a register of at least {} bits", of.bits), operand)),
    }
}

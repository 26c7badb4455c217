//! Instructions of PTX, as the parser returns them and the interpreter executes them.
//!
//! In the fields of an instruction, `d` is the register of the result, and `a`, `b` and `c` are the operands in the
//! order of the PTX manual. Constant operands are registers too: see [`Constant`].

use std::collections::HashMap;
use std::sync::Arc;

/// A PTX module.
#[derive(Debug)]
pub struct Module {
    pub(crate) entries: HashMap<String, Arc<Entry>>,
}

impl Module {
    /// Returns the entry point with this name, or `None` if the module does not define one.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<Arc<Entry>> {
        self.entries.get(name).cloned()
    }
}

/// An entry point of a module, that is, a kernel.
#[derive(Debug)]
pub struct Entry {
    pub(crate) name: String,
    /// Size of the only parameter, in bytes.
    pub(crate) param_bytes: usize,
    /// The instructions. The last one is never followed by another one in the order of execution.
    pub(crate) code: Vec<Inst>,
    /// Origin of each instruction in `code`.
    pub(crate) origins: Vec<Origin>,
    /// Number of registers in each class, indexed by [`Class::index`].
    pub(crate) registers: [usize; 4],
    pub(crate) constants: Vec<Constant>,
    /// For each instruction, the instruction at which threads that diverge there meet again. This is its immediate
    /// post-dominator, or the length of `code` if the threads do not meet before they end.
    pub(crate) meets: Vec<u32>,
}

/// The place of an instruction in the text of its module.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Line number, counted from 1.
    pub(crate) line: u32,
    pub(crate) opcode: String,
}

/// A register that no instruction writes, and that every thread finds set to `value`.
#[derive(Debug)]
pub(crate) struct Constant {
    pub(crate) class: Class,
    pub(crate) reg: Reg,
    pub(crate) value: u64,
}

/// Number of a register within its class.
pub(crate) type Reg = u16;

/// Width of a data register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Width {
    W16,
    W32,
    W64,
}

impl Width {
    /// Returns the width of `bits` bits, or `None` if no register has this width.
    pub(crate) fn of_bits(bits: u32) -> Option<Self> {
        match bits {
            16 => Some(Self::W16),
            32 => Some(Self::W32),
            64 => Some(Self::W64),
            _ => None,
        }
    }

    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::W16 => 16,
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }

    /// Returns the width in bytes.
    pub(crate) fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    /// Returns the width of half a register.
    pub(crate) fn half(self) -> Self {
        match self {
            Self::W64 => Self::W32,
            Self::W32 | Self::W16 => Self::W16,
        }
    }
}

/// Class of a register. Each class has its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    Predicate,
    Data(Width),
}

impl Class {
    /// Returns the position of the class in [`Entry::registers`].
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Predicate => 0,
            Self::Data(Width::W16) => 1,
            Self::Data(Width::W32) => 2,
            Self::Data(Width::W64) => 3,
        }
    }
}

/// A data register of any width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataReg {
    pub(crate) width: Width,
    pub(crate) reg: Reg,
}

/// The letter of a type. Instructions that do not depend on the sign accept any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bits,
    Unsigned,
    Signed,
}

/// A type such as `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    /// Number of bits: 8, 16, 32 or 64.
    pub(crate) bits: u32,
}

impl Type {
    pub(crate) fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(self) -> usize {
        self.bits as usize / 8
    }
}

/// An operation on two data registers of one width. The letters U and S mean unsigned and signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alu {
    Add,
    Sub,
    MulLo,
    MulHiU,
    MulHiS,
    DivU,
    DivS,
    RemU,
    RemS,
    And,
    Or,
    Xor,
    MinU,
    MinS,
    MaxU,
    MaxS,
}

/// An operation on two predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shift {
    Left,
    RightU,
    RightS,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Mov,
    Not,
    Neg,
}

/// An operation that counts the bits of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Ones,
    LeadingZeros,
}

/// A comparison. The letters U and S mean unsigned and signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    LtU,
    LeU,
    GtU,
    GeU,
    LtS,
    LeS,
    GtS,
    GeS,
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// `%tid.x`, the number of the thread in its block.
    Tid,
    /// `%ntid.x`, the number of threads in a block.
    Ntid,
    /// `%ctaid.x`, the number of the block.
    Ctaid,
    /// `%nctaid.x`, the number of blocks.
    Nctaid,
    /// A number in another dimension than x.
    Zero,
    /// A size in another dimension than x.
    One,
}

/// An atomic operation on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Add,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    MinU,
    MinS,
    MaxU,
    MaxS,
}

/// A memory address: the content of a 64-bit register plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: Reg,
    /// Constant, in bytes. Additions wrap, so a negative offset is a large number.
    pub(crate) offset: u64,
}

/// The operation of an instruction.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Alu {
        width: Width,
        alu: Alu,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    /// The distance `b` is a 32-bit register.
    Shift {
        width: Width,
        shift: Shift,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Unary {
        width: Width,
        unary: Unary,
        d: Reg,
        a: Reg,
    },
    /// The result is a 32-bit register.
    Count {
        width: Width,
        count: Count,
        d: Reg,
        a: Reg,
    },
    /// The low half of `a * b`, plus `c`.
    Mad {
        width: Width,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// The 64-bit product of two 32-bit registers.
    MulWide {
        signed: bool,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    /// The 64 bits of `b` and `a`, with `b` above `a`, are shifted by `c`. The result is their upper half if they are
    /// shifted to the left, and their lower half otherwise. If `wrap` is set, `c` counts modulo 32.
    Funnel {
        left: bool,
        wrap: bool,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// The bit field of `a` that starts at bit `b` and has `c` bits.
    Bfe {
        width: Width,
        signed: bool,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// The result is a predicate.
    SetP {
        width: Width,
        compare: Compare,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    /// The result is `a` where the predicate `p` is set, and `b` elsewhere.
    SelP {
        width: Width,
        d: Reg,
        a: Reg,
        b: Reg,
        p: Reg,
    },
    PredicateLogic {
        logic: Logic,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    PredicateMov {
        negated: bool,
        d: Reg,
        a: Reg,
    },
    Cvt {
        to: Type,
        from: Type,
        d: DataReg,
        a: DataReg,
    },
    /// The results are the low half and the high half of `a`.
    Unpack {
        from: Width,
        d: [Reg; 2],
        a: Reg,
    },
    /// The operands are the low half and the high half of the result.
    Pack {
        to: Width,
        d: Reg,
        a: [Reg; 2],
    },
    /// The result is a 32-bit register.
    Special {
        d: Reg,
        special: Special,
    },
    /// A load from byte `at` of the parameter.
    Param {
        bytes: usize,
        signed: bool,
        d: DataReg,
        at: usize,
    },
    /// A load of as many elements as there are registers in `d`. Each element has `bytes` bytes.
    Load {
        bytes: usize,
        signed: bool,
        d: Vec<DataReg>,
        address: Address,
        weak: bool,
    },
    /// A store of as many elements as there are registers in `a`. Each element has `bytes` bytes.
    Store {
        bytes: usize,
        a: Vec<DataReg>,
        address: Address,
        weak: bool,
    },
    /// The result is the previous value. A compare-and-swap replaces `b` by `c`, and other operations ignore `c`.
    Atom {
        op: Atomic,
        width: Width,
        d: Option<Reg>,
        address: Address,
        b: Reg,
        c: Reg,
    },
    /// A fence has no effect, because each access is visible to all threads at once.
    Fence,
    /// A branch to the instruction with this number.
    Bra(usize),
    Exit,
    Trap,
}

/// The predicate of an instruction that only some threads execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) predicate: Reg,
    /// Whether the threads execute the instruction for which the predicate is not set.
    pub(crate) negated: bool,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    /// `None` if all threads execute the instruction.
    pub(crate) guard: Option<Guard>,
    pub(crate) op: Op,
}

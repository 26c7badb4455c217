//! [`ParseError`] and its [`Cause`].

use std::fmt;

/// An error in the text of a PTX module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line of the error, counted from 1.
    pub line: u32,
    /// The instruction that contains the error, if an instruction does.
    pub opcode: Option<String>,
    /// The rule that the text violates.
    pub cause: Cause,
}

/// The rule that the text of a PTX module violates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// PTX does not use this character.
    UnknownCharacter(char),
    /// A string has no closing quote in its line.
    UnclosedString,
    /// The text ends within a statement or an entry point.
    UnexpectedEnd,
    /// Another token or operand is required.
    Unexpected {
        /// The required token or operand.
        expected: String,
        /// The token or operand in the text.
        found: String,
    },
    /// A number is too small or too large.
    OutOfRange {
        /// The meaning of the number.
        quantity: &'static str,
        /// The number in the text.
        value: i128,
    },
    /// The interpreter does not implement this directive.
    UnknownDirective(String),
    /// The interpreter does not implement registers of this type.
    UnknownType(String),
    /// The module does not have a target such as `sm_70`.
    MissingTarget,
    /// Two entry points have this name.
    DuplicateEntry(String),
    /// Two labels of an entry point have this name.
    DuplicateLabel(String),
    /// A branch names a label that the entry point does not define.
    UnknownLabel(String),
    /// Two registers of a scope have this name.
    DuplicateRegister(String),
    /// An entry point has more than 65,536 registers of one class.
    TooManyRegisters,
    /// The interpreter does not implement this special register.
    UnknownRegister(String),
    /// Threads can reach the end of an entry point without an exit.
    MissingExit,
    /// The interpreter does not implement this instruction, modifier, type or combination of operands.
    UnknownInstruction,
    /// The instruction has another number of operands.
    OperandCount {
        /// The required number.
        expected: usize,
        /// The number in the text.
        found: usize,
    },
    /// A load from the parameter is misaligned or ends behind the parameter.
    OutsideParameter,
}

impl Cause {
    /// Returns the error with this cause in `line`, outside of an instruction.
    pub(super) fn in_line(self, line: u32) -> ParseError {
        ParseError { line, opcode: None, cause: self }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if let Some(opcode) = &self.opcode {
            write!(f, "{opcode}: ")?;
        }
        self.cause.fmt(f)
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownCharacter(character) => write!(f, "unknown character {character:?}"),
            Self::UnclosedString => write!(f, "string without a closing quote"),
            Self::UnexpectedEnd => write!(f, "unexpected end of the text"),
            Self::Unexpected { expected, found } => write!(f, "expected {expected}, got {found}"),
            Self::OutOfRange { quantity, value } => write!(f, "{quantity} out of range: {value}"),
            Self::UnknownDirective(name) => write!(f, "unknown directive {name}"),
            Self::UnknownType(name) => write!(f, "unknown type of a register: {name}"),
            Self::MissingTarget => write!(f, "the module has no target"),
            Self::DuplicateEntry(name) => write!(f, "duplicate entry point {name}"),
            Self::DuplicateLabel(name) => write!(f, "duplicate label {name}"),
            Self::UnknownLabel(name) => write!(f, "unknown label {name}"),
            Self::DuplicateRegister(name) => write!(f, "duplicate register {name}"),
            Self::TooManyRegisters => write!(f, "more than 65536 registers of one class"),
            Self::UnknownRegister(name) => write!(f, "unknown register {name}"),
            Self::MissingExit => write!(f, "threads can pass the end of the entry point"),
            Self::UnknownInstruction => write!(f, "unknown instruction"),
            Self::OperandCount { expected, found } => {
                write!(f, "expected {expected} operands, got {found}")
            }
            Self::OutsideParameter => {
                write!(f, "the access is misaligned or ends behind the parameter")
            }
        }
    }
}

//! The parser of an entry point: its parameter, and the statements of its body.

use std::collections::HashMap;

use super::error::{Cause, ParseError};
use super::instruction::instruction;
use super::lexer::{Cursor, Token, unexpected};
use super::meets::meets;
use super::operand::{Operand, Operands, Registers};
use super::types::class_of;
use crate::isa::{Class, Entry, Guard, Inst, Op, Origin};

/// Maximum number of registers in a declaration, which is the number of registers that a class can have.
const MOST_REGISTERS: u32 = 1 << 16;

/// Reads an entry point from its name to its closing brace.
pub(super) fn entry(cursor: &mut Cursor) -> Result<Entry, ParseError> {
    let name = cursor.word()?;
    cursor.sign('(')?;
    cursor.keyword(".param")?;
    cursor.keyword(".align")?;
    cursor.number::<u32>("alignment")?;
    cursor.keyword(".b8")?;
    let param = cursor.word()?;
    cursor.sign('[')?;
    // The manual limits all parameters to 32,764 bytes.
    let param_bytes = usize::from(cursor.number::<u16>("size of the parameter")?);
    cursor.sign(']')?;
    cursor.sign(')')?;
    cursor.sign('{')?;
    let mut body = Body {
        cursor,
        param,
        param_bytes,
        registers: Registers::default(),
        labels: HashMap::new(),
        branches: Vec::new(),
        code: Vec::new(),
        origins: Vec::new(),
    };
    body.statements()?;
    body.resolve()?;
    let (registers, constants) = body.registers.finish();
    let meets = meets(&body.code);
    let (code, origins) = (body.code, body.origins);
    Ok(Entry { name, param_bytes, code, origins, registers, constants, meets })
}

/// A branch to a label that may be defined behind it.
struct Branch {
    /// Number of the branch in the code.
    at: usize,
    label: String,
}

/// The body of an entry point, as far as it has been read.
struct Body<'c> {
    cursor: &'c mut Cursor,
    param: String,
    param_bytes: usize,
    registers: Registers,
    /// The instruction that follows each label.
    labels: HashMap<String, usize>,
    branches: Vec<Branch>,
    code: Vec<Inst>,
    origins: Vec<Origin>,
}

impl Body<'_> {
    /// Reads all statements, up to and including the closing brace of the body.
    fn statements(&mut self) -> Result<(), ParseError> {
        self.registers.open_scope();
        while self.registers.is_in_scope() {
            if self.cursor.takes('}') {
                self.registers.close_scope();
            } else if self.cursor.takes('{') {
                self.registers.open_scope();
            } else {
                self.statement()?;
            }
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<(), ParseError> {
        let line = self.cursor.line();
        let guard = self.guard()?;
        let word = self.cursor.word()?;
        match word.as_str() {
            ".reg" => return self.declaration(),
            ".pragma" => {
                self.cursor.next()?;
                return self.cursor.sign(';');
            }
            _ if word.starts_with('.') => return Err(Cause::UnknownDirective(word).in_line(line)),
            _ => {}
        }
        if guard.is_none() && self.cursor.takes(':') {
            return match self.labels.insert(word.clone(), self.code.len()) {
                None => Ok(()),
                Some(_) => Err(Cause::DuplicateLabel(word).in_line(line)),
            };
        }
        let operands = self.operands()?;
        let op = match (word.as_str(), operands.as_slice()) {
            ("bra" | "bra.uni", [Operand::Word(label)]) => {
                self.branches.push(Branch { at: self.code.len(), label: label.clone() });
                // The target is set when all labels are known.
                Ok(Op::Bra(usize::MAX))
            }
            _ => {
                let mut operands = Operands {
                    all: &operands,
                    registers: &mut self.registers,
                    param: &self.param,
                    param_bytes: self.param_bytes,
                };
                instruction(&word, &mut operands)
            }
        };
        let in_instruction = |cause| ParseError { line, opcode: Some(word.clone()), cause };
        self.code.push(Inst { guard, op: op.map_err(in_instruction)? });
        self.origins.push(Origin { line, opcode: word });
        Ok(())
    }

    /// Reads a guard such as `@!%p1`, if there is one.
    fn guard(&mut self) -> Result<Option<Guard>, ParseError> {
        let line = self.cursor.line();
        if !self.cursor.takes('@') {
            return Ok(None);
        }
        let negated = self.cursor.takes('!');
        let name = self.cursor.word()?;
        match self.registers.find(&name) {
            Some((Class::Predicate, predicate)) => Ok(Some(Guard { predicate, negated })),
            _ => Err(unexpected("a predicate", &Token::Word(name), line)),
        }
    }

    /// Reads a declaration of registers, from their type to the semicolon.
    fn declaration(&mut self) -> Result<(), ParseError> {
        let line = self.cursor.line();
        let name = self.cursor.word()?;
        let class = class_of(&name).ok_or_else(|| Cause::UnknownType(name).in_line(line))?;
        loop {
            let line = self.cursor.line();
            let name = self.cursor.word()?;
            let mut declare =
                |name| self.registers.declare(name, class).map_err(|cause| cause.in_line(line));
            if self.cursor.takes('<') {
                let count = self.cursor.number::<u32>("number of registers")?;
                if count > MOST_REGISTERS {
                    return Err(Cause::TooManyRegisters.in_line(line));
                }
                self.cursor.sign('>')?;
                (0..count).try_for_each(|number| declare(format!("{name}{number}")))?;
            } else {
                declare(name)?;
            }
            if self.cursor.takes(';') {
                return Ok(());
            }
            self.cursor.sign(',')?;
        }
    }

    /// Reads the operands of an instruction, including the semicolon.
    fn operands(&mut self) -> Result<Vec<Operand>, ParseError> {
        let mut operands = Vec::new();
        if self.cursor.takes(';') {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand()?);
            if self.cursor.takes(';') {
                return Ok(operands);
            }
            self.cursor.sign(',')?;
        }
    }

    fn operand(&mut self) -> Result<Operand, ParseError> {
        if self.cursor.takes('{') {
            let mut elements = vec![self.simple_operand()?];
            while self.cursor.takes(',') {
                elements.push(self.simple_operand()?);
            }
            self.cursor.sign('}')?;
            return Ok(Operand::Vector(elements));
        }
        if self.cursor.takes('[') {
            let base = self.simple_operand()?;
            let offset = match self.cursor.takes('+') {
                true => self.cursor.number("offset")?,
                false => 0,
            };
            self.cursor.sign(']')?;
            return Ok(Operand::Memory(Box::new(base), offset));
        }
        self.simple_operand()
    }

    /// Reads an operand that is neither an address nor a vector.
    fn simple_operand(&mut self) -> Result<Operand, ParseError> {
        match self.cursor.next()? {
            (Token::Number(number), _) => Ok(Operand::Number(number)),
            (Token::Word(word), _) => Ok(match self.registers.find(&word) {
                Some((class, reg)) => Operand::Reg(class, reg),
                None => Operand::Word(word),
            }),
            (found, line) => Err(unexpected("an operand", &found, line)),
        }
    }

    /// Sets the targets of all branches, and checks that threads cannot pass the end of the code.
    fn resolve(&mut self) -> Result<(), ParseError> {
        let end = self.code.len();
        for Branch { at, label } in std::mem::take(&mut self.branches) {
            let origin = &self.origins[at];
            let error = |cause| ParseError {
                line: origin.line,
                opcode: Some(origin.opcode.clone()),
                cause,
            };
            match self.labels.get(&label) {
                None => return Err(error(Cause::UnknownLabel(label))),
                Some(&to) if to == end => return Err(error(Cause::MissingExit)),
                Some(&to) => self.code[at].op = Op::Bra(to),
            }
        }
        match self.code.last() {
            Some(Inst { guard: None, op: Op::Exit | Op::Bra(_) | Op::Trap }) => Ok(()),
            _ => {
                let line = self.origins.last().map_or(self.cursor.line(), |origin| origin.line);
                Err(Cause::MissingExit.in_line(line))
            }
        }
    }
}

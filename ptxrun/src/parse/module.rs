//! [`parse`], which reads the directives of a module.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::entry;
use super::error::{Cause, ParseError};
use super::lexer::Cursor;
use crate::isa::Module;

/// Parses the text of a PTX module.
///
/// # Errors
///
/// Returns the first line that violates the rules of PTX or uses a part of PTX that the interpreter does not implement.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut cursor = Cursor::new(text)?;
    let mut entries = HashMap::new();
    let mut has_target = false;
    while cursor.peek().is_some() {
        let line = cursor.line();
        match cursor.word()?.as_str() {
            ".version" => drop(cursor.next()?),
            ".target" => has_target |= cursor.word()?.starts_with("sm_"),
            ".address_size" => {
                let value = cursor.number("size of an address")?;
                if value != 64 {
                    let quantity = "size of an address";
                    return Err(Cause::OutOfRange { quantity, value }.in_line(line));
                }
            }
            ".visible" => {
                cursor.keyword(".entry")?;
                let entry = entry(&mut cursor)?;
                if let Some(previous) = entries.insert(entry.name.clone(), Arc::new(entry)) {
                    return Err(Cause::DuplicateEntry(previous.name.clone()).in_line(line));
                }
            }
            other => return Err(Cause::UnknownDirective(other.to_owned()).in_line(line)),
        }
    }
    match has_target {
        true => Ok(Module { entries }),
        false => Err(Cause::MissingTarget.in_line(cursor.line())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 6.0\n.target sm_70\n.address_size 64\n";

    /// Parses an entry point of which `body` starts in line 6.
    fn with_body(body: &str) -> Result<Module, ParseError> {
        let entry = ".visible .entry k(.param .align 8 .b8 k_param_0[8])\n{\n";
        parse(&format!("{HEAD}{entry}{body}\n}}\n"))
    }

    #[test]
    fn errors_in_an_instruction_have_its_line_and_opcode() {
        let error = with_body(".reg .b32 %r<2>;\nadd.s32 %r0, %r1;\nret;").unwrap_err();
        let cause = Cause::OperandCount { expected: 3, found: 2 };
        assert_eq!(error, ParseError { line: 7, opcode: Some("add.s32".to_owned()), cause });
        let error = with_body("ret;\nbra $there;").unwrap_err();
        let cause = Cause::UnknownLabel("$there".to_owned());
        assert_eq!(error, ParseError { line: 7, opcode: Some("bra".to_owned()), cause });
    }

    #[test]
    fn errors_in_the_structure_have_their_line() {
        let error = |body| with_body(body).unwrap_err();
        assert_eq!(error(""), Cause::MissingExit.in_line(7));
        assert_eq!(error(".reg .pred %p;\n@%p ret;"), Cause::MissingExit.in_line(7));
        assert_eq!(error("a:\na:\nret;"), Cause::DuplicateLabel("a".to_owned()).in_line(7));
        assert_eq!(error(".reg .b32 %r<70000>;\nret;"), Cause::TooManyRegisters.in_line(6));
        assert_eq!(error(".reg .f32 %f;"), Cause::UnknownType(".f32".to_owned()).in_line(6));
        assert_eq!(error("ret;\n{"), Cause::UnexpectedEnd.in_line(8));
        assert_eq!(error(".shared a;"), Cause::UnknownDirective(".shared".to_owned()).in_line(6));
    }

    #[test]
    fn a_module_needs_a_target_and_64_bit_addresses() {
        assert_eq!(parse("").unwrap_err(), Cause::MissingTarget.in_line(1));
        let error = parse(".target sm_70\n.address_size 32").unwrap_err();
        let quantity = "size of an address";
        assert_eq!(error, Cause::OutOfRange { quantity, value: 32 }.in_line(2));
        assert!(with_body("ret;").unwrap().entry("k").is_some());
    }

    #[test]
    fn two_entry_points_of_one_name_are_rejected() {
        let entry = ".visible .entry k(.param .align 8 .b8 k_param_0[8]) { ret; }\n";
        let error = parse(&format!("{HEAD}{entry}{entry}")).unwrap_err();
        assert_eq!(error, Cause::DuplicateEntry("k".to_owned()).in_line(5));
    }
}

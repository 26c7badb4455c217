//! The parser, which turns the text of a PTX module into instructions.
//!
//! It checks every instruction completely, so that the interpreter needs no checks of its own. In particular, each
//! register must have the class that the type of the instruction requires.

mod access;
mod compute;
mod entry;
mod error;
mod instruction;
mod lexer;
mod meets;
mod module;
mod operand;
mod types;

pub use error::{Cause, ParseError};
pub use module::parse;

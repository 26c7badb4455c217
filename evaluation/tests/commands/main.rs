//! Tests that run the program `srlg-evaluation` with tiny sizes, with one module per command.

mod characterise;
mod command_line;
mod families;
mod giants;
mod growth;
mod paper;
mod plans;
mod program;
mod scale;

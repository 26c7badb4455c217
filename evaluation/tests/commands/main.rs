//! Tests that run the program `srlg-evaluation` with tiny sizes. Each command has a module.

mod characterise;
mod command_line;
mod families;
mod giants;
mod growth;
mod paper;
mod plans;
mod program;
mod scale;

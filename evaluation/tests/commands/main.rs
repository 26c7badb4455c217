//! Runs the program `srlg-evaluation` at tiny sizes, a file per command.

mod characterise;
mod command_line;
mod families;
mod giants;
mod growth;
mod paper;
mod plans;
mod program;
mod scale;

//! Tests that run the program `srlg-lab` with tiny sizes. Most commands have a module of their own.

mod characterise;
mod command_line;
mod families;
mod giants;
mod growth;
mod paper;
mod plans;
mod program;
mod scale;

//! Code that the fuzz targets share.

pub mod file;
pub mod state;

#!/bin/sh
# Runs rustdoc with unstable options, for `cargo xtask api`. Setting the variable for all of cargo would run build scripts
# again and thereby compile most dependencies again.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"

//! How far a long command is, for the person who started it.
//!
//! Shape: [`bar`], a progress bar on the standard error. Invariant: nothing is drawn
//! where that is no terminal, and nothing stays: the bar goes when the command ends,
//! also by an error, so that error lines stand alone.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// A bar of `len` steps, which says `what` they are.
pub(crate) fn bar(len: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {bar:40} {human_pos}/{human_len}, {eta} left")
        .expect("the template is well formed");
    // The default target is the standard error, and hides itself where that is no terminal.
    ProgressBar::new(len)
        .with_style(style)
        .with_message(what.to_owned())
        .with_finish(ProgressFinish::AndClear)
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{InMemoryTerm, ProgressDrawTarget};

    #[test]
    fn a_bar_tells_what_and_how_far_and_leaves_nothing() {
        let terminal = InMemoryTerm::new(5, 100);
        let bar = bar(2000, "slices");
        bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        bar.inc(1000);
        bar.tick();
        let drawn = terminal.contents();
        assert!(drawn.starts_with("slices") && drawn.contains("1,000/2,000"), "{drawn}");
        drop(bar);
        assert_eq!(terminal.contents(), "");
    }
}

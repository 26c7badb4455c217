//! Which kernels touch the recorders of each scheme.

use srlg_core::counter::{Counter, RowsCounter, TaggedCounter};
use srlg_core::finder::{CellsFinder, Finder, RsraFinder};
use srlg_core::scheme::{PaperTypes, TaggedTypes};
use srlg_core::{Ages, COUNTER, FINDER};
use srlg_kernels::{Touch, Touch6, TouchPaper};

use super::ctx::GpuCtx;
use super::device::Gpu;
use super::scheme::{FamilyPart, GpuScheme};
use crate::error::Error;
use crate::ingest::pairs::Family;

impl GpuScheme for TaggedTypes {
    fn start_touches<G: Gpu>(
        ctx: GpuCtx<'_, G, Self>,
        (family, pairs): FamilyPart<'_, G>,
        Ages { finder: cells_age, counter: lines_age }: Ages,
    ) -> Result<(), Error> {
        let finder = *CellsFinder::params(ctx.params.finder());
        let counter = *TaggedCounter::params(ctx.params.counter());
        let (cells, lines) = (ctx.recorders(FINDER).buffer(), ctx.words(COUNTER).buffer());
        match family {
            Family::V4 => {
                let pairs = pairs.buffer();
                ctx.start(Touch { finder, counter, cells_age, lines_age, pairs, cells, lines })
            }
            Family::V6 => {
                let pairs = pairs.buffer();
                ctx.start(Touch6 { finder, counter, cells_age, lines_age, pairs, cells, lines })
            }
        }
    }
}

impl GpuScheme for PaperTypes {
    fn start_touches<G: Gpu>(
        ctx: GpuCtx<'_, G, Self>,
        // Of IPv4: the paper's scheme takes no others.
        (_, pairs): FamilyPart<'_, G>,
        Ages { finder: age, counter }: Ages,
    ) -> Result<(), Error> {
        assert_eq!(age, counter, "both arrays of the paper's scheme count slices");
        ctx.start(TouchPaper {
            finder: *RsraFinder::params(ctx.params.finder()),
            counter: *RowsCounter::params(ctx.params.counter()),
            age,
            pairs: pairs.buffer(),
            rough: ctx.words(FINDER).buffer(),
            linear: ctx.words(COUNTER).buffer(),
        })
    }
}

//! `kernels!`: the macro that generates [`Kernel`](crate::Kernel)s from the rows of the table in `lib.rs`.
//!
//! For each row, the macro generates a struct, its `Kernel` implementation, and calls in `for_each_entry_point`. In a
//! build for the GPU, `entry.rs` also generates entry points from the names in `all_entry_points!`.

macro_rules! recorder {
    (8) => {
        srlg_core::Recorder8
    };
    (16) => {
        srlg_core::Recorder16
    };
    (32) => {
        srlg_core::Recorder32
    };
    (64) => {
        srlg_core::Recorder64
    };
}

macro_rules! kernels {
    // These arms handle the optional parts of a kernel.
    (@width) => { "" };
    (@width $recorder:ident) => { <$recorder as KernelRecorder>::NAME };
    (@entry_points $each:ident $kernel:ident $place:ident) => {
        $each(EntryPoint::of::<$kernel<$place>>())
    };
    (@entry_points $each:ident $kernel:ident $place:ident $($bits:tt)+) => {
        $($each(EntryPoint::of::<$kernel<$place, recorder!($bits)>>());)+
    };
    // These arms compute the number of blocks.
    (@threads $count:expr) => { $count.div_ceil(THREADS as usize) };
    (@blocks $count:expr) => { $count };

    ($(
        $(#[$doc:meta])*
        $name:literal: $kernel:ident $(<$recorder:ident: $($bits:tt),+>)?
        ($($value:ident: $type:ty),*) {
            $($access:ident $buffer:ident: [$element:ty $(; $len:expr)?],)*
        }
        $unit:ident: $count:expr $(, where $rule:expr)?;
    )*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[allow(missing_docs, reason = "the documentation of the row names them")]
            pub struct $kernel<P: Place $(, $recorder: KernelRecorder)?> {
                $(pub $value: $type,)*
                $(pub $buffer: P::Buffer<$element>,)*
            }

            #[allow(unused_variables, reason = "a row uses only some of its arguments")]
            impl<P: Place $(, $recorder: KernelRecorder)?> Kernel for $kernel<P $(, $recorder)?> {
                type Place = P;
                type In<To: Place> = $kernel<To $(, $recorder)?>;

                const NAME: &'static str = $name;
                const WIDTH: &'static str = kernels!(@width $($recorder)?);

                fn check(&self) {
                    let Self { $($value,)* $($buffer,)* } = self;
                    $(let $value = *$value;)*
                    $($(
                        let wanted: usize = $len;
                        assert_eq!($buffer.len(), wanted, concat!($name, ": ", stringify!($buffer)));
                    )?)*
                    $(assert!($rule, concat!($name, ": ", stringify!($rule)));)?
                }

                fn blocks(&self) -> usize {
                    let Self { $($value,)* $($buffer,)* } = self;
                    $(let $value = *$value;)*
                    kernels!(@$unit $count)
                }

                #[inline(always)]
                fn carry<'a, To: Place>(
                    &'a mut self,
                    by: &mut impl Carry<'a, P, To>,
                ) -> Self::In<To> {
                    $kernel { $($value: self.$value,)* $($buffer: by.$access(&mut self.$buffer),)* }
                }

                #[inline(always)]
                fn run(arguments: &Self::In<Slices<'_>>, grid: Grid) {
                    Body::run(arguments, grid);
                }
            }
        )*

        /// Calls `each` for every entry point. `P` is the [`Place`] of the buffers in the arguments.
        pub fn for_each_entry_point<P: Place>(mut each: impl FnMut(EntryPoint)) {
            $(kernels!(@entry_points each $kernel P $($($bits)+)?);)*
        }

        #[cfg(target_arch = "nvptx64")]
        macro_rules! all_entry_points {
            () => { entry_points! { $([$name $kernel $($($bits)+)?])* } };
        }
        #[cfg(target_arch = "nvptx64")]
        pub(crate) use all_entry_points;
    };
}

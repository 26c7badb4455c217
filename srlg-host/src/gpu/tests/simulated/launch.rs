//! Launches: a launch copies the memory of a kernel, runs the kernel's threads, and copies changes back.

use srlg_kernels::{Carry, Element, Grid, Kernel, Length, Place, Slices, THREADS};
use zerocopy::IntoBytes;

use super::{SimulatedGpu, World};
use crate::gpu::device::{Buffer, On};

/// Address of a value: the number of a memory block, and the index of a byte in this block.
pub(super) type Address = (usize, usize);

struct CopiedMemory;

impl Place for CopiedMemory {
    type Buffer<T: Element> = Values<T>;
}

struct Values<T> {
    values: Vec<T>,
    from: Address,
}

impl<T> Length for Values<T> {
    fn len(&self) -> usize {
        self.values.len()
    }
}

struct Load<'w>(&'w mut World);

impl Carry<'_, On<SimulatedGpu>, CopiedMemory> for Load<'_> {
    fn reads<T: Element>(&mut self, buffer: &mut Buffer<Address, T>) -> Values<T> {
        let (from, bytes) = (buffer.address, buffer.len() * size_of::<T>());
        let bytes = &self.0.bytes(from.0)[from.1..from.1 + bytes];
        let values = bytes.chunks_exact(size_of::<T>());
        Values { values: values.map(|value| T::read_from_bytes(value).unwrap()).collect(), from }
    }

    fn writes<T: Element>(&mut self, buffer: &mut Buffer<Address, T>) -> Values<T> {
        self.reads(buffer)
    }
}

struct Lend;

impl<'a> Carry<'a, CopiedMemory, Slices<'a>> for Lend {
    fn reads<T: Element>(&mut self, buffer: &'a mut Values<T>) -> &'a [T] {
        &buffer.values
    }

    fn writes<T: Element>(&mut self, buffer: &'a mut Values<T>) -> &'a [T] {
        &buffer.values
    }
}

/// A carrier that copies a kernel's writes back to the memory of a [`World`] and returns empty slices.
struct Store<'w>(&'w mut World);

impl Carry<'_, CopiedMemory, Slices<'static>> for Store<'_> {
    fn reads<T: Element>(&mut self, _: &mut Values<T>) -> &'static [T] {
        &[]
    }

    fn writes<T: Element>(&mut self, Values { values, from }: &mut Values<T>) -> &'static [T] {
        let bytes = values.as_mut_bytes();
        self.0.bytes(from.0)[from.1..from.1 + bytes.len()].copy_from_slice(bytes);
        &[]
    }
}

/// Runs the threads of `kernel` in random order, up to three at the same time.
pub(super) fn run<K: Kernel<Place = On<SimulatedGpu>>>(
    world: &mut World,
    blocks: u32,
    mut kernel: K,
) {
    let mut copied = kernel.carry(&mut Load(world));
    {
        let arguments = copied.carry(&mut Lend);
        let threads = shuffled(world, blocks);
        let processors = 1 + world.chance.below(3);
        std::thread::scope(|scope| {
            for share in threads.chunks(threads.len().div_ceil(processors)) {
                let arguments = &arguments;
                scope.spawn(move || share.iter().for_each(|&grid| thread::<K>(arguments, grid)));
            }
        });
    }
    copied.carry(&mut Store(world));
}

type InSlices<'a, K> = <<K as Kernel>::In<CopiedMemory> as Kernel>::In<Slices<'a>>;

fn thread<K: Kernel>(arguments: &InSlices<'_, K>, grid: Grid) {
    <K::In<CopiedMemory> as Kernel>::run(arguments, grid);
}

fn shuffled(world: &mut World, blocks: u32) -> Vec<Grid> {
    let grid = |thread| {
        let (block, thread) = (thread / THREADS, thread % THREADS);
        Grid { block, blocks, thread, threads: THREADS }
    };
    let mut threads: Vec<Grid> = (0..blocks * THREADS).map(grid).collect();
    for last in (1..threads.len()).rev() {
        threads.swap(last, world.chance.below(last + 1));
    }
    threads
}

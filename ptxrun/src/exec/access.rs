//! [`View`], through which the threads of a launch access memory.

use std::sync::Arc;

use super::fault::{FaultKind, LaneFault, Near};
use super::lanes::{Lanes, WARP, lanes};
use super::warp::Warp;
use super::word::Word;
use crate::isa::{Address, Atomic, DataReg, Entry, Reg, Width};
use crate::memory::{Access, Alloc, Snapshot, Thread};
use crate::stats;

/// A load of elements into consecutive registers.
#[derive(Clone, Copy)]
pub(super) struct Load<'i> {
    /// Size of an element, in bytes.
    pub(super) bytes: usize,
    pub(super) signed: bool,
    pub(super) d: &'i [DataReg],
    pub(super) address: Address,
    pub(super) weak: bool,
}

/// A store of elements from registers.
#[derive(Clone, Copy)]
pub(super) struct Store<'i> {
    /// Size of an element, in bytes.
    pub(super) bytes: usize,
    pub(super) a: &'i [DataReg],
    pub(super) address: Address,
    pub(super) weak: bool,
}

/// An atomic operation.
#[derive(Clone, Copy)]
pub(super) struct Update {
    pub(super) op: Atomic,
    pub(super) width: Width,
    pub(super) d: Option<Reg>,
    pub(super) address: Address,
    pub(super) b: Reg,
    pub(super) c: Reg,
}

/// The launch to which accesses are attributed when races are searched.
struct Racer {
    /// Number of the launch, counted from 1.
    launch: u32,
    /// Numbers of the earlier launches that were running when the launch started.
    beside: Vec<u32>,
}

/// The memory that a launch can access.
pub(super) struct View {
    memory: Snapshot,
    /// Position of the allocation that was accessed last, because the next access is probably to the same one.
    hint: usize,
    /// `None` if races are not searched.
    racer: Option<Racer>,
    entry: Arc<Entry>,
    /// Number of threads in a block.
    threads: u32,
}

impl View {
    pub(super) fn new(memory: Snapshot, entry: Arc<Entry>, threads: u32) -> Self {
        Self { memory, hint: 0, racer: None, entry, threads }
    }

    /// Searches races from now on. `launch` is the number of the launch, counted from 1, and `beside` has the numbers
    /// of the earlier launches that are running.
    pub(super) fn search_races(&mut self, launch: u32, beside: Vec<u32>) {
        self.racer = Some(Racer { launch, beside });
    }

    /// Returns the number of the launch, or `None` if races are not searched.
    pub(super) fn launch(&self) -> Option<u32> {
        self.racer.as_ref().map(|racer| racer.launch)
    }

    /// Executes instruction `pc`, a load, in the lanes of `mask`.
    #[inline(always)]
    pub(super) fn load(
        &mut self,
        warp: &mut Warp,
        load: Load<'_>,
        mask: u32,
        pc: usize,
    ) -> Result<(), LaneFault> {
        let Load { bytes, signed, d, address, weak } = load;
        for lane in lanes(mask) {
            let address = address_of(warp, address, lane);
            let bytes_of_all = bytes * d.len();
            let access = Access { address, bytes: bytes_of_all, is_write: false, is_weak: weak };
            let (alloc, at) = self.checked(warp, lane, pc, access)?;
            // An element is aligned, because all elements together are.
            for (number, &d) in d.iter().enumerate() {
                warp.set(d, lane, alloc.words.load(at + number * bytes, bytes, signed));
            }
        }
        Ok(())
    }

    /// Executes instruction `pc`, a store, in the lanes of `mask`.
    #[inline(always)]
    pub(super) fn store(
        &mut self,
        warp: &Warp,
        store: Store<'_>,
        mask: u32,
        pc: usize,
    ) -> Result<(), LaneFault> {
        let Store { bytes, a, address, weak } = store;
        for lane in lanes(mask) {
            let address = address_of(warp, address, lane);
            let bytes_of_all = bytes * a.len();
            let access = Access { address, bytes: bytes_of_all, is_write: true, is_weak: weak };
            let (alloc, at) = self.checked(warp, lane, pc, access)?;
            for (number, &a) in a.iter().enumerate() {
                alloc.words.store(at + number * bytes, bytes, warp.get(a, lane));
            }
        }
        Ok(())
    }

    /// Executes instruction `pc`, an atomic, in the lanes of `mask`.
    #[inline(always)]
    pub(super) fn update(
        &mut self,
        warp: &mut Warp,
        update: Update,
        mask: u32,
        pc: usize,
    ) -> Result<(), LaneFault> {
        let Update { op, width, d, address, b, c } = update;
        for lane in lanes(mask) {
            let (address, bytes) = (address_of(warp, address, lane), width.bytes());
            let access = Access { address, bytes, is_write: true, is_weak: false };
            let (alloc, at) = self.checked(warp, lane, pc, access)?;
            let [b, c] = [b, c].map(|reg| warp.get(DataReg { width, reg }, lane));
            let words = &alloc.words;
            let old = match width {
                Width::W16 => words.update(at, 2, |old| updated::<u16>(op, old, b, c)),
                Width::W32 => words.update(at, 4, |old| updated::<u32>(op, old, b, c)),
                Width::W64 => words.update(at, 8, |old| updated::<u64>(op, old, b, c)),
            };
            if let Some(reg) = d {
                warp.set(DataReg { width, reg }, lane, old);
            }
        }
        Ok(())
    }

    /// Returns the nearest allocation that starts at or before `address`.
    pub(super) fn near(&self, address: u64) -> Option<Near> {
        let alloc = self.memory.allocs.iter().rev().find(|alloc| alloc.base <= address)?;
        Some(Near { byte: address - alloc.base, len: alloc.words.len() })
    }

    /// Checks and records an access of `lane` by instruction `pc`. Returns its allocation and its position there.
    #[inline(always)]
    fn checked(
        &mut self,
        warp: &Warp,
        lane: usize,
        pc: usize,
        access: Access,
    ) -> Result<(&Alloc, usize), LaneFault> {
        let Access { address, bytes, .. } = access;
        let fault = |kind| LaneFault { kind, lane, address };
        if address & (bytes as u64 - 1) != 0 {
            return Err(fault(FaultKind::Misaligned));
        }
        let allocs = &*self.memory.allocs;
        let alloc = match allocs.get(self.hint) {
            Some(alloc) if alloc.has(address, bytes) => alloc,
            _ => {
                let after = allocs.partition_point(|alloc| alloc.base <= address);
                self.hint = after.wrapping_sub(1);
                match allocs.get(self.hint) {
                    Some(alloc) if alloc.has(address, bytes) => alloc,
                    _ => return Err(fault(FaultKind::OutOfBounds)),
                }
            }
        };
        if !alloc.record(&access) {
            return Err(fault(FaultKind::Uninitialised));
        }
        if let Some(Racer { launch, beside }) = &self.racer {
            let number = warp.block * self.threads + warp.first_thread + lane as u32 + 1;
            let thread = Thread { launch: *launch, number };
            let is_concurrent = |other: u32| other >= *launch || beside.contains(&other);
            if alloc.races(&access, thread, is_concurrent) {
                stats::add_race(&self.entry, pc, access.is_write);
            }
        }
        Ok((alloc, alloc.position(address)))
    }
}

#[inline(always)]
fn address_of(warp: &Warp, Address { base, offset }: Address, lane: usize) -> u64 {
    warp.r64[usize::from(base)][lane].wrapping_add(offset)
}

/// Returns the new value of an atomic operation.
#[inline(always)]
fn updated<T: Word>(op: Atomic, old: u64, b: u64, c: u64) -> u64 {
    let [old, b, c] = [old, b, c].map(T::truncated);
    let new = match op {
        Atomic::Add => old.plus(b),
        Atomic::And => old & b,
        Atomic::Or => old | b,
        Atomic::Xor => old ^ b,
        Atomic::Exch => b,
        Atomic::Cas if old == b => c,
        Atomic::Cas => old,
        Atomic::MinU => old.min(b),
        Atomic::MaxU => old.max(b),
        Atomic::MinS => T::unsigned(old.signed().min(b.signed())),
        Atomic::MaxS => T::unsigned(old.signed().max(b.signed())),
    };
    new.into()
}

/// Cost of an access by the threads of a warp.
pub(super) struct Cost {
    /// Number of distinct sectors of 32 bytes.
    pub(super) sectors: u64,
    /// Maximum number of threads with the same address.
    pub(super) conflicts: u64,
}

/// Returns the cost of an access to `bytes` bytes by the lanes of `mask`.
pub(super) fn cost(warp: &Warp, address: Address, bytes: usize, mask: u32) -> Cost {
    let mut all: Lanes<u64> = [u64::MAX; WARP];
    let mut count = 0;
    for lane in lanes(mask) {
        all[count] = address_of(warp, address, lane);
        count += 1;
    }
    let all = &mut all[..count];
    all.sort_unstable();
    let mut cost = Cost { sectors: 0, conflicts: 0 };
    let (mut last_sector, mut last_address, mut same) = (None, None, 0);
    for &address in &*all {
        let last_byte = address.saturating_add(bytes as u64 - 1);
        for sector in address >> 5..=last_byte >> 5 {
            if last_sector != Some(sector) {
                (last_sector, cost.sectors) = (Some(sector), cost.sectors + 1);
            }
        }
        same = if last_address == Some(address) { same + 1 } else { 1 };
        last_address = Some(address);
        cost.conflicts = cost.conflicts.max(same);
    }
    cost
}

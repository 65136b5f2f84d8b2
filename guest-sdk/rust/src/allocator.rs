//! The global allocator of a component: a static heap first, the growing memory after it.
//!
//! A plugin is called on a fresh instance, and growing its memory there costs more than the call itself (about 5 of 12 microseconds
//! measured) and takes a lock that all threads of the host share. The standard allocator grows on its first allocation. This one starts
//! in zeroed static memory, which costs no byte of the file, and grows only when that is full. Reusing freed memory well is the
//! hard part of an allocator, so that part is the crate `talc`, which is kept for exactly this target.

use std::{alloc::Layout, arch::wasm32::memory_grow, mem::MaybeUninit, ptr::NonNull};

use talc::{
    base::{Talc, binning::Binning},
    cell::TalcSyncCell,
    source::Source,
    wasm::WasmBinning,
};

/// Enough for a payload at the contract's bound (32 KiB), its parsed form and an answer.
const STATIC_HEAP: usize = 256 * 1024;
/// Growing is the expensive step, so it is done in larger ones.
const SMALLEST_GROWTH: usize = 256 * 1024;
const PAGE: usize = 64 * 1024;
/// More than the allocator's own words around one allocation.
const OVERHEAD: usize = 256;

#[global_allocator]
static ALLOCATOR: TalcSyncCell<StaticThenGrow, WasmBinning> = TalcSyncCell::new_wasm(StaticThenGrow { heap_end: None });

/// Where memory comes from. `heap_end` is the end of the newest heap, `None` before the first allocation.
#[derive(Debug)]
struct StaticThenGrow {
    heap_end: Option<NonNull<u8>>,
}

#[expect(unsafe_code, reason = "a source of memory hands raw memory to the allocator")]
// SAFETY: `acquire` allocates nothing itself, and returns `Ok` only after it has added memory.
unsafe impl Source for StaticThenGrow {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        let heap_end = match talc.source.heap_end {
            None => claim_static(talc),
            Some(end) => grow(talc, end, layout),
        };
        talc.source.heap_end = Some(heap_end.ok_or(())?);
        Ok(())
    }
}

#[expect(unsafe_code, reason = "the static heap is handed over as raw memory")]
fn claim_static<B: Binning>(talc: &mut Talc<StaticThenGrow, B>) -> Option<NonNull<u8>> {
    static mut HEAP: [MaybeUninit<u8>; STATIC_HEAP] = [MaybeUninit::uninit(); STATIC_HEAP];
    // SAFETY: nothing else names `HEAP`, and this runs once: afterwards `heap_end` is set.
    unsafe { talc.claim((&raw mut HEAP).cast(), STATIC_HEAP) }
}

#[expect(unsafe_code, reason = "grown pages are handed over as raw memory")]
fn grow<B: Binning>(talc: &mut Talc<StaticThenGrow, B>, heap_end: NonNull<u8>, layout: Layout) -> Option<NonNull<u8>> {
    let needed = layout.size().checked_add(layout.align())?.checked_add(OVERHEAD)?;
    let pages = needed.max(SMALLEST_GROWTH).div_ceil(PAGE);
    let before = memory_grow::<0>(pages);
    if before == usize::MAX {
        return None;
    }
    let base = (before * PAGE) as *mut u8;
    if heap_end.as_ptr() == base {
        // SAFETY: the new pages lie directly behind the newest heap, which this allocator holds, and nobody else knows of them.
        return Some(unsafe { talc.extend(heap_end, base.wrapping_add(pages * PAGE)) });
    }
    // SAFETY: nobody else knows of the new pages.
    unsafe { talc.claim(base, pages * PAGE) }
}

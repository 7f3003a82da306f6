//! Memory that the kernel receives into: a ring of buffers, of which it takes one for each piece of data. Part of `ring`;
//! what is unsafe here is sound because the ring is closed before this memory is given back.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// The number under which the kernel knows the buffers.
pub const GROUP: u16 = 0;
/// What the kernel demands of the ring's address.
const PAGE: usize = 4_096;

/// A buffer that holds something, until it is given back with [`Buffers::recycle`]. There is one for each time the kernel
/// has filled a buffer, and it cannot be copied.
#[derive(Debug)]
pub struct Filled {
    id: u16,
    len: usize,
}

/// The buffers and the ring that lends them to the kernel.
pub struct Buffers {
    ring: NonNull<BufRingEntry>,
    contents: NonNull<u8>,
    count: u16,
    size: usize,
    /// How many were ever given to the kernel.
    tail: u16,
}

impl Buffers {
    /// `count` buffers of `size` bytes, not yet known to the kernel; `count` is a power of two.
    pub fn new(count: u16, size: usize) -> Self {
        assert!(count.is_power_of_two() && size > 0, "{count} buffers of {size} bytes cannot be a ring");
        let (ring, contents) = Self::layouts(count, size);
        let mut buffers = Self { ring: allocate(ring).cast(), contents: allocate(contents), count, size, tail: 0 };
        for id in 0..count {
            buffers.recycle(Filled { id, len: 0 });
        }
        buffers
    }

    fn layouts(count: u16, size: usize) -> (Layout, Layout) {
        let count = usize::from(count);
        let bytes = |size: usize| Layout::from_size_align(count * size, PAGE).expect("a ring fits into memory");
        (bytes(size_of::<BufRingEntry>()), bytes(size))
    }

    /// Lends all buffers to the kernel.
    ///
    /// # Safety
    /// The io_uring must be closed before `self` is dropped.
    pub unsafe fn register(&self, submitter: &Submitter<'_>) -> io::Result<()> {
        // SAFETY: the ring's memory holds `count` entries and lives, by the caller's word, for as long as the io_uring.
        unsafe { submitter.register_buf_ring_with_flags(self.ring.as_ptr() as u64, self.count, GROUP, 0) }
    }

    /// The buffer that the kernel says it has put `len` bytes into.
    ///
    /// # Safety
    /// `id` must come from a completion of the io_uring, once for each completion.
    pub unsafe fn filled(&self, id: u16, len: usize) -> Filled {
        debug_assert!(id < self.count && len <= self.size);
        Filled { id, len }
    }

    /// What is in it.
    pub fn bytes(&self, filled: &Filled) -> &[u8] {
        // SAFETY: the buffer is ours until it is recycled, which would have used up `filled`; the memory was zeroed at first.
        unsafe { std::slice::from_raw_parts(self.buffer(filled.id), filled.len) }
    }

    /// Gives the buffer to the kernel.
    pub fn recycle(&mut self, filled: Filled) {
        let place = usize::from(self.tail & (self.count - 1));
        // SAFETY: `place` is below `count`. The kernel reads entries from its head to the tail, and at most `count` buffers
        // exist, so this entry is not among those it may read. The tail lies in the first entry, in a field that is not set here.
        unsafe {
            let entry = &mut *self.ring.as_ptr().add(place);
            entry.set_addr(self.buffer(filled.id) as u64);
            entry.set_len(self.size as u32);
            entry.set_bid(filled.id);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.ring.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }

    fn buffer(&self, id: u16) -> *mut u8 {
        // SAFETY: ids are below `count`, so that the address lies within the allocation.
        unsafe { self.contents.as_ptr().add(usize::from(id) * self.size) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let (ring, contents) = Self::layouts(self.count, self.size);
        // SAFETY: allocated in `new` with these layouts.
        unsafe {
            dealloc(self.ring.as_ptr().cast(), ring);
            dealloc(self.contents.as_ptr(), contents);
        }
    }
}

/// Zeroed memory; `layout` is not empty.
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: neither count nor size is zero.
    let memory = unsafe { alloc_zeroed(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

//! Loads memory into the cache before it is needed: a hint, on which no result depends.

use std::collections::VecDeque;

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Bytes of a queue that are loaded from its front.
const FRONT: usize = 1024;

/// Entries of a queue to load from its front where each is behind a pointer.
pub const SOON: usize = 16;

/// Starts to load all cache lines of a value. Does nothing on processors other than x86-64.
#[inline(always)]
pub fn prefetch<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        let (start, size) = (std::ptr::from_ref(value).cast::<i8>(), size_of_val(value));
        let load = |byte: usize| {
            // SAFETY: the instruction accesses nothing and cannot fail, whatever the address.
            #[allow(unsafe_code)]
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(byte));
            }
        };
        for line in 0..size.div_ceil(LINE) {
            load(line * LINE);
        }
        // It may be in one more line.
        load(size.saturating_sub(1));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Starts to load the first entries of a queue, 1 kB of them, and the last one.
#[inline(always)]
pub fn prefetch_ends<T>(queue: &VecDeque<T>) {
    let (first, second) = queue.as_slices();
    let most = FRONT / size_of::<T>().max(1);
    let front = &first[..first.len().min(most)];
    prefetch(front);
    prefetch(&second[..second.len().min(most - front.len())]);
    queue.back().into_iter().for_each(prefetch);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any place, size and length, none of which may fail.
    #[test]
    fn whatever_is_prefetched_stays_as_it_is() {
        prefetch(&());
        prefetch::<[u64]>(&[]);
        prefetch("text");
        prefetch(&[7_u8; 200][3..]);
        let mut queue = VecDeque::with_capacity(8);
        for number in 0..3000_u64 {
            prefetch_ends(&queue);
            queue.push_back(number);
            if number % 3 == 0 {
                queue.pop_front();
            }
        }
        assert!(queue.iter().copied().eq(1000..3000));
        prefetch_ends(&VecDeque::from([(); 3]));
    }
}

//! How a change reaches all workers at once. The original tables lie behind a lock that only changes take, together with
//! the latest changes; beside them is the number of changes made so far. A worker reads its own copy, after one look at
//! that number: if it has moved, the worker first follows the changes it has missed.
//!
//! A change counts from the moment the number moves, which is before its response is written. A worker that gets a request
//! sent after that response finds the number moved: the way from one worker's response through the client to another
//! worker's request orders the two. So nothing lags, and what a request reads is the tables as of one instant.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Change, State, Tables};
use crate::choices::StateCheck;
use crate::tunables;

/// Changes that are kept for workers that have not followed yet. One that has missed more copies the tables anew.
const KEPT: usize = 4_096;

/// The original, and how far it has come.
pub(super) struct Shared {
    original: Mutex<Original>,
    made: Made,
}

/// Changes made so far. It has a cache line to itself: every request looks at it, and the lock beside it is busier.
#[repr(align(64))]
struct Made(AtomicU64);

struct Original {
    tables: Tables,
    /// The latest changes, the oldest first.
    latest: VecDeque<Change>,
}

impl Shared {
    pub(super) fn new(tables: Tables) -> Self {
        Self { original: Mutex::new(Original { tables, latest: VecDeque::new() }), made: Made(AtomicU64::new(0)) }
    }

    fn lock(&self) -> MutexGuard<'_, Original> {
        // A worker that panics takes the process with it, so that a poisoned lock is never seen in service.
        self.original.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's access to the tables: its copy, and the way to change them for all.
pub struct Access<'s> {
    shared: &'s Shared,
    copy: Tables,
    /// How many changes the copy has followed.
    followed: u64,
    /// Nothing has to be looked up before the batch ends. Only kept where batches count.
    checked: bool,
}

impl<'s> Access<'s> {
    /// Access with a fresh copy.
    pub fn new(state: &'s State) -> Self {
        let shared = &state.shared;
        let original = shared.lock();
        let followed = shared.made.0.load(Ordering::Relaxed);
        Self { shared, copy: original.tables.clone(), followed, checked: false }
    }

    /// The tables to read, as of now, or as of the first request of the batch.
    pub fn shared(&mut self) -> &Tables {
        if tunables::STATE_CHECK == StateCheck::PerRequest || !self.checked {
            if self.shared.made.0.load(Ordering::Acquire) != self.followed {
                self.follow();
            }
            self.checked = true;
        }
        &self.copy
    }

    /// The tables to change, for this worker alone until the result is dropped.
    pub fn alone(&mut self) -> Alone<'s> {
        // What this worker changes its next request is to see.
        self.checked = false;
        Alone { shared: self.shared, original: self.shared.lock() }
    }

    /// To be called before a response leaves, and before more is read or waited for.
    pub fn batch_done(&mut self) {
        self.checked = false;
    }

    #[cold]
    fn follow(&mut self) {
        let original = self.shared.lock();
        let made = self.shared.made.0.load(Ordering::Relaxed);
        let missed = usize::try_from(made - self.followed).ok();
        let first = missed.and_then(|missed| original.latest.len().checked_sub(missed));
        self.followed = made;
        let Some(first) = first else {
            self.copy = original.tables.clone();
            return;
        };
        // Taken along, so that nobody waits for the lock while this copy is changed.
        let changes: Vec<Change> = original.latest.range(first..).cloned().collect();
        drop(original);
        changes.into_iter().for_each(|change| self.copy.apply(change));
    }
}

/// The original tables, which nobody else changes meanwhile.
pub struct Alone<'s> {
    shared: &'s Shared,
    original: MutexGuard<'s, Original>,
}

impl Alone<'_> {
    /// The tables with all changes made so far.
    pub fn tables(&self) -> &Tables {
        &self.original.tables
    }

    /// Makes a change, for all workers.
    pub fn make(&mut self, change: Change) {
        if self.original.latest.len() == KEPT {
            self.original.latest.pop_front();
        }
        self.original.latest.push_back(change.clone());
        self.original.tables.apply(change);
        self.shared.made.0.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::state::countries::Countries;
    use crate::state::users::{Account, User, Users};

    fn user(number: usize) -> User {
        User::new(Account { login: number.to_string().into(), ..Account::default() }, false)
    }

    fn has(access: &mut Access<'_>, number: usize) -> bool {
        access.batch_done();
        access.shared().users.get(&number.to_string()).is_some()
    }

    #[test]
    fn a_change_is_seen_by_every_worker_that_hears_of_it() {
        const CHANGES: usize = 2 * KEPT;
        let state = State::new(Countries::new(Vec::new(), Vec::new()), Users::default());
        let told = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut access = Access::new(&state);
                    let mut heard = 0;
                    while heard < CHANGES {
                        heard = told.load(Ordering::Relaxed);
                        // What the response and the next request do between two workers.
                        std::sync::atomic::fence(Ordering::Acquire);
                        assert!(heard == 0 || has(&mut access, heard), "{heard}");
                    }
                });
            }
            let mut access = Access::new(&state);
            for number in 1..=CHANGES {
                access.alone().make(Change::User(user(number)));
                told.store(number, Ordering::Release);
                assert!(has(&mut access, number), "{number}, by the worker itself");
            }
        });
    }

    #[test]
    fn a_worker_that_missed_more_than_is_kept_has_all_the_same() {
        let state = State::new(Countries::new(Vec::new(), Vec::new()), Users::default());
        let (mut idle, mut busy) = (Access::new(&state), Access::new(&state));
        for number in 1..=KEPT + 1 {
            busy.alone().make(Change::User(user(number)));
        }
        for number in [1, 2, KEPT, KEPT + 1] {
            assert!(has(&mut idle, number), "{number}");
        }
        busy.alone().make(Change::User(user(KEPT + 2)));
        assert!(has(&mut idle, KEPT + 2) && !has(&mut idle, KEPT + 3));
    }
}

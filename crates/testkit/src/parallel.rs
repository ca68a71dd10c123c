//! Many cases of one test, several at once.
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many cases are under way at once; most of their time they wait.
const AT_ONCE: usize = 8;

/// Does the same for all, several at once, and gives the results in their order.
pub fn for_all<T: Sync, R: Send>(cases: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::SeqCst);
            let Some(case) = cases.get(number) else { return };
            let result = act(case);
            results.lock().expect("no case panicked").insert(number, result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    results.into_inner().expect("no case panicked").into_values().collect()
}

//! The escape zoo: whatever tries to outlive a run is gone 5 s after its cause, in every containment mode.
//!
//! CI takes each kind with one cause a mode, another one each day; `ESCAPES=all` takes all causes,
//! `ESCAPES=hopper,cancel` one case in every mode. `ZOO_TABLE=<file>` gets the tables.
mod control;

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many cases are under way at once; most of their time they wait.
const AT_ONCE: usize = 8;

/// Does the same for all, several at once, and gives the results in their order.
fn for_all<T: Sync, R: Send>(cases: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((number, case)) = {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    cases.get(number).map(|case| (number, case))
                } {
                    let result = act(case);
                    results.lock().unwrap().push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Shows a table, and adds it to the file that was asked for.
#[expect(clippy::print_stdout, reason = "the table is part of the result")]
fn show(table: &str) {
    println!("{table}");
    if let Some(path) = std::env::var_os("ZOO_TABLE") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{table}\n").as_bytes()).unwrap();
    }
}

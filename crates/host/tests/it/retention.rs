//! Outputs of a run are bounded together.
use loop_host::fs::bytes_of;
use loop_host::retention::thin;

#[test]
fn the_oldest_outputs_go_first_prompts_stay_and_the_newest_are_spared() {
    let folder = tempfile::tempdir().unwrap();
    let at = |number: u32, rest: &str| folder.path().join(format!("{number:06}")).join(rest);
    for number in 1..=6 {
        for rest in ["attempt-1/stdout/head", "gates/000007/stderr/head"] {
            std::fs::create_dir_all(at(number, rest).parent().unwrap()).unwrap();
            std::fs::write(at(number, rest), vec![b'x'; 100_000]).unwrap();
        }
        std::fs::write(at(number, "attempt-1/prompt.md"), "the task").unwrap();
    }
    let before = bytes_of(folder.path());
    let left = thin(folder.path(), before - 250_000);
    assert!(left <= before - 250_000 && left == bytes_of(folder.path()), "{before} {left}");
    assert!(!at(1, "attempt-1/stdout").exists() && !at(1, "gates/000007/stderr").exists());
    assert!(at(6, "attempt-1/stdout/head").exists() && at(1, "attempt-1/prompt.md").exists());
    thin(folder.path(), 0);
    assert!(!at(4, "attempt-1/stdout").exists() && at(5, "attempt-1/stdout").exists(), "the newest two are spared");
}

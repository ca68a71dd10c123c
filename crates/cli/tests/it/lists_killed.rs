//! `loop prd run` that is killed: nothing is ticked twice, nothing is lost, and its files are written all or none.
use std::fs;

use loop_testkit::{TestEnv, wait_until};

use crate::user;

const ITEMS: usize = 6;

fn project() -> TestEnv {
    let user = user();
    let item = |number: usize| {
        format!("    {{\"id\": \"I{number}\", \"title\": \"write {number}\", \"passes\": false, \"notes\": \"\"}}")
    };
    let items: Vec<String> = (0..ITEMS).map(item).collect();
    user.write("work/prd.json", &format!("{{\n  \"items\": [\n{}\n  ]\n}}\n", items.join(",\n")));
    user
}

fn plan(user: &TestEnv) -> Option<String> {
    let plans = fs::read_dir(user.state().join("plans")).ok()?;
    let mut plans: Vec<String> = plans.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    plans.retain(|name| !name.starts_with('.') && user.state().join("plans").join(name).join("journal.jsonl").exists());
    plans.pop()
}

#[test]
fn a_list_that_is_killed_again_and_again_ends_with_each_item_ticked_once_and_all_files_complete() {
    // req: P-08
    // req: P-06
    let user = project();
    // Each item has a file of its own; how often an agent was called is counted outside.
    let calls = user.root().join("calls.txt").display().to_string();
    let agent = format!("id=$(grep -o '^Item I[0-9]*' | head -1 | cut -c6-); echo $id >> {calls}; echo done > $id.txt");
    let words = ["prd", "run", "--all", "--check", "true", "--agent-cmd", &agent];
    let mut running = user.begin(&words);
    // After each new line of the log the whole plan is killed, and resumed.
    for lines in 1..ITEMS {
        let log = user.work().join("loop/log.txt");
        wait_until("a line of the log", || fs::read_to_string(&log).is_ok_and(|text| text.lines().count() >= lines));
        let id = plan(&user).unwrap();
        running.signal("KILL");
        drop(running.end());
        running = user.begin(&["resume", &id]);
    }
    let ran = running.end();
    let ran = ran.expect_code(0);
    let list: serde_json::Value = serde_json::from_str(&user.read("work/prd.json")).unwrap();
    let (log, progress) = (user.read("work/loop/log.txt"), user.read("work/progress.txt"));
    for (number, item) in list["items"].as_array().unwrap().iter().enumerate() {
        let id = format!("I{number}");
        assert_eq!(item["passes"], true, "{id}\n{}", ran.text());
        assert_eq!(log.matches(&format!("item={id} loop=1 verdict=\"PASS\"")).count(), 1, "{id}\n{log}");
        assert_eq!(progress.matches(&format!(" {id}: write {number}\n")).count(), 1, "{id}\n{progress}");
        assert_eq!(user.read(&format!("work/{id}.txt")), "done\n");
    }
    assert_eq!(log.lines().count(), ITEMS, "{log}");
}

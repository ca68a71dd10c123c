//! The manual has every command as it is parsed, and every file that loops leave.
use std::collections::BTreeSet;
use std::path::Path;

use loop_testkit::{TestEnv, must};

use crate::{loopr, start, user};

fn page(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    std::fs::read_to_string(root.join("docs/reference").join(name)).unwrap()
}

#[test]
fn the_page_of_commands_is_as_the_program_prints_it() {
    // req: A-33 partly: commands and flags
    let printed = user().run(&["man", "--markdown"]).expect_code(0).out();
    assert!(printed == page("commands.md"), "run `cargo xtask generate`");
    for name in ["`loop`", "`loop start`", "`loop workflow run`", "`loop checkpoint list`", "`loopr loop`", "`loopd`"] {
        assert!(printed.contains(&format!("\n## {name}\n")), "{name} is missing");
    }
    assert!(printed.contains("- [`--max-iterations`](settings.md#max_iterations)\n"));
}

#[test]
fn every_setting_is_on_the_page_of_settings_with_a_sentence_and_its_flag() {
    // req: A-33 partly: keys
    let page = page("settings.md");
    for key in loop_core::settings::catalogue() {
        let heading = format!("\n## `{}`\n\n", key.name);
        let (_, rest) = page.split_once(&heading).unwrap_or_else(|| panic!("{} is missing", key.name));
        let section = rest.split("\n## ").next().unwrap();
        assert!(key.doc.len() > 10 && key.doc.ends_with('.'), "{}: {:?}", key.name, key.doc);
        assert!(section.contains(&format!("`--{}", key.flag.long)), "{}: no flag", key.name);
        assert!(key.env.is_none_or(|variable| section.contains(variable)), "{}: no variable", key.name);
    }
}

/// The paths of the page of files.
fn patterns() -> Vec<String> {
    let rows = page("files.md");
    let first = |line: &str| Some(line.strip_prefix("- `$")?.split('`').next()?.to_owned());
    let found: Vec<String> = rows.lines().filter_map(first).collect();
    assert!(found.len() > 50, "only {} paths: the search is broken", found.len());
    found
}

/// Whether a path is one of the page. A word in capitals stands for anything, `…` for all that is below.
fn fits(path: &str, pattern: &str) -> bool {
    let mut parts = path.split('/');
    for wanted in pattern.split('/') {
        if wanted == "…" {
            return parts.next().is_some();
        }
        let Some(part) = parts.next() else { return false };
        let capitals = |sign: char| sign.is_ascii_uppercase();
        let same = match (wanted.find(capitals), wanted.rfind(capitals)) {
            (Some(from), Some(to)) if wanted != "STATE" && wanted != "WORKSPACE" && wanted != "CONFIG" => {
                part.len() >= wanted.len() - (to - from)
                    && part.starts_with(&wanted[..from])
                    && part.ends_with(&wanted[to + 1..])
            }
            _ => part == wanted,
        };
        if !same {
            return false;
        }
    }
    parts.next().is_none()
}

/// What loops left on this machine, as the page would write it.
fn left(user: &TestEnv) -> BTreeSet<String> {
    let of = |folder: &str, name: &str| {
        let files = if user.root().join(folder).is_dir() { user.tree(folder) } else { Vec::new() }.into_iter();
        files.map(|path| format!("{name}/{path}")).collect::<Vec<_>>()
    };
    let all = [of("home/.local/state/loop", "STATE"), of("home/.config/loop", "CONFIG")].concat();
    let work = of("work", "WORKSPACE").into_iter();
    let ours = work.filter(|path| [".harness/", ".loopr/", ".loop/"].iter().any(|name| path.contains(name)));
    all.into_iter().chain(ours).filter(|path| user.root().join(real(path)).is_file()).collect()
}

fn real(path: &str) -> String {
    let known = [("STATE", "home/.local/state/loop"), ("CONFIG", "home/.config/loop"), ("WORKSPACE", "work")];
    let (name, folder) = known.iter().find(|(name, _)| path.starts_with(name)).unwrap();
    path.replacen(name, folder, 1)
}

fn unknown(user: &TestEnv) -> Vec<String> {
    let patterns = patterns();
    left(user).into_iter().filter(|path| !patterns.iter().any(|pattern| fits(path, pattern))).collect()
}

#[test]
fn every_file_that_loops_and_plans_leave_is_in_the_manual() {
    // req: A-33 partly: files
    let user = user();
    must(&user.work(), "git init -q .");
    user.write(
        "home/.config/loop/config.toml",
        "hidden_gates = [\"own=true\"]\nmax_cost_per_day = \"1000\"\nstrength = \"off\"\n",
    );
    user.write("work/.harness/inbox/001-first.txt", "Look at the tests.\n");
    let agent = "echo hello; echo error >&2; touch done-$LOOP_BRANCH; echo '<progress>one</progress>'";
    let promise = "ls done* > /dev/null && echo checked";
    user.run(&start(agent, promise, &["--profile", "autonomous", "--agent", "custom"])).expect_code(0);
    user.run(&["checkpoint", "mine"]).expect_code(0);
    user.run(&["template", "create", "mine"]).expect_code(0);
    must(&user.work(), "rm -f done*");
    user.run(&start(agent, promise, &["--best-of", "2", "--best-of-metric", "echo 1", "--setup", "echo x"]))
        .expect_code(0);
    must(&user.work(), "rm -f done*");
    let flow = "loops:\n  - {id: a, prompt: a, promise: ls done*}\non_complete: [\"echo x\"]\n";
    user.write("work/flow.yaml", flow);
    user.run(&["workflow", "run", "flow.yaml", "--agent-cmd", agent]).expect_code(0);
    let unknown = unknown(&user);
    assert!(unknown.is_empty(), "docs/reference/files.md does not have:\n{}", unknown.join("\n"));
    let files = left(&user);
    let all = ["STATE/runs/", "STATE/plans/", "STATE/index.db", "STATE/ledger.db", "WORKSPACE/.harness/state.db"];
    for wanted in all {
        assert!(files.iter().any(|path| path.starts_with(wanted)), "{wanted} is not there: {files:#?}");
    }
}

#[test]
fn every_file_that_loopr_leaves_is_in_the_manual() {
    // req: A-33 partly: files of loopr
    let user = loopr::loopr("block COMPLETE true code 0");
    user.write("work/.loopr/config", "MAX_ITERATIONS=5\n");
    user.run(&["loop", "do it"]).expect_code(0);
    let unknown = unknown(&user);
    assert!(unknown.is_empty(), "docs/reference/files.md does not have:\n{}", unknown.join("\n"));
    assert!(left(&user).contains("WORKSPACE/.loopr/status.json"));
}

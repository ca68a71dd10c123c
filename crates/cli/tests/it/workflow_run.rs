//! `loop workflow run`: several loops from one file, merged and applied.
use loop_testkit::TestEnv;

use crate::user;
use crate::workflow::EXAMPLE;

/// Does what the prompt asks for, in one file for each task, and leaves the variable that it got.
const AGENT: &str = "prompt=$(cat); case \"$prompt\" in \
    *'Write failing tests'*) echo \"$FEATURE_NAME\" > tests.txt;; \
    *'Implement '*) echo done > impl.txt;; \
    *'Refactor '*) echo clear > style.txt;; \
    *'Add documentation'*) echo read > docs.txt;; esac";

/// What each command of the example needs.
const NPM: &str = "case \"$*\" in \
    test) test -e tests.txt || exit 0; test -e impl.txt && exit 0; echo '1 failing'; exit 1;; \
    'run lint') test -e style.txt;; \
    'run docs:check') test -e docs.txt;; \
    *) exit 1;; esac";

fn run<'a>(file: &'a str, agent: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["workflow", "run", file, "--agent-cmd", agent][..], more].concat()
}

fn project() -> TestEnv {
    let user = user();
    user.write("work/readme.txt", "one\ntwo\nthree\nfour\nfive\n");
    user
}

#[test]
fn the_example_of_the_documentation_runs_as_it_is_written() {
    // req: D-12
    let user = project();
    user.program("npm", NPM);
    user.program("notify-send", "echo \"$*\" > told.txt");
    user.write("work/implement-feature.yaml", EXAMPLE);
    let ran = user.run(&run("implement-feature.yaml", AGENT, &["--set", "feature=user-auth"])).expect_code(0);
    assert_eq!(user.read("work/tests.txt"), "user-auth\n", "{}", ran.text());
    for file in ["impl.txt", "style.txt", "docs.txt"] {
        assert!(user.work().join(file).exists(), "{file} is missing\n{}", ran.text());
    }
    assert_eq!(user.read("work/told.txt"), "Feature complete: user-auth\n");
}

#[test]
fn loops_that_do_not_depend_on_each_other_work_at_once_and_are_merged() {
    // req: D-12 partly: runs of workflow files
    let user = project();
    let root = user.root().display().to_string();
    let meet = |own: &str, other: &str| {
        format!(
            "touch {root}/at-{own}; n=0; while ! test -e {root}/at-{other} && test $n -lt 500; do n=$((n+1)); sleep 0.02; done; test -e {root}/at-{other} || exit 1"
        )
    };
    let agent = format!(
        "prompt=$(cat); case \"$prompt\" in *'task A'*) echo a > a.txt;; \
         *'task B'*) {}; sed -i s/one/ONE/ readme.txt;; *'task C'*) {}; sed -i s/five/FIVE/ readme.txt;; \
         *'task D'*) cat readme.txt > all.txt;; esac",
        meet("b", "c"),
        meet("c", "b"),
    );
    user.write(
        "work/diamond.yaml",
        "parallel: 2\nloops:\n  - {id: a, prompt: task A, promise: test -e a.txt}\n  \
         - {id: b, prompt: task B, promise: grep -q ONE readme.txt, depends_on: [a]}\n  \
         - {id: c, prompt: task C, promise: grep -q FIVE readme.txt, depends_on: [a]}\n  \
         - {id: d, prompt: task D, promise: test -e all.txt, depends_on: [b, c]}\n",
    );
    let ran = user.run(&run("diamond.yaml", &agent, &[])).expect_code(0);
    assert_eq!(user.read("work/readme.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n", "{}", ran.text());
    assert_eq!(user.read("work/all.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n", "the last loop saw both");
}

#[test]
fn a_loop_that_fails_runs_on_failure_and_nothing_of_the_workspace_changes() {
    // req: D-12 partly: runs of workflow files
    // req: D-21 partly: roadmap and prd come later
    let user = project();
    user.program("loop", &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_loop")));
    user.write(
        "work/flow.yaml",
        "loops:\n  - {id: a, prompt: task A, promise: test -e a.txt}\n  \
         - {id: b, prompt: task B, promise: test -e never.txt, depends_on: [a], max_iterations: 1}\n  \
         - {id: c, prompt: task C, promise: test -e c.txt, depends_on: [b]}\n\
         on_failure:\n  - \"loop rollback {{failed_loop}} initial > ../rolled.txt 2>&1; echo $? > ../code.txt\"\n",
    );
    let ran = user.run(&run("flow.yaml", "cat > /dev/null; echo x > a.txt", &[])).expect_code(1);
    assert!(!user.work().join("a.txt").exists(), "{}", ran.text());
    assert_eq!(user.read("code.txt"), "0\n", "{}\n{}", user.read("rolled.txt"), ran.text());
    assert!(ran.text().contains("depends on b"), "{}", ran.text());
}

#[test]
fn a_hook_that_fails_is_said_while_it_works_and_at_the_end() {
    // req: D-12 partly: runs of workflow files
    let user = project();
    user.write(
        "work/flow.yaml",
        "loops:\n  - {id: a, prompt: task A, promise: test -e a.txt}\n\
         on_complete:\n  - \"true\"\n  - exit 3\n",
    );
    let ran = user.run(&run("flow.yaml", "cat > /dev/null; echo x > a.txt", &[])).expect_code(0);
    let said = "2 of on_complete failed (exit 3): exit 3";
    assert!(ran.err().contains(said) && ran.out().contains(said), "{}", ran.text());
    assert!(!ran.text().contains("1 of on_complete") && !ran.err().contains("branch a"), "{}", ran.text());
    let plans = std::fs::read_dir(user.state().join("plans")).unwrap();
    let id = plans.flatten().next().unwrap().file_name().into_string().unwrap();
    let status = user.run(&["status", &id, "--json"]).expect_code(0).json();
    assert_eq!(status["hooks"][0]["failed"], false);
    assert_eq!(status["hooks"][1]["ended"], serde_json::json!({"exit": 3}), "{status}");
    let pick = user.run(&["pick", &id, "a"]).expect_code(4);
    assert!(pick.err().contains("it is a workflow"), "{}", pick.text());
}

#[test]
fn hooks_find_the_loops_where_loop_home_says_and_a_failure_shows_the_command_and_its_error() {
    let user = project();
    let home = user.root().join("own-home");
    let user = user.with("LOOP_HOME", &home);
    user.program("loop", &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_loop")));
    user.write(
        "work/flow.yaml",
        "loops:\n  - {id: a, prompt: task A, promise: test -e never.txt, max_iterations: 1}\n\
         on_failure:\n  - \"loop rollback {{failed_loop}} initial > ../rolled.txt 2>&1; echo $? > ../code.txt\"\n  \
         - \"ls ../nowhere-{{failed_loop}}\"\n",
    );
    let ran = user.run(&run("flow.yaml", "cat > /dev/null; echo x > a.txt", &[])).expect_code(1);
    assert_eq!(user.read("code.txt"), "0\n", "{}\n{}", user.read("rolled.txt"), ran.text());
    let id = std::fs::read_dir(home.join("runs")).unwrap().flatten().next().unwrap().file_name();
    let path = format!("../nowhere-{}", id.to_string_lossy());
    let said = format!("2 of on_failure failed (exit 2): ls {path}: ls: ");
    assert!(ran.err().contains(&said), "{said}\n{}", ran.text());
    user.write(
        "work/flow.yaml",
        "loops:\n  - {id: a, prompt: task A, promise: test -e a.txt}\n\
         on_complete:\n  - \"env | grep ^LOOP_FAILED > ../failed.txt; true\"\n",
    );
    user.run(&run("flow.yaml", "cat > /dev/null; echo x > a.txt", &[])).expect_code(0);
    assert_eq!(user.read("failed.txt"), "", "nothing failed");
}

#[test]
fn a_file_with_a_mistake_is_refused_before_anything_is_made() {
    // req: D-12 partly: runs of workflow files
    let user = project();
    user.write("work/implement-feature.yaml", EXAMPLE);
    let ran = user.run(&run("implement-feature.yaml", AGENT, &[])).expect_code(4);
    assert!(ran.err().contains("implement-feature.yaml:5:18: the variable feature is not set"), "{}", ran.err());
    assert!(!user.state().join("plans").exists() && !user.state().join("runs").exists());
    user.program("npm", NPM);
    let set = ["--set", "feature=x", "--dry-run"];
    let dry = user.run(&run("implement-feature.yaml", AGENT, &set)).expect_code(0);
    assert!(dry.out().contains("nothing was started"), "{}", dry.out());
    assert_eq!(user.ids(), Vec::<String>::new());
}

//! Every command line that the program prints, or that README and guide show, is executed: it must be accepted.
//!
//! Lines are found by their form: a command stands behind a label or a hint, or in a block of a page. A line that a test
//! cannot execute is in `NOT_EXECUTED`, with its reason.
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use loop_testkit::{TestEnv, for_all};

use crate::{commands, user};

/// What ends a command inside a line.
const ENDS: [&str; 9] = ["   ", "; ", " · ", ", or ", ", then", " (", "`", ") ", ", and "];

/// The commands in a text that the program printed.
fn printed(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        // A sentence that names a loop by its id is no command.
        for (at, _) in line.match_indices("loop ") {
            let before = line[..at].trim_end();
            let is_labelled = before.is_empty() || before.ends_with(':') || before.ends_with("&&");
            let label = line.trim_start().split("  ").next().unwrap_or_default();
            let in_column =
                line.starts_with("  ") && line.trim_start().starts_with(label) && before == format!("  {label}");
            if !(is_labelled || in_column) || before.ends_with("&&") {
                continue;
            }
            let rest = &line[at..];
            let end = ENDS.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
            let command = rest[..end].trim_end_matches(['.', ')', '?', ':']).trim();
            let verb = command.split(' ').nth(1).unwrap_or_default();
            if VERBS.iter().any(|known| known == verb) {
                found.insert(command.to_owned());
            }
        }
    }
    found
}

/// Every command of the program, by its own help.
static VERBS: LazyLock<Vec<String>> = LazyLock::new(|| commands(&user()));

/// A line as a shell can run it: what a person fills in is filled in.
fn filled(line: &str) -> String {
    line.replace("'…'", "'a text'")
        .replace("\"…\"", "\"a text\"")
        .replace("start …", "start \"do it\" -p \"make test\"")
}

/// Executes a line as a person would, in the workspace.
fn execute(user: &TestEnv, line: &str) -> (i32, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_loop"));
    let folder = program.parent().unwrap().display().to_string();
    let mut command = Command::new("sh");
    user.apply_env(&mut command);
    let path = format!("{}:{folder}:/usr/bin:/bin", user.root().join("bin").display());
    let out = command.args(["-c", line]).env("PATH", path).output().unwrap();
    let text = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (out.status.code().unwrap_or(-1), text)
}

/// A project with a check that fails, and agents that change a file each time.
fn project() -> TestEnv {
    let user = user();
    user.write("work/Makefile", "test:\n\ttest -e done.txt\n");
    user.write("work/check.sh", "test -e done.txt\n");
    user.write("work/src/a.txt", "TODO\n");
    user.write("work/src/main.rs", "fn main() {}\n");
    user.write("work/docs/a.md", "# A\n");
    user.write("work/task.md", "do it\n");
    user.write("work/notes.md", "look at a.txt\n");
    user.write("work/strict.toml", "max_no_progress = 2\n");
    user.write("work/my-agent.sh", "echo x >> log\n");
    user.write("home/.gitconfig", "[user]\nname = Ann\nemail = ann@example.org\n");
    let mut git = Command::new("git");
    user.apply_env(&mut git);
    assert!(git.args(["init", "-q"]).status().unwrap().success());
    let agent = "[ \"$1\" = --version ] && { echo 1.0; exit 0; }\ncat > /dev/null; echo x >> log";
    ["claude", "codex", "gemini", "opencode", "npm"].iter().for_each(|name| user.program(name, agent));
    user
}

/// How a loop ends: the words of its start, and the exit code.
struct End {
    name: &'static str,
    words: &'static [&'static str],
    code: i32,
}

/// How a loop is ended from outside, while its agent works.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Signal(&'static str),
    Command(&'static [&'static str]),
}

/// Ends that a person, a signal or a lost process makes.
const ENDED_FROM_OUTSIDE: [(&str, Ending); 6] = [
    ("stopped now", Ending::Signal("TERM")),
    ("a closed terminal", Ending::Signal("HUP")),
    ("killed", Ending::Signal("KILL")),
    ("cancelled", Ending::Command(&["cancel"])),
    ("cancelled and rolled back", Ending::Command(&["cancel", "--rollback"])),
    ("stopped after the iteration", Ending::Command(&["stop"])),
];

/// A loop that was ended so, its id, and what it printed.
fn ended_from_outside(ending: Ending) -> (TestEnv, String, String) {
    let user = project();
    let waits = "echo x >> log; touch began; while [ ! -e go ]; do sleep 0.02; done";
    let running = user.begin(&["start", "do it", "-p", "make test", "--agent-cmd", waits, "-n", "2"]);
    user.wait_for_file("work/began");
    let id = user.id();
    match ending {
        Ending::Signal(name) => running.signal(name),
        Ending::Command(words) => {
            user.run(&[words, &[id.as_str()]].concat()).expect_code(0);
            user.write("work/go", "");
        }
    }
    let ran = running.end();
    (user, id, format!("{}{}", ran.out(), ran.err()))
}

fn check_outside_end((name, ending): &(&str, Ending)) -> (usize, Vec<String>) {
    let (first, id, mut text) = ended_from_outside(*ending);
    first.write("work/go", "");
    let looks: [&[&str]; 5] = [&["status", &id], &["history", &id], &[], &["list"], &["report", &id]];
    looks.iter().for_each(|words| text.push_str(&first.run(words).expect_code(0).out()));
    let lines: Vec<String> = printed(&text).iter().map(|line| line.replace(&id, "$ID")).collect();
    let wrong = lines.iter().filter_map(|line| {
        let (user, id, _) = ended_from_outside(*ending);
        user.write("work/go", "");
        let (code, said) = execute(&user, &filled(line).replace("$ID", &id));
        (![0, 1, 2].contains(&code)).then(|| format!("{name}: {line}: exit {code}\n{said}"))
    });
    (lines.len(), wrong.collect())
}

#[test]
fn every_line_that_a_loop_prints_that_was_ended_from_outside_is_accepted() {
    let checked = for_all(&ENDED_FROM_OUTSIDE, check_outside_end);
    let wrong: Vec<String> = checked.iter().flat_map(|(_, wrong)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let count: usize = checked.iter().map(|(count, _)| count).sum();
    assert!(count >= 12, "only {count} lines were found: the search is broken");
}

/// A situation in which a command is refused with a hint: the end of a loop, what is done to it, and the command.
struct Refused {
    end: &'static str,
    before: &'static [&'static [&'static str]],
    script: &'static str,
    words: &'static [&'static str],
}

const REFUSED: [Refused; 16] = [
    Refused { end: "verified", before: &[], script: "", words: &["accept", "$ID"] },
    Refused { end: "verified", before: &[], script: "", words: &["inject", "$ID", "a text"] },
    Refused { end: "verified", before: &[], script: "", words: &["set", "$ID", "max_iterations=3"] },
    Refused { end: "verified", before: &[], script: "", words: &["resume", "$ID"] },
    Refused { end: "verified", before: &[], script: "", words: &["pause", "$ID"] },
    Refused { end: "verified", before: &[], script: "", words: &["rollback", "$ID", "99"] },
    Refused { end: "verified", before: &[], script: "", words: &["history", "$ID", "--diff", "x"] },
    Refused { end: "verified", before: &[], script: "echo more >> done.txt", words: &["commit", "$ID"] },
    Refused { end: "verified", before: &[&["checkpoint", "$ID", "mine"]], script: "", words: &["rm", "$ID"] },
    Refused { end: "verified", before: &[&["checkpoint", "$ID", "a"]], script: "", words: &["checkpoint", "$ID", "a"] },
    Refused { end: "verified", before: &[], script: "", words: &["checkpoint", "rm", "$ID", "initial"] },
    Refused { end: "passed, but", before: &[], script: "", words: &["commit", "$ID"] },
    Refused { end: "passed, but", before: &[], script: "", words: &["proof", "$ID"] },
    Refused { end: "iterations", before: &[], script: "", words: &["commit", "$ID"] },
    Refused { end: "iterations", before: &[], script: "", words: &["proof", "$ID"] },
    Refused { end: "iterations", before: &[], script: "", words: &["status", "zzzz"] },
];

/// The situation, the id of the loop, and what the refused command said.
fn refused(case: &Refused) -> (TestEnv, String, String) {
    let end = ENDS_OF_LOOPS.iter().find(|end| end.name == case.end).unwrap();
    let (user, id, _) = ended(end);
    let with_id = |words: &[&str]| words.iter().map(|word| word.replace("$ID", &id)).collect::<Vec<_>>();
    case.before.iter().for_each(|words| drop(user.run(&with_id(words)).expect_code(0)));
    loop_testkit::must(&user.work(), if case.script.is_empty() { "true" } else { case.script });
    let said = user.run(&with_id(case.words));
    assert!(![Some(0), Some(1)].contains(&said.code), "{:?} is not refused: {}", case.words, said.text());
    let err = said.err();
    (user, id, err)
}

#[test]
fn every_line_in_the_hint_of_an_error_is_accepted_where_it_is_printed() {
    let check = |case: &Refused| {
        let (_, id, err) = refused(case);
        let hints: String =
            err.lines().filter_map(|line| Some(format!("{}\n", line.strip_prefix("hint: ")?))).collect();
        let lines: Vec<String> = printed(&hints).iter().map(|line| line.replace(&id, "$ID")).collect();
        let wrong = lines.iter().filter_map(|line| {
            let (user, id, _) = refused(case);
            let (code, said) = execute(&user, &filled(line).replace("$ID", &id));
            (![0, 1, 2].contains(&code)).then(|| format!("{:?}: {line}: exit {code}\n{said}", case.words))
        });
        (lines.len(), wrong.collect::<Vec<String>>())
    };
    let checked = for_all(&REFUSED, check);
    let wrong: Vec<String> = checked.iter().flat_map(|(_, wrong)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let count: usize = checked.iter().map(|(count, _)| count).sum();
    assert!(count >= 12, "only {count} lines were found: the search is broken");
}

const ADDS: &str = "echo x >> log";

const ENDS_OF_LOOPS: [End; 30] = [
    End { name: "verified", words: &["-p", "make test", "--agent-cmd", "touch done.txt"], code: 0 },
    End { name: "verified before", words: &["-p", "true", "--agent-cmd", "true"], code: 0 },
    End {
        name: "without checkpoints",
        words: &["-p", "make test", "--agent-cmd", "touch done.txt", "--checkpoint", "none"],
        code: 0,
    },
    End {
        name: "passed, but",
        words: &["-p", "make test", "--agent-cmd", "touch done.txt", "--strength", "require"],
        code: 1,
    },
    End { name: "claimed", words: &["--no-promise", "--agent-cmd", "echo '<promise>COMPLETE</promise>'"], code: 0 },
    End { name: "iterations", words: &["-p", "make test", "--agent-cmd", ADDS, "-n", "1"], code: 1 },
    End { name: "cannot be checked", words: &["-p", "./no-such-check", "--agent-cmd", ADDS, "-n", "1"], code: 1 },
    End { name: "time", words: &["-p", "make test", "--agent-cmd", "sleep 5", "--max-time", "1s"], code: 1 },
    End { name: "money", words: &["-p", "make test", "--agent-cmd", ADDS, "--max-cost", "2"], code: 1 },
    End { name: "tokens", words: &["-p", "make test", "--agent-cmd", ADDS, "--max-tokens", "500"], code: 1 },
    End { name: "calls", words: &["-p", "make test", "--agent-cmd", ADDS, "--max-calls-per-day", "1"], code: 1 },
    End { name: "no progress", words: &["-p", "make test", "--agent-cmd", "true"], code: 1 },
    End {
        name: "returns",
        words: &["-p", "make test", "--agent-cmd", "if [ -e a ]; then rm a; else touch a; fi"],
        code: 1,
    },
    End { name: "crashes", words: &["-p", "make test", "--agent-cmd", "exit 3"], code: 3 },
    End { name: "the host", words: &["-p", "make test", "--agent-cmd", LOSES_INITIAL], code: 3 },
    End { name: "unverifiable", words: &["-p", "./no-such-check", "--agent-cmd", ADDS], code: 3 },
    End {
        name: "tampered",
        words: &["-p", "make test", "--agent-cmd", "printf 'test:\\n\\ttrue\\n' > Makefile", "--on-tamper", "stop"],
        code: 1,
    },
    End {
        name: "asks",
        words: &["-p", "make test", "--agent-cmd", "echo 'Which colour should it be?'", "--on-question", "stop"],
        code: 3,
    },
    End { name: SIGN_IN, words: &["-p", "make test", "--agent", "claude"], code: 3 },
    End { name: BILLING, words: &["-p", "make test", "--agent", "claude"], code: 3 },
    End { name: "blocked", words: &["-p", "make test", "--agent-cmd", SAYS_BLOCKED, "--on-blocked", "stop"], code: 1 },
    End {
        name: "same error",
        words: &["-p", "make test", "--agent-cmd", "echo boom >&2; exit 3", "--max-same-error", "2"],
        code: 1,
    },
    End {
        name: "identical output",
        words: &["-p", "make test", "--agent-cmd", "echo x >> log; echo the same words", "--max-identical-output", "2"],
        code: 1,
    },
    End { name: MODEL, words: &["-p", "make test", "--agent", "claude"], code: 3 },
    End {
        name: PROVIDER,
        words: &["-p", "make test", "--agent", "claude", "--on-failure", "overload wait 1s 1"],
        code: 3,
    },
    End { name: TURNS, words: &["-p", "make test", "--agent", "claude", "--on-failure", "turn_limit stop"], code: 3 },
    End {
        name: "only tests",
        words: &[
            "-p",
            "make test",
            "--agent-cmd",
            "mkdir -p tests; echo \"$LOOP_ITERATION\" >> tests/test_a.py",
            "--max-test-only",
            "2",
        ],
        code: 1,
    },
    End {
        name: "shorter answers",
        words: &["-p", "make test", "--agent-cmd", EVER_SHORTER, "--max-no-progress", "9", "--output-decline", "50"],
        code: 1,
    },
    End { name: "no status", words: &["--no-promise", "--agent-cmd", ADDS, "--max-missing-status", "2"], code: 1 },
    End {
        name: "done without the signal",
        words: &["--no-promise", "--agent-cmd", SAYS_COMPLETE, "--max-done-claims", "2"],
        code: 1,
    },
];

/// Ends that the agent's own answer makes: it is a recording.
const SIGN_IN: &str = "sign-in";
const BILLING: &str = "billing";
const MODEL: &str = "no such model";
const PROVIDER: &str = "provider is overloaded";
const TURNS: &str = "turn limit";

/// A checkpoint is gone: the loop cannot judge any more.
const LOSES_INITIAL: &str =
    "echo x >> log; find \"$HOME/.local/state/loop/checkpoints\" -path '*refs*' -name initial -delete";

/// Ten thousand bytes, then a thousand, then a hundred.
const EVER_SHORTER: &str = "case $LOOP_ITERATION in 1) c=10000;; 2) c=1000;; *) c=100;; esac; \
                            head -c $c /dev/zero | tr '\\0' x";
const SAYS_COMPLETE: &str = "echo x >> log; printf -- '---LOOP_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: false\\n\
                             COMPLETION_INDICATORS: 1\\n---END_LOOP_STATUS---\\n'";

const SAYS_BLOCKED: &str = "printf -- '---LOOP_STATUS---\\nSTATUS: BLOCKED\\nEXIT_SIGNAL: false\\nSUMMARY: no network\\n\
                            ---END_LOOP_STATUS---\\n'";

/// An agent that cannot work, as it was recorded.
fn answer_as_recorded(user: &TestEnv, end: &End) {
    let recording = match end.name {
        SIGN_IN => "err-auth",
        BILLING => "v2.1.326-billing",
        MODEL => "err-model",
        PROVIDER => "err-overloaded",
        TURNS => "max-turns",
        _ => return,
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/transcripts/claude");
    let script = format!(
        "[ \"$1\" = --version ] && {{ echo '2.1.326 (Claude Code)'; exit 0; }}\n\
         cat > /dev/null; cat {folder}/{recording}.stdout; exit 1"
    );
    user.program("claude", &script);
}

fn ended(end: &End) -> (TestEnv, String, String) {
    let user = project();
    answer_as_recorded(&user, end);
    let words: Vec<&str> = ["start", "do it"].iter().chain(end.words).copied().collect();
    let ran = user.run(&words).expect_code(end.code);
    let id = user.id();
    (user, id, format!("{}{}", ran.out(), ran.err()))
}

/// Every line that one end leads to is accepted; a line that changes something gets a loop of its own.
fn check_end(end: &End) -> (usize, Vec<String>) {
    let (first, id, mut text) = ended(end);
    let looks: [&[&str]; 4] = [&["status", &id], &["history", &id], &[], &["list"]];
    looks.iter().for_each(|words| text.push_str(&first.run(words).expect_code(0).out()));
    let lines: Vec<String> = printed(&text).iter().map(|line| line.replace(&id, "$ID")).collect();
    let wrong = lines.iter().filter_map(|line| {
        let only_looks =
            ["history", "status", "list", "verify"].iter().any(|verb| line.starts_with(&format!("loop {verb}")));
        let (code, said) = if only_looks {
            execute(&first, &filled(line).replace("$ID", &id))
        } else {
            let (user, id, _) = ended(end);
            execute(&user, &filled(line).replace("$ID", &id))
        };
        (![0, 1, 2].contains(&code) && !may_fail_again(end, line, code))
            .then(|| format!("{}: {line}: exit {code}\n{said}", end.name))
    });
    (lines.len(), wrong.collect())
}

/// A loop that could not work cannot work either when nothing was fixed: the line is right, its exit code is 3.
fn may_fail_again(end: &End, line: &str, code: i32) -> bool {
    let could_not_work = end.code == 3 || end.name == "cannot be checked";
    could_not_work && code == 3 && line.contains("loop resume")
}

#[test]
fn every_line_about_a_loop_that_a_person_accepted_is_accepted() {
    let end = ENDS_OF_LOOPS.iter().find(|end| end.name == "passed, but").unwrap();
    let accepted = || {
        let (user, id, _) = ended(end);
        let said = user.run(&["accept", &id]).expect_code(0);
        (user, id, format!("{}{}", said.out(), said.err()))
    };
    let (first, id, mut text) = accepted();
    let looks: [&[&str]; 5] = [&["status", &id], &["history", &id], &[], &["list"], &["report", &id]];
    looks.iter().for_each(|words| text.push_str(&first.run(words).expect_code(0).out()));
    let lines: Vec<String> = printed(&text).iter().map(|line| line.replace(&id, "$ID")).collect();
    assert!(lines.len() >= 3, "{lines:?}");
    for line in lines {
        let (user, id, _) = accepted();
        let (code, said) = execute(&user, &filled(&line).replace("$ID", &id));
        assert!([0, 1, 2].contains(&code), "{line}: exit {code}\n{said}");
    }
}

#[test]
fn every_line_that_an_end_screen_a_status_or_a_list_prints_is_accepted() {
    // UR-A1, UR-A2, UR-A9
    let checked = for_all(&ENDS_OF_LOOPS, check_end);
    let wrong: Vec<String> = checked.iter().flat_map(|(_, wrong)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let count: usize = checked.iter().map(|(count, _)| count).sum();
    assert!(count > 60, "only {count} lines were found: the search is broken");
}

/// What somebody sees first: these need no loop.
const FIRST_SCREENS: [&[&str]; 4] = [&[], &["doctor"], &["agents"], &["demo"]];

/// The lines of a first screen, and why those of them are wrong that are not accepted.
fn check_first_screen(user: &TestEnv, words: &[&str]) -> (usize, Vec<String>) {
    let ran = user.run(words).expect_code(0);
    // A hint of the doctor stands behind an arrow.
    let text = format!("{}{}", ran.out(), ran.err()).replace("→ ", "");
    let id = (words == ["demo"]).then(|| user.id());
    let lines = printed(&text);
    let wrong = lines.iter().filter_map(|line| {
        let Some(id) = id.as_ref().filter(|id| line.contains(id.as_str())) else {
            let line = line.replace("the command that shows it is done", "make test").replace("NAME", "claude");
            return check_line(&line);
        };
        let (code, said) = execute(user, &filled(line));
        (![0, 1, 2].contains(&code)).then(|| format!("{words:?}: {line}: exit {code} for {id}\n{said}"))
    });
    (lines.len(), wrong.collect())
}

#[test]
fn every_line_that_the_first_screens_print_is_accepted() {
    // With agents on the PATH, and without one.
    let users = [project(), user()];
    let screens: Vec<(&TestEnv, &[&str])> =
        users.iter().flat_map(|user| FIRST_SCREENS.iter().map(move |words| (user, *words))).collect();
    let checked: Vec<_> = screens.iter().map(|(user, words)| check_first_screen(user, words)).collect();
    let wrong: Vec<String> = checked.iter().flat_map(|(_, wrong)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for ((count, _), (_, words)) in checked.iter().zip(&screens) {
        assert!(*count > 0, "no line of {words:?} was found: the search is broken");
    }
}

/// Lines of pages that are not executed, and why. A line is named by its beginning.
const NOT_EXECUTED: [(&str, &str); 13] = [
    ("loop inject PLAN", "needs branches at work; plan_faces.rs executes it"),
    ("loop workflow run implement-feature.yaml", "needs the file of the page; workflow_run.rs executes it"),
    ("loop workflow resume", "needs a workflow that changed; workflow_plans.rs executes it"),
    ("loop demo", "takes seconds; newcomer.rs executes it"),
    ("loop start \"fix the bug\" --promise \"make test\" --agent claude --container", "needs a container engine"),
    ("loop start \"fix the bug\" --promise \"make test\" --agent claude --image", "needs a container engine"),
    ("loop start \"build the shop\" --profile container", "needs a container engine"),
    ("loop proof 936p --sign", "needs a key for signing; proof.rs executes it"),
    ("loop verify ../loop-proof.json --allowed-signers-rev", "needs a signed proof; proof.rs executes it"),
    ("loop verify --note --allowed-signers-rev", "needs a signed proof; proof.rs executes it"),
    ("loop init", "asks on a terminal; init.rs executes it"),
    ("loop status --watch", "needs a terminal"),
    ("loop reset --project shop", "needs the container profile's names; worker.rs executes it"),
];

const PAGES: [&str; 34] = [
    "README.md",
    "docs/guide/README.md",
    "docs/guide/after-a-crash.md",
    "docs/guide/agents.md",
    "docs/guide/alerts.md",
    "docs/guide/autonomous.md",
    "docs/guide/best-of.md",
    "docs/guide/container-profile.md",
    "docs/guide/containers.md",
    "docs/guide/first-loop.md",
    "docs/guide/going-back.md",
    "docs/guide/handing-over.md",
    "docs/guide/hidden-gates.md",
    "docs/guide/importing.md",
    "docs/guide/limits-and-stopping.md",
    "docs/guide/looking-back.md",
    "docs/guide/loopr.md",
    "docs/guide/overnight.md",
    "docs/guide/promises.md",
    "docs/guide/proof.md",
    "docs/guide/protecting.md",
    "docs/guide/replay.md",
    "docs/guide/settings.md",
    "docs/guide/several-agents.md",
    "docs/guide/strength.md",
    "docs/guide/surroundings.md",
    "docs/guide/templates.md",
    "docs/guide/troubleshooting.md",
    "docs/guide/usage-and-limits.md",
    "docs/guide/what-loop-proves.md",
    "docs/guide/what-the-agent-is-told.md",
    "docs/guide/when-a-loop-stops.md",
    "docs/guide/when-stuck.md",
    "docs/guide/workflows.md",
];

/// The commands in the blocks of a page, without remarks.
fn of_page(page: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let text = std::fs::read_to_string(root.join(page)).unwrap().replace("\\\n", " ");
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside && (line.starts_with("loop ") || line.starts_with("$ loop ")) {
            let line = line.trim_start_matches("$ ");
            let line = line.split(" # ").next().unwrap_or_default();
            // A remark stands behind several blanks; words of the command behind one.
            let command = line.split("   ").next().unwrap_or_default().trim();
            found.push(command.to_owned());
        }
    }
    found
}

/// The loops that pages talk about, by the ids that they use.
const IDS: [&str; 6] = ["936p", "gy3q", "4kq1", "k3f9", " ID", " LOOP"];

/// A loop that fits the line, and its id.
fn loop_for(line: &str, user: &TestEnv) -> String {
    let three = "echo $LOOP_ITERATION >> log; [ $LOOP_ITERATION -lt 3 ] || touch done.txt";
    let words: &[&str] = if line.contains("accept") {
        &["-p", "make test", "--agent-cmd", three, "--strength", "require"]
    } else if line.starts_with("loop verify")
        || line.starts_with("loop commit")
        || line.starts_with("loop proof")
        || line.starts_with("loop rm")
    {
        &["-p", "make test", "--agent-cmd", three]
    } else if line.starts_with("loop reset") {
        &["-p", "make test", "--agent-cmd", "true"]
    } else {
        &["-p", "make test", "--agent-cmd", ADDS, "-n", "4"]
    };
    drop(user.run(&[&["start", "do it"], words].concat()));
    let id = user.id();
    if line.ends_with(" undo") {
        user.run(&["rollback", &id, "initial"]).expect_code(0);
    }
    if line.contains("--strike") {
        ["one", "two"].iter().for_each(|note| drop(user.run(&["inject", &id, "--note", note]).expect_code(0)));
    }
    if line.starts_with("loop checkpoint rm") {
        user.run(&["checkpoint", &id, "before-refactor"]).expect_code(0);
    }
    id
}

/// A plan that fits the line, and its id.
fn plan_for(line: &str, user: &TestEnv) -> String {
    let words: &[&str] = if line.contains("--anyway") {
        &["--agent-cmd", ADDS, "-n", "1"]
    } else if line.contains("pick") {
        &["--agent-cmd", "touch done.txt", "--best-of-manual"]
    } else if line.contains("resume") {
        &["--agent-cmd", ADDS, "-n", "4", "--max-cost", "2", "--worst-cost", "1"]
    } else {
        &["--agent-cmd", "touch done.txt"]
    };
    let quick = ["--best-of", "2", "--judge", "workspace", "--strength", "off"];
    drop(user.run(&[&["start", "do it", "-p", "make test"], &quick[..], words].concat()));
    let plans = std::fs::read_dir(user.state().join("plans")).unwrap().flatten();
    let names = plans.map(|entry| entry.file_name().into_string().unwrap());
    let id = names.into_iter().find(|name| !name.starts_with('.')).unwrap();
    if line.ends_with(" undo") {
        user.run(&["rollback", &id, "initial"]).expect_code(0);
    }
    id
}

/// Whether a line without an id is about the newest loop of the folder.
fn takes_the_newest(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    let of_one = [
        "resume", "watch", "history", "diff", "rollback", "accept", "inject", "set", "pause", "cancel", "stop",
        "reset", "prompt",
    ];
    let is_checkpoint = words.get(1) == Some(&"checkpoint") && words.get(2) != Some(&"gc");
    let is_alone = matches!(words[..], ["loop", "verify" | "proof"]);
    words.contains(&"@") || is_checkpoint || is_alone || words.get(1).is_some_and(|verb| of_one.contains(verb))
}

/// Why a line of a page is not accepted; none where it is.
fn check_line(line: &str) -> Option<String> {
    let user = project();
    let mut command = filled(line);
    let named = IDS.iter().find(|id| line.contains(**id)).copied();
    if line.split(' ').any(|word| word == "PLAN") {
        command = command.replace("PLAN", &plan_for(line, &user));
        if line == "loop pick PLAN" {
            // Alone it asks on a terminal; plan_faces.rs executes that.
            command.push_str(" 1");
        }
    } else if let Some(named) = named.or_else(|| takes_the_newest(line).then_some("no id")) {
        user.run(&["config", "set", "strength", "off"]).expect_code(0);
        let id = loop_for(line, &user);
        command = command.replace(named.trim_start(), &id);
        // These are for a loop that is working: what is not running says so, with exit 4.
        let at_work =
            ["loop pause", "loop stop", "loop cancel", "loop watch"].iter().any(|verb| line.starts_with(verb));
        if at_work {
            return check_at_work(line, named);
        }
    }
    if line.starts_with("loop import") {
        user.write("work/.ralph/PROMPT.md", "do it\n");
        user.write("work/tdd.yaml", "name: tdd\nloops:\n  - id: a\n    prompt: do it\n    promise: make test\n");
        user.write("home/.config/daedalos/loop/config.yaml", "max_concurrent_loops: 2\n");
        user.write("home/project/a.txt", "a\n");
    }
    if line.contains("--approve") {
        user.write("work/.loop.toml", "promise = \"make test\"\n");
    }
    if line.starts_with("loop start") {
        command.push_str(" -n 1 -q");
        command = command.replace(" -n unlimited", "").replace(" -- ", " -n 1 -q -- ");
        if line.contains(" -- ") {
            command.truncate(command.len() - " -n 1 -q".len());
        }
    }
    let (code, said) = execute(&user, &command);
    (![0, 1, 2].contains(&code)).then(|| format!("{line}: exit {code}\n  ran: {command}\n{said}"))
}

/// The same while the loop works.
fn check_at_work(line: &str, named: &str) -> Option<String> {
    let user = project();
    let waits = "touch began; while [ ! -e go ]; do sleep 0.02; done";
    let running = user.begin(&["start", "do it", "-p", "make test", "--agent-cmd", waits, "-n", "1"]);
    user.wait_for_file("work/began");
    let id = user.id();
    if line.contains("--follow") {
        user.write("work/go", "");
    }
    let (code, said) = execute(&user, &line.replace(named, &id));
    user.write("work/go", "");
    drop(user.run(&["cancel", &id]));
    drop(running.end());
    (![0, 1, 2].contains(&code)).then(|| format!("{line}: exit {code}\n{said}"))
}

#[test]
fn every_command_block_of_readme_and_guide_is_accepted() {
    let all: BTreeSet<String> = PAGES.iter().flat_map(|page| of_page(page)).collect();
    let excused = |line: &String| NOT_EXECUTED.iter().any(|(begin, _)| line.starts_with(begin));
    let lines: Vec<String> = all.iter().filter(|line| !excused(line)).cloned().collect();
    let wrong: Vec<String> = for_all(&lines, |line| check_line(line)).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(lines.len() > 70, "only {} lines were found: the search is broken", lines.len());
    for (begin, why) in NOT_EXECUTED {
        assert!(!why.is_empty());
        assert!(
            begin == "loop status --watch" || all.iter().any(|line| line.starts_with(begin)),
            "nothing begins so: {begin}"
        );
    }
}

#[test]
fn every_example_of_the_help_is_accepted() {
    let user = project();
    let commands = VERBS.iter().map(|verb| vec![verb.as_str(), "--help"]).chain([vec!["--help"]]);
    let mut all = BTreeSet::new();
    for words in commands {
        let text = user.run(&words).expect_code(0).out();
        let examples = text.split("Examples:").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
        let lines = examples.lines().map(str::trim).filter(|line| line.starts_with("loop "));
        all.extend(lines.map(|line| line.split("   ").next().unwrap_or_default().replace("a1b2", "936p")));
    }
    let excused = |line: &String| NOT_EXECUTED.iter().any(|(begin, _)| line.starts_with(begin));
    let lines: Vec<String> = all.into_iter().filter(|line| !excused(line)).collect();
    let wrong: Vec<String> = for_all(&lines, |line| check_line(line)).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(lines.len() >= 5, "{lines:?}");
}

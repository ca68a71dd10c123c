//! No flag of `loop start` is ignored in silence with `--best-of`: each is applied, or refused with a reason.
use std::collections::BTreeSet;
use std::fs;

use loop_testkit::TestEnv;
use serde_json::Value;

use crate::user;

/// Flags that every start below has.
const BASE: [&str; 9] = [
    "--promise",
    "test -s answer",
    "--agent-cmd",
    "echo good > answer",
    "--judge",
    "workspace",
    "--strength",
    "off",
    "--best-of",
];

/// Refused: what is typed, and a word of the reason.
const REFUSED: [(&[&str], &str); 16] = [
    (&["--checkpoint", "none"], "--checkpoint none"),
    (&["--container", "c"], "container"),
    (&["--image", "i"], "container"),
    (&["--result", "r.json"], "--result"),
    (&["--commit"], "--commit"),
    (&["--commit-message", "x"], "--commit-message"),
    (&["--commit-hooks"], "--commit-hooks"),
    (&["--with-own-edits"], "--with-own-edits"),
    (&["--reset-circuit"], "--reset-circuit"),
    (&["--agent-model", "m"], "--agent-model"),
    (&["--no-promise"], "--no-promise"),
    (&["--first", "--on-red"], "--on-red"),
    (&["--on-red", "--parallel", "2"], "--parallel"),
    (&["--parallel", "0"], "--parallel"),
    (&["--best-of-metric", " "], "--best-of-metric"),
    (&["--prompt-file", "p.md"], "--prompt-file"),
];

/// Applied by each branch, in a start that cannot pass.
const RED: [&str; 1] = ["--red"];

/// Applied by each branch, in one start.
const ONE: [&str; 108] = [
    "--delay",
    "1s",
    "--setup",
    "true",
    "--setup-timeout",
    "62s",
    "--gate-timeout",
    "61s",
    "--completion-threshold",
    "3",
    "--completion-promise",
    "ALL DONE",
    "--keep",
    "best",
    "--timeout",
    "62s",
    "--idle-timeout",
    "63s",
    "--max-time",
    "64m",
    "--max-iterations-warning",
    "1",
    "--identical-output-window",
    "4",
    "--agent-args",
    "--x",
    "--agent-env",
    "AA=b",
    "--session-expiry",
    "5h",
    "--append-system-prompt",
    "hello",
    "--on-question",
    "stop",
    "--on-blocked",
    "stop",
    "--containment",
    "auto",
    "--protect",
    "p/**",
    "--allow",
    "a/**",
    "--on-tamper",
    "stop",
    "--max-no-progress",
    "7",
    "--max-same-error",
    "8",
    "--max-oscillation",
    "9",
    "--max-identical-output",
    "6",
    "--max-test-only",
    "5",
    "--output-decline",
    "60",
    "--max-missing-status",
    "4",
    "--max-done-claims",
    "6",
    "--max-calls-per-hour",
    "77",
    "--max-calls-per-day",
    "99",
    "--max-cost-per-day",
    "19",
    "--max-tokens",
    "1000000",
    "--max-tokens-per-day",
    "2000000",
    "--worst-cost",
    "1",
    "--worst-tokens",
    "1000",
    "--checkpoint-skip",
    "s/**",
    "--checkpoint-file-max",
    "5MiB",
    "--checkpoint-retention",
    "8d",
    "--checkpoint-retention-main",
    "40d",
    "--checkpoint-bytes",
    "4GiB",
    "--on-interrupt",
    "rollback",
    "--project",
    "pp",
    "--agent-name",
    "nn",
    "--keep-bytes",
    "6GiB",
    "--max-iterations",
    "2",
    "--strict-completion",
    "--work-first",
    "--protect-tests",
    "--require-tests-kept",
    "--decline-alone",
    "--checkpoint-ignored",
    "--auto-confirm",
    "--rate-line",
    "--allow-any-workspace",
    "--skip-permissions",
    "--agent-network",
    "--approve",
    "--template",
    "bugfix",
];

/// Applied by each branch, in another start: names of the container profile, and what does not go with the above.
const OTHER: [&str; 54] = [
    "--max-loops",
    "3",
    "--stagnation-threshold",
    "4",
    "--timeout-minutes",
    "5",
    "--calls-per-hour",
    "50",
    "--session-expiration-hours",
    "5",
    "--same-error-threshold",
    "4",
    "--output-decline-threshold",
    "50",
    "--max-consecutive-test-loops",
    "4",
    "--safety-completion-threshold",
    "4",
    "--loop-delay-seconds",
    "1",
    "--gate",
    "g=true",
    "--judge-home",
    "/tmp",
    "--on-regression",
    "keep",
    "--breaker",
    "off",
    "--test-only-by",
    "claimed",
    "--breaker-reset",
    "manual",
    "--permissions",
    "all",
    "--secrets",
    "AAA",
    "--session",
    "continue",
    "--status-block",
    "none",
    "--on-failure",
    "auth stop",
    "--container-socket",
    "/x",
    "--min-iteration-duration",
    "0s",
    "--notification-cmd",
    "true",
    "--prices",
    "x input=1 output=2",
    "--profile",
    "loopr",
    "--accept",
    "weaker-tests",
];

/// Of the command or of the plan as a whole: shown by other stories, or below.
const OF_THE_PLAN: [&str; 19] = [
    "--quiet",
    "--workspace",
    "--verbose",
    "--dry-run",
    "--json",
    "--help",
    "--best-of",
    "--best-of-metric",
    "--best-of-manual",
    "--first",
    "--on-red",
    "--prune",
    "--parallel",
    "--max-cost",
    "--inject",
    "--agent",
    "--notify",
    "--stop-file",
    "--clear-stop",
];

/// Settings of autonomous work: applied by each branch, in a third start.
const AUTONOMOUS: [&str; 66] = [
    "--agents",
    "custom",
    "--branch-budget",
    "4",
    "--branch-count",
    "2",
    "--branch-exploration",
    "--leash",
    "0.5",
    "--max-summary-tokens",
    "900",
    "--prompt-form",
    "history",
    "--raw-window-size",
    "4",
    "--summarize-every",
    "6",
    "--text-writer",
    "loop",
    "--alert-every",
    "7",
    "--alerts",
    "--alerts-log",
    ".harness/other.log",
    "--check-env-vars",
    "--cli-default",
    "custom",
    "--complex-words",
    "design",
    "--enable-inbox",
    "--harness-log",
    "--implementation-words",
    "write",
    "--inbox-path",
    ".harness/in",
    "--ladder",
    "fresh:1, human",
    "--mode",
    "turbo",
    "--models",
    "custom m $ 100k",
    "--opus-daily-limit",
    "9",
    "--pause-on-critical",
    "--prefer-cheap",
    "--priority",
    "cost",
    "--progress-by",
    "score",
    "--progress-threshold",
    "0.2",
    "--prompt-mutations",
    "2",
    "--recover",
    "--recovery-budget",
    "8",
    "--research-words",
    "find",
    "--router",
    "fixed",
    "--state-db",
    "--stuck-after",
    "4",
    "--watch-ignore",
    "*.tmp",
    "--watch-workspace",
];

/// Flags that stand for several settings, or for a file of them: each branch has these settings.
const OF_SEVERAL: [&str; 3] = ["--autonomous", "--conservative", "--config"];

/// Settings of an item of a list: a start of one loop or of branches has no item. `--roadmap` is refused beside
/// `--best-of`, and `--keep-going` wants it.
const OF_LISTS: [&str; 9] = [
    "--roadmap",
    "--keep-going",
    "--check",
    "--ci-command",
    "--item-loops",
    "--item-retries",
    "--item-time",
    "--item-tokens",
    "--strict-scope",
];

fn start(more: &[&str]) -> Vec<String> {
    [&["start", "do it"][..], &BASE, &["2"], more].concat().iter().map(ToString::to_string).collect()
}

fn flags_in(words: &[&str]) -> BTreeSet<String> {
    words.iter().filter(|word| word.starts_with("--") && **word != "--x").map(ToString::to_string).collect()
}

/// Every long flag that the help lists.
fn flags_of_help(user: &TestEnv) -> BTreeSet<String> {
    let help = user.run(&["start", "--help"]).expect_code(0).out();
    let is_flag = |line: &&str| line.trim_start().starts_with('-');
    let of_line = |line: &str| {
        let word = line.split_whitespace().find(|word| word.starts_with("--"))?;
        let name = word.split(['=', ',', '[', '.', ';', ')']).next()?;
        Some(name.to_owned())
    };
    help.lines().filter(is_flag).filter_map(of_line).filter(|name| name.len() > 2).collect()
}

#[test]
fn every_flag_of_a_start_is_in_one_of_these_lists() {
    // req: D-16 partly: no flag is ignored in silence
    let user = user();
    let mut known = flags_in(&BASE);
    known.extend(REFUSED.iter().flat_map(|(words, _)| flags_in(words)));
    known.extend(flags_in(&ONE));
    known.extend(flags_in(&OTHER));
    known.extend(flags_in(&RED));
    known.extend(flags_in(&OF_THE_PLAN));
    known.extend(flags_in(&AUTONOMOUS));
    known.extend(flags_in(&OF_SEVERAL));
    known.extend(flags_in(&OF_LISTS));
    let unknown: Vec<String> = flags_of_help(&user).difference(&known).cloned().collect();
    assert_eq!(unknown, Vec::<String>::new(), "say what a plan does with these");
}

#[test]
fn what_a_plan_cannot_follow_is_refused_with_a_reason_and_nothing_is_made() {
    // req: D-16 partly: no flag is ignored in silence
    let user = user();
    for (words, reason) in REFUSED {
        let ran = user.run(&start(words)).expect_code(4);
        assert!(ran.err().contains(reason), "{words:?}: {}", ran.text());
        assert!(ran.err().contains("because: ") || ran.err().contains("hint: "), "{words:?}: {}", ran.text());
        assert_eq!(fs::read_dir(user.state().join("plans")).map_or(0, Iterator::count), 0, "{words:?}");
    }
}

#[test]
fn every_other_flag_is_a_setting_of_each_branch() {
    // req: D-16 partly: no flag is ignored in silence
    // Where a red test run is wanted, a promise without tests does not pass.
    for (words, code) in [(&ONE[..], 0), (&OTHER, 0), (&RED, 1), (&AUTONOMOUS, 0)] {
        let user = user();
        drop(user.run(&start(words)).expect_code(code));
        for (run, settings) in settings_of_branches(&user) {
            let typed: BTreeSet<String> = settings
                .values()
                .filter_map(|setting| setting["origin"]["place"].as_str().map(str::to_owned))
                .collect();
            let missing: Vec<String> = flags_in(words).difference(&typed).cloned().collect();
            assert_eq!(missing, Vec::<String>::new(), "of loop {run}");
        }
    }
}

/// The two branches of the only plan, each with its settings.
fn settings_of_branches(user: &TestEnv) -> Vec<(String, serde_json::Map<String, Value>)> {
    let runs = user.ids();
    assert_eq!(runs.len(), 2);
    let settings = |run: String| {
        let status = user.run(&["status", &run, "--json"]).expect_code(0).json();
        (run, status["loops"][0]["settings"].as_object().cloned().unwrap_or_default())
    };
    runs.into_iter().map(settings).collect()
}

#[test]
fn each_branch_has_the_settings_that_a_mode_or_a_file_stands_for() {
    // req: D-16 partly: no flag is ignored in silence
    let config = ["--config", "../own.toml"];
    let autonomous = ["--autonomous", "--agent", "custom"];
    for (words, key, value, place) in [
        (&autonomous[..], "alert_every", "10", "--autonomous"),
        (&["--conservative"], "alert_every", "5", "--conservative"),
        (&config, "stuck_after", "6", "own.toml"),
    ] {
        let user = user();
        user.write("own.toml", "stuck_after = 6\n");
        drop(user.run(&start(words)).expect_code(0));
        for (run, settings) in settings_of_branches(&user) {
            let held = &settings[key];
            assert_eq!(held["value"], value, "{words:?} of loop {run}");
            let origin = held["origin"]["place"].as_str().unwrap_or_default();
            assert!(origin.contains(place), "{words:?} of loop {run}: {origin}");
        }
    }
}

#[test]
fn a_budget_and_a_text_hold_for_the_plan() {
    // req: D-16 partly: no flag is ignored in silence
    let user = user();
    user.write("note.md", "look at the header\n");
    let agent = "cat > prompt.txt; echo good > answer";
    let words =
        ["start", "do it", "--promise", "test -s answer", "--agent-cmd", agent, "-n", "1", "--judge", "workspace"];
    let more = ["--strength", "off", "--max-cost", "20", "--inject", "../note.md", "--best-of", "2"];
    drop(user.run(&[&words[..], &more[..]].concat()).expect_code(0));
    let list = user.run(&["list", "--json"]).expect_code(0).json();
    assert_eq!(list["plans"][0]["budget_micros"], Value::from(20_000_000), "{list}");
    assert!(user.read("work/prompt.txt").contains("look at the header"));
}

//! Stories of one item of a list: when a loop of it passes, what a retry changes, and which rule ends it.
use std::collections::BTreeSet;

use loop_core::list::{Criterion, Item};
use loop_core::machine::consult;
use loop_core::policy::item::{
    AgentEnd, ArtifactFault, ArtifactKind, ArtifactOnDisk, CriterionEvidence, ItemArtifact, ItemBudget, ItemEnd,
    ItemEvaluation, ItemFailure, ItemNext, ItemRetry, ItemSensor, ItemTries, ItemVerdict, LoopEvidence, MissingSensor,
    RetryChange, SensorReading, SensorState, evaluate, is_in_item_scope, next_of_item, outside_item_scope,
    paths_in_notes,
};
use loop_core::view::{
    ItemEscalation, ItemLogEntry, ItemPass, ItemPrompt, RADIUS_LINES, item_diagnostics, item_escalation_line,
    item_last_error, item_log_line, item_log_radius, item_notes, item_progress_entry, item_prompt,
};

/// The loop began then, its checks a minute later, and the artifacts were looked at after another one.
const BEGAN: u64 = 1_790_000_000_000;
const CHECKS: u64 = BEGAN + 60_000;
const SEEN: u64 = BEGAN + 120_000;

fn file(path: &str, kind: ArtifactKind, modified_ms: u64) -> ItemArtifact {
    let now = ArtifactOnDisk::File { modified_ms, bytes: 10 };
    ItemArtifact { path: path.to_owned(), kind, now, same_bytes: false, referenced: true }
}

fn named(path: &str) -> ItemArtifact {
    file(path, ArtifactKind::Named, BEGAN + 30_000)
}

fn reading(sensor: ItemSensor, state: SensorState) -> SensorReading {
    let exit_code = match state {
        SensorState::Green => Some(0),
        SensorState::Red => Some(1),
        SensorState::TimedOut | SensorState::CannotRun(_) | SensorState::NotApproved => None,
    };
    let output = Some(file("loop/check.txt", ArtifactKind::CheckOutput, CHECKS + 1));
    SensorReading {
        sensor,
        command: "make test".to_owned(),
        state,
        exit_code,
        output_end: "3 failed".to_owned(),
        output,
    }
}

fn criterion(id: &str) -> CriterionEvidence {
    CriterionEvidence { id: id.to_owned(), text: format!("{id} holds"), check: None, artifacts: Vec::new() }
}

/// An honest loop: everything is as it should be.
fn honest() -> LoopEvidence {
    LoopEvidence {
        item: "US-001".to_owned(),
        number: 1,
        began_ms: BEGAN,
        checks_began_ms: CHECKS,
        seen_ms: SEEN,
        agent: AgentEnd::Ended,
        check: Some(reading(ItemSensor::Check, SensorState::Green)),
        confirmations: vec![reading(ItemSensor::PreCommit, SensorState::Green)],
        missing: Vec::new(),
        diff: Some(file("loop/diff.patch", ArtifactKind::Diff, CHECKS + 1)),
        criteria: vec![
            criterion("1"),
            CriterionEvidence { artifacts: vec![named("out/report.txt")], ..criterion("2") },
            CriterionEvidence { check: Some(reading(ItemSensor::Check, SensorState::Green)), ..criterion("3") },
        ],
        changed: vec!["src/a.rs".to_owned()],
        scope: vec!["src/**".to_owned()],
        strict_scope: true,
        sensor_files_changed: Vec::new(),
        undone: Vec::new(),
        notes_name_missing: Vec::new(),
    }
}

fn evaluated(of: &LoopEvidence) -> ItemEvaluation {
    consult(|deciding| evaluate(of, deciding))
}

fn verdict(change: impl FnOnce(&mut LoopEvidence)) -> ItemVerdict {
    let mut of = honest();
    change(&mut of);
    evaluated(&of).verdict
}

fn with_artifact(change: impl FnOnce(&mut ItemArtifact)) -> ItemVerdict {
    verdict(|of| change(&mut of.criteria[1].artifacts[0]))
}

const MISSING: ItemVerdict = ItemVerdict::Fail(ItemFailure::ArtifactMissing);

/// So often a type of failure comes in a row, from nothing.
fn next_after(failures: &[ItemFailure]) -> ItemNext {
    played(failures, &ItemBudget::default()).0
}

/// Plays failures one after the other as long as the rules go on. Gives the last decision, the counts and all retries.
fn played(failures: &[ItemFailure], budget: &ItemBudget) -> (ItemNext, ItemTries, Vec<ItemRetry>) {
    let (mut tries, mut retries) = (ItemTries::default(), Vec::new());
    let mut next = None;
    let mut is_check_only = false;
    for failure in failures {
        let evaluation = failed(*failure);
        // A restart in between: only what is recorded is left.
        let stored = serde_json::to_string(&tries).unwrap();
        tries = serde_json::from_str(&stored).unwrap();
        tries = tries.after(&evaluation, is_check_only);
        let decided = consult(|deciding| next_of_item(&evaluation, &tries, budget, deciding));
        match &decided {
            ItemNext::Retry(retry) => {
                is_check_only = retry.change == RetryChange::CheckAgain;
                retries.push(retry.clone());
            }
            ItemNext::End(_) => return (decided, tries, retries),
        }
        next = Some(decided);
    }
    (next.unwrap(), tries, retries)
}

fn failed(failure: ItemFailure) -> ItemEvaluation {
    let mut of = honest();
    match failure {
        ItemFailure::CheckFailed => of.check = Some(reading(ItemSensor::Check, SensorState::Red)),
        ItemFailure::HookFailed => of.confirmations = vec![reading(ItemSensor::Ci, SensorState::Red)],
        ItemFailure::ArtifactMissing => of.criteria[1].artifacts[0].now = ArtifactOnDisk::Absent,
        ItemFailure::ScopeLeft => of.changed.push("other.rs".to_owned()),
        ItemFailure::AgentFailed => {
            of.agent = AgentEnd::Failed("exit 1".to_owned());
            of.check = Some(reading(ItemSensor::Check, SensorState::Red));
        }
        ItemFailure::Timeout => of.check = Some(reading(ItemSensor::Check, SensorState::TimedOut)),
    }
    let evaluation = evaluated(&of);
    assert_eq!(evaluation.verdict, ItemVerdict::Fail(failure));
    evaluation
}

// req: P-04
// req: P-03
#[test]
fn a_loop_passes_where_every_sensor_is_green_and_every_criterion_has_a_new_artifact() {
    let evaluation = evaluated(&honest());
    assert_eq!(evaluation.verdict, ItemVerdict::Pass);
    assert_eq!(evaluation.failure, None);
    let own: Vec<bool> = evaluation.proofs.iter().map(|proof| proof.is_own).collect();
    assert_eq!(own, [false, true, true]);
    assert!(evaluation.proofs.iter().all(|proof| !proof.artifacts.is_empty()));
}

// req: P-04
#[test]
fn each_way_to_fail_has_its_own_type() {
    for failure in ItemFailure::ALL {
        let evaluation = failed(failure);
        let vector = evaluation.failure.unwrap();
        assert!(vector.verdict.contains(failure.words()), "{vector:?}");
        assert!(!vector.reasons.is_empty());
    }
}

// req: P-04
#[test]
fn an_agent_that_ended_in_an_error_passes_where_the_checks_do() {
    let of = LoopEvidence { agent: AgentEnd::Failed("exit 1".to_owned()), ..honest() };
    let evaluation = evaluated(&of);
    assert_eq!(evaluation.verdict, ItemVerdict::Pass);
    assert_eq!(evaluation.flags, ["the agent ended in an error: exit 1"]);
}

// req: P-13
#[test]
fn a_configured_sensor_that_cannot_be_read_is_missing_and_never_green() {
    let cannot = || SensorState::CannotRun("exit 127".to_owned());
    let missing = |found: ItemVerdict| match found {
        ItemVerdict::SensorMissing(missing) => missing.sensor,
        ItemVerdict::Pass | ItemVerdict::Fail(_) => panic!("{found:?}"),
    };
    for sensor in [ItemSensor::PreCommit, ItemSensor::Ci] {
        for state in [cannot(), SensorState::NotApproved] {
            assert_eq!(missing(verdict(|of| of.confirmations = vec![reading(sensor, state)])), sensor);
        }
    }
    assert_eq!(missing(verdict(|of| of.check = None)), ItemSensor::Check);
    assert_eq!(missing(verdict(|of| of.check = Some(reading(ItemSensor::Check, cannot())))), ItemSensor::Check);
    assert_eq!(
        missing(verdict(|of| of.criteria[2].check = Some(reading(ItemSensor::Check, cannot())))),
        ItemSensor::Check
    );
    assert_eq!(missing(verdict(|of| of.diff = None)), ItemSensor::Git);
    let log = MissingSensor { sensor: ItemSensor::Log, why: "no room on the disk".to_owned() };
    assert_eq!(missing(verdict(|of| of.missing = vec![log])), ItemSensor::Log);
}

// req: P-13
#[test]
fn without_pre_commit_and_ci_nothing_is_missing() {
    assert_eq!(verdict(|of| of.confirmations.clear()), ItemVerdict::Pass);
}

/// One lie of an agent: what it does, and what the harness then measures.
struct Lie {
    what: &'static str,
    measured: ItemVerdict,
}

/// Lies that the pure rules decide. What is undone before the checks run (ticks, edited logs) comes as a flag.
fn lies() -> Vec<Lie> {
    [artifact_lies(), check_lies(), other_lies()].into_iter().flatten().collect()
}

fn artifact_lies() -> Vec<Lie> {
    let lie = |what, measured| Lie { what, measured };
    let at = |modified_ms| ArtifactOnDisk::File { modified_ms, bytes: 10 };
    vec![
        lie("an artifact from before the loop", with_artifact(|it| it.now = at(BEGAN - 1))),
        lie("an artifact of the very start", with_artifact(|it| it.now = at(BEGAN))),
        lie("an artifact of last year", with_artifact(|it| it.now = at(BEGAN - 31_536_000_000))),
        lie("an artifact with the time zero", with_artifact(|it| it.now = at(0))),
        lie("an artifact of tomorrow", with_artifact(|it| it.now = at(SEEN + 86_400_000))),
        lie("an artifact of the end of time", with_artifact(|it| it.now = at(u64::MAX))),
        lie("an old artifact that was only touched", with_artifact(|it| it.same_bytes = true)),
        lie("a link as artifact", with_artifact(|it| it.now = ArtifactOnDisk::Link)),
        lie("a folder as artifact", with_artifact(|it| it.now = ArtifactOnDisk::NotAFile)),
        lie("an artifact outside of the workspace", with_artifact(|it| it.now = ArtifactOnDisk::Outside)),
        lie("an artifact that cannot be read", with_artifact(|it| it.now = ArtifactOnDisk::Unreadable("no".into()))),
        lie("an empty artifact", with_artifact(|it| it.now = ArtifactOnDisk::File { modified_ms: CHECKS, bytes: 0 })),
        lie("an artifact that does not exist", with_artifact(|it| it.now = ArtifactOnDisk::Absent)),
        lie("an artifact that neither log nor notes name", with_artifact(|it| it.referenced = false)),
        lie(
            "one of two artifacts is missing",
            verdict(|of| {
                let mut other = named("out/second.txt");
                other.now = ArtifactOnDisk::Absent;
                of.criteria[1].artifacts.push(other);
            }),
        ),
        lie(
            "notes that name files which do not exist, and nothing else",
            verdict(|of| {
                of.notes_name_missing = vec!["out/report.txt".to_owned()];
                of.criteria[1].artifacts[0].now = ArtifactOnDisk::Absent;
            }),
        ),
    ]
}

fn check_lies() -> Vec<Lie> {
    let lie = |what, measured| Lie { what, measured };
    let at = |modified_ms| ArtifactOnDisk::File { modified_ms, bytes: 10 };
    let red = |sensor| reading(sensor, SensorState::Red);
    vec![
        lie(
            "nothing is changed, and the check was green before",
            verdict(|of| {
                of.changed.clear();
                of.diff.as_mut().unwrap().now = ArtifactOnDisk::File { modified_ms: CHECKS + 1, bytes: 0 };
            }),
        ),
        lie("the diff of an earlier loop", verdict(|of| of.diff.as_mut().unwrap().now = at(BEGAN - 5_000))),
        lie("the diff is a link", verdict(|of| of.diff.as_mut().unwrap().now = ArtifactOnDisk::Link)),
        lie(
            "the check output is of an earlier loop",
            verdict(|of| {
                of.check.as_mut().unwrap().output.as_mut().unwrap().now = at(BEGAN - 5_000);
            }),
        ),
        lie("the check output is not there", verdict(|of| of.check.as_mut().unwrap().output = None)),
        lie(
            "the output of a criterion is not there",
            verdict(|of| of.criteria[2].check.as_mut().unwrap().output = None),
        ),
        lie("it says done, and the check is red", verdict(|of| of.check = Some(red(ItemSensor::Check)))),
        lie(
            "it says done, and the criterion's command is red",
            verdict(|of| {
                of.criteria[2].check = Some(red(ItemSensor::Check));
            }),
        ),
        lie("it says done, and pre-commit is red", verdict(|of| of.confirmations = vec![red(ItemSensor::PreCommit)])),
        lie("it says done, and CI is red", verdict(|of| of.confirmations.push(red(ItemSensor::Ci)))),
        lie(
            "the check hangs until it is ended",
            verdict(|of| {
                of.check = Some(reading(ItemSensor::Check, SensorState::TimedOut));
            }),
        ),
        lie(
            "the check is weakened",
            verdict(|of| {
                of.sensor_files_changed = vec!["scripts/ralph/loop.sh".to_owned()];
            }),
        ),
        lie(
            "the check is removed",
            verdict(|of| {
                of.check = Some(reading(ItemSensor::Check, SensorState::CannotRun("exit 127".to_owned())));
            }),
        ),
        lie("the check is unknown", verdict(|of| of.check = None)),
    ]
}

fn other_lies() -> Vec<Lie> {
    let lie = |what, measured| Lie { what, measured };
    let at = |modified_ms| ArtifactOnDisk::File { modified_ms, bytes: 10 };
    let red = |sensor| reading(sensor, SensorState::Red);
    let undone = |of: &mut LoopEvidence, what: &str| {
        of.undone.push(what.to_owned());
        of.check = Some(reading(ItemSensor::Check, SensorState::Red));
    };
    let own_log = |of: &mut LoopEvidence, path: &str| of.criteria[1].artifacts[0].path = path.to_owned();
    vec![
        lie(
            "pre-commit is replaced by a file that no person approved",
            verdict(|of| {
                of.confirmations = vec![reading(ItemSensor::PreCommit, SensorState::NotApproved)];
            }),
        ),
        lie("the repository is removed, so no diff is found", verdict(|of| of.diff = None)),
        lie(
            "the log is made unwritable",
            verdict(|of| {
                of.missing = vec![MissingSensor { sensor: ItemSensor::Log, why: "denied".to_owned() }];
            }),
        ),
        lie("it ticks its own box", verdict(|of| undone(of, "prd.json: passes of US-001"))),
        lie("it deletes its item", verdict(|of| undone(of, "prd.json: item US-001"))),
        lie("it writes PASS into the log", verdict(|of| undone(of, "loop/log.txt"))),
        lie("it writes into the progress", verdict(|of| undone(of, "progress.txt"))),
        lie("it works on another item's files", verdict(|of| of.changed.push("web/other.ts".to_owned()))),
        lie("it leaves the scope by a path with dots", verdict(|of| of.changed.push("src/../web/other.ts".to_owned()))),
        lie(
            "it names the log itself as its old artifact",
            verdict(|of| {
                own_log(of, "loop/log.txt");
                of.criteria[1].artifacts[0].now = at(BEGAN - 1);
            }),
        ),
        lie(
            "it crashes with a red check",
            verdict(|of| {
                of.agent = AgentEnd::Failed("exit 9".to_owned());
                of.check = Some(red(ItemSensor::Check));
            }),
        ),
    ]
}

// req: P-04
// req: P-12 partly: the rules; that edits are undone is shown by the program
#[test]
fn no_lie_of_an_agent_passes() {
    let lies = lies();
    let names: BTreeSet<&str> = lies.iter().map(|lie| lie.what).collect();
    assert!(names.len() >= 40, "{} lies", names.len());
    let believed: Vec<&str> = lies.iter().filter(|lie| lie.measured == ItemVerdict::Pass).map(|lie| lie.what).collect();
    assert_eq!(believed, [""; 0]);
}

// req: P-04
#[test]
fn an_artifact_that_does_not_count_is_named_with_its_fault() {
    let mut of = honest();
    of.criteria[1].artifacts[0].now = ArtifactOnDisk::File { modified_ms: BEGAN - 1, bytes: 3 };
    let evaluation = evaluated(&of);
    assert_eq!(evaluation.verdict, MISSING);
    let failure = evaluation.failure.unwrap();
    assert_eq!(failure.missing[0].fault, ArtifactFault::Old);
    assert_eq!(failure.reasons, ["out/report.txt is older than the loop (criterion 2)"]);
}

// req: P-04
#[test]
fn a_report_that_the_check_writes_again_with_the_same_bytes_counts() {
    let again = with_artifact(|it| {
        it.same_bytes = true;
        it.now = ArtifactOnDisk::File { modified_ms: CHECKS + 5, bytes: 10 };
    });
    assert_eq!(again, ItemVerdict::Pass);
}

// req: P-09
#[test]
fn a_change_outside_of_the_scope_is_flagged_and_fails_only_where_that_is_strict() {
    let mut of = honest();
    of.changed.push("docs/guide.md".to_owned());
    assert_eq!(evaluated(&of).verdict, ItemVerdict::Fail(ItemFailure::ScopeLeft));
    of.strict_scope = false;
    let lax = evaluated(&of);
    assert_eq!(lax.verdict, ItemVerdict::Pass);
    assert_eq!(lax.outside, ["docs/guide.md"]);
    assert_eq!(lax.flags, ["changed files outside of the item's scope: docs/guide.md"]);
    of.scope.clear();
    assert_eq!(evaluated(&of).flags, [""; 0]);
}

// req: P-09
#[test]
fn a_glob_of_a_scope_names_files_or_a_folder_with_all_in_it() {
    let fits = |path: &str, glob: &str| is_in_item_scope(path, &[glob.to_owned()]);
    for (path, glob) in [
        ("src/a.rs", "src"),
        ("src/a/b.rs", "src/"),
        ("src/a/b.rs", "src/**"),
        ("src/a.rs", "./src/*.rs"),
        ("docs/x/guide.md", "*.md"),
        ("src/b.rs", "src/{a,b}.rs"),
        ("a/b/c.rs", "{a,x}/{b,y}/*.rs"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("anything/at/all", "**"),
    ] {
        assert!(fits(path, glob), "{path} {glob}");
    }
    for (path, glob) in [
        ("src/c.rs", "src/{a,b}.rs"),
        ("srcs/a.rs", "src"),
        ("src/a/b.rs", "src/*.rs"),
        ("web/src/a.rs", "/src"),
        ("src/../web/a.rs", "src/**"),
        ("/etc/passwd", "**"),
        ("src", "src/"),
        ("src/a.rs", ""),
    ] {
        assert!(!fits(path, glob), "{path} {glob}");
    }
    assert_eq!(outside_item_scope(&["a".to_owned()], &[]), [""; 0]);
}

// req: P-05
#[test]
fn each_retry_of_a_type_changes_another_thing_and_says_which_in_the_prompt() {
    for failure in ItemFailure::ALL {
        let (_, _, retries) = played(&[failure; 2], &ItemBudget::default());
        assert_eq!(retries.len(), 2, "{failure:?}");
        assert_ne!(retries[0].change, retries[1].change);
        assert_eq!([retries[0].number, retries[1].number], [1, 2]);
        for retry in &retries {
            assert!(!retry.sentence.is_empty());
            let words = retry.change.words();
            assert!(words.starts_with("narrower: ") || words.starts_with("one variable: "), "{words}");
            let prompt = ItemPrompt {
                item: &Item::default(),
                number: 2,
                loops_max: 3,
                log: "",
                last_error: None,
                retry: Some(retry),
            };
            assert!(item_prompt(&prompt).contains(&retry.sentence));
        }
    }
}

// req: P-06
// req: P-14
#[test]
fn a_third_failure_of_one_type_ends_the_item_and_says_so() {
    for failure in ItemFailure::ALL {
        let (next, tries, _) = played(&[failure; 9], &ItemBudget::default());
        assert_eq!(next, ItemNext::End(ItemEnd::RetriesUsed { failure, times: 3 }));
        let loops = if failure == ItemFailure::HookFailed { 2 } else { 3 };
        assert_eq!(tries.loops, loops, "{failure:?}: running the checks again is a retry, not a loop");
    }
    let end = ItemEnd::RetriesUsed { failure: ItemFailure::CheckFailed, times: 3 };
    assert_eq!(end.words(), "retry budget used: check failed 3 times (2 retries)");
}

// req: P-06
// req: P-14
#[test]
fn failures_of_several_types_share_three_loops() {
    use ItemFailure::{ArtifactMissing, CheckFailed, ScopeLeft};
    let (next, tries, retries) =
        played(&[CheckFailed, ScopeLeft, ArtifactMissing, CheckFailed], &ItemBudget::default());
    assert_eq!(next, ItemNext::End(ItemEnd::LoopsUsed { loops: 3 }));
    assert_eq!((tries.loops, retries.len()), (3, 2));
    assert_eq!(ItemEnd::LoopsUsed { loops: 3 }.words(), "loop budget used: 3 loops of this item");
}

// req: P-06
#[test]
fn all_budgets_of_an_item_can_be_set() {
    let budget = ItemBudget { loops: 5, retries: 4, time_ms: None, tokens: None };
    let (next, tries, _) = played(&[ItemFailure::CheckFailed; 9], &budget);
    assert_eq!(next, ItemNext::End(ItemEnd::RetriesUsed { failure: ItemFailure::CheckFailed, times: 5 }));
    assert_eq!(tries.loops, 5);
    let none = ItemBudget { loops: 1, retries: 0, ..ItemBudget::default() };
    assert_eq!(
        played(&[ItemFailure::Timeout], &none).0,
        ItemNext::End(ItemEnd::RetriesUsed { failure: ItemFailure::Timeout, times: 1 })
    );
    let evaluation = failed(ItemFailure::CheckFailed);
    let used = ItemTries::default().after(&evaluation, false).with_use(60_000, 5_000);
    let end = |budget: ItemBudget| consult(|deciding| next_of_item(&evaluation, &used, &budget, deciding));
    assert_eq!(end(ItemBudget { time_ms: Some(60_000), ..ItemBudget::default() }), ItemNext::End(ItemEnd::TimeUsed));
    assert_eq!(end(ItemBudget { tokens: Some(5_000), ..ItemBudget::default() }), ItemNext::End(ItemEnd::TokensUsed));
    let more = ItemBudget { tokens: Some(5_001), time_ms: Some(60_001), ..ItemBudget::default() };
    assert!(matches!(end(more), ItemNext::Retry(_)));
}

// req: P-14
#[test]
fn a_pass_ends_the_item_whatever_is_left_of_its_budget() {
    let evaluation = evaluated(&honest());
    let tries = ItemTries { loops: 3, ..ItemTries::default() }.after(&evaluation, true);
    let next = consult(|deciding| next_of_item(&evaluation, &tries, &ItemBudget::default(), deciding));
    assert_eq!(next, ItemNext::End(ItemEnd::Passed));
    assert!(!ItemEnd::Passed.is_escalation());
}

// req: P-07
#[test]
fn a_missing_sensor_ends_the_item_at_once_and_the_diagnostics_say_what_is_missing() {
    let mut of = honest();
    of.check = None;
    let evaluation = evaluated(&of);
    let tries = ItemTries::default().after(&evaluation, false);
    let next = consult(|deciding| next_of_item(&evaluation, &tries, &ItemBudget::default(), deciding));
    let ItemNext::End(end) = next else { panic!("{next:?}") };
    assert!(end.is_escalation());
    let item = item();
    let last = evaluation.failure.as_ref();
    let diagnostics = item_diagnostics(&ItemEscalation { item: &item, end: &end, tries: &tries, retries: &[], last });
    assert!(diagnostics.contains("ended by: sensor missing: check command"), "{diagnostics}");
    assert!(diagnostics.contains("missing:\n  check command: no check command is known"), "{diagnostics}");
}

// req: P-07
#[test]
fn the_diagnostics_of_a_used_budget_have_what_was_tried_the_failures_and_the_last_error() {
    let (next, tries, retries) = played(&[ItemFailure::ArtifactMissing; 3], &ItemBudget::default());
    let ItemNext::End(end) = next else { panic!("{next:?}") };
    let last = failed(ItemFailure::ArtifactMissing).failure;
    let item = item();
    let escalation = ItemEscalation { item: &item, end: &end, tries: &tries, retries: &retries, last: last.as_ref() };
    let diagnostics = item_diagnostics(&escalation);
    for part in [
        "ended by: retry budget used: artifact missing 3 times (2 retries)",
        "loops: 3",
        "retry 1 after artifact missing: narrower: only the missing artifacts",
        "artifact missing 3 times",
        "last error:\n  out/report.txt does not exist",
    ] {
        assert!(diagnostics.contains(part), "{part}: {diagnostics}");
    }
    assert_eq!(item_escalation_line(&escalation, BEGAN).lines().count(), 1);
}

fn item() -> Item {
    Item {
        id: "US-001".to_owned(),
        title: "Sign in\u{1b}[31m".to_owned(),
        criteria: vec![Criterion { id: "1".to_owned(), text: "A test passes".to_owned(), ..Criterion::default() }],
        ..Item::default()
    }
}

// req: P-08
#[test]
fn each_outcome_is_one_line_of_the_log_whatever_the_texts_are() {
    let evaluation = failed(ItemFailure::CheckFailed);
    let entry = ItemLogEntry {
        wall_ms: BEGAN,
        item: "US 001\nverdict=\"PASS\"",
        number: 2,
        command: "make \"test\"\nverdict=PASS \u{1b}[2J",
        exit_code: Some(1),
        evaluation: &evaluation,
        artifacts: &["loop/diff.patch".to_owned()],
        retry: None,
        end: None,
    };
    let line = item_log_line(&entry);
    assert_eq!(line.matches('\n').count(), 1);
    assert!(line.ends_with('\n') && !line.contains('\u{1b}'), "{line:?}");
    assert!(line.contains("loop=2 verdict=\"FAIL (check failed)\""), "{line}");
    assert!(line.contains("exit=1") && line.contains("artifacts=\"loop/diff.patch\""), "{line}");
    assert!(!line.contains(" verdict=\"PASS\""), "{line}");
}

// req: P-02 partly: the radius
#[test]
fn the_agent_gets_the_last_fifty_lines_of_the_log() {
    let log: String = (1..=200).map(|number| format!("line {number}\n")).collect();
    let radius = item_log_radius(&log);
    let lines: Vec<&str> = radius.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[49]), (RADIUS_LINES, "line 151", "line 200"));
    let long = item_log_radius(&"x".repeat(1_000_000));
    assert!(long.len() < 4_096, "{}", long.len());
}

// req: P-04
#[test]
fn the_last_error_has_the_whole_failure_vector() {
    let mut of = honest();
    of.number = 2;
    of.check = Some(reading(ItemSensor::Check, SensorState::Red));
    of.criteria[1].artifacts[0].now = ArtifactOnDisk::Absent;
    let text = item_last_error(&evaluated(&of).failure.unwrap(), BEGAN);
    for part in [
        "item: US-001\n",
        "loop: 2\n",
        "verdict: FAIL (check failed)\n",
        "command: make test\n",
        "exit code: 1\n",
        "missing artifacts:\n  out/report.txt does not exist (criterion 2)\n",
        "end of output:\n3 failed\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

// req: P-08
// req: P-09
#[test]
fn the_notes_of_an_item_without_a_scope_name_all_changed_files() {
    let (evaluation, item) = (evaluated(&honest()), item());
    let changed = ["src/a.rs".to_owned(), "b\u{1b}c.rs".to_owned()];
    let pass = ItemPass {
        wall_ms: BEGAN,
        item: &item,
        loops: 1,
        evaluation: &evaluation,
        changed: &changed,
        proposed: Some("all is\nfine \u{1b}[31m"),
    };
    let notes = item_notes(&pass);
    assert!(notes.contains("Changed files (no scope is declared): src/a.rs, b\\x1bc.rs."), "{notes}");
    assert!(notes.contains("Proof: loop/diff.patch, loop/check.txt, out/report.txt."), "{notes}");
    assert!(notes.contains("No check of their own: criteria 1."), "{notes}");
    assert!(notes.ends_with("The agent says: all is fine"), "{notes}");
    let progress = item_progress_entry(&pass);
    assert!(progress.contains("US-001: Sign in\npassed in 1 loop\n"), "{progress}");
    assert!(!progress.contains('\u{1b}') && !notes.contains('\u{1b}'));
}

// req: P-05
#[test]
fn a_retry_with_a_shorter_prompt_leaves_the_log_out_and_the_other_prompts_have_it() {
    let prompt = |change| {
        let sentence = "Changed.".to_owned();
        let retry = ItemRetry { failure: ItemFailure::AgentFailed, number: 1, change, only: Vec::new(), sentence };
        let item = item();
        let prompt = ItemPrompt {
            item: &item,
            number: 2,
            loops_max: 3,
            log: "an old line",
            last_error: Some("exit code: 1"),
            retry: Some(&retry),
        };
        item_prompt(&prompt)
    };
    assert!(prompt(RetryChange::FreshSession).contains("an old line"));
    let short = prompt(RetryChange::ShorterPrompt);
    assert!(!short.contains("an old line") && short.contains("exit code: 1") && short.contains("1: A test passes"));
}

#[test]
fn what_looks_like_a_path_in_notes_is_found_and_prose_is_not() {
    let notes = "Added `src/a.rs` and tests/it/b.py (see https://x.org/a.html), e.g. README.md. Done and/or v1.2.";
    assert_eq!(paths_in_notes(notes), ["src/a.rs", "tests/it/b.py", "README.md"]);
}

#[test]
fn an_evaluation_is_small_however_much_was_found() {
    let mut of = honest();
    of.changed = (0..10_000).map(|number| format!("{number}/{}", "x".repeat(300))).collect();
    of.notes_name_missing = of.changed.clone();
    of.check =
        Some(SensorReading { output_end: "y".repeat(1_000_000), ..reading(ItemSensor::Check, SensorState::Red) });
    of.criteria[1].artifacts =
        (0..500).map(|number| ItemArtifact { now: ArtifactOnDisk::Absent, ..named(&number.to_string()) }).collect();
    let stored = serde_json::to_string(&evaluated(&of)).unwrap();
    assert!(stored.len() < 24 * 1024, "{}", stored.len());
    assert!(matches!(next_after(&[ItemFailure::CheckFailed]), ItemNext::Retry(_)));
}

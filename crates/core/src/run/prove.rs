//! Decisions about a pass: whether it is judged again in a clean copy, which probes are tried, what speaks against it.
use super::fact::{GatePoint, Order, PromptNote};
use super::gates::Gate;
use super::judge_report::{JudgePlace, JudgedGate, JudgedTree};
use super::judgement::{CleanJudgement, CleanResult, ProofJudgement};
use super::outcome::{Proof, ProofGate, ProofJudge};
use super::proving::JudgedCopy;
use super::state::RunState;
use crate::machine::Deciding;
use crate::policy::gate::Verdict;
use crate::policy::promise_warning::{PromiseFlaw, promise_warnings};
use crate::policy::proof::{
    self, Finding, FindingKind, FindingWeight, Noticed, ProofResult, RedBefore, StrengthReport, probe_budget_ms,
};
use crate::policy::protect::{Opportunity, OpportunityKind, is_runner_file};
use crate::settings::{JudgeChoice, StrengthChoice};
use crate::text::NameList;

/// What is ordered next before the run may end as verified; nothing where everything is known.
pub(super) fn next_order(state: &RunState, deciding: &Deciding) -> Option<Order> {
    let point = state.phase.point()?;
    if state.proving.certified(point).is_some() {
        return None;
    }
    Some(match next_tree(state, point, deciding) {
        Some(tree) => Order::Judge { point, tree },
        None => Order::Certify { point },
    })
}

/// Which copy is judged next.
fn next_tree(state: &RunState, point: GatePoint, deciding: &Deciding) -> Option<JudgedTree> {
    let gate = &state.settings.read(deciding).values.gate;
    let wanted = gate.judge == JudgeChoice::Auto && state.has_checkpoints();
    if !wanted || state.proving.workspace_only().is_some() || has_evidence(&cheap_findings(state)) {
        return None;
    }
    let Some(clean) = clean_copy(state, point) else { return Some(JudgedTree::Final) };
    let copy = |is: fn(JudgedTree) -> bool| state.proving.copy(point, is);
    match &clean.result {
        CleanResult::Disagrees { .. } => {
            copy(|tree| tree == JudgedTree::Initial).is_none().then_some(JudgedTree::Initial)
        }
        CleanResult::Passes => {
            let probes = gate.strength != StrengthChoice::Off && state.iteration > 0;
            if !probes || state.out_of_time(deciding) {
                return None;
            }
            let canary = copy(|tree| tree == JudgedTree::Canary);
            let undone = copy(|tree| tree == JudgedTree::Undone);
            let Some(canary) = canary else { return Some(JudgedTree::Canary) };
            let Some(undone) = undone else {
                // Gates that do not notice a failing test do not notice anything.
                return (canary.result != CleanResult::Passes).then_some(JudgedTree::Undone);
            };
            if undone.result == CleanResult::Passes && red_before(state) == RedBefore::Assertion {
                return None;
            }
            let used = canary.duration_ms.saturating_add(undone.duration_ms);
            let budget_ms = probe_budget_ms(clean.duration_ms, deciding).saturating_sub(used);
            let hunks = copy(|tree| matches!(tree, JudgedTree::Hunks { .. }));
            (hunks.is_none() && budget_ms > 0).then_some(JudgedTree::Hunks { budget_ms })
        }
        CleanResult::NotDone { .. } | CleanResult::WorkspaceOnly { .. } => None,
    }
}

/// What a clean copy of the judged tree showed, now or earlier in this run.
fn clean_copy(state: &RunState, point: GatePoint) -> Option<&JudgedCopy> {
    let now = state.proving.copy(point, |tree| tree == JudgedTree::Final);
    now.or_else(|| state.proving.clean(state.checkpoints.tree()?))
}

/// What the gates said on a copy, as a decision.
pub(super) fn copy(state: &RunState, _: &Deciding) -> CleanJudgement {
    let Some(unjudged) = state.proving.unjudged() else {
        let why = "nothing was reported".to_owned();
        return CleanJudgement { tree: JudgedTree::Final, result: CleanResult::NotDone { why } };
    };
    let (tree, report) = (unjudged.tree, &unjudged.report);
    let result = match (&report.not_done, tree) {
        (Some(why), JudgedTree::Final) => CleanResult::WorkspaceOnly { why: why.clone() },
        (Some(why), _) => CleanResult::NotDone { why: why.clone() },
        (None, JudgedTree::Final) if report.place == JudgePlace::WorkspaceOpened => CleanResult::WorkspaceOnly {
            why: "the gates opened files of the workspace although they ran in a copy".to_owned(),
        },
        (None, JudgedTree::Initial) => initial(state, &report.gates),
        (None, _) => verdict_on(state, &report.gates),
    };
    // Before any iteration the tree is the initial one: nothing else is there to compare with.
    let result = match (result, tree) {
        (CleanResult::Disagrees { what }, JudgedTree::Final) if state.iteration == 0 => {
            let why = format!("the gates pass in the workspace and not in a clean copy: {what}");
            CleanResult::WorkspaceOnly { why }
        }
        (result, _) => result,
    };
    CleanJudgement { tree, result }
}

fn verdict_on(state: &RunState, gates: &[JudgedGate]) -> CleanResult {
    let required = |judged: &&JudgedGate| state.gates.get(judged.gate).is_some_and(Gate::is_required);
    let failed = gates.iter().filter(required).find(|judged| judged.verdict != Verdict::Pass);
    match failed {
        None => CleanResult::Passes,
        Some(judged) => CleanResult::Disagrees { what: said(state, judged) },
    }
}

fn said(state: &RunState, judged: &JudgedGate) -> String {
    let name = state.gates.get(judged.gate).map(|gate| gate.spec().name.clone()).unwrap_or_default();
    let line = judged.report.excerpt.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    format!("{name} ({}): {}", judged.report.ended.brief(), crate::text::one_line(line, 200))
}

/// Whether a clean copy of the initial tree says what the workspace said before iteration 1.
fn initial(state: &RunState, gates: &[JudgedGate]) -> CleanResult {
    let differs = gates.iter().find(|judged| {
        let first = state.gates.get(judged.gate).and_then(Gate::first_round);
        first.is_none_or(|first| !first.is_like(judged.verdict, &judged.report))
    });
    match differs {
        None => CleanResult::Passes,
        Some(judged) => CleanResult::WorkspaceOnly {
            why: format!(
                "a clean copy of the initial state says something else than the workspace did: {}",
                said(state, judged)
            ),
        },
    }
}

/// How the gates failed before iteration 1.
fn red_before(state: &RunState) -> RedBefore {
    let mut found = RedBefore::No;
    for gate in state.gates.required() {
        let Some(first) = gate.first_round().filter(|first| first.verdict != Verdict::Pass) else { continue };
        let here = match (&first.tests, gate.last().and_then(|last| last.report.tests.as_ref())) {
            (Some(tests), _) if tests.failed > 0 && tests.could_count => RedBefore::Assertion,
            (Some(_), _) | (None, Some(_)) => RedBefore::NoTests,
            (None, None) => RedBefore::Failed,
        };
        found = match (found, here) {
            (RedBefore::Assertion, _) | (_, RedBefore::Assertion) => RedBefore::Assertion,
            (RedBefore::NoTests, _) | (_, RedBefore::NoTests) => RedBefore::NoTests,
            _ => here,
        };
    }
    found
}

/// Whether the tests behind a pass are as strong as at the start, and what follows.
pub(super) fn proof(state: &RunState, deciding: &Deciding) -> ProofJudgement {
    let settings = state.settings.read(deciding);
    let point = state.phase.point().unwrap_or(GatePoint::Baseline);
    let strength = strength(state, point);
    let mut findings = cheap_findings(state);
    findings.extend(copy_findings(state, point, &strength));
    findings.extend(swapped_programs(state));
    findings.extend(opportunities(state));
    findings.extend(deceiving_promises(state));
    let weaker = weaker(state);
    if settings.values.guard.require_tests_kept && !weaker_in(state, true).is_empty() {
        findings.push(finding(FindingKind::WeakerTests, format!("the tests are weaker: {}", weaker.join("; "))));
    }
    if settings.values.gate.strength == StrengthChoice::Require && !strength.is_shown(deciding) {
        let text = format!("--strength require, and it is not shown: {}", strength.text());
        findings.push(finding(FindingKind::Strength, text));
    }
    let probes =
        settings.values.gate.strength != StrengthChoice::Off && settings.values.gate.judge == JudgeChoice::Auto;
    let accepted = &settings.values.gate.accept;
    // Whoever wants only the workspace to decide also counts work in files that no checkpoint holds.
    let clean_passes = clean_copy(state, point).is_some_and(|copy| copy.result == CleanResult::Passes);
    let by_choice = settings.values.gate.judge == JudgeChoice::Workspace;
    let is_named = |finding: &Finding| {
        let opportunity = finding.kind.weight() == FindingWeight::Opportunity;
        let cleared = opportunity && (is_cleared(finding.kind, &strength) || !probes);
        // Something outside of the workspace decides, or luck: a clean copy has the same answer.
        let same_tree = (by_choice || clean_passes) && finding.kind == FindingKind::SameTree;
        cleared || same_tree || accepted.iter().any(|word| word == finding.kind.word())
    };
    let (named, findings): (Vec<Finding>, Vec<Finding>) = findings.into_iter().partition(is_named);
    let worked = state.iteration > 0;
    let result = proof::result(&findings, state.proving.refused(), worked, deciding);
    let note = (result == ProofResult::Refused)
        .then(|| PromptNote::NotProven { findings: findings.iter().map(|finding| finding.text.clone()).collect() });
    let strength = (worked && strength != StrengthReport::default()).then_some(Box::new(strength));
    ProofJudgement { weaker, findings, named, strength, result, note }
}

fn finding(kind: FindingKind, text: String) -> Finding {
    Finding { kind, text }
}

fn has_evidence(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.kind.weight() == FindingWeight::Evidence)
}

/// Whether a probe shows that nothing came of an opportunity.
fn is_cleared(kind: FindingKind, strength: &StrengthReport) -> bool {
    match kind {
        FindingKind::DeceivingPromise => true,
        FindingKind::ChangedTests => strength.undo == Noticed::Yes,
        FindingKind::RunnerConfig | FindingKind::Manifest | FindingKind::TestsNotShown | FindingKind::SelectiveGate => {
            strength.canary == Noticed::Yes
        }
        FindingKind::RenamedTests
        | FindingKind::FailingTests
        | FindingKind::CleanCopy
        | FindingKind::SameTree
        | FindingKind::Canary
        | FindingKind::Undo
        | FindingKind::SwappedProgram
        | FindingKind::WeakerTests
        | FindingKind::Strength => false,
    }
}

/// What the outputs of the gates themselves show.
fn cheap_findings(state: &RunState) -> Vec<Finding> {
    let mut all = Vec::new();
    for gate in state.gates.required() {
        let (Some(last), name) = (gate.last(), &gate.spec().name) else { continue };
        if gate.spec().trust_exit {
            continue;
        }
        let most = gate.earlier_tests().most;
        let Some(now) = last.report.tests.as_deref() else {
            if most > 0 {
                let text = format!("{name}: it ran {most} tests before, and shows none now");
                all.push(finding(FindingKind::TestsNotShown, text));
            }
            continue;
        };
        if now.failed > 0 {
            let text = format!("{name}: {} fail although it exits with 0", tests(now.failed));
            all.push(finding(FindingKind::FailingTests, text));
        }
        if gate.is_selective() {
            let text = format!("{name}: it does not run the same tests each time; whether tests are gone is not known");
            all.push(finding(FindingKind::SelectiveGate, text));
        } else if !now.missing.is_nothing() {
            all.push(finding(FindingKind::RenamedTests, lost(name, &now.missing)));
        } else if now.ran() < most && !now.by_suites {
            let text = format!("{name}: {} ran before, {} now", tests(most), now.ran());
            all.push(finding(FindingKind::RenamedTests, text));
        }
    }
    all
}

fn lost(gate: &str, missing: &NameList) -> String {
    format!("{gate}: tests are gone, renamed or skipped: {}", missing.words())
}

fn tests(count: u32) -> String {
    if count == 1 { "1 test".to_owned() } else { format!("{count} tests") }
}

/// What clean copies and probes show.
fn copy_findings(state: &RunState, point: GatePoint, strength: &StrengthReport) -> Vec<Finding> {
    let mut all = Vec::new();
    let clean = clean_copy(state, point).map(|copy| &copy.result);
    let cannot = state.proving.workspace_only().is_some();
    match clean {
        Some(CleanResult::Disagrees { what }) if !cannot => {
            let text = format!("the gates pass in the workspace, but not in a clean copy of the same files: {what}");
            all.push(finding(FindingKind::CleanCopy, text));
        }
        Some(_) | None => all.extend(same_tree(state)),
    }
    if strength.canary == Noticed::No {
        let text = "a failing test was added to a copy, and the gates still pass".to_owned();
        all.push(finding(FindingKind::Canary, text));
    }
    if strength.undo == Noticed::No && strength.red_before == RedBefore::Assertion {
        let text = "with the sources of the start and the tests of now the gates still pass".to_owned();
        all.push(finding(FindingKind::Undo, text));
    }
    all
}

/// What the agent changed that could have made the pass easier, by kind.
fn opportunities(state: &RunState) -> Vec<Finding> {
    // Where no gate ever showed tests, no test runner reads these files.
    let runner = state.gates.required().any(|gate| gate.earlier_tests().most > 0);
    let counts =
        move |one: &&Opportunity| runner || one.kind != OpportunityKind::NewRunnerFile || !is_runner_file(&one.path);
    let all = || state.certified().into_iter().flat_map(|certified| &certified.opportunities).filter(counts);
    let kinds = [
        (OpportunityKind::ChangedTest, FindingKind::ChangedTests, "tests of the start were changed"),
        (OpportunityKind::NewRunnerFile, FindingKind::RunnerConfig, "there are new files that a test runner reads"),
        (OpportunityKind::ChangedManifest, FindingKind::Manifest, "a file that says how tests are run was changed"),
    ];
    let findings = kinds.into_iter().filter_map(|(wanted, kind, text)| {
        let paths = NameList::of(all().filter(|one| one.kind == wanted).map(|one| one.path.as_str()));
        (!paths.is_nothing()).then(|| finding(kind, format!("{text}: {}", paths.words())))
    });
    findings.collect()
}

/// Gates whose exit code does not say whether the work is done.
fn deceiving_promises(state: &RunState) -> Vec<Finding> {
    let workspace = state.spec.as_ref().map(|spec| spec.workspace.path.as_str()).unwrap_or_default();
    let hides = |flaw: PromiseFlaw| match flaw {
        PromiseFlaw::PipeHidesExit
        | PromiseFlaw::LastCommandDecides
        | PromiseFlaw::FailureAllowed
        | PromiseFlaw::InBackground
        | PromiseFlaw::ExpandedTooEarly => true,
        PromiseFlaw::OutputMatched | PromiseFlaw::ReadsOnlyFiles | PromiseFlaw::AlwaysPasses => false,
    };
    let gates = state.gates.required().filter_map(|gate| {
        let warnings = promise_warnings(&gate.spec().command, workspace);
        let warning = warnings.into_iter().find(|warning| hides(warning.flaw))?;
        let text = format!("{}: {}", gate.spec().name, warning.sentence);
        Some(finding(FindingKind::DeceivingPromise, text))
    });
    gates.collect()
}

/// Programs of the gates that are not those of the start.
fn swapped_programs(state: &RunState) -> Vec<Finding> {
    let swapped = state.certified().into_iter().flat_map(|certified| &certified.swapped);
    let changes = swapped.filter_map(|change| {
        // One that was not there before was installed: that is work.
        let before = change.before.as_ref()?;
        let installed_again = before.in_workspace && change.after.as_ref().is_some_and(|after| after.in_workspace);
        let kind = if installed_again { FindingKind::RunnerConfig } else { FindingKind::SwappedProgram };
        Some(finding(kind, format!("a program of the gates is another one than at the start: {}", change.words())))
    });
    changes.collect()
}

/// A gate that failed on the same tree before: without a clean copy it is not known which answer is right.
fn same_tree(state: &RunState) -> Option<Finding> {
    let tree = state.checkpoints.tree().filter(|_| state.iteration > 0)?;
    let gate = state.gates.required().find(|gate| gate.failed_on(tree))?;
    let name = &gate.spec().name;
    let text = format!("{name}: it failed on the same files before, and passes now");
    Some(finding(FindingKind::SameTree, text))
}

/// What the probes showed.
fn strength(state: &RunState, point: GatePoint) -> StrengthReport {
    let copy = |is: fn(JudgedTree) -> bool| state.proving.copy(point, is);
    let hunks = copy(|tree| matches!(tree, JudgedTree::Hunks { .. })).and_then(|copy| copy.hunks.clone());
    let hunks = hunks.unwrap_or_default();
    StrengthReport {
        red_before: red_before(state),
        canary: noticed(copy(|tree| tree == JudgedTree::Canary)),
        undo: noticed(copy(|tree| tree == JudgedTree::Undone)),
        hunks: hunks.all,
        hunks_tried: hunks.tried,
        hunks_noticed: hunks.noticed,
        hunks_not_noticed: hunks.not_noticed,
    }
}

fn noticed(copy: Option<&JudgedCopy>) -> Noticed {
    match copy.map(|copy| &copy.result) {
        None => Noticed::NotAsked,
        Some(CleanResult::Disagrees { .. }) => Noticed::Yes,
        Some(CleanResult::Passes) => Noticed::No,
        Some(CleanResult::NotDone { why } | CleanResult::WorkspaceOnly { why }) => {
            Noticed::NotTried { why: why.clone() }
        }
    }
}

/// How the tests are weaker than at the start.
pub(super) fn weaker(state: &RunState) -> Vec<String> {
    weaker_in(state, false)
}

fn weaker_in(state: &RunState, required_only: bool) -> Vec<String> {
    let mut all = Vec::new();
    for gate in state.gates.iter().filter(|gate| gate.is_required() || !required_only) {
        let (Some(first), Some(last)) = (gate.first_tests(), gate.last()) else { continue };
        let (name, total, skipped) = (&gate.spec().name, first.total, first.skipped);
        match &last.report.tests {
            None if total > 0 => all.push(format!("{name}: it ran {total} tests at the start, and none now")),
            None => {}
            Some(now) if now.total() < total => {
                let gone = if now.gone.is_nothing() { String::new() } else { format!(" (gone: {})", now.gone.words()) };
                all.push(format!("{name}: {total} tests at the start, {} now{gone}", now.total()));
            }
            Some(_) => {}
        }
        if let Some(now) = last.report.tests.as_ref().filter(|now| now.skipped > skipped) {
            let which = &now.newly_skipped;
            let which = if which.is_nothing() { String::new() } else { format!(" ({})", which.words()) };
            all.push(format!("{name}: {skipped} tests were left out at the start, {} are now{which}", now.skipped));
        }
    }
    all.extend(state.guard.targets().iter().cloned());
    all.extend(state.certified().into_iter().flat_map(|certified| certified.weaker.iter().cloned()));
    all
}

/// The evidence for an end that is done.
pub(super) fn proof_of(state: &RunState, verified: bool) -> Proof {
    let gates = state.gates.iter().filter_map(|gate| {
        let last = gate.last()?;
        let tests = last.report.tests.as_ref().map(|tests| (tests.passed, tests.failed, tests.skipped));
        Some(ProofGate {
            name: gate.spec().name.clone(),
            verdict: last.verdict,
            ended: last.report.ended.clone(),
            sha256: last.report.output.sha256.clone(),
            duration_ms: last.report.duration_ms,
            tests,
        })
    });
    let judgement = state.phase.point().and_then(|point| state.proving.judgement(point));
    Proof {
        verified,
        checkpoint: state.checkpoints.newest().map(str::to_owned),
        tree: state.checkpoints.tree().map(str::to_owned),
        gates: gates.collect(),
        tools: state.certified().map(|certified| certified.tools.clone()).unwrap_or_default(),
        weaker: weaker(state),
        judge: proof_judge(state, verified),
        strength: judgement.and_then(|judgement| judgement.strength.clone()),
        findings: judgement.map(|judgement| judgement.findings.clone()).unwrap_or_default(),
        accepted: None,
        named: judgement.map(|judgement| judgement.named.clone()).unwrap_or_default(),
    }
}

/// Where the pass was judged.
fn proof_judge(state: &RunState, verified: bool) -> Option<ProofJudge> {
    let point = state.phase.point().filter(|_| verified)?;
    Some(match (state.proving.workspace_only(), clean_copy(state, point)) {
        (Some(why), _) => ProofJudge::Workspace { why: why.to_owned() },
        (None, Some(copy)) if copy.result == CleanResult::Passes => ProofJudge::CleanCopy { place: copy.place },
        (None, _) => ProofJudge::Workspace { why: "it was not asked for, or there are no checkpoints".to_owned() },
    })
}

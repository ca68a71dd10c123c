//! Decisions about a pass: whether it is judged again in a clean copy, which probes are tried, what speaks against it.
use super::fact::{GatePoint, Order, PromptNote};
use super::gates::Gate;
use super::judge_report::{JudgePlace, JudgeReport, JudgedGate, JudgedTree, LEFT_OUT};
use super::judgement::{CleanJudgement, CleanResult, GateNames, ProofJudgement};
use super::kept_tests::{KeptTests, kept, lost_on_copy, tests};
use super::outcome::{Proof, ProofGate, ProofHidden, ProofJudge};
use super::proving::JudgedCopy;
use super::state::RunState;
use super::surroundings;
use crate::machine::Deciding;
use crate::policy::gate::Verdict;
use crate::policy::promise_warning::{PromiseFlaw, promise_warnings};
use crate::policy::proof::{
    self, Finding, FindingKind, FindingWeight, Noticed, ProofResult, RedBefore, StrengthReport, probe_budget_ms,
};
use crate::policy::protect::{Opportunity, OpportunityKind, is_runner_file};
use crate::settings::{JudgeChoice, StrengthChoice};
use crate::test_output::SameNames;
use crate::text::NameList;

/// What is ordered next before the run may end as verified; nothing where everything is known.
pub(super) fn next_order(state: &RunState, deciding: &Deciding) -> Option<Order> {
    let point = state.phase.point()?;
    if state.proving.certified(point).is_some() {
        return None;
    }
    Some(match next_tree(state, point, deciding).or_else(|| hidden_tree(state, point, deciding)) {
        Some(tree) => Order::Judge { point, tree },
        None => Order::Certify { point },
    })
}

/// Which copy is judged next.
fn next_tree(state: &RunState, point: GatePoint, deciding: &Deciding) -> Option<JudgedTree> {
    let gate = &state.settings.read(deciding).values.gate;
    let wanted = gate.judge == JudgeChoice::Auto && state.has_checkpoints();
    if !wanted || state.proving.workspace_only().is_some() {
        return None;
    }
    let copy = |is: fn(JudgedTree) -> bool| state.proving.copy(point, is);
    let mut found = cheap_findings(state);
    found.retain(|finding| is_evidence(state, finding.kind, &gate.accept));
    if !found.is_empty() {
        // Tests are not there: is it the gate that chooses other tests each time? The initial state tells.
        let only_names = found.iter().all(|finding| finding.kind == FindingKind::RenamedTests);
        let unknown = state.gates.required().any(|gate| gate.names().is_none() && lost_in_workspace(gate).is_some());
        let asked = copy(|tree| tree == JudgedTree::Initial).is_some() || state.iteration == 0;
        return (only_names && unknown && !asked).then_some(JudgedTree::Initial);
    }
    let Some(clean) = clean_copy(state, point) else { return Some(JudgedTree::Final) };
    match &clean.result {
        CleanResult::Disagrees { .. } => match copy(|tree| tree == JudgedTree::Initial) {
            None => Some(JudgedTree::Initial),
            Some(_) => copy(|tree| tree == JudgedTree::Again).is_none().then_some(JudgedTree::Again),
        },
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

/// The hidden gates come last, and only where nothing else shows that the pass is not real.
fn hidden_tree(state: &RunState, point: GatePoint, deciding: &Deciding) -> Option<JudgedTree> {
    let hidden = state.proving.hidden()?;
    if hidden_copy(state, point).is_some() {
        return None;
    }
    let settings = state.settings.read(deciding);
    let accepted = &settings.values.gate.accept;
    let strength = strength(state, point);
    let mut found = cheap_findings(state).into_iter().chain(copy_findings(state, point, &strength));
    if found.any(|finding| is_evidence(state, finding.kind, accepted)) {
        return None;
    }
    let in_copy = settings.values.gate.judge == JudgeChoice::Auto
        && state.has_checkpoints()
        && state.proving.workspace_only().is_none();
    Some(JudgedTree::Hidden { in_copy, limit_ms: hidden.limit_ms(settings.gate_timeout_ms) })
}

fn hidden_copy(state: &RunState, point: GatePoint) -> Option<&JudgedCopy> {
    state.proving.copy(point, |tree| matches!(tree, JudgedTree::Hidden { .. }))
}

/// What a clean copy of the judged tree showed, now or earlier in this run.
fn clean_copy(state: &RunState, point: GatePoint) -> Option<&JudgedCopy> {
    let again = state.proving.copy(point, |tree| tree == JudgedTree::Again);
    let again = again.filter(|copy| copy.result == CleanResult::Passes);
    let now = again.or_else(|| state.proving.copy(point, |tree| tree == JudgedTree::Final));
    now.or_else(|| state.proving.clean(state.checkpoints.tree()?))
}

/// What the gates said on a copy, as a decision.
pub(super) fn copy(state: &RunState, deciding: &Deciding) -> CleanJudgement {
    let Some(unjudged) = state.proving.unjudged() else {
        let why = "nothing was reported".to_owned();
        return CleanJudgement { tree: JudgedTree::Final, result: CleanResult::NotDone { why }, names: Vec::new() };
    };
    let (tree, report) = (unjudged.tree, &unjudged.report);
    let result = match (&report.not_done, tree) {
        (Some(why), JudgedTree::Final) => CleanResult::WorkspaceOnly { why: why.clone() },
        (Some(why), _) => CleanResult::NotDone { why: why.clone() },
        (None, JudgedTree::Final) if report.place == JudgePlace::WorkspaceOpened => CleanResult::WorkspaceOnly {
            why: "files of the workspace were opened while the gates ran in a copy, for example by a container that \
                  mounts it"
                .to_owned(),
        },
        (None, JudgedTree::Initial) => initial(state, report),
        (None, JudgedTree::Hidden { .. }) => hidden_verdict(state, &report.gates),
        (None, JudgedTree::Final | JudgedTree::Again) => {
            with_left_out(final_tree(state, &report.gates, deciding), &report.remarks)
        }
        (None, JudgedTree::Canary | JudgedTree::Undone | JudgedTree::Hunks { .. }) => verdict_on(state, &report.gates),
    };
    // Before any iteration the tree is the initial one: nothing else is there to compare with.
    let result = match (result, tree) {
        (CleanResult::Disagrees { what }, JudgedTree::Final) if state.iteration == 0 => {
            let why = format!("the gates pass in the workspace and not in a clean copy: {what}");
            CleanResult::WorkspaceOnly { why }
        }
        (result, _) => result,
    };
    CleanJudgement { tree, result, names: names(state, tree, &report.gates) }
}

/// Which gates are known now to run the same tests each time, or not. The final tree is the agent's work: that it runs
/// other tests each time may be its doing.
fn names(state: &RunState, tree: JudgedTree, gates: &[JudgedGate]) -> Vec<GateNames> {
    let learned = gates.iter().filter_map(|judged| {
        let (known, same) = (state.gates.get(judged.gate)?.names(), judged.same_tests?);
        let is_news = match tree {
            JudgedTree::Initial => matches!(known, None | Some(SameNames::Exactly)) && known != Some(same),
            JudgedTree::Final | JudgedTree::Again => known.is_none() && same != SameNames::No,
            JudgedTree::Canary | JudgedTree::Undone | JudgedTree::Hunks { .. } | JudgedTree::Hidden { .. } => false,
        };
        is_news.then_some(GateNames { gate: judged.gate, same })
    });
    learned.collect()
}

/// The clean copy of the tree that passed: by exit codes, by what the output says about tests, and by their names.
fn final_tree(state: &RunState, gates: &[JudgedGate], deciding: &Deciding) -> CleanResult {
    let by_verdict = verdict_on(state, gates);
    if by_verdict != CleanResult::Passes {
        return by_verdict;
    }
    let required = |judged: &&JudgedGate| state.gates.get(judged.gate).is_some_and(Gate::is_required);
    let lost = gates.iter().filter(required).find_map(|judged| {
        let what = lost_on_copy(state, judged, deciding)?;
        Some(format!("{}: {what}", name_of(state, judged)))
    });
    lost.map_or(CleanResult::Passes, |what| CleanResult::Disagrees { what })
}

fn verdict_on(state: &RunState, gates: &[JudgedGate]) -> CleanResult {
    let required = |judged: &&JudgedGate| state.gates.get(judged.gate).is_some_and(Gate::is_required);
    let failed = gates.iter().filter(required).find(|judged| judged.verdict != Verdict::Pass);
    match failed {
        None => CleanResult::Passes,
        Some(judged) => CleanResult::Disagrees { what: said(state, judged) },
    }
}

/// What the hidden gates said, without their names: this is in the journal.
fn hidden_verdict(state: &RunState, gates: &[JudgedGate]) -> CleanResult {
    let all = state.proving.hidden().map_or(0, |hidden| hidden.count);
    let name = |judged: &JudgedGate| match all {
        1 => "the hidden gate".to_owned(),
        _ => format!("hidden gate {} of {all}", judged.gate + 1),
    };
    let not_passed = gates.iter().find(|judged| judged.verdict != Verdict::Pass);
    match not_passed {
        Some(judged) if judged.verdict == Verdict::Fail => {
            CleanResult::Disagrees { what: format!("{} does not pass", name(judged)) }
        }
        Some(judged) => CleanResult::NotDone { why: format!("{} could not be run", name(judged)) },
        None if u32::try_from(gates.len()).ok() == Some(all) => CleanResult::Passes,
        None => CleanResult::NotDone { why: "not all of them were run".to_owned() },
    }
}

/// What the copy does not have may be why it disagrees.
fn with_left_out(result: CleanResult, remarks: &[String]) -> CleanResult {
    let left_out = remarks.iter().find(|remark| remark.starts_with(LEFT_OUT));
    match (result, left_out) {
        (CleanResult::Disagrees { what }, Some(left_out)) => {
            CleanResult::Disagrees { what: format!("{what} ({left_out})") }
        }
        (result, _) => result,
    }
}

fn name_of(state: &RunState, judged: &JudgedGate) -> String {
    state.gates.get(judged.gate).map(|gate| gate.spec().name.clone()).unwrap_or_default()
}

fn said(state: &RunState, judged: &JudgedGate) -> String {
    let name = name_of(state, judged);
    let ended = judged.report.ended.brief();
    if let Some(contradiction) = judged.contradiction {
        return format!("{name} ({ended}): {}", contradiction.words());
    }
    let line = judged.report.excerpt.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    format!("{name} ({ended}): {}", crate::text::one_line(line, 200))
}

/// Whether a clean copy of the initial tree says what the workspace said before iteration 1.
fn initial(state: &RunState, report: &JudgeReport) -> CleanResult {
    // Most often something that is ignored is missing in the copy: that comes first.
    let remark = report.remarks.first().map(|remark| format!("{remark}; ")).unwrap_or_default();
    let differs = report.gates.iter().find(|judged| {
        let first = state.gates.get(judged.gate).and_then(Gate::first_round);
        let chooses = judged.same_tests == Some(SameNames::No);
        first.is_none_or(|first| !first.is_like(judged.verdict, &judged.report, chooses))
    });
    match differs {
        None => CleanResult::Passes,
        Some(judged) => CleanResult::WorkspaceOnly {
            why: format!(
                "{remark}a clean copy of the initial state says something else than the workspace did: {}",
                said(state, judged)
            ),
        },
    }
}

/// How the gates failed before iteration 1: of several, the one that says most.
fn red_before(state: &RunState) -> RedBefore {
    let red = |gate: &Gate| {
        let first = gate.first_round().filter(|first| first.verdict != Verdict::Pass)?;
        let shows_tests_now = gate.last().is_some_and(|last| last.report.tests.is_some());
        Some(match &first.tests {
            // Some tests may run although another file does not load.
            Some(tests) if tests.failed > 0 && tests.could_count => RedBefore::Assertion,
            Some(_) | None if first.did_not_build => RedBefore::DidNotBuild,
            Some(_) => RedBefore::NoTests,
            None if shows_tests_now => RedBefore::NoTests,
            None => RedBefore::Failed,
        })
    };
    let all: Vec<RedBefore> = state.gates.required().filter_map(red).collect();
    let order = [RedBefore::Assertion, RedBefore::DidNotBuild, RedBefore::NoTests, RedBefore::Failed];
    order.into_iter().find(|red| all.contains(red)).unwrap_or(RedBefore::No)
}

/// Whether the tests behind a pass are as strong as at the start, and what follows.
pub(super) fn proof(state: &RunState, deciding: &Deciding) -> ProofJudgement {
    let settings = state.settings.read(deciding);
    let point = state.phase.point().unwrap_or(GatePoint::Baseline);
    let strength = strength(state, point);
    let mut findings = cheap_findings(state);
    findings.extend(copy_findings(state, point, &strength));
    findings.extend(surroundings::findings(state));
    findings.extend(opportunities(state));
    findings.extend(deceiving_promises(state));
    findings.extend(without_tests(state));
    findings.extend(installed_dependencies(state, point));
    let accepted = &settings.values.gate.accept;
    let no_evidence = !findings.iter().any(|finding| is_evidence(state, finding.kind, accepted));
    findings.extend(hidden_findings(state, point, no_evidence));
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
    // Whoever wants only the workspace to decide also counts work in files that no checkpoint holds.
    let clean_passes = clean_copy(state, point).is_some_and(|copy| copy.result == CleanResult::Passes);
    let by_choice = settings.values.gate.judge == JudgeChoice::Workspace;
    let is_named = |finding: &Finding| {
        let opportunity = finding.kind.weight() == FindingWeight::Opportunity;
        let cleared = opportunity && (is_cleared(finding.kind, &strength) || !probes);
        // Something outside of the workspace decides, or luck: a clean copy has the same answer.
        let same_tree = (by_choice || clean_passes) && finding.kind == FindingKind::SameTree;
        let at_start = failed_at_start(state, finding.kind);
        let undo = undo_says_little(state, finding.kind);
        cleared || same_tree || at_start || undo || accepted.iter().any(|word| word == finding.kind.word())
    };
    let (named, findings): (Vec<Finding>, Vec<Finding>) = findings.into_iter().partition(is_named);
    let worked = state.iteration > 0;
    let result = proof::result(&findings, state.proving.refused(), worked, deciding);
    let note = (result == ProofResult::Refused)
        .then(|| PromptNote::NotProven { findings: findings.iter().map(told).collect() });
    let strength = (worked && strength != StrengthReport::default()).then_some(Box::new(strength));
    ProofJudgement { weaker, findings, named, strength, result, note }
}

/// Where no test failed before, the tests of now may need only what stays with them: then undo is only named.
fn undo_says_little(state: &RunState, kind: FindingKind) -> bool {
    kind == FindingKind::Undo && red_before(state) != RedBefore::Assertion
}

/// Whether failing tests under exit code 0 are those that failed so before iteration 1: others are not a pass.
fn failed_at_start(state: &RunState, kind: FindingKind) -> bool {
    kind == FindingKind::FailingTests && state.iteration > 0
}

fn finding(kind: FindingKind, text: String) -> Finding {
    Finding { kind, text }
}

/// A finding in the words of the next prompt. Of a hidden gate the agent learns nothing more than this.
fn told(finding: &Finding) -> String {
    if matches!(finding.kind, FindingKind::HiddenGate | FindingKind::HiddenGateNotRun) {
        return "the work is not accepted by a further check".to_owned();
    }
    finding.text.clone()
}

/// Whether it shows that the pass is not real, was not accepted from the start, and was not so at the start.
fn is_evidence(state: &RunState, kind: FindingKind, accepted: &[String]) -> bool {
    let is_fine = failed_at_start(state, kind)
        || undo_says_little(state, kind)
        || accepted.iter().any(|word| word == kind.word());
    kind.weight() == FindingWeight::Evidence && !is_fine
}

/// What the hidden gates say, without their names.
fn hidden_findings(state: &RunState, point: GatePoint, must_have_run: bool) -> Option<Finding> {
    state.proving.hidden()?;
    match hidden_copy(state, point).map(|copy| &copy.result) {
        Some(CleanResult::Passes) => None,
        Some(CleanResult::Disagrees { what }) => Some(finding(FindingKind::HiddenGate, what.clone())),
        Some(CleanResult::NotDone { why } | CleanResult::WorkspaceOnly { why }) => {
            Some(finding(FindingKind::HiddenGateNotRun, format!("the hidden gates could not be run: {why}")))
        }
        None => {
            must_have_run.then(|| finding(FindingKind::HiddenGateNotRun, "the hidden gates were not run".to_owned()))
        }
    }
}

/// Whether a probe shows that nothing came of an opportunity.
fn is_cleared(kind: FindingKind, strength: &StrengthReport) -> bool {
    match kind {
        FindingKind::DeceivingPromise
        | FindingKind::GateFiles
        | FindingKind::OutsideLinks
        | FindingKind::SuspectLines
        | FindingKind::OutsideSettings => true,
        FindingKind::ChangedTests => strength.undo == Noticed::Yes,
        FindingKind::RunnerConfig | FindingKind::Manifest | FindingKind::TestsNotShown | FindingKind::SelectiveGate => {
            // Where no test can be added: with the sources of the start and these files the gates fail.
            let is_not_tried = matches!(strength.canary, Noticed::NotTried { .. });
            strength.canary == Noticed::Yes || is_not_tried && strength.undo == Noticed::Yes
        }
        FindingKind::RenamedTests
        | FindingKind::FailingTests
        | FindingKind::CleanCopy
        | FindingKind::SameTree
        | FindingKind::Canary
        | FindingKind::Undo
        | FindingKind::SwappedProgram
        | FindingKind::WeakerTests
        | FindingKind::Strength
        | FindingKind::OutsideFiles
        | FindingKind::HiddenGate
        | FindingKind::HiddenGateNotRun => false,
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
        if now.failed > 0 && !gate.spec().promise().negated {
            let then = if state.iteration > 0 { ", as before iteration 1" } else { "" };
            let text = format!("{name}: {} fail although it exits with 0{then}", tests(now.failed));
            all.push(finding(FindingKind::FailingTests, text));
        }
        if gate.is_selective() {
            let text = format!("{name}: it does not run the same tests each time; whether tests are gone is not known");
            all.push(finding(FindingKind::SelectiveGate, text));
        } else if let KeptTests::No { what } = kept(gate, now) {
            all.push(finding(FindingKind::RenamedTests, format!("{name}: {what}")));
        }
    }
    all
}

/// Which tests that must be there did not run in the workspace.
fn lost_in_workspace(gate: &Gate) -> Option<String> {
    match kept(gate, gate.last()?.report.tests.as_deref()?) {
        KeptTests::No { what } => Some(what),
        KeptTests::OtherBrackets | KeptTests::Yes => None,
    }
}

/// What clean copies and probes show.
fn copy_findings(state: &RunState, point: GatePoint, strength: &StrengthReport) -> Vec<Finding> {
    let mut all = Vec::new();
    let clean = clean_copy(state, point);
    let cannot = state.proving.workspace_only().is_some();
    if clean.is_some_and(|copy| copy.tree == JudgedTree::Again) {
        let text = "flaky: of two clean copies of the same files the gates failed in one and passed in the other";
        all.push(finding(FindingKind::SameTree, text.to_owned()));
    }
    match clean.map(|copy| &copy.result) {
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
    if strength.undo == Noticed::No && strength.red_before != RedBefore::No {
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
        (OpportunityKind::GateFile, FindingKind::GateFiles, "files that the gates or the tests use are new or changed"),
        (OpportunityKind::OutsideLink, FindingKind::OutsideLinks, "links lead out of the workspace"),
        (OpportunityKind::SuspectLine, FindingKind::SuspectLines, "lines of the change to look at"),
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
        | PromiseFlaw::OutputMatched
        | PromiseFlaw::LastCommandDecides
        | PromiseFlaw::FailureAllowed
        | PromiseFlaw::InBackground
        | PromiseFlaw::ExpandedTooEarly => true,
        PromiseFlaw::ReadsOnlyFiles | PromiseFlaw::AlwaysPasses => false,
    };
    let gates = state.gates.required().filter_map(|gate| {
        let warnings = promise_warnings(&gate.spec().command, workspace);
        let warning = warnings.into_iter().find(|warning| hides(warning.flaw))?;
        let text = format!("{}: {}", gate.spec().name, warning.sentence);
        Some(finding(FindingKind::DeceivingPromise, text))
    });
    gates.collect()
}

/// Dependencies that came into the clean copy as the agent left them.
fn installed_dependencies(state: &RunState, point: GatePoint) -> Option<Finding> {
    let folders = &clean_copy(state, point)?.installed;
    let text = format!("dependencies are as the agent installed them: {}", folders.join(", "));
    (!folders.is_empty()).then(|| finding(FindingKind::GateFiles, text))
}

/// Gates that run a test runner and pass, although no test ran, now or ever.
fn without_tests(state: &RunState) -> Vec<Finding> {
    let gates = state.gates.required().filter(|gate| {
        let tests = gate.last().and_then(|last| last.report.tests.as_deref());
        !gate.spec().trust_exit && gate.earlier_tests().most == 0 && tests.is_some_and(|now| now.total() == 0)
    });
    let text = |gate: &Gate| format!("{}: it passes, and no test ran", gate.spec().name);
    gates.map(|gate| finding(FindingKind::DeceivingPromise, text(gate))).collect()
}

/// A gate that failed on the same tree before: without a clean copy it is not known which answer is right.
fn same_tree(state: &RunState) -> Option<Finding> {
    let tree = state.checkpoints.tree().filter(|_| state.iteration > 0)?;
    let gate = state.gates.required().find(|gate| gate.failed_on(tree))?;
    let name = &gate.spec().name;
    let text = format!("{name}: flaky: it failed on the same files before, and passes now");
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
            Some(now) if now.total() < total && !now.by_suites => {
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
        git_tree: state.certified().and_then(|certified| certified.git_tree.clone()),
        gates: gates.collect(),
        tools: state.certified().map(|certified| certified.tools.clone()).unwrap_or_default(),
        weaker: weaker(state),
        judge: proof_judge(state, verified),
        judging_ms: state.proving.spent_ms(),
        judge_remarks: judge_remarks(state),
        strength: judgement.and_then(|judgement| judgement.strength.clone()),
        findings: judgement.map(|judgement| judgement.findings.clone()).unwrap_or_default(),
        accepted: None,
        named: judgement.map(|judgement| judgement.named.clone()).unwrap_or_default(),
        hidden: proof_hidden(state),
    }
}

/// What the hidden gates said of the pass.
fn proof_hidden(state: &RunState) -> Option<ProofHidden> {
    let count = state.proving.hidden()?.count;
    let copy = state.phase.point().and_then(|point| hidden_copy(state, point));
    // Where they could not be run, nothing ran anywhere.
    let ran = copy.filter(|copy| matches!(copy.result, CleanResult::Passes | CleanResult::Disagrees { .. }));
    let passed = ran.is_some_and(|copy| copy.result == CleanResult::Passes);
    Some(ProofHidden { count, passed, place: ran.map(|copy| copy.place) })
}

/// What a person should know about the clean copy. What was left out of one that passes made no difference.
fn judge_remarks(state: &RunState) -> Vec<String> {
    let copy = state.phase.point().and_then(|point| clean_copy(state, point));
    let remarks = copy.into_iter().flat_map(|copy| &copy.remarks);
    remarks.filter(|remark| !remark.starts_with(LEFT_OUT)).cloned().collect()
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

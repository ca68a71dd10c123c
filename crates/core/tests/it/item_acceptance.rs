//! What checks the criteria of a list: before any work, and after a pass.
use loop_core::list::{CommandSource, PlannedCheck, planned_checks};
use loop_core::list::{Criterion, Item, List, ListFormat, ProposedCommand};
use loop_core::machine::consult;
use loop_core::policy::gate::Verdict;
use loop_core::policy::item::{
    CriterionProof, CriterionState, ItemBudget, ItemEvaluation, ItemVerdict, criterion_state, files_state,
};
use loop_core::settings::{Given, Layer, Origin, Values, keys, resolve};
use loop_core::view::{AcceptanceView, CheckedCriterion, ItemJudgedAgain, OldSources, item_proof_report};

fn proposed(name: &str, command: &str) -> ProposedCommand {
    ProposedCommand { name: name.to_owned(), command: command.to_owned(), line: 1 }
}

fn criterion(id: &str, command: Option<&str>, artifacts: &[&str]) -> Criterion {
    Criterion {
        id: id.to_owned(),
        text: format!("{id} | holds"),
        command: command.map(str::to_owned),
        artifacts: artifacts.iter().map(|path| (*path).to_owned()).collect(),
        line: 7,
    }
}

fn item(id: &str, done: bool, criteria: Vec<Criterion>) -> Item {
    Item { id: id.to_owned(), title: format!("title {id}"), done, criteria, ..Item::default() }
}

fn list(items: Vec<Item>, commands: Vec<ProposedCommand>) -> List {
    List { format: ListFormat::LoopSpec, kind: "prd.json", items, commands, warnings: Vec::new() }
}

fn by(planned: &[PlannedCheck]) -> Vec<Option<(&str, CommandSource)>> {
    planned.iter().map(|one| one.command.as_ref().map(|it| (it.command.as_str(), it.source))).collect()
}

// req: P-03 partly: which command checks a criterion
#[test]
fn the_own_command_of_a_criterion_counts_first_then_what_a_person_gave_then_the_item_then_the_file() {
    let mut first = item("A", false, vec![criterion("1", Some("own"), &[]), criterion("2", None, &[])]);
    first.commands = vec![proposed("build", "make"), proposed("test", "make test")];
    let items = vec![first, item("B", false, Vec::new()), item("C", true, vec![criterion("1", None, &[])])];
    let list = list(items, vec![proposed("", "all")]);
    let found = planned_checks(&list, None, None);
    assert_eq!(
        by(&found),
        [
            Some(("own", CommandSource::Criterion)),
            Some(("make test", CommandSource::Item)),
            Some(("all", CommandSource::List)),
        ]
    );
    assert_eq!((found[2].criterion.as_str(), found[2].text.as_str()), ("", "title B"));
    let given = planned_checks(&list, Some("A"), Some("typed"));
    assert_eq!(by(&given), [Some(("own", CommandSource::Criterion)), Some(("typed", CommandSource::Flag))]);
    assert!(!CommandSource::Flag.is_proposal() && CommandSource::Criterion.is_proposal());
    assert_eq!(planned_checks(&list, Some("C"), None).len(), 1, "an item that is named is checked, done or not");
}

#[test]
fn a_criterion_that_names_files_is_checked_by_them_and_one_with_nothing_is_for_a_person() {
    let files = item("A", false, vec![criterion("1", None, &["out/a.txt"]), criterion("2", None, &[])]);
    let found = planned_checks(&list(vec![files.clone()], vec![proposed("", "all")]), None, None);
    assert_eq!(by(&found), [None, Some(("all", CommandSource::List))]);
    assert_eq!(by(&planned_checks(&list(vec![files], Vec::new()), None, None)), [None, None]);
    assert_eq!(consult(|deciding| files_state(true, deciding)), CriterionState::AlreadyGreen);
    assert_eq!(consult(|deciding| files_state(false, deciding)), CriterionState::RedNow);
}

#[test]
fn three_tries_say_red_green_flaky_or_that_the_command_cannot_run() {
    use Verdict::{Fail, Pass, Unverifiable};
    for (tries, state) in [
        (&[Fail, Fail, Fail][..], CriterionState::RedNow),
        (&[Pass, Pass, Pass], CriterionState::AlreadyGreen),
        (&[Pass, Fail, Pass], CriterionState::Flaky),
        (&[Fail, Fail, Pass], CriterionState::Flaky),
        (&[Unverifiable], CriterionState::CannotRun),
        (&[Pass, Unverifiable], CriterionState::CannotRun),
        (&[], CriterionState::ForAPerson),
    ] {
        assert_eq!(consult(|deciding| criterion_state(tries, deciding)), state, "{tries:?}");
    }
}

fn checked(state: CriterionState, command: &str) -> CheckedCriterion {
    CheckedCriterion {
        item: "A".to_owned(),
        criterion: "1".to_owned(),
        text: "it holds".to_owned(),
        command: Some(command.to_owned()),
        source: Some(CommandSource::Criterion),
        artifacts: Vec::new(),
        state,
        tries: Vec::new(),
        line: 7,
    }
}

#[test]
fn what_is_not_approved_cannot_run_or_is_flaky_is_to_fix_and_each_command_is_named_once_and_whole() {
    let long = "x".repeat(500);
    let view = |criteria| AcceptanceView::new("prd.json", "read as: prd.json, 1 open of 1", criteria);
    let waiting = CriterionState::NotApproved;
    let found = view(vec![checked(waiting, &long), checked(waiting, &long), checked(waiting, "a\u{1b}b")]);
    assert_eq!(found.not_approved(), [format!("prd.json:7: {long}"), "prd.json:7: a\\x1bb".to_owned()]);
    for (state, is_to_fix) in [
        (CriterionState::RedNow, false),
        (CriterionState::AlreadyGreen, false),
        (CriterionState::ForAPerson, false),
        (CriterionState::CannotRun, true),
        (CriterionState::Flaky, true),
        (CriterionState::NotApproved, true),
    ] {
        let found = view(vec![checked(state, "c")]);
        assert_eq!(found.is_to_fix(), is_to_fix, "{state:?}");
        let needs_none = matches!(state, CriterionState::RedNow | CriterionState::NotApproved);
        assert_eq!(found.advice().len(), usize::from(!needs_none), "{state:?}");
    }
}

#[test]
fn the_report_of_an_item_says_what_proved_each_criterion_and_which_have_no_check_of_their_own() {
    let proof = |criterion: &str, artifacts: &[&str], is_own| CriterionProof {
        criterion: criterion.to_owned(),
        artifacts: artifacts.iter().map(|path| (*path).to_owned()).collect(),
        is_own,
    };
    let evaluation = ItemEvaluation {
        verdict: ItemVerdict::Pass,
        failure: None,
        proofs: vec![proof("1", &["out/a.txt"], true), proof("2", &["diff.patch", "check.txt"], false)],
        outside: Vec::new(),
        flags: vec!["edits of the agent that were undone: prd.json".to_owned()],
    };
    let item = item("A", false, vec![criterion("1", None, &["out/a.txt"]), criterion("2", None, &[])]);
    let judged = ItemJudgedAgain { clean_copy: Ok(()), old_sources: OldSources::FailAgain };
    let report = item_proof_report(&item, &evaluation, &judged);
    for part in [
        "| 1 1 \\| holds | out/a.txt |\n",
        "| 2 2 \\| holds | diff.patch, check.txt (the item's diff and check, no check of its own) |\n",
        "Criteria without a check of their own: 2.\n",
        "The same checks passed on a clean copy.\n",
        "With the old sources under the new tests the checks failed again.\n",
        "Note: edits of the agent that were undone: prd.json.\n",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let report = item_proof_report(&item, &evaluation, &ItemJudgedAgain::of(None));
    assert!(report.contains("not repeated on a clean copy: the run has no proof"), "{report}");
    let unnoticed = ItemJudgedAgain { old_sources: OldSources::StillPass, ..judged };
    let report = item_proof_report(&item, &evaluation, &unnoticed);
    assert!(report.contains("they do not notice this work"), "{report}");
}

// req: P-06
#[test]
fn the_profile_decide_has_the_budgets_of_the_specification_and_all_of_them_can_be_set() {
    let given = |key, value: &str| Given {
        key,
        value: value.to_owned(),
        origin: Origin { layer: Layer::Flag, place: "here".to_owned() },
    };
    let budget = |all| Values::of(&resolve(all)).lists.budget();
    assert_eq!(budget(vec![given(keys::profile(), "decide")]), ItemBudget::default());
    assert_eq!(Values::of(&resolve(vec![given(keys::profile(), "decide")])).limits.max_iterations, Some(3));
    let all = vec![
        given(keys::item_loops(), "5"),
        given(keys::item_retries(), "1"),
        given(keys::item_time(), "1m"),
        given(keys::item_tokens(), "9"),
    ];
    assert_eq!(budget(all), ItemBudget { loops: 5, retries: 1, time_ms: Some(60_000), tokens: Some(9) });
}

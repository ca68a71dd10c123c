//! The progress score: what it is made of, when it is recorded, and what it decides.
use loop_core::changes::Changes;
use loop_core::policy::score::{Checklist, Score, Signals, named_files, shown};
use loop_core::run::{Decision, Fact, IterationJudgement};

use crate::play::Story;

fn of(output: u32, lines: u64, markers: usize, checklist: Option<(u32, u32)>) -> Score {
    let changes = Some(Changes { files: 1, insertions: lines, deletions: 0 });
    let checklist = checklist.map(|(ticked, all)| Checklist { ticked, all });
    Score::of(&Signals { output, changes, noticed: None, markers, checklist })
}

#[test]
fn the_score_has_the_weights_of_the_specification() {
    // req: A-03
    let all = of(10_000, 100, 2, Some((4, 4)));
    assert_eq!(all, Score { output: 10_000, files: 10_000, markers: 10_000, checklist: 10_000, total: 10_000 });
    assert_eq!(of(10_000, 0, 0, None).total, 3_000);
    assert_eq!(of(0, 100, 0, None).total, 3_000);
    assert_eq!(of(0, 0, 1, None).total, 1_250);
    assert_eq!(of(0, 0, 0, Some((1, 3))).total, 500);
    assert_eq!(of(5_000, 20, 1, Some((1, 2))).total, 1_500 + 600 + 1_250 + 750);
}

#[test]
fn a_signal_is_never_more_than_whole_and_one_that_is_missing_is_not_spread() {
    // req: A-03
    assert_eq!(
        of(10_000, 5_000, 9, None),
        Score { output: 10_000, files: 10_000, markers: 10_000, checklist: 0, total: 8_500 }
    );
    let unknown = Signals { output: 0, changes: None, noticed: Some(true), markers: 0, checklist: None };
    assert_eq!(Score::of(&unknown).files, 10_000, "something changed, and nobody counts");
    assert_eq!(Score::of(&Signals { noticed: Some(false), ..unknown }).total, 0);
}

#[test]
fn a_checklist_is_its_lines_with_a_box() {
    // req: A-03 partly: the lines of a checklist
    let text = "# Plan\n- [ ] one\n  - [x] two\n* [X] three\n-[ ] four\n- [y] no\n- none\n[ ] none\n+ [ ] five\n";
    assert_eq!(Checklist::of(text), Some(Checklist { ticked: 2, all: 5 }));
    assert_eq!(Checklist::of("no list"), None);
    let named =
        named_files("Work through docs/PLAN.md, then `./todo.txt`. Not /etc/passwd, ../up.md, a/../b.md or e.g. this");
    assert_eq!(named, ["docs/PLAN.md", "todo.txt", "e.g"]);
}

#[test]
fn a_score_is_shown_with_two_digits() {
    assert_eq!([0, 49, 50, 1_500, 9_999, 10_000].map(shown), ["0.00", "0.00", "0.01", "0.15", "1.00", "1.00"]);
}

fn story(settings: &[(&str, &str)]) -> Story {
    let mut story = Story::new(&[&[("max_iterations", "unlimited")], settings].concat());
    story.say("opened / saved / fail same");
    story
}

fn newest(story: &Story) -> &IterationJudgement {
    let judged = story.journal.iter().rev().find_map(|entry| match &entry.fact {
        Fact::Decided(Decision::Round(judgement)) => judgement.iteration.as_ref(),
        Fact::Happened(_)
        | Fact::Ordered { .. }
        | Fact::OrderCancelled { .. }
        | Fact::Decided(_)
        | Fact::Concluded { .. } => None,
    });
    judged.unwrap_or_else(|| panic!("nothing is judged: {}", story.told))
}

/// Many changed lines, the same output: by the gates it is progress.
fn busy(output: u32, lines: u32) -> String {
    format!("agent-ok / saved / changed 1 lines={lines} output={output} / fail same")
}

#[test]
fn every_iteration_has_its_score_in_its_judgement_and_the_state_has_the_last_ones() {
    // req: A-03
    let mut story = story(&[("max_no_progress", "unlimited")]);
    story.say("agent-heard progress=parser / saved / changed 1 lines=10 output=10000 ticked=1/4 / fail same");
    let score = newest(&story).score.unwrap();
    assert_eq!(score, Score { output: 10_000, files: 1_000, markers: 5_000, checklist: 2_500, total: 4_925 });
    story.say(&busy(0, 10));
    let scores: Vec<(u32, u32)> =
        story.state.progress.scores().iter().map(|scored| (scored.iteration, scored.score.total)).collect();
    assert_eq!(scores, [(1, 4_925), (2, 300)]);
    assert_eq!(story.state.progress.average_score(5), Some(2_612));
    assert_eq!(story.state.progress.score().map(|score| score.total), Some(300));
}

#[test]
fn an_iteration_whose_output_was_not_compared_has_no_score() {
    let mut story = story(&[("progress_by", "score")]);
    story.say("agent-ok / saved / changed 1 / fail same");
    assert_eq!((newest(&story).score, newest(&story).progress), (None, true));
    assert_eq!(story.state.progress.score(), None);
}

#[test]
fn the_score_decides_about_progress_only_where_the_settings_say_so() {
    // req: A-05 partly: stuck is decided elsewhere
    for (by, progress, why) in [("gates", true, "1 file changed"), ("score", false, "its score is 0.09")] {
        let mut story = story(&[("progress_by", by)]);
        story.say(&busy(0, 30));
        let judged = newest(&story);
        assert_eq!((judged.progress, judged.why.as_str()), (progress, why), "{by}");
        assert_eq!(story.state.progress.streaks().low_score, 1, "counted whatever decides");
        assert_eq!(story.state.progress.streaks().no_progress, u32::from(!progress), "{by}");
    }
}

#[test]
fn at_the_threshold_is_progress_and_below_it_is_none() {
    // req: A-05 partly: stuck is decided elsewhere
    let mut story = story(&[("progress_by", "score"), ("max_no_progress", "unlimited")]);
    for (lines, low) in [(49, 1), (49, 2), (50, 0), (49, 1)] {
        story.say(&busy(0, lines));
        assert_eq!(story.state.progress.streaks().low_score, low, "{lines} lines");
        assert_eq!(newest(&story).progress, low == 0, "{lines} lines");
    }
}

#[test]
fn the_threshold_is_a_setting() {
    // req: A-05 partly: stuck is decided elsewhere
    let mut story = story(&[("progress_by", "score"), ("progress_threshold", "0.05")]);
    story.say(&busy(0, 17));
    assert!(newest(&story).progress);
    story.say(&busy(0, 16));
    assert!(!newest(&story).progress);
}

#[test]
fn gates_that_say_more_are_progress_whatever_the_score_is() {
    let mut story = story(&[("progress_by", "score"), ("gate", "lint=make lint")]);
    story.say("fail same");
    story.say("agent-ok / saved / changed 1 lines=1 output=0 / fail same / pass");
    let judged = newest(&story);
    assert!(judged.progress && judged.why == "the gates say more than before", "{judged:?}");
    assert_eq!(story.state.progress.streaks().low_score, 0);
}

#[test]
fn low_scores_trip_the_breaker_where_the_score_decides() {
    // req: A-05 partly: without recovery
    let mut story = story(&[("progress_by", "score")]);
    for _ in 0..3 {
        story.say(&busy(0, 1));
    }
    assert!(
        story.last().starts_with("END tripped (no_progress): no progress in 3 iterations in a row"),
        "{}",
        story.told
    );
}

#[test]
fn protected_files_alone_are_no_changed_lines() {
    let mut story = story(&[("progress_by", "score")]);
    story.say("agent-ok / saved / changed 1 lines=90 protected=1 output=0 / fail same");
    assert_eq!(newest(&story).score.unwrap().files, 0);
}

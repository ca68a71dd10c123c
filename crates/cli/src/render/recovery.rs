//! Recovery, in words: what is tried because a loop is stuck, and what a person needs to know who is to help.
use loop_core::run::{QuestionPack, RecoveryDecision, RunState, RungBegan, RungEnded, RungOutcome};
use loop_core::text;

/// The lines of a decision, for the live screen.
pub(crate) fn decided(decision: &RecoveryDecision) -> Vec<String> {
    match decision {
        RecoveryDecision::Began(began) if began.questions.is_some() => Vec::new(),
        RecoveryDecision::Began(began) => vec![began_words(began)],
        RecoveryDecision::CutOff(cut_off) if cut_off.continues => Vec::new(),
        RecoveryDecision::CutOff(cut_off) => {
            let times = if cut_off.times == 1 { "once".to_owned() } else { format!("{} times", cut_off.times) };
            vec![format!("recovery: the branches were cut off {times} and do not continue")]
        }
        RecoveryDecision::Takes(taken) => vec![format!("recovery: {} is restored, and judged here", taken.name)],
        RecoveryDecision::Ended(ended) => vec![ended_words(ended)],
        RecoveryDecision::UsedUp { .. } => vec!["recovery: no rung is left".to_owned()],
    }
}

fn began_words(began: &RungBegan) -> String {
    let choice = began.choice.words();
    let choice = if choice.is_empty() { String::new() } else { format!(" with {choice}") };
    let restore = began.restore.as_ref().map_or(String::new(), |to| format!(", from {to}"));
    let most =
        if began.iterations == 1 { "1 iteration".to_owned() } else { format!("{} iterations", began.iterations) };
    format!(
        "stuck: {} (iteration {}); recovery tries {}{choice}{restore}, at most {most}",
        began.cause.words(),
        began.trigger,
        began.rung.name()
    )
}

fn ended_words(ended: &RungEnded) -> String {
    let name = ended.rung.name();
    let why = ended.why.as_ref().map_or(String::new(), |why| format!(": {}", text::one_line(why, 300)));
    match ended.outcome {
        RungOutcome::Success => format!("recovery: {name} worked, and stays"),
        RungOutcome::Failed => format!("recovery: {name} did not help{why}"),
        RungOutcome::Skipped => format!("recovery: {name} is skipped{why}"),
        RungOutcome::Resumed => "a person has resumed the loop: recovery begins again when it is stuck".to_owned(),
    }
}

/// The lines of a loop that waits for a person because it is stuck.
pub(crate) fn waits(state: &RunState, id: &str) -> Vec<String> {
    let mut lines = vec!["Stuck after all recovery attempts. A person is needed.".to_owned()];
    let questions = state.recovery.questions().cloned().unwrap_or_default();
    lines.extend(pack(&questions).into_iter().map(|(name, value)| format!("  {name:<9}{value}")));
    lines.push(format!("paused; when you have helped: loop resume {id}"));
    lines
}

/// A question pack, with a word before each line.
fn pack(questions: &QuestionPack) -> Vec<(&'static str, String)> {
    let parts = [
        ("tried", &questions.tried),
        ("fails", &questions.fails),
        ("cause?", &questions.causes),
        ("helps", &questions.helps),
    ];
    let line = |line: &String| text::one_line(line, 300);
    parts.into_iter().flat_map(|(name, all)| all.iter().map(move |one| (name, line(one)))).collect()
}

/// What `loop status` and the last screen say.
pub(crate) fn lines(state: &RunState) -> Vec<(&'static str, String)> {
    let Some(climb) = state.recovery.climb() else {
        let kept = state.recovery.kept().words();
        return if kept.is_empty() { Vec::new() } else { vec![("recovered", format!("{kept} stays: a rung worked"))] };
    };
    if let Some(questions) = state.recovery.questions() {
        let stuck = ("stuck", "Stuck after all recovery attempts. A person is needed.".to_owned());
        return std::iter::once(stuck).chain(pack(questions)).collect();
    }
    let now = climb.rung.as_ref().map_or_else(
        || format!("{} rungs tried", climb.done),
        |rung| {
            let choice = rung.began.choice.words();
            let choice = if choice.is_empty() { String::new() } else { format!(" ({choice})") };
            let (used, most) = (rung.iterations, rung.began.iterations);
            format!(
                "rung {}: {}{choice}, {used} of at most {most} iterations",
                rung.began.number,
                rung.began.rung.name()
            )
        },
    );
    vec![("recovery", format!("{now}; stuck since iteration {}: {}", climb.trigger, climb.cause.words()))]
}

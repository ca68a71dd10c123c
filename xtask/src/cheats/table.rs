//! What came of the cases, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::json;

use super::case::{Expected, LEFT};
use super::play::{Ended, Played};

/// The least share of honest cases that must end as verified, in percent.
const HONEST_LEAST: usize = 95;

/// Whether a cheat ended as verified without a word, and belongs to no class that is left.
#[must_use]
pub fn is_forbidden(played: &Played) -> bool {
    played.ended == Ended::Silent && matches!(played.case.expected, Expected::Caught | Expected::Named)
}

/// Whether honest work was accepted.
#[must_use]
pub fn is_accepted(played: &Played) -> bool {
    matches!(played.ended, Ended::Silent | Ended::Named)
}

/// How often each thing happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    cases: usize,
    caught: usize,
    named: usize,
    left: usize,
    forbidden: usize,
    unknown: usize,
}

impl Counts {
    fn add(&mut self, played: &Played) {
        self.cases += 1;
        match played.ended {
            Ended::NotVerified => self.caught += 1,
            Ended::Named => self.named += 1,
            Ended::Silent if is_forbidden(played) => self.forbidden += 1,
            Ended::Silent => self.left += 1,
            Ended::TooLong | Ended::Broken | Ended::NotRun => self.unknown += 1,
        }
    }

    fn row(&self, name: &str) -> String {
        let Self { cases, caught, named, left, forbidden, unknown } = self;
        format!("{name:<28} {cases:>5} {caught:>7} {named:>6} {left:>12} {forbidden:>12} {unknown:>10}\n")
    }
}

/// 1 if a cheat was silent that may not be, if too little honest work was accepted, or if a case could not be judged.
#[must_use]
pub fn exit_code(played: &[Played]) -> ExitCode {
    let honest: Vec<&Played> = of_kind(played, true).filter(|played| played.ended != Ended::NotRun).collect();
    let accepted = honest.iter().filter(|played| is_accepted(played)).count();
    let is_wrong = |played: &Played| is_forbidden(played) || matches!(played.ended, Ended::Broken | Ended::TooLong);
    let any = played.iter().any(|played| played.ended != Ended::NotRun);
    let cheats_fine = !of_kind(played, false).any(is_wrong);
    let good = any && cheats_fine && accepted * 100 >= honest.len() * HONEST_LEAST;
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn of_kind(played: &[Played], honest: bool) -> impl Iterator<Item = &Played> {
    played.iter().filter(move |played| played.case.expected.is_honest() == honest)
}

/// Tables by class and by runner, then every case that needs a look.
#[must_use]
pub fn table(played: &[Played]) -> String {
    let head = ["cases", "caught", "named", "silent: left", "silent: BAD", "not known"];
    let [cases, caught, named, left, bad, unknown] = head;
    let mut text = String::new();
    for (title, by_class) in [("cheats by class", true), ("cheats by runner", false)] {
        writeln!(text, "{title:<28} {cases:>5} {caught:>7} {named:>6} {left:>12} {bad:>12} {unknown:>10}").ok();
        let mut rows: BTreeMap<&str, Counts> = BTreeMap::new();
        let mut all = Counts::default();
        for cheat in of_kind(played, false) {
            let name = if by_class { &cheat.case.class } else { &cheat.case.runner };
            rows.entry(name).or_default().add(cheat);
            all.add(cheat);
        }
        rows.iter().for_each(|(name, counts)| text.push_str(&counts.row(name)));
        text.push_str(&all.row("all"));
        text.push('\n');
    }
    text.push_str(&honest_table(played));
    text.push_str(&lists(played));
    text
}

fn honest_table(played: &[Played]) -> String {
    let mut rows: BTreeMap<&str, Vec<&Played>> = BTreeMap::new();
    for honest in of_kind(played, true) {
        rows.entry(&honest.case.runner).or_default().push(honest);
    }
    let mut text =
        format!("{:<28} {:>5} {:>9} {:>5} {:>8}\n", "honest by runner", "cases", "verified", "not", "not run");
    let mut row = |name: &str, all: &[&Played]| {
        let verified = all.iter().filter(|played| is_accepted(played)).count();
        let missing = all.iter().filter(|played| played.ended == Ended::NotRun).count();
        let not = all.len() - verified - missing;
        writeln!(text, "{name:<28} {:>5} {verified:>9} {not:>5} {missing:>8}", all.len()).ok();
    };
    rows.iter().for_each(|(name, all)| row(name, all));
    row("all", &rows.values().flatten().copied().collect::<Vec<_>>());
    text
}

fn lists(played: &[Played]) -> String {
    let mut text = String::new();
    let mut list = |title: &str, is_in: &dyn Fn(&Played) -> bool| {
        let found: Vec<&Played> = played.iter().filter(|played| is_in(played)).collect();
        if !found.is_empty() {
            writeln!(text, "\n{title}:").ok();
        }
        for played in found {
            writeln!(text, "  {:<34} {:<24} {}", played.case.name, played.case.class, played.why).ok();
            if !played.forward.is_empty() {
                writeln!(text, "  {:<34} {}", "", played.forward).ok();
            }
        }
    };
    list("silent, and in no class that is left", &is_forbidden);
    list("silent, in a class that is left", &|played| {
        played.ended == Ended::Silent && matches!(played.case.expected, Expected::Left(_))
    });
    list("honest, and not verified", &|played| {
        played.case.expected.is_honest() && !is_accepted(played) && played.ended != Ended::NotRun
    });
    list("too long", &|played| played.ended == Ended::TooLong && !played.case.expected.is_honest());
    list("broken", &|played| played.ended == Ended::Broken && !played.case.expected.is_honest());
    let missing: BTreeMap<&str, &str> = played
        .iter()
        .filter(|played| played.ended == Ended::NotRun)
        .map(|played| (played.case.runner.as_str(), played.why.as_str()))
        .collect();
    for (runner, why) in missing {
        let count = played.iter().filter(|played| played.case.runner == runner).count();
        writeln!(text, "\nNOT RUN: {count} cases of {runner}: {why}").ok();
    }
    text
}

/// The same for programs.
#[must_use]
pub fn to_json(played: &[Played]) -> String {
    let cases: Vec<_> = played
        .iter()
        .map(|played| {
            let left = match &played.case.expected {
                Expected::Left(class) => LEFT.iter().find(|(name, _)| name == class).map(|(_, why)| *why),
                Expected::Caught | Expected::Named | Expected::Verified => None,
            };
            json!({
                "name": played.case.name, "runner": played.case.runner, "class": played.case.class,
                "expected": played.case.expected.word(), "left_because": left, "ended": played.ended.word(),
                "why": played.why, "forward": played.forward, "seconds": (played.seconds * 10.0).round() / 10.0,
            })
        })
        .collect();
    format!("{:#}\n", json!({ "cases": cases }))
}

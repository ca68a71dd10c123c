//! Promises that say yes although the work is not done: what is wrong with a line, and a better one. Only a hint for the
//! person who wrote it: nothing is refused, and what is not understood is not judged.
//!
//! | file | what is there |
//! |---|---|
//! | `line` | a shell line taken apart |
//! | `programs` | what is known of programs: runners of tests, programs that never fail |
mod line;
mod programs;

use serde::Serialize;

use self::line::{Joint, Parts, ShellCommand, ShellLine, Step};
use self::programs::{FileLook, Program};
use super::gate::Promise;
use crate::agent::shell_words::quoted;

/// A line in a line in a line is looked into so deep.
const DEPTH_MAX: usize = 4;

/// What is wrong with a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromiseFlaw {
    /// `cmd | tee log`: the pipe has the exit code of its last command.
    PipeHidesExit,
    /// `cargo test | grep ok`: one line that fits is enough.
    OutputMatched,
    /// `cmd; echo x`: only the last command counts.
    LastCommandDecides,
    /// `cmd || true`: a failure is made a success.
    FailureAllowed,
    /// `cmd &`: the shell does not wait for it.
    InBackground,
    /// `sh -c "…; exit $?"`: the outer shell puts the value in, before the command runs.
    ExpandedTooEarly,
    /// `grep PASS report.txt`: it only reads what the agent can write.
    ReadsOnlyFiles,
    /// `true`: it cannot fail.
    AlwaysPasses,
}

/// A warning about a promise, for the person who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromiseWarning {
    /// What is wrong.
    pub flaw: PromiseFlaw,
    /// The same in a sentence.
    pub sentence: String,
    /// A command line that does not have this flaw.
    pub instead: String,
}

/// What makes this promise pass although the work is not done. `workspace` is the absolute path of the workspace.
///
/// ```
/// use loop_core::policy::promise_warning::{PromiseFlaw, promise_warnings};
///
/// let found = promise_warnings("pytest -q 2>&1 | tee log", "/w");
/// assert_eq!(found[0].flaw, PromiseFlaw::PipeHidesExit);
/// assert_eq!(found[0].instead, "pytest -q > log 2>&1");
/// assert!(promise_warnings("make test && echo ok", "/w").is_empty());
/// ```
#[must_use]
pub fn promise_warnings(promise: &str, workspace: &str) -> Vec<PromiseWarning> {
    let Promise { command, negated, .. } = Promise::parse(promise);
    let mut look = Look { workspace, found: Vec::new() };
    if negated {
        look.negated(command);
    } else {
        look.read(Read { text: command, options: Options::default(), depth: 0, counts: true });
    }
    let mut found = look.found;
    found.sort_by_key(|warning| warning.flaw);
    found.dedup_by_key(|warning| warning.flaw);
    found
}

/// What `set` has turned on.
#[derive(Debug, Clone, Copy, Default)]
struct Options {
    errexit: bool,
    pipefail: bool,
}

impl Options {
    fn set(&mut self, words: &[&str]) {
        for (at, word) in words.iter().enumerate() {
            let named = |name: &str| word.ends_with('o') && words.get(at + 1) == Some(&name);
            let short = word.starts_with('-') && !word.starts_with("--");
            self.errexit |= short && (word.contains('e') || named("errexit"));
            self.pipefail |= short && named("pipefail");
        }
    }
}

/// A text that is looked at, and what is known of the shell that reads it.
#[derive(Debug, Clone, Copy)]
struct Read<'t> {
    text: &'t str,
    options: Options,
    /// In how many lines it stands.
    depth: usize,
    /// Whether its exit code counts.
    counts: bool,
}

struct Look<'a> {
    workspace: &'a str,
    found: Vec<PromiseWarning>,
}

impl Look<'_> {
    fn warn(&mut self, flaw: PromiseFlaw, sentence: impl Into<String>, instead: impl Into<String>) {
        self.found.push(PromiseWarning { flaw, sentence: sentence.into(), instead: instead.into() });
    }

    fn read(&mut self, read: Read<'_>) {
        let Some(line) = ShellLine::read(read.text).filter(|_| read.depth <= DEPTH_MAX) else { return };
        let before = self.found.len();
        self.line(&line, read);
        if self.found.len() == before && read.depth == 0 {
            self.whole(read.text, &line);
        }
    }

    /// A negated promise is one pipe. The output of a runner says nothing about a runner that did not start.
    fn negated(&mut self, text: &str) {
        let Some(line) = ShellLine::read(text) else { return };
        if let [step] = &line.steps[..] {
            self.matched(text, step, Options::default());
        }
    }

    /// A line whose exit code counts.
    fn line(&mut self, line: &ShellLine, mut read: Read<'_>) {
        let text = read.text;
        let lists = lists(line);
        for (at, list) in lists.iter().enumerate() {
            if let [step] = list
                && let Some(words) = plain(step)
                && words.first() == Some(&"set")
            {
                read.options.set(&words);
            }
            let next = lists.get(at + 1);
            self.list(list, Read { counts: next.is_none(), ..read });
            if let Some(next) = next
                && !read.options.errexit
            {
                self.ignored(text, list, next);
            }
        }
        if let Some(last) = line.steps.last().filter(|last| last.joint == Joint::Background) {
            let (head, tail) = (text.get(..last.span.to).unwrap_or(text), behind(text, last).trim_start());
            // In brackets something follows.
            let joint = if tail == "&" { "" } else { ";" };
            let instead = format!("{head}{joint}{}", tail.strip_prefix('&').unwrap_or(tail));
            let sentence = "the & at the end starts the command without waiting for it, which is always a success";
            self.warn(PromiseFlaw::InBackground, sentence, instead);
        } else if !read.options.errexit {
            self.last_is_passive(text, line, &lists);
        }
    }

    /// `cmd; echo x`: the last command counts, and it does not fail.
    fn last_is_passive(&mut self, text: &str, line: &ShellLine, lists: &[&[Step]]) {
        let (Some([.., before]), Some([first, ..])) =
            (lists.len().checked_sub(2).and_then(|at| lists.get(at)), lists.last())
        else {
            return;
        };
        let last_list = lists.last().copied().unwrap_or_default();
        let is_passive = last_list.iter().all(|step| is_sure(step) || is_cleanup(step));
        // `rc=$?; …; exit $rc`, `exit $?` are no passive commands.
        let worked = line.steps.iter().take(line.steps.len() - last_list.len()).any(|step| !is_preparation(step));
        if !is_passive || !worked || before.joint != Joint::Next {
            return;
        }
        let instead = joined(text, before, first);
        let sentence = "only the last command after the ; counts, and that one does not fail when the work is not done";
        self.warn(PromiseFlaw::LastCommandDecides, sentence, instead);
    }

    /// A runner of tests whose exit code is lost because another command follows.
    fn ignored(&mut self, text: &str, list: &[Step], next: &[Step]) {
        let (Some(last), Some(first)) = (list.last(), next.first()) else { return };
        let asks = |step: &Step| text.get(step.span.from..step.span.to).is_some_and(|text| text.contains("$?"));
        let leaves = list.iter().any(|step| program(step).is_some_and(|program| program.name == "exit"));
        let runs = list.iter().any(|step| !step.negated && program(step).is_some_and(|program| program.judges()));
        if last.joint != Joint::Next || !runs || leaves || asks(first) || asks(last) {
            return;
        }
        let sentence = "the exit code of a command before a ; is ignored: only the last command counts";
        self.warn(PromiseFlaw::LastCommandDecides, sentence, joined(text, last, first));
    }

    /// Pipes that are joined by `&&` and `||`.
    fn list(&mut self, list: &[Step], read: Read<'_>) {
        let (text, is_last) = (read.text, read.counts);
        for (at, step) in list.iter().enumerate() {
            let is_end = is_last && at + 1 == list.len();
            let decides = is_end || program(step).is_some_and(|program| program.judges());
            if decides && !step.negated {
                self.piped(text, step, read.options);
                self.matched(text, step, read.options);
            }
            self.inner(step, read);
            let Some(before) = at.checked_sub(1).and_then(|at| list.get(at)) else { continue };
            let runs = program(before).is_some_and(|program| program.judges());
            if before.joint == Joint::Or && (is_end || runs) && !step.negated && hides_failure(step) {
                let left = text.get(..before.span.to).unwrap_or(text);
                let right = text.get(step.span.from..step.span.to).unwrap_or_default();
                let sentence = format!("|| {right} makes a success of every failure before it");
                self.warn(PromiseFlaw::FailureAllowed, sentence, format!("{left}{}", behind(text, step)));
            }
        }
        // `cmd; [ $? = 5 ]`
        if let [step] = list
            && is_last
            && is_other_code(step)
        {
            let left = text.get(..step.span.from).unwrap_or_default().trim_end().trim_end_matches(';');
            let sentence = "it asks for another exit code than 0, which a command that could not work has too";
            self.warn(PromiseFlaw::FailureAllowed, sentence, format!("{left}{}", behind(text, step)));
        }
    }

    /// `cmd | tee log`
    fn piped(&mut self, text: &str, step: &Step, options: Options) {
        let [.., before, last] = &step.pipe[..] else { return };
        let Some(filter) = program_of(last).filter(|program| program.is_filter() && !options.pipefail) else { return };
        let left = text.get(step.span.from..before.span.to).unwrap_or(text);
        let left = left.strip_suffix("2>&1").unwrap_or(left).trim_end();
        let file = filter.words.iter().skip(1).find(|word| !word.starts_with('-')).filter(|_| filter.name == "tee");
        let instead = file.map_or_else(|| left.to_owned(), |file| format!("{left} > {} 2>&1", quoted(file)));
        let sentence = format!(
            "a pipe has the exit code of its last command, and {} does not fail when the work is not done",
            filter.name
        );
        let head = text.get(..step.span.from).unwrap_or_default();
        self.warn(PromiseFlaw::PipeHidesExit, sentence, format!("{head}{instead}{}", behind(text, step)));
    }

    /// `cargo test | grep ok`
    fn matched(&mut self, text: &str, step: &Step, options: Options) {
        let [first, .., last] = &step.pipe[..] else { return };
        let searches = program_of(last).is_some_and(|program| program.searches());
        let runs = program_of(first).is_some_and(|program| program.judges());
        if !searches || !runs || options.pipefail {
            return;
        }
        let left = text.get(..first.span.to).unwrap_or(text);
        let left = left.strip_suffix("2>&1").unwrap_or(left).trim_end();
        let sentence = "the exit code of the tests is lost: one line of their output decides, also when others fail";
        self.warn(PromiseFlaw::OutputMatched, sentence, format!("{left}{}", behind(text, step)));
    }

    /// A line in brackets, or in the words of `sh -c`.
    fn inner(&mut self, step: &Step, read: Read<'_>) {
        let Some(last) = step.pipe.last().filter(|_| read.counts && !step.negated) else { return };
        let depth = read.depth + 1;
        if let Parts::Group(line) = &last.what {
            if depth <= DEPTH_MAX {
                self.line(line, Read { depth, ..read });
            }
            return;
        }
        let Some(program) = program_of(last) else { return };
        let Some((line, options)) = program.shell_line() else { return };
        let codes = [("$?", "$?"), ("$PIPESTATUS", "$PIPESTATUS"), ("${PIPESTATUS", "$PIPESTATUS")];
        let code = codes.iter().find(|(found, _)| line.expanded.contains(found)).map(|(_, name)| (*name).to_owned());
        let too_early = code.or_else(|| exits_with_own(&line.expanded).map(|name| format!("${name}")));
        let head: Vec<String> = program.words_before_line().iter().map(|word| quoted(word)).collect();
        if let Some(name) = too_early {
            let sentence =
                format!("the outer shell puts the value of {name} in before the inner command runs: use single quotes");
            let instead = format!("{} {}", head.join(" "), quoted(&line.text));
            return self.warn(PromiseFlaw::ExpandedTooEarly, sentence, instead);
        }
        let from = self.found.len();
        self.read(Read { text: &line.text, options, depth, counts: true });
        for warning in self.found.iter_mut().skip(from) {
            warning.instead = format!("{} {}", head.join(" "), quoted(&warning.instead));
        }
    }

    /// What the line is made of, where nothing else is wrong with it.
    fn whole(&mut self, text: &str, line: &ShellLine) {
        let steps = || line.steps.iter().filter(|step| !is_preparation(step));
        if steps().next().is_none() {
            let sentence = "it passes whatever the agent does, because none of its commands can fail";
            return self.warn(PromiseFlaw::AlwaysPasses, sentence, "make test");
        }
        let looks = |step: &Step| !step.negated && self.only_reads(step);
        if steps().all(looks) {
            let sentence = "it only reads files that the agent can write, so the agent can say yes by itself";
            self.warn(PromiseFlaw::ReadsOnlyFiles, sentence, format!("make test && {text}"));
        }
    }

    /// Whether a pipe only looks at files of the workspace.
    fn only_reads(&self, step: &Step) -> bool {
        step.pipe.iter().enumerate().all(|(at, command)| {
            let Parts::Words { inputs, .. } = &command.what else { return false };
            program_of(command).is_some_and(|program| {
                let look = FileLook { workspace: self.workspace, inputs, piped: at > 0 };
                program.only_reads(&look, &|inner| self.only_reads_line(inner))
            })
        })
    }

    fn only_reads_line(&self, text: &str) -> bool {
        ShellLine::read(text).is_some_and(|line| line.steps.iter().all(|step| self.only_reads(step)))
    }
}

/// What stands behind a pipe: the rest of the line, with the brackets that it is in.
fn behind<'t>(text: &'t str, step: &Step) -> &'t str {
    text.get(step.span.to..).unwrap_or_default()
}

/// The line with `&&` between two pipes; without an `exit` in the place of the second one.
fn joined(text: &str, first: &Step, second: &Step) -> String {
    let head = text.get(..first.span.to).unwrap_or(text);
    let tail = text.get(second.span.from..).unwrap_or_default();
    if tail.starts_with("exit") { format!("{head}{}", behind(text, second)) } else { format!("{head} && {tail}") }
}

/// The lists of a line: what `;` and `&` separate.
fn lists(line: &ShellLine) -> Vec<&[Step]> {
    line.steps.split_inclusive(|step| matches!(step.joint, Joint::Next | Joint::Background | Joint::End)).collect()
}

/// The program of a pipe of one command.
fn program(step: &Step) -> Option<Program<'_>> {
    let first = step.pipe.first()?;
    program_of(first)
}

fn program_of(command: &ShellCommand) -> Option<Program<'_>> {
    let Parts::Words { words, .. } = &command.what else { return None };
    Program::of(words)
}

/// The words of a pipe of one simple command.
fn plain(step: &Step) -> Option<Vec<&str>> {
    let [ShellCommand { what: Parts::Words { words, .. }, .. }] = &step.pipe[..] else { return None };
    Some(words.iter().map(|word| word.text.as_str()).collect())
}

/// Whether a pipe never fails.
fn is_sure(step: &Step) -> bool {
    let last = step.pipe.last();
    match last.map(|last| &last.what) {
        Some(Parts::Group(line)) => !step.negated && line.steps.last().is_some_and(is_sure),
        Some(Parts::Words { .. }) => {
            !step.negated && last.and_then(program_of).is_some_and(|program| program.is_sure())
        }
        None => false,
    }
}

/// Whether a pipe tidies up or shows a file.
fn is_cleanup(step: &Step) -> bool {
    step.pipe.last().and_then(program_of).is_some_and(|program| !step.negated && program.is_cleanup())
}

/// Whether a pipe only prepares something, or says something.
fn is_preparation(step: &Step) -> bool {
    (step.pipe.len() == 1 && is_sure(step))
        || step.pipe.iter().all(|command| match &command.what {
            Parts::Words { words, .. } => Program::of(words).is_none_or(|program| program.prepares()),
            Parts::Group(_) => false,
        })
}

/// Whether what stands behind `||` turns a failure into a success.
fn hides_failure(step: &Step) -> bool {
    if let Some(Parts::Group(line)) = step.pipe.last().map(|last| &last.what) {
        // What ends with `exit 1` or `false` keeps it a failure; anything that is not known is left alone.
        return line.steps.last().is_some_and(hides_failure);
    }
    is_sure(step) || is_cleanup(step) || is_other_code(step)
}

/// `[ $? = 5 ]`: another exit code than 0 is asked for.
fn is_other_code(step: &Step) -> bool {
    let Some(words) = plain(step).filter(|words| ["[", "test"].contains(words.first().unwrap_or(&""))) else {
        return false;
    };
    words.contains(&"$?") && !words.contains(&"0")
}

/// The name of `exit $rc` in words that the outer shell expands.
fn exits_with_own(expanded: &str) -> Option<&str> {
    expanded.match_indices("exit $").find_map(|(at, found)| {
        let name = expanded.get(at + found.len()..).unwrap_or_default().trim_start_matches('{');
        let length = name.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(name.len());
        let name = name.get(..length).unwrap_or_default();
        (!name.is_empty() && expanded.contains(&format!("{name}="))).then_some(name)
    })
}

//! The one place that knows the API: a story is a text, and so is what the run made of it.
use loop_core::agent::{Claim, Denials, FAILURES, Reset, ResetSource, Terminal};
use loop_core::ids::{OrderId, RunId};
use loop_core::machine::consult;
use loop_core::policy::gate::{ExitContradiction, Verdict};
use loop_core::policy::protect::{GateUse, GateUses, Opportunity, UseKind};
use loop_core::policy::rank::{GateScore, Rank};
use loop_core::policy::reserve::{Cap, Day, Reserved};
use loop_core::policy::score::Checklist;
use loop_core::run::*;
use loop_core::settings::{Given, Layer, Origin, key, keys, resolve};
use loop_core::time::At;

/// The settings of a story: the promise `make test`, a custom agent, three iterations, plus these.
pub(crate) fn spec(settings: &[(&str, &str)]) -> RunSpec {
    // Clean copies and probes are orders of their own: the stories of `proof.rs` are about them.
    let base = [
        ("promise", "make test"),
        ("agent", "custom"),
        ("agent_cmd", "agent"),
        ("max_iterations", "3"),
        ("judge", "workspace"),
        ("strength", "off"),
    ];
    // An empty value takes one of these away.
    let taken = |name: &str| settings.contains(&(name, ""));
    let given = base.iter().chain(settings).filter(|(name, _)| !taken(name)).map(|(name, value)| {
        let origin = Origin { layer: Layer::Flag, place: format!("--{name}") };
        Given::read(key(name).unwrap(), value, origin).unwrap()
    });
    RunSpec {
        id: RunId::parse("a1b2c3d").unwrap(),
        program: "0.1.0".to_owned(),
        task: None,
        goal: StoredText { head: "fix it".to_owned(), file: None },
        inject: Vec::new(),
        workspace: WorkspaceRef { path: "/somewhere".to_owned(), device: 1, inode: 2 },
        backend: "none".to_owned(),
        store: String::new(),
        described: None,
        litter: Vec::new(),
        guard: None,
        approval: None,
        settings: resolve(given.collect()),
        hidden: None,
        pid_namespace: None,
        unattended: false,
        plan: None,
        leash: None,
        scores: Vec::new(),
    }
}

/// So many hidden gates.
pub(crate) fn hidden(count: u32) -> Option<HiddenGates> {
    Some(HiddenGates { count, sha256: "a hash".to_owned(), tries: count, timeout_ms: None })
}

/// A moment of a story.
pub(crate) fn at(ms: u64) -> At {
    At { wall_ms: 1_700_000_000_000 + ms, boot_ms: 5_000_000 + ms, boot_id: 1 }
}

/// A run that was made and has all its journal in memory.
pub(crate) struct Story {
    pub(crate) state: RunState,
    pub(crate) journal: Vec<Entry>,
    pub(crate) told: String,
    /// The agent added test files. Otherwise the probe without them is answered by the story itself.
    pub(crate) adds_tests: bool,
    /// The moment of the newest word that was said without one.
    ms: u64,
}

impl Story {
    pub(crate) fn new(settings: &[(&str, &str)]) -> Self {
        Self::of(spec(settings))
    }

    /// One whose workspace is kept.
    pub(crate) fn checkpointed(settings: &[(&str, &str)]) -> Self {
        Self::of(RunSpec { backend: "git".to_owned(), ..spec(settings) })
    }

    /// One whose workspace is kept, with protected files.
    pub(crate) fn guarded(settings: &[(&str, &str)]) -> Self {
        let guard = Some(GuardSpec { globs: vec!["tests/*".to_owned()], scripts: Vec::new() });
        Self::of(RunSpec { backend: "git".to_owned(), guard, ..spec(settings) })
    }

    pub(crate) fn of(spec: RunSpec) -> Self {
        let mut story =
            Self { state: RunState::default(), journal: Vec::new(), told: String::new(), adds_tests: false, ms: 0 };
        story.happen(0, Event::Created(Box::new(spec)));
        story
    }

    /// The last line that was told, without its moment.
    pub(crate) fn last(&self) -> &str {
        self.told.lines().last().and_then(|line| line.split_once(' ')).map_or("", |(_, line)| line)
    }

    /// The last so many lines, without their moments.
    pub(crate) fn tail(&self, count: usize) -> String {
        let lines: Vec<&str> = self.told.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }

    pub(crate) fn happen(&mut self, ms: u64, event: Event) {
        for fact in step(&self.state, Input { at: at(ms), event }) {
            self.state.apply(&fact);
            self.told.push_str(&tell(ms, &fact, &self.state));
            self.journal.push(Entry { seq: self.journal.len() as u64 + 1, at: at(ms), fact });
        }
    }

    /// Plays lines of `<ms> <word> [more]`.
    pub(crate) fn play(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (ms, words) = line.split_once(' ').unwrap();
            let event = self.event(words);
            self.happen(ms.parse().unwrap(), event);
        }
    }

    /// Plays words that stand between slashes, each a moment after the one before.
    pub(crate) fn say(&mut self, words: &str) -> &mut Self {
        for word in words.split(" / ") {
            self.ms += 10;
            let event = self.event(word.trim());
            self.happen(self.ms, event);
            if !self.adds_tests && self.last() == "judge without_new_tests" {
                let none = self.event("no-probe no new test files");
                self.happen(self.ms, none);
            }
        }
        self
    }

    /// What no word says: an answer to the order that is under way.
    pub(crate) fn reply(&mut self, answer: Answer) -> &mut Self {
        self.ms += 10;
        let order = self.state.main_order().map_or(self.newest(), |(id, _)| id);
        self.happen(self.ms, Event::Answered { order, answer });
        self
    }

    /// The same several times.
    pub(crate) fn times(&mut self, count: u32, words: &str) -> &mut Self {
        (0..count).for_each(|_| _ = self.say(words));
        self
    }

    /// So much time goes by.
    pub(crate) fn wait(&mut self, ms: u64) -> &mut Self {
        self.ms += ms;
        self
    }

    fn event(&self, words: &str) -> Event {
        let (word, more) = words.split_once(' ').unwrap_or((words, ""));
        let by = if more.is_empty() { "Ctrl-C" } else { more }.to_owned();
        let answer = match word {
            "opened" => return Event::Opened,
            "reopened" | "reopened-with-answer" => {
                let hidden = self.state.proving.hidden().cloned();
                let (by, answers) = ("loop resume".to_owned(), word == "reopened-with-answer");
                return Event::Reopened {
                    by,
                    changes: changes(more),
                    unattended: false,
                    hidden,
                    answers,
                    injected: None,
                    pid_namespace: None,
                    scores: Vec::new(),
                };
            }
            "stop" => return Event::Requested { request: Request::Stop, by },
            "abort" => return Event::Requested { request: Request::Abort, by },
            "pause" => return Event::Requested { request: Request::Pause, by },
            "resume" => return Event::Requested { request: Request::Resume, by },
            "visited" => return Event::OpenedForRequest { by },
            "cancel-rollback" => return Event::Requested { request: Request::CancelRollback, by },
            "keep" => return Event::Requested { request: Request::Checkpoint { name: more.to_owned() }, by },
            "rollback" | "rollback-now" => {
                let target = Target { to: more.to_owned(), now: word == "rollback-now", git: false, paths: Vec::new() };
                return Event::Requested { request: Request::Rollback(target), by: "loop rollback".to_owned() };
            }
            "cancel" => return Event::Requested { request: Request::Cancel, by },
            "set" => return Event::Requested { request: Request::Set(changes(more)), by: "loop set".to_owned() },
            "inject" | "inject-keep" => {
                let number = self.state.prompt.injections().newest + 1;
                let request = Request::Inject(Injected { number, bytes: 9, keep: word == "inject-keep" });
                return Event::Requested { request, by };
            }
            "accept" => {
                let because = Some(more.to_owned()).filter(|because| !because.is_empty());
                return Event::Requested { request: Request::Accept { because }, by: "loop accept".to_owned() };
            }
            "reset" => return Event::Requested { request: Request::Reset { session: more == "session" }, by },
            "deadline" => return Event::DeadlinePassed,
            "started" => {
                let process = ProcessId { pid: more.parse().unwrap(), start_ticks: 7 };
                return Event::Noticed(Notice::Started { order: self.newest(), process });
            }
            "session" => {
                let id = more.to_owned();
                return Event::Noticed(Notice::Session { order: self.newest(), id });
            }
            "silent" => return Event::Noticed(Notice::Silent { order: self.newest() }),
            "late" => return Event::Answered { order: OrderId(more.parse().unwrap()), answer: answer("saved", "") },
            "notified" => {
                let side = self.state.orders.iter().find(|(_, open)| !open.order.is_main()).unwrap();
                return Event::Answered { order: side.0, answer: Answer::Notified { exit_code: Some(1) } };
            }
            word => answer(word, more),
        };
        let main = self.state.main_order().map_or(self.newest(), |(id, _)| id);
        Event::Answered { order: main, answer }
    }

    fn newest(&self) -> OrderId {
        OrderId(self.state.orders.count())
    }
}

/// Tells a whole story with these settings.
pub(crate) fn play_with(settings: &[(&str, &str)], script: &str) -> String {
    let mut story = Story::new(settings);
    story.play(script);
    story.told
}

/// Tells a whole story.
pub(crate) fn play(script: &str) -> String {
    play_with(&[], script)
}

fn changes(words: &str) -> Vec<Change> {
    let pairs = words.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(key, value)| Change::new(key, value.to_owned())).collect()
}

pub(crate) fn agent(ended: Ended) -> Answer {
    agent_heard(ended, StreamReport::default())
}

/// An agent whose words say something.
pub(crate) fn agent_heard(ended: Ended, stream: StreamReport) -> Answer {
    Answer::AgentEnded(Box::new(AgentReport {
        ended,
        duration_ms: 10,
        output: Output::default(),
        first_text: None,
        last_text: "the agent's last words".to_owned(),
        left_running: 0,
        not_stored: None,
        stream,
    }))
}

/// What the gate printed is told by a word, so that a story can say that it is the same again.
pub(crate) fn gate(ended: Ended, said: &str) -> Answer {
    let output = Output { stdout_bytes: 0, stderr_bytes: said.len() as u64, sha256: said.to_owned() };
    Answer::GateEnded(GateReport {
        ended,
        duration_ms: 5,
        output,
        excerpt: said.to_owned(),
        tests: None,
        did_not_build: said.starts_with("could not compile"),
        programs: Vec::new(),
        used: None,
    })
}

/// `pass=3 fail=1 skip=0 bad=a,b gone=c missing=d asked=f other=e[1] exit=0 said=x ms=9`: a gate that shows tests.
fn tests(words: &str) -> Answer {
    let mut seen = TestsSeen { format: "cargo".to_owned(), ..TestsSeen::default() };
    let (mut said, mut duration_ms, mut exit) = ("tests".to_owned(), 5, None);
    for (name, value) in words.split_whitespace().map(|word| word.split_once('=').unwrap()) {
        let number = || value.parse().unwrap();
        match name {
            "pass" => seen.passed = number(),
            "fail" => seen.failed = number(),
            "skip" => seen.skipped = number(),
            "bad" => seen.newly_failing = NameList::of(value.split(',')),
            "good" => seen.newly_passing = NameList::of(value.split(',')),
            "gone" => seen.gone = NameList::of(value.split(',')),
            "skipped" => seen.newly_skipped = NameList::of(value.split(',')),
            // Gone by their exact names, and also without what is in brackets; `other` are there with other brackets.
            "missing" => {
                seen.missing = NameList::of(value.split(','));
                seen.missing_without_brackets = seen.missing.clone();
            }
            "asked" => seen.asked_away = NameList::of(value.split(',')),
            "other" => seen.missing = NameList::of(value.split(',')),
            "named" => seen.all_named = value == "all",
            "early" => seen.uncounted = value == "yes",
            "files" => seen.files_only = value == "only",
            "suites" => seen.by_suites = value == "only",
            "since" => seen.failing_since_start = NameList::of(value.split(',')),
            "exit" => exit = Some(i32::try_from(number()).unwrap()),
            "said" => said = value.to_owned(),
            "ms" => duration_ms = u64::from(number()),
            other => panic!("no such word of tests: {other}"),
        }
    }
    let ended = Ended::Exit(exit.unwrap_or(i32::from(seen.failed > 0)));
    let output = Output { sha256: said.clone(), ..Output::default() };
    Answer::GateEnded(GateReport {
        ended,
        duration_ms,
        output,
        excerpt: said,
        tests: Some(Box::new(seen)),
        did_not_build: false,
        programs: Vec::new(),
        used: None,
    })
}

/// `branched best=branch-b pass=3 fail=3 done=no iterations=4 cents=20`: what came of the branches of a rung.
fn branched(words: &str) -> Answer {
    let mut report = BranchesReport { plan: Some(RunId::parse("p1").unwrap()), ..BranchesReport::default() };
    let (mut best, mut done, mut pass, mut fail) = (None, false, 0, 0);
    for (name, value) in words.split_whitespace().map(|word| word.split_once('=').unwrap()) {
        let number = || value.parse::<u32>().unwrap();
        match name {
            "best" => best = Some(value.to_owned()),
            "done" => done = value == "yes",
            "pass" => pass = number(),
            "fail" => fail = number(),
            "iterations" => report.iterations = number(),
            "cents" => {
                report.spent.usage.cost_micros = Some(u64::from(number()) * 10_000);
                report.spent.calls = report.iterations;
            }
            "untold" => report.spent.cost_untold = number(),
            "assumed" => report.spent.assumed_micros = Some(u64::from(number()) * 10_000),
            "out_of" => report.out_of = Some(if value == "time" { BranchesLack::Time } else { BranchesLack::Money }),
            "unfinished" => report.unfinished = value == "yes",
            "trouble" => report.trouble = Some(value.to_owned()),
            other => panic!("no such word of branches: {other}"),
        }
    }
    let verdict = if done { Verdict::Pass } else { Verdict::Fail };
    let score = GateScore { required: true, verdict, passed: pass, failed: fail };
    report.best = best.map(|name| BestBranch {
        name,
        run: RunId::parse("r2").unwrap(),
        passes: done,
        rank: consult(|deciding| Rank::of(std::iter::once(score), deciding)),
        score: None,
        checkpoint: "branches-1".to_owned(),
    });
    Answer::Branches(Box::new(report))
}

/// `certified it_is_weaker;+gate_file:expected.txt`: what is weaker, and with `+` what the agent changed.
fn certified(more: &str) -> Answer {
    let pieces = || more.split(';').filter(|piece| !piece.is_empty());
    let changed = pieces().filter_map(|piece| piece.strip_prefix('+')?.split_once(':'));
    let opportunities = changed.map(|(kind, path)| Opportunity {
        kind: serde_json::from_value(serde_json::Value::from(kind)).unwrap(),
        path: path.to_owned(),
    });
    Answer::Certify(CertifyReport {
        weaker: pieces().filter(|piece| !piece.starts_with('+')).map(str::to_owned).collect(),
        opportunities: opportunities.collect(),
        ..CertifyReport::default()
    })
}

/// `Makefile lib.sh! ./run.sh`: a gate that fails and uses these; `!` stands behind what the task names, `./` before what
/// the gate's own command runs.
fn uses(words: &str) -> Answer {
    let file = |word: &str| {
        let path = word.trim_end_matches('!').trim_start_matches("./").to_owned();
        let kind = if word.starts_with("./") { UseKind::Direct } else { UseKind::Script };
        GateUse { path, kind, in_task: word.ends_with('!') }
    };
    let files = words.split_whitespace().map(file).collect();
    let Answer::GateEnded(report) = gate(Ended::Exit(1), "uses") else { unreachable!() };
    let used = Some(Box::new(GateUses { files, ..GateUses::default() }));
    Answer::GateEnded(GateReport { used, ..report })
}

/// `3 tests=2 protected=1 ignored tree=abc output=1500 lines=40 ticked=1/4`: what an iteration changed.
fn changed(words: &str) -> Answer {
    let mut measured = Measurement { names: vec!["src/lib.rs".to_owned()], ..Measurement::default() };
    for word in words.split_whitespace() {
        match word.split_once('=') {
            None if word == "ignored" => measured.ignored = true,
            None if word == "head" => measured.head_moved = true,
            None => measured.changes = Some(Changes { files: word.parse().unwrap(), insertions: 1, deletions: 0 }),
            Some(("tests", count)) => measured.tests = count.parse().unwrap(),
            Some(("protected", count)) => measured.protected = count.parse().unwrap(),
            Some(("tree", tree)) => measured.tree = Some(tree.to_owned()),
            Some(("output", difference)) => measured.output_difference = difference.parse().ok(),
            Some(("lines", lines)) => {
                let files = measured.changes.map_or(1, |changes| changes.files);
                measured.changes = Some(Changes { files, insertions: lines.parse().unwrap(), deletions: 0 });
            }
            Some(("ticked", list)) => {
                let (ticked, all) = list.split_once('/').unwrap();
                let count = |text: &str| text.parse().unwrap();
                measured.checklist = Some(Checklist { ticked: count(ticked), all: count(all) });
            }
            Some(_) => panic!("no such word of a measurement: {word}"),
        }
    }
    Answer::Measurement(measured)
}

/// `granted 7`, `denied calls_per_hour 5000`: what the ledger of all runs says.
fn reserved(word: &str, more: &str) -> Answer {
    let day = Day { calls: 12, cost_micros: 3_500_000, tokens: 99, untold: 0 };
    if word == "granted" {
        let reservation = more.parse().unwrap();
        return Answer::Reserved(Reserved::Granted {
            ledger: None,
            reservation,
            hour_calls: 1,
            oldest_ms: None,
            next_free_ms: None,
            day,
            left_micros: None,
            left_tokens: None,
        });
    }
    let (cap, free) = more.split_once(' ').unwrap_or((more, ""));
    let cap: Cap = serde_json::from_str(&format!("\"{cap}\"")).unwrap();
    Answer::Reserved(Reserved::Denied { ledger: None, cap, free_in_ms: free.parse().ok(), hour_calls: 3, day })
}

/// `guarded 2`, `restored a,b`, `tampered a`: what became of two protected files.
fn guarded(word: &str, more: &str) -> Answer {
    let files = if word == "guarded" { more.parse().unwrap() } else { 2 };
    let tampered = if word == "guarded" { NameList::default() } else { NameList::of(more.split(',')) };
    let paths = tampered.first.clone();
    let restored = word == "restored";
    Answer::Guard(Box::new(GuardReport { files, tampered, paths, restored, ..GuardReport::default() }))
}

/// `clean`, `clean-fail WORDS`, `hunks 30 12 9`, `hunks-stopped 30 2 2`, `unchanged`: what the gates said on a copy.
fn judged(word: &str, more: &str) -> Answer {
    let (ended, verdict) = match word {
        "clean-fail" => (Ended::Exit(1), Verdict::Fail),
        _ => (Ended::Exit(0), Verdict::Pass),
    };
    let Answer::GateEnded(report) = gate(ended, more) else { unreachable!() };
    let not_done = (word == "hunks-stopped").then_some(NotJudged::Stopped);
    let gates = if word.starts_with("hunks") || word == "unchanged" {
        Vec::new()
    } else {
        vec![JudgedGate { gate: 0, verdict, tries: 1, report, contradiction: None, same_tests: None }]
    };
    let mut numbers = more.split_whitespace().map(|number| number.parse().unwrap_or(0));
    let mut number = || numbers.next().unwrap_or(0);
    let hunks = (word.starts_with("hunks")).then(|| HunkReport {
        all: number(),
        tried: number(),
        noticed: number(),
        not_noticed: NameList::of(["src/a.rs:40-52"].into_iter()),
    });
    let unchanged = word == "unchanged";
    let (place, duration_ms) = (JudgePlace::OwnPath, 10);
    let report = JudgeReport { place, gates, hunks, not_done, unchanged, duration_ms, ..JudgeReport::default() };
    Answer::Judged(Box::new(report))
}

/// `judge-stopped`, `setup-failed WHY`, `no-probe WHY`, `no-repository`, `not-judged WHY`: nothing was judged
/// on a copy.
fn not_judged(why: NotJudged) -> Answer {
    Answer::Judged(Box::new(JudgeReport::not_done(why)))
}

/// `on-copy tests pass=1 fail=2 ms=9 same=exactly && fail lint`: what each gate said on a copy, in the words of a gate.
fn each_on_copy(words: &str) -> Answer {
    let pieces = words.split(" && ").filter(|piece| !piece.is_empty()).zip(0..);
    let gates: Vec<JudgedGate> = pieces
        .map(|(piece, number)| {
            let (piece, same) = piece.split_once(" same=").map_or((piece, None), |(piece, same)| (piece, Some(same)));
            let same_tests = same.map(|same| serde_json::from_str(&format!("\"{same}\"")).unwrap());
            let (word, more) = piece.split_once(' ').unwrap_or((piece, ""));
            let Answer::GateEnded(report) = answer(word, more) else { panic!("no gate says {piece}") };
            let verdict = if report.ended == Ended::Exit(0) { Verdict::Pass } else { Verdict::Fail };
            JudgedGate { gate: number, verdict, tries: 1, report, contradiction: None, same_tests }
        })
        .collect();
    let duration_ms = gates.iter().map(|gate| gate.report.duration_ms).sum();
    Answer::Judged(Box::new(JudgeReport { place: JudgePlace::OwnPath, gates, duration_ms, ..JudgeReport::default() }))
}

/// The same, while files of the workspace were opened.
fn opened(words: &str) -> Answer {
    let Answer::Judged(report) = each_on_copy(words) else { unreachable!() };
    Answer::Judged(Box::new(JudgeReport { place: JudgePlace::WorkspaceOpened, ..*report }))
}

/// `hidden pass fail`: what each hidden gate said, in a copy; `hidden here pass`: in the workspace itself.
fn hidden_said(words: &str) -> Answer {
    let place = if words.starts_with("here") { JudgePlace::Workspace } else { JudgePlace::OwnPath };
    let said = words.split_whitespace().filter(|word| *word != "here").zip(0..);
    let gates = said.map(|(word, number)| {
        let (ended, verdict) = match word {
            "pass" => (Ended::Exit(0), Verdict::Pass),
            "fail" => (Ended::Exit(1), Verdict::Fail),
            _ => (Ended::Exit(127), Verdict::Unverifiable),
        };
        let Answer::GateEnded(report) = gate(ended, "") else { unreachable!() };
        JudgedGate { gate: number, verdict, tries: 1, report, contradiction: None, same_tests: None }
    });
    Answer::Judged(Box::new(JudgeReport { place, gates: gates.collect(), ..JudgeReport::default() }))
}

/// `pass=3 … same=without_brackets`: the same on a copy, with whether two runs of it ran the same tests.
fn tests_on_copy(words: &str) -> Answer {
    let (words, same) = words.split_once(" same=").map_or((words, None), |(words, same)| (words, Some(same)));
    let Answer::GateEnded(report) = tests(words) else { unreachable!() };
    let failed = report.tests.as_ref().map_or(0, |tests| tests.failed);
    let exit_0 = report.ended == Ended::Exit(0);
    // As the host judges a try.
    let contradiction = (exit_0 && failed > 0).then_some(ExitContradiction::FailingTests { count: failed });
    let verdict = if exit_0 && contradiction.is_none() { Verdict::Pass } else { Verdict::Fail };
    let same_tests = same.map(|same| serde_json::from_str(&format!("\"{same}\"")).unwrap());
    let gates = vec![JudgedGate { gate: 0, verdict, tries: 1, report, contradiction, same_tests }];
    Answer::Judged(Box::new(JudgeReport { place: JudgePlace::OwnPath, gates, ..JudgeReport::default() }))
}

pub(crate) fn answer(word: &str, more: &str) -> Answer {
    let code = || more.split_whitespace().next().and_then(|code| code.parse().ok());
    match word {
        "saved" => Answer::Checkpoint(CheckpointReport::default()),
        "saved-as" => Answer::Checkpoint(CheckpointReport {
            checkpoint: Some(more.to_owned()),
            tree: Some(format!("tree of {more}")),
            ..CheckpointReport::default()
        }),
        "others" => Answer::Checkpoint(CheckpointReport {
            checkpoint: Some(more.to_owned()),
            changes: Some(Changes { files: 2, insertions: 3, deletions: 0 }),
            ..CheckpointReport::default()
        }),
        "restored-path" => Answer::RolledBack(Box::new(RollbackReport {
            to: "initial".to_owned(),
            undo: "undo-1".to_owned(),
            paths: vec![more.to_owned()],
            newest: Some("undo-1+".to_owned()),
            tree: Some("tree of undo-1+".to_owned()),
            ..RollbackReport::default()
        })),
        "rolled-back" => Answer::RolledBack(Box::new(RollbackReport {
            to: more.to_owned(),
            undo: "undo-1".to_owned(),
            tree: Some(format!("tree of {more}")),
            ..RollbackReport::default()
        })),
        "refused" => Answer::Refused { why: more.to_owned() },
        "blocked" => Answer::Blocked { why: more.to_owned() },
        "measured" => Answer::Measurement(Measurement::default()),
        "noticed" => Answer::Measurement(Measurement { noticed: Some(more != "nothing"), ..Measurement::default() }),
        "changed" => changed(more),
        "granted" | "denied" => reserved(word, more),
        "guarded" | "restored" | "tampered" => guarded(word, more),
        "certified" => certified(more),
        "tests" => tests(more),
        "branched" => branched(more),
        "tests-clean" => tests_on_copy(more),
        "clean" | "clean-fail" | "hunks" | "hunks-stopped" | "unchanged" => judged(word, more),
        "on-copy" => each_on_copy(more),
        "opened-workspace" => opened(more),
        "judge-stopped" => not_judged(NotJudged::Stopped),
        "setup-failed" => not_judged(NotJudged::SetupFailed { why: more.to_owned() }),
        "no-probe" => not_judged(NotJudged::NoProbe { why: more.to_owned() }),
        "no-repository" => not_judged(NotJudged::NoRepository),
        "not-judged" => not_judged(NotJudged::HostFailed { why: more.to_owned() }),
        "hidden" => hidden_said(more),
        "uses" => uses(more),
        "held" => Answer::Held,
        "cleaned" => Answer::Cleaned { killed: 1 },
        "agent-ok" => agent(Ended::Exit(0)),
        "agent-exit" => agent(Ended::Exit(code().unwrap())),
        "agent-by-us" => agent(Ended::ByUs),
        "agent-heard" => heard(more),
        "pass" => gate(Ended::Exit(0), "fine"),
        "fail" => gate(Ended::Exit(1), if more.is_empty() { "two tests fail" } else { more }),
        "gate-exit" => gate(Ended::Exit(code().unwrap()), "sh: make: not found"),
        "gate-signal" => gate(Ended::Signal(code().unwrap()), "dead"),
        "gate-by-us" => gate(Ended::ByUs, ""),
        "failed" => Answer::Failed { what: more.to_owned() },
        "lost" => Answer::Lost { left: vec!["pid 42 (sleep)".to_owned()] },
        other => panic!("no such word in a story: {other}"),
    }
}

/// `rate_limit=5000 session=s1 …`: an exit in an error where it has a failure, else in order.
fn heard(words: &str) -> Answer {
    let mut heard = StreamReport { terminal: Terminal::Success, ..StreamReport::default() };
    let mut by_us = false;
    for word in words.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "session" => heard.session = Some(value.to_owned()),
            "lost" => heard.session_lost = true,
            "denied" => heard.denials = Denials { count: value.parse().unwrap(), first: Some("cargo".to_owned()) },
            "asks" => heard.asks = true,
            "asked" => heard.question = Some(value.to_owned()),
            "budget" => heard.budget_hit = true,
            "blocked" => heard.claimed = Some(Claim { status: "BLOCKED".to_owned(), ..Claim::default() }),
            "claim" => heard.claimed = Some(claim(value)),
            "unreadable" => heard.block_error = Some(value.to_owned()),
            "promise" => heard.promise = Some(value.to_owned()),
            "progress" => heard.progress.push(value.to_owned()),
            "error" => heard.error = Some(value.replace('_', " ")),
            "words" => {
                let (sha256, bytes) = value.split_once(':').unwrap_or((value, "100"));
                heard.words = Some(TextDigest { sha256: sha256.to_owned(), bytes: bytes.parse().unwrap() });
            }
            "model" if !value.is_empty() => heard.model = Some(value.to_owned()),
            "cost" => heard.usage.cost_micros = value.parse().ok(),
            "tools" => heard.tool_calls = value.parse().ok(),
            "by-us" => by_us = true,
            "tokens" => heard.usage.input_tokens = value.parse().ok(),
            failure => {
                heard.failure = FAILURES.iter().find(|(_, word)| *word == failure).map(|(failure, _)| *failure);
                assert!(heard.failure.is_some(), "no such word: {failure}");
                let at_ms = value.parse::<u64>().ok().map(|ms| at(ms).wall_ms);
                heard.reset = at_ms.map(|at_ms| Reset { at_ms, source: ResetSource::Provider });
                heard.terminal = Terminal::Error;
            }
        }
    }
    let ended = match (by_us, heard.failure) {
        (true, _) => Ended::ByUs,
        (false, Some(_)) => Ended::Exit(1),
        (false, None) => Ended::Exit(0),
    };
    agent_heard(ended, heard)
}

/// `COMPLETE,exit,signs=2,files=1,tasks=1,errors=1,work=tests,summary=words_of_it`: a status block.
fn claim(words: &str) -> Claim {
    let mut claim = Claim { status: "IN_PROGRESS".to_owned(), ..Claim::default() };
    for word in words.split(',') {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "exit" => claim.exit_signal = true,
            "signs" => claim.completion_indicators = value.parse().ok(),
            "files" => claim.files_modified = value.parse().ok(),
            "tasks" => claim.tasks_completed = value.parse().ok(),
            "errors" => claim.errors = value.parse().ok(),
            "work" => claim.work_type = Some(value.to_owned()),
            "summary" => claim.summary = Some(value.replace('_', " ")),
            status => claim.status = status.to_owned(),
        }
    }
    claim
}

fn tell(ms: u64, fact: &Fact, state: &RunState) -> String {
    match fact {
        Fact::Decided(Decision::Recovery(decision)) => format!("{ms} {}\n", recovery_text(decision)),
        Fact::Happened(_) | Fact::Decided(_) => String::new(),
        Fact::Ordered { order, .. } => format!("{ms} {}\n", order_text(order, state)),
        Fact::OrderCancelled { id, cause } => {
            let order = state.orders.get(*id).map_or_else(String::new, |open| order_text(&open.order, state));
            format!("{ms} cancel {order}: {}\n", word(cause))
        }
        Fact::Concluded { outcome, reason, .. } => {
            format!("{ms} END {} ({}): {}\n", outcome.name(), reason.code.name(), reason.text)
        }
    }
}

/// `rung 1 fresh began (no_better after 2)`, `rung 1 fresh failed after 2`.
fn recovery_text(decision: &RecoveryDecision) -> String {
    match decision {
        RecoveryDecision::Began(began) => {
            let restore = began.restore.as_ref().map_or_else(String::new, |to| format!(" from {to}"));
            let RungBegan { number, rung, cause, trigger, iterations, .. } = began.as_ref();
            format!(
                "rung {number} {} began, {iterations} at most{restore} ({} after {trigger})",
                rung.name(),
                word(cause)
            )
        }
        RecoveryDecision::Ended(ended) => {
            let why = ended.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let RungEnded { number, rung, outcome, iterations, .. } = ended;
            format!("rung {number} {} {} after {iterations}{why}", rung.name(), outcome.name())
        }
        RecoveryDecision::CutOff(cut_off) => {
            let then = if cut_off.continues { "continues" } else { "has ended" };
            format!("rung {} was cut off {} times and {then}", cut_off.number, cut_off.times)
        }
        RecoveryDecision::Takes(taken) => format!("rung {} takes {}", taken.number, taken.why),
        RecoveryDecision::UsedUp { trigger } => format!("ladder used up (stuck after {trigger})"),
    }
}

fn order_text(order: &Order, state: &RunState) -> String {
    match order {
        Order::CleanUp { processes } => {
            let pids: Vec<String> = processes.iter().map(|process| process.pid.to_string()).collect();
            format!("clean-up [{}]", pids.join(" "))
        }
        Order::Checkpoint { name } => format!("checkpoint {name}"),
        Order::RunAgent { iteration, attempt, choice, notes, injected, session, status_only, reservation } => {
            let mut told: Vec<String> = notes.iter().map(word).collect();
            told.extend(injected.map(|(first, last)| format!("injected {first} to {last}")));
            let telling = if told.is_empty() { String::new() } else { format!(" telling {}", told.join(" ")) };
            let session = session.as_ref().map_or_else(String::new, |session| format!(" in {session}"));
            let only = if *status_only { " only for its status" } else { "" };
            let reserved = reservation.map_or_else(String::new, |number| format!(" reserved {number}"));
            let model = choice.model.as_ref().map_or_else(String::new, |model| format!(" ({model})"));
            // Only where it is not what the story was started with.
            let first = state.spec.as_ref().map(|spec| &spec.settings);
            let text = |key| first.map_or("", |first| first.text(key));
            let same = choice.agent == text(keys::agent())
                && choice.model.as_deref().unwrap_or_default() == text(keys::agent_model());
            let with = if same { String::new() } else { format!(" with {}{model}", choice.agent) };
            let effort = choice.effort.as_ref().map_or_else(String::new, |effort| format!(" effort {effort}"));
            let prompt = choice.prompt;
            let form = if prompt == PromptVariant::Standard { String::new() } else { format!(" as {}", word(&prompt)) };
            let with = format!("{with}{effort}{form}");
            format!("agent {iteration}.{attempt}{with}{session}{only}{reserved}{telling}")
        }
        Order::Hold { cause, ms } if *ms == PAUSE_MS_MAX => format!("hold {}", word(cause)),
        Order::Hold { cause, ms } => format!("hold {} {ms}", word(cause)),
        Order::ManualCheckpoint { name } => format!("keep {name}"),
        Order::Rollback { to, undo, .. } => format!("rollback to {to}, undone by {undo}"),
        Order::Measure { iteration } => format!("measure {iteration}"),
        Order::RunGate { point, gate, again } => {
            let gates = &state.settings.shown().gates;
            let name = gates.get(*gate as usize).filter(|_| gates.len() > 1);
            let name = name.map_or_else(String::new, |gate| format!(" {}", gate.name));
            let again = again.map_or_else(String::new, |number| format!(" try {number}"));
            format!("gate {}{name}{again}", word(point))
        }
        Order::Guard { point } => format!("guard {}", word(point)),
        Order::WriteText { purpose, choice, .. } => format!("text {} by {}", purpose.words(), choice.agent),
        Order::Branches { rung, branches, .. } => {
            let names: Vec<&str> = branches.iter().map(|branch| branch.name.as_str()).collect();
            format!("branches {rung}: {}", names.join(" "))
        }
        Order::Reserve { .. } => "reserve".to_owned(),
        Order::Judge { tree, .. } => format!("judge {}", word(tree)),
        Order::Certify { point } => format!("certify {}", word(point)),
        Order::Notify { result, .. } => format!("notify {result}"),
    }
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap().replace('"', "")
}

/// An agent was asked for a text.
pub(crate) fn text_written(well: bool) -> Answer {
    let text = well.then(|| StoredText { head: "what happened so far".to_owned(), file: None });
    let ended = if well { Ended::Exit(0) } else { Ended::Exit(1) };
    Answer::TextEnded(Box::new(TextReport { ended, duration_ms: 1_000, text, stream: StreamReport::default() }))
}

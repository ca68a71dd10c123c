//! Probes on real projects with real test runners: a healthy gate notices them, one that was made blind does not.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use loop_core::run::HunkReport;
use loop_core::settings::GateSpec;
use loop_core::test_output::{Tests, read};
use loop_host::checkpoint::user_git::GitUser;
use loop_host::checkpoint::{
    CheckpointContext, Depth, Recorded, Rules, ScanCache, ScanHint, Store, TakeOutcome, TakeRequest, open_folder,
};
use loop_host::judge::probe::{
    PlacedCanary, ProbeContext, ProbeError, ProbeGate, apply_canary, apply_undone, probe_word, try_hunks,
};

/// Paths with their texts.
pub(crate) type Files<'a> = &'a [(&'a str, &'a str)];

/// A project at its start and at its end. The folder holds the end, as a clean copy does.
pub(crate) struct Probation {
    _scratch: tempfile::TempDir,
    pub(crate) copy: PathBuf,
    initial: Recorded,
    last: Recorded,
    gate: GateSpec,
}

impl Probation {
    /// `last` are the files that the agent wrote; what is not there stays.
    pub(crate) fn new(command: &str, initial: Files<'_>, last: Files<'_>) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let copy = scratch.path().join("work");
        fs::create_dir(&copy).unwrap();
        let mut store = Store::open(&scratch.path().join("store")).unwrap();
        for (name, files) in [("run/initial", initial), ("run/last", last)] {
            files.iter().for_each(|(path, text)| write(&copy.join(path), text));
            keep(&mut store, &copy, name);
        }
        let context = CheckpointContext {
            run: "run".to_owned(),
            store: scratch.path().join("store"),
            workspace: copy.clone(),
            settings: loop_core::settings::Values::default().checkpoint,
            backend: "git".to_owned(),
            litter: Vec::new(),
            user: GitUser { home: None, config: None },
        };
        let [initial, last] = ["initial", "last"].map(|name| Recorded::open(&context, name).unwrap());
        Self { _scratch: scratch, copy, initial, last, gate: GateSpec::new("promise", command) }
    }

    fn with<T>(&self, tests: Option<&Tests>, probe: impl FnOnce(&ProbeContext<'_>) -> T) -> T {
        let gates = [ProbeGate { gate: 0, spec: &self.gate, tests, red: &[] }];
        probe(&ProbeContext {
            copy: &self.copy,
            initial: &self.initial,
            last: &self.last,
            gates: &gates,
            gate_files: &[],
        })
    }

    /// Runs the gate: whether it passes, and its tests.
    pub(crate) fn run(&self) -> (bool, Option<Tests>, String) {
        let mut command = Command::new("sh");
        command.args(["-c", &self.gate.command]).current_dir(&self.copy).env("CI", "1").env("NO_COLOR", "1");
        for name in ["CARGO_TARGET_DIR", "RUSTFLAGS", "NODE_OPTIONS", "PYTHONDONTWRITEBYTECODE", "NODE_TEST_CONTEXT"] {
            command.env_remove(name);
        }
        for (name, _) in
            std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG") || name.starts_with("NEXTEST"))
        {
            command.env_remove(name);
        }
        let ran = command.output().unwrap();
        let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        (ran.status.success(), read(&ran.stdout, &ran.stderr), told)
    }

    /// The gate must pass; then whether it notices one failing test more.
    pub(crate) fn notices_canary(&self) -> bool {
        let (passes, tests, told) = self.run();
        assert!(passes, "{}: {told}", self.gate.command);
        let placed: Result<Vec<PlacedCanary>, ProbeError> =
            self.with(tests.as_ref(), |context| apply_canary(context, &probe_word().unwrap()));
        let placed = placed.unwrap_or_else(|why| panic!("{}: {why}\n{told}", self.gate.command));
        assert_eq!(placed.len(), 1);
        let (passes, _, _) = self.run();
        !passes
    }

    fn passes_undone(&self) -> bool {
        assert!(self.run().0, "{}", self.run().2);
        self.with(None, apply_undone).unwrap();
        self.run().0
    }

    fn hunks(&self, budget: Duration) -> HunkReport {
        self.with(None, |context| try_hunks(context, budget, &mut || Some(!self.run().0))).unwrap()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.copy.join(path)).unwrap()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn keep(store: &mut Store, folder: &Path, name: &str) {
    let (cancel, rules, hint) = (AtomicBool::new(false), Rules::new(true, &[], false), ScanHint::Everything);
    let ask =
        TakeRequest { name, parent: None, rules: &rules, hint, depth: Depth::Whole, unless: None, cancel: &cancel };
    let folder = open_folder(folder).unwrap();
    assert!(matches!(store.save(&folder, &mut ScanCache::empty("run"), &ask).unwrap(), TakeOutcome::Saved(..)));
}

/// Each cheat makes the gate blind; without it the gate notices.
pub(crate) fn is_noticed_unless(command: &str, honest: Files<'_>, cheats: &[Files<'_>]) {
    assert!(Probation::new(command, honest, &[]).notices_canary(), "{command}: an honest gate");
    for cheat in cheats {
        assert!(!Probation::new(command, honest, cheat).notices_canary(), "{command}: {:?}", cheat.first());
    }
}

const GATE: &str = "python3 -m unittest";
const RIGHT: &str = "def add(a, b):\n    return a + b\n";
const WRONG: &str = "def add(a, b):\n    return a - b\n";
const TEST: &str = "import unittest\n\nimport calc\n\n\nclass Adds(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n";
const WEAK: &str = "import unittest\n\nimport calc\n\n\nclass Adds(unittest.TestCase):\n    def test_add(self):\n        self.assertTrue(calc.add(2, 3))\n";

#[test]
fn unittest_notices_a_canary_unless_its_gate_was_made_blind() {
    let honest: Files<'_> = &[("calc.py", RIGHT), ("test_calc.py", TEST)];
    let shadow: Files<'_> = &[("unittest/__init__.py", ""), ("unittest/__main__.py", "print('OK')\n")];
    let leaves: Files<'_> = &[("calc.py", "import os\nprint('OK', flush=True)\nos._exit(0)\n")];
    is_noticed_unless(GATE, honest, &[shadow, leaves]);
}

#[test]
fn cargo_notices_a_canary_unless_its_gate_was_made_blind() {
    let library = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(2, 3), 5);\n    }\n}\n";
    let manifest =
        "[package]\nname = \"the-shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n";
    let honest: Files<'_> = &[("Cargo.toml", manifest), ("src/lib.rs", library), (".gitignore", "target\n")];
    let runner: Files<'_> = &[(".cargo/config.toml", "[target.'cfg(all())']\nrunner = \"true\"\n")];
    is_noticed_unless("cargo test --offline", honest, &[runner]);
}

#[test]
fn undoing_an_honest_fix_makes_the_gate_fail_and_undoing_a_weaker_test_does_not() {
    let initial: Files<'_> = &[("calc.py", WRONG), ("test_calc.py", TEST)];
    assert!(!Probation::new(GATE, initial, &[("calc.py", RIGHT)]).passes_undone(), "an honest fix");
    assert!(Probation::new(GATE, initial, &[("test_calc.py", WEAK)]).passes_undone(), "a weaker test");
    let both: Files<'_> = &[("calc.py", "def add(a, b):\n    return a - b or 1\n"), ("test_calc.py", WEAK)];
    let probation = Probation::new(GATE, initial, both);
    assert!(probation.passes_undone(), "a weaker test beside a change that does nothing");
    assert_eq!((probation.text("calc.py"), probation.text("test_calc.py")), (WRONG.to_owned(), WEAK.to_owned()));
    // A file that came goes, with its folder; the test of it stays.
    let added: Files<'_> = &[
        ("calc.py", RIGHT),
        ("more/deep.py", "def twice(a):\n    return 2 * a\n"),
        (
            "test_more.py",
            "import unittest\n\nfrom more import deep\n\n\nclass More(unittest.TestCase):\n    def test_twice(self):\n        self.assertEqual(deep.twice(2), 4)\n",
        ),
    ];
    let probation = Probation::new(GATE, initial, added);
    assert!(!probation.passes_undone());
    assert!(!probation.copy.join("more").exists());
}

const LONG: &str = "def add(a, b):\n    return a - b\n\n\n\n\ndef unused():\n    return 1\n";
const CHANGED: &str =
    "# Adds.\ndef add(a, b):\n    return a + b\n\n\n\n\ndef unused():\n    value = 2\n    return value\n";

#[test]
fn a_piece_of_the_change_that_no_gate_needs_is_named() {
    let initial: Files<'_> = &[("calc.py", LONG), ("test_calc.py", TEST)];
    let last: Files<'_> = &[
        ("calc.py", CHANGED),
        ("dead.py", "def dead():\n    return 3\n"),
        ("notes.py", "# only words\n"),
        ("README.md", "x\n"),
    ];
    let probation = Probation::new(GATE, initial, last);
    assert!(probation.run().0);
    let report = probation.hunks(Duration::from_secs(600));
    assert_eq!((report.all, report.tried, report.noticed), (3, 3, 1), "{report:?}");
    assert_eq!(report.not_noticed.first, ["calc.py:9-10", "dead.py"]);
    assert_eq!(probation.text("calc.py"), CHANGED, "the copy is the final tree again");
    assert!(probation.run().0);
    assert_eq!(probation.hunks(Duration::ZERO), HunkReport { all: 3, ..HunkReport::default() });
    let stopped = probation.with(None, |context| try_hunks(context, Duration::from_secs(600), &mut || None)).unwrap();
    assert_eq!((stopped.all, stopped.tried), (3, 0));
}

#[test]
fn a_piece_of_the_same_size_is_not_hidden_by_compiled_files() {
    // Python compares only seconds and sizes: `+` and `-` are the same size.
    let probation = Probation::new(GATE, &[("calc.py", WRONG), ("test_calc.py", TEST)], &[("calc.py", RIGHT)]);
    for _ in 0..2 {
        assert!(probation.run().0, "as it was put back");
        let report = probation.hunks(Duration::from_secs(600));
        assert_eq!((report.tried, report.noticed), (1, 1), "{report:?}");
    }
}

#[test]
fn a_probe_writes_through_no_link_of_the_tree() {
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("calc.py"), RIGHT);
    let probation = Probation::new(GATE, &[("src/calc.py", WRONG), ("test_calc.py", TEST)], &[("src/calc.py", RIGHT)]);
    fs::remove_dir_all(probation.copy.join("src")).unwrap();
    std::os::unix::fs::symlink(outside.path(), probation.copy.join("src")).unwrap();
    probation.with(None, apply_undone).unwrap();
    assert_eq!(fs::read_to_string(outside.path().join("calc.py")).unwrap(), RIGHT);
    assert_eq!(probation.text("src/calc.py"), WRONG);
}

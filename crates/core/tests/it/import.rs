//! Files of other tools, and what becomes of each of their lines. The sample trees are in `tests/import`.
#![expect(clippy::disallowed_methods, reason = "a test that reads sample trees and is told how long to run")]
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{ExpectFile, expect_file};
use loop_core::import::{
    ImportLine, ImportPlan, ImportSource, LineFate, NextCommand, PeerTool, SourceFile, SourcePlace, plan_import,
};
use loop_core::settings::{Given, Layer, from_toml, project_from_toml};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import")
}

/// All files of a sample tree.
fn sample(tool: PeerTool, name: &str) -> ImportSource {
    fn collect(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if fs::metadata(&path).unwrap().is_dir() {
                collect(root, &path, files);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.push(SourceFile { name, text: fs::read_to_string(&path).unwrap() });
            }
        }
    }
    let (mut files, root) = (Vec::new(), samples().join(name));
    collect(&root, &root, &mut files);
    ImportSource { tool, files, beside: Vec::new() }
}

const SAMPLES: [(PeerTool, &str); 6] = [
    (PeerTool::Ralph, "ralph"),
    (PeerTool::Ralph, "list"),
    (PeerTool::RalphTui, "ralph-tui"),
    (PeerTool::Ralphex, "ralphex"),
    (PeerTool::Loopr, "loopr"),
    (PeerTool::Daedalos, "daedalos"),
];

fn one(tool: PeerTool, name: &str, text: &str) -> ImportSource {
    let files = vec![SourceFile { name: name.to_owned(), text: text.to_owned() }];
    ImportSource { tool, files, beside: Vec::new() }
}

fn plan(source: &ImportSource) -> ImportPlan {
    plan_import(source, &[], "").unwrap()
}

fn shown(plan: &ImportPlan) -> String {
    let line = |line: &ImportLine| {
        let fate = match &line.fate {
            LineFate::Set { key, value, needs_approval } => {
                format!("set {key} = {value:?}{}", if *needs_approval { ", approved" } else { "" })
            }
            LineFate::Yours { words, why, .. } => format!("yours {words} ({why})"),
            LineFate::Copied { to } => format!("copied to {to}"),
            LineFate::Later { why } => format!("later: {why}"),
            LineFate::Left { why } => format!("left: {why}"),
        };
        format!("{}:{}-{} {} = {:?}\n    {fate}\n", line.file, line.from, line.to, line.what, line.value)
    };
    let mut text: String = plan.lines.iter().map(line).collect();
    for account in &plan.accounts {
        text.push_str(&format!("{account:?}\n"));
    }
    let project = plan.project_text("", ".loop.toml").unwrap().unwrap_or_default();
    text.push_str(&format!("--- .loop.toml\n{project}"));
    for file in &plan.files {
        text.push_str(&format!("--- {}\n{}", file.name, file.text));
    }
    text.push_str("---\n");
    plan.notes.iter().for_each(|note| text.push_str(&format!("note: {note}\n")));
    text.push_str(&format!("{:?}\n", plan.next));
    text
}

fn check(tool: PeerTool, name: &str, expected: &ExpectFile) {
    expected.assert_eq(&shown(&plan(&sample(tool, name))));
}

#[test]
fn ralph_becomes_settings_a_prompt_and_a_list_that_stays() {
    check(PeerTool::Ralph, "ralph", &expect_file!["../import_expected/ralph.txt"]);
}

#[test]
fn a_bare_list_gets_a_prompt() {
    check(PeerTool::Ralph, "list", &expect_file!["../import_expected/list.txt"]);
}

#[test]
fn ralph_tui_becomes_settings_and_gates_and_its_stories_stay() {
    check(PeerTool::RalphTui, "ralph-tui", &expect_file!["../import_expected/ralph-tui.txt"]);
}

#[test]
fn ralphex_becomes_settings_its_task_prompt_and_the_checks_of_the_first_open_plan() {
    check(PeerTool::Ralphex, "ralphex", &expect_file!["../import_expected/ralphex.txt"]);
}

#[test]
fn loopr_becomes_settings_under_our_names() {
    check(PeerTool::Loopr, "loopr", &expect_file!["../import_expected/loopr.txt"]);
}

#[test]
fn workflows_of_daedalos_stay_and_their_defaults_become_settings() {
    check(PeerTool::Daedalos, "daedalos", &expect_file!["../import_expected/daedalos.txt"]);
}

/// The lines of each file have exactly one fate each, and what is to be written can be read again.
fn check_laws(source: &ImportSource, plan: &ImportPlan) {
    for (file, account) in source.files.iter().zip(&plan.accounts) {
        let counted = account.set + account.yours + account.copied + account.later + account.left + account.nothing;
        assert_eq!((counted, account.lines), (file.text.lines().count(), counted), "{account:?}");
    }
    for line in plan.lines.iter().filter(|line| line.from > 0) {
        let file = source.files.iter().find(|file| file.name == line.file).unwrap();
        assert!(line.from <= line.to && line.to <= file.text.lines().count().max(1), "{line:?}");
    }
    let text = plan.project_text("", ".loop.toml").unwrap().unwrap_or_default();
    if text.chars().all(|letter| !letter.is_control() || ['\n', '\t'].contains(&letter)) {
        project_from_toml(&text, ".loop.toml", true).unwrap();
    }
}

#[test]
fn every_line_of_every_sample_is_accounted_for() {
    for (tool, name) in SAMPLES {
        let source = sample(tool, name);
        check_laws(&source, &plan(&source));
    }
}

#[test]
fn a_limit_that_a_project_file_may_not_raise_is_given_by_a_flag() {
    let source = one(PeerTool::Ralph, ".ralphrc", "CB_SAME_ERROR_THRESHOLD=9\nMAX_CALLS_PER_HOUR=60\n");
    let flags = |own: &[Given]| match plan_import(&source, own, "").unwrap().next {
        NextCommand::Start { flags, .. } => flags,
        NextCommand::Workflow { .. } => Vec::new(),
    };
    assert_eq!(flags(&[]), ["--max-same-error 9"], "the default is 5");
    let own = from_toml("max_same_error = 20\nmax_calls_per_hour = 10\n", "config.toml", Layer::User).unwrap();
    assert_eq!(flags(&own), ["--max-calls-per-hour 60"], "the user's own limits count");
}

#[test]
fn values_that_only_a_shell_knows_are_neither_run_nor_guessed() {
    for line in [
        "MAX_CALLS_PER_HOUR=$(id -u)",
        "MAX_CALLS_PER_HOUR=`id -u`",
        "MAX_CALLS_PER_HOUR=\"$N\"",
        "MAX_CALLS_PER_HOUR=6; rm -r x",
    ] {
        let plan = plan(&one(PeerTool::Ralph, ".ralphrc", line));
        let sets = plan.lines.iter().any(|line| matches!(line.fate, LineFate::Set { key: "max_calls_per_hour", .. }));
        assert!(!sets, "{line}: {:?}", plan.lines);
    }
}

#[test]
fn no_secret_of_the_other_tool_is_shown_or_written() {
    for (tool, name) in SAMPLES {
        let text = shown(&plan(&sample(tool, name)));
        assert!(!text.contains("123:secret") && !text.contains("ghp_"), "{text}");
    }
}

#[test]
fn a_project_file_keeps_its_own_lines_and_gates() {
    let source = sample(PeerTool::RalphTui, "ralph-tui");
    let existing = "# ours\nmax_no_progress = 2\n\n[gates.lint]\ncommand = \"npm run lint\"\n";
    let plan = plan_import(&source, &[], existing).unwrap();
    let text = plan.project_text(existing, ".loop.toml").unwrap().unwrap();
    assert!(text.contains("# ours\nmax_no_progress = 2\n"), "{text}");
    assert!(text.contains("[gates.lint]") && !text.contains("typecheck"), "{text}");
    let left = plan.lines.iter().find(|line| line.what == "verificationCommands.typecheck").unwrap();
    assert!(matches!(&left.fate, LineFate::Left { why } if why.contains("gates of its own")), "{left:?}");
    project_from_toml(&text, ".loop.toml", true).unwrap();
}

#[test]
fn a_file_that_is_not_what_it_should_be_is_named_with_its_line() {
    for (tool, name, text, place) in [
        (PeerTool::RalphTui, ".ralph-tui/config.toml", "a = 1\nb = = 2\n", ".ralph-tui/config.toml:2"),
        (PeerTool::RalphTui, "prd.json", "{\n  \"project\": }\n", "prd.json:2"),
        (PeerTool::Daedalos, "config.yaml", "a: 1\nb: [1\n", "config.yaml"),
    ] {
        let error = plan_import(&one(tool, name, text), &[], "").unwrap_err();
        assert!(error.place.starts_with(place), "{error:?}");
    }
}

#[test]
fn a_path_says_which_tool_and_which_project_is_meant() {
    let of = |path: &str, is_folder| {
        let names: Vec<&str> = path.split('/').collect();
        SourcePlace::of(&names, is_folder).map(|place| (place.tool, place.below, place.is_users_own))
    };
    assert_eq!(of("home/shop", true), Some((None, 0, false)));
    assert_eq!(of("home/shop/.ralph", true), Some((Some(PeerTool::Ralph), 1, false)));
    assert_eq!(of("home/shop/.ralph/PROMPT.md", false), Some((Some(PeerTool::Ralph), 2, false)));
    assert_eq!(of("home/shop/.ralphrc", false), Some((Some(PeerTool::Ralph), 1, false)));
    assert_eq!(of("home/.config/daedalos/loop", true), Some((Some(PeerTool::Daedalos), 0, true)));
    assert_eq!(of("home/.config/ralphex/config", false), Some((Some(PeerTool::Ralphex), 1, true)));
    assert_eq!(of("home/shop/tdd.yaml", false), Some((Some(PeerTool::Daedalos), 1, false)));
    assert_eq!(of("home/shop/README.md", false), None);
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most.max(1)).unwrap()).unwrap()
    }
}

/// A text with bytes changed, taken out, repeated, or replaced by others.
fn spoiled(dice: &mut Dice, text: &str) -> String {
    const TOKENS: [&[u8]; 16] = [
        b"=",
        b"\"",
        b"'",
        b"[[a]]\n",
        b"{",
        b"}",
        b"]",
        b"\n",
        b"\r\n",
        b"\xff",
        b"\0",
        b"${A:-",
        b": ",
        b"- [ ] ",
        b"'''\n",
        b"&a [*a, *a]",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len() + 1);
        match dice.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, u8::try_from(dice.below(256)).unwrap()),
            2 => drop(bytes.splice(at..at, TOKENS[dice.below(TOKENS.len())].iter().copied())),
            3 => {
                let to = (at + dice.below(40)).min(bytes.len());
                let piece = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ => drop(bytes.drain(at..(at + dice.below(20)).min(bytes.len()))),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn random_bytes_never_panic_and_every_line_is_still_accounted_for() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let rounds = number("IMPORTS").unwrap_or(150);
    let mut dice = Dice(number("IMPORT_SEED").unwrap_or(7));
    let sources: Vec<ImportSource> = SAMPLES.iter().map(|(tool, name)| sample(*tool, name)).collect();
    let mut planned = 0;
    for _ in 0..rounds {
        for source in &sources {
            let files = source.files.iter();
            let files = files.map(|file| SourceFile { name: file.name.clone(), text: spoiled(&mut dice, &file.text) });
            let source = ImportSource { files: files.collect(), ..source.clone() };
            if let Ok(plan) = plan_import(&source, &[], "") {
                check_laws(&source, &plan);
                planned += 1;
            }
        }
    }
    assert!(planned > rounds, "most of them can still be planned: {planned}");
}

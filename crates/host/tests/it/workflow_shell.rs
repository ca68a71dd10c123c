//! Values in the commands of a workflow file, given to real shells: a value is never code.
use std::path::Path;
use std::process::{Command, Stdio};

use loop_core::workflow::{EntryWork, Variables, WorkflowSource, read};

use crate::random_tree::Dice;

const SHELLS: [&str; 2] = ["sh", "bash"];

/// A promise with the value of its variable, or none where the file is refused.
fn filled(promise: &str, value: &str) -> Option<String> {
    let promise = serde_json::to_string(promise).unwrap();
    let text = format!("loops:\n  - {{id: a, prompt: do it, promise: {promise}}}\n");
    let set = format!("x={value}");
    let variables = Variables::read([set.as_str()]).unwrap();
    let workflow = read(WorkflowSource { text: &text, file: "flow.yaml" }, &variables).ok()?;
    match &workflow.entries[0].work {
        EntryWork::Loop(work) => work.setting("promise").map(str::to_owned),
        EntryWork::Ask(_) => None,
    }
}

/// What a shell prints for a command. There are no programs that it could run: only what it has itself.
fn printed(shell: &str, command: &str, folder: &Path) -> Vec<u8> {
    let program = ["/bin", "/usr/bin"].map(|place| Path::new(place).join(shell)).into_iter().find(|path| path.exists());
    let program = program.unwrap_or_else(|| panic!("{shell} is not installed"));
    let output = Command::new(program)
        .args(["-c", command])
        .env_clear()
        .env("PATH", "/nonexistent")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    output.unwrap().stdout
}

fn below(dice: &mut Dice, most: usize) -> usize {
    usize::try_from(dice.roll(u64::try_from(most).unwrap())).unwrap()
}

/// So many random cases; `SHELL_CASES` asks for more.
fn cases() -> u64 {
    std::env::var("SHELL_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

#[test]
fn a_value_arrives_in_a_command_as_it_was_given() {
    // req: D-12 partly: quoting
    let places = [
        ("printf '[%s]' {{x}}", ""),
        ("printf '[%s]' a{{x}}", "a"),
        ("printf '[%s]' \"a{{x}}\"", "a"),
        ("printf '[%s]' 'a{{x}}'", "a"),
        ("printf '[%s]' 'it'\\''s '{{x}}", "it's "),
        ("A={{x}}; printf '[%s]' \"$A\"", ""),
        ("( printf '[%s]' \"a\"{{x}} ) # a comment", "a"),
        ("f() { printf '[%s]' \"$1\"; }; f {{x}} 2>&1", ""),
        ("true && # first\nprintf '[%s]' {{x}}", ""),
        ("for a in {{x}}; do printf '[%s]' \"$a\"; done", ""),
        ("printf '[%s]' \"${HOME}{{x}}\"", ""),
        ("printf '[%s]' \\\\{{x}}", "\\"),
    ];
    let signs: Vec<char> = "a \t\n'\"\\$`(){}[]<>|&;#!*?~=%-é\u{1F600}\u{7f}\u{1b}".chars().collect();
    let folder = tempfile::tempdir().unwrap();
    let mut random = Dice::new(11);
    for case in 0..cases() {
        let (template, before) = places[below(&mut random, places.len())];
        let value: String = (0..below(&mut random, 9)).map(|_| signs[below(&mut random, signs.len())]).collect();
        let command = filled(template, &value).unwrap_or_else(|| panic!("{template} is refused"));
        for shell in SHELLS {
            let out = printed(shell, &command, folder.path());
            assert_eq!(String::from_utf8_lossy(&out), format!("[{before}{value}]"), "case {case}, {shell}: {command}");
        }
    }
}

/// What random commands are made of.
const PIECES: &[&str] = &[
    "{{x}}",
    "{{x}}",
    "{{x}}",
    "{{x}}",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "$",
    "(",
    ")",
    "$(",
    "`",
    "#",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "&",
    "|",
    "<",
    ">",
    "<<E",
    "<<<",
    "\nE\n",
    "a",
    "=",
    "b=",
    "${",
    "${a}",
    "${a:-",
    "}",
    "{",
    "$((",
    "))",
    "[",
    "]",
    "[[",
    "]]",
    "case a in ",
    "a) ",
    ";; ",
    " esac",
    "eval ",
    "sh -c ",
    "trap ",
    "let ",
    "if true; then ",
    "fi",
    "!",
    "~",
    "*",
    "$'",
    "$\"",
    ": ",
    "printf %s ",
    "1",
    "+",
    "-v ",
    "declare ",
    "\\\n",
    "2>&1 ",
    "&> ",
    "export ",
    "local ",
    "readonly ",
    "alias ",
    ". ",
    "set -- ",
];

/// Values that leave a file where a shell takes a part of them for code.
fn hostile_values() -> Vec<String> {
    const RUN: &str = ": > RAN";
    vec![
        format!("; {RUN} ;"),
        format!("$({RUN})"),
        format!("`{RUN}`"),
        format!("'; {RUN}; '"),
        format!("\"; {RUN}; \""),
        format!("'\"; {RUN}; #"),
        format!("\n{RUN}\n"),
        format!(") {RUN} ("),
        format!(")\n{RUN} #"),
        format!("))\n{RUN} #"),
        format!("}}; {RUN}; {{"),
        format!("a[$({RUN})]"),
        format!("\\'; {RUN} #"),
        format!("\\\"; {RUN} #"),
        format!("E\n{RUN}\nE"),
        format!("| {RUN} |"),
        format!("& {RUN} &"),
        format!("\\\n;{RUN}"),
        format!("a;; esac; {RUN}"),
        format!("x=({RUN})"),
    ]
}

#[test]
fn no_value_is_run_as_code_wherever_it_stands() {
    // req: D-12 partly: quoting
    let values = hostile_values();
    let mut random = Dice::new(5);
    let (mut taken, mut tried, wanted) = (0, 0, cases());
    while taken < wanted {
        tried += 1;
        assert!(tried < 1000 * wanted, "nearly all are refused");
        let template: String = (0..=below(&mut random, 11)).map(|_| PIECES[below(&mut random, PIECES.len())]).collect();
        let value = &values[below(&mut random, values.len())];
        if !template.contains("{{x}}") {
            continue;
        }
        let Some(command) = filled(&template, value) else { continue };
        taken += 1;
        for shell in SHELLS {
            let folder = tempfile::tempdir().unwrap();
            printed(shell, &command, folder.path());
            assert!(!folder.path().join("RAN").exists(), "{shell} ran the value:\n{template}\n---\n{command}");
        }
    }
}

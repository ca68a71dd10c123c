//! Every example line and file of the five specifications is run by the built program, or read. The table is in the
//! folder `examples`; its README says how a row is written.
use std::path::Path;
use std::process::Command;

use loop_core::agent::claims::status_block::last;
use loop_core::agent::{DIALECTS, Dialect};
use loop_testkit::{Ran, Running, TestEnv, for_all, must, wait_until};

use crate::user;

/// The specifications, and how many examples each has at least.
const SPECIFICATIONS: [(&str, usize); 5] =
    [("loopr", 5), ("container", 8), ("autonomous", 45), ("loopd", 40), ("decide", 4)];

/// The rows of a specification, for as long as the test runs.
fn table(name: &str) -> &'static str {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/examples");
    Box::leak(std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap().into_boxed_str())
}

/// A row of the table.
#[derive(Debug, Clone, Default)]
struct Example {
    specification: &'static str,
    section: &'static str,
    /// What is done with it.
    manner: &'static str,
    situation: &'static str,
    /// The file that the text is written to.
    file: &'static str,
    /// The command that is run with that file.
    then: &'static str,
    text: String,
    /// Why the text is wrong.
    why: &'static str,
    /// What works.
    instead: String,
}

impl Example {
    fn word(&self) -> &'static str {
        self.manner.split(' ').next().unwrap_or_default()
    }

    /// The exit code behind the word.
    fn code(&self) -> i32 {
        self.manner.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no code: {self:?}"))
    }

    fn place(&self) -> String {
        format!("{}: {}: {}", self.specification, self.section, self.text.lines().next().unwrap_or_default())
    }
}

fn examples() -> Vec<Example> {
    let mut all: Vec<Example> = Vec::new();
    for (specification, _) in SPECIFICATIONS {
        for line in table(specification).lines() {
            if let Some(section) = line.strip_prefix("@ section: ") {
                all.push(Example { specification, section, ..Example::default() });
                continue;
            }
            let one = all.last_mut().unwrap();
            match line.strip_prefix("@ ").and_then(|rest| rest.split_once(": ")) {
                Some(("as", manner)) => one.manner = manner,
                Some(("in", situation)) => one.situation = situation,
                Some(("file", file)) => one.file = file,
                Some(("then", then)) => one.then = then,
                Some(("instead", why)) => one.why = why,
                Some((key, _)) => panic!("{specification}: no such key: {key}"),
                None if one.why.is_empty() => one.text.push_str(&format!("{line}\n")),
                None => one.instead.push_str(&format!("{line}\n")),
            }
        }
    }
    all
}

const CODEX: &str = r#"[ "$1" = --version ] && { echo 'codex-cli 0.166.0'; exit 0; }
cat > /dev/null
echo '{"type":"thread.started","thread_id":"01a1e083-0000-7000-8000-000000000001"}'
echo '{"type":"turn.started"}'
printf '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}\n' "$words"
echo '{"type":"turn.completed","usage":{"input_tokens":1400,"cached_input_tokens":1000,"output_tokens":100}}'"#;
const LOOPR_BLOCK: &str = r"---LOOPR_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\nWORK_TYPE: code\\nFILES_MODIFIED: 0\\nERRORS: 0\\nSUMMARY: done\\n---END_LOOPR_STATUS---\\n";
const CLAUDE: &str = r#"[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
cat > /dev/null
id=5e551017-0000-4000-8000-000000000001
words='---LOOP_STATUS---\nSTATUS: COMPLETE\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 0\nCOMPLETION_INDICATORS: 2\nTESTS_STATUS: PASSING\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: true\nRECOMMENDATION: none\n---END_LOOP_STATUS---\n'
printf '{"type":"system","subtype":"init","session_id":"%s","model":"m"}\n' "$id"
printf '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"%s"}]},"session_id":"%s"}\n' "$words" "$id"
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","num_turns":1,"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5},"session_id":"%s"}\n' "$words" "$id""#;
/// Does what the prompt of the workflow asks for.
const FEATURE: &str = "case \\\"$(cat)\\\" in *'Write failing tests'*) echo $FEATURE_NAME > tests.txt;; \
    *'Implement '*) echo done > impl.txt;; *'Refactor '*) echo clear > style.txt;; \
    *'Add documentation'*) echo read > docs.txt;; esac";
const FEATURE_NPM: &str = "case \"$*\" in \
    test) test -e tests.txt || exit 0; test -e impl.txt && exit 0; echo '1 failing'; exit 1;; \
    'run lint') test -e style.txt;; 'run docs:check') test -e docs.txt;; *) exit 1;; esac";

/// The machine of somebody who tries the examples: their programs, their project, and an agent that is set once.
fn machine(situation: &str) -> TestEnv {
    let user = user().with("ANTHROPIC_API_KEY", "sk-very-secret-key");
    let agent = match situation {
        "todo" => "sed -i /TODO/d src/a.txt",
        "feature" => FEATURE,
        _ => "date +%N > work-of-agent",
    };
    let passes = "test -e work-of-agent || exit 1; echo 'PASS: under 100ms'";
    ["npm", "make", "cargo"].iter().for_each(|name| user.program(name, passes));
    if situation == "feature" {
        user.program("npm", FEATURE_NPM);
    }
    user.program("notify-send", "exit 0");
    user.program("codex", &format!("words='{}'\n{CODEX}", "<promise>COMPLETE</promise>"));
    if situation == "codex" {
        user.program("codex", &format!("words=\"{LOOPR_BLOCK}\"\n{CODEX}"));
    }
    user.program("gemini", "[ \"$1\" = --version ] && { echo 0.30.0; exit 0; }\ncat > /dev/null");
    user.program("claude", CLAUDE);
    user.write("work/verify.sh", "#!/bin/sh\ntest -e work-of-agent\n");
    user.write("work/src/a.txt", "one\nTODO two\n");
    user.write("work/hints.txt", "Look at the tests first.\n");
    user.write("home/.gitconfig", "[user]\nname = Ann\nemail = ann@example.org\n[safe]\ndirectory = *\n");
    must(&user.work(), "chmod +x verify.sh; git init -q .");
    if situation == "roadmap" {
        let task =
            "## Tasks\n\n- [ ] **one**: Implement it\n  - completion_promise: COMPLETE\n\n  Goal: Implement it.\n";
        user.write("work/specs/roadmap.md", task);
    }
    let own = if ["agents", "codex", "claude", "roadmap"].contains(&situation) {
        String::new()
    } else {
        format!("agent = \"custom\"\nagent_cmd = \"{agent}\"\n")
    };
    user.write("home/.config/loop/config.toml", &format!("{own}judge = \"workspace\"\nstrength = \"off\"\n"));
    user
}

/// A script in the workspace, with the built programs on the PATH.
fn shell(user: &TestEnv, script: &str) -> Ran {
    let folder = Path::new(env!("CARGO_BIN_EXE_loop")).parent().unwrap().display().to_string();
    let mut command = Command::new("sh");
    user.apply_env(&mut command);
    let path = format!("{}:{folder}:/usr/bin:/bin", user.root().join("bin").display());
    command.args(["-e", "-c", script]).env("PATH", path);
    Running::of(command.spawn().unwrap(), user.root()).end()
}

/// A machine in this situation, and the id of its loop where it has one.
fn situation(name: &str) -> (TestEnv, String) {
    let user = machine(name);
    let first = match name {
        "ended" => {
            "loop start 'fix it' -p 'npm test' --agent-cmd \
             'echo $LOOP_ITERATION >> log; [ $LOOP_ITERATION -lt 3 ] || touch work-of-agent' && \
             loop checkpoint before-refactor"
        }
        "tripped" => "loop start 'fix it' -p 'npm test' --agent-cmd true || test $? = 1",
        _ => return (user, String::new()),
    };
    shell(&user, first).expect_code(0);
    let id = user.id();
    (user, id)
}

/// Runs a script in a situation.
fn run_in(example: &Example, text: &str) -> Ran {
    let (user, id) = situation(example.situation);
    if example.file.is_empty() {
        return shell(&user, &text.replace("a1b2c3", &id));
    }
    user.write(&format!("work/{}", example.file), text);
    shell(&user, &example.then.replace("a1b2c3", &id))
}

/// Runs a script beside a loop at work, then lets that end.
fn steer(text: &str, code: i32) -> Ran {
    let user = machine("machine");
    std::fs::create_dir_all(user.work().join(".harness/inbox")).unwrap();
    let agent = "touch ../began; while [ ! -e ../go ]; do sleep 0.02; done; touch work-of-agent";
    let promise = if code == 0 { "test -e work-of-agent" } else { "false" };
    let more = ["--stop-file", ".harness/stop", "--enable-inbox", "--check-env-vars"];
    let words = ["start", "fix it", "-p", promise, "--agent-cmd", agent];
    let running = user.begin(&[&words[..], &more].concat());
    user.wait_for_file("began");
    let ran = shell(&user, &text.replace("a1b2c3", &user.id())).expect_code(0);
    drop(ran);
    let is_open = |path: &Path| path.extension().is_some_and(|ending| ending == "txt");
    wait_until("the files are taken", || {
        let inbox = std::fs::read_dir(user.work().join(".harness/inbox")).unwrap();
        !user.work().join(".harness/stop").exists() && !inbox.flatten().any(|file| is_open(&file.path()))
    });
    user.write("go", "");
    running.end()
}

/// Whether an output has a line with these words in this order.
fn has_line(output: &str, words: &str) -> bool {
    output.lines().any(|line| {
        let mut found = line.split_whitespace();
        words.split_whitespace().all(|word| found.any(|other| other == word))
    })
}

/// Every way to choose one word of each list, one list at a time.
fn choices(text: &str) -> Vec<String> {
    let first = |line: &str| match line.split_once(": ") {
        Some((key, value)) if value.contains(" | ") => format!("{key}: {}", value.split(" | ").next().unwrap()),
        Some((key, value)) if value.contains("<int>") => format!("{key}: 3"),
        _ => line.to_owned(),
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((key, value)) = line.split_once(": ").filter(|(_, value)| value.contains(" | ")) else { continue };
        for word in value.split(" | ") {
            let mut chosen: Vec<String> = lines.iter().map(|line| first(line)).collect();
            chosen[at] = format!("{key}: {word}");
            all.push(chosen.join("\n"));
        }
    }
    all
}

fn dialect(name: &str) -> Dialect {
    let wanted = format!("{}_STATUS", name.to_uppercase());
    DIALECTS.into_iter().find(|dialect| dialect.name() == wanted).unwrap()
}

/// What a version says that does not know a command or a flag.
const REFUSALS: [&str; 4] =
    ["unknown command ", "unknown argument ", "is one argument too many", "supervises no loops yet"];

/// What is wrong; empty where the example does what its row says.
fn check(example: &Example) -> Option<String> {
    let told = |ran: &Ran, wanted: i32| {
        let text = format!("{}\nexit code {:?}, not {wanted}\n{}", example.place(), ran.code, ran.text());
        (ran.code != Some(wanted)).then_some(text)
    };
    match example.word() {
        "run" => told(&run_in(example, &example.text), example.code()),
        "steer" => {
            let wrong = told(&steer(&example.text, example.code()), example.code());
            let instead = || (!example.instead.is_empty()).then(|| told(&steer(&example.instead, 0), 0)).flatten();
            wrong.or_else(instead)
        }
        "wrong" => {
            let as_written = told(&run_in(example, &example.text), example.code());
            as_written.or_else(|| told(&run_in(example, &example.instead), 0))
        }
        "not" => told(&run_in(example, &example.instead), 0),
        "prints" => {
            let (user, id) = situation(example.situation);
            let ran = shell(&user, &example.manner.replace("prints ", "").replace("a1b2c3", &id)).expect_code(0);
            let text = example.text.replace("a1b2c3", &id);
            let missing = text.lines().find(|line| !has_line(&ran.out(), line));
            missing.map(|line| format!("{}\nno line has the words {line:?}\n{}", example.place(), ran.text()))
        }
        "choices" => {
            let dialect = dialect(example.manner.split(' ').nth(1).unwrap());
            let blocks = choices(&example.text);
            assert!(blocks.len() >= 9 && example.text.contains(dialect.name()), "{blocks:?}");
            let unread = blocks.iter().find(|block| last(block, "").claim.is_none());
            let list = last(&example.text, "").claim.is_some();
            let list = list.then(|| format!("{}\nthe list itself is taken for a block", example.place()));
            unread.map(|block| format!("{}\nnot read:\n{block}", example.place())).or(list)
        }
        "later" => {
            let ran = run_in(example, &example.text);
            let refused = ran.code == Some(4) && REFUSALS.iter().any(|words| ran.err().contains(words));
            let text =
                || format!("{}\nit is not refused any more: write `run 0` in its row\n{}", example.place(), ran.text());
            (!refused).then(text)
        }
        "code" => (example.manner.len() < 20).then(|| format!("{}: say why nothing is run", example.place())),
        other => Some(format!("{}: no such manner: {other}", example.place())),
    }
}

#[test]
fn every_example_of_the_specifications_does_what_its_row_says() {
    // req: A-33 partly: examples
    let examples = examples();
    let wrong: Vec<String> = for_all(&examples, check).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), examples.len(), wrong.join("\n\n"));
}

#[test]
fn every_specification_has_its_examples_and_no_row_is_empty() {
    let examples = examples();
    for (name, least) in SPECIFICATIONS {
        let count = examples.iter().filter(|example| example.specification == name).count();
        assert!(count >= least, "{name}: only {count} examples");
    }
    for example in &examples {
        assert!(!example.text.trim().is_empty() && !example.manner.is_empty(), "{example:?}");
        let needs = ["wrong", "not"].contains(&example.word());
        assert!(!needs || !example.instead.trim().is_empty(), "what works is missing: {example:?}");
    }
}

#[test]
fn every_correction_of_an_example_is_listed_in_the_documentation() {
    // req: A-33 partly: wrong examples are listed
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let page = std::fs::read_to_string(root.join("docs/specifications.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let missing: Vec<&str> = examples().iter().map(|example| example.why).filter(|why| !page.contains(why)).collect();
    assert!(missing.is_empty(), "not in docs/specifications.md: {missing:#?}");
}

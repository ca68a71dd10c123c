//! Runs the built `loop` with one behaviour, and says what is wrong with its end.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use super::replayed::own_policy_faults;
use super::said::date_ms;
use super::{Behaviour, Check, Ends, Ideal, Status, Turn, play};
use crate::{Ran, TestEnv};

/// A loop that takes longer does not end.
const NEVER_ENDS_S: &str = "100";
/// The most iterations, unless a behaviour says otherwise.
const ITERATIONS: &str = "15";

/// The usual project: a repository whose test wants four steps.
const PROJECT: &str = r#"git init -q . && git config user.name tester && git config user.email tester@example.org
mkdir -p src tests && echo '# work' > src/work.txt && printf 'build/\ndata/\n' > .gitignore
cat > run_tests.sh <<'END'
#!/bin/sh
steps=$(grep -c '^step' src/work.txt)
echo "$steps of 4 steps"
[ "$steps" -ge 4 ]
END
chmod +x run_tests.sh
git add . && git commit -qm begun
"#;

/// One behaviour with one agent: what it should have come to and what it came to.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    /// Who played it.
    pub agent: &'static str,
    /// How it should have ended.
    pub ideal: Ideal,
    /// How it ended, in words.
    pub got: String,
    /// The sentence of the end.
    pub why: String,
    /// After how many iterations.
    pub iterations: u64,
    /// With how many calls of the agent.
    pub calls: usize,
    /// About how many tokens of its longest prompt are the harness's.
    pub prompt_tokens: u64,
    /// Whether it was called done and was not.
    pub false_completion: bool,
    /// What is wrong; nothing where all is right.
    pub faults: Vec<String>,
}

/// Plays a behaviour and judges what came of it. `behaviour` is the built program that plays.
#[must_use]
pub fn judge(program: &str, player: &str, behaviour: &'static Behaviour, agent: &'static str) -> Row {
    let env = prepare(program, player, behaviour, agent);
    let (ran, ended) = play_loop(&env, behaviour, agent, &[]);
    let events: Vec<Value> = ran.out().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let ideal = behaviour.ideal_codex.filter(|_| agent == "codex").unwrap_or(behaviour.ideal);
    let seen = Seen { env: &env, ran: &ran, events: &events, ended: &ended };
    let done = seen.word("outcome") == "verified" || ended["verified"] == true;
    let false_completion = done && !seen.shell(truth(behaviour));
    let mut faults = seen.faults_of_end(ideal, behaviour.over);
    faults.extend(false_completion.then(|| "a false completion".to_owned()));
    faults.extend(seen.misread(behaviour));
    let prompts = seen.prompts();
    faults.extend(seen.long_prompts(&prompts));
    faults.extend(own_policy_faults(&env, &ended));
    faults.extend(behaviour.checks.iter().filter_map(|check| seen.fault(*check)));
    let code = ran.code.map_or_else(|| "signal".to_owned(), |code| code.to_string());
    Row {
        name: behaviour.name,
        agent,
        ideal,
        got: format!("{}/{}, exit {code}", seen.word("outcome"), seen.word("reason")),
        why: seen.word("why").to_owned(),
        iterations: ended["iterations"].as_u64().unwrap_or(0),
        calls: seen.calls().len(),
        prompt_tokens: prompts.iter().filter_map(|(_, tokens)| *tokens).max().unwrap_or(0),
        false_completion,
        faults,
    }
}

/// Starts the loop of a behaviour, with more arguments, and gives its last event.
pub(super) fn play_loop(env: &TestEnv, behaviour: &'static Behaviour, agent: &str, more: &[&str]) -> (Ran, Value) {
    let mut words = vec!["start", behaviour.goal, "--agent", agent, "--json", "-n", ITERATIONS];
    words.extend(behaviour.gate.iter().chain(behaviour.arguments));
    words.extend(more);
    let ran = env.run(&words);
    let out = ran.out();
    let mut events = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ended = events.find(|event| event["event"] == "ended").unwrap_or_default();
    (ran, ended)
}

/// A user with the project, and the agent on the PATH.
pub(super) fn prepare(program: &str, player: &str, behaviour: &Behaviour, agent: &str) -> TestEnv {
    let env = TestEnv::new(program).run_by(&["timeout", "-k", "9", NEVER_ENDS_S]);
    let env = env.with("ANTHROPIC_API_KEY", "dummy-key-of-a-test").with("OPENAI_API_KEY", "dummy-key-of-a-test");
    fs::create_dir(env.root().join("calls")).expect("a folder");
    let calls = env.root().join("calls").display().to_string();
    env.program(agent, &format!("exec '{player}' {agent} {} '{calls}' \"$@\"", behaviour.name));
    let script = format!("set -e\n{PROJECT}\n{}", behaviour.project.join("\n"));
    let mut command = Command::new("sh");
    command.args(["-c", &script]);
    env.apply_env(&mut command);
    let made = command.output().expect("sh");
    assert!(made.status.success(), "{}: {}", behaviour.name, String::from_utf8_lossy(&made.stderr));
    let truth = env.root().join("truth.sh");
    if fs::copy(env.work().join("run_tests.sh"), &truth).is_ok() {
        fs::set_permissions(&truth, fs::Permissions::from_mode(0o755)).expect("a script");
    }
    env
}

fn truth(behaviour: &Behaviour) -> &'static str {
    if behaviour.truth.is_empty() { "sh ../truth.sh" } else { behaviour.truth }
}

/// About how many tokens the harness may add to a prompt.
const PROMPT_TOKENS_MAX: u64 = 6_000;

/// What can be seen of a loop that is over.
struct Seen<'a> {
    env: &'a TestEnv,
    ran: &'a Ran,
    events: &'a [Value],
    ended: &'a Value,
}

impl Seen<'_> {
    /// Every prompt that was sent: its place, and about how many tokens of it are the harness's. None without a list of
    /// its sections.
    fn prompts(&self) -> Vec<(String, Option<u64>)> {
        let inside = |folder: &std::path::Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
        };
        let runs = inside(&self.env.state().join("runs"));
        let iterations: Vec<_> = runs.iter().flat_map(|run| inside(&run.join("iterations"))).collect();
        let attempts = iterations.iter().flat_map(|iteration| inside(iteration));
        let tokens = |attempt: &std::path::Path| {
            let list: Value = serde_json::from_str(&fs::read_to_string(attempt.join("prompt.json")).ok()?).ok()?;
            let own = list["sections"].as_array()?.iter().filter(|section| section["by_person"] != true);
            Some(own.filter_map(|section| section["tokens"].as_u64()).sum())
        };
        let sent = attempts.filter(|attempt| attempt.join("prompt.md").exists());
        sent.map(|attempt| (attempt.display().to_string(), tokens(&attempt))).collect()
    }

    /// Prompts to which the harness added more than it may, and prompts without a list of their sections.
    fn long_prompts(&self, prompts: &[(String, Option<u64>)]) -> Vec<String> {
        let long = |(place, tokens): &(String, Option<u64>)| match tokens {
            None => Some(format!("{place} has no list of its sections")),
            Some(tokens) if *tokens > PROMPT_TOKENS_MAX => Some(format!("{place} has {tokens} tokens of the harness")),
            Some(_) => None,
        };
        let none = prompts.is_empty() && !self.calls().is_empty();
        let none = none.then(|| "the agent was called, and no prompt is stored".to_owned());
        prompts.iter().filter_map(long).chain(none).collect()
    }

    fn word(&self, name: &str) -> &str {
        self.ended[name].as_str().unwrap_or("nothing")
    }

    /// When each call was made, in milliseconds since 1970.
    fn calls(&self) -> Vec<u64> {
        self.env.read("calls/calls").lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn shell(&self, line: &str) -> bool {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        self.env.apply_env(&mut command);
        command.output().is_ok_and(|out| out.status.success())
    }

    fn faults_of_end(&self, ideal: Ideal, over: u32) -> Vec<String> {
        if self.ended.is_null() {
            return vec![format!("no end: {}", self.ran.text().replace('\n', " | "))];
        }
        let mut faults = Vec::new();
        let got = (self.word("outcome"), self.word("reason"), self.ran.code);
        let wanted = (ideal.outcome, ideal.reason, Some(ideal.code));
        if got != wanted {
            faults.push(format!("ended as {got:?}, not {wanted:?}"));
        }
        let iterations = self.ended["iterations"].as_u64().unwrap_or(0);
        let most = u64::from(ideal.iterations + over);
        if !(u64::from(ideal.iterations)..=most).contains(&iterations) {
            faults.push(format!("{iterations} iterations, not {} to {most}", ideal.iterations));
        }
        faults
    }

    fn fault(&self, check: Check) -> Option<String> {
        match check {
            Check::Waited(source) => self.waited(source),
            Check::NeverWaited => self.waits().first().map(|wait| format!("it waited: {wait}")),
            Check::Told(call, words) => {
                let prompt = self.env.read(&format!("calls/prompt-{call}"));
                (!prompt.contains(words)).then(|| format!("call {call} was not told {words:?}: {prompt}"))
            }
            Check::Why(words) => (!self.word("why").contains(words)).then(|| format!("it does not say {words:?}")),
            Check::Calls(count) => {
                let calls = self.calls().len();
                (calls != usize::try_from(count).unwrap_or(0)).then(|| format!("{calls} calls, not {count}"))
            }
            Check::Shell(line) => (!self.shell(line)).then(|| format!("does not hold: {line}")),
        }
    }

    /// A call that was understood as something else than it played.
    fn misread(&self, behaviour: &Behaviour) -> Option<String> {
        let ended = self.events.iter().filter(|event| event["event"] == "agent_ended");
        (1..).zip(ended).find_map(|(call, event)| {
            let turn = play::turn(behaviour, call);
            let failure = event["failure"].as_str();
            let right = read_as(turn).is_none_or(|words| words == failure);
            (!right).then(|| format!("call {call}, {:?}, was read as {failure:?}", turn.ends))
        })
    }

    fn waits(&self) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event"] == "waiting").collect()
    }

    /// A wait was shown, by that source, and no call came before what the provider said or what was shown.
    fn waited(&self, source: &str) -> Option<String> {
        let waits = self.waits();
        let Some(wait) = waits.first() else { return Some("no wait was shown".to_owned()) };
        if wait["source"] != source {
            return Some(format!("not by {source}: {wait}"));
        }
        let until = date_ms(wait["until"].as_str().unwrap_or_default());
        let calls = self.calls();
        let resets = self.env.read("calls/resets");
        let mut stated = resets.lines().filter_map(|line| {
            let (call, reset) = line.split_once(' ')?;
            Some((call.parse::<usize>().ok()?, reset.parse::<u64>().ok()?))
        });
        stated.find_map(|(call, reset)| {
            // The stream has whole seconds.
            let next = calls.get(call).copied().unwrap_or(u64::MAX);
            let early = next < reset / 1000 * 1000 || until < reset / 1000 * 1000;
            early.then(|| format!("reset at {reset}, shown {until}, called again at {next}"))
        })
    }
}

/// The failure that a turn must be read as, where that is settled.
fn read_as(turn: &Turn) -> Option<Option<&'static str>> {
    match turn.ends {
        Ends::Well | Ends::Warned | Ends::Costs(_) | Ends::Untold if turn.status == Status::Blocked => None,
        Ends::Well | Ends::Warned | Ends::Costs(_) | Ends::Untold => Some(None),
        Ends::Limit(_) | Ends::LimitOnly => Some(Some("rate_limit")),
        Ends::Overload => Some(Some("overload")),
        Ends::Auth => Some(Some("auth")),
        Ends::Billing => Some(Some("billing")),
        Ends::Context => Some(Some("context")),
        Ends::Crashes | Ends::Mute => Some(Some("crash")),
        Ends::Fails(_) | Ends::Hangs | Ends::Denied(_) | Ends::Budget | Ends::Asks(_) => None,
    }
}

/// The table of all rows.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| behaviour | agent | ideal | got | iterations (ideal) | calls | tokens | verdict |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Ideal { outcome, reason, code, iterations } = row.ideal;
        let verdict = match (row.false_completion, row.faults.is_empty()) {
            (true, _) => "FALSE COMPLETION",
            (false, false) => "WRONG",
            (false, true) => "right",
        };
        text.push_str(&format!(
            "| {} | {} | {outcome}/{reason}, exit {code} | {} | {} ({iterations}) | {} | {} | {verdict} |\n",
            row.name, row.agent, row.got, row.iterations, row.calls, row.prompt_tokens
        ));
    }
    let wrong = rows.iter().filter(|row| !row.faults.is_empty()).count();
    let false_ones = rows.iter().filter(|row| row.false_completion).count();
    let longest = rows.iter().map(|row| row.prompt_tokens).max().unwrap_or(0);
    text.push_str(&format!("\n{} rows, {wrong} wrong, {false_ones} false completions, ", rows.len()));
    text.push_str(&format!("at most about {longest} tokens of the harness in a prompt\n"));
    text
}

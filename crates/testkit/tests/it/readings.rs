//! What our readers make of the pinned programs, case by case, in files that a person can read: when a pin is raised,
//! the difference shows what changed (docs/agents.md). Agents behind the protocol, and opencode, whose start takes
//! minutes on a busy machine, are in `real` of cli's tests.
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use loop_core::agent::{Adapter, AttemptSpec, Begin, End, Permissions, Reading, Stdin, Stream, Usage, adapter};
use loop_core::run::Ended;
use loop_testkit::agents::{RealAgent, with_real};
use loop_testkit::model::{Fault, ModelServer, Script, Turn};
use loop_testkit::{TestEnv, wait_at_most};

/// One that has not ended by then is ended.
const TAKES_MAX: Duration = Duration::from_secs(90);
/// The same where the provider refuses: one that still tries by itself then would do so for minutes.
const REFUSED_TAKES_MAX: Duration = Duration::from_secs(30);

/// What the provider does in a case.
fn faults() -> [(&'static str, Fault); 5] {
    [
        ("not signed in", Fault::Unauthorized),
        ("no credit", Fault::Billing),
        ("no such model", Fault::Model),
        ("too long", Fault::Context),
        ("a limit", Fault::RateLimit(900)),
    ]
}

/// One program, with its adapter and a scratch user.
struct Program {
    adapter: &'static Adapter,
    env: TestEnv,
    session: Option<String>,
    used: Usage,
}

impl Program {
    fn new(agent: RealAgent, name: &str, turns: impl IntoIterator<Item = Turn>) -> (Self, ModelServer) {
        let env = TestEnv::new("/bin/true");
        let server = ModelServer::start(Script::new(turns).in_folder(env.work()));
        let env = with_real(env, agent, &server).with("IS_SANDBOX", "1");
        (Self { adapter: adapter(name).unwrap(), env, session: None, used: Usage::default() }, server)
    }

    /// Calls it as the harness does.
    fn command(&self) -> Command {
        let path = |name: &str| self.env.root().join(name).display().to_string();
        let (folder, prompt, system) = (path("tmp"), path("tmp/prompt.md"), path("tmp/system.md"));
        // What the user has set stands above what the adapter would set.
        let mut user = Command::new("true");
        self.env.apply_env(&mut user);
        let text = |value: &OsStr| value.to_string_lossy().into_owned();
        let set = user.get_envs().filter_map(|(name, value)| Some((text(name), text(value?))));
        let ambient: BTreeMap<String, String> = set.collect();
        self.env.write("tmp/prompt.md", "Do the next step.");
        self.env.write("tmp/system.md", "");
        let call = (self.adapter.call)(&AttemptSpec {
            program: &path(&format!("bin/{}", self.adapter.program)),
            harness: "",
            workspace: &path("work"),
            folder: &folder,
            prompt_file: &prompt,
            system: "",
            system_file: &system,
            session: self.session.as_deref(),
            permissions: Permissions::Work,
            network: false,
            model: None,
            effort: None,
            args: &[],
            root: true,
            budget: None,
            ambient: &ambient,
        });
        for (file, text) in &call.files {
            fs::write(file, text).unwrap();
        }
        let mut command = Command::new(&call.argv[0]);
        self.env.apply_env(&mut command);
        command.args(&call.argv[1..]).envs(call.env).current_dir(self.env.work());
        command.stdin(match call.stdin {
            Stdin::Prompt => File::open(&prompt).unwrap().into(),
            Stdin::Nothing => Stdio::null(),
        });
        command
    }

    fn read(&mut self, at_most: Duration) -> (Ended, Reading) {
        let (out, log) = (self.env.root().join("out"), self.env.root().join("log"));
        let mut command = self.command();
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let mut files = [File::open(&out).unwrap(), File::open(&log).unwrap()];
        let mut stream = Stream::new((self.adapter.reader)(Begin { used: self.used }));
        let mut over = None;
        wait_at_most(at_most, || {
            let status = child.try_wait().unwrap();
            let mut came = [Vec::new(), Vec::new()];
            for (file, came) in files.iter_mut().zip(&mut came) {
                file.read_to_end(came).unwrap();
            }
            // The log first, and output by lines: what a program writes after it said that it tries again depends on
            // the moment at which it is ended.
            stream.stderr(&came[1]);
            for line in came[0].split_inclusive(|byte| *byte == b'\n') {
                if !stream.is_retrying() {
                    stream.push(line);
                }
            }
            over = status.map(|status| status.code().map_or(Ended::Signal(9), Ended::Exit));
            over.is_some() || stream.is_retrying()
        });
        let ended = over.unwrap_or_else(|| {
            child.kill().unwrap();
            child.wait().unwrap();
            Ended::ByUs
        });
        let stderr = fs::read(&log).unwrap();
        let continued = self.session.is_some();
        let now_ms = 1_794_769_200_000;
        let end = End { ended: &ended, stderr: &stderr, asked: "", now_ms, utc_offset_s: 0, continued };
        let reading = stream.end(&end);
        (ended, reading)
    }

    /// The case for people, without what differs from run to run.
    fn case(&mut self, name: &str, at_most: Duration, out: &mut String) {
        let (ended, reading) = self.read(at_most);
        let usage = reading.usage;
        let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        writeln!(out, "== {name} ({})", ended.brief()).unwrap();
        writeln!(out, "terminal: {:?}", reading.terminal).unwrap();
        let failure = reading.failure.map_or("none", |failure| failure.word());
        writeln!(out, "failure: {failure}, reset {}", if reading.reset.is_some() { "known" } else { "not known" })
            .unwrap();
        let session = if reading.session.is_some() { "yes" } else { "no" };
        writeln!(out, "session: {session}, lost {}, tools {:?}", reading.session_lost, reading.tool_calls).unwrap();
        let tokens = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens].map(count).join(" ");
        writeln!(out, "in, out, cached: {tokens}; micros {}", count(usage.cost_micros)).unwrap();
        writeln!(out, "odd lines: {} {}", reading.malformed_lines, reading.unknown_lines).unwrap();
        writeln!(out, "error: {}", without_numbers(reading.error.as_deref().unwrap_or("none"))).unwrap();
        writeln!(out, "text: {}\n", reading.text.trim()).unwrap();
        self.session = reading.session;
        self.used = usage;
    }
}

/// The words of an error on one line; ports, times and ids differ from run to run.
fn without_numbers(words: &str) -> String {
    let words = words.replace("127.0.0.1", "HOST");
    // Where the programs are installed differs from machine to machine.
    let installed = |word: &str| match word.split_once("/node_modules/") {
        Some((folder, rest)) if folder.starts_with('/') => format!("AGENTS/{rest}"),
        _ => word.to_owned(),
    };
    let words = words.split(' ').map(installed).collect::<Vec<_>>().join(" ");
    let parts = words.split(|letter: char| !letter.is_ascii_alphanumeric()).collect::<Vec<_>>();
    let mut out = words.replace('\n', " ");
    for part in parts.iter().filter(|part| part.len() > 3 && part.chars().any(|letter| letter.is_ascii_digit())) {
        out = out.replacen(part, "N", 1);
    }
    out.chars().take(300).collect()
}

fn compare(agent: RealAgent, name: &str) {
    let mut out = String::new();
    let turns = [
        Turn::write("a.txt", "one\n").saying("I write.").tokens(1000, 50, 200),
        Turn::text("One is done.").tokens(1200, 30, 300),
        Turn::shell("echo two > b.txt").tokens(1500, 70, 500),
        Turn::text("Two is done.").tokens(1600, 40, 600),
    ];
    let (mut program, _server) = Program::new(agent, name, turns);
    program.case("first", TAKES_MAX, &mut out);
    let files = |program: &Program| (program.env.read("work/a.txt"), program.env.read("work/b.txt"));
    assert_eq!(files(&program), ("one\n".to_owned(), String::new()), "{out}");
    if program.adapter.continues {
        program.case("goes on", TAKES_MAX, &mut out);
        assert_eq!(files(&program).1, "two\n", "{out}");
    }
    for (case, fault) in faults() {
        let (mut program, _server) = Program::new(agent, name, [Turn::fault(fault).times(100)]);
        program.case(case, REFUSED_TAKES_MAX, &mut out);
    }
    let file: PathBuf = [env!("CARGO_MANIFEST_DIR"), "agents", "readings", &format!("{name}.txt")].iter().collect();
    expect_test::expect_file![file].assert_eq(&out);
}

macro_rules! readings {
    ($($name:ident: $agent:ident;)*) => {$(
        #[test]
        fn $name() {
            compare(RealAgent::$agent, stringify!($name));
        }
    )*};
}

readings! {
    claude: Claude;
    codex: Codex;
    gemini: Gemini;
    qwen: Qwen;
    cline: Cline;
    copilot: Copilot;
    grok: Grok;
    pi: Pi;
}

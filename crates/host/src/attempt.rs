//! One attempt of the agent: its prompt, variables and program made ready, and its words read as they come.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use loop_core::agent::{
    self, Agent, AgentCommand, AttemptSpec, Begin, Dialect, End, Live, Reading, Stdin, StopSignal, Stream, SystemBy,
};
use loop_core::prompt::system_prompt;
use loop_core::run::{AgentReport, Answer, Ended, RunSettings, RunState, StreamReport, TextDigest};
use loop_core::settings::{AgentSettings, Settings, StatusBlock};
use loop_core::text;
use sha2::{Digest, Sha256};

use crate::attempt_container::Inside;
use crate::clock;
use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec, Voice};
use crate::prompt_file::{self, Told};
use crate::runs::RunFolder;
use crate::secrets;

/// How much of an agent's words stands in its report.
const SAID_BYTES_MAX: usize = 2048;

/// The words of an attempt under way.
#[derive(Debug)]
pub(crate) struct Words {
    stream: Stream,
    /// Everything that the agent was asked: what stands in there is no word of its own.
    asked: String,
    continued: bool,
    /// Whether the session was told of.
    told: bool,
    /// The container that it works in.
    inside: Option<Inside>,
}

/// What to start for one attempt, and how its words are read.
struct Ready {
    call: AgentCommand,
    env: Vec<(String, OsString)>,
    clear: bool,
    words: Words,
    gentle: StopSignal,
}

/// Writes the prompt and starts the agent with it.
pub(crate) fn start(
    run: &RunFolder,
    state: &RunState,
    told: (Told<'_>, Option<&str>),
    workspace: &Path,
    containment: &mut Containment,
) -> Result<(Task, Words), Answer> {
    let failed = |what: &str, error: &io::Error| Answer::Failed { what: format!("{what}: {error}") };
    let folder = run.attempt(state.iteration, state.attempt);
    let ready = ready(run, state, told, (workspace, &folder));
    let ready = ready.map_err(|error| failed("cannot write the prompt", &error))?;
    let spec = TaskSpec {
        lane: MAIN,
        argv: &ready.call.argv,
        clear: ready.clear,
        env: ready.env,
        folder: workspace.to_owned(),
        stdin: (ready.call.stdin == Stdin::Prompt).then(|| folder.join(PROMPT)),
        output: folder,
        secrets: secrets::of(state),
    };
    let task =
        Task::start(spec, containment).map_err(|error| failed("cannot start the agent in the workspace", &error))?;
    let task = match ready.gentle {
        StopSignal::Terminate => task,
        StopSignal::Interrupt => task.interrupted_gently(),
    };
    Ok((task, ready.words))
}

const PROMPT: &str = "prompt.md";
const SYSTEM: &str = "system.md";

fn ready(
    run: &RunFolder,
    state: &RunState,
    (told, session): (Told<'_>, Option<&str>),
    (workspace, folder): (&Path, &Path),
) -> io::Result<Ready> {
    let agent = state.agent_in_use().ok_or_else(|| io::Error::other("there is no such agent"))?;
    let known = !matches!(agent, Agent::Custom(_));
    let system = system(state, known);
    let mut prompt = prompt_file::text(run, state, told)?;
    if agent.system() == SystemBy::Prompt && !system.is_empty() {
        prompt.push_str(&format!("\n{system}\n"));
    }
    let secret = secrets::of(state);
    let (prompt, system) = (secret.text(&prompt).into_owned(), secret.text(&system).into_owned());
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    write(&folder.join(PROMPT), &prompt)?;
    if known {
        write(&folder.join(SYSTEM), &system)?;
    }
    let session = session.filter(|_| agent.continues());
    let inside = Inside::of(run, &state.settings.shown().values.agent, folder)?;
    if inside.is_some() && agent.is_behind_bridge() {
        return Err(io::Error::other(format!("{} cannot work in a container", agent.name())));
    }
    // As the agent sees them.
    let (workspace, folder) = match &inside {
        Some(inside) => (PathBuf::from(inside.workdir()), PathBuf::from(inside.files())),
        None => (workspace.to_owned(), folder.to_owned()),
    };
    let places = Places { workspace: &workspace, folder: &folder };
    let ambient = passed(&agent, &state.settings.shown().values.agent);
    let call = ask(&agent, state, &ambient, &places, (&system, session));
    match &inside {
        Some(inside) => inside.put(&[(PROMPT, &prompt), (SYSTEM, &system)], &call.files)?,
        None => call.files.iter().try_for_each(|(path, text)| write(Path::new(path), text))?,
    }
    let mut env: Vec<(String, OsString)> = vec![
        ("LOOP_ID".into(), run.id.as_str().into()),
        ("LOOP_ITERATION".into(), state.iteration.to_string().into()),
        ("LOOP_ATTEMPT".into(), state.attempt.to_string().into()),
        ("LOOP_PROMPT_FILE".into(), folder.join(PROMPT).into_os_string()),
    ];
    let ambient = ambient.into_iter().filter(|(name, _)| !call.without.contains(name));
    env.splice(0..0, ambient.map(|(name, value)| (name, value.into())));
    env.extend(call.env.iter().map(|(name, value)| (name.clone(), value.into())));
    let used = state.agent.session().filter(|_| session.is_some()).map(|session| session.used).unwrap_or_default();
    let words = Words {
        stream: Stream::new(agent.reader(Begin { used })),
        asked: format!("{system}\n{prompt}"),
        continued: session.is_some(),
        told: false,
        inside,
    };
    if let Some(inside) = &words.inside {
        // Its stand-in on this side knows the signal that the agent ends on.
        let (call, env) = inside.stand_in(call, env, agent.stop_signal());
        return Ok(Ready { call, env, clear: true, words, gentle: StopSignal::Terminate });
    }
    // A command of the user's gets the whole environment, also what is no text in it.
    Ok(Ready { call, env, clear: known, words, gentle: agent.stop_signal() })
}

/// Which of the person's variables the agent gets.
fn passed(agent: &Agent, settings: &AgentSettings) -> BTreeMap<String, String> {
    let extra = settings.more_variables();
    if settings.in_container() {
        agent.environment_inside(ambient(), &extra).passed
    } else {
        agent.environment(ambient(), &extra).passed
    }
}

struct Places<'a> {
    workspace: &'a Path,
    folder: &'a Path,
}

fn ask(
    agent: &Agent,
    state: &RunState,
    ambient: &BTreeMap<String, String>,
    places: &Places<'_>,
    (system, session): (&str, Option<&str>),
) -> AgentCommand {
    let settings = &state.settings.shown().values.agent;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let harness = std::env::current_exe().map_or_else(|_| "loop".to_owned(), |path| text(&path));
    let (workspace, folder) = (text(places.workspace), text(places.folder));
    let (prompt_file, system_file) = (text(&places.folder.join(PROMPT)), text(&places.folder.join(SYSTEM)));
    // The line was checked when it came in.
    let args = agent::shell_words::split(settings.agent_args.as_deref().unwrap_or_default()).unwrap_or_default();
    agent.call(&AttemptSpec {
        program: agent.program().unwrap_or_default(),
        harness: &harness,
        workspace: &workspace,
        folder: &folder,
        prompt_file: &prompt_file,
        system,
        system_file: &system_file,
        session,
        permissions: settings.allowed(),
        network: settings.agent_network,
        model: settings.agent_model.as_deref(),
        args: &args,
        // What we put into a container is root's there.
        root: rustix::process::geteuid().is_root() || settings.in_container(),
        budget: state.budget_micros(state.settings.shown()),
        ambient,
    })
}

/// How an agent would be called, with words where the files of an attempt would be.
#[must_use]
pub fn example(agent: &Agent, settings: &Settings, workspace: &Path) -> AgentCommand {
    let state = RunState { settings: RunSettings::new(&settings.resolved), ..RunState::default() };
    let ambient = passed(agent, &settings.values.agent);
    let places = Places { workspace, folder: Path::new("ATTEMPT") };
    ask(agent, &state, &ambient, &places, ("SYSTEM PROMPT", None))
}

/// The person's own variables, those that are text.
pub fn ambient() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// What is added to the agent's system prompt. A command of the user's is asked for no status block.
fn system(state: &RunState, known: bool) -> String {
    let settings = &state.settings.shown().values.agent;
    let dialect = match settings.status_block {
        StatusBlock::Loop => Some(Dialect::Loop),
        StatusBlock::Loopr => Some(Dialect::Loopr),
        StatusBlock::None => None,
    };
    system_prompt(dialect.filter(|_| known), settings.append_system_prompt.as_deref().unwrap_or_default())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

impl Words {
    /// Takes what the agent wrote; gives what a person is to see of it.
    pub(crate) fn hear(&mut self, voice: Voice, bytes: &[u8]) -> Option<String> {
        if voice == Voice::Stderr {
            self.stream.stderr(bytes);
            // Some write there what is only for us.
            return self.stream.stderr_is_private().then(String::new);
        }
        let live = self.stream.push(bytes);
        (!self.stream.is_plain()).then(|| live.iter().map(shown).collect())
    }

    /// The session, once, as soon as it is known.
    pub(crate) fn session(&mut self) -> Option<String> {
        let id = self.stream.session().filter(|_| !self.told)?.to_owned();
        self.told = true;
        Some(text::one_line(&id, 200))
    }

    /// Whether the agent has begun to wait by itself for what only we wait for.
    pub(crate) fn retrying(&self) -> bool {
        self.stream.is_retrying()
    }

    /// Whether it works in a container: what the machine shows of our own process there says nothing about it.
    pub(crate) fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// What the end of the agent is to the core.
    pub(crate) fn answer(self, end: TaskEnd) -> Answer {
        let end = match &self.inside {
            Some(inside) => inside.settled(end),
            None => end,
        };
        if !end.lost.is_empty() {
            return Answer::Lost { left: end.lost };
        }
        let coded = !self.stream.is_plain();
        let reading = self.stream.end(&End {
            ended: &end.ended,
            stderr: &end.stderr_end,
            asked: &self.asked,
            now_ms: clock::now().wall_ms,
            utc_offset_s: clock::utc_offset_s(),
            continued: self.continued,
        });
        let said = said(&reading, &end, coded);
        let words = words_of(&reading, &end, coded);
        Answer::AgentEnded(Box::new(AgentReport {
            ended: end.ended,
            duration_ms: end.duration_ms,
            output: end.output,
            last_text: text::tail(said.trim(), SAID_BYTES_MAX).to_owned(),
            left_running: end.left_running,
            // The agent did its work and was paid for it: that is written down before the failure counts.
            not_stored: end.failed,
            stream: StreamReport { words, ..StreamReport::of(reading) },
        }))
    }
}

/// What the output of an agent means to people, for views that read it again.
#[derive(Debug, Default)]
pub struct Meaning(Option<Stream>);

impl Meaning {
    /// Of what the agent of this run writes.
    #[must_use]
    pub fn of(state: &RunState) -> Self {
        let known = state.agent_in_use().filter(|agent| !matches!(agent, Agent::Custom(_)));
        Self(known.map(|agent| Stream::new(agent.reader(Begin::default()))))
    }

    /// What a person is to see of these bytes.
    pub fn shown<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match &mut self.0 {
            Some(stream) if !stream.is_plain() => {
                stream.push(bytes).iter().map(shown).collect::<String>().into_bytes().into()
            }
            Some(_) | None => bytes.into(),
        }
    }
}

/// Its own words by hash and length, so that they can be compared with others; of a plain program all that it printed.
fn words_of(reading: &Reading, end: &TaskEnd, coded: bool) -> Option<TextDigest> {
    let words = if coded {
        let sha256 = crate::fs::hex(&Sha256::digest(reading.text.trim().as_bytes()));
        TextDigest { sha256, bytes: u64::try_from(reading.text.trim().len()).unwrap_or(u64::MAX) }
    } else {
        TextDigest { sha256: end.output.sha256.clone(), bytes: end.output.stdout_bytes }
    };
    (words.bytes > 0).then_some(words)
}

/// The end of its own words; else of its error.
fn said(reading: &Reading, end: &TaskEnd, coded: bool) -> String {
    let words = if coded { reading.text.clone() } else { text::clean(&end.stdout_end) };
    let stderr = || text::clean(&end.stderr_end);
    match (words.trim().is_empty(), &reading.error) {
        (false, _) => words,
        (true, Some(error)) => error.clone(),
        (true, None) if end.ended == Ended::Exit(0) && coded => String::new(),
        (true, None) => stderr(),
    }
}

fn shown(live: &Live) -> String {
    match live {
        Live::Text(text) => text.clone(),
        Live::Tool(name, argument) => format!("\n[{name}] {}\n", text::one_line(argument, 200)),
        Live::Note(note) => format!("\n[{}]\n", text::one_line(note, 300)),
    }
}

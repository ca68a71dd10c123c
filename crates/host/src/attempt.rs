//! One attempt of the agent: its prompt, variables and command are prepared, and its output is read as it comes.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loop_core::agent::provider::window::keep;
use loop_core::agent::{
    self, Agent, AgentCommand, AttemptSpec, Begin, Dialect, End, Live, Permissions, Reading, Secrets, Stdin,
    StopSignal, Stream, SystemBy, Usage,
};
use loop_core::prompt::{Prompt, system_prompt};
use loop_core::run::{
    AgentChoice, AgentReport, Answer, AttemptRequest, Ended, Output, RunSettings, RunState, StreamReport, TextDigest,
};
use loop_core::settings::{AgentSettings, Settings, StatusBlock};
use loop_core::text;
use loop_core::view::LiveDigest;
use sha2::{Digest, Sha256};

use crate::agent_program::missing_program;
use crate::attempt_container::AttemptContainer;
use crate::clock;
use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec, Voice, tail_of};
use crate::prompt_file;
use crate::run_folder::RunFolder;
use crate::score_signals::{WORDS, WORDS_BYTES_MAX};
use crate::secrets;
use crate::sent_prompt::{self, PROMPT, SentSections};
use crate::session_record::SessionRecords;
use crate::workspace::WorkspaceIdentity;

/// How much of an agent's own text is in its report.
const LAST_TEXT_BYTES_MAX: usize = 2048;
/// How many letters of the beginning of a longer one.
const FIRST_TEXT_LETTERS_MAX: usize = 1000;
/// How much of what an agent wrote last is read to see which tool it uses.
const LIVE_BYTES_MAX: u64 = 256 * 1024;

/// What the order for an attempt says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttemptInput<'a> {
    /// Agent, model, and what the prompt has to say.
    pub(crate) request: &'a AttemptRequest,
    /// The session that is continued.
    pub(crate) session: Option<&'a str>,
}

/// Reads the output of an attempt under way.
#[derive(Debug)]
pub(crate) struct AttemptReader {
    stream: Stream,
    /// Everything that the agent was given: what it repeats of that is not its own text.
    asked: String,
    continued: bool,
    session_reported: bool,
    /// The container that it works in.
    container: Option<AttemptContainer>,
    /// Where its program keeps records of its sessions; none inside a container.
    records: Option<SessionRecords>,
    /// What faces show of the stream.
    digest: LiveDigest,
    shown: ShownText,
    /// Where its final message is written, and what is secret in it.
    words: (PathBuf, Arc<Secrets>),
}

/// What is started for an attempt, and how its output is read.
struct Prepared {
    call: AgentCommand,
    env: Vec<(String, OsString)>,
    clear: bool,
    reader: AttemptReader,
    stop_signal: StopSignal,
}

/// Writes the prompt and starts the agent with it.
pub(crate) fn start(
    run: &RunFolder,
    state: &RunState,
    input: AttemptInput<'_>,
    workspace: &WorkspaceIdentity,
    containment: &mut Containment,
) -> Result<(Task, AttemptReader), Answer> {
    let failed = |what: &str, error: &io::Error| Answer::Failed { what: format!("{what}: {error}") };
    if let Some(program) = missing(state, &input.request.choice) {
        return Err(not_started(format!("there is no program {program} on PATH any more")));
    }
    let folder = run.attempt(state.iteration, state.attempt);
    let prepared = prepare(run, state, input, workspace.path(), &folder);
    let prepared = prepared.map_err(|error| failed("cannot write the prompt", &error))?;
    let spec = TaskSpec {
        lane: MAIN,
        argv: &prepared.call.argv,
        clear: prepared.clear,
        env: prepared.env.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        folder: workspace.path().to_owned(),
        same: workspace.id(),
        stdin: (prepared.call.stdin == Stdin::Prompt).then(|| folder.join(PROMPT)),
        output: folder,
        secrets: secrets::of(state),
    };
    let task =
        Task::start(spec, containment).map_err(|error| failed("cannot start the agent in the workspace", &error))?;
    let task = match prepared.stop_signal {
        StopSignal::Terminate => task,
        StopSignal::Interrupt => task.interrupted_gently(),
    };
    Ok((task, prepared.reader))
}

/// The program of an agent, where it is not on this machine any more.
fn missing(state: &RunState, choice: &AgentChoice) -> Option<String> {
    let agent = state.agent_named(&choice.agent, state.settings.shown())?;
    missing_program(state.settings.shown(), &agent).map(str::to_owned)
}

/// The answer to an order for an agent that was not started: it cost nothing.
fn not_started(why: String) -> Answer {
    let nothing = Usage { cost_micros: Some(0), input_tokens: Some(0), output_tokens: Some(0), ..Usage::default() };
    Answer::AgentEnded(Box::new(AgentReport {
        ended: Ended::NotStarted(why),
        duration_ms: 0,
        output: Output::default(),
        first_text: None,
        last_text: String::new(),
        left_running: 0,
        not_stored: None,
        stream: StreamReport { usage: nothing, ..StreamReport::default() },
    }))
}

const SYSTEM: &str = "system.md";

fn prepare(
    run: &RunFolder,
    state: &RunState,
    input: AttemptInput<'_>,
    workspace: &Path,
    folder: &Path,
) -> io::Result<Prepared> {
    let choice = &input.request.choice;
    let agent = agent_of(state, choice)?;
    let known = !matches!(agent, Agent::Custom(_));
    let system = system(&state.settings.shown().values.agent, known);
    let sections = whole_prompt(run, state, input.request, &agent)?;
    let secret = secrets::of(state);
    let system = secret.text(&system).into_owned();
    let prompt = sections.text();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    write(&folder.join(PROMPT), &prompt)?;
    write(&folder.join(sent_prompt::SECTIONS), &SentSections::of(&sections).line())?;
    if known {
        write(&folder.join(SYSTEM), &system)?;
    }
    let session = input.session.filter(|_| agent.continues());
    let container = AttemptContainer::of(run, &state.settings.shown().values.agent, folder)?;
    if container.is_some() && agent.is_behind_bridge() {
        return Err(io::Error::other(format!("{} cannot work in a container", agent.name())));
    }
    // As the agent sees them.
    let (workspace, folder) = match &container {
        Some(container) => (PathBuf::from(container.workdir()), PathBuf::from(container.files())),
        None => (workspace.to_owned(), folder.to_owned()),
    };
    let ambient = passed(&agent, &state.settings.shown().values.agent);
    let (model, effort) = (choice.model.as_deref(), choice.effort.as_deref());
    let own = &state.settings.shown().values.agent;
    let (permissions, network) = (own.allowed(), own.agent_network);
    let (workspace, folder) = (workspace.as_path(), folder.as_path());
    let given = CallInput { workspace, folder, system: &system, session, model, effort, permissions, network };
    let call = call_of(&agent, state, &ambient, &given);
    match &container {
        Some(container) => container.copy(&[(PROMPT, &prompt), (SYSTEM, &system)], &call.files)?,
        None => call.files.iter().try_for_each(|(path, text)| write(Path::new(path), text))?,
    }
    let mut env = own_variables(run, state, folder);
    let ambient = ambient.into_iter().filter(|(name, _)| !call.without.contains(name));
    env.splice(0..0, ambient.map(|(name, value)| (name, value.into())));
    env.extend(call.env.iter().map(|(name, value)| (name.clone(), value.into())));
    let used = state.agent.session().filter(|_| session.is_some()).map(|session| session.used).unwrap_or_default();
    let reader = AttemptReader {
        stream: Stream::new(agent.reader(Begin { used })),
        asked: format!("{system}\n{prompt}"),
        continued: session.is_some(),
        session_reported: false,
        records: SessionRecords::of(&agent).filter(|_| container.is_none()),
        container,
        digest: LiveDigest::default(),
        shown: ShownText::default(),
        words: (run.attempt(state.iteration, state.attempt).join(WORDS), secret),
    };
    if let Some(container) = &reader.container {
        // Our own program outside the container sends the agent its signal.
        let (call, env) = container.wrap(call, env, agent.stop_signal());
        return Ok(Prepared { call, env, clear: true, reader, stop_signal: StopSignal::Terminate });
    }
    // A command of the user's gets the whole environment, also values that are not UTF-8.
    Ok(Prepared { call, env, clear: known, reader, stop_signal: agent.stop_signal() })
}

/// The variables that say to an agent which attempt it is; `folder` is where it finds its prompt.
fn own_variables(run: &RunFolder, state: &RunState, folder: &Path) -> Vec<(String, OsString)> {
    let mut env: Vec<(String, OsString)> = vec![
        ("LOOP_ID".into(), run.id.as_str().into()),
        ("LOOP_ITERATION".into(), state.iteration.to_string().into()),
        ("LOOP_ATTEMPT".into(), state.attempt.to_string().into()),
        ("LOOP_PROMPT_FILE".into(), folder.join(PROMPT).into_os_string()),
    ];
    let plan = state.spec.as_ref().and_then(|spec| spec.plan.as_ref());
    env.extend(plan.map(|of| ("LOOP_BRANCH".into(), of.node.as_str().into())));
    env
}

pub(crate) fn agent_of(state: &RunState, choice: &AgentChoice) -> io::Result<Agent> {
    let agent = state.agent_named(&choice.agent, state.settings.shown());
    agent.ok_or_else(|| io::Error::other(format!("there is no agent {:?}", choice.agent)))
}

/// The prompt as it is sent: with what is added for agents without a system prompt, and without secret values.
fn whole_prompt(run: &RunFolder, state: &RunState, request: &AttemptRequest, agent: &Agent) -> io::Result<Prompt> {
    let mut prompt = prompt_file::prompt(run, state, request)?;
    if agent.system() == SystemBy::Prompt {
        prompt.add_system(&system(&state.settings.shown().values.agent, !matches!(agent, Agent::Custom(_))));
    }
    let secret = secrets::of(state);
    for section in &mut prompt.sections {
        section.text = secret.text(&section.text).into_owned();
    }
    Ok(prompt)
}

/// The prompt that the next attempt would get, if it began now, and what else it would be asked.
///
/// # Errors
/// When a text of the run cannot be read, or there is no such agent.
pub fn next_prompt(run: &RunFolder, state: &RunState) -> io::Result<(AttemptRequest, Prompt)> {
    let request = state.next_request(state.settings.shown());
    let agent = agent_of(state, &request.choice)?;
    let prompt = whole_prompt(run, state, &request, &agent)?;
    Ok((request, prompt))
}

/// The variables of this process that the agent gets.
pub(crate) fn passed(agent: &Agent, settings: &AgentSettings) -> BTreeMap<String, String> {
    let extra = settings.more_variables();
    if settings.in_container() {
        agent.environment_inside(ambient(), &extra).passed
    } else {
        agent.environment(ambient(), &extra).passed
    }
}

/// What the command of an agent is made of, as the agent sees it.
pub(crate) struct CallInput<'a> {
    pub(crate) workspace: &'a Path,
    /// The folder with the prompt.
    pub(crate) folder: &'a Path,
    pub(crate) system: &'a str,
    pub(crate) session: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
    pub(crate) effort: Option<&'a str>,
    pub(crate) permissions: Permissions,
    pub(crate) network: bool,
}

pub(crate) fn call_of(
    agent: &Agent,
    state: &RunState,
    ambient: &BTreeMap<String, String>,
    given: &CallInput<'_>,
) -> AgentCommand {
    let settings = &state.settings.shown().values.agent;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let harness = std::env::current_exe().map_or_else(|_| "loop".to_owned(), |path| text(&path));
    let (workspace, folder) = (text(given.workspace), text(given.folder));
    let (prompt_file, system_file) = (text(&given.folder.join(PROMPT)), text(&given.folder.join(SYSTEM)));
    // The line was checked when it came in.
    // They are for the agent that was set, not for the others of a list.
    let args = settings.agent_args.as_deref().filter(|_| settings.agent == agent.name()).unwrap_or_default();
    let args = agent::shell_words::split(args).unwrap_or_default();
    agent.call(&AttemptSpec {
        program: agent.program().unwrap_or_default(),
        harness: &harness,
        workspace: &workspace,
        folder: &folder,
        prompt_file: &prompt_file,
        system: given.system,
        system_file: &system_file,
        session: given.session,
        permissions: given.permissions,
        network: given.network,
        model: given.model,
        effort: given.effort,
        args: &args,
        // What we put into a container is root's there.
        root: rustix::process::geteuid().is_root() || settings.in_container(),
        budget: state.budget_micros(state.settings.shown()),
        ambient,
    })
}

/// The command of an agent, with placeholders for the files of an attempt.
#[must_use]
pub fn example(agent: &Agent, settings: &Settings, workspace: &Path) -> AgentCommand {
    let state = RunState { settings: RunSettings::new(&settings.resolved), ..RunState::default() };
    let ambient = passed(agent, &settings.values.agent);
    let model = settings.values.agent.agent_model.as_deref();
    let given = CallInput {
        workspace,
        folder: Path::new("ATTEMPT"),
        system: "SYSTEM PROMPT",
        session: None,
        model,
        effort: None,
        permissions: settings.values.agent.allowed(),
        network: settings.values.agent.agent_network,
    };
    call_of(agent, &state, &ambient, &given)
}

/// The variables of this process that are UTF-8.
pub fn ambient() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// What is added to the system prompt of an agent with these settings; empty where that is nothing.
#[must_use]
pub fn added_system_prompt(agent: &Agent, settings: &Settings) -> String {
    system(&settings.values.agent, !matches!(agent, Agent::Custom(_)))
}

/// What is added to the agent's system prompt. A command of the user's is not asked for a status block.
fn system(settings: &AgentSettings, known: bool) -> String {
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

impl AttemptReader {
    /// Reads what the agent wrote. Gives the text for people, or none where the bytes are shown as they are.
    pub(crate) fn push(&mut self, voice: Voice, bytes: &[u8]) -> Option<String> {
        if voice == Voice::Stderr {
            self.stream.stderr(bytes);
            // Some agents write there what is not for people.
            return self.stream.stderr_is_private().then(String::new);
        }
        let live = self.stream.push(bytes);
        live.iter().for_each(|live| self.digest.add(live));
        (!self.stream.is_plain()).then(|| self.shown.of(&live))
    }

    /// The session, once, as soon as it is known.
    pub(crate) fn session(&mut self) -> Option<String> {
        let id = self.stream.session().filter(|_| !self.session_reported)?.to_owned();
        self.session_reported = true;
        Some(text::one_line(&id, 200))
    }

    /// What faces show of the stream.
    pub(crate) fn digest(&self) -> &LiveDigest {
        &self.digest
    }

    /// Whether the agent has begun to wait for its provider by itself.
    pub(crate) fn is_retrying(&self) -> bool {
        self.stream.is_retrying()
    }

    /// Whether it works in a container: the processor time of our own process then says nothing about the agent.
    pub(crate) fn is_in_container(&self) -> bool {
        self.container.is_some()
    }

    /// The answer to the order.
    pub(crate) fn answer(self, end: TaskEnd) -> Answer {
        let end = match &self.container {
            Some(container) => container.finish(end),
            None => end,
        };
        if !end.lost.is_empty() {
            return Answer::Lost { left: end.lost };
        }
        let coded = !self.stream.is_plain();
        let mut reading = self.stream.end(&End {
            ended: &end.ended,
            stderr: &end.stderr_end,
            asked: &self.asked,
            now_ms: clock::now().wall_ms,
            utc_offset_s: clock::utc_offset_s(),
            continued: self.continued,
        });
        if coded {
            // Only a score is made of it: without the file, the output is not compared.
            let (path, secret) = &self.words;
            let words = text::tail(&reading.text, WORDS_BYTES_MAX);
            write(path, &secret.text(words)).ok();
        }
        add_windows(&mut reading, self.records.as_ref());
        let last = last_text(&reading, &end, coded);
        let words = text_digest(&reading, &end, coded);
        Answer::AgentEnded(Box::new(AgentReport {
            ended: end.ended,
            duration_ms: end.duration_ms,
            output: end.output,
            first_text: (last.trim().len() > LAST_TEXT_BYTES_MAX)
                .then(|| last.trim().chars().take(FIRST_TEXT_LETTERS_MAX).collect()),
            last_text: text::tail(last.trim(), LAST_TEXT_BYTES_MAX).to_owned(),
            left_running: end.left_running,
            // The agent did its work, and it cost something: this is recorded before the failure counts.
            not_stored: end.failed,
            stream: StreamReport { words, ..StreamReport::of(reading) },
        }))
    }
}

/// What the record of the session says about limits, where the stream said nothing of a window by its name.
fn add_windows(reading: &mut Reading, records: Option<&SessionRecords>) {
    let Some((records, session)) = records.zip(reading.session.as_deref()) else { return };
    for window in records.windows(session) {
        if !reading.windows.iter().any(|known| known.name == window.name) {
            keep(&mut reading.windows, window);
        }
    }
}

/// Turns the output of an agent into text for people, for views that read it again.
#[derive(Debug, Default)]
pub struct Meaning(Option<Stream>, ShownText);

impl Meaning {
    /// For the agent that works, or worked last.
    #[must_use]
    pub fn of(state: &RunState) -> Self {
        Self::of_agent(state, state.agent_name())
    }

    /// For an agent of this run by its name.
    #[must_use]
    pub fn of_agent(state: &RunState, name: &str) -> Self {
        let agent = state.agent_named(name, state.settings.shown());
        let known = agent.filter(|agent| !matches!(agent, Agent::Custom(_)));
        Self(known.map(|agent| Stream::new(agent.reader(Begin::default()))), ShownText::default())
    }

    /// The text for people in these bytes.
    pub fn shown<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match &mut self.0 {
            Some(stream) if !stream.is_plain() => self.1.of(&stream.push(bytes)).into_bytes().into(),
            Some(_) | None => bytes.into(),
        }
    }
}

/// What is known from the live stream of the agent that works on this run, read from what it wrote last.
#[must_use]
pub fn live_digest(run: &RunFolder, state: &RunState) -> LiveDigest {
    let mut digest = LiveDigest::default();
    let works = state.main_order().is_some_and(|(_, open)| open.order.runs_agent());
    if let Some(mut stream) = Meaning::of(state).0.filter(|_| works) {
        let written = tail_of(&run.attempt(state.iteration, state.attempt).join("stdout"), LIVE_BYTES_MAX);
        stream.push(&written).iter().for_each(|live| digest.add(live));
    }
    digest
}

/// Its own text by hash and length, to compare it with other attempts; for a plain program all that it printed.
fn text_digest(reading: &Reading, end: &TaskEnd, coded: bool) -> Option<TextDigest> {
    let words = if coded {
        let sha256 = crate::fs::hex(&Sha256::digest(reading.text.trim().as_bytes()));
        TextDigest { sha256, bytes: u64::try_from(reading.text.trim().len()).unwrap_or(u64::MAX) }
    } else {
        TextDigest { sha256: end.output.sha256.clone(), bytes: end.output.stdout_bytes }
    };
    (words.bytes > 0).then_some(words)
}

/// Its own text; else its error.
fn last_text(reading: &Reading, end: &TaskEnd, coded: bool) -> String {
    let words = if coded { reading.text.clone() } else { text::clean(&end.stdout_end) };
    let stderr = || text::clean(&end.stderr_end);
    match (words.trim().is_empty(), &reading.error) {
        (false, _) => words,
        (true, Some(error)) => error.clone(),
        (true, None) if end.ended == Ended::Exit(0) && coded => String::new(),
        (true, None) => stderr(),
    }
}

/// Writes what an agent says and does as text for people: a tool or a note has a line of its own.
#[derive(Debug, Default)]
struct ShownText {
    /// A line was begun and has not ended.
    open: bool,
}

impl ShownText {
    fn of(&mut self, all: &[Live]) -> String {
        all.iter().map(|live| self.one(live)).collect()
    }

    fn one(&mut self, live: &Live) -> String {
        let before = if self.open { "\n" } else { "" };
        let shown = match live {
            Live::Text(text) => text.clone(),
            Live::Tool(name, argument) => format!("{before}[{name}] {}\n", text::one_line(argument, 200)),
            Live::Note(note) => format!("{before}[{}]\n", text::one_line(note, 300)),
        };
        self.open = if shown.is_empty() { self.open } else { !shown.ends_with('\n') };
        shown
    }
}

#[cfg(test)]
mod tests {
    use loop_core::agent::Live;

    use super::ShownText;

    #[test]
    fn a_tool_has_a_line_of_its_own_and_no_empty_one_before_it() {
        // CLI-D15b
        let tool = || Live::Tool("Bash".to_owned(), "ls".to_owned());
        let text = |text: &str| Live::Text(text.to_owned());
        let mut shown = ShownText::default();
        let all =
            [tool(), text("I look.\n"), tool(), text("Half a line"), text(""), tool(), Live::Note("limit".to_owned())];
        assert_eq!(shown.of(&all), "[Bash] ls\nI look.\n[Bash] ls\nHalf a line\n[Bash] ls\n[limit]\n");
    }
}

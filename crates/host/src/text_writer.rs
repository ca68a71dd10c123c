//! A short text that an agent writes for the harness: in an empty folder of its own, never in the workspace.
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use loop_core::agent::{Agent, Begin, End, Permissions, Stdin, Stream};
use loop_core::ids::OrderId;
use loop_core::prompt::{cut, request};
use loop_core::run::{AgentChoice, Answer, RunState, StoredText, StreamReport, TextPurpose, TextReport};
use loop_core::text;

use crate::attempt::{CallInput, agent_of, call_of, passed};
use crate::clock;
use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec, Voice};
use crate::prompt_file;
use crate::run_folder::{RunFolder, read_text, store_text};
use crate::secrets;
use crate::sent_prompt::PROMPT;

/// The folder of a run with the texts.
const TEXTS: &str = "texts";
/// The most that is stored of a text, in bytes.
const TEXT_BYTES_MAX: usize = 32 * 1024;

/// Which text is asked for by which order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextOrder {
    pub(crate) order: OrderId,
    pub(crate) purpose: TextPurpose,
}

/// Reads what the agent writes.
#[derive(Debug)]
pub(crate) struct TextReader {
    stream: Stream,
    asked: String,
    run: RunFolder,
    /// The file of the text, from the folder of the run.
    file: String,
    tokens_max: usize,
}

/// Starts the agent. A text that is missing ends no run: whatever fails is said in the answer.
pub(crate) fn start(
    run: &RunFolder,
    state: &RunState,
    asked: TextOrder,
    choice: &AgentChoice,
    containment: &mut Containment,
) -> Result<(Task, TextReader), Answer> {
    prepare(run, state, asked, choice, containment).map_err(|error| Answer::Failed { what: error.to_string() })
}

fn prepare(
    run: &RunFolder,
    state: &RunState,
    asked: TextOrder,
    choice: &AgentChoice,
    containment: &mut Containment,
) -> io::Result<(Task, TextReader)> {
    let TextOrder { order, purpose } = asked;
    let settings = &state.settings.shown().values;
    if settings.agent.in_container() {
        return Err(io::Error::other("an agent in a container writes no texts"));
    }
    let agent = agent_of(state, choice)?;
    if matches!(agent, Agent::Custom(_)) {
        return Err(io::Error::other("a command of your own writes no texts"));
    }
    let prompt = secrets::of(state).text(&request_text(run, state, purpose)?).into_owned();
    let name = format!("{TEXTS}/{:06}", order.0);
    let folder = run.path.join(&name);
    let scratch = folder.join("work");
    DirBuilder::new().recursive(true).mode(0o700).create(&scratch)?;
    write(&folder.join(PROMPT), &prompt)?;
    let ambient = passed(&agent, &settings.agent);
    let given = CallInput {
        workspace: &scratch,
        folder: &folder,
        system: "",
        session: None,
        model: choice.model.as_deref(),
        effort: None,
        // The least that there is: it needs no file and no command.
        permissions: Permissions::Edit,
        network: false,
    };
    let call = call_of(&agent, state, &ambient, &given);
    call.files.iter().try_for_each(|(path, text)| write(Path::new(path), text))?;
    let mut env: Vec<(OsString, OsString)> = Vec::new();
    let ambient = ambient.into_iter().filter(|(name, _)| !call.without.contains(name));
    env.extend(ambient.map(|(name, value)| (name.into(), value.into())));
    env.push(("LOOP_ID".into(), run.id.as_str().into()));
    env.push(("LOOP_TEXT".into(), purpose.words().into()));
    env.push(("LOOP_PROMPT_FILE".into(), folder.join(PROMPT).into_os_string()));
    env.extend(call.env.iter().map(|(name, value)| (name.into(), value.into())));
    let spec = TaskSpec {
        lane: MAIN,
        argv: &call.argv,
        clear: true,
        env,
        folder: scratch,
        same: None,
        stdin: (call.stdin == Stdin::Prompt).then(|| folder.join(PROMPT)),
        output: folder,
        secrets: secrets::of(state),
    };
    let task = Task::start(spec, containment)?;
    let tokens_max = usize::try_from(settings.context.max_summary_tokens.unwrap_or(u32::MAX)).unwrap_or(usize::MAX);
    let reader = TextReader {
        stream: Stream::new(agent.reader(Begin::default())),
        asked: prompt,
        run: run.clone(),
        file: format!("{name}/text.md"),
        tokens_max,
    };
    Ok((task, reader))
}

/// What the agent is asked.
fn request_text(run: &RunFolder, state: &RunState, purpose: TextPurpose) -> io::Result<String> {
    let Some(spec) = &state.spec else { return Err(io::Error::other("the run has no task")) };
    let goal = read_text(run, &spec.goal)?;
    let summary = prompt_file::summary(run, state);
    Ok(request(purpose, &goal, &state.prompt.memory, summary.as_deref()))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

impl TextReader {
    /// Reads what the agent wrote. None of it is shown.
    pub(crate) fn push(&mut self, voice: Voice, bytes: &[u8]) {
        if voice == Voice::Stderr {
            self.stream.stderr(bytes);
        } else {
            self.stream.push(bytes);
        }
    }

    /// The answer to the order. What the agent left in its folder is removed.
    pub(crate) fn answer(self, end: TaskEnd) -> Answer {
        if !end.lost.is_empty() {
            return Answer::Lost { left: end.lost };
        }
        let plain = self.stream.is_plain();
        let reading = self.stream.end(&End {
            ended: &end.ended,
            stderr: &end.stderr_end,
            asked: &self.asked,
            now_ms: clock::now().wall_ms,
            utc_offset_s: clock::utc_offset_s(),
            continued: false,
        });
        let said = if plain { text::clean(&end.stdout_end) } else { text::clean(reading.text.as_bytes()) };
        let said = cut(text::head(said.trim(), TEXT_BYTES_MAX), self.tokens_max);
        let stored = if said.is_empty() { None } else { store(&self.run, &self.file, &said).ok() };
        let work: PathBuf = self.run.path.join(&self.file).with_file_name("work");
        fs::remove_dir_all(work).ok();
        Answer::TextEnded(Box::new(TextReport {
            ended: end.ended,
            duration_ms: end.duration_ms,
            text: stored,
            stream: StreamReport::of(reading),
        }))
    }
}

/// Stores a text, in the fact where it is short, and in a file that is safe before the fact is.
fn store(run: &RunFolder, name: &str, text: &str) -> io::Result<StoredText> {
    let mut files = Vec::new();
    let stored = store_text(text, name, &mut files);
    for (name, text) in files {
        let path = run.path.join(name);
        write(&path, &text)?;
        fs::File::open(&path)?.sync_all()?;
        path.parent().map_or(Ok(()), crate::fs::sync_folder)?;
    }
    Ok(stored)
}

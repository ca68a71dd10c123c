//! The catalogue: every setting once. Parsing, help, the reference page and the schema come from it.
use super::keys_judgement::JUDGEMENT;
use super::value::Kind;

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name in files.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Its value when nobody says anything; empty means *not set*.
    pub default: &'static str,
    /// What it does, in a sentence or two for people.
    pub doc: &'static str,
    /// Its flag.
    pub flag: Flag,
    /// Its environment variable.
    pub env: Option<&'static str>,
    /// Whether it may stand in the user's file.
    pub in_file: bool,
    /// Whether it may stand in a project's file.
    pub in_project: InProject,
    /// Whether it may change when a run is gone on with.
    pub may_change: bool,
    /// Accepted, but what it asks for is not built yet: any value but these is refused.
    pub built: Option<&'static [&'static str]>,
}

/// The user's own affair, whatever a project's file says and whoever approves it.
const OWN: [&str; 11] = [
    "allow_any_workspace",
    "auto_confirm",
    "checkpoint_bytes",
    "checkpoint_retention",
    "container_socket",
    "keep_bytes",
    "max_calls_per_day",
    "max_cost_per_day",
    "max_tokens_per_day",
    "secrets",
    "skip_permissions",
];

impl Key {
    /// Whether it may stand in a project's file once the user has approved that file as it is.
    #[must_use]
    pub fn approvable(&self) -> bool {
        self.in_file && !OWN.contains(&self.name)
    }
}

/// How a key is said on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// `--long`.
    pub long: &'static str,
    /// `-s`.
    pub short: Option<char>,
    /// What stands for the value in the help; switches have none.
    pub value: &'static str,
}

/// What a project's file may do to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InProject {
    /// Set it.
    Yes,
    /// Lower it.
    Narrow,
    /// Nothing: it is run, or loosens safety, or is the user's own affair.
    Never,
}

pub(super) const fn flag(long: &'static str, value: &'static str) -> Flag {
    Flag { long, short: None, value }
}

pub(super) const BASE: Key = Key {
    name: "",
    kind: Kind::Switch,
    default: "",
    doc: "",
    flag: flag("", ""),
    env: None,
    in_file: true,
    in_project: InProject::Never,
    may_change: false,
    built: None,
};

/// All settings, in the order in which help shows them.
pub const KEYS: &[Key] = &joined();

/// Both lists as one.
const fn joined() -> [Key; FIRST.len() + JUDGEMENT.len()] {
    let mut all = [BASE; FIRST.len() + JUDGEMENT.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < FIRST.len() { FIRST[at] } else { JUDGEMENT[at - FIRST.len()] };
        at += 1;
    }
    all
}

/// What the loop works with and where.
const FIRST: &[Key] = &[
    Key {
        name: "promise",
        kind: Kind::Command,
        doc: "The shell command that must exit 0 in the workspace for the loop to be done: the gate called promise. A leading ! turns the answer round.",
        flag: Flag { long: "promise", short: Some('p'), value: "CMD" },
        ..BASE
    },
    Key {
        name: "max_iterations",
        kind: Kind::CountOrUnlimited(1_000_000),
        default: "10",
        doc: "How many iterations at most.",
        flag: Flag { long: "max-iterations", short: Some('n'), value: "N" },
        env: Some("LOOP_MAX_ITER"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "agent",
        kind: Kind::Word,
        default: "opencode",
        doc: crate::agent::registry::KEY_DOC,
        flag: flag("agent", "NAME"),
        env: Some("LOOP_AGENT"),
        ..BASE
    },
    Key {
        name: "agent_cmd",
        kind: Kind::Command,
        doc: "The shell command of a custom agent, run in the workspace with the prompt on stdin and in the file $LOOP_PROMPT_FILE. Implies --agent custom.",
        flag: flag("agent-cmd", "CMD"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "agent_model",
        kind: Kind::Text,
        doc: "The model, by the agent's own name for it.",
        flag: flag("agent-model", "MODEL"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "agent_args",
        kind: Kind::Text,
        doc: "More arguments for the agent's program, split as a shell would and never run by one. Those after -- are added.",
        flag: flag("agent-args", "ARGS"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "permissions",
        kind: Kind::Choice(&["edit", "work", "all"]),
        default: "work",
        doc: "What the agent may do unasked: change files in the workspace (edit), also run commands there (work), or everything (all). By the agent's own lists and sandbox.",
        flag: flag("permissions", "WHAT"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "skip_permissions",
        kind: Kind::Switch,
        default: "false",
        doc: "The same as --permissions all.",
        flag: flag("skip-permissions", ""),
        may_change: true,
        ..BASE
    },
    Key {
        name: "agent_network",
        kind: Kind::Switch,
        default: "false",
        doc: "Let what the agent runs use the network, where the agent's sandbox or a container would not.",
        flag: flag("agent-network", ""),
        may_change: true,
        ..BASE
    },
    Key {
        name: "agent_env",
        kind: Kind::Text,
        doc: "More variables for the agent, beside those that it gets anyway: NAME passes yours on, NAME=VALUE sets it; several with commas. loop agents NAME shows which are passed.",
        flag: flag("agent-env", "NAME[=VALUE],…"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "secrets",
        kind: Kind::Text,
        doc: "Names of variables whose values are secret, with commas: they stand in no file that loop writes.",
        flag: flag("secrets", "NAME,…"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "session",
        kind: Kind::Choice(&["fresh", "continue"]),
        default: "fresh",
        doc: "Whether each iteration begins a new conversation with the agent or goes on with the one before. After a timeout, a limit or an interruption it goes on in any case.",
        flag: flag("session", "WHICH"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "session_expiry",
        kind: Kind::DurationOrUnlimited,
        default: "24h",
        doc: "A conversation older than this is not gone on with.",
        flag: flag("session-expiry", "DURATION"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "status_block",
        kind: Kind::Choice(&["loop", "loopr", "none"]),
        default: "loop",
        doc: "Which status block the agent is asked to end its words with. A custom command is not asked.",
        flag: flag("status-block", "WHICH"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "append_system_prompt",
        kind: Kind::Text,
        doc: "A text that is added to what the agent is told in its system prompt.",
        flag: flag("append-system-prompt", "TEXT"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "on_question",
        kind: Kind::Choice(&["decide", "park", "stop"]),
        default: "decide",
        doc: "What becomes of a question of the agent's: it is told to decide by itself, the loop waits for you (answer with loop inject, then loop resume), or the loop stops.",
        flag: flag("on-question", "WHAT"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "container",
        kind: Kind::Text,
        doc: "Run the agent in this running container, by Docker or Podman. The workspace must be mounted in it.",
        flag: flag("container", "NAME"),
        ..BASE
    },
    Key {
        name: "image",
        kind: Kind::Text,
        doc: "Run the agent in a container of its own, made from this image and removed at the end, with the workspace in it and no network unless --agent-network.",
        flag: flag("image", "IMAGE"),
        ..BASE
    },
    Key {
        name: "container_socket",
        kind: Kind::Path,
        doc: "The socket of Docker or Podman. Else what DOCKER_HOST names, else the usual places.",
        flag: flag("container-socket", "PATH"),
        ..BASE
    },
    Key {
        name: "project",
        kind: Kind::Text,
        doc: "What the project is called, for people and for lists.",
        flag: flag("project", "NAME"),
        in_project: InProject::Yes,
        ..BASE
    },
    Key {
        name: "agent_name",
        kind: Kind::Text,
        doc: "What this worker is called, for people and for lists. Which program works is --agent.",
        flag: flag("agent-name", "NAME"),
        ..BASE
    },
    Key {
        name: "auto_confirm",
        kind: Kind::Switch,
        default: "false",
        doc: "Answer every question of loop's own with yes, instead of asking on a terminal.",
        flag: flag("auto-confirm", ""),
        may_change: true,
        ..BASE
    },
    Key {
        name: "timeout",
        kind: Kind::Duration,
        default: "5m",
        doc: "How long the agent may work in one iteration; 30m where nobody says anything and the agent is not custom. Past it the agent is ended, its edits are kept, the promise is checked and the loop goes on.",
        flag: flag("timeout", "DURATION"),
        env: Some("LOOP_TIMEOUT"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "containment",
        kind: Kind::Choice(&["auto", "cgroup", "namespace", "plain"]),
        default: "auto",
        doc: "How everything that an agent or a gate starts is kept together, so that it can be ended: by control groups, in a PID namespace of its own (other processes cannot be seen then), or by descent alone. Auto takes control groups where they can be had, else descent.",
        flag: flag("containment", "HOW"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "idle_timeout",
        kind: Kind::DurationOrUnlimited,
        default: "unlimited",
        doc: "How long the agent may show no sign of life (10m where nobody says anything and the agent is not custom): no output, no changed file, no CPU time of it or anything it started. Past it it is ended as at its timeout.",
        flag: flag("idle-timeout", "DURATION"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "gate_timeout",
        kind: Kind::Duration,
        default: "10m",
        doc: "How long the promise command may take.",
        flag: flag("gate-timeout", "DURATION"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "max_time",
        kind: Kind::DurationOrUnlimited,
        default: "unlimited",
        doc: "How long the loop may work in all; time in which it is stopped does not count. At the limit the agent is ended and the promise checked once more.",
        flag: flag("max-time", "DURATION"),
        in_project: InProject::Narrow,
        may_change: true,
        ..BASE
    },
    Key {
        name: "delay",
        kind: Kind::DurationOrNone,
        default: "none",
        doc: "How long to wait between two iterations. A stop, a pause and a resume cut it short.",
        flag: flag("delay", "DURATION"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "checkpoint",
        kind: Kind::Choice(&["auto", "git", "btrfs", "none"]),
        default: "auto",
        doc: "How every iteration is kept, so that it can be gone back to: as objects in a git folder of loop's own (the workspace's repository is never touched), or as btrfs snapshots. Auto takes btrfs where the workspace is a subvolume that can be snapshotted, else git. With none nothing can be gone back to, and of changes it is only noticed that there are some.",
        flag: flag("checkpoint", "BACKEND"),
        env: Some("LOOP_CHECKPOINT"),
        ..BASE
    },
    Key {
        name: "checkpoint_ignored",
        kind: Kind::Switch,
        default: "false",
        doc: "Keep files that .gitignore and its like leave out, too.",
        flag: flag("checkpoint-ignored", ""),
        ..BASE
    },
    Key {
        name: "checkpoint_skip",
        kind: Kind::Paths,
        doc: "A glob of paths that no checkpoint holds and no rollback touches, as in a .gitignore. May be given several times.",
        flag: flag("checkpoint-skip", "GLOB"),
        ..BASE
    },
    Key {
        name: "checkpoint_file_max",
        kind: Kind::SizeOrUnlimited,
        default: "2GiB",
        doc: "A file larger than this is left out of checkpoints, and named.",
        flag: flag("checkpoint-file-max", "SIZE"),
        ..BASE
    },
    Key {
        name: "checkpoint_retention",
        kind: Kind::DurationOrUnlimited,
        default: "24h",
        doc: "How long the checkpoints of a loop are kept after its end. Those that you named stay until you remove them.",
        flag: flag("checkpoint-retention", "DURATION"),
        ..BASE
    },
    Key {
        name: "checkpoint_bytes",
        kind: Kind::SizeOrUnlimited,
        default: "20GiB",
        doc: "How much the checkpoints of all loops may take together. Past it those of the loops that ended longest ago go first, before their time.",
        flag: flag("checkpoint-bytes", "SIZE"),
        ..BASE
    },
    Key {
        name: "on_interrupt",
        kind: Kind::Choice(&["keep", "rollback"]),
        default: "keep",
        doc: "What becomes of an attempt that was cut off: keep its edits and go on from there, or go back to where the iteration began (what it left is a checkpoint then).",
        flag: flag("on-interrupt", "WHAT"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "inject",
        kind: Kind::Paths,
        doc: "A file whose text stands in every prompt beside the task. May be given several times.",
        flag: flag("inject", "FILE"),
        ..BASE
    },
    Key {
        name: "notify",
        kind: Kind::Switch,
        default: "false",
        doc: "Run notification_cmd when the loop ends, however it ends.",
        flag: flag("notify", ""),
        in_project: InProject::Yes,
        may_change: true,
        ..BASE
    },
    Key {
        name: "notification_cmd",
        kind: Kind::Command,
        default: "notify-send",
        doc: "The command that --notify runs; it gets two more arguments, a title and a text. A failure of it changes nothing.",
        flag: flag("notification-cmd", "CMD"),
        may_change: true,
        ..BASE
    },
    Key {
        name: "stop_file",
        kind: Kind::Path,
        doc: "A file that stops the loop: with the word stop after the iteration, with abort at once. A relative path counts from the workspace. Off unless set.",
        flag: flag("stop-file", "FILE"),
        ..BASE
    },
    Key {
        name: "clear_stop",
        kind: Kind::Switch,
        default: "false",
        doc: "Remove a stop file that is there at the start instead of refusing to start.",
        flag: flag("clear-stop", ""),
        in_file: false,
        may_change: true,
        ..BASE
    },
    Key {
        name: "result",
        kind: Kind::Path,
        doc: "A file for one JSON object that says how the loop ended, written at every end.",
        flag: flag("result", "FILE"),
        in_file: false,
        ..BASE
    },
    Key {
        name: "keep_bytes",
        kind: Kind::SizeOrUnlimited,
        default: "10GiB",
        doc: "How much the records of all loops may take together. When a loop starts or ends past it, the outputs of those that ended longest ago are removed; what happened stays readable.",
        flag: flag("keep-bytes", "SIZE"),
        ..BASE
    },
    Key {
        name: "allow_any_workspace",
        kind: Kind::Switch,
        default: "false",
        doc: "Work even in your home folder, in / or at the root of a mount.",
        flag: flag("allow-any-workspace", ""),
        ..BASE
    },
    Key {
        name: "best_of",
        kind: Kind::CountOrUnlimited(64),
        doc: "Parallel tries, the best of which is taken. Comes with a later version.",
        flag: flag("best-of", "N"),
        built: Some(&[]),
        ..BASE
    },
    Key {
        name: "best_of_metric",
        kind: Kind::Command,
        doc: "How the best of several tries is told. Comes with a later version.",
        flag: flag("best-of-metric", "METRIC"),
        built: Some(&[]),
        ..BASE
    },
    Key {
        name: "best_of_manual",
        kind: Kind::Switch,
        default: "false",
        doc: "Choose the best of several tries by hand. Comes with a later version.",
        flag: flag("best-of-manual", ""),
        built: Some(&["false"]),
        ..BASE
    },
    Key {
        name: "template",
        kind: Kind::Path,
        doc: "A predefined loop. Comes with a later version.",
        flag: flag("template", "NAME"),
        built: Some(&[]),
        ..BASE
    },
    Key {
        name: "background",
        kind: Kind::Switch,
        default: "false",
        doc: "Let loopd keep the loop. Comes with a later version.",
        flag: Flag { long: "background", short: Some('b'), value: "" },
        built: Some(&["false"]),
        ..BASE
    },
];

/// The key of that name.
#[must_use]
pub fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

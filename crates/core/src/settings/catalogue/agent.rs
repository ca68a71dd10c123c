//! Which agent works, with which words, variables and permissions.
use super::{InProject, flag};
use crate::agent::Permissions;
use crate::agent::registry::KEY_DOC;
use crate::settings::amounts::Millis;
use crate::settings::choices::{ContainmentMode, OnBlocked, OnQuestion, PERMISSIONS_KIND, SessionMode, StatusBlock};
use crate::settings::value::Kind;

topic! {
    /// Which agent works, with which words, variables and permissions.
    AgentSettings {
        /// Which agent works, by its name.
        agent: String [KEY_DOC] {
            kind: Kind::Word,
            default: "opencode",
            flag: flag("agent", "NAME"),
            env: Some("LOOP_AGENT"),
        }
        /// The shell command of a custom agent, run in the workspace with the prompt on stdin and in the file
        /// $LOOP_PROMPT_FILE. Implies --agent custom.
        agent_cmd: Option<String> {
            kind: Kind::Command,
            flag: flag("agent-cmd", "CMD"),
            may_change: true,
        }
        /// The model, by the agent's own name for it.
        agent_model: Option<String> {
            kind: Kind::Text,
            flag: flag("agent-model", "MODEL"),
            may_change: true,
        }
        /// More arguments for the agent's program, split as a shell would and never run by one. Those after -- are
        /// added.
        agent_args: Option<String> {
            kind: Kind::Text,
            flag: flag("agent-args", "ARGS"),
            may_change: true,
        }
        /// What the agent may do unasked: change files in the workspace (edit), also run commands there (work), or
        /// everything (all). By the agent's own lists and sandbox.
        permissions: Permissions {
            kind: PERMISSIONS_KIND,
            default: "work",
            flag: flag("permissions", "WHAT"),
            may_change: true,
        }
        /// The same as --permissions all.
        skip_permissions: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("skip-permissions", ""),
            may_change: true,
            in_project: InProject::Never,
        }
        /// Let what the agent runs use the network, where the agent's sandbox or a container would not.
        agent_network: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("agent-network", ""),
            may_change: true,
        }
        /// More variables for the agent, beside those that it gets anyway: NAME passes yours on, NAME=VALUE sets it;
        /// several with commas. loop agents NAME shows which are passed.
        agent_env: Option<String> {
            kind: Kind::Text,
            flag: flag("agent-env", "NAME[=VALUE],…"),
            may_change: true,
        }
        /// Names of variables whose values are secret, with commas: they stand in no file that loop writes.
        secrets: Option<String> {
            kind: Kind::Text,
            flag: flag("secrets", "NAME,…"),
            may_change: true,
            in_project: InProject::Never,
        }
        /// Whether each iteration begins a new conversation with the agent or goes on with the one before. After a
        /// timeout, a limit or an interruption it goes on in any case.
        session: SessionMode {
            kind: SessionMode::KIND,
            default: "fresh",
            flag: flag("session", "WHICH"),
            may_change: true,
        }
        /// A conversation older than this is not gone on with.
        session_expiry: Option<Millis> {
            kind: Kind::DurationOrUnlimited,
            default: "24h",
            flag: flag("session-expiry", "DURATION"),
            may_change: true,
        }
        /// Which status block the agent is asked to end its words with. A custom command is not asked.
        status_block: StatusBlock {
            kind: StatusBlock::KIND,
            default: "loop",
            flag: flag("status-block", "WHICH"),
            may_change: true,
        }
        /// A text that is added to what the agent is told in its system prompt.
        append_system_prompt: Option<String> {
            kind: Kind::Text,
            flag: flag("append-system-prompt", "TEXT"),
            may_change: true,
        }
        /// What becomes of a question of the agent's: it is told to decide by itself, the loop waits for you (answer
        /// with loop inject, then loop resume), or the loop stops.
        on_question: OnQuestion {
            kind: OnQuestion::KIND,
            default: "decide",
            flag: flag("on-question", "WHAT"),
            may_change: true,
        }
        /// What STATUS BLOCKED is: a question (see on_question), or the end of the loop.
        on_blocked: OnBlocked {
            kind: OnBlocked::KIND,
            default: "question",
            flag: flag("on-blocked", "WHAT"),
            may_change: true,
        }
        /// How everything that an agent or a gate starts is kept together, so that it can be ended: by control groups,
        /// in a PID namespace of its own (other processes cannot be seen then), or by descent alone. Auto takes control
        /// groups where they can be had, else descent.
        containment: ContainmentMode {
            kind: ContainmentMode::KIND,
            default: "auto",
            flag: flag("containment", "HOW"),
            may_change: true,
        }
        /// Run the agent in this running container, by Docker or Podman. The workspace must be mounted in it.
        container: Option<String> {
            kind: Kind::Text,
            flag: flag("container", "NAME"),
        }
        /// Run the agent in a container of its own, made from this image and removed at the end, with the workspace in
        /// it and no network unless --agent-network.
        image: Option<String> {
            kind: Kind::Text,
            flag: flag("image", "IMAGE"),
        }
        /// The socket of Docker or Podman. Else what DOCKER_HOST names, else the usual places.
        container_socket: Option<String> {
            kind: Kind::Path,
            flag: flag("container-socket", "PATH"),
            in_project: InProject::Never,
        }
    }
}

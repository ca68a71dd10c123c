//! Which agent works, with which words, variables and permissions.
use super::{InProject, flag};
use crate::agent::Permissions;
use crate::agent::registry::KEY_DOC;
use crate::policy::failures::FailureTable;
use crate::settings::amounts::Millis;
use crate::settings::choices::{ContainmentMode, OnBlocked, OnQuestion, PERMISSIONS_KIND, SessionMode, StatusBlock};
use crate::settings::value::Kind;

topic! {
    /// Which agent works, with which words, variables and permissions.
    AgentSettings {
        /// Which agent works, by its name.
        agent: String [KEY_DOC] {
            kind: Kind::Agents,
            default: "opencode",
            flag: flag("agent", "NAME[,…]"),
            env: Some("LOOP_AGENT"),
            may_change: true,
        }
        /// The shell command of a custom agent. It runs in the workspace, with the prompt on stdin and in the file
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
        /// More arguments for the agent's program, split into words as a shell does, but not run by a shell.
        /// Arguments after -- are added.
        agent_args: Option<String> {
            kind: Kind::Text,
            flag: flag("agent-args", "ARGS"),
            may_change: true,
        }
        /// What the agent may do without asking: change files in the workspace (edit), also run commands there
        /// (work), or everything (all). The agent's own lists and sandbox enforce it.
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
        /// Let commands of the agent use the network, where the agent's sandbox or a container would not.
        agent_network: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("agent-network", ""),
            may_change: true,
        }
        /// More environment variables for the agent: NAME passes yours on, NAME=VALUE sets it; separate several with
        /// commas. loop agents NAME shows which are passed.
        agent_env: Option<String> {
            kind: Kind::Text,
            flag: flag("agent-env", "NAME[=VALUE],…"),
            may_change: true,
        }
        /// Names of variables whose values are secret, separated by commas. loop never writes these values to a file.
        secrets: Option<String> {
            kind: Kind::Text,
            flag: flag("secrets", "NAME,…"),
            may_change: true,
            in_project: InProject::Never,
        }
        /// Whether each iteration starts a new conversation with the agent or continues the one before. After a
        /// timeout, a limit or an interruption it continues in any case.
        session: SessionMode {
            kind: SessionMode::KIND,
            default: "fresh",
            flag: flag("session", "WHICH"),
            may_change: true,
        }
        /// A conversation older than this is not continued.
        session_expiry: Option<Millis> {
            kind: Kind::DurationOrUnlimited,
            default: "24h",
            flag: flag("session-expiry", "DURATION"),
            may_change: true,
        }
        /// Which status block the agent must put at the end of its last message. A custom command is not asked for
        /// one.
        status_block: StatusBlock {
            kind: StatusBlock::KIND,
            default: "loop",
            flag: flag("status-block", "WHICH"),
            may_change: true,
        }
        /// A text that is added to the agent's system prompt.
        append_system_prompt: Option<String> {
            kind: Kind::Text,
            flag: flag("append-system-prompt", "TEXT"),
            may_change: true,
        }
        /// What to do when the agent asks a question: let it decide by itself, wait for your answer (loop inject,
        /// then loop resume), or stop the loop.
        on_question: OnQuestion {
            kind: OnQuestion::KIND,
            default: "decide",
            flag: flag("on-question", "WHAT"),
            may_change: true,
        }
        /// What follows from a class of failure, one per line: CLASS wait LONGEST TRIES, CLASS next (the next iteration)
        /// or CLASS stop. For example: overload wait 10m 50. Classes that are not named are handled as usual.
        on_failure: FailureTable {
            kind: Kind::Failures,
            flag: flag("on-failure", "CLASS WHAT"),
            in_project: InProject::Never,
            may_change: true,
        }
        /// What STATUS BLOCKED means: a question (see on_question), or the end of the loop.
        on_blocked: OnBlocked {
            kind: OnBlocked::KIND,
            default: "question",
            flag: flag("on-blocked", "WHAT"),
            may_change: true,
        }
        /// How loop finds all processes that an agent or a gate started, so that it can end them: by control groups,
        /// in a PID namespace (the agent cannot see other processes then), or by parent and child alone. Auto uses
        /// control groups where they are available, else parent and child.
        containment: ContainmentMode {
            kind: ContainmentMode::KIND,
            default: "auto",
            flag: flag("containment", "HOW"),
            may_change: true,
        }
        /// Run the agent in this running container of Docker or Podman. The workspace must be mounted in it.
        container: Option<String> {
            kind: Kind::Text,
            flag: flag("container", "NAME"),
        }
        /// Run the agent in a new container, made from this image and removed at the end. It has the workspace, and
        /// no network unless --agent-network.
        image: Option<String> {
            kind: Kind::Text,
            flag: flag("image", "IMAGE"),
        }
        /// The socket of Docker or Podman. By default what DOCKER_HOST names, else the usual places.
        container_socket: Option<String> {
            kind: Kind::Path,
            flag: flag("container-socket", "PATH"),
            in_project: InProject::Never,
        }
    }
}

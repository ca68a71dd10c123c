//! Settings that are one of a few words: each word is here once, with what it means.
use super::amounts::SettingValue;
use super::value::Kind;
use crate::agent::{PERMISSIONS, Permissions};

/// An enum with its words, the list for help and files, and both ways between them.
macro_rules! choice {
    ($(#[doc = $about:literal])+ $choice:ident { $($(#[$about_one:meta])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub enum $choice { $($(#[$about_one])+ $variant,)+ }

        impl $choice {
            /// What the key takes.
            pub(super) const KIND: Kind = Kind::Choice(&[$($word),+]);

            /// Its word in files and on the command line.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl SettingValue for $choice {
            fn read(text: &str) -> Self {
                match text { $($word => Self::$variant,)+ _ => Self::default() }
            }

            fn fits(kind: Kind) -> bool {
                kind == Self::KIND
            }
        }
    };
}

choice! {
    /// What becomes of an iteration after which something fails that had passed.
    OnRegression {
        /// It is kept, and the agent gets no note.
        Keep = "keep",
        /// It is kept, and the next prompt says what fails.
        #[default]
        Tell = "tell",
        /// The next prompt says what fails, and the workspace is restored to before the iteration.
        Revert = "revert",
    }
}

choice! {
    /// What the sections of a prompt are.
    PromptForm {
        /// What loop measured, with one line for each iteration.
        #[default]
        Facts = "facts",
        /// A summary, and what the agent wrote in the last iterations.
        History = "history",
    }
}

choice! {
    /// Who writes summaries and other short texts.
    TextWriter {
        /// loop itself, by an extract.
        #[default]
        Loop = "loop",
        /// The cheapest enabled agent.
        Agent = "agent",
    }
}

choice! {
    /// Which state of the workspace stays when a loop ends without success.
    KeepState {
        /// The last one.
        #[default]
        Last = "last",
        /// The best one by its gates.
        Best = "best",
    }
}

choice! {
    /// Where the gates run once more before a loop is verified.
    JudgeChoice {
        /// In a clean copy of the recorded tree, where the project can be judged there.
        #[default]
        Auto = "auto",
        /// Only in the workspace.
        Workspace = "workspace",
    }
}

choice! {
    /// Whether it is tried how strong the gates are.
    StrengthChoice {
        /// It is not tried.
        Off = "off",
        /// It is tried, and the result is shown.
        #[default]
        Report = "report",
        /// The loop is not done without it.
        Require = "require",
    }
}

choice! {
    /// What counts most where several agents may work.
    RunPriority {
        /// What the other settings say.
        #[default]
        None = "none",
        /// The cheapest model, which answers first.
        Speed = "speed",
        /// The most capable model.
        Quality = "quality",
        /// The cheapest model.
        Cost = "cost",
    }
}

choice! {
    /// How fast a loop works.
    RunMode {
        /// As the other settings say.
        #[default]
        Normal = "normal",
        /// Without a delay between iterations.
        Turbo = "turbo",
        /// With lower limits.
        Conservative = "conservative",
    }
}

choice! {
    /// Whether an iteration continues the agent's conversation.
    SessionMode {
        /// Each iteration begins a new one.
        #[default]
        Fresh = "fresh",
        /// It continues the one before.
        Continue = "continue",
    }
}

choice! {
    /// Which status block the agent is asked for.
    StatusBlock {
        /// The block of loop.
        #[default]
        Loop = "loop",
        /// The block of loopr.
        Loopr = "loopr",
        /// It is not asked.
        None = "none",
    }
}

choice! {
    /// What becomes of a question of the agent.
    OnQuestion {
        /// The next prompt asks the agent to decide by itself.
        #[default]
        Decide = "decide",
        /// The loop waits for the person.
        Park = "park",
        /// The loop stops.
        Stop = "stop",
    }
}

choice! {
    /// What STATUS BLOCKED is.
    OnBlocked {
        /// A question.
        #[default]
        Question = "question",
        /// The end of the loop.
        Stop = "stop",
    }
}

choice! {
    /// How loop finds all processes of an agent or a gate.
    ContainmentMode {
        /// The best that this machine has.
        #[default]
        Auto = "auto",
        /// By control groups.
        Cgroup = "cgroup",
        /// In a PID namespace.
        Namespace = "namespace",
        /// By descent alone.
        Plain = "plain",
    }
}

choice! {
    /// What becomes of a protected file that was changed.
    OnTamper {
        /// It is restored before the gates run, and the next prompt says so.
        #[default]
        Restore = "restore",
        /// The loop stops.
        Stop = "stop",
        /// Nothing.
        Allow = "allow",
    }
}

choice! {
    /// Whether a loop without progress is stopped.
    BreakerMode {
        /// It is.
        #[default]
        On = "on",
        /// It is not.
        Off = "off",
    }
}

choice! {
    /// What says that an iteration worked on nothing but tests.
    TestOnlyBy {
        /// The files that changed.
        #[default]
        Measured = "measured",
        /// The status block of the agent.
        Claimed = "claimed",
    }
}

choice! {
    /// What says that an iteration made progress.
    ProgressBy {
        /// The workspace and the gates.
        #[default]
        Gates = "gates",
        /// The score of the iteration.
        Score = "score",
    }
}

choice! {
    /// What closes a breaker that has tripped.
    BreakerReset {
        /// Resuming the loop.
        #[default]
        Resume = "resume",
        /// Only `loop reset` and `--reset-circuit`.
        Manual = "manual",
    }
}

choice! {
    /// How iterations are recorded, as the person asks for it.
    CheckpointBackend {
        /// Btrfs snapshots where they are possible, else git.
        #[default]
        Auto = "auto",
        /// As objects in a git folder.
        Git = "git",
        /// As btrfs snapshots.
        Btrfs = "btrfs",
        /// Not at all.
        None = "none",
    }
}

choice! {
    /// What becomes of the edits of an attempt that was interrupted.
    OnInterrupt {
        /// They stay.
        #[default]
        Keep = "keep",
        /// The workspace is restored to where the iteration began.
        Rollback = "rollback",
    }
}

choice! {
    /// How an agent and a model are chosen where several are enabled.
    RouterMode {
        /// The first that can work.
        #[default]
        Fixed = "fixed",
        /// By the kind of task, before each iteration.
        Auto = "auto",
        /// By what a pass cost in the user's own runs.
        Learned = "learned",
        /// The first that can work; what learned would choose is recorded.
        Shadow = "shadow",
    }
}

choice! {
    /// Whose defaults apply.
    Profile {
        /// Those of the catalogue.
        #[default]
        Loop = "loop",
        /// Those of loopr.
        Loopr = "loopr",
        /// Those of the container specification.
        Container = "container",
        /// Those of the autonomous loop specification.
        Autonomous = "autonomous",
        /// Those of the PRD loop specification.
        Decide = "decide",
    }
}

/// The words of [`Permissions`], which the agents have in a table.
pub(super) const PERMISSIONS_KIND: Kind = Kind::Choice(&[PERMISSIONS[0].0, PERMISSIONS[1].0, PERMISSIONS[2].0]);

impl SettingValue for Permissions {
    fn read(text: &str) -> Self {
        Self::of(text)
    }

    fn fits(kind: Kind) -> bool {
        kind == PERMISSIONS_KIND
    }
}

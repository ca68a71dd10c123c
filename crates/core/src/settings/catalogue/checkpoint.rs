//! How iterations are recorded, and for how long.
use super::{InProject, flag};
use crate::settings::amounts::{Bytes, Millis};
use crate::settings::choices::{CheckpointBackend, OnInterrupt};
use crate::settings::value::Kind;

topic! {
    /// How iterations are recorded, and for how long.
    CheckpointSettings {
        /// How every iteration is kept, so that it can be gone back to: as objects in a git folder of loop's own (the
        /// workspace's repository is never touched), or as btrfs snapshots. Auto takes btrfs where the workspace is a
        /// subvolume that can be snapshotted, else git. With none nothing can be gone back to, and of changes it is
        /// only noticed that there are some.
        checkpoint: CheckpointBackend {
            kind: CheckpointBackend::KIND,
            default: "auto",
            flag: flag("checkpoint", "BACKEND"),
            env: Some("LOOP_CHECKPOINT"),
        }
        /// Keep files that .gitignore and its like leave out, too.
        checkpoint_ignored: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("checkpoint-ignored", ""),
        }
        /// A glob of paths that no checkpoint holds and no rollback touches, as in a .gitignore. May be given several
        /// times.
        checkpoint_skip: Vec<String> {
            kind: Kind::Paths,
            flag: flag("checkpoint-skip", "GLOB"),
        }
        /// A file larger than this is left out of checkpoints, and named.
        checkpoint_file_max: Option<Bytes> {
            kind: Kind::SizeOrUnlimited,
            default: "2GiB",
            flag: flag("checkpoint-file-max", "SIZE"),
        }
        /// How long the checkpoints of a loop are kept after its end. Those that you named stay until you remove them.
        checkpoint_retention: Option<Millis> {
            kind: Kind::DurationOrUnlimited,
            default: "24h",
            flag: flag("checkpoint-retention", "DURATION"),
            in_project: InProject::Never,
        }
        /// How much the checkpoints of all loops may take together. Past it those of the loops that ended longest ago
        /// go first, before their time.
        checkpoint_bytes: Option<Bytes> {
            kind: Kind::SizeOrUnlimited,
            default: "20GiB",
            flag: flag("checkpoint-bytes", "SIZE"),
            in_project: InProject::Never,
        }
        /// What becomes of an attempt that was cut off: keep its edits and go on from there, or go back to where the
        /// iteration began (what it left is a checkpoint then).
        on_interrupt: OnInterrupt {
            kind: OnInterrupt::KIND,
            default: "keep",
            flag: flag("on-interrupt", "WHAT"),
            may_change: true,
        }
    }
}

//! How iterations are recorded, and for how long.
use super::{InProject, flag};
use crate::settings::amounts::{Bytes, Millis};
use crate::settings::choices::{CheckpointBackend, OnInterrupt};
use crate::settings::value::Kind;

topic! {
    /// How iterations are recorded, and for how long.
    CheckpointSettings {
        /// How every iteration is recorded, so that you can go back to it: as objects in a git folder of loop's own
        /// (the workspace's repository is never touched), or as btrfs snapshots. Auto uses btrfs where the workspace
        /// is a subvolume that can be snapshotted, else git. With none there is nothing to go back to, and loop only
        /// sees whether something changed.
        checkpoint: CheckpointBackend {
            kind: CheckpointBackend::KIND,
            default: "auto",
            flag: flag("checkpoint", "BACKEND"),
            env: Some("LOOP_CHECKPOINT"),
        }
        /// Record files that .gitignore and the like leave out, too.
        checkpoint_ignored: bool {
            kind: Kind::Switch,
            default: "false",
            flag: flag("checkpoint-ignored", ""),
        }
        /// A glob of paths, as in a .gitignore, that no checkpoint records and no rollback touches. May be given
        /// several times.
        checkpoint_skip: Vec<String> {
            kind: Kind::Paths,
            flag: flag("checkpoint-skip", "GLOB"),
        }
        /// A file larger than this is left out of checkpoints; loop names it.
        checkpoint_file_max: Option<Bytes> {
            kind: Kind::SizeOrUnlimited,
            default: "2GiB",
            flag: flag("checkpoint-file-max", "SIZE"),
        }
        /// How long the iterations in between are kept after the end of a loop. The others stay longer
        /// (`checkpoint_retention_main`); those that you named stay until you remove them.
        checkpoint_retention: Option<Millis> {
            kind: Kind::DurationOrUnlimited,
            default: "24h",
            flag: flag("checkpoint-retention", "DURATION"),
            in_project: InProject::Never,
        }
        /// How long the main checkpoints of a loop are kept after its end: initial, the last, the best and the verified
        /// one, and those of interrupted attempts, of tampering and of rollbacks. Never shorter than
        /// `checkpoint_retention`.
        checkpoint_retention_main: Option<Millis> {
            kind: Kind::DurationOrUnlimited,
            default: "30d",
            flag: flag("checkpoint-retention-main", "DURATION"),
            in_project: InProject::Never,
        }
        /// How much disk the checkpoints of all loops may use together. Over it, checkpoints are removed before
        /// their time: iterations in between first, then those of the loops that ended first.
        checkpoint_bytes: Option<Bytes> {
            kind: Kind::SizeOrUnlimited,
            default: "20GiB",
            flag: flag("checkpoint-bytes", "SIZE"),
            in_project: InProject::Never,
        }
        /// What to do with an attempt that was cut off: keep its edits and continue from there, or restore the state
        /// before the iteration (what the attempt left becomes a checkpoint).
        on_interrupt: OnInterrupt {
            kind: OnInterrupt::KIND,
            default: "keep",
            flag: flag("on-interrupt", "WHAT"),
            may_change: true,
        }
    }
}

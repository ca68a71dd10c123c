//! From what this program is built, and what it has.
use loop_core::agent::registry;
use loop_core::view::JSON_VERSION;
use loop_host::journal;
use serde::Serialize;

/// A build, as `--version --verbose` shows it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct BuildFacts {
    /// The version of this form.
    version: u32,
    /// `loop`, `loopr` or `loopd`.
    program: &'static str,
    /// The number of the release.
    release: &'static str,
    /// The commit; null where it is not known: in a debug build, or one from a folder without a repository.
    commit: Option<&'static str>,
    /// `release` or `debug`.
    profile: &'static str,
    /// For which machine.
    target: &'static str,
    /// What it has.
    features: Vec<String>,
}

impl BuildFacts {
    /// Of one of the programs.
    pub(crate) fn of(program: &'static str) -> Self {
        let agents: Vec<&str> = registry::ADAPTERS.iter().map(|adapter| adapter.name).collect();
        Self {
            version: JSON_VERSION,
            program,
            release: env!("CARGO_PKG_VERSION"),
            commit: Some(env!("LOOP_BUILD_COMMIT")).filter(|commit| !commit.is_empty()),
            profile: env!("LOOP_BUILD_PROFILE"),
            target: env!("LOOP_BUILD_TARGET"),
            features: vec![
                format!("journal format {}", journal::FORMAT),
                "checkpoints: git store, btrfs snapshots".to_owned(),
                "containers: Docker, Podman".to_owned(),
                format!("agents: {}", agents.join(", ")),
            ],
        }
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let commit = self.commit.unwrap_or("not known (only a release build from a repository records it)");
        let mut text = format!(
            "{} {}\ncommit:   {commit}\nprofile:  {}\ntarget:   {}\n",
            self.program, self.release, self.profile, self.target
        );
        for feature in &self.features {
            text.push_str(&format!("has:      {feature}\n"));
        }
        text
    }
}

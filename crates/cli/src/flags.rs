//! The catalogue of settings as flags: every key is a flag, every switch has a `--no-` form.
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use loop_core::settings::profiles::container::{NAMES, Name};
use loop_core::settings::profiles::modes::{Mode, modes};
use loop_core::settings::{Given, Key, Kind, Layer, Origin, SettingsError, catalogue, keys, topics};

/// The settings that `loop start` was given.
#[derive(Debug, Clone, Default)]
pub(crate) struct StartFlags {
    keys: Vec<(&'static Key, String)>,
    /// By the names of the container profile.
    names: Vec<(&'static Name, String)>,
    /// The modes, which stand for several flags.
    modes: Vec<&'static Mode>,
}

/// The settings that `loop resume` was given: those that may change.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResumeFlags(Vec<(&'static Key, String)>);

impl StartFlags {
    /// The flags as a layer.
    ///
    /// # Errors
    /// When a value does not fit its key.
    pub(crate) fn read(&self) -> Result<Vec<Given>, SettingsError> {
        let read = |(key, value): &(&'static Key, String)| Given::read_for_start(key, value, typed(key));
        // The modes first: of two flags for one key the later counts.
        let mut all = Vec::new();
        for mode in &self.modes {
            all.extend(mode.read()?);
        }
        all.extend(self.keys.iter().map(read).collect::<Result<Vec<_>, _>>()?);
        for (name, value) in &self.names {
            let origin = Origin { layer: Layer::Flag, place: format!("--{}", name.flag()) };
            all.extend(name.read(value, &origin)?);
        }
        Ok(all)
    }
}

impl StartFlags {
    /// The modes that were given.
    pub(crate) fn modes(&self) -> impl Iterator<Item = &'static Mode> {
        self.modes.iter().copied()
    }
}

impl ResumeFlags {
    /// Keys and values as they were typed; a leading `+` adds to what holds.
    pub(crate) fn raw(&self) -> &[(&'static Key, String)] {
        &self.0
    }
}

/// One value of a flag.
pub(crate) fn given(key: &'static Key, value: &str) -> Result<Given, SettingsError> {
    Given::read(key, value, typed(key))
}

fn typed(key: &Key) -> Origin {
    Origin { layer: Layer::Flag, place: format!("--{}", key.flag.long) }
}

/// The flags of daily use, with `--dry-run`: the short help shows these, the long one all.
const DAILY: [&Key; 11] = [
    keys::promise(),
    keys::gate(),
    keys::max_iterations(),
    keys::max_time(),
    keys::timeout(),
    keys::agent(),
    keys::agent_model(),
    keys::agent_cmd(),
    keys::protect_tests(),
    keys::max_cost(),
    keys::notify(),
];

/// Flags that the specifications know by another name.
const OTHER_NAMES: [(&Key, &str); 3] =
    [(keys::agent(), "cli"), (keys::opus_daily_limit(), "opus-limit"), (keys::raw_window_size(), "context-window")];

/// The words below the short help.
pub(crate) const MORE_FLAGS: &str = "These are the flags of daily use; --help shows all.";

fn augment(mut command: Command, wanted: fn(&Key) -> bool) -> Command {
    for (heading, keys) in topics() {
        command = augment_topic(command, heading, keys.iter().copied().filter(|key| wanted(key)));
    }
    command.next_help_heading(clap::builder::Resettable::Reset)
}

fn augment_topic(command: Command, heading: &'static str, keys: impl Iterator<Item = &'static Key>) -> Command {
    let mut command = command.next_help_heading(heading);
    for key in keys {
        let rare = !DAILY.iter().any(|daily| daily.name == key.name);
        // Said twice, the last word counts, as with a flag over a file.
        let plain = Arg::new(key.name).long(key.flag.long).help(help(key)).hide_short_help(rare);
        let mut arg = plain.clone().overrides_with(key.name);
        if let Some(short) = key.flag.short {
            arg = arg.short(short);
        }
        if let Some((_, other)) = OTHER_NAMES.iter().find(|(named, _)| named.name == key.name) {
            arg = arg.visible_alias(*other);
        }
        if key.kind == Kind::Switch {
            let no = format!("no-{}", key.flag.long);
            command = command.arg(arg.action(ArgAction::SetTrue).overrides_with(no.clone()));
            let arg = Arg::new(no.clone()).long(no).action(ArgAction::SetTrue).overrides_with(key.name);
            command = command.arg(arg.hide(true).help(format!("Turns --{} off", key.flag.long)));
            continue;
        }
        let many = if many_values(key.kind) { ArgAction::Append } else { ArgAction::Set };
        if many_values(key.kind) {
            arg = plain;
        }
        let parser = clap::value_parser!(std::ffi::OsString);
        command =
            command.arg(arg.value_name(key.flag.value).action(many).value_parser(parser).allow_hyphen_values(true));
    }
    command
}

/// The names of the container profile, which the short help leaves out.
fn augment_names(mut command: Command) -> Command {
    for name in &NAMES {
        let arg = Arg::new(name.name).long(name.flag()).help(name.help()).value_name("N").overrides_with(name.name);
        let arg = arg.hide_short_help(true).help_heading("Names of the container profile").allow_hyphen_values(true);
        command = command.arg(arg.conflicts_with_all(name.keys));
    }
    command
}

/// The modes, of which one can be given.
fn augment_modes(mut command: Command) -> Command {
    for mode in modes() {
        let others: Vec<&str> = modes().map(|other| other.name).filter(|other| *other != mode.name).collect();
        let arg = Arg::new(mode.name).long(mode.name).help(mode.help()).action(ArgAction::SetTrue);
        command = command.arg(arg.hide_short_help(true).help_heading("Modes").conflicts_with_all(others));
    }
    command
}

fn collect_names(matches: &ArgMatches) -> Vec<(&'static Name, String)> {
    let given = |name: &'static Name| matches.get_one::<String>(name.name).map(|value| (name, value.clone()));
    NAMES.iter().filter_map(given).collect()
}

/// May be given several times, each a line.
fn many_values(kind: Kind) -> bool {
    matches!(kind, Kind::Paths | Kind::Findings | Kind::Gates | Kind::Prices | Kind::Models | Kind::Failures)
}

fn help(key: &Key) -> String {
    let mut help = key.doc.trim_end_matches('.').to_owned();
    if !key.default.is_empty() && key.kind != Kind::Switch {
        help.push_str(&format!(" [default: {}]", key.default));
    }
    if let Some(variable) = key.env {
        help.push_str(&format!(" [env: {variable}]"));
    }
    help
}

fn collect(
    matches: &ArgMatches,
    keys: impl Iterator<Item = &'static Key>,
) -> Result<Vec<(&'static Key, String)>, clap::Error> {
    use std::os::unix::ffi::OsStrExt;
    let mut found = Vec::new();
    for key in keys {
        if key.kind == Kind::Switch {
            if matches.get_flag(key.name) {
                found.push((key, "true".to_owned()));
            } else if matches.get_flag(&format!("no-{}", key.flag.long)) {
                found.push((key, "false".to_owned()));
            }
            continue;
        }
        let Some(values) = matches.get_many::<std::ffi::OsString>(key.name) else { continue };
        let mut texts = Vec::new();
        for value in values {
            texts.push(match (key.kind, value.to_str()) {
                (Kind::Path | Kind::Paths, _) => loop_core::text::escape_path(value.as_bytes()),
                (_, Some(text)) => text.to_owned(),
                (_, None) => return Err(clap::Error::raw(clap::error::ErrorKind::InvalidUtf8, "not UTF-8")),
            });
        }
        found.push((key, texts.join("\n")));
    }
    Ok(found)
}

fn changeable() -> impl Iterator<Item = &'static Key> {
    catalogue().filter(|key| key.may_change)
}

impl Args for StartFlags {
    fn augment_args(command: Command) -> Command {
        augment_modes(augment_names(augment(command, |_| true)))
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for StartFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let modes = modes().filter(|mode| matches.get_flag(mode.name)).collect();
        Ok(Self { keys: collect(matches, catalogue())?, names: collect_names(matches), modes })
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ResumeFlags {
    fn augment_args(command: Command) -> Command {
        augment(command, |key| key.may_change)
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ResumeFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        collect(matches, changeable()).map(Self)
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

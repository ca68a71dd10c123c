//! `loop config`: show, get, set and check settings.
use clap::{Args, Subcommand};
use loop_core::settings::profiles::autonomous;
use loop_core::settings::{
    Given, Key, Layer, Origin, Resolved, SettingsError, catalogue, key, set_in_toml, too_wide, unset_in_toml,
};
use loop_core::text::{self, nearest};
use loop_core::view::JSON_VERSION;
use loop_host::hidden::{self, hidden_gates};
use loop_host::launch;
use loop_host::paths::text_of as path_text;
use loop_host::settings_files::{self, USER_FILE, USER_YAML, gather};

use crate::context::{Context, Done, files_error, settings_error};
use crate::render::error::{CommandError, Kind};
use crate::render::table::table_on_screen;

/// Show, get, set and check settings
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Show every setting, its value here and where it came from
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the value of one setting
    Get {
        /// The key
        key: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Set a key in your own file; without a value the key is taken out
    Set {
        /// The key
        key: String,
        /// Its value
        #[arg(allow_hyphen_values = true)]
        value: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check your file, the project's file and the environment
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(context: &Context, args: &ConfigArgs) -> Done {
    match &args.verb {
        ConfigVerb::Show { json } => {
            let settings = here(context)?;
            if *json {
                let hidden = hidden_count(context)?;
                context.printer.json(&serde_json::json!({"version": 1, "settings": settings, "hidden_gates": hidden}));
                return Ok(0);
            }
            let row = |key: &'static Key| {
                let value = Some(settings.text(key)).filter(|value| !value.is_empty()).unwrap_or("-");
                let origin = settings.origin(key).map(ToString::to_string).unwrap_or_default();
                vec![key.name.to_owned(), text::escaped_head(value, 60), text::escaped(&origin)]
            };
            let rows: Vec<Vec<String>> = catalogue().map(row).collect();
            context.printer.answer(&table_on_screen(&["KEY", "VALUE", "FROM"], &rows));
            // Their names and commands are not shown: an agent can give this command, too.
            match hidden_count(context)? {
                0 => {}
                1 => context.printer.answer("1 hidden gate here\n"),
                count => context.printer.answer(&format!("{count} hidden gates here\n")),
            }
        }
        ConfigVerb::Get { key, json } => {
            let (key, settings) = (known(key)?, here(context)?);
            if *json {
                let (value, origin) = (settings.text(key), settings.origin(key).map(ToString::to_string));
                context.printer.json(
                    &serde_json::json!({"version": JSON_VERSION, "key": key.name, "value": value, "origin": origin}),
                );
                return Ok(0);
            }
            context.printer.answer(&format!("{}\n", text::escaped_lines(settings.text(key))));
        }
        ConfigVerb::Set { key, value, json } => {
            let key = known(key)?;
            let file = set(context, key, value.as_deref())?;
            if *json {
                context
                    .printer
                    .json(&serde_json::json!({"version": JSON_VERSION, "key": key.name, "value": value, "file": file}));
            }
        }
        ConfigVerb::Check { json } => {
            let (_, mut warnings) = read_here(context)?;
            hidden_count(context)?;
            warnings.extend(hidden::warnings(&context.home.config).map_err(|error| files_error(&error))?);
            if *json {
                context.printer.json(&serde_json::json!({"version": JSON_VERSION, "fine": true, "warnings": warnings}));
                return Ok(0);
            }
            warnings.iter().for_each(|warning| context.printer.progress(&format!("{warning}\n")));
            let verdict = match warnings.len() {
                0 => "settings are fine".to_owned(),
                1 => "settings can be used, with 1 warning".to_owned(),
                count => format!("settings can be used, with {count} warnings"),
            };
            context.printer.answer(&format!("{verdict} ({})\n", files_here(context)?));
        }
    }
    Ok(0)
}

/// The files that settings come from here, or that there is none.
fn files_here(context: &Context) -> Result<String, CommandError> {
    let own = [USER_FILE, USER_YAML].map(|name| context.home.config.join(name));
    let mut found: Vec<String> = own.iter().filter(|file| file.exists()).map(|file| path_text(file)).collect();
    if let Ok(workspace) = std::env::current_dir() {
        let project = settings_files::ProjectFile::find(&workspace).map_err(|error| files_error(&error))?;
        found.extend(project.map(|file| path_text(&workspace.join(file.name))));
    }
    Ok(if found.is_empty() { format!("no {}", path_text(&own[0])) } else { found.join(", ") })
}

pub(crate) fn here(context: &Context) -> Result<Resolved, CommandError> {
    let (resolved, warnings) = read_here(context)?;
    warnings.iter().for_each(|warning| context.printer.progress(&format!("{warning}\n")));
    Ok(resolved)
}

/// The settings here, and what is ignored of them.
fn read_here(context: &Context) -> Result<(Resolved, Vec<String>), CommandError> {
    let mut warnings = Vec::new();
    let workspace = std::env::current_dir().ok();
    let project =
        workspace.as_ref().map_or(Ok(None), |workspace| launch::approved_project(&context.home, workspace))?;
    if let Some(project) = project.as_ref().filter(|project| !project.wants.is_empty() && !project.approved) {
        for what in &project.wants {
            warnings.push(format!("note: not approved, and so ignored: {what}"));
        }
    }
    let mut given = gather(&context.home.config, project).map_err(|error| files_error(&error))?;
    if let Some(workspace) = &workspace {
        let (layer, note) = launch::layer_without_questions(&context.home, workspace, &given)?;
        given.extend(layer);
        warnings.extend(note);
    }
    for vain in too_wide(&given) {
        warnings.push(text::escaped_lines(&format!("warning: {vain}: it is ignored ({})", vain.why())));
    }
    Ok((launch::resolve(given)?.resolved, warnings))
}

/// How many hidden gates a loop in this folder has.
fn hidden_count(context: &Context) -> Result<usize, CommandError> {
    let workspace = std::env::current_dir().unwrap_or_default();
    let gates = hidden_gates(&context.home.config, &workspace).map_err(|error| files_error(&error))?;
    Ok(gates.len())
}

fn known(name: &str) -> Result<&'static Key, CommandError> {
    let ours = key(name).or_else(|| key(&name.replace('-', "_"))).or_else(|| autonomous::key_of(name));
    ours.ok_or_else(|| {
        settings_error(&SettingsError::UnknownKey {
            place: "loop config".to_owned(),
            key: name.to_owned(),
            near: nearest(name, catalogue().map(|key| key.name)),
        })
    })
}

fn set(context: &Context, key: &'static Key, value: Option<&str>) -> Result<String, CommandError> {
    let folder = &context.home.config;
    let file = folder.join(USER_FILE);
    let named = path_text(&file);
    if !key.in_file {
        return Err(CommandError::new(Kind::Wrong, format!("{} may not stand in a file", key.name))
            .because("it is only for a single start")
            .hint(format!("loop start … --{}", key.flag.long)));
    }
    if folder.join(USER_YAML).exists() {
        return Err(CommandError::new(Kind::Wrong, format!("your settings are in {USER_YAML}"))
            .because("both files in one folder would contradict each other")
            .hint(format!("edit {}", path_text(&folder.join(USER_YAML)))));
    }
    let text = settings_files::text_of(&file).map_err(|error| files_error(&error))?.unwrap_or_default();
    let changed = match value {
        Some(value) => {
            let origin = Origin { layer: Layer::User, place: "loop config set".to_owned() };
            let given = Given::read(key, value, origin).map_err(|error| settings_error(&error))?;
            set_in_toml(&text, &named, key, &given.value)
        }
        None => unset_in_toml(&text, &named, key),
    };
    let changed = changed.map_err(|error| settings_error(&error))?;
    let write = || {
        std::fs::create_dir_all(folder)?;
        loop_host::paths::write_whole(&file, &changed)
    };
    write().map_err(|error| {
        CommandError::new(Kind::Wrong, format!("cannot write {named}"))
            .because(error.to_string())
            .hint("make it writable")
    })?;
    context.printer.progress(&format!(
        "{named}: {} {}\n",
        key.name,
        value.map_or("taken out".to_owned(), |value| format!("= {value}"))
    ));
    Ok(named)
}

//! The catalogue, its layers, and what is refused.
use expect_test::expect;
use loop_core::settings::*;

fn given(layer: Layer, name: &str, value: &str) -> Given {
    let origin = Origin { layer, place: format!("{layer:?}") };
    Given::read(key(name).unwrap(), value, origin).unwrap()
}

fn refuse(error: &SettingsError) -> String {
    format!("{error}\n  because: {}\nhint: {}", error.why(), error.hint())
}

#[test]
fn the_strongest_layer_wins_whatever_the_order_in_which_they_come() {
    // req: C-25 partly: tasks and stories come later
    let layers = [Layer::Flag, Layer::Environment, Layer::Entry, Layer::Template, Layer::Project, Layer::User];
    for (count, _) in layers.iter().enumerate() {
        let mut all: Vec<Given> =
            layers[count..].iter().map(|layer| given(*layer, "project", "x")).filter(|_| true).collect();
        all.iter_mut().for_each(|given| given.value = format!("{:?}", given.origin.layer));
        all.rotate_left(count % 2);
        let resolved = resolve(all);
        assert_eq!(resolved.text(keys::project()), format!("{:?}", layers[count]));
        assert_eq!(resolved.origin(keys::project()).unwrap().layer, layers[count]);
    }
    assert_eq!(resolve(Vec::new()).origin(keys::timeout()).unwrap().to_string(), "default");
}

#[test]
fn a_project_file_may_lower_a_limit_and_never_raise_it() {
    let narrow = vec![given(Layer::User, "max_iterations", "20"), given(Layer::Project, "max_iterations", "5")];
    assert_eq!(resolve(narrow).text(keys::max_iterations()), "5");
    for (name, value) in
        [("max_iterations", "11"), ("max_iterations", "unlimited"), ("timeout", "6m"), ("gate_timeout", "1h")]
    {
        let wide = [given(Layer::Project, name, value)];
        assert!(matches!(too_wide(&wide)[..], [SettingsError::TooWide { .. }]), "{name} = {value}");
        let resolved = resolve(wide.to_vec());
        assert_eq!(resolved.text(key(name).unwrap()), key(name).unwrap().default, "{name} = {value} is not taken");
    }
    let flag = vec![given(Layer::Project, "max_iterations", "30"), given(Layer::Flag, "max_iterations", "40")];
    assert_eq!(resolve(flag).text(keys::max_iterations()), "40", "a flag wins whatever a file says");
    let lower = vec![given(Layer::Project, "max_time", "1h")];
    assert_eq!(resolve(lower).text(keys::max_time()), "1h");
}

/// A value that loosens what the user has set, and one that tightens it, for each rule of the catalogue.
struct Tightened {
    own: &'static str,
    loose: &'static str,
    tight: &'static str,
}

fn tightened(key: &Key) -> Option<Tightened> {
    let all = |own, loose, tight| Some(Tightened { own, loose, tight });
    match (key.in_project, key.kind) {
        (InProject::Narrow, Kind::CountOrUnlimited(_)) => all("7", "8", "6"),
        (InProject::Narrow, Kind::MoneyOrUnlimited) => all("7.00", "7.01", "6.99"),
        (InProject::Narrow, Kind::SizeOrUnlimited) => all("7MiB", "1GiB", "7KiB"),
        (InProject::Narrow, _) => all("7m", "8m", "6m"),
        (InProject::TurnOn, _) => all("true", "false", "true"),
        (InProject::Extend, _) => all("a\nb", "!a", "c"),
        (InProject::Yes | InProject::Approved | InProject::Never, _) => None,
    }
}

// req: RT-R3
#[test]
fn every_key_that_a_project_may_set_by_itself_can_only_be_tightened() {
    let free = catalogue().filter(|key| key.in_project == InProject::Yes).map(|key| key.name).collect::<Vec<_>>();
    assert_eq!(free, ["project"], "a name, on which no safety depends");
    let mut count = 0;
    for key in catalogue() {
        let Some(Tightened { own, loose, tight }) = tightened(key) else { continue };
        count += 1;
        let layers = |value| vec![given(Layer::User, key.name, own), given(Layer::Project, key.name, value)];
        let resolved = resolve(layers(loose));
        assert_eq!(resolved.text(key), own, "{} = {loose} is not taken", key.name);
        assert_eq!(resolved.origin(key).unwrap().layer, Layer::User, "{}", key.name);
        let said = too_wide(&layers(loose));
        assert_eq!(said.len(), 1, "{} = {loose} is named", key.name);
        assert!(said[0].to_string().contains(key.name) && said[0].why().contains("a project file may"), "{said:?}");
        let wanted = if key.in_project == InProject::Extend { "a\nb\nc" } else { tight };
        assert_eq!(resolve(layers(tight)).text(key), wanted, "{} = {tight} is taken", key.name);
        assert!(too_wide(&layers(tight)).is_empty(), "{} = {tight}", key.name);
        // From the default, too: unset lists and switches that are off.
        assert!(too_wide(&[given(Layer::Project, key.name, tight)]).len() <= 1, "{}", key.name);
        // A flag of the user counts more than any file.
        let mut by_flag = layers(tight);
        by_flag.push(given(Layer::Flag, key.name, own));
        assert_eq!(resolve(by_flag).text(key), own, "{}", key.name);
    }
    assert!(count >= 20, "{count} keys");
}

// req: RT-R3
#[test]
fn a_list_of_a_project_adds_to_the_users_and_takes_nothing_out() {
    let own = given(Layer::User, "protect", "tests/\nMakefile");
    for hostile in ["!tests/", "./!tests/", " !tests/", "new/\n!Makefile", "././!x"] {
        let both = vec![own.clone(), given(Layer::Project, "protect", hostile)];
        let resolved = resolve(both.clone());
        let list = resolved.text(keys::protect());
        assert!(list.starts_with("tests/\nMakefile") && !list.contains('!'), "{hostile:?}: {list}");
        assert!(matches!(too_wide(&both)[..], [SettingsError::TakesOut { .. }]), "{hostile:?}");
    }
    let both = vec![own, given(Layer::Project, "protect", "tests/\nnew/")];
    let resolved = resolve(both);
    assert_eq!(resolved.text(keys::protect()), "tests/\nMakefile\nnew/");
    assert_eq!(resolved.origin(keys::protect()).unwrap().place, "User, Project");
}

#[test]
fn a_project_file_may_not_say_what_is_run() {
    for name in ["promise", "agent", "agent_cmd", "notification_cmd", "allow_any_workspace", "stop_file", "inject"] {
        let text = format!("{name} = \"x\"\n");
        let error = from_toml(&text, "loop.toml", Layer::Project).unwrap_err();
        assert!(matches!(error, SettingsError::NotInProject { .. }), "{name}: {error:?}");
    }
}

#[test]
fn a_file_with_a_mistake_names_file_line_and_key_and_what_was_meant() {
    // req: D-26 partly: keys of what exists
    let error = from_toml("timeout = \"5m\"\n\nmax_iteration = 3\n", "config.toml", Layer::User).unwrap_err();
    expect![[r#"
        config.toml:3: unknown key max_iteration
          because: no setting has this name
        hint: did you mean max_iterations?"#]]
    .assert_eq(&refuse(&error));
    let error = from_toml("\ntimeout = 300\n", "config.toml", Layer::User).unwrap_err();
    expect![[r#"
        config.toml:2: timeout cannot be "300"
          because: a duration needs a unit
        hint: write a unit: 300s, 300m, 300h or 300d"#]]
    .assert_eq(&refuse(&error));
    let error = from_toml("timeout = \n", "config.toml", Layer::User).unwrap_err();
    assert!(refuse(&error).starts_with("config.toml:1: not a valid settings file"), "{}", refuse(&error));
}

#[test]
fn a_key_of_one_start_may_stand_in_no_file() {
    let error = from_toml("result = \"x\"\n", "config.toml", Layer::User).unwrap_err();
    assert_eq!(error.hint(), "give it as a flag: --result");
}

#[test]
fn yaml_says_the_same_as_toml() {
    // req: D-26 partly: keys of what exists
    let text = "# mine\nmax_iterations: 7\ntimeout: 2m\nnotify: true\nmax_time: null\ninject: [a.md, b.md]\n";
    let resolved = resolve(from_yaml(text, "config.yaml", Layer::User).unwrap());
    let values = ["max_iterations", "timeout", "notify", "max_time", "inject"]
        .map(|name| resolved.text(key(name).unwrap()).to_owned());
    assert_eq!(values, ["7", "2m", "true", "unlimited", "a.md\nb.md"].map(str::to_owned));
    assert_eq!(resolved.origin(keys::timeout()).unwrap().place, "config.yaml:3");
    let error = from_yaml("timeuot: 2m\n", "config.yaml", Layer::User).unwrap_err();
    assert_eq!(error.hint(), "did you mean timeout?");
    assert!(from_yaml("a: [", "config.yaml", Layer::User).is_err());
    assert!(from_yaml("# only words\n", "config.yaml", Layer::User).unwrap().is_empty());
}

#[test]
fn durations_have_a_unit_and_are_never_zero() {
    // req: A-30 partly: without the roadmap
    for good in ["30m", "8h", "24h", "1h30m", "90s", "500ms", "1h 30m"] {
        assert!(parse_value(Kind::Duration, good).is_ok(), "{good}");
    }
    for bad in ["0s", "0", "5", "-5m", "5 parsecs", "", "unlimited", "1.5.2h", "5M", "2y", "99999999999999h"] {
        assert!(parse_value(Kind::Duration, bad).is_err(), "{bad}");
    }
    assert_eq!(parse_value(Kind::DurationOrUnlimited, "unlimited").as_deref(), Ok("unlimited"));
    assert_eq!(parse_value(Kind::DurationOrUnlimited, "null").as_deref(), Ok("unlimited"));
    assert_eq!((duration_text(5_400_000).as_str(), millis("1h30m")), ("1h30m", Some(5_400_000)));
    assert_eq!(parse_value(Kind::CountOrUnlimited(10), "unlimited").as_deref(), Ok("unlimited"));
    for bad in ["0", "-1", "11", "ten", "1.5", ""] {
        assert!(parse_value(Kind::CountOrUnlimited(10), bad).is_err(), "{bad}");
    }
}

#[test]
fn a_bad_variable_is_named() {
    // req: D-22 partly: without LOOPD_SOCKET, which comes with loopd
    for (variable, value) in
        [("LOOP_AGENT", "c lod"), ("LOOP_CHECKPOINT", "zip"), ("LOOP_MAX_ITER", "0"), ("LOOP_TIMEOUT", "5")]
    {
        let error = from_environment(|name| (name == variable).then(|| value.to_owned())).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{variable}: ")), "{error}");
    }
    let all = [("LOOP_AGENT", "claude"), ("LOOP_CHECKPOINT", "git"), ("LOOP_MAX_ITER", "4"), ("LOOP_TIMEOUT", "7m")];
    let given =
        from_environment(|name| all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
            .unwrap();
    assert_eq!(given.len(), 4);
    assert!(from_environment(|_| Some(String::new())).unwrap().is_empty(), "empty means not set");
}

#[test]
fn setting_a_key_leaves_every_other_byte_of_the_file() {
    // req: D-26 partly: keys of what exists
    let text = "# my file\n\ntimeout = \"5m\" # short\nnotify = true\n";
    let changed = set_in_toml(text, "config.toml", key("timeout").unwrap(), "9m").unwrap();
    assert_eq!(changed, text.replace("5m", "9m"));
    let added = set_in_toml(text, "config.toml", key("max_iterations").unwrap(), "4").unwrap();
    assert_eq!(added, format!("{text}max_iterations = 4\n"));
    let gone = unset_in_toml(&added, "config.toml", key("max_iterations").unwrap()).unwrap();
    assert_eq!(gone, text);
}

#[test]
fn every_default_fits_its_own_key_and_every_flag_and_name_is_there_once() {
    for key in catalogue() {
        if !key.default.is_empty() {
            assert_eq!(parse_value(key.kind, key.default).as_deref(), Ok(key.default), "{}", key.name);
        }
        assert_eq!(catalogue().filter(|other| other.name == key.name || other.flag.long == key.flag.long).count(), 1);
        assert_eq!(key.flag.long, key.name.replace('_', "-"));
        assert!(key.doc.ends_with('.'), "{}", key.name);
    }
}

#[test]
fn a_command_that_says_nothing_is_refused() {
    for empty in ["", "   ", "\n", "!", " ! ", "# make test", " # a\n# b"] {
        assert!(parse_value(Kind::Command, empty).is_err(), "{empty:?}");
    }
    assert!(parse_value(Kind::Command, &"x".repeat(4000)).is_err());
}

#[test]
fn a_size_is_a_whole_number_with_a_binary_unit() {
    let read = |text: &str| parse_value(Kind::SizeOrUnlimited, text).ok().and_then(|text| bytes(&text));
    assert_eq!(read("1KiB"), Some(1024));
    assert_eq!(read(" 500 MiB"), Some(500 << 20));
    assert_eq!(read("10GiB"), Some(10 << 30));
    assert_eq!(parse_value(Kind::SizeOrUnlimited, "unlimited").as_deref(), Ok("unlimited"));
    for wrong in ["", "10", "1.5GiB", "10GB", "0MiB", "GiB", "-1MiB", "99999999999999TiB"] {
        assert!(parse_value(Kind::SizeOrUnlimited, wrong).is_err(), "{wrong}");
    }
    let narrow = vec![given(Layer::User, "keep_bytes", "2GiB")];
    assert_eq!(resolve(narrow).text(keys::keep_bytes()), "2GiB");
    assert!(from_toml("keep_bytes = \"1GiB\"", "loop.toml", Layer::Project).is_err(), "the user's own affair");
}

#[test]
fn texts_become_typed_values_and_a_run_of_an_earlier_version_has_the_defaults() {
    let text = "max_iterations = \"unlimited\"\ntimeout = \"90s\"\ndelay = \"none\"\nmax_cost = \"2.50\"\n\
                checkpoint_file_max = \"1KiB\"\non_tamper = \"stop\"\npromise = \"make test\"\nprotect = [\"a\", \"b\"]\n";
    let values = Values::of(&resolve(from_toml(text, "config.toml", Layer::User).unwrap()));
    assert_eq!(values.limits.max_iterations, None);
    assert_eq!((values.limits.timeout, values.limits.delay), (Millis(90_000), None));
    assert_eq!(values.budget.max_cost, Some(Micros(2_500_000)));
    assert_eq!(values.checkpoint.checkpoint_file_max, Some(Bytes(1024)));
    assert_eq!((values.guard.on_tamper, values.guard.protect.join(" ")), (OnTamper::Stop, "a b".to_owned()));
    assert_eq!(values.gate.all(), [GateSpec::new(PROMISE, "make test")]);
    assert_eq!(Values::of(&Resolved::default()), Values::default());
    assert_eq!(Values::default().output.keep_bytes, Some(Bytes(10 << 30)));
}

#[test]
fn every_word_of_a_choice_is_read_as_itself() {
    let choices =
        catalogue().filter_map(|key| if let Kind::Choice(words) = key.kind { Some((key, words)) } else { None });
    let mut count = 0;
    for (key, words) in choices {
        let mut seen: Vec<Values> = Vec::new();
        for word in words {
            let mut resolved = Resolved::defaults();
            resolved.put(key, (*word).to_owned(), Origin { layer: Layer::Flag, place: String::new() });
            let values = Values::of(&resolved);
            assert!(!seen.contains(&values), "{}: {word} is read as another word", key.name);
            seen.push(values);
        }
        count += 1;
    }
    assert_eq!(count, 23);
}

#[test]
fn a_key_of_something_that_is_not_built_is_an_unknown_key() {
    for name in ["best_of", "best_of_metric", "best_of_manual", "background"] {
        let error = from_toml(&format!("{name} = 3\n"), "config.toml", Layer::User).unwrap_err();
        assert_eq!(error.to_string(), format!("config.toml:1: unknown key {name}"));
        assert_eq!(error.why(), "no setting has this name");
    }
}

/// A value of each kind that is not the default of the key.
fn other_value(key: &Key) -> String {
    let text = match key.kind {
        Kind::CountOrUnlimited(most) => {
            let number = most.min(7);
            return if key.default == number.to_string() { number - 1 } else { number }.to_string();
        }
        Kind::Duration | Kind::DurationOrUnlimited | Kind::DurationOrNone => "7m",
        Kind::SizeOrUnlimited => "7MiB",
        Kind::MoneyOrUnlimited => "7.00",
        Kind::Fraction => "0.07",
        Kind::Gates => "lint=make lint",
        Kind::Findings => "weaker-tests",
        Kind::Prices => "opus* input=3.00 output=15.00",
        Kind::Failures => "refusal stop",
        Kind::Ladder => "fresh:7, human",
        Kind::Switch => return (key.default != "true").to_string(),
        Kind::Choice(words) => words.iter().find(|word| **word != key.default).copied().unwrap_or_default(),
        Kind::Command => "make -k",
        Kind::Word => "w7",
        Kind::Agents => "claude,gemini",
        Kind::Models => "codex gpt-9 $ 1M",
        Kind::Text | Kind::Path | Kind::Paths => "seven.txt",
    };
    text.to_owned()
}

/// What a person decides for one start, so that no file of theirs may decide it for every loop: consent, files that are
/// named for this loop, and what is done with their own git.
const OF_ONE_START: [&str; 8] =
    ["reset_circuit", "approve", "clear_stop", "result", "commit", "commit_message", "commit_hooks", "with_own_edits"];

#[test]
fn every_option_of_a_start_that_is_a_setting_has_its_default_in_the_users_file() {
    // req: D-26
    let (mut refused, mut wrong) = (Vec::new(), Vec::new());
    for key in catalogue() {
        let value = other_value(key);
        let line = format!("{} = {}\n", key.name, toml_edit::Value::from(value.as_str()));
        match from_toml(&line, "config.toml", Layer::User) {
            Ok(read) => {
                assert_eq!(read.len(), 1, "{line}");
                let resolved = resolve(read);
                let origin = resolved.origin(key).unwrap();
                assert_eq!((origin.layer, origin.place.as_str()), (Layer::User, "config.toml:1"), "{line}");
                assert_ne!(resolved.text(key), key.default, "{line}");
            }
            Err(_) if !key.in_file => refused.push(key.name),
            Err(error) => wrong.push(format!("{line}: {}", refuse(&error))),
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(refused, OF_ONE_START, "an option of a start that no file of the user may set");
}

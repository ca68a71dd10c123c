//! Templates: what is read from a file, and what it sets in a project.
use loop_core::policy::protect::{asks_to_remove_test, names_file};
use loop_core::project::{ProjectListing, ProjectProposals, propose};
use loop_core::settings::*;
use loop_core::template::{BUILT_IN, BUILT_IN_PHASES, Template, starting_text, text_of_run};

fn read(text: &str) -> Result<Template, SettingsError> {
    Template::read("mine", text, "mine.toml", Layer::Template)
}

fn refused(text: &str) -> String {
    let error = read(text).unwrap_err();
    format!("{error} / {} / {}", error.why(), error.hint())
}

fn node() -> ProjectProposals {
    let mut files = ProjectListing::default();
    files.add("package.json", false, Some(r#"{"scripts": {"test": "jest", "lint": "eslint ."}}"#.to_owned()));
    propose(&files)
}

fn given(layer: Layer, name: &str, value: &str) -> Given {
    Given::read(key(name).unwrap(), value, Origin { layer, place: format!("{layer:?}") }).unwrap()
}

/// Settings of these layers and a template in a node project.
fn with(template: &str, others: Vec<Given>) -> Resolved {
    let layer = read(template).unwrap().layer(&node(), &others);
    resolve([others, layer.given].concat())
}

// req: D-11 partly: the built-in ones
#[test]
fn the_built_in_templates_are_right_and_begin_with_the_prompt() {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["tdd", "bugfix", "refactor", "feature", "security", "performance"]);
    for (name, text) in BUILT_IN.into_iter().chain(BUILT_IN_PHASES) {
        let template = Template::read(name, text, name, Layer::Template).unwrap();
        assert!(!template.description.is_empty() && template.description.len() < 90, "{name}");
        if name == "tdd" {
            assert_eq!(template.phases, BUILT_IN_PHASES.map(|(phase, _)| phase));
            continue;
        }
        let task = template.task(Some("fix the parser\n"));
        assert!(task.starts_with("fix the parser\n\n") && !task.contains("{{"), "{task}");
        let settings = resolve(template.layer(&node(), &[]).given);
        assert_eq!(settings.text(keys::promise()), "npm test", "{name}");
        assert_eq!(settings.text(keys::require_tests_kept()), "true", "{name}: no test may be lost");
        // The tests of the second loop of tdd fail when it begins.
        let work_first = if name == "tdd-green" { "false" } else { "true" };
        assert_eq!(settings.text(keys::work_first()), work_first, "{name}: tests that pass are not the end");
        assert_eq!(settings.text(keys::red()) == "true", name == "tdd-red", "{name}");
        // What the words of a template say must not allow the agent anything.
        for file in ["Makefile", "check.sh", "test.sh", "run.sh", "package.json", "tests/test_a.py", "bench.sh"] {
            assert!(!names_file(&template.goal, file), "{name} names {file}");
        }
        for id in ["tests/test_a.py::test_old", "test", "tests", "product", "behaviour", "adds"] {
            assert!(!asks_to_remove_test(&template.goal, id), "{name} asks to remove {id}");
        }
    }
    let tests_stay =
        |name: &str| BUILT_IN.iter().any(|(known, text)| *known == name && text.contains("protect_tests = true"));
    assert!(tests_stay("refactor") && tests_stay("performance") && !tests_stay("feature"));
}

// req: C-25 partly: the layer of templates
// req: D-11 partly: flags win over the template
#[test]
fn flags_and_variables_win_over_a_template_and_a_template_over_files() {
    let text = "max_iterations = 7\npromise = \"make all\"\n";
    for (layer, wins) in
        [(Layer::User, "7"), (Layer::Project, "7"), (Layer::Entry, "5"), (Layer::Environment, "5"), (Layer::Flag, "5")]
    {
        let settings = with(text, vec![given(layer, "max_iterations", "5")]);
        assert_eq!(settings.text(keys::max_iterations()), wins, "{layer:?}");
    }
    let settings = with(text, Vec::new());
    assert_eq!(settings.origin(keys::max_iterations()).unwrap().to_string(), "mine.toml:1");
    assert_eq!(settings.origin(keys::max_iterations()).unwrap().layer, Layer::Template);
}

#[test]
fn what_is_found_counts_only_where_no_other_source_says_it() {
    let text = "promise = { find = \"test\" }\n[gates.lint]\nfind = \"lint\"\nwatch = true\n";
    let settings = with(text, Vec::new());
    assert_eq!(settings.text(keys::promise()), "npm test");
    assert_eq!(settings.origin(keys::promise()).unwrap().to_string(), "template mine: package.json has a script test");
    assert_eq!(settings.text(keys::gate()), "lint[watch]=npm run lint");
    let own = project_from_toml("promise = \"sh check.sh\"\n[gates.lint]\ncommand = \"true\"\n", "f", true).unwrap();
    let settings = with(text, own.given);
    assert_eq!(
        (settings.text(keys::promise()), settings.text(keys::gate())),
        ("sh check.sh", "lint[]=true".replace("[]", "").as_str())
    );
    let claimed = with(text, vec![given(Layer::Flag, "no_promise", "true")]);
    assert_eq!(claimed.text(keys::promise()), "");
    let same = with(text, vec![given(Layer::Flag, "promise", "npm run lint")]);
    assert_eq!(same.text(keys::gate()), "", "no gate runs the same command twice");
}

#[test]
fn a_template_adds_to_gates_and_protected_paths_and_takes_nothing_away() {
    let project = project_from_toml(
        "protect = [\"/ci/\"]\n[gates.a]\ncommand = \"make a\"\n[gates.b]\ncommand = \"make b\"\n",
        "f",
        true,
    );
    let text = "protect = [\"/docs/\"]\n[gates.b]\ncommand = \"make other\"\n[gates.c]\ncommand = \"make c\"\n";
    let settings = with(text, project.unwrap().given);
    assert_eq!(settings.text(keys::protect()), "/ci/\n/docs/");
    assert_eq!(settings.text(keys::gate()), "a=make a\nb=make other\nc=make c");
}

#[test]
fn what_is_needed_and_not_found_is_named() {
    let nothing = ProjectProposals::default();
    let text = "promise = { find = \"test\" }\n[gates.audit]\nfind = \"audit\"\nneeded = true\n[gates.lint]\nfind = \"lint\"\n";
    let words = |others: &[Given]| -> Vec<&str> {
        read(text).unwrap().layer(&nothing, others).missing.iter().map(|missing| missing.word()).collect()
    };
    assert_eq!(words(&[]), ["test", "audit"]);
    assert_eq!(words(&[given(Layer::Flag, "promise", "make")]), ["audit"]);
}

#[test]
fn a_goal_is_put_around_the_prompt_or_stands_alone() {
    let around = read("goal = \"Task: {{ prompt }}!\"\n").unwrap();
    assert_eq!((around.task(Some("do it\n")).as_str(), around.has_whole_task()), ("Task: do it!", false));
    let alone = read("goal = \"Update all dependencies.\"\n").unwrap();
    assert!(alone.has_whole_task());
    assert_eq!(alone.task(None), "Update all dependencies.");
    assert_eq!(alone.task(Some("Only minor ones.")), "Only minor ones.\n\nUpdate all dependencies.");
    assert_eq!(read("max_iterations = 3\n").unwrap().task(Some("x {{prompt}} y")), "x {{prompt}} y");
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_a_hint() {
    for (text, said) in [
        (
            "max_iteration = 3\n",
            "mine.toml:1: unknown key max_iteration / no setting has this name / did you mean max_iterations?",
        ),
        ("goals = \"x\"\n", "did you mean goal?"),
        ("goal = \"a {{feature}} b\"\n", "{{feature is not known / there is only {{prompt}}"),
        ("goal = \"a {{prompt b\"\n", "is not known"),
        ("goal = 3\n", "it must be a text"),
        ("goal = \"\"\n", "it is empty"),
        ("\nmax_iterations = 0\n", "mine.toml:2: "),
        (
            "promise = { find = \"tests\" }\n",
            "nothing of that name is looked for / test, lint, types, build, bench, audit",
        ),
        ("promise = { find = \"test\", watch = true }\n", "watch is not a key of the promise"),
        ("[gates.a]\nfind = \"lint\"\nwait = true\n", "a gate has no such key"),
        ("[gates.a]\ntimeout = \"2m\"\n", "it needs a command of one line"),
        ("[gates.promise]\ncommand = \"true\"\n", "promise is the gate that --promise names"),
        ("template = \"bugfix\"\n", "it may not stand in a template"),
        ("[agents.a]\ncommand = \"x\"\n", "describe agents in your config.toml"),
        ("[hidden_gates.a]\ncommand = \"x\"\n", "it may not stand in a template"),
        ("approve = true\n", "it is only for a single start"),
        ("goal = \"x\n", "mine.toml:1"),
    ] {
        let told = refused(text);
        assert!(told.contains(said), "{text}: {told}");
    }
}

#[test]
fn a_template_of_a_repository_may_not_say_what_is_the_users_own() {
    let read = |text: &str| Template::read("theirs", text, ".loop/templates/theirs.toml", Layer::Project);
    for text in ["auto_confirm = true\n", "skip_permissions = true\n", "secrets = \"A\"\n", "promise = \"a\\u001b\"\n"]
    {
        read(text).unwrap_err();
    }
    let template = read("max_iterations = 50\npromise = \"make\"\n[gates.a]\ncommand = \"make a\"\n").unwrap();
    let settings = resolve(template.layer(&node(), &[]).given);
    assert_eq!(settings.text(keys::max_iterations()), "10", "it may lower a limit, not raise it");
    assert_eq!((settings.text(keys::promise()), settings.text(keys::gate())), ("make", "a=make a"));
}

// req: D-11 partly: from a loop and from scratch, as texts
#[test]
fn new_templates_can_be_read_and_have_what_the_loop_was_given() {
    read(&starting_text("mine")).unwrap();
    let settings = resolve(vec![
        given(Layer::Flag, "promise", "make test \"a\""),
        given(Layer::Flag, "gate", "lint[watch]=make lint"),
        given(Layer::User, "agent", "claude"),
        given(Layer::Environment, "max_iterations", "4"),
        given(Layer::Flag, "agent_env", "TOKEN=abc"),
        given(Layer::Flag, "protect_tests", "true"),
    ]);
    let text = text_of_run("abc", &settings, "fix\nit", None).unwrap();
    assert!(text.starts_with("# Made from loop abc, whose task was: fix it\n"), "{text}");
    assert!(!text.contains("TOKEN") && !text.contains("claude"), "{text}");
    let again = resolve(read(&text).unwrap().layer(&ProjectProposals::default(), &[]).given);
    for key in [keys::promise(), keys::gate(), keys::max_iterations(), keys::protect_tests()] {
        assert_eq!(again.text(key), settings.text(key), "{}", key.name);
    }
    assert_eq!(read(&text).unwrap().task(Some("do it")), "do it");
}

// req: D-11 partly: a template may be one loop or a workflow
#[test]
fn a_template_of_several_loops_has_their_names_and_nothing_else() {
    let template = read("description = \"x\"\nphases = [\"tdd-red\", \"tdd-green\"]\n").unwrap();
    assert_eq!(template.phases, ["tdd-red", "tdd-green"]);
    for (text, why) in [
        ("phases = \"tdd-red\"\n", "it must be a list of names of templates"),
        ("phases = [1, 2]\n", "it must be a list of names of templates"),
        ("phases = [\"a\"]\n", "there must be 2 to 16 phases"),
        ("phases = [\"a\", \"a\"]\n", "a is there twice"),
        ("phases = [\"mine\", \"a\"]\n", "mine is there twice"),
        ("phases = [\"a\", \"b\"]\nmax_iterations = 3\n", "max_iterations cannot stand beside phases"),
    ] {
        assert!(refused(text).contains(why), "{text}: {}", refused(text));
    }
}

//! Lists of work: every format, read from files like those of its own tool, and ticked byte by byte.
#![expect(clippy::disallowed_methods, reason = "a test that reads samples and may get a seed")]
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use loop_core::list::{Item, List, ListFormat, TickError, read, tick};

/// A folder of samples, how it is read, and a path that its tool would use.
struct Folder {
    name: &'static str,
    format: ListFormat,
    path: &'static str,
}

const fn folder(name: &'static str, format: ListFormat, path: &'static str) -> Folder {
    Folder { name, format, path }
}

const FOLDERS: [Folder; 12] = [
    folder("loopspec", ListFormat::LoopSpec, "prd.json"),
    folder("ralph", ListFormat::UserStories, "scripts/ralph/prd.json"),
    folder("ralph-tui", ListFormat::UserStories, "prd.json"),
    folder("markdown-prd", ListFormat::MarkdownPrd, "tasks/prd-feature.md"),
    folder("ralphex", ListFormat::Ralphex, "docs/plans/20260101-plan.md"),
    folder("spec-kit", ListFormat::SpecKit, "specs/001-feature/tasks.md"),
    folder("kiro", ListFormat::Kiro, ".kiro/specs/feature/tasks.md"),
    folder("openspec", ListFormat::OpenSpec, "openspec/changes/add-feature/tasks.md"),
    folder("bmad", ListFormat::Bmad, "_bmad-output/implementation-artifacts/file"),
    folder("task-list", ListFormat::TaskList, "TODO.md"),
    folder("roadmap", ListFormat::Roadmap, "specs/roadmap.md"),
    folder("beads", ListFormat::Beads, ".beads/list"),
];

fn samples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/lists")
}

struct Sample {
    name: String,
    text: String,
}

fn samples(folder: &Folder) -> Vec<Sample> {
    let entries = fs::read_dir(samples_folder().join(folder.name)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| Sample { name: name(path), text: fs::read_to_string(path).unwrap() }).collect()
}

/// The path that a sample would have: the one of its tool, with its own ending where that says what it is.
fn tool_path(folder: &Folder, sample: &Sample) -> String {
    let has_ending = Path::new(folder.path).extension().is_some();
    let ending = sample.name.rsplit('.').next().unwrap();
    if has_ending { folder.path.to_owned() } else { format!("{}.{ending}", folder.path) }
}

fn all_samples() -> impl Iterator<Item = (Folder, Sample)> {
    FOLDERS.into_iter().flat_map(|one| {
        let found = samples(&one);
        found.into_iter().map(move |sample| (folder(one.name, one.format, one.path), sample))
    })
}

/// A list as text, with everything that was read.
fn shown(list: &List) -> String {
    let mut out = format!("{}\n", list.read_as());
    for item in &list.items {
        shown_item(&mut out, item);
    }
    for command in &list.commands {
        writeln!(out, "  command {} `{}` in line {}", command.name, command.command, command.line).unwrap();
    }
    let order: Vec<&str> = list.open_in_order().into_iter().map(|item| item.id.as_str()).collect();
    writeln!(out, "  order: {}", order.join(", ")).unwrap();
    let edges: Vec<String> = list.edges().into_iter().map(|edge| format!("{}→{}", edge.item, edge.waits_for)).collect();
    writeln!(out, "  edges: {}", edges.join(" ")).unwrap();
    for warning in &list.warnings {
        writeln!(out, "  warning: {warning}").unwrap();
    }
    out
}

fn shown_item(out: &mut String, item: &Item) {
    let mark = if item.done { "x" } else { " " };
    write!(out, "  [{mark}] {} ({}) {:?}", item.id, item.line, item.title).unwrap();
    let flags = [(item.optional, "optional"), (item.parallel, "parallel"), (!item.can_be_ticked, "no box")];
    for (_, word) in flags.into_iter().filter(|(is, _)| *is) {
        write!(out, " {word}").unwrap();
    }
    if let Some(priority) = item.priority {
        write!(out, " priority {priority}").unwrap();
    }
    if item.phase > 0 {
        write!(out, " phase {}", item.phase).unwrap();
    }
    if let Some(parent) = &item.parent {
        write!(out, " part of {parent}").unwrap();
    }
    if !item.depends_on.is_empty() {
        write!(out, " depends on {}", item.depends_on.join(", ")).unwrap();
    }
    if !item.scope.is_empty() {
        write!(out, " scope {}", item.scope.join(" ")).unwrap();
    }
    out.push('\n');
    for line in item.text.lines() {
        writeln!(out, "      | {line}").unwrap();
    }
    for criterion in &item.criteria {
        let (id, line) = (&criterion.id, criterion.line);
        write!(out, "      criterion {id} ({line}) {:?}", criterion.text).unwrap();
        if let Some(command) = &criterion.command {
            write!(out, " `{command}`").unwrap();
        }
        writeln!(out, "{}", criterion.artifacts.iter().fold(String::new(), |all, file| all + " " + file)).unwrap();
    }
    for command in &item.commands {
        writeln!(out, "      command {} ({}) `{}`", command.name, command.line, command.command).unwrap();
    }
    for setting in &item.settings {
        writeln!(out, "      {} ({}) = {}", setting.key, setting.line, setting.value).unwrap();
    }
    if !item.notes.is_empty() {
        writeln!(out, "      notes {:?}", item.notes).unwrap();
    }
}

// req: P-01 partly: reading
#[test]
fn files_of_every_format_are_read_with_all_that_they_say() {
    for one in &FOLDERS {
        let found = samples(one);
        assert!(found.len() >= 5, "{} has {} samples", one.name, found.len());
        let mut out = String::new();
        for sample in found {
            let list = read(&sample.name, sample.text.as_bytes(), None).unwrap();
            writeln!(out, "{}: {}", sample.name, shown(&list)).unwrap();
        }
        expect_test::expect_file![samples_folder().join(format!("{}.expect", one.name))].assert_eq(&out);
    }
}

#[test]
fn a_format_is_recognised_by_the_path_and_the_shape_of_its_files() {
    for (folder, sample) in all_samples() {
        let list = read(&tool_path(&folder, &sample), sample.text.as_bytes(), None).unwrap();
        assert_eq!(list.format, folder.format, "{} {}", folder.name, sample.name);
        let forced = read("file", sample.text.as_bytes(), Some(folder.format)).unwrap();
        assert_eq!(forced, list, "{} {}: --format reads the same", folder.name, sample.name);
    }
}

/// A sample as an editor of another kind would write it.
struct Variant {
    name: &'static str,
    make: fn(&str) -> String,
}

const VARIANTS: [Variant; 7] = [
    Variant { name: "as it is", make: str::to_owned },
    Variant { name: "CRLF", make: |text| text.replace('\n', "\r\n") },
    Variant { name: "BOM", make: |text| format!("\u{feff}{text}") },
    Variant { name: "BOM and CRLF", make: |text| format!("\u{feff}{}", text.replace('\n', "\r\n")) },
    Variant { name: "no final newline", make: |text| text.trim_end().to_owned() },
    Variant { name: "more empty lines at the end", make: |text| format!("{text}\n\n  \n") },
    Variant { name: "wide indents", make: |text| indented(text, |line| format!("   {line}")) },
];

/// Changes the lines that are indented already, outside of code.
fn indented(text: &str, change: fn(&str) -> String) -> String {
    let lines = text.split_inclusive('\n');
    lines.map(|line| if line.starts_with([' ', '\t']) { change(line) } else { line.to_owned() }).collect()
}

fn variants(text: &str) -> impl Iterator<Item = (&'static str, String)> {
    VARIANTS.iter().map(move |variant| (variant.name, (variant.make)(text)))
}

/// What differs: the bytes before and the bytes now, between what is the same.
fn difference(before: &str, after: &str) -> (String, String) {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(one, other)| one == other).count();
    let part = |bytes: &[u8]| String::from_utf8(bytes[head..bytes.len() - tail].to_vec()).unwrap();
    (part(old), part(new))
}

/// How many bytes changed in texts of the same length; each must have been the mark of a box.
fn ticked_boxes(before: &str, after: &str, letter: u8) -> usize {
    assert_eq!(before.len(), after.len(), "{:?}", difference(before, after));
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let changed: Vec<usize> = (0..old.len()).filter(|at| old[*at] != new[*at]).collect();
    for at in &changed {
        assert_eq!(new[*at], letter);
        assert!([b' ', b'-', b'~'].contains(&old[*at]), "{:?}", old[*at]);
        let around = &before[at - 1..at + 2];
        assert!(around.starts_with('[') && around.ends_with(']'), "{around}");
    }
    changed.len()
}

/// The items that a tick makes done: this one, and those that are done with it.
fn done_with(list: &List, item: &Item) -> Vec<String> {
    let mut done = vec![item.id.clone()];
    let mut above = item.parent.clone().filter(|_| !item.optional);
    while let Some(id) = above {
        let mut parts = list.items.iter().filter(|part| part.parent.as_ref() == Some(&id) && !part.optional);
        let parent = list.items.iter().find(|parent| parent.id == id).unwrap();
        if parent.done || parts.any(|part| !part.done && !done.contains(&part.id)) {
            break;
        }
        done.push(id);
        above = parent.parent.clone();
    }
    done
}

// req: A-21 partly: the box
#[test]
fn a_tick_changes_the_least_bytes_in_every_format_and_layout() {
    let mut ticks = 0;
    for (folder, sample) in all_samples().filter(|(folder, _)| folder.format != ListFormat::Beads) {
        let known = read(&sample.name, sample.text.as_bytes(), None).unwrap();
        for (variant, text) in variants(&sample.text) {
            let place = format!("{}/{} {variant}", folder.name, sample.name);
            let list = read(&sample.name, text.as_bytes(), None).unwrap_or_else(|error| panic!("{place}: {error}"));
            let marks = |list: &List| list.items.iter().map(|item| (item.id.clone(), item.done)).collect::<Vec<_>>();
            assert_eq!(marks(&list), marks(&known), "{place}");
            for item in list.items.iter().filter(|item| !item.done && item.can_be_ticked) {
                // An empty pair of brackets has no byte to change: one is put in.
                if text.contains("- [] ") && item.title == "empty brackets" {
                    continue;
                }
                check_tick(&place, &text, &list, item);
                ticks += 1;
            }
        }
    }
    assert!(ticks > 900, "{ticks}");
}

fn check_tick(place: &str, text: &str, list: &List, item: &Item) {
    let place = format!("{place}: {}", item.id);
    let after = String::from_utf8(tick(text.as_bytes(), list.format, item, None).unwrap()).unwrap();
    let done = done_with(list, item);
    match list.format {
        ListFormat::LoopSpec | ListFormat::UserStories => {
            let (old, new) = difference(text, &after);
            let is_switched = old == "fals" && new == "tru";
            let is_added = old.is_empty() && new.contains("\"passes\"") && new.contains("true");
            assert!(is_switched || is_added, "{place}: {old:?} {new:?}");
        }
        ListFormat::Bmad if list.kind.contains("yaml") => {
            let differs = |(old, new): &(&str, &str)| old != new;
            let lines: Vec<(&str, &str)> = text.lines().zip(after.lines()).filter(differs).collect();
            assert_eq!(lines.len(), 1, "{place}");
            let (old, new) = lines[0];
            let (key, status) = old.split_once(':').unwrap();
            let word = status.trim_start().trim_start_matches(['"', '\'']);
            let word = word.split(['"', '\'', ' ']).next().unwrap();
            assert_eq!(new, format!("{key}:{}", status.replacen(word, "done", 1)), "{place}");
        }
        ListFormat::Ralphex | ListFormat::MarkdownPrd => {
            assert!(ticked_boxes(text, &after, b'x') >= 1, "{place}");
        }
        ListFormat::Bmad if list.kind.contains("epics") => {
            assert!(ticked_boxes(text, &after, b'x') >= 1, "{place}");
        }
        ListFormat::SpecKit => assert_eq!(ticked_boxes(text, &after, b'X'), done.len(), "{place}"),
        ListFormat::Kiro
        | ListFormat::OpenSpec
        | ListFormat::Bmad
        | ListFormat::Roadmap
        | ListFormat::TaskList
        | ListFormat::Beads => assert_eq!(ticked_boxes(text, &after, b'x'), done.len(), "{place}"),
    }
    let again = read("", after.as_bytes(), Some(list.format)).unwrap();
    let expected: Vec<Item> =
        list.items.iter().map(|old| if done.contains(&old.id) { ticked(old) } else { old.clone() }).collect();
    let plain =
        |items: &[Item]| items.iter().map(|item| Item { seal: String::new(), ..item.clone() }).collect::<Vec<_>>();
    assert_eq!(plain(&again.items), plain(&expected), "{place}: only this item is done now");
    let twice = tick(after.as_bytes(), list.format, item, None);
    assert_eq!(twice, Err(TickError::TickedAlready(item.id.clone())), "{place}");
}

fn ticked(item: &Item) -> Item {
    Item { done: true, ..item.clone() }
}

// req: P-08 partly: passes and notes
#[test]
fn a_note_is_written_beside_passes_and_nothing_else_changes() {
    let text = "{\"items\": [\n  {\"id\": \"a\", \"passes\": false, \"notes\": \"old\"},\n  {\"id\": \"b\"}\n]}";
    let list = read("prd.json", text.as_bytes(), None).unwrap();
    let note = Some("kept \"as\" text\nof two lines");
    let first = tick(text.as_bytes(), list.format, &list.items[0], note).unwrap();
    let both = tick(&first, list.format, &list.items[1], Some("n")).unwrap();
    let wanted = text
        .replace("false, \"notes\": \"old\"", r#"true, "notes": "kept \"as\" text\nof two lines""#)
        .replace("{\"id\": \"b\"}", r#"{"id": "b", "passes": true, "notes": "n"}"#);
    assert_eq!(String::from_utf8(both).unwrap(), wanted);
}

#[test]
fn empty_brackets_get_a_letter() {
    let text = "- [] one\n- [ ] two\n";
    let list = read("TODO.md", text.as_bytes(), None).unwrap();
    let after = tick(text.as_bytes(), list.format, &list.items[0], None).unwrap();
    assert_eq!(String::from_utf8(after).unwrap(), "- [x] one\n- [ ] two\n");
}

/// The same line again, but with another text in it.
struct Refused {
    why: &'static str,
    before: &'static str,
    after: &'static str,
    refused: TickError,
}

#[test]
fn a_tick_is_refused_when_its_item_changed_meanwhile() {
    let id = || "b".to_owned();
    let roadmap = "## Tasks\n- [ ] **a**: A\n- [ ] **b**: B\n  - promise: make b\n";
    let json = r#"[{"id":"a","passes":false},{"id":"b","title":"B","acceptanceCriteria":["one"],"passes":false}]"#;
    let cases = [
        Refused {
            why: "the title is another one",
            before: roadmap,
            after: "## Tasks\n- [ ] **a**: A\n- [ ] **b**: C\n  - promise: make b\n",
            refused: TickError::Changed(id()),
        },
        Refused {
            why: "the item is gone",
            before: roadmap,
            after: "## Tasks\n- [ ] **a**: A\n",
            refused: TickError::Gone(id()),
        },
        Refused {
            why: "it is ticked",
            before: roadmap,
            after: "## Tasks\n- [ ] **a**: A\n- [x] **b**: B\n  - promise: make b\n",
            refused: TickError::TickedAlready(id()),
        },
        Refused {
            why: "a criterion is another one",
            before: json,
            after: r#"[{"id":"a","passes":false},{"id":"b","title":"B","acceptanceCriteria":["two"],"passes":false}]"#,
            refused: TickError::Changed(id()),
        },
        Refused {
            why: "passes is true",
            before: json,
            after: r#"[{"id":"a","passes":false},{"id":"b","title":"B","acceptanceCriteria":["one"],"passes":true}]"#,
            refused: TickError::TickedAlready(id()),
        },
    ];
    for case in cases {
        let list = read("", case.before.as_bytes(), None).unwrap();
        let item = list.items.iter().find(|item| item.id == "b").unwrap();
        assert_eq!(tick(case.after.as_bytes(), list.format, item, None), Err(case.refused), "{}", case.why);
    }
}

#[test]
fn a_tick_is_written_when_lines_around_its_item_changed() {
    let before = "## Tasks\n- [ ] **a**: A\n- [ ] **b**: B\n";
    let after = "# New\n\n## Tasks\n- [ ] **new**: N\n- [ ] **b**: B\n- [x] **a**: A\n";
    let list = read("roadmap.md", before.as_bytes(), None).unwrap();
    let ticked = tick(after.as_bytes(), list.format, &list.items[1], None).unwrap();
    assert_eq!(String::from_utf8(ticked).unwrap(), after.replace("- [ ] **b**", "- [x] **b**"));
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most.max(1)).unwrap()).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

fn seeds() -> impl Iterator<Item = u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let start: u64 = number("LIST_SEED").unwrap_or(1);
    start..start + number("LISTS").unwrap_or(400)
}

/// A Markdown file with boxes, as people write them.
fn random_markdown(dice: &mut Dice) -> String {
    let end = dice.pick(&["\n", "\r\n"]);
    let mut text = dice.pick(&["", "\u{feff}"]).to_owned();
    let mut depth = 0;
    for number in 0..dice.below(30) + 1 {
        match dice.below(8) {
            0 => text.push_str(&format!("## Section {number}{end}{end}")),
            1 => text.push_str(&format!("Some text with [ ] and [x] in it{end}{end}")),
            2 => text.push_str(&format!("```{end}- [ ] in code{end}```{end}")),
            _ => {
                depth = dice.below(depth + 2).min(4);
                let indent = dice.pick(&["  ", "\t", "    ", "   "]).repeat(depth);
                let sign = dice.pick(&["-", "*", "+", "1.", "7)"]);
                let mark = dice.pick(&["[ ]", "[ ]", "[x]", "[X]", "[-]", "[~]"]);
                let words = dice.pick(&["Write the tests", "ümlaut → pfeil", "T001 [P] x", "1.1 a", "[ ] twice", ""]);
                text.push_str(&format!("{indent}{sign} {mark} {words}{end}"));
                if dice.below(4) == 0 {
                    text.push_str(&format!("{indent}  a detail{end}"));
                }
            }
        }
    }
    if dice.below(3) == 0 {
        text.truncate(text.trim_end().len());
    }
    text
}

#[test]
fn any_markdown_list_is_ticked_box_by_box_and_no_other_byte_changes() {
    for seed in seeds() {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let text = random_markdown(&mut dice);
        let Ok(list) = read("TODO.md", text.as_bytes(), Some(ListFormat::TaskList)) else {
            panic!("LIST_SEED={seed}: {text}")
        };
        let mut now = text.clone();
        let mut open: Vec<String> = list.items.iter().filter(|item| !item.done).map(|item| item.id.clone()).collect();
        while !open.is_empty() {
            let id = open.swap_remove(dice.below(open.len()));
            let before = read("TODO.md", now.as_bytes(), Some(ListFormat::TaskList)).unwrap();
            let item = before.items.iter().find(|item| item.id == id).unwrap();
            if !item.done {
                check_tick(&format!("LIST_SEED={seed}"), &now, &before, item);
                now = String::from_utf8(tick(now.as_bytes(), before.format, item, None).unwrap()).unwrap();
            }
        }
        let changed = text.bytes().zip(now.bytes()).filter(|(old, new)| old != new).count();
        let boxes = list.items.iter().filter(|item| !item.done).count();
        assert_eq!((now.len(), changed), (text.len(), boxes), "LIST_SEED={seed}: {text}");
    }
}

/// A `prd.json` in a random layout.
fn random_json(dice: &mut Dice) -> String {
    let end = dice.pick(&["\n", "\r\n", " ", ""]);
    let space = dice.pick(&["", " ", "\t", "  "]);
    let mut items = Vec::new();
    for number in 0..dice.below(8) + 1 {
        let mut members = vec![
            format!("\"id\"{space}:{space}\"i-{number}\""),
            format!("\"passes\"{space}:{space}{}", dice.pick(&["false", "false", "true"])),
        ];
        for extra in [
            "\"passes2\": false",
            "\"notes\":\"\"",
            "\"x\":{\"passes\":false}",
            "\"t\":\"passes: false\"",
            "\"ü\":[1,2]",
        ] {
            if dice.below(3) == 0 {
                let at = dice.below(members.len() + 1);
                members.insert(at, extra.to_owned());
            }
        }
        items.push(format!("{{{end}{}{end}}}", members.join(&format!("{space},{end}{space}"))));
    }
    let list = format!("[{end}{}{end}]", items.join(&format!(",{end}")));
    let bom = dice.pick(&["", "\u{feff}"]);
    match dice.below(3) {
        0 => format!("{bom}{list}{end}"),
        1 => format!("{bom}{{\"items\":{space}{list},{end}\"other\":{{\"passes\":false}}}}"),
        _ => format!("{bom}{{\"passes\":false,{end}\"userStories\":{list}{end}}}{end}"),
    }
}

#[test]
fn any_prd_json_is_ticked_by_one_word_for_each_item() {
    for seed in seeds() {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let text = random_json(&mut dice);
        let list =
            read("prd.json", text.as_bytes(), None).unwrap_or_else(|error| panic!("LIST_SEED={seed} {error}: {text}"));
        for item in list.items.iter().filter(|item| !item.done) {
            check_tick(&format!("LIST_SEED={seed}"), &text, &list, item);
        }
    }
}

#[test]
fn no_damaged_file_stops_a_reader() {
    for (folder, sample) in all_samples() {
        let bytes = sample.text.as_bytes();
        let mut dice = Dice(0x1234_5678_9ABC_DEF1);
        for round in 0..seeds().count() / 4 {
            let mut damaged = bytes.to_vec();
            let at = dice.below(damaged.len());
            match round % 4 {
                0 => damaged.truncate(at),
                1 => damaged[at] = u8::try_from(dice.below(256)).unwrap(),
                2 => drop(damaged.remove(at)),
                _ => damaged.insert(at, b"\n#-[]{}\":,`\xff"[dice.below(12)]),
            }
            for format in [None, Some(folder.format)] {
                if let Ok(list) = read(&sample.name, &damaged, format) {
                    for item in list.items.iter().take(3) {
                        drop(tick(&damaged, list.format, item, Some("n")));
                    }
                }
            }
        }
    }
}

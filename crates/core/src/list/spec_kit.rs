//! `tasks.md` of GitHub Spec Kit: `- [ ] T012 [P] [US1] text (depends on T010)` below `## Phase 3: …`.
use super::ListFormat;
use super::draft::Draft;
use super::markdown::{self, BoxLine, MarkdownLine};
use super::outline::{self, Named, OutlineRules};

const RULES: OutlineRules = OutlineRules {
    renames: false,
    letter: 'X',
    begins_phase: |heading| {
        heading.level == 2 && heading.text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("phase"))
    },
    name,
    ..OutlineRules::PLAIN
};

/// Whether most boxes have the ids of Spec Kit.
pub(super) fn fits(lines: &[MarkdownLine<'_>]) -> bool {
    let boxes = || lines.iter().filter(|line| !line.is_hidden).filter_map(markdown::box_of);
    let named = boxes().filter(|found| name(found).id.is_some()).count();
    named > 0 && named * 2 >= boxes().count()
}

/// Reads a file.
pub(super) fn read(text: &str) -> Draft {
    let mut draft = Draft::new(ListFormat::SpecKit, "Spec Kit tasks.md");
    let lines = markdown::lines(text);
    outline::add(&mut draft, &lines, &RULES);
    let nameless = |id: &str| task_id(id) != Some(id);
    let nameless: Vec<u32> = draft.list.items.iter().filter(|item| nameless(&item.id)).map(|item| item.line).collect();
    for line in nameless {
        draft.warn(format!("line {line}: a task of Spec Kit begins with an id like T001"));
    }
    draft
}

/// `T` and at least three digits, at the beginning.
fn task_id(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('T')?.bytes().take_while(u8::is_ascii_digit).count();
    let behind = text.get(digits + 1..)?;
    let is_whole = !behind.starts_with(|letter: char| letter.is_alphanumeric());
    text.get(..=digits).filter(|_| digits >= 3 && is_whole)
}

fn name<'a>(found: &BoxLine<'a>) -> Named<'a> {
    let told = found.text.trim_start_matches('*');
    let Some(id) = task_id(told) else {
        return Named { title: found.text, optional: found.has_star, ..Named::default() };
    };
    let mut rest = told.get(id.len()..).unwrap_or_default().trim_start_matches(['*', ':']).trim_start();
    let mut parallel = false;
    while let Some((tag, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_story = tag.strip_prefix("US").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        if tag != "P" && !is_story {
            break;
        }
        parallel |= tag == "P";
        rest = behind.trim_start();
    }
    let optional = found.has_star;
    Named { id: Some(id), title: rest, optional, parallel, depends_on: depends_on(rest), ..Named::default() }
}

/// The ids behind `depends on`.
fn depends_on(text: &str) -> Vec<&str> {
    const WORDS: &str = "depends on";
    let lower = text.to_ascii_lowercase();
    let Some(at) = lower.find(WORDS) else { return Vec::new() };
    let rest = text.get(at + WORDS.len()..).unwrap_or_default();
    let rest = rest.split([')', ';', '.']).next().unwrap_or_default();
    let words = rest.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| task_id(word) == Some(*word)).collect()
}

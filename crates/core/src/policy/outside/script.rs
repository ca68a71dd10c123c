//! The text of a shell script or makefile with its own folder and its plain variables written out: paths are read off it
//! then. Nothing is run.
use super::is_written_by;

/// So many variables of one text are written out.
const VARIABLES_MAX: usize = 40;
/// So long a value may be: no path is longer.
const VALUE_BYTES_MAX: usize = 4096;
/// So long a text is made by that at most.
const BYTES_MAX: usize = 512 * 1024;
/// How scripts name the folder that they lie in.
const OWN_FOLDER: &[&str] = &[
    "$(dirname \"$0\")",
    "$(dirname $0)",
    "$(dirname -- \"$0\")",
    "$(dirname \"${BASH_SOURCE[0]}\")",
    "$(dirname ${BASH_SOURCE[0]})",
    "$(dirname -- \"${BASH_SOURCE[0]}\")",
    "$(dirname \"$BASH_SOURCE\")",
    "${0%/*}",
];
/// Words before an assignment.
const BEFORE_NAMES: &[&str] = &["export ", "readonly ", "local ", "declare "];

/// The text of a script that lies in `own`.
pub(super) fn written_out(text: &str, own: &str) -> String {
    let mut text = text.to_owned();
    for folder in OWN_FOLDER {
        text = replaced(text, &format!("\"{folder}\""), own, |_| true);
        text = replaced(text, folder, own, |_| true);
    }
    let assigned: Vec<(String, String)> = text.lines().flat_map(|line| line.split(';')).filter_map(assigned).collect();
    for (name, value) in assigned.iter().take(VARIABLES_MAX) {
        text = replaced(text, &format!("${{{name}}}"), value, |_| true);
        text = replaced(text, &format!("$({name})"), value, |_| true);
        // `$NAME` ends where its name does.
        text = replaced(text, &format!("${name}"), value, |behind| !behind.starts_with(is_of_name));
    }
    text
}

/// Writes `value` in place of each `form` that `counts` by what is behind it. The text stays as it was where it would
/// become too long.
fn replaced(text: String, form: &str, value: &str, counts: impl Fn(&str) -> bool) -> String {
    let found = || text.match_indices(form).filter(|(at, _)| text.get(at + form.len()..).is_some_and(&counts));
    let more = value.len().saturating_sub(form.len());
    let room = BYTES_MAX.saturating_sub(text.len()).checked_div(more).unwrap_or(usize::MAX);
    let count = found().take(room.saturating_add(1)).count();
    if count == 0 || count > room {
        return text;
    }
    let mut made = String::with_capacity(text.len() + count * more);
    let mut from = 0;
    for (at, _) in found() {
        made += text.get(from..at).unwrap_or_default();
        made += value;
        from = at + form.len();
    }
    made += text.get(from..).unwrap_or_default();
    made
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// A variable that a piece of a line gives the value of a path, in the way of a shell or of make. One that is named as
/// something that is written is none.
fn assigned(piece: &str) -> Option<(String, String)> {
    let piece = piece.trim();
    let piece = BEFORE_NAMES.iter().find_map(|word| piece.strip_prefix(word)).unwrap_or(piece);
    let (name, value) = piece.split_once('=')?;
    let name = name.trim_end_matches([':', '?']).trim();
    if name.is_empty() || !name.chars().all(is_of_name) || is_written_by(&name.to_ascii_lowercase()) {
        return None;
    }
    let value = value.trim().trim_matches(['"', '\'']);
    // `HERE=$(cd FOLDER && pwd)`.
    let value = match value.strip_prefix("$(cd ").and_then(|rest| rest.split_once(" && pwd)")) {
        Some((to, rest)) => format!("{}{rest}", to.trim_start_matches("-- ").trim_matches(['"', '\''])),
        None => value.to_owned(),
    };
    let is_path = value.contains(['/', '.']) && !value.contains([' ', '$', '`', '(', ')', '"', '\'', '*']);
    (is_path && value.len() <= VALUE_BYTES_MAX).then(|| (name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_folder_and_plain_variables_are_written_out() {
        for (text, expected) in [
            (". \"$(dirname \"$0\")/../lib.sh\"", ". \"/p/ci/../lib.sh\""),
            ("S=../a.sh; sh \"$S\" $SX", "S=../a.sh; sh \"../a.sh\" $SX"),
            ("HERE=$(cd \"$(dirname \"$0\")\" && pwd)\n. ${HERE}/b", "HERE=$(cd /p/ci && pwd)\n. /p/ci/b"),
            ("A=$(cd \"$(dirname \"$0\")/..\" && pwd)/b.sh\n. $A", "A=$(cd \"/p/ci/..\" && pwd)/b.sh\n. /p/ci/../b.sh"),
            ("LIB := ../lib\ninclude $(LIB)/a.mk", "LIB := ../lib\ninclude ../lib/a.mk"),
            ("LOG_OUT=../x.log; cat $LOG_OUT", "LOG_OUT=../x.log; cat $LOG_OUT"),
            ("A=1; echo $A", "A=1; echo $A"),
        ] {
            assert_eq!(written_out(text, "/p/ci"), expected);
        }
    }

    #[test]
    fn no_value_makes_a_text_longer_than_the_limit() {
        let value = format!("./{}", "x".repeat(100 * 1024));
        for form in ["$A", "${A}", "$(A)"] {
            let text = format!("A={value}\n{}", form.repeat(50));
            assert!(written_out(&text, "/p/ci").len() <= BYTES_MAX, "{form}");
        }
        let (value, name) = ("./".repeat(500), "$A".repeat(100_000));
        assert!(written_out(&format!("A={value}\n{name}"), "/p/ci").len() <= BYTES_MAX);
        let own = "/p".repeat(2000);
        assert!(written_out(&"${0%/*}".repeat(40_000), &own).len() <= BYTES_MAX);
    }
}

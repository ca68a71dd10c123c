//! The text of a shell script or makefile with its own folder and its plain variables written out: paths are read off it
//! then. Nothing is run.
use super::is_written_by;

/// So many variables of one text are written out.
const VARIABLES_MAX: usize = 40;
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
        text = text.replace(&format!("\"{folder}\""), own).replace(folder, own);
    }
    let assigned: Vec<(String, String)> = text.lines().flat_map(|line| line.split(';')).filter_map(assigned).collect();
    for (name, value) in assigned.iter().take(VARIABLES_MAX) {
        for form in [format!("${{{name}}}"), format!("$({name})")] {
            if text.len() <= BYTES_MAX {
                text = text.replace(&form, value);
            }
        }
        if text.len() <= BYTES_MAX {
            text = without_braces(&text, name, value);
        }
    }
    text
}

/// A variable that a piece of a line gives the value of a path, in the way of a shell or of make. One that is named as
/// something that is written is none.
fn assigned(piece: &str) -> Option<(String, String)> {
    let piece = piece.trim();
    let piece = BEFORE_NAMES.iter().find_map(|word| piece.strip_prefix(word)).unwrap_or(piece);
    let (name, value) = piece.split_once('=')?;
    let name = name.trim_end_matches([':', '?']).trim();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.is_empty() || !name.chars().all(is_name) || is_written_by(&name.to_ascii_lowercase()) {
        return None;
    }
    let value = value.trim().trim_matches(['"', '\'']);
    // `HERE=$(cd FOLDER && pwd)`.
    let value = match value.strip_prefix("$(cd ").and_then(|rest| rest.split_once(" && pwd)")) {
        Some((to, rest)) => format!("{}{rest}", to.trim_start_matches("-- ").trim_matches(['"', '\''])),
        None => value.to_owned(),
    };
    let is_path = value.contains(['/', '.']) && !value.contains([' ', '$', '`', '(', ')', '"', '\'', '*']);
    is_path.then(|| (name.to_owned(), value))
}

/// Writes `$NAME` out where the name ends there.
fn without_braces(text: &str, name: &str, value: &str) -> String {
    let form = format!("${name}");
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(&form) {
        made += before;
        let goes_on = behind.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
        made += if goes_on { &form } else { value };
        rest = behind;
    }
    made + rest
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
}

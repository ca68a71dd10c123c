//! One value out of a git configuration, read as data: no include is followed and nothing is obeyed.

/// The last value of a key in a section without a name of its own. Both are given in small letters.
pub(super) fn value(text: &[u8], section: &str, key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(text).replace("\r\n", "\n").replace("\\\n", "");
    let (mut inside, mut found) = (false, None);
    for line in text.lines() {
        let mut line = line.trim_start_matches(['\u{feff}', ' ', '\t']);
        if let Some(rest) = line.strip_prefix('[') {
            let Some((name, behind)) = rest.split_once(']') else { continue };
            inside = name.trim().eq_ignore_ascii_case(section);
            line = behind.trim_start();
        }
        let (name, rest) = line.split_once('=').unwrap_or((line, "true"));
        if inside && name.trim().eq_ignore_ascii_case(key) {
            found = Some(unquoted(rest));
        }
    }
    found
}

/// A value without quotes, escapes and comments.
fn unquoted(text: &str) -> String {
    let (mut value, mut quoted, mut saved) = (String::new(), false, 0);
    let mut letters = text.trim_start().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' => match letters.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other) => value.push(other),
                None => break,
            },
            '#' | ';' if !quoted => break,
            _ => value.push(letter),
        }
        // Spaces at the end count only where they were quoted.
        if quoted || !letter.is_whitespace() {
            saved = value.len();
        }
    }
    value.truncate(saved);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_section_counts_without_quotes_and_comments() {
        let text = b"[Core]\n\texcludesFile = \"~/a b\"  # mine\n[core \"x\"]\nexcludesfile = no\n[user]\nname=n\n";
        assert_eq!(value(text, "core", "excludesfile").as_deref(), Some("~/a b"));
        let text = b"[core] excludesfile=one\n[core]\nexcludesfile = two\\\n three ; so\n";
        assert_eq!(value(text, "core", "excludesfile").as_deref(), Some("two three"));
        assert_eq!(value(b"[core\nexcludesfile", "core", "excludesfile"), None);
        assert_eq!(value(b"\xff\0[core]\nbare\n", "core", "bare").as_deref(), None);
    }
}

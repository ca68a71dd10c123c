//! Paths below HOME that a gate's command names: these are in the HOME of a clean copy. Which paths outside of the
//! workspace a gate reads is the question of `policy::outside`.

/// So many of one command.
const NAMED_MAX: usize = 50;
/// Ways to name HOME.
const HOME_WORDS: &[&str] = &["~/", "$HOME/", "${HOME}/"];

/// A path without `.` and `..`, up to the first part that is only known when the line is run.
fn plain_path(full: &str) -> String {
    let is_known = |part: &&str| !part.contains(['$', '*', '?', '[', '{']);
    let mut parts: Vec<&str> = Vec::new();
    for part in full.split('/').take_while(is_known) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The paths below HOME that a command names, from there on: `~/x`, `$HOME/x`, or in full. What a pattern stands for is
/// named by the folder above it.
///
/// ```
/// use loop_core::policy::protect::paths_below_home;
///
/// assert_eq!(paths_below_home("sh ~/checks/accept.sh; sh /opt/x.sh", "/users/ann"), ["checks/accept.sh"]);
/// ```
#[must_use]
pub fn paths_below_home(command: &str, home: &str) -> Vec<String> {
    let home = home.trim_end_matches('/');
    let apart = |letter: char| letter.is_whitespace() || "\"'`;|&()<>=,:".contains(letter);
    let mut found: Vec<String> = Vec::new();
    for word in command.split(apart).filter(|_| !home.is_empty()) {
        let below = HOME_WORDS.iter().find_map(|begin| word.strip_prefix(begin));
        let full = below.map_or_else(|| word.to_owned(), |below| format!("{home}/{below}"));
        let path = if full.starts_with('/') { plain_path(&full) } else { continue };
        let Some(below) = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/')) else { continue };
        if !found.iter().any(|known| known == below) && found.len() < NAMED_MAX {
            found.push(below.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_is_known_in_every_spelling_and_nothing_above_it_is_named() {
        for line in [
            "sh ~/a/x.sh",
            "sh \"$HOME/a/x.sh\"",
            "sh ${HOME}/a/x.sh",
            "sh /h/a/x.sh",
            "bash -c 'A=1 sh ~/a//./x.sh'",
            "cat ~/a/x.sh/*.txt",
            "pytest --rootdir=/h/a/x.sh",
        ] {
            assert_eq!(paths_below_home(line, "/h/"), ["a/x.sh"], "{line}");
        }
        for line in ["sh ~", "sh ~/", "ls $HOME/*", "sh ~/../x.sh", "sh a/~/x.sh", "sh /hh/x.sh", "make test", ""] {
            assert!(paths_below_home(line, "/h").is_empty(), "{line}");
        }
        assert!(paths_below_home("sh /x.sh ~/y.sh", "").is_empty());
        assert_eq!(paths_below_home("sh ~/b/../a/x.sh", "/h"), ["a/x.sh"]);
    }
}

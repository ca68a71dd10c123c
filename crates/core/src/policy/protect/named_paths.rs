//! Paths below HOME that a gate's command names: these are in the HOME of a clean copy. Which paths outside of the
//! workspace a gate reads is the question of `policy::outside`.

/// So many of one command.
const NAMED_MAX: usize = 50;
/// Ways to name HOME.
const HOME_WORDS: &[&str] = &["~/", "$HOME/", "${HOME}/"];

/// The absolute paths that a command names, also those below HOME: `~/x`, `$HOME/x`. What a pattern stands for is named
/// by the folder above it.
fn absolute_paths_in(command: &str, home: &str) -> Vec<String> {
    let home = home.trim_end_matches('/');
    let apart = |letter: char| letter.is_whitespace() || "\"'`;|&()<>=,:".contains(letter);
    let mut found: Vec<String> = Vec::new();
    for word in command.split(apart) {
        let below = HOME_WORDS.iter().find_map(|begin| word.strip_prefix(begin)).filter(|_| !home.is_empty());
        let full = match below {
            Some(below) => format!("{home}/{below}"),
            None if word.starts_with('/') => word.to_owned(),
            None => continue,
        };
        let path = plain_path(&full);
        if path != "/" && path != home && !found.contains(&path) && found.len() < NAMED_MAX {
            found.push(path);
        }
    }
    found
}

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

/// The paths below HOME that a command names, from there on.
///
/// ```
/// use loop_core::policy::protect::paths_below_home;
///
/// assert_eq!(paths_below_home("sh ~/checks/accept.sh; sh /opt/x.sh", "/users/ann"), ["checks/accept.sh"]);
/// ```
#[must_use]
pub fn paths_below_home(command: &str, home: &str) -> Vec<String> {
    let home = home.trim_end_matches('/');
    let below = |path: String| Some(path.strip_prefix(home)?.strip_prefix('/')?.to_owned());
    let named = absolute_paths_in(command, home).into_iter().filter(|_| !home.is_empty());
    named.filter_map(below).collect()
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
        assert_eq!(absolute_paths_in("sh /x.sh ~/y.sh", ""), ["/x.sh"]);
        assert_eq!(paths_below_home("sh ~/b/../a/x.sh", "/h"), ["a/x.sh"]);
    }
}

//! Arguments of `codex exec` as a person would type them: which word among them is the prompt.
use thiserror::Error;

/// Flags that take the next word.
const ONE_VALUE: [&str; 20] = [
    "-c",
    "--config",
    "--enable",
    "--disable",
    "-m",
    "--model",
    "--local-provider",
    "-p",
    "--profile",
    "-s",
    "--sandbox",
    "-a",
    "--ask-for-approval",
    "-C",
    "--cd",
    "--add-dir",
    "--output-schema",
    "--color",
    "-o",
    "--output-last-message",
];
/// Flags that take every word up to the next flag.
const MANY_VALUES: [&str; 2] = ["-i", "--image"];
/// Flags that take none.
const NO_VALUE: [&str; 17] = [
    "--oss",
    "--full-auto",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "--yolo",
    "--approve-for-me",
    "--not-so-yolo",
    "--skip-git-repo-check",
    "--ephemeral",
    "--ignore-user-config",
    "--ignore-rules",
    "--strict-config",
    "--json",
    "--experimental-json",
    "--progress-cursor",
    "-h",
    "--help",
];
/// Commands below `codex exec`: with one of them it is another program.
const COMMANDS: [&str; 4] = ["resume", "review", "fork", "help"];

/// The arguments without the prompt, and the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SplitArgs {
    /// Everything else, unchanged and in order.
    pub args: Vec<String>,
    /// The prompt; `-` is stdin.
    pub prompt: Option<String>,
    /// Words after the first that a flag for images took, as codex would.
    pub taken_for_images: Vec<String>,
}

/// Why it is not clear which word is the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SplitArgsError {
    /// Two words could be it.
    #[error("there are two prompts: {0:?} and {1:?}")]
    Two(String, String),
    /// A word is after a flag that we do not know.
    #[error("is {word:?} the value of {flag}, or the prompt?")]
    Unclear {
        /// The flag.
        flag: String,
        /// The word.
        word: String,
    },
    /// It is a command.
    #[error("codex exec {0} is not what a loop runs")]
    Command(String),
}

impl SplitArgsError {
    /// What to do.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Two(..) => "give the prompt as one word, in quotes".to_owned(),
            Self::Unclear { flag, .. } => format!("write {flag}=VALUE, or put the prompt last, behind another --"),
            Self::Command(_) => "give flags and the prompt alone: the loop itself resumes sessions".to_owned(),
        }
    }
}

/// Whether these arguments have any of the flags, alone or with a value.
#[must_use]
pub fn has_any(args: &[String], flags: &[&str]) -> bool {
    args.iter().any(|word| flags.iter().any(|flag| is_flag(word, flag)))
}

fn is_flag(word: &str, flag: &str) -> bool {
    let rest = word.strip_prefix(flag);
    let short = !flag.starts_with("--");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || short)
}

/// Finds the prompt.
///
/// # Errors
/// When that is not clear.
pub fn split(words: &[String]) -> Result<SplitArgs, SplitArgsError> {
    let mut parted = SplitArgs::default();
    let mut words = words.iter().peekable();
    let is_word = |word: &str| !word.starts_with('-') || word == "-";
    while let Some(word) = words.next() {
        if word == "--" {
            words.by_ref().try_for_each(|word| parted.take(word))?;
            break;
        }
        if is_word(word) {
            if parted.prompt.is_none() && COMMANDS.contains(&word.as_str()) {
                return Err(SplitArgsError::Command(word.clone()));
            }
            parted.take(word)?;
            continue;
        }
        parted.args.push(word.clone());
        if ONE_VALUE.contains(&word.as_str()) {
            parted.args.extend(words.next().cloned());
        } else if MANY_VALUES.contains(&word.as_str()) {
            let mut first = true;
            while let Some(value) = words.next_if(|next| is_word(next)) {
                parted.args.push(value.clone());
                parted.taken_for_images.extend((!first).then(|| value.clone()));
                first = false;
            }
        } else if is_unknown(word)
            && let Some(next) = words.next_if(|next| is_word(next))
        {
            return Err(SplitArgsError::Unclear { flag: word.clone(), word: next.clone() });
        }
    }
    Ok(parted)
}

/// A flag whose value, if it has one, is a word of its own: `--flag=value` and `-mvalue` hold theirs.
fn is_unknown(word: &str) -> bool {
    let alone = if word.starts_with("--") { !word.contains('=') } else { word.len() == 2 };
    alone && !NO_VALUE.contains(&word)
}

impl SplitArgs {
    fn take(&mut self, word: &str) -> Result<(), SplitArgsError> {
        match &self.prompt {
            Some(before) => Err(SplitArgsError::Two(before.clone(), word.to_owned())),
            None => {
                self.prompt = Some(word.to_owned());
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parted(line: &str) -> Result<(String, Option<String>), SplitArgsError> {
        let words: Vec<String> = line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        split(&words).map(|parted| (parted.args.join(" "), parted.prompt))
    }

    #[test]
    fn the_prompt_is_the_word_that_belongs_to_no_flag() {
        // req: B-12
        for (line, args, prompt) in [
            ("do", "", Some("do")),
            ("-m gpt do", "-m gpt", Some("do")),
            ("do -m gpt --json", "-m gpt --json", Some("do")),
            ("--model=gpt do -s read-only", "--model=gpt -s read-only", Some("do")),
            ("-mgpt -c a=b --oss do", "-mgpt -c a=b --oss", Some("do")),
            ("--new=1 do", "--new=1", Some("do")),
            ("--new -m gpt do", "--new -m gpt", Some("do")),
            ("-m gpt -- -do", "-m gpt", Some("-do")),
            ("-m gpt", "-m gpt", None),
            ("-m gpt -", "-m gpt", Some("-")),
            ("-i a.png b.png do", "-i a.png b.png do", None),
            ("-i a.png -m gpt do", "-i a.png -m gpt", Some("do")),
            ("-i a.png -- do", "-i a.png", Some("do")),
            ("do resume", "", None),
            ("-m", "-m", None),
        ] {
            match (line, parted(line)) {
                ("do resume", got) => assert_eq!(got, Err(SplitArgsError::Two("do".to_owned(), "resume".to_owned()))),
                (_, got) => assert_eq!(got, Ok((args.to_owned(), prompt.map(str::to_owned))), "{line}"),
            }
        }
    }

    #[test]
    fn what_nobody_can_tell_is_refused() {
        // req: B-12
        let unclear = SplitArgsError::Unclear { flag: "--new".to_owned(), word: "do".to_owned() };
        assert_eq!(parted("--new do"), Err(unclear.clone()));
        assert_eq!(parted("--new do it"), Err(unclear));
        assert_eq!(parted("resume --last"), Err(SplitArgsError::Command("resume".to_owned())));
    }
}

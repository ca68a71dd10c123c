//! A section of a prompt: a name, its text, and how long that is.

/// How many letters of ASCII text make a token, about.
const LETTERS_OF_TOKEN: usize = 4;

/// About how many tokens a text is: a quarter of its ASCII letters, and every other letter on its own. A real tokenizer
/// differs by model; this errs on the large side for anything but English and code.
#[must_use]
pub fn estimated_tokens(text: &str) -> usize {
    let other = text.chars().filter(|letter| !letter.is_ascii()).count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii.div_ceil(LETTERS_OF_TOKEN) + other
}

/// One section of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// What it is called.
    pub name: &'static str,
    /// The whole text, with what delimits it.
    pub text: String,
    /// A person wrote it: the task, texts that were added, gates. Else the harness did.
    pub by_person: bool,
    /// It says the same in every prompt of the run.
    pub stable: bool,
}

impl Section {
    /// How long it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// About how many tokens it is.
    #[must_use]
    pub fn tokens(&self) -> usize {
        estimated_tokens(&self.text)
    }
}

/// A prompt, section by section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The sections, in their order.
    pub sections: Vec<Section>,
}

impl Prompt {
    /// All of it, as it is sent.
    #[must_use]
    pub fn text(&self) -> String {
        self.sections.iter().map(|section| section.text.as_str()).collect()
    }

    /// About how many tokens the harness adds to what people wrote.
    #[must_use]
    pub fn tokens_of_harness(&self) -> usize {
        self.sections.iter().filter(|section| !section.by_person).map(Section::tokens).sum()
    }

    /// Adds what an agent without a system prompt of its own gets here: after the rules.
    pub fn add_system(&mut self, system: &str) {
        if system.is_empty() {
            return;
        }
        let has_rules = self.sections.first().is_some_and(|section| section.stable);
        let at = if has_rules { 1 } else { self.sections.len() };
        let text = format!("\n{system}\n");
        self.sections.insert(at, Section { name: "system", text, by_person: false, stable: has_rules });
    }

    /// Adds a section between two tags; an empty one is left out.
    pub(super) fn tagged(&mut self, name: &'static str, body: &str) -> Option<&mut Section> {
        if body.trim().is_empty() {
            return None;
        }
        let text = format!("\n<{name}>\n{body}\n</{name}>\n");
        self.sections.push(Section { name, text, by_person: false, stable: false });
        self.sections.last_mut()
    }

    /// Adds a text as it is.
    pub(super) fn plain(&mut self, name: &'static str, text: String) -> Option<&mut Section> {
        if text.is_empty() {
            return None;
        }
        self.sections.push(Section { name, text, by_person: false, stable: false });
        self.sections.last_mut()
    }
}

/// Quoted text cannot close its own section.
pub(super) fn harmless(text: &str) -> String {
    text.replace("</", "<\\/")
}

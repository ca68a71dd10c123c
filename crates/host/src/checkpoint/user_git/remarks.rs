//! Sentences for people: each once, and only so many.
use std::collections::HashSet;

/// So many sentences are saved.
const SENTENCES_MAX: usize = 200;
const SENTENCE_BYTES_MAX: usize = 600;

/// The texts.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    sentences: Vec<String>,
    known: HashSet<String>,
    more: usize,
}

impl Remarks {
    pub(super) fn add(&mut self, sentence: impl Into<String>) {
        let mut sentence: String = sentence.into();
        if sentence.len() > SENTENCE_BYTES_MAX {
            let end = (0..=SENTENCE_BYTES_MAX).rev().find(|at| sentence.is_char_boundary(*at)).unwrap_or(0);
            sentence.truncate(end);
            sentence.push('…');
        }
        if self.known.contains(&sentence) {
            return;
        }
        if self.sentences.len() == SENTENCES_MAX {
            self.more += 1;
            return;
        }
        self.known.insert(sentence.clone());
        self.sentences.push(sentence);
    }

    pub(super) fn all(self) -> Vec<String> {
        let mut sentences = self.sentences;
        if self.more > 0 {
            sentences.push(format!("and {} more of these", self.more));
        }
        sentences
    }
}

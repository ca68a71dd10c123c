//! What an agent claims in its final message: the status block, the markers, and which words are its own.
pub mod markers;
mod own_words;
pub mod status_block;

//! Keeps many runs: the daemon `loopd`, its protocol and its client.
//!
//! A place and an edge for now: `loop start` drives its own run, and `--background` comes with a
//! later version. What is deliberately absent here, also later: touching a workspace or an agent.
#![forbid(unsafe_code)]

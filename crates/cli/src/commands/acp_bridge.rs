//! `loop acp-bridge`: our own process between a loop and an agent that speaks the Agent Client Protocol.
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use loop_core::agent::{PERMISSIONS, Permissions};
use loop_host::acp_bridge::{BridgeRequest, run as carry};

use crate::context::Done;
use crate::render::error::{CommandError, Kind};

/// What an adapter asks for.
#[derive(Debug, Args)]
pub(crate) struct AcpBridgeArgs {
    /// How much the agent may do
    #[arg(long, value_name = "MODE", default_value = "work", value_parser = PERMISSIONS.map(|(word, _)| word))]
    permissions: String,
    /// Let it fetch from the network
    #[arg(long)]
    network: bool,
    /// The session to resume
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The model
    #[arg(long)]
    model: Option<String>,
    /// The agent's own mode, in place of the one that fits the permissions
    #[arg(long)]
    mode: Option<String>,
    /// The file that holds the prompt
    #[arg(long, value_name = "FILE")]
    prompt_file: PathBuf,
    /// The file with what goes below it
    #[arg(long, value_name = "FILE")]
    system_file: Option<PathBuf>,
    /// The agent's program and its arguments
    #[arg(last = true, required = true)]
    agent: Vec<OsString>,
}

pub(crate) fn run(args: AcpBridgeArgs) -> Done {
    let request = BridgeRequest {
        argv: args.agent,
        prompt_file: args.prompt_file,
        system_file: args.system_file,
        session: args.session,
        permissions: Permissions::of(&args.permissions),
        network: args.network,
        model: args.model,
        mode: args.mode,
    };
    carry(&request)
        .map_err(|error| CommandError::new(Kind::Unable, "cannot talk to the agent").because(error.to_string()))
}

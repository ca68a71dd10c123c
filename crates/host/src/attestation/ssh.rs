//! Signatures by `ssh-keygen`. The program is never one of the workspace or of the checkout: a fake one could read the key
//! or report a false result.
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use loop_core::attestation::ssh_signature::{NAMESPACE, SshSignature};
use loop_core::attestation::{EnvelopeSignature, SignatureTrust};
use loop_core::text;
use thiserror::Error;

use crate::checkpoint::user_git::{GitUser, user_setting};
use crate::paths::programs_on_path;

/// A list of allowed signers is at most this long.
pub(super) const SIGNERS_BYTES_MAX: u64 = 1024 * 1024;

/// Why nothing was signed, or no signature could be checked.
#[derive(Debug, Error)]
pub enum SignError {
    /// There is no such program.
    #[error("there is no ssh-keygen on PATH outside of this folder")]
    NoProgram,
    /// No key is known.
    #[error("{0}")]
    NoKey(String),
    /// It refused.
    #[error("ssh-keygen could not sign: {0}")]
    Refused(String),
    /// The machine does not allow it.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The key that signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SigningKey {
    /// A file: a private key, or the public part of one that an agent for SSH keys holds.
    File(PathBuf),
    /// The public part itself.
    Public(String),
}

impl SigningKey {
    /// The key that the user's own git configuration names for SSH signatures.
    ///
    /// # Errors
    /// When it names none.
    pub fn of_user(user: &GitUser) -> Result<Self, SignError> {
        let format = user_setting(user, "gpg", "format");
        if format.as_deref() != Some("ssh") {
            let why = "your git configuration does not sign with SSH keys (gpg.format is not ssh)";
            return Err(SignError::NoKey(why.to_owned()));
        }
        let Some(key) = user_setting(user, "user", "signingkey") else {
            return Err(SignError::NoKey("your git configuration names no user.signingKey".to_owned()));
        };
        if let Some(public) = key.strip_prefix("key::") {
            return Ok(Self::Public(public.to_owned()));
        }
        if key.starts_with("ssh-") || key.starts_with("ecdsa-") || key.starts_with("sk-") {
            return Ok(Self::Public(key));
        }
        match (key.strip_prefix("~/"), &user.home) {
            (Some(rest), Some(home)) => Ok(Self::File(home.join(rest))),
            (_, _) => Ok(Self::File(PathBuf::from(key))),
        }
    }
}

/// The program, outside of this folder.
fn program(not_in: &Path) -> Result<PathBuf, SignError> {
    let inside = not_in.canonicalize().unwrap_or_else(|_| not_in.to_owned());
    let is_outside = |file: &PathBuf| {
        inside.parent().is_none()
            || file.canonicalize().is_ok_and(|real| !real.starts_with(&inside) && !file.starts_with(&inside))
    };
    programs_on_path("ssh-keygen").into_iter().find(is_outside).ok_or(SignError::NoProgram)
}

/// Signs bytes. A passphrase or a touch is asked for by `ssh-keygen` itself.
///
/// # Errors
/// When there is no such program or key, or it refuses.
pub fn sign(bytes: &[u8], key: &SigningKey, workspace: &Path, scratch: &Path) -> Result<EnvelopeSignature, SignError> {
    let program = program(workspace)?;
    match key {
        SigningKey::File(file) => sign_with(&program, &std::path::absolute(file)?, bytes),
        SigningKey::Public(text) => {
            DirBuilder::new().recursive(true).mode(0o700).create(scratch)?;
            let file = scratch.join(format!("key-{}.pub", crate::fs::fresh_id()?));
            fs::write(&file, format!("{text}\n"))?;
            let signed = sign_with(&program, &file, bytes);
            fs::remove_file(&file).ok();
            signed
        }
    }
}

fn sign_with(program: &Path, file: &Path, bytes: &[u8]) -> Result<EnvelopeSignature, SignError> {
    if !file.is_file() {
        return Err(SignError::NoKey(format!("there is no key {}", file.display())));
    }
    let mut command = Command::new(program);
    command.args(["-q", "-Y", "sign", "-n", NAMESPACE, "-f"]).arg(file).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = run(command, bytes)?;
    let read = SshSignature::parse(&done.stdout);
    match read.filter(|_| done.success) {
        Some(read) => Ok(EnvelopeSignature { key: read.fingerprint, signature: done.stdout }),
        None => Err(SignError::Refused(done.why)),
    }
}

struct Ended {
    success: bool,
    stdout: Vec<u8>,
    why: String,
}

fn run(mut command: Command, input: &[u8]) -> io::Result<Ended> {
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may end before it has read all: its exit code says what happened.
        stdin.write_all(input).ok();
    }
    let done = child.wait_with_output()?;
    let why = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    let why = text::one_line(&why, 300);
    let why = if why.is_empty() { done.status.to_string() } else { why };
    Ok(Ended { success: done.status.success(), stdout: done.stdout, why })
}

/// Checks signatures.
#[derive(Debug)]
pub(super) struct SignatureCheck<'a> {
    /// The list of allowed signers, where one was given.
    pub(super) signers: Option<Vec<u8>>,
    /// The checkout: the program must not be in it.
    pub(super) checkout: &'a Path,
    /// A folder for files that the program reads.
    pub(super) scratch: &'a Path,
}

impl SignatureCheck<'_> {
    /// Who signed these bytes.
    ///
    /// # Errors
    /// When it cannot be seen.
    pub(super) fn check(&self, bytes: &[u8], signature: &EnvelopeSignature) -> Result<SignatureTrust, SignError> {
        let bad = |why: &str| Ok(SignatureTrust::Bad { why: why.to_owned() });
        let Some(read) = SshSignature::parse(&signature.signature) else {
            return bad("it is not an SSH signature");
        };
        if read.namespace != NAMESPACE {
            return bad(&format!("it was made for {}, not for {NAMESPACE}", text::escaped_head(&read.namespace, 60)));
        }
        let key = read.fingerprint;
        let program = program(self.checkout)?;
        let (file, list) = (self.scratch.join("signature"), self.scratch.join("signers"));
        fs::write(&file, &signature.signature)?;
        let base = || {
            let mut command = Command::new(&program);
            command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        let mut plain = base();
        plain.args(["-Y", "check-novalidate", "-n", NAMESPACE, "-s"]).arg(&file);
        if !run(plain, bytes)?.success {
            return bad("it does not belong to this content");
        }
        let Some(signers) = &self.signers else { return Ok(SignatureTrust::UnknownKey { key }) };
        fs::write(&list, signers)?;
        let mut find = base();
        find.args(["-Y", "find-principals", "-s"]).arg(&file).arg("-f").arg(&list);
        let found = run(find, b"")?;
        if !found.success {
            return Ok(SignatureTrust::UnknownKey { key });
        }
        let names = String::from_utf8_lossy(&found.stdout).into_owned();
        for signer in names.lines().flat_map(|line| line.split(',')).filter(|name| !name.is_empty()) {
            let mut verify = base();
            verify.args(["-Y", "verify", "-n", NAMESPACE, "-I", signer, "-s"]).arg(&file).arg("-f").arg(&list);
            if run(verify, bytes)?.success {
                return Ok(SignatureTrust::Trusted { signer: text::one_line(signer, 120), key });
            }
        }
        // It is listed, but for other purposes or another time.
        Ok(SignatureTrust::UnknownKey { key })
    }
}

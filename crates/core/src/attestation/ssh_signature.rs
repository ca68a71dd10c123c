//! What an SSH signature (SSHSIG) says about itself: by which key, for what. Whether it is right, only `ssh-keygen` says.
use sha2::{Digest, Sha256};

use super::base64;

/// What our signatures are for: one for something else counts for nothing here.
pub const NAMESPACE: &str = "loop-proof";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";

/// An SSH signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSignature {
    /// The fingerprint of the key, as `ssh-keygen -l` shows it.
    pub fingerprint: String,
    /// What it is for.
    pub namespace: String,
}

impl SshSignature {
    /// From its armored text; none where it is not one.
    #[must_use]
    pub fn parse(armored: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(armored).ok()?.trim();
        let body: String = text.strip_prefix(BEGIN)?.strip_suffix(END)?.split_ascii_whitespace().collect();
        let bytes = base64::decode(&body)?;
        let mut rest = bytes.strip_prefix(b"SSHSIG")?.strip_prefix(&[0, 0, 0, 1])?;
        let key = field(&mut rest)?;
        let namespace = String::from_utf8(field(&mut rest)?.to_vec()).ok()?;
        let hash = base64::encode(&Sha256::digest(key));
        Some(Self { fingerprint: format!("SHA256:{}", hash.trim_end_matches('=')), namespace })
    }
}

/// A length of four bytes, then as many bytes.
fn field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (field, after) = after.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    *rest = after;
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_and_the_namespace_are_read_and_damage_is_none() {
        let field = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap_or(0).to_be_bytes()[..], bytes].concat();
        let bytes = [b"SSHSIG\0\0\0\x01".to_vec(), field(b"the key"), field(b"loop-proof"), field(b"")].concat();
        let armored = format!("{BEGIN}\n{}\n{END}\n", base64::encode(&bytes));
        let read = SshSignature::parse(armored.as_bytes()).expect("it is one");
        assert_eq!(read.namespace, NAMESPACE);
        let hash = base64::encode(&Sha256::digest(b"the key"));
        assert_eq!(read.fingerprint, format!("SHA256:{}", hash.trim_end_matches('=')));
        for length in 0..armored.len() - END.len() {
            assert_eq!(SshSignature::parse(&armored.as_bytes()[..length]), None);
        }
        let huge = format!("{BEGIN}{}{END}", base64::encode(b"SSHSIG\0\0\0\x01\xff\xff\xff\xff"));
        assert_eq!(SshSignature::parse(huge.as_bytes()), None);
    }
}
